"""What a search measures, from which total on, and what it says where it has no time or too many parts."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.marginals import Marginals
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import allocation as parts_module
from synthrelease.studio.rehearsal import allocation as search
from synthrelease.studio.rehearsal.allocation import (
    Divisible,
    Populations,
    Search,
    allocation_words,
    asked_parts,
    by_cells,
    with_columns,
)
from tests.helpers.tiny import write_config
from tests.studio.rehearsal.allocation.conftest import CHANGES, at_once

ROOT = Path(__file__).parents[4]
FRONTIER, SURROGATE = ROOT / "configs/births-frontier.toml", ROOT / "public_data/births_surrogate.csv.gz"


@pytest.mark.slow
def test_parts_that_the_criteria_ask_for_are_found_from_the_files_alone(spec: ReleaseSpec, public: Counts) -> None:
    divisible = Divisible.of(with_columns(spec))
    with at_once() as run:
        looking = Search(divisible, Populations(public=public, priors={}, seed=1), run, seed=1)
        found = asked_parts(divisible.spec, public, looking.rooms)
    (generator,) = found.space.generators
    names = {part.text for part in Divisible.of(found).start.parts}
    assert {"year", "face[0 1]"} <= names  # every column is measured by itself, the one of two bins as a sum
    assert generator.family == "marginals"
    assert not list(generator.mistakes(found.space.common.layout, []))


@pytest.mark.slow
@pytest.mark.parametrize("published", [False, True])
def test_the_rarest_bins_are_counted_apart_unless_readers_get_the_measurements(published: bool) -> None:
    """Parity above 10 is the rarest bin of the births' surrogate."""
    spec = replace(load_spec(FRONTIER), publish_measurements=published)
    public = read_public(SURROGATE, spec.schema, spec.input, spec.raw)
    found = asked_parts(with_columns(spec), public, lambda spec, words: np.zeros(1), lambda: True)
    (generator,) = found.space.generators
    assert isinstance(generator, Marginals)
    named = {one.text for one in generator.scored_sums}
    assert ("parity[0 0 0 0 1]" in named) == published
    assert ("parity[0 0 0 0 1]" in (generator.rare_bins or "")) == (not published)


@pytest.mark.slow
def test_the_least_total_is_where_tries_reach_the_goal(public: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a total at which tries seldom succeed and one at which they nearly always do; the chosen one is not far above."""
    monkeypatch.setattr(search, "_MOST_STAGES", 0)
    monkeypatch.setattr(search, "_JUDGED", 4)
    spec = load_spec(write_config(tmp_path, CHANGES | {"threshold = 0.9\nepsilon = 0.5": "threshold = 0.08\nepsilon = 0.1"}))
    with at_once() as run:
        populations = Populations(public=public, priors={}, seed=1)
        looking = Search(Divisible.of(spec, Fraction(8)), populations, run, seed=1)
        found = looking.outcome(0.8)
        assert found.divisible.total != 8
        assert found.chosen_as_is.success > 0.6
        for factor in (Fraction(tenths, 10) for tenths in range(5, 10)):
            cheap = Search(Divisible.of(spec, found.divisible.total * factor), populations, run, seed=1)
            less = cheap._scaled(found.chosen, factor)
            if cheap._possible(less):
                break
        tries = cheap._compared([less], range(4), 8, "")[0]
    assert float(search.success(cheap._spec(less), tries).mean()) < 0.8


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


TIES_GIVEN_UP = "No table of two columns is needed by these criteria: independent columns pass them."


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
        said = "stay in the ratios" in " ".join(allocation_words(found))
        assert TIES_GIVEN_UP not in allocation_words(found, afresh=True)
        alone = [pair for pair in zip(found.chosen.parts, found.chosen.weights, strict=True) if ":" not in pair[0].text]
        chosen = replace(found.chosen, parts=tuple(part for part, _ in alone), weights=tuple(weight for _, weight in alone))
        given_up = replace(found, chosen=chosen)
        assert TIES_GIVEN_UP in allocation_words(given_up, afresh=True)
        assert TIES_GIVEN_UP not in allocation_words(given_up)  # the specification measured none
        moved.append((found.chosen.weights != Divisible.of(spec).start.weights, said))
    assert moved == [(False, True), (True, False)]


def test_where_weights_are_not_searched_tables_have_those_of_drafts(spec: ReleaseSpec) -> None:
    """The root of the cells, 2 and 4 of the columns by themselves; a sum has 1."""
    told = by_cells(spec, Divisible.of(spec).start)
    weights = {part.text: float(weight) for part, weight in zip(told.parts, told.weights, strict=True)}
    assert weights.pop("year[-3 -1 1 3] within -2..2") == 1
    assert weights == {"face": 1.4, "year": 2.0, "face:year": 2.8}
