"""Numbers that a record passes before they are rounded to integers are functions of its cell alone, or have a tiny error.

The references are sums of fractions, and the same cells looked at alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from synthrelease.criteria.base import Criterion, Fitted, Regression
from synthrelease.criteria.facts import Score
from synthrelease.criteria.functional import Design, LinearModel, Prior, PriorGuess, least_squares
from synthrelease.criteria.records import Interval
from synthrelease.criteria.records_mechanism import absolute_errors, moments, real_moments, records_of_cells
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Schema, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import discrete_laplace, laplace_figure, rounded_gaussian
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.sweep import criterion
from synthrelease.studio.audit.tiny import World, integer_column
from tests.helpers.moments import private_least_squares

pytestmark = pytest.mark.slow

LOWEST = np.iinfo(np.int64).min


# --- Moments of the regression


def uneven_design(seed: int = 0) -> Design:
    """Numbers and a prior that no sum of doubles is exact for."""
    random = np.random.default_rng(seed)
    axes = [np.linspace(0.1, 9.7, 13), np.linspace(0.3, 3.3, 11), np.linspace(0.7, 4.9, 7), np.linspace(500, 4500, 9)]
    numbers = tuple(axis + random.random() for axis in axes)
    prior = Prior(
        intercept=random.random() * 100,
        coefficients=random.random(3) * 100,
        centres=random.random(3),
        spreads=random.random(3) + 0.5,
        uncertainty=1.0,
    )
    return Design.of(numbers, np.ones(math.prod(len(axis) for axis in numbers), dtype=bool), prior)


def test_a_cell_has_the_same_moments_whatever_is_looked_at_with_it() -> None:
    """To the last bit: alone, with a few others, and in the scan of the whole domain."""
    design = uneven_design()
    size = math.prod(len(axis) for axis in design.numbers)
    records = records_of_cells(np.ones(size, dtype=np.int64), design.numbers).values
    whole = real_moments(records, design)
    for together in (1, 2, 3, 8, 100):
        for start in range(0, size - together, 7 * together):
            cells = np.arange(start, start + together)
            assert (real_moments(records[cells], design) == whole[cells]).all()


def on_the_edge(design: Design, cell: int, other: int) -> Design | None:
    """The design with a scale of the residual at which two ways to add a cell's line up, if they differ, round apart."""
    every = records_of_cells(np.ones(math.prod(map(len, design.numbers)), dtype=np.int64), design.numbers).values
    features, target = every[[cell, other], :-1], every[[cell, other], -1]
    rest = target[0] - design.prior.intercept
    place = len(design.scales) - features.shape[1] - 1
    two = {float(rest - (features[:rows] @ design.prior.coefficients)[0]) for rows in (1, 2)}
    if len(two) == 1:
        return None
    for near in range(-40, 40):
        scale = (math.floor(min(two) * design.scales[place]) + 0.5) / min(two)
        for _ in range(abs(near)):
            scale = math.nextafter(scale, math.inf if near > 0 else -math.inf)
        if len({np.rint(value * scale) for value in two}) == 2:
            scales = design.scales.copy()
            scales[place] = scale
            return replace(design, scales=scales, sensitivity=design.sensitivity + 2)
    return None


def test_a_hundred_million_equal_records_do_not_round_apart_when_one_moves() -> None:
    """All records in one cell, and all but one: the integers that noise is added to move by the sensitivity at most.

    Each of them rounded apart by 1 would be twenty sensitivities. Where the processor's matrix products depend on how many
    rows they have, some of these cells are built to do just that.
    """
    design, n, built = uneven_design(), 10**8, 0
    size = math.prod(len(axis) for axis in design.numbers)
    for cell in range(0, size, 13):
        edge = on_the_edge(design, cell, (cell + 5) % size)
        built += edge is not None
        table = np.zeros(size, dtype=np.int64)
        table[cell] = n
        moved = table.copy()
        moved[cell] -= 1
        moved[(cell + 5) % size] += 1
        entropy = Recording()
        for counts in (table, moved):
            private_least_squares(edge or design, records_of_cells(counts, design.numbers), Fraction(1), entropy)
        assert np.abs(entropy.values[0] - entropy.values[1]).sum() <= (edge or design).sensitivity
        if built == 5:
            break


@pytest.mark.parametrize(
    "wrong",
    [
        {"spreads": {"x": 0.0}},
        {"spreads": {"x": -1.0}},
        {"spreads": {"x": math.inf}},
        {"spreads": {"x": math.nan}},
        {"centres": {"x": math.inf}},
        {"coefficients": {"x": math.nan}},
    ],
)
def test_a_prior_needs_finite_numbers_and_spreads_above_zero(wrong: dict[str, dict[str, float]]) -> None:
    good = {"intercept": 0.0, "coefficients": {"x": 0.0}, "centres": {"x": 0.0}, "spreads": {"x": 1.0}, "uncertainty": 1.0}
    PriorGuess.model_validate(good)
    with pytest.raises(ValidationError):
        PriorGuess.model_validate({**good, **wrong})


GUESS = {"intercept": 0.0, "coefficients": {"a": 0.0}, "centres": {"a": 0.0}, "spreads": {"a": 1.0}, "uncertainty": 1.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"spreads": {"a": 1e-300}},
        {"spreads": {"a": 1e300}},
        {"centres": {"a": 1e200}},
        {"coefficients": {"a": 1e308}},
        {"intercept": 1e300},
        {"uncertainty": 1e-320},
        {"uncertainty": 1e300},
    ],
)
def test_a_prior_that_leads_beyond_what_floats_hold_is_a_mistake_in_the_specification(wrong: dict[str, object]) -> None:
    world = World({"a": 2, "b": 2})
    fields = {"target": "b", "features": ("a",), "representation": {"a": "single", "b": "single"}}
    right = criterion("regression_coefficients", prior=GUESS, **fields)
    assert not list(right.mistakes(world.setting(right), {}))
    wild = criterion("regression_coefficients", prior={**GUESS, **wrong}, **fields)
    assert [mistake.field for mistake in wild.mistakes(world.setting(wild), {})] == ["prior"]


def test_moments_that_are_no_numbers_are_refused_instead_of_becoming_the_lowest_integer() -> None:
    """With a spread of 0 all moments were the lowest integer, whose absolute value is itself: a sensitivity of 2."""
    numbers = np.arange(3.0), np.arange(3.0)
    prior = Prior(intercept=0.0, coefficients=np.zeros(1), centres=np.zeros(1), spreads=np.zeros(1), uncertainty=1.0)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="numbers of the prior are too large or too small"):
        Design.of(numbers, np.ones(9, dtype=bool), prior)
    limits = tuple(map(Interval.exactly, numbers))
    bare = Design(numbers=numbers, limits=limits, prior=prior, scales=np.ones(4), sensitivity=2)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="finite"):
        moments(np.ones((9, 2)), bare)


# --- Noise


@pytest.mark.parametrize("value", [LOWEST, LOWEST + 1, 2**62 + 1, -(2**62) - 1])
def test_noise_is_not_added_to_integers_that_it_could_move_beyond_64_bits(value: int) -> None:
    """The absolute value of the lowest integer is negative in 64 bits."""
    with pytest.raises(ValueError, match="too large"):
        discrete_laplace(np.array([0, value]), sensitivity=1, epsilon=Fraction(1))
    with pytest.raises(ValueError, match="too large"):
        rounded_gaussian(np.array([0, value]), squared_sensitivity=1, rho=Fraction(1))


def test_the_largest_integers_get_noise() -> None:
    for value in (2**62, -(2**62)):
        assert abs(int(discrete_laplace(np.array([value]), sensitivity=1, epsilon=Fraction(1))[0]) - value) < 200


def test_a_figure_whose_last_bit_is_near_a_grid_step_is_refused() -> None:
    step = noise_grid(1.0).step
    assert math.ulp(2.0**48 * step) <= step / 8
    laplace_figure(2.0**48 * step, sensitivity=1.0, epsilon=Fraction(1))
    with pytest.raises(ValueError, match="too large"):
        laplace_figure(2.0**49 * step, sensitivity=1.0, epsilon=Fraction(1))


def test_a_sensitivity_without_a_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        laplace_figure(0.0, sensitivity=1e-310, epsilon=Fraction(1))


# --- Means


FAR, WIDTH = 10**12, 10


class FarWorld(World):
    """A column a with the numbers 10^12 to 10^12 + 10."""

    def __init__(self) -> None:
        super().__init__({"a": WIDTH})
        self.schema = Schema(columns=(integer_column("a", FAR, FAR + WIDTH),))
        self.transformation = Transformation(
            schema=self.schema, binnings=tuple(column.alternatives["single"] for column in self.schema.columns)
        )
        self.layout = self.transformation.layout


def neighbours(n: int, cells: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(seed)
    for _ in range(150):
        table = random.multinomial(n - cells, random.dirichlet(np.ones(cells))) + 1
        other, (one, two) = table.copy(), random.choice(cells, 2, replace=False)
        other[one] -= 1
        other[two] += 1
        yield table, other


def steps_of(judged: Criterion, world: World, tables: list[np.ndarray], candidate: Counts) -> Recording:
    entropy = Recording()
    for table in tables:
        private = PrivateCounts(Counts(world.layout, np.arange(len(table)), table), Meter(judged.per_score()), entropy)
        made = world.candidate([0])
        object.__setattr__(made, "counts", candidate)
        judged.score(private, made, world.setting(judged), Fitted())
    return entropy


def test_means_far_from_zero_move_by_no_more_than_their_sensitivity() -> None:
    """And they are the exact means, rounded to the grid. Sums of numbers near 10^12 moved them by 2.44 sensitivities."""
    world, n = FarWorld(), 1_000_003
    judged = criterion("conditional_mean", column="a", range=(FAR, FAR + WIDTH), size_margin=0.0)
    candidate = Counts(world.layout, np.arange(WIDTH + 1), np.array([n - 10, *[1] * 10]))
    target = Fraction(sum(range(1, 11)), n)
    step, allowed = noise_grid(WIDTH / n)
    for table, other in neighbours(n, WIDTH + 1, 1):
        recorded = steps_of(judged, world, [table, other], candidate)
        first, second = (int(values[0]) for values in recorded.values)
        assert abs(first - second) <= allowed
        for found, counts in ((first, table), (second, other)):
            exact = abs(Fraction(int(counts @ np.arange(WIDTH + 1)), n) - target)
            assert abs(found - exact / Fraction(step)) <= Fraction(1, 2) + Fraction(1, 4)


@pytest.mark.parametrize("wide", [(-1.7e308, 1.7e308), (0.0, 1e-306), (0.0, 5e-324)])
def test_a_range_in_which_floats_cannot_tell_means_apart_is_refused(wide: tuple[float, float]) -> None:
    with pytest.raises(ValidationError, match="range"):
        criterion("conditional_mean", column="a", range=wide, size_margin=0.0)
    criterion("conditional_mean", column="a", range=(1e12, 1e12 + 10), size_margin=0.0)


# --- Sums over the records of a regression


@pytest.mark.parametrize("n", [2**30, 2**40])
def test_large_gaps_that_hardly_differ_leave_room_for_the_rounding_of_their_sum(n: int) -> None:
    """Rules allow targets above both lines alone: every record has nearly the same gap of 25.9, and their sum is rounded.

    The sensitivity by lines was 2^-20 of the range here, at which a figure of 2^30 records was refused behind the door.
    """
    world = World({"a": 1, "b": 30})
    line = criterion("regression_coefficients", target="b", features=("a",), representation={"a": "single", "b": "single"})
    judged = criterion("regression_prediction", coefficients=line.name, range=(0, 30), bound="lines")
    setting, made = world.setting(line, judged), world.candidate([29] * 8 + [31 + 29] * 8)
    made = replace(made, counts=made.counts.with_counts(made.counts.counts * (n // 16)))
    possible = np.tile(np.arange(31) >= 29, 2)
    fitted = LinearModel(intercept=3.1, coefficients=np.zeros(1))
    design = line.design(setting, possible)  # type: ignore[attr-defined]
    regression = Regression(design=design, possible=possible, model=fitted)
    query = judged.query(n, made, setting, Fitted(regressions={line.name: regression}))
    assert not isinstance(query, Score)
    synthetic, _ = least_squares(records_of_cells(made.counts.dense(), design.numbers))
    records = records_of_cells(np.ones(62, dtype=np.int64), design.numbers).values
    gaps = absolute_errors(records, fitted, 0, 30) - absolute_errors(records, synthetic, 0, 30)
    random = np.random.default_rng(3)
    for _ in range(20):
        table = np.zeros(62, dtype=np.int64)
        table[possible] = random.multinomial(n, random.dirichlet(np.ones(4)))
        found = query.figure(Counts(world.layout, np.arange(62), table))
        exact = abs(sum(int(count) * Fraction(float(gap)) for count, gap in zip(table, gaps, strict=True))) / n
        assert abs(Fraction(found) - exact) <= Fraction(noise_grid(query.sensitivity, n).step) / 4
        laplace_figure(found, sensitivity=query.sensitivity, epsilon=Fraction(1), rows=n)


def test_the_sums_of_one_step_are_correctly_rounded() -> None:
    """A billion records whose shares cancel: the figure is that of the sum of fractions of the very shares, in any order."""
    world, n = World({"a": 40, "b": 30}), 2**30
    judged = criterion(
        "regression_one_step",
        target="b", features=("a",), range=(0, 30), representation={"a": "single", "b": "single"},
    )  # fmt: skip
    cells, random = 41 * 31, np.random.default_rng(3)
    setting, made = world.setting(judged), world.candidate(random.integers(0, cells, 500).tolist())
    possible = np.ones(cells, dtype=bool)
    design = judged.design(setting, possible)  # type: ignore[attr-defined]
    query = judged.query(
        n, made, setting, Fitted().with_regression(judged.name, Regression(design=design, possible=possible, model=None))
    )
    assert not isinstance(query, Score)

    def figure(table: np.ndarray) -> float:
        return query.figure(Counts(world.layout, np.arange(cells), table)) * n

    lone = np.array([figure(table) for table in np.eye(cells, dtype=np.int64)])  # |v(z)|; one feature, so v(z) is a number
    records = records_of_cells(np.ones(cells, dtype=np.int64), design.numbers).values
    features, target = records[:, :-1], records[:, -1]
    line, _ = least_squares(records_of_cells(made.counts.dense(), design.numbers))
    sign = np.sign(features[:, 0] - features[made.counts.codes, 0] @ made.counts.counts / made.n) * np.sign(
        target - np.clip(line.intercept + features[:, 0] * line.coefficients[0], 0, 30)
    )
    for _ in range(20):
        table = random.multinomial(n, random.dirichlet(np.full(cells, 0.3)))
        shares = zip(table.tolist(), (sign * lone).tolist(), strict=True)
        exact = abs(sum(count * Fraction(share) for count, share in shares))
        assert abs(Fraction(figure(table)) - exact) <= Fraction(n) * Fraction(query.sensitivity) / 2**20


# --- Behind the libraries


def test_counts_for_the_libraries_are_exact_and_so_are_their_errors() -> None:
    """In single precision 2^24 + 1 records would count as 2^24, and a sum of errors move by more than a step of the choices."""
    pytest.importorskip("mbi", reason="needs the extra smartnoise")
    from mbi import Domain

    from synthrelease.generators.smartnoise_mechanism import dataset

    made = dataset(Counts(World({"a": 1, "b": 2}).layout, np.array([0, 4])))
    weights = np.array([2.0**24 + 1, 5])
    heavy = type(made)(np.array([[0, 0], [1, 1]]), Domain(["col0", "col1"], [2, 3]), weights)
    assert np.asarray(heavy.project("col0").datavector()).tolist() == weights.tolist()
    errors = heavy.project(("col0", "col1")).datavector() - heavy.project(("col0", "col1")).datavector() / 3
    assert errors.dtype == np.float64
