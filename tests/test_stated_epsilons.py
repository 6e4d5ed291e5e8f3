"""What the pages say that the shipped releases cost is what their plans say: figures do not go stale."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest

from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.conftest import ROOT


@cache
def spec(name: str) -> ReleaseSpec:
    return load_spec(ROOT / "configs" / f"{name}.toml")


def total(name: str) -> Fraction:
    return spec(name).plan.total.epsilon


def part(name: str, title: str) -> Fraction:
    """Of the charge tree, below its root."""
    return next(each.epsilon for each in spec(name).plan.total.parts if each.name == title)


def a_round(name: str) -> Fraction:
    return sum((each.epsilon for each in spec(name).plan.per_round), Fraction(0))


def before(name: str) -> Fraction:
    return sum((each.epsilon for each in spec(name).plan.once), Fraction(0))


def up(value: Fraction, digits: int) -> str:
    """As pages write it: rounded up, so that nothing is understated."""
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


BIRTHS, PAPER, FRONTIER = "births", "births-paper", "births-frontier"
_BOTH = Fraction("0.43")
STATED: list[tuple[str, Callable[[], str]]] = [
    ("README.md", lambda: f"a release of 160,000 simulated births at epsilon {up(total(FRONTIER), 2)}."),
    ("docs/faq.md", lambda: f"For the births of this repository, this epsilon is {up(total(FRONTIER), 2)}."),
    ("docs/threat-model.md", lambda: f"({float(a_round(BIRTHS)):g} for the births)"),
    ("docs/threat-model.md", lambda: f"For 10 rounds the loss is at most {float(10 * a_round(BIRTHS)):g} instead of "
     f"{up(part(BIRTHS, 'selection'), 7)}."),
    ("docs/threat-model.md", lambda: f"a mother of twins has two records: at epsilon {up(total(BIRTHS), 1)} "
     f"her epsilon is {up(2 * total(BIRTHS), 1)}."),
    ("docs/generators.md", lambda: f"| **epsilon** | **{up(total(BIRTHS), 2)}** | **{up(total('births-low-epsilon'), 2)}** | "
     f"**{up(total('births-public-prior'), 2)}** |"),
    ("docs/generators.md", lambda: f"met its eight criteria at epsilon {up(total(PAPER), 2)}."),
    ("docs/generators.md", lambda: f"`configs/{FRONTIER}.toml` (epsilon {up(total(FRONTIER), 2)}) and "
     f"`configs/births-frontier-public.toml` (epsilon {up(total('births-frontier-public'), 1)})"),
    ("docs/appendix/baselines.md", lambda: f"epsilon = {up(total(BIRTHS), 7)}"),
    ("docs/theory.md", lambda: f"price {up(part(BIRTHS, 'selection'), 7)}. With .05 and .43 spent once, outside the loop, the "
     f"total is {up(total(BIRTHS), 2)}; with 2ε as the price it would be {up(2 * a_round(BIRTHS) + before(BIRTHS), 2)}."),
    ("docs/linked.md", lambda: f"with their hospital stays, at epsilon {up(total('visits'), 2)}."),
    ("docs/weights.md", lambda: f"Epsilon is {up(total('labour'), 2)}, without a delta"),
    ("docs/estimates.md", lambda: f"with `configs/births-published.toml`, epsilon {up(total('births-published'), 2)}."),
    ("docs/accounting.md", lambda: f"for the births 8 instead of {up(2 * a_round(BIRTHS) + _BOTH, 2)}."),
    ("docs/accounting.md", lambda: f"one round costs epsilon {float(a_round(BIRTHS)):g}, and 73 of 100"),
]  # fmt: skip
"""Page, and what stands there, said when it is asked: whoever collects tests loads no specification."""


@pytest.mark.parametrize(("page", "sentence_of"), STATED, ids=[f"{page}-{place}" for place, (page, _) in enumerate(STATED)])
def test_a_page_states_what_the_plan_says(page: str, sentence_of: Callable[[], str]) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence_of() in text


@pytest.mark.slow
def test_no_page_gives_the_price_of_a_search_without_end_as_that_of_the_births() -> None:
    """births.toml once ran rounds without end, at twice their epsilon: who names that figure says what it is the price of."""
    twice = up(2 * a_round(BIRTHS), 2)
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            if re.search(rf"(?<![\d.]){re.escape(twice)}(?!\d)", paragraph):
                assert re.search(r"without end|2ε|inversion of bits|digits of a geometric", paragraph), (
                    f"{page.name}: {paragraph[:200]}"
                )
