"""While a draft is made something is said, at least every few seconds."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.measured_noise import DiscreteLaplace
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting import criteria, text
from synthrelease.studio.rehearsal.dependence import Purse, telling_tables


@pytest.mark.parametrize(("most", "n_fits"), [(None, 6), (Fraction(1, 5), 6), (Fraction(1, 10), 2)])
def test_every_fit_of_a_draft_is_told_and_a_costly_draft_ends_early(
    monkeypatch: pytest.MonkeyPatch, most: Fraction | None, n_fits: int
) -> None:
    """Six fits of a hundred columns took minutes without a word; criteria that cost 0.2 are known after two of them."""
    asked: list[list[tuple[int, int]]] = []
    monkeypatch.setattr(criteria, "run_attempts", lambda *given: asked.append(given[1]) or [given[1][0][1]])
    settled = SimpleNamespace(epsilon=Fraction(1, 5))
    monkeypatch.setattr(criteria, "_settled", lambda *given: (settled, len(given[-1])))
    told: list[str] = []
    spec = cast(ReleaseSpec, SimpleNamespace(schema=SimpleNamespace(columns=("a",)), budget=SimpleNamespace(generation=1)))
    counts = Counts(Layout(columns=("a",), sizes=(2,)), np.array([0]))
    draft = cast(criteria.AcceptanceDraft, spec)
    assert criteria.settle(draft, spec, counts, (), 7, told.append, most) == (settled, n_fits)
    assert asked == [[(0, number)] for number in range(n_fits)]
    assert told == [f"fit {number} of 6" for number in range(1, n_fits + 1)]


def test_a_step_is_told_where_nothing_was_said_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(text.time, "monotonic", lambda: now[0])
    told: list[tuple[float, str]] = []
    voice = text.Voice(lambda doing: told.append((now[0], doing)))
    voice.say("begin")
    for second in range(1, 31):
        now[0] = float(second)
        voice.patiently(f"step {second}")
    times = [at for at, _ in told]
    assert told[0] == (0.0, "begin")
    assert max(np.diff(times)) < 10
    assert min(np.diff(times)) > 3  # and no more often: a quick draft says its stages alone


def test_every_round_of_the_search_for_tables_is_told() -> None:
    random = np.random.default_rng(1)
    one = random.integers(0, 3, 2_000)
    columns = [np.where(random.random(2_000) < 0.8, one, random.integers(0, 3, 2_000)) for _ in range(4)]
    table = Counts.of(Layout(columns=tuple("abcd"), sizes=(3,) * 4), columns)
    told: list[str] = []
    purse = Purse(kind=DiscreteLaplace, cost=Fraction(4))
    telling_tables(table, Plausibility(layout=table.layout, masks=()), purse, progress=told.append)
    assert told[0].startswith("looking for tables of two columns: round 1 of")
    assert "looking for pairs of columns that would be lost" in told
    assert told[-1] == "drawing rows of a model of 6 tables"  # and every step of a round
    assert any("three columns" in each for each in told)
