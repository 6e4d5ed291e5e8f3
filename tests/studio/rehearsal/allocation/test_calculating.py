"""Weights by calculation: against a search of all weights on a grid, groups against their price, effects against known ones."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.marginals import Marginals
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import allocation as parts_module
from synthrelease.studio.rehearsal import allocation as search
from synthrelease.studio.rehearsal.allocation import (
    _MOST_BUNDLES,
    Allocation,
    Divisible,
    Effects,
    MeasuredPart,
    NoiseOfOnePart,
    Populations,
    Search,
    Try,
    allocation_words,
    asked_parts,
    bundles_of,
    by_cells,
    calculated,
    chances_of,
    effects_of,
    run_tries,
    spread_over,
    with_columns,
)
from tests.helpers.tiny import write_config
from tests.studio.rehearsal.allocation.conftest import CHANGES, at_once

ROOT = Path(__file__).parents[4]
FRONTIER, SURROGATE = ROOT / "configs/births-frontier.toml", ROOT / "public_data/births_surrogate.csv.gz"


def effects(rng: np.random.Generator, criteria: int, parts: int, power: int = 2) -> Effects:
    return Effects(
        power=power,
        aspects=tuple(range(criteria)),
        slacks=rng.uniform(20, 200, criteria),
        drawn=rng.uniform(0, 4, criteria),
        units=np.exp(rng.normal(0, 2, (criteria, parts))),
    )


@pytest.mark.parametrize("power", [1, 2], ids=["rho", "epsilon"])
@pytest.mark.parametrize("seed", range(4))
def test_the_safest_budgets_are_those_of_a_search_of_all(seed: int, power: int) -> None:
    """Budgets of three parts at one total, on a grid of all."""
    asked = effects(np.random.default_rng(seed), criteria=4, parts=3, power=power)
    numbers, total, test, margin = np.array([1.0, 2.0, 1.0]), 2.0, 0.5, 4.0
    safest = asked.safest(numbers, total, test, margin)
    assert safest is not None
    failing, found = safest
    assert (numbers * found).sum() == pytest.approx(total)

    def chances(budgets: np.ndarray) -> np.ndarray:
        """For each row of budgets."""
        variances = asked.drawn + 2 / test**2 + (asked.units / budgets[:, None, :] ** power).sum(axis=2)
        return logsumexp(norm.logsf((asked.slacks - margin) / np.sqrt(variances)), axis=1)

    assert chances(found[None]) == pytest.approx(failing)
    shares = np.linspace(0.005, 0.985, 71)
    grid = np.array([(one, two, 1 - one - two) for one, two in product(shares, shares) if one + two < 0.999])
    best = chances(grid * total / numbers).min()
    assert best - 0.05 * abs(best) <= failing <= best + 1e-9  # and the grid is fine enough to tell


def test_many_criteria_that_one_part_decides_weigh_more_than_one_of_another_part() -> None:
    """Sixty ratios of one table fail with sixty times the chance of one: least of all with more than half of the total."""
    units = np.array([[4.0, 0.0]] * 60 + [[0.0, 4.0]])
    asked = Effects(aspects=tuple(range(61)), slacks=np.full(61, 40.0), drawn=np.zeros(61), units=units)
    safest = asked.safest(np.ones(2), 0.5, 1.0, 1.0)
    assert safest is not None
    assert safest[1][0] > 1.2 * safest[1][1]


def test_what_no_weights_can_mend_is_said() -> None:
    asked = effects(np.random.default_rng(1), criteria=2, parts=2)
    assert asked.safest(np.ones(2), 2.0, 0.5, float(asked.slacks.min())) is None


def test_a_group_has_the_noise_of_its_size() -> None:
    asked = effects(np.random.default_rng(4), criteria=2, parts=3)
    grouped = asked.of_groups([[0, 2], [1]])
    assert grouped.units[:, 0] == pytest.approx(2 * (asked.units[:, 0] + asked.units[:, 2]))  # (m + 1)(m + 2) / 6 = 2
    assert grouped.units[:, 1] == pytest.approx(asked.units[:, 1])


def test_sums_that_cost_the_same_share_a_noise_and_the_total_is_kept(spec: ReleaseSpec) -> None:
    divisible = Divisible.of(spec, Fraction(3))
    parts = tuple(MeasuredPart(field="sums", place=place, texts=(f"year[0 0 {place} 1]",)) for place in range(4))
    apart = Allocation(parts=parts, weights=(Fraction(1, 10),) * 4, test=Fraction(1))
    asked = Effects(aspects=(0, 1), slacks=np.full(2, 60.0), drawn=np.ones(2), units=np.array([[9.0] * 4, [1.0] * 4]))
    found = calculated(divisible, apart, asked)
    assert found is not None
    assert [sorted(part.texts) for part in found.parts] == [sorted(part.text for part in parts)]
    assert float(sum(found.weights)) == pytest.approx(float(divisible.generation(found)), rel=0.01)


@pytest.mark.parametrize("law", ["Laplace", "Gaussian"])
def test_only_the_loud_measurements_have_noise_of_their_deviation(law: str) -> None:
    values = np.zeros(1_000, dtype=np.int64)
    entropy = NoiseOfOnePart(1, loud=range(1, 3), factor=2)
    drawn = [(entropy.add_laplace if law == "Laplace" else entropy.add_gaussian)(values, 50.0) for _ in range(4)]
    assert not drawn[0].any()
    assert not drawn[3].any()
    stop = -math.expm1(-1 / 50)
    deviation = math.sqrt(2 * (1 - stop)) / stop if law == "Laplace" else 50  # of the difference of two geometric variables
    for one in drawn[1:3]:
        assert set(np.abs(one).tolist()) == {round(2 * deviation)}
        assert abs(one.mean()) < 5 * 2 * deviation / math.sqrt(1_000)


def test_effects_are_what_noise_takes_from_the_slack(spec: ReleaseSpec, public: Counts) -> None:
    """Slacks of known deviations; the one that asks nothing, and what populations differ by, have no part in it."""
    rng = np.random.default_rng(5)

    def tried(losses: np.ndarray) -> list[Try]:
        return [
            Try(population=population, number=number, excess=0.0, good=True, aspects=tuple(slack), reached=())
            for population in range(4)
            for number, slack in enumerate(np.array([50.0 + population, math.inf, 90.0]) + losses[population])
        ]

    def drawing(size: float) -> np.ndarray:
        return rng.normal(0, size, (4, 500, 3))

    asked = effects_of([tried(drawing(2)), tried(drawing(2) + drawing(1) * [6, 0, 2])], np.array([[0.25**2]]))
    assert asked is not None
    assert asked.aspects == (0, 2)  # the one in between asks nothing
    assert asked.slacks == pytest.approx([50, 90], abs=0.4)
    assert asked.drawn == pytest.approx([4, 4], rel=0.2)
    assert asked.units[:, 0] == pytest.approx([36 * 0.25**2, 4 * 0.25**2], rel=0.25)


def test_of_many_parts_those_that_are_alike_are_tried_together_and_share_what_they_cost() -> None:
    """A cost that goes with the cells of each table, and with the square of its noise, is found again part by part."""
    assert bundles_of([9, 4]) == [[0], [1]]
    cells = np.random.default_rng(3).integers(2, 500, 70).tolist()
    bundles = bundles_of(cells)
    assert sorted(part for bundle in bundles for part in bundle) == list(range(70))
    assert len(bundles) == _MOST_BUNDLES
    assert all(max(cells[part] for part in one) <= min(cells[part] for part in two) for one, two in pairwise(bundles))
    squares = np.random.default_rng(4).uniform(0.1, 2, 70)
    true = 3.0 * np.array(cells)  # at a budget of 1
    costs = np.array([(true / squares)[bundle].sum() for bundle in bundles])
    assert costs @ spread_over(bundles, cells, squares) == pytest.approx(true)


def test_tries_of_one_part_have_its_noise_alone(spec: ReleaseSpec, public: Counts) -> None:
    populations = Populations(public=public, priors={}, seed=1)
    quiet = run_tries(spec, populations, 1, 0, range(6), range(0))
    loud = run_tries(spec, populations, 1, 0, range(6), range(0, 4), 4)
    assert np.mean([one.aspects[0] for one in loud]) < np.mean([one.aspects[0] for one in quiet])


def test_the_share_of_passes_is_over_the_noise_of_the_test(spec: ReleaseSpec) -> None:
    assert spec.joint_test is not None
    margin, epsilon = spec.joint_test.margin, float(spec.joint_test.epsilon)
    slacks = [(margin, math.inf), (margin + 2 / epsilon, math.inf), (margin - 2 / epsilon, math.inf)]
    tries = [Try(population=0, number=0, excess=0, good=True, aspects=each, reached=()) for each in slacks]
    chances = chances_of(tries, spec)
    assert chances[0] == pytest.approx(0.5)
    assert math.isnan(chances[1])


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
def test_calculated_weights_better_a_bad_allocation(public: Counts, tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path, CHANGES | {"threshold = 0.9\nepsilon = 0.5": "threshold = 0.08\nepsilon = 0.1"}))
    divisible = Divisible.of(spec)
    with at_once() as run:
        looking = Search(divisible, Populations(public=public, priors={}, seed=1), run, seed=1)
        found = looking._calculated(divisible.start)
        assert found
        tries = looking._compared([divisible.start, found[-1]], range(4, 8), 8, "")
    before, after = (float(search.success(spec, one).mean()) for one in tries)
    assert after > before + 0.05


@pytest.mark.slow
def test_the_least_total_is_where_tries_reach_the_goal(public: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a total at which tries seldom succeed and one at which they nearly always do; the chosen one is not far above."""
    monkeypatch.setattr(search, "_MOST_STAGES", 0)
    monkeypatch.setattr(search, "_CALCULATIONS", 1)
    monkeypatch.setattr(search, "_JUDGED", 4)
    spec = load_spec(write_config(tmp_path, CHANGES | {"threshold = 0.9\nepsilon = 0.5": "threshold = 0.08\nepsilon = 0.1"}))
    with at_once() as run:
        populations = Populations(public=public, priors={}, seed=1)
        looking = Search(Divisible.of(spec, Fraction(8)), populations, run, seed=1)
        found = looking.found(0.8)
        assert found.divisible.total != 8
        assert found.chosen_as_is.success > 0.6
        for factor in (Fraction(tenths, 10) for tenths in range(5, 10)):
            cheap = Search(Divisible.of(spec, found.divisible.total * factor), populations, run, seed=1)
            less = cheap._scaled(found.chosen, factor)
            if cheap._possible(less):
                break
        tries = cheap._compared([less], range(4), 8, "")[0]
    assert float(search.success(cheap._spec(less), tries).mean()) < 0.8


def test_what_tries_told_before_the_time_was_over_is_calculated(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    divisible = Divisible.of(spec)
    parts = len(divisible.start.apart().parts)
    told = Effects(aspects=(0,), slacks=np.full(1, 1e4), drawn=np.ones(1), units=np.arange(1.0, 1 + parts)[None, :])
    with at_once() as run:
        populations = Populations(public=public, priors={}, seed=1)
        late = Search(divisible, populations, run, seed=1, deadline=time.monotonic())
        monkeypatch.setattr(late, "_effects", lambda apart: told)
        (found,) = late._calculated(divisible.start)
    assert found == calculated(divisible, divisible.in_budgets(divisible.start).apart(), told)
    assert late._done == 0  # no try was made


@pytest.mark.slow
def test_where_time_does_not_suffice_nothing_is_calculated_and_that_is_said(
    public: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether, and not how well, is asked: one calculation, without corrections, on few tries."""
    for name, few in {"_JUDGED": 2, "_CALCULATIONS": 1, "_CORRECTIONS": 1, "_PER_POPULATION": 2}.items():
        monkeypatch.setattr(search, name, few)
    spec = load_spec(write_config(tmp_path, CHANGES | {"threshold = 0.9\nepsilon = 0.5": "threshold = 0.08\nepsilon = 0.1"}))
    said = []
    for deadline in (time.monotonic(), time.monotonic() + 3_600):
        monkeypatch.setattr(search, "_MOST_STAGES", 0)
        with at_once() as run:
            populations = Populations(public=public, priors={}, seed=1)
            found = Search(Divisible.of(spec), populations, run, seed=1, deadline=deadline).found()
        said.append((found.calculated, "not calculated" in " ".join(allocation_words(found))))
    assert said == [(False, True), (True, False)]


TIES_GIVEN_UP = "No table of two columns is needed by these criteria: independent columns pass them."


@pytest.mark.slow
def test_of_many_parts_the_ratios_stay_and_that_is_said(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With four parts and a limit of three; a limit of four lets the same search move them. How well is not asked."""
    for name, few in {"_JUDGED": 1, "_CALCULATIONS": 1, "_CORRECTIONS": 1, "_PER_POPULATION": 2}.items():
        monkeypatch.setattr(search, name, few)
    moved = []
    for most in (3, 4):
        monkeypatch.setattr(parts_module, "MOST_PARTS", most)
        with at_once() as run:
            found = Search(Divisible.of(spec), Populations(public=public, priors={}, seed=1), run, seed=1).found()
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
