"""Figures of an accepted dataset that share one noise: who does, what is drawn and paid for, and what readers make of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.answers.limits import limits
from synthrelease.bundle.limits import LEVEL, one_noise_interval
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.base_mechanism import noisy_figures
from synthrelease.criteria.facts import MECHANISM, OneNoise, Query, shared_noise
from synthrelease.criteria.scoring import figures_of, fitted_before
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import BudgetError, PrivateFailure
from synthrelease.generators.measured_noise import MOST_NUMBERS, cube_tail
from synthrelease.privacy import charges
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.grids import grid_bits, grid_point, laplace_sd, noise_grid, shared_grid, shared_steps
from synthrelease.privacy.noise import SystemEntropy, one_noise
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.published.charges import MOST_SHARING
from synthrelease.releasing.attempt import Attempt, generate, prepare, released_figures
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.audit.enumeration import CodeFigures, sweeps
from tests.helpers.forgeries import Tables, interval_of, looked_at, problems, written_anew
from tests.helpers.furthest import furthest
from tests.helpers.published import integer_column, published, score
from tests.helpers.small import World
from tests.helpers.tiny import write_config, write_data

STOP = "stop_probability = 0.001"
JOINT = f'{STOP}\ntest = "joint"\ntest_epsilon = 2\nfalse_acceptance = 0.01'
FACE = 'kind = "face_privacy"\nminimum_count = 2'
MORE = """
[[criteria]]
name = "mean year"
kind = "conditional_mean"
column = "year"
by = ["face"]
range = [1, 8]
size_margin = 0.05
threshold = 3
epsilon = 0.4

[[criteria]]
name = "ratios"
kind = "relative_marginal_error"
clip = 4
threshold = 3.5
epsilon = 0.6

[[criteria]]
name = "dear"
kind = "kolmogorov_distance"
column = "year"
threshold = 0.9
epsilon = 9
"""
GROUPS = '\n[groups]\nface = ["head", "tail"]\n'
MARGINALS = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
SHARING = {
    STOP: JOINT,
    MARGINALS: 'family = "marginals"\ntables = "face:year"',
    FACE: FACE + "\n" + MORE,
    "limit = 25": "limit = 99",
}
TOGETHER = ("marginals", "mean year", "ratios")


# --- Who shares


@pytest.mark.slow
def test_nobody_has_more_noise_than_alone_and_nobody_is_left_out_who_would_gain() -> None:
    """Against the rule by floats, over all budgets of up to four figures from six sizes."""
    sizes = [Fraction(text) for text in ("1/1000", "1/500", "1/50", "3/50", "1/2", "4")]

    def sd(noise: OneNoise) -> float:
        return noise.deviation(1.0)

    for number in range(5):
        for chosen in product(sizes, repeat=number):
            own = {str(place): epsilon for place, epsilon in enumerate(chosen)}
            found = shared_noise(own)
            assert len(found) != 1
            total = sum((own[name] for name in found), Fraction(0))
            assert set(found.values()) <= {OneNoise(figures=len(found), epsilon=total)}
            assert all(sd(noise) <= math.sqrt(2) / own[name] * (1 + 1e-12) for name, noise in found.items())
            left = [name for name in own if name not in found]
            assert all(own[name] >= max((own[other] for other in found), default=Fraction(0)) for name in left)
            if left and found:
                cheapest = min(left, key=lambda name: own[name])
                with_it = OneNoise(figures=len(found) + 1, epsilon=total + own[cheapest])
                assert sd(with_it) > math.sqrt(2) / own[cheapest]
    assert shared_noise({"a": Fraction(1), "b": Fraction(1)}).keys() == {"a", "b"}
    assert not shared_noise({"a": Fraction(1), "b": Fraction(1, 3)})  # 6 (4/3)^2 is less than 12: a would lose


def test_no_more_figures_share_than_the_law_is_computed_for() -> None:
    many = shared_noise({str(place): Fraction(1) for place in range(MOST_NUMBERS + 7)})
    assert len(many) == MOST_NUMBERS == MOST_SHARING
    assert set(many) == {str(place) for place in range(7, MOST_NUMBERS + 7)}


def spec_of(folder: Path, changes: Mapping[str, str] | None = None) -> ReleaseSpec:
    return load_spec(write_config(folder, {**SHARING, **(changes or {})}))


@pytest.mark.slow
def test_a_pure_release_by_a_joint_test_shares_and_no_other(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    assert tuple(spec.noises) == TOGETHER
    assert spec.noises["ratios"] == OneNoise(figures=3, epsilon=Fraction(3, 2))
    single = load_spec(write_config(tmp_path, {FACE: SHARING[FACE]}))
    assert not single.noises
    curve = {
        MARGINALS: 'family = "adaptive"',
        "generation = 10": "generation = 1\ndelta = 1e-9",
        STOP: JOINT + '\nmode = "truncated_negative_binomial"\nshape = 1',
    }
    assert not spec_of(tmp_path, curve).noises


def test_a_plan_costs_the_same_and_says_who_shares(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    apart = replace(spec, shares_noise=False)
    assert [(leaf.name, leaf.epsilon) for leaf in spec.plan.total.leaves()] == [
        (leaf.name, leaf.epsilon) for leaf in apart.plan.total.leaves()
    ]
    assert spec.plan.total.epsilon == apart.plan.total.epsilon
    told = {charge.name: charge.because for charge in spec.plan.after}
    for name in TOGETHER:
        own = next(each.epsilon for each in spec.criteria if each.name == name)
        share = math.sqrt(4 * 5 / 6) * float(own) / 1.5
        assert told[f"criterion: {name}"].endswith(
            f"one noise for 3 figures, {share:.2f} of the standard deviation of one of its own"
        )
    assert told["criterion: dear"] == "Laplace mechanism"


CURVE = {
    MARGINALS: 'family = "gaussian_marginals"\ntables = "face:year"',
    "generation = 10": "generation = 1\ndelta = 1e-9",
    STOP: JOINT + '\nmeasurements = "shared"\npublish_measurements = true',
}


def test_beside_a_curve_those_who_share_are_one_charge(tmp_path: Path) -> None:
    """Of the square of their sum, where noises of their own would be of the sum of their squares."""
    spec = spec_of(tmp_path, CURVE)
    assert tuple(spec.noises) == TOGETHER
    one, dear = spec.plan.total.parts[-1].parts
    assert one.rule == charges.TOGETHER
    assert [leaf.name for leaf in one.leaves()] == [f"criterion: {name}" for name in TOGETHER]
    assert one.epsilon == Fraction(3, 2)
    assert dear.name == "criterion: dear"
    apart = replace(spec, shares_noise=False).plan.total
    assert apart.epsilon <= spec.plan.total.epsilon <= apart.epsilon + one.epsilon


@pytest.mark.slow
def test_a_bundle_of_gaussian_tables_verifies_and_says_who_shares(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, CURVE)
    found = release(spec, write_data(tmp_path))
    assert found is not None
    folder = write_bundle(found, tmp_path / "bundle")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert not problems(verify_files(files))
    tables = json.loads(files["release.json"])
    assert {one["name"] for one in tables["criteria"] if "one_noise" in one} == set(TOGETHER)
    assert {one["noise"] for one in json.loads(files["measurements.json"])["tables"]} == {"rounded Gaussian"}
    figures = next(node for node in tables["charges"]["parts"] if node["name"] == "figures of the accepted dataset")
    shared = figures["parts"].pop(0)
    assert shared["rule"] == charges.TOGETHER
    figures["parts"][:0] = shared["parts"]  # charged as if each had noise of its own
    report = looked_at(files, tables)
    assert report is not None
    assert any("does not charge them as one mechanism" in problem for problem in problems(report))


# --- What is drawn and paid for


class Known(SystemEntropy):
    """Noise that is known: what it is added to is written down."""

    def __init__(self, *noise: int):
        self.noise, self.seen, self.alone = np.array(noise), list[tuple[list[int], Fraction]](), list[float]()

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        self.seen.append((values.tolist(), rate))
        return values + self.noise

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.alone.append(scale)
        return values


def accepted(folder: Path, spec: ReleaseSpec) -> tuple[Callable[[SystemEntropy], PrivateCounts], Attempt, Any]:
    table = read_public(write_data(folder), spec.schema, spec.input, spec.raw)
    private = PrivateCounts(table, Meter(spec.plan.once), SeededEntropy(3))
    prepared = prepare(spec, private)
    _, candidate = generate(spec, spec.space[0], private, prepared)
    return (lambda entropy: private.rehearsed(entropy)), Attempt(candidate=candidate, joint_verdict=True), prepared


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the charges that are struck off, in their order."""
    names, original = list[str](), Meter.take

    def take(self: Meter, charge: Charge) -> None:
        original(self, charge)
        names.append(charge.name)

    monkeypatch.setattr(Meter, "take", take)
    return names


@pytest.mark.slow
def test_the_release_path_draws_one_vector_for_those_that_share(tmp_path: Path, taken: list[str]) -> None:
    spec = spec_of(tmp_path)
    private, attempt, prepared = accepted(tmp_path, spec)
    exact = released_figures(replace(spec, shares_noise=False), attempt, private(NoNoise()), prepared)
    taken.clear()
    entropy, noise = Known(7, -4098, 12_345), dict(zip(TOGETHER, (7, -4098, 12_345), strict=True))
    scores = {each.name: each for each in released_figures(spec, attempt, private(entropy), prepared)}
    assert [each.name for each in spec.criteria] == list(scores)
    ((points, rate),) = entropy.seen
    assert rate == Fraction(3, 2) / 4098
    assert len(entropy.alone) == 1  # the dear figure
    for place, name in enumerate(TOGETHER):
        found, value = scores[name], next(each.value for each in exact if each.name == name)
        step = found.sensitivity / 4096
        assert abs(points[place] * step - value) <= step + noise_grid(found.sensitivity).step  # both were rounded
        assert found.value == (points[place] + noise[name]) * step
        assert (found.mechanism, found.passed, found.decides) == (MECHANISM, True, False)
        assert found.one_noise == OneNoise(figures=3, epsilon=Fraction(3, 2))
        rough = math.sqrt(4 * 5 / 3) / 1.5 * found.sensitivity
        assert found.noise_sd == pytest.approx(rough, rel=2e-3)
    assert scores["dear"].one_noise is None
    assert scores["dear"].mechanism == "Laplace"
    assert sorted(taken) == sorted(charge.name for charge in spec.plan.after)
    assert taken[:3] == [f"criterion: {name}" for name in TOGETHER]


def test_a_vector_is_not_drawn_when_one_of_its_charges_is_gone(tmp_path: Path) -> None:
    """No counts are read then, and none of the figures is released."""
    world = World({"a": 1})
    criteria = [judged("absolute_marginal_error", "x"), judged("absolute_marginal_error", "y")]
    entropy, noises = Known(0, 0), shared_noise({each.name: each.epsilon for each in criteria})
    for planned in (criteria[:1], criteria[1:], []):
        private = world.private((0, 1, 1), [each.charge for each in planned], entropy)
        with pytest.raises(BudgetError, match="was not planned, or was already spent"):
            figures_of(criteria, private, world.candidate((0, 0, 1)), world.setting(*criteria), Fitted(), noises)
    assert not entropy.seen


def judged(kind: str, name: str, **fields: object) -> Criterion:
    return CRITERIA[kind].model_validate({"name": name, "kind": kind, "threshold": 0.4, "epsilon": 1, **fields})


def test_what_is_fitted_anew_is_paid_for_before_any_query_is_made(taken: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """So all figures are fixed before the vector is drawn: none can rest on another's noise."""
    world = World({"a": 1, "b": 1})
    line = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}, "fit": "every_round"}
    criteria = [
        judged("absolute_marginal_error", "first"),
        judged("regression_coefficients", "line", **line),
        judged("relative_marginal_error", "last", threshold=3, clip=4),
    ]
    asked, original = list[str](), Criterion.asked

    def asking(self: Criterion, *given: Any) -> Any:
        asked.append(f"{self.name} after {len(taken)}")
        return original(self, *given)

    monkeypatch.setattr(Criterion, "asked", asking)
    setting, charges = world.setting(*criteria), [charge for each in criteria for charge in each.per_score()]
    private = world.private((0, 1, 2, 3), charges)
    fitted, noises = fitted_before(criteria, private, setting), shared_noise({"first": Fraction(1), "last": Fraction(1)})
    found = figures_of(criteria, private, world.candidate((0, 1, 3, 3)), setting, fitted, noises)
    assert taken == ["criterion: line", "criterion: first", "criterion: last"]
    assert asked == ["first after 1", "line after 1", "last after 1"]
    assert [each.one_noise is None for each in found] == [False, True, False]


def test_a_void_figure_takes_part_and_is_no_number() -> None:
    world = World({"a": 1, "b": 1}, groups={"a": ["0", "1"]})
    mean = judged("conditional_mean", "mean", column="b", by=["a"], range=[0, 1], size_margin=0.1)
    criteria = [judged("absolute_marginal_error", "error"), mean]
    private = world.private((0, 1, 2, 3), [each.charge for each in criteria], entropy := Known(1, 2))
    noises = shared_noise({each.name: each.epsilon for each in criteria})
    error, void = figures_of(criteria, private, world.candidate((0, 0, 1, 1)), world.setting(*criteria), Fitted(), noises)
    assert len(entropy.seen[0][0]) == 2
    assert math.isnan(void.value)
    assert void.noise_sd is not None
    assert math.isfinite(error.value)


def test_a_figure_that_is_not_finite_or_too_large_stops_the_run_without_a_word() -> None:
    world = World({"a": 1})
    noise = OneNoise(figures=2, epsilon=Fraction(1))
    for figure in (math.nan, math.inf, 2.0**49):
        queries = [
            Query(figure=lambda counts, figure=figure: figure, sensitivity=4096.0),
            Query(figure=lambda counts: 0, sensitivity=1),
        ]
        charges = [judged("absolute_marginal_error", name).charge for name in "xy"]
        private, entropy = world.private((0, 1), charges), Known(0, 0)
        with pytest.raises(PrivateFailure):
            private.spend(
                charges, lambda counts, queries=queries, entropy=entropy: noisy_figures(counts, queries, noise, 2, entropy)
            )
        assert not entropy.seen


# --- The grid


@pytest.mark.slow
def test_no_pair_of_neighbours_moves_a_figure_by_more_than_the_noise_pays_for() -> None:
    """Of every kind the neighbours that are furthest apart: the whole sensitivity, in steps, and not more than is paid for."""
    moved = []
    for sweep in sweeps():
        if sweep.joint or sweep.name not in furthest():
            continue
        world, (synthetic, *tables) = sweep.world, furthest()[sweep.name]
        n = len(synthetic)
        scorer = CodeFigures(sweep, world)
        query = sweep.criteria[-1].query(n, world.candidate(synthetic), scorer.setting, scorer.fitted)
        assert isinstance(query, Query)
        step = shared_grid(query.sensitivity, n).step
        left, right = (grid_point(query.figure(world.counts(table)), step) for table in tables)
        moved.append(abs(left - right))
    assert len(moved) > 10
    assert max(moved) <= shared_steps()
    assert max(moved) >= 4096


def test_all_neighbours_of_a_small_world_stay_within_the_claim_as_vectors() -> None:
    """Two figures of 3 records in four cells: the largest loss of the law of the vector is epsilon at most, and near it."""
    world, noise, rate = World({"a": 1, "b": 1}), OneNoise(figures=2, epsilon=Fraction(1)), 1 / 4098
    criteria = [judged("absolute_marginal_error", "x"), judged("relative_marginal_error", "y", clip=4)]
    tables = world.all_tables(3)
    worst = 0.0
    for synthetic in tables[::3]:
        entropy = Known(0, 0)
        queries = [each.query(3, world.candidate(synthetic), world.setting(*criteria), Fitted()) for each in criteria]
        for table in tables:
            noisy_figures(world.counts(table), queries, noise, 3, entropy)  # type: ignore[arg-type]
        points = {table: np.array(seen) for table, (seen, _) in zip(tables, entropy.seen, strict=True)}
        for table in tables:
            for other in set(world.neighbours(table)):
                apart = np.abs(points[table] - points[other])
                worst = max(worst, rate * float(apart.max()))  # attained where the largest entry is that one
    assert 0.99 < worst <= 1


EXTREMES = [2.0**-980, 1e-200, math.nextafter(1.0, 0), 1.0, math.nextafter(1.0, 2), 1 / 3, 0.1, 4095.7, 1e200, 2.0**900]


@pytest.mark.parametrize("rows", [1, 400, 2**35, 2**35 + 1, 2**38, 2**40])
def test_the_grid_is_exact_and_pays_for_every_rounding(rows: int) -> None:
    """Exact figures a sensitivity apart, each computed with an error of a quarter of a step: within D steps, hardly less."""
    bits = grid_bits(rows)
    for sensitivity in EXTREMES:
        grid = shared_grid(sensitivity, rows)
        step = Fraction(grid.step)
        assert step * 2**bits == Fraction(sensitivity)
        assert grid.steps == shared_steps(rows) == 2**bits + 2
        assert noise_grid(sensitivity, rows).step <= grid.step < 2 * noise_grid(sensitivity, rows).step
        moves = set()
        for start in (Fraction(k, 8) for k in range(-12, 13)):
            first, second = (start - Fraction(1, 4)) * step, (start + Fraction(1, 4)) * step + Fraction(sensitivity)
            moves.add(round(second / step) - round(first / step))
        assert max(moves) <= grid.steps
        assert max(moves) >= 2**bits + 1
        for point in (0, 1, -3, 2**47 + 1, -(2**51) + 1):
            assert grid_point(point * grid.step, grid.step) == point


def test_a_sensitivity_without_a_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        shared_grid(2.0**-989)


def test_points_of_a_grid_are_those_of_fractions() -> None:
    generator = np.random.default_rng(4)
    for _ in range(300):
        step, value = float(generator.random() + 0.5), float(generator.normal() * 10.0 ** generator.integers(-3, 12))
        point = grid_point(value, step)
        assert abs(Fraction(value) - point * Fraction(step)) <= Fraction(step) / 2


# --- What readers make of it

NOISE = OneNoise(figures=8, epsilon=Fraction(1, 100))


def test_an_interval_holds_the_exact_figure_as_often_as_stated_and_hardly_more() -> None:
    """By the law of an entry: the exact figure may be rounded by half a step."""
    found = one_noise_interval(0.0, NOISE, sensitivity=4096.0, rows=1, best=-math.inf, worst=None)
    assert found.high is not None
    assert found.low == -found.high
    reach = int(found.high) - 1
    scale = Fraction(4098) / NOISE.epsilon
    assert 0.95 <= 1 - cube_tail(8, float(scale), reach) < 0.9501
    assert one_noise_interval(5.0, NOISE, sensitivity=4096.0, rows=1, best=1.0, worst=7.0) == type(found)(low=1.0, high=7.0)
    below = one_noise_interval(-9e9, NOISE, sensitivity=4096.0, rows=1, best=0.0, worst=None)
    assert below.low == below.high == 0


def test_a_limit_has_one_side_of_the_risk() -> None:
    scale = Fraction(4098) / NOISE.epsilon
    for risk in (0.05, 0.001, 0.4):
        reach = int(NOISE.upper(0.0, 4096.0, 1, risk)) - 1
        assert 0.999 * risk < cube_tail(8, float(scale), reach) / 2 <= risk


def test_limits_of_bounds_use_the_law_of_an_entry() -> None:
    own = score("faithfulness", "faithfulness", 0.2, 0.5, noise_sd=1.0)
    shared = replace(own, mechanism=MECHANISM, one_noise=NOISE, sensitivity=0.001, noise_sd=NOISE.sd(0.001, 5), decides=False)
    found = limits(published([integer_column("a", [0, 1, 2])], np.zeros((5, 1)), [(shared, {})]), 0.95)
    assert [each.limit for each in found] == [NOISE.upper(0.2, 0.001, 5, 0.05)]
    laplace = 0.2 + math.log(1 / (2 * 0.05)) * 0.001 / float(NOISE.epsilon / 8)
    assert 0.2 < found[0].limit < 0.2 + 0.5 * (laplace - 0.2)  # eight shares of the same epsilon


@pytest.mark.slow
@pytest.mark.parametrize("figures", [2, 8])
def test_intervals_and_limits_hold_the_exact_figures_of_whole_vectors(figures: int) -> None:
    """Exact figures anywhere, one draw for all of them: each interval by itself, and by the union bound all limits together."""
    draws, noise, generator = 4000, OneNoise(figures=figures, epsilon=Fraction(1, 10)), np.random.default_rng(figures)
    sensitivities = [0.37 * 3.0**place for place in range(figures)]
    entropy, risk = SeededEntropy(figures), 0.1 / figures
    inside, beyond, together = np.zeros(figures), np.zeros(figures), 0
    for _ in range(draws):
        exact = [float(generator.normal() * 5 * sensitivity) for sensitivity in sensitivities]
        points = [grid_point(one, shared_grid(each).step) for one, each in zip(exact, sensitivities, strict=True)]
        noisy = one_noise(np.array(points), sensitivity=4098, epsilon=noise.epsilon, entropy=entropy)
        missed = False
        for place, (one, sensitivity) in enumerate(zip(exact, sensitivities, strict=True)):
            value = int(noisy[place]) * shared_grid(sensitivity).step
            found = one_noise_interval(value, noise, sensitivity=sensitivity, rows=1, best=-math.inf, worst=None)
            inside[place] += found.low <= one <= (found.high or 0)
            over = one > noise.upper(value, sensitivity, 1, risk)
            beyond[place], missed = beyond[place] + over, missed or over
        together += missed
    spread = 4 * math.sqrt(0.95 * 0.05 / draws)
    assert all(float(LEVEL) - spread <= share <= float(LEVEL) + spread for share in inside / draws)
    assert all(share <= risk + 4 * math.sqrt(risk / draws) for share in beyond / draws)
    assert together / draws <= 0.1 + 4 * math.sqrt(0.09 / draws)


# --- Bundles


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    work = tmp_path_factory.mktemp("sharing")
    found = release(spec_of(work), write_data(work))
    assert found is not None
    folder = write_bundle(found, work / "bundle")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_a_bundle_says_who_shares_and_verifies(bundle: Mapping[str, bytes]) -> None:
    report = verify_files(bundle)
    assert not problems(report)
    tables = json.loads(bundle["release.json"])
    said = {one["name"]: one.get("one_noise") for one in tables["criteria"]}
    shared = {"figures": 3, "epsilon_exact": "3/2"}
    assert said == dict.fromkeys(TOGETHER, shared) | {"dear": None, "face privacy": None}
    assert ["one_noise" in one for one in tables["criteria"]] == [name in TOGETHER for name in said]
    card = " ".join(bundle["README.md"].decode().split())
    assert "The values of these 3 criteria share one noise" in card
    assert "not independent" in card
    assert "share one noise" in bundle["README.html"].decode()


def of(tables: Tables, name: str, **changes: Any) -> Tables:
    found = json.loads(json.dumps(tables))
    part = next(one for one in found["criteria"] if one["name"] == name)
    part.update(changes)
    part["interval"] = interval_of(found, name)
    return found


def as_before(tables: Tables, name: str) -> Tables:
    """A figure as one with noise of its own, its standard deviation and interval with it."""
    found = json.loads(json.dumps(tables))
    part = next(one for one in found["criteria"] if one["name"] == name)
    del part["one_noise"]
    grid = noise_grid(part["sensitivity"], found["n_rows"])
    part["noise_sd"] = grid.step * laplace_sd(Fraction(grid.steps) / Fraction(part["epsilon_exact"]))
    part["value"] = round(part["value"] / grid.step) * grid.step
    part["mechanism"] = "Laplace"
    part["interval"] = interval_of(found, name)
    return found


def of_all(tables: Tables, shared: Mapping[str, Any]) -> Tables:
    """Another noise for all who share, with its standard deviation and intervals."""
    noise, rows = OneNoise(figures=shared["figures"], epsilon=Fraction(shared["epsilon_exact"])), tables["n_rows"]
    for name in TOGETHER:
        part = next(one for one in tables["criteria"] if one["name"] == name)
        tables = of(tables, name, one_noise=dict(shared), noise_sd=noise.sd(part["sensitivity"], rows))
    return tables


def off_grid(tables: Tables, name: str) -> Tables:
    part = next(one for one in tables["criteria"] if one["name"] == name)
    return of(tables, name, value=part["value"] + part["sensitivity"] / 10_000)


FORGED: dict[str, Callable[[Tables], Tables]] = {
    "more figures": lambda tables: of_all(tables, {"figures": 4, "epsilon_exact": "3/2"}),
    "fewer figures": lambda tables: of_all(tables, {"figures": 2, "epsilon_exact": "3/2"}),
    "a larger epsilon": lambda tables: of_all(tables, {"figures": 3, "epsilon_exact": "15"}),
    "less noise": lambda tables: of(tables, "ratios", noise_sd=1e-3),
    "off the grid": lambda tables: off_grid(tables, "mean year"),
    "one with noise of its own": lambda tables: as_before(tables, "ratios"),
    "the dear one, too": lambda tables: of(
        tables, "dear", one_noise={"figures": 3, "epsilon_exact": "3/2"}, mechanism=MECHANISM
    ),
    "another mechanism": lambda tables: of(tables, "ratios", mechanism="Laplace"),
    "face privacy, which has none": lambda tables: of(tables, "face privacy", one_noise={"figures": 3, "epsilon_exact": "3/2"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_noise_is_found(bundle: Mapping[str, bytes], name: str) -> None:
    """By what the figures say of each other, but for the words of a mechanism, which the specification has."""
    report = looked_at(bundle, FORGED[name](json.loads(bundle["release.json"])))
    assert report is not None
    found = {check.name for check in report.checks if check.problems}
    assert ("plan" if name == "another mechanism" else "criterion values") in found


@pytest.mark.slow
@pytest.mark.parametrize("figures", [0, 1, 101, 10**9])
def test_a_noise_that_cannot_be_is_no_release(bundle: Mapping[str, bytes], figures: int) -> None:
    tables = json.loads(bundle["release.json"])
    for shared in ({"figures": figures, "epsilon_exact": "3/2"}, {"figures": 3, "epsilon_exact": "0"}):
        found = json.loads(json.dumps(tables))
        found["criteria"][0]["one_noise"] = shared
        assert looked_at(bundle, found) is None


@pytest.mark.slow
def test_a_bundle_from_before_verifies_as_it_did(tmp_path: Path) -> None:
    """No field, noise of its own for each figure, and charges that say so: as versions before 1.0.0 wrote it."""
    spec = replace(spec_of(tmp_path), shares_noise=False)
    found = release(spec, write_data(tmp_path))
    assert found is not None
    folder = write_bundle(found, tmp_path / "bundle")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert b"one_noise" not in files["release.json"]
    tables = json.loads(files["release.json"])
    tables["versions"]["synthrelease"] = "0.1.0"
    report = verify_files(written_anew(files, tables))
    assert not problems(report)
    assert "Each criterion value has noise of its own, as in runs of version 0.1.0." in report.closing
