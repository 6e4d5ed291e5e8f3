"""An allocation that is chosen by rehearsal: within its total, on paired noise, judged by what chose nothing, and better."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import prepare
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import allocation as search
from synthrelease.studio.rehearsal.allocation import Divisible, Populations, Search, Try, allocation_lines, run_tries, success
from tests.conftest import ROOT
from tests.helpers.tiny import PIPELINE, write_config, write_data
from tests.studio.rehearsal.allocation.conftest import CHANGES, GAUSSIAN, MARGINALS, at_once


def test_a_allocation_keeps_the_total_and_the_ratios_of_its_weights(spec: ReleaseSpec) -> None:
    divisible = Divisible.of(spec)
    assert [(part.field, part.text) for part in divisible.start.parts] == [
        ("tables", "face"),
        ("tables", "year"),
        ("only_measured", "face:year"),
        ("sums", "year[-3 -1 1 3] within -2..2"),
    ]
    same = divisible.spec_with(divisible.start)
    assert same is not None
    assert same.budget.generation == spec.budget.generation
    layout = spec.space.common.layout
    shares = [each.space.generators[0].shares(layout) for each in (same, spec)]  # type: ignore[attr-defined]
    assert {columns: float(share) for columns, share in shares[0].items()} == pytest.approx(
        {columns: float(share) for columns, share in shares[1].items()}, rel=0.01
    )
    rng = np.random.default_rng(0)
    for total in (None, Fraction(3, 2), Fraction(7)):
        divisible = Divisible.of(spec, total)
        for _ in range(5):
            factors = np.exp(rng.normal(size=5))
            other = divisible.spec_with(divisible.start.moved(factors[:4].tolist(), min(float(factors[4]), 1.2)))
            assert other is not None
            assert 0 <= divisible.total - other.plan.total.epsilon < Fraction(2, 10**6)
            first, last = other.space.generators[0].sum_shares(layout)[0], other.space.generators[0].shares(layout)[(0,)]  # type: ignore[attr-defined]
            assert float(first / last) == pytest.approx(factors[3] / factors[0], rel=0.02)


@pytest.fixture(scope="module")
def gaussian(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("gaussian"), CHANGES | {PIPELINE: GAUSSIAN}))


@pytest.mark.slow
def test_of_a_rho_squares_add_up_and_the_plan_states_at_most_the_total(gaussian: ReleaseSpec) -> None:
    layout = gaussian.space.common.layout
    for total in (None, Fraction(5)):
        divisible = Divisible.of(gaussian, total)
        assert divisible.unit == "rho"
        for factor in (0.5, 1.2):
            one = divisible.start.moved([1, 2, 1], factor)
            other = divisible.spec_with(one)
            assert other is not None
            assert 0.995 * divisible.total < other.plan.total.epsilon <= divisible.total
            shares = other.space.generators[0].shares(layout)  # type: ignore[attr-defined]
            tables = other.space.generators[0].measured_tables(layout, other.budget.generation)
            assert sum(tables.values()) == other.budget.generation
            assert float(shares[(1,)] / shares[(0,)]) == pytest.approx(4, rel=0.02)
    assert not divisible.possible(replace(divisible.start, test=Fraction(6)))
    told = divisible.in_budgets(divisible.start)
    assert float(told.whole) == pytest.approx(float(divisible.generation(divisible.start)))


def test_the_noise_of_a_part_goes_with_its_budget(spec: ReleaseSpec, gaussian: ReleaseSpec, public: Counts) -> None:
    """As the noise that a generator adds at these budgets: with the inverse of an epsilon, and of the root of a rho."""
    for one in (spec, gaussian):
        divisible, noise = Divisible.of(one), one.space.generators[0].noise  # type: ignore[attr-defined]
        with at_once() as run:
            looking = Search(divisible, Populations(public=public, priors={}, seed=1), run, seed=1)
        budgets = divisible.in_budgets(divisible.start).weights[:2]
        sizes = [noise.of_table(budget).mean_size for budget in budgets]
        found = looking._noise_of(divisible.start)
        assert found[0] / found[1] == pytest.approx(sizes[0] / sizes[1])
        assert budgets[0] != budgets[1]


@pytest.mark.slow
def test_the_lines_of_a_rho_are_the_allocation_and_cost_the_total(gaussian: ReleaseSpec) -> None:
    divisible = Divisible.of(gaussian, Fraction(5, 2))
    chosen = divisible.start.moved([1, 2, 1], 1.0)
    lines = allocation_lines(SimpleNamespace(divisible=divisible, chosen=chosen))  # type: ignore[arg-type]
    assert "weights are thousandths of rho" in lines
    told, tried = tomllib.loads(lines), divisible.spec_with(chosen)
    assert tried is not None
    (generator,) = tried.space.generators
    layout = gaussian.space.common.layout
    assert type(generator).model_validate(told["generators"][0]).shares(layout) == generator.shares(layout)  # type: ignore[attr-defined]
    assert told["budget"]["delta"] == float(gaussian.budget.delta)
    spec = replace(
        tried.with_budget(generation=Fraction(str(told["budget"]["generation"]))),
        joint_test=replace(tried.joint_test, epsilon=Fraction(str(told["selection"]["test_epsilon"]))),  # type: ignore[type-var]
    )
    assert Fraction(49, 20) < spec.plan.total.epsilon <= Fraction(5, 2)


@pytest.mark.slow
def test_the_lines_of_a_rho_load_and_cost_the_total(gaussian: ReleaseSpec, public: Counts, tmp_path: Path) -> None:
    config, data = write_config(tmp_path, CHANGES | {PIPELINE: GAUSSIAN}), write_data(tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search, "_MOST_STAGES", 0)
        patched.setattr(search, "_JUDGED", 2)
        result = CliRunner().invoke(app, ["allocate", str(config), "--data", str(data), "--total", "2.5"])
    assert result.exit_code == 0, result.output
    assert "weights are thousandths of rho" in result.output
    told = tomllib.loads(result.output[result.output.index("[[generators]]") :])
    spec = replace(
        gaussian.with_budget(generation=Fraction(str(told["budget"]["generation"]))),
        joint_test=replace(gaussian.joint_test, epsilon=Fraction(str(told["selection"]["test_epsilon"]))),  # type: ignore[type-var]
    )
    assert Fraction(49, 20) < spec.plan.total.epsilon <= Fraction(5, 2)
    assert type(gaussian.space.generators[0]).model_validate(told["generators"][0]).family == "gaussian_marginals"


def test_a_specification_with_groups_is_read_and_written_as_it_stands(tmp_path: Path) -> None:
    grouped = {PIPELINE: MARGINALS.replace('sums = "', 'sums = "2.5{year[0 0 0 1] + face[0..1]} + ')}
    spec = load_spec(write_config(tmp_path, CHANGES | grouped))
    divisible = Divisible.of(spec)
    assert divisible.start.parts[3].texts == ("year[0 0 0 1]", "face[0..1]")
    same = divisible.spec_with(divisible.start)
    assert same is not None
    first, second = (each.space.generators[0] for each in (spec, same))
    assert first.scored_sums == second.scored_sums  # type: ignore[attr-defined]
    layout = spec.space.common.layout
    shares = [[float(share) for share in each.sum_shares(layout)] for each in (first, second)]  # type: ignore[attr-defined]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)


@pytest.mark.slow
def test_the_lines_are_the_allocation_that_was_tried(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST_STAGES", 0)
    monkeypatch.setattr(search, "_JUDGED", 2)
    with at_once() as run:
        found = Search(Divisible.of(spec, Fraction(2)), Populations(public=public, priors={}, seed=1), run, seed=1).outcome()
    told = tomllib.loads(allocation_lines(found))
    tried = found.divisible.spec_with(found.chosen)
    assert tried is not None
    (generator,) = tried.space.generators
    written = type(generator).model_validate({"family": "marginals"} | told["generators"][0])
    layout = spec.space.common.layout
    assert written.shares(layout) == generator.shares(layout)  # type: ignore[attr-defined]
    assert Fraction(str(told["budget"]["generation"])) == tried.budget.generation
    assert tried.joint_test is not None
    assert Fraction(str(told["selection"]["test_epsilon"])) == tried.joint_test.epsilon


def test_two_allocations_meet_the_same_noise_up_to_its_scale(spec: ReleaseSpec, public: Counts) -> None:
    def noise(total: int) -> np.ndarray:
        asked = Divisible.of(spec, Fraction(total)).spec_with(Divisible.of(spec).start)
        assert asked is not None
        private = PrivateCounts(public, Meter(asked.plan.once))
        measured = prepare(asked, private.rehearsed(SeededEntropy(1, 2, 0, 0))).measured
        exact = prepare(asked, PrivateCounts(public, Meter(asked.plan.once)).rehearsed(_no_noise())).measured
        assert measured is not None
        assert exact is not None
        pairs = zip(measured.tables, exact.tables, strict=True)
        return np.concatenate([(one.values - other.values).ravel() * float(one.cost) for one, other in pairs])

    small, large = noise(2), noise(4)
    assert np.abs(small).max() > 1
    assert np.corrcoef(small, large)[0, 1] > 0.95


def _no_noise() -> SeededEntropy:
    class Silent(SeededEntropy):
        def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            return np.asarray(values, dtype=np.int64)

    return Silent(0)


def test_populations_have_other_shares_and_no_row_of_the_public_table(public: Counts) -> None:
    plain = Populations(public=public, priors={}, seed=3)
    assert plain.of(0)[0].same_as(public)
    shapes = set()
    for index in range(1, 6):
        table, _ = plain.of(index)
        assert table.total < public.total
        assert (public.dense() >= table.dense()).all()
        assert table.same_as(plain.of(index)[0])
        shapes.add(table.digest())
    assert len(shapes) == 5
    assert Populations(public=public, priors={}, rows=100, seed=3).of(2)[0].total == 100
    divided = Populations(public=public, priors={"a": public, "b": plain.of(1)[0]}, seed=3)
    table, priors = divided.of(0)
    assert divided.divided
    assert (table.dense() + priors["a"].dense() == public.dense()).all()
    assert priors["a"].total == public.total // 5
    assert priors["b"].same_as(plain.of(1)[0])


@pytest.mark.slow
def test_a_bad_allocation_is_bettered_and_the_judgement_chose_nothing(
    spec: ReleaseSpec, public: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST_STAGES", 3)
    monkeypatch.setattr(search, "_PER_POPULATION", 2)
    used: list[tuple[int, int, bool]] = []

    def recorded(  # type: ignore[no-untyped-def]
        spec: ReleaseSpec, populations: Populations, seed: int, population: int, numbers: range
    ) -> list[Try]:
        used.extend((population, number, population in judging or len(numbers) == 64) for number in numbers)
        return run_tries(spec, populations, seed, population, numbers)

    judging = range(search.POPULATIONS, 2 * search.POPULATIONS)
    monkeypatch.setattr(search, "run_tries", recorded)
    with at_once() as run:
        found = Search(Divisible.of(spec), Populations(public=public, priors={}, seed=1), run, seed=1).outcome()
    first, chosen = found.divisible.start.weights, found.chosen.weights
    assert chosen[2] / sum(chosen) < first[2] / sum(first)
    assert found.chosen_others.success > found.first_others.success + 0.05
    assert found.chosen_as_is.success > found.first_as_is.success
    choosing = {(population, number) for population, number, judged in used if not judged}
    assert choosing
    assert not choosing & {(population, number) for population, number, judged in used if judged}


def test_success_counts_tables_above_a_threshold_as_failures_and_follows_the_law(spec: ReleaseSpec) -> None:
    def one(excess: float, good: bool) -> Try:
        return Try(population=0, number=0, excess=excess, good=good, aspects=(), reached=())

    tries = [one(0.0, True), one(0.0, False), one(float("-inf"), False), one(float("inf"), True)]
    assert success(spec, tries).tolist() == [0.5, 0, 0, 1]
    assert one(-1, True).chance() == pytest.approx(np.exp(-1) / 2)
    assert one(-1, True).chance(2) == pytest.approx(np.exp(-0.5) / 2)


def test_what_cannot_be_allocated_is_refused(spec: ReleaseSpec, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the epsilon of this configuration cannot be divided"):
        Divisible.of(load_spec(write_config(tmp_path)))
    divisible = Divisible.of(spec)
    assert not divisible.possible(replace(divisible.start, test=Fraction(4)))


@pytest.mark.slow
def test_the_command_prints_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MOST_STAGES", 0)
    monkeypatch.setattr(search, "_JUDGED", 2)
    config, data = write_config(tmp_path, CHANGES), write_data(tmp_path)
    asked = ["allocate", str(config), "--data", str(data), "--total", "2.5"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "test_epsilon = 1" in result.output
    assert "8 and" in " ".join(result.output.split())
    assert "--total: epsilon = 1 leaves nothing for the generation" in str(
        CliRunner().invoke(app, [*asked[:4], "--total", "1"]).exception
    )
    assert "above 0" in str(CliRunner().invoke(app, [*asked[:4], "--total", "x"]).exception)


def test_a_family_that_divides_its_budget_itself_is_refused() -> None:
    with pytest.raises(InputError, match="the epsilon of this configuration cannot be divided"):
        Divisible.of(load_spec(ROOT / "configs" / "country.toml"))
