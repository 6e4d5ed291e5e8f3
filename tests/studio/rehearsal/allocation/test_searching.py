"""What a search measures, from which total on, and what it says where it has no time or too many parts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from synthrelease.data.counts import Counts
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import allocation as parts_module
from synthrelease.studio.rehearsal import allocation as search
from synthrelease.studio.rehearsal.allocation import Divisible, Populations, Search, allocation_words
from tests.studio.rehearsal.allocation.conftest import at_once

ROOT = Path(__file__).parents[4]
FRONTIER, SURROGATE = ROOT / "configs/births-frontier.toml", ROOT / "public_data/births_surrogate.csv.gz"


@pytest.mark.slow
def test_where_time_does_not_suffice_nothing_is_searched_and_that_is_said(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether, and not how well, is asked: on few tries."""
    for name, few in {"_JUDGED": 2, "_PER_POPULATION": 2, "_MOST_STAGES": 3}.items():
        monkeypatch.setattr(search, name, few)
    said = []
    for deadline in (time.monotonic(), time.monotonic() + 3_600):
        with at_once() as run:
            populations = Populations(public=public, priors={}, seed=1)
            found = Search(Divisible.of(spec), populations, run, seed=1, deadline=deadline).outcome()
        said.append((found.steps > 0, "No other weights were tried" in " ".join(allocation_words(found))))
    assert said == [(False, True), (True, False)]


@pytest.mark.slow
def test_of_many_parts_the_ratios_stay_and_that_is_said(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With four parts and a limit of three; a limit of four lets the same search move them. How well is not asked."""
    for name, few in {"_JUDGED": 1, "_PER_POPULATION": 2, "_MOST_STAGES": 3}.items():
        monkeypatch.setattr(search, name, few)
    moved = []
    for most in (3, 4):
        monkeypatch.setattr(parts_module, "MOST_PARTS", most)
        with at_once() as run:
            found = Search(Divisible.of(spec), Populations(public=public, priors={}, seed=1), run, seed=1).outcome()
        said = "The weights keep their ratios" in " ".join(allocation_words(found))
        moved.append((found.chosen.weights != Divisible.of(spec).start.weights, said))
    assert moved == [(False, True), (True, False)]
