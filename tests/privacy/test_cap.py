"""One cap for a scout and a release: enumerated and integrated losses, and a ledger whose two entries add up to it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from synthrelease.errors import BudgetError, Unexpected
from synthrelease.privacy.cap import SCOUT, UNKNOWN, Cap, capped, text_threshold, within_cap
from synthrelease.privacy.charges import gaussian, in_sequence, mechanism, zero_concentrated
from synthrelease.privacy.curves import delta_up, epsilon_of, root
from synthrelease.privacy.grids import gaussian_scale
from synthrelease.privacy.ledger import ChargedRun, Ledger, load_ledger, open_ledger
from synthrelease.privacy.ledger_file import LedgerError, Notes, notes_of
from synthrelease.privacy.subsets import Split

CAP = Cap(epsilon=Fraction(2), delta=Fraction(1, 10**9), rho=Fraction(3, 1000), rare=Fraction(1, 10**12), tests=Fraction(1, 5))
STEP = Fraction(1, 10**9)


def release_of(rho: Fraction, tests: Fraction) -> tuple[object, ...]:
    return gaussian("generation", rho, ""), in_sequence("one round", mechanism("joint test", tests, ""))


def test_scout_and_release_cost_the_cap_whatever_the_release_needs_below_it() -> None:
    for rho, tests in ((CAP.rho_left, CAP.tests), (CAP.rho_left / 7, CAP.tests / 3)):
        total = within_cap("both", CAP, *release_of(rho, tests))
        assert (total.epsilon, total.delta) == (2, Fraction(1, 10**9))
        assert [part.name for part in total.parts] == [SCOUT, UNKNOWN, "generation", "one round"]
    for rho, tests in ((CAP.rho_left + STEP, CAP.tests), (CAP.rho_left, CAP.tests + STEP)):
        with pytest.raises(BudgetError, match="leaves only rho"):
            within_cap("both", CAP, *release_of(rho, tests))


def test_without_a_delta_epsilons_add_up_to_the_cap(ledger: Ledger) -> None:
    cap = Cap(epsilon=Fraction(2), delta=Fraction(0), rho=Fraction(0), tests=Fraction(8, 5))
    assert (cap.pure, cap.cost, cap.rho_left) == (True, Fraction(2, 5), 0)
    total = within_cap("both", cap, mechanism("generation", Fraction(7, 5), ""), mechanism("test", Fraction(1, 5), ""))
    assert (total.epsilon, total.delta, total.pure) == (2, 0, True)
    assert sum(part.epsilon for part in total.parts) == 2
    for part in (mechanism("x", cap.tests + STEP, ""), gaussian("x", STEP, ""), mechanism("x", STEP, "", STEP)):
        with pytest.raises(BudgetError):
            within_cap("both", cap, part)
    with pytest.raises(BudgetError, match="cost more than the cap"):
        capped("both", Fraction(2) - STEP, Fraction(0), total.parts)
    scout(ledger, cap)
    released(ledger, cap)
    assert (ledger.statement().epsilon, ledger.statement().delta) == (2, 0)
    for wrong in ({"rho": STEP}, {"rare": STEP}, {"tests": Fraction(0)}, {"tests": Fraction(2)}):
        with pytest.raises(Unexpected):
            replace(cap, **wrong)


def test_what_is_left_is_what_the_exact_curve_leaves() -> None:
    most = CAP.rho + CAP.rho_left
    assert epsilon_of(most, CAP.gaussian_delta) <= CAP.epsilon - CAP.tests < epsilon_of(most + 2 * STEP, CAP.gaussian_delta)
    assert CAP.gaussian_delta + Fraction(1 + exp(2)) * CAP.rare == pytest.approx(CAP.delta)
    assert CAP.alone == epsilon_of(CAP.rho, CAP.gaussian_delta) < CAP.epsilon


def test_parts_without_a_theorem_are_refused() -> None:
    for part in (zero_concentrated("curve", Fraction(1, 100), ""), mechanism("x", Fraction(1, 10), "", Fraction(1, 10**12))):
        with pytest.raises(BudgetError, match="must be Gaussian or satisfy pure"):
            within_cap("both", CAP, part)


@pytest.mark.parametrize(
    "changes",
    [{"tests": Fraction(2)}, {"rare": Fraction(1, 10**9)}, {"rho": Fraction(1)}, {"rho": Fraction(0)}, {"delta": Fraction(1)}],
)
def test_a_cap_that_leaves_nothing_is_none(changes: dict[str, Fraction]) -> None:
    with pytest.raises(Unexpected):
        replace(CAP, **changes)


def test_a_node_that_states_a_cap_holds_its_parts() -> None:
    parts = within_cap("both", CAP, *release_of(CAP.rho_left, CAP.tests)).parts
    assert capped("both", CAP.epsilon, CAP.delta, parts).parts == parts
    for epsilon, delta in ((CAP.epsilon - 50 * STEP, CAP.delta), (CAP.epsilon, CAP.delta * 9 / 10)):
        with pytest.raises(BudgetError, match="cost more than the cap"):
            capped("both", epsilon, delta, parts)


# Theorem 9.19 by integration: a scout of mu_1, then what its answer chooses.

DELTA = 1e-3


def least_epsilon(mu: float) -> float:
    """The epsilon of a mu-Gaussian mechanism at DELTA, by bisection of the textbook formula."""
    low, high = 0.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        excess = norm.cdf(mu / 2 - middle / mu) - exp(middle) * norm.cdf(-mu / 2 - middle / mu)
        low, high = (low, middle) if excess <= DELTA else (middle, high)
    return high


def spent_delta(cap: float, pure_after: dict[str, float], mu_1: float, mu_2: float) -> float:
    """The delta, at the cap, of a scout of mu_1 and then the worse of two releases, chosen by the scout's answer: "stop", a
    pure one alone, or "go on", a Gaussian one of mu_2 and then a pure one. Sets and pure mechanisms are the worst ones.

    A pure answer of epsilon t after likelihood ratio L adds at most (L - e^(cap - t))+ to the excess over e^cap.
    """
    points = np.linspace(-12, 12, 240_001)
    weight = norm.pdf(points) * (points[1] - points[0])
    ratio = np.exp(mu_1 * points - mu_1**2 / 2)
    stop = np.maximum(ratio - exp(cap - pure_after["stop"]), 0)
    strike = exp(cap - pure_after["go on"])
    edge = (np.log(strike / ratio) + mu_2**2 / 2) / mu_2
    go_on = ratio * norm.cdf(mu_2 - edge) - strike * norm.cdf(-edge)
    return float(np.sum(weight * np.maximum(stop, go_on)))


def test_an_epsilon_for_tests_that_is_fixed_beforehand_keeps_the_cap() -> None:
    mu_1, mu_2, tests = 0.5, 1.0, 0.3
    cap = least_epsilon(sqrt(mu_1**2 + mu_2**2)) + tests
    assert spent_delta(cap, {"stop": tests, "go on": tests}, mu_1, mu_2) <= DELTA * (1 + 1e-6)


def test_an_epsilon_for_tests_that_the_scout_chooses_breaks_it() -> None:
    """Why `Cap.tests` is fixed before the scout: what the rest of the cap would allow after each answer is too much."""
    mu_1, mu_2 = 0.5, 1.0
    cap = least_epsilon(sqrt(mu_1**2 + mu_2**2)) + 0.3
    chosen = {"stop": cap - least_epsilon(mu_1), "go on": 0.3}
    assert spent_delta(cap, chosen, mu_1, mu_2) > 1.2 * DELTA


# Proposition 9.20 by enumeration: texts of a column without a public list, on all neighbours of tiny tables.


def published(count: int, scale: float, threshold: int) -> dict[int | None, float]:
    """The law of what a text with this count has published: its noisy count from the threshold on, or nothing."""
    if not count:
        return {None: 1.0}
    law: dict[int | None, float] = {
        k: float(norm.cdf((k + 0.5 - count) / scale) - norm.cdf((k - 0.5 - count) / scale))
        for k in range(threshold, count + int(8 * scale) + 2)
    }
    return law | {None: 1 - sum(law.values())}


def excess(first: tuple[int, ...], second: tuple[int, ...], epsilon: float, scale: float, threshold: int) -> float:
    """The sum over all outputs of what the first law exceeds e^epsilon times the second by."""
    joint = np.ones((1, 2))
    for left, right in zip(first, second, strict=True):
        laws = published(left, scale, threshold), published(right, scale, threshold)
        pairs = np.array([[law.get(shown, 0.0) for law in laws] for shown in {**laws[0], **laws[1]}])
        joint = (joint[:, None, :] * pairs[None, :, :]).reshape(-1, 2)
    return float(np.maximum(joint[:, 0] - exp(epsilon) * joint[:, 1], 0).sum())


def tables(rows: int, texts: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(rows + 1), repeat=texts) if sum(counts) == rows]


def neighbours(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    moved = []
    for out, into in product(range(len(counts)), repeat=2):
        if counts[out] and out != into:
            moved.append(tuple(count - (text == out) + (text == into) for text, count in enumerate(counts)))
    return moved


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "threshold", "epsilon"), [(0.9, 3, 0.5), (0.9, 3, 3.0), (1.5, 5, 1.0), (3.0, 7, 2.0)])
def test_texts_that_no_list_names_keep_their_delta_on_all_tiny_tables(scale: float, threshold: int, epsilon: float) -> None:
    gaussian_part = float(delta_up(root(Fraction(2 / scale**2), up=True), Fraction(epsilon)))
    rare = float(norm.sf((threshold - 1.5) / scale))
    worst = max(
        excess(one, other, epsilon, scale, threshold)
        for rows in (1, 2, 3)
        for one in tables(rows, 3)
        for other in neighbours(one)
    )
    assert worst <= gaussian_part + (1 + exp(epsilon)) * rare
    if scale == 3:  # the noise alone does not pay for a text of one row
        assert worst > gaussian_part


def test_the_threshold_bounds_how_often_a_text_of_one_row_is_published() -> None:
    for rho in (Fraction(1, 10_000), Fraction(1, 17), Fraction(2)):
        threshold, rare = text_threshold(rho)
        scale = gaussian_scale(1 / rho)
        exactly = norm.sf((threshold - 1.5) / scale)
        assert exactly * (1 - 1e-9) <= float(rare) <= exactly * (1 + 1e-6)
        assert threshold - 1 >= 7 * scale
        assert threshold - 3 <= 7 * scale


# The ledger.


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return open_ledger(tmp_path / "births.ledger", "births", 4, delta_limit="2e-9")


def scout(ledger: Ledger, cap: Cap = CAP, key: str | None = None) -> None:
    ledger.reserve(mechanism("scout", cap.alone, "", cap.delta), "a scout", ChargedRun(cap=cap, scouts=True, key=key))


def released(ledger: Ledger, cap: Cap = CAP, key: str | None = None) -> None:
    ledger.reserve(mechanism("release", cap.epsilon, "", cap.delta), "a release", ChargedRun(cap=cap, key=key))


def test_scout_and_release_add_up_to_the_cap(ledger: Ledger) -> None:
    scout(ledger)
    assert (ledger.statement().epsilon, ledger.statement().delta) == (CAP.alone, CAP.delta)
    released(ledger)
    found = load_ledger(ledger.path).statement()
    assert (found.epsilon, found.delta) == (CAP.epsilon, CAP.delta)
    assert [(entry.notes.cap, entry.notes.scouted) for entry in found.entries] == [(CAP, None), (None, 1)]


def test_one_release_follows_a_scout(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="does not contain the scout"):
        released(ledger)
    scout(ledger)
    for other in ({"tests": Fraction(1, 4)}, {"epsilon": Fraction(3)}, {"rho": Fraction(1, 1000)}):
        with pytest.raises(BudgetError, match="does not contain the scout"):
            released(ledger, replace(CAP, **other))
    released(ledger)
    with pytest.raises(BudgetError, match="must not have been followed by a release"):
        released(ledger)
    scout(ledger)
    released(ledger)
    assert ledger.statement().epsilon == 2 * CAP.epsilon


@pytest.mark.parametrize(("of_scout", "of_release"), [(None, "patient"), ("patient", None), ("patient", "household")])
def test_a_release_protects_whom_its_scout_protects(ledger: Ledger, of_scout: str | None, of_release: str | None) -> None:
    """Rows of a scout and persons of a release have no sum: all rows of a person moved the scout's counts."""
    scout(ledger, key=of_scout)
    with pytest.raises(BudgetError, match="persons as"):
        released(ledger, key=of_release)
    released(ledger, key=of_scout)


def test_a_release_of_a_piece_follows_no_scout(ledger: Ledger) -> None:
    """Its entry could note either the piece or the scout: the limit of one piece and the charge to all would not agree."""
    split = Split(pieces=2, key="a" * 64, register="b" * 64)
    ledger.split(split)
    scout(ledger)
    with pytest.raises(BudgetError, match="the release after it must also use all rows"):
        ledger.check(mechanism("release", CAP.epsilon, "", CAP.delta), "a", ChargedRun(cap=CAP, piece=1, split=split))


def test_a_cap_beyond_the_limit_is_refused_at_the_release(ledger: Ledger) -> None:
    large = replace(CAP, epsilon=Fraction(5))
    scout(ledger, large)
    with pytest.raises(BudgetError, match="allows epsilon = 4"):
        released(ledger, large)


def test_what_an_entry_notes_is_read_back() -> None:
    for notes in (Notes(cap=CAP), Notes(cap=CAP, persons="ab" * 32), Notes(scouted=3)):
        assert notes_of(notes.text, []) == notes
    for text in ("scout 2/1", "scout 2/1 1/1000000000 3/1 0/1 1/5", "release of scout 0", "scout 4/2 1/9 1/9 0/1 0/1"):
        with pytest.raises((ValueError, LedgerError)):
            notes_of(text, [])
    assert inf > float(CAP.rho_left) > 0
