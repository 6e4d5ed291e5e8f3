"""Ends of intervals against a slow computation of its own: not only do they hold the truth, they lie where they should.

The noise of a sum is convolved cell by cell on a grid, or drawn many times where sums share one noise, and each end is searched
by halves: the value at which the noise of numerator - value * denominator is exactly as large as it gets with the stated
confidence. Nothing of the package computes here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate, trend
from synthrelease.answers.words import Term
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published import PublishedRelease
from synthrelease.published.models import ModelsPart
from tests.answers import test_estimates_members as of_members
from tests.answers import test_models as of_models
from tests.answers import test_weighted as of_weights
from tests.answers.test_estimate import TABLE, release
from tests.answers.test_trends import LATER

EPSILON = Fraction(1, 25)
SCALE = 2 / float(EPSILON)
"""Of the discrete Laplace noise of each cell: fifty rows, beside which the steps of the grid are next to nothing."""
STEP = 0.25
LEVEL = 0.95
NEAR = 0.008
"""Of a distance from the estimate to an end: the package adds half of a cell's weight on each side, of a limit near 200."""
N = len(TABLE)
A_OF_CELL, B_OF_CELL = (axis.ravel() for axis in np.indices((3, 3)))
NUMBERS = np.array([0.0, 1.0, 2.0])
"""What stands for the bins of a and b."""


@cache
def noisy(seed: int = 3) -> PublishedRelease:
    return release(TABLE, ["ab"], EPSILON, np.random.default_rng(seed))


def counts(published: PublishedRelease | None = None) -> np.ndarray:
    """The published table, of a and b, each cell moved by as much, so that all add up to the rows, which are known."""
    published = published or noisy()
    (table,) = published.measurements.tables  # type: ignore[union-attr]
    values = table.values.astype(float).ravel()
    return values + (published.n_rows - values.sum()) / values.size


def weights_of(figure: np.ndarray) -> np.ndarray:
    """What a sum of `figure` over the moved cells gives to the noise of each published cell."""
    return figure - figure.mean()


def law(weights: np.ndarray, sd: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The values of a weighted sum of discrete Laplace noises and of a normal error, and their probabilities, on a grid."""
    whole = np.arange(-int(20 * SCALE), int(20 * SCALE) + 1)
    of_one = np.exp(-np.abs(whole) / SCALE)
    of_one /= of_one.sum()
    half = 2**13 if sd == 0 else 2**14
    spectrum = np.ones(half + 1, dtype=complex)
    for weight in weights[np.abs(weights) > 1e-9]:
        bins = np.rint(weight * whole / STEP).astype(int) % (2 * half)
        spectrum *= np.fft.rfft(np.bincount(bins, weights=of_one, minlength=2 * half))
    values = (np.arange(2 * half) + half) % (2 * half) - half
    if sd:
        normal = np.exp(-((values * STEP / sd) ** 2) / 2)
        spectrum *= np.fft.rfft(normal / normal.sum())
    return values * STEP, np.fft.irfft(spectrum)


def limit(weights: np.ndarray, sd: float = 0.0) -> float:
    """The least t with Pr[|sum| <= t] at the level."""
    values, probabilities = law(weights, sd)
    order = np.argsort(np.abs(values))
    return float(np.abs(values)[order][np.searchsorted(np.cumsum(probabilities[order]), LEVEL)])


@dataclass(frozen=True, kw_only=True)
class Quotient:
    """One sum over another, with what each gives to the noise of every cell.

    Attributes
    ----------
    weights_at : the weights of numerator - value * denominator.
    sd_at : the standard deviation of the drawing of rows from a population, in the same difference.
    """

    numerator: float
    denominator: float
    weights_at: Callable[[float], np.ndarray]
    sd_at: Callable[[float], float] = lambda value: 0.0
    limit: Callable[[np.ndarray, float], float] = limit

    @property
    def estimate(self) -> float:
        return self.numerator / self.denominator

    def end(self, sign: int) -> float:
        """The value, on one side, at which the difference is as large as its noise gets."""
        near, far = self.estimate, self.estimate + sign * 4.0
        for _ in range(24):
            value = (near + far) / 2
            inside = abs(self.numerator - value * self.denominator) <= self.limit(self.weights_at(value), self.sd_at(value))
            near, far = (value, far) if inside else (near, value)
        return near

    @property
    def ends(self) -> tuple[float, float]:
        return self.end(-1), self.end(1)

    @property
    def noise(self) -> np.ndarray:
        """The weights of the quotient itself, to first order."""
        return self.weights_at(self.estimate) / self.denominator


def quotient(
    figure: np.ndarray, size: np.ndarray, sd_at: Callable[[float], float] = lambda value: 0.0, cells: np.ndarray | None = None
) -> Quotient:
    over, under, cells = weights_of(figure), weights_of(size), counts() if cells is None else cells
    return Quotient(
        numerator=float(figure @ cells),
        denominator=float(size @ cells),
        weights_at=lambda value: over - value * under,
        sd_at=sd_at,
    )


def share(met: np.ndarray, among: np.ndarray | None = None, *, population: bool = False) -> Quotient:
    among = np.ones(9, dtype=bool) if among is None else among
    size = float(among @ counts())
    drawn: Callable[[float], float] = lambda value: math.sqrt(max(0.0, size * value * (1 - value)))  # noqa: E731
    return quotient((met & among).astype(float), among.astype(float), drawn if population else lambda value: 0.0)


def assert_ends(found: Iterable[float | None], expected: Iterable[float], middle: float) -> None:
    """Each end is as far from the estimate as it should be, and never nearer than the grid tells."""
    for end, slow in zip(found, expected, strict=True):
        assert end is not None
        assert end - middle == pytest.approx(slow - middle, rel=NEAR)


def only(question: str) -> Term:
    (term,) = estimate(noisy(), question).terms
    return term


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "slow"),
    [
        ("share b == 1", lambda population: share(B_OF_CELL == 1, population=population)),
        ("share b >= 1 where a == 1", lambda population: share(B_OF_CELL >= 1, A_OF_CELL == 1, population=population)),
    ],
)
def test_the_ends_of_a_share(question: str, slow: Callable[[bool], Quotient]) -> None:
    term = only(question)
    assert term.estimate == pytest.approx(slow(False).estimate)
    assert_ends((term.low, term.high), slow(False).ends, slow(False).estimate)
    assert_ends((term.population_low, term.population_high), slow(True).ends, slow(True).estimate)


@pytest.mark.slow
def test_the_ends_of_a_count() -> None:
    """Whole rows inside of the interval; the number of rows is known, so it is that of the numerator."""
    term, figure = only("share b >= 1 where a == 1"), ((B_OF_CELL >= 1) & (A_OF_CELL == 1)).astype(float)
    middle, half = float(figure @ counts()), limit(weights_of(figure))
    assert term.rows == round(middle)
    assert_ends((term.rows_low, term.rows_high), (middle - half, middle + half), middle)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", " where a >= 1"])
def test_the_ends_of_a_mean(where: str) -> None:
    among = (A_OF_CELL >= 1).astype(float) if where else np.ones(9)
    slow, term = quotient(B_OF_CELL * among, among), only(f"mean b{where}")
    assert term.binned_low is not None, "the bins of b have other values than their numbers"
    assert_ends((term.binned_low, term.binned_high), slow.ends, slow.estimate)
    drawn = lambda value: math.sqrt((NUMBERS[B_OF_CELL] - slow.estimate) ** 2 * among @ counts())  # noqa: E731
    population = quotient(B_OF_CELL * among, among, drawn).ends
    assert_ends((term.population_binned_low, term.population_binned_high), population, slow.estimate)
    lowest, highest = (quotient(values[B_OF_CELL] * among, among) for values in VALUES)
    assert_ends((term.low,), (lowest.end(-1),), lowest.estimate)
    assert_ends((term.high,), (highest.end(1),), highest.estimate)


VALUES = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
"""The lowest and the highest value in each bin of b: 0, 1 and 2 to 3."""


def difference(
    first: Quotient, second: Quotient, onto: Callable[[float], float] = float, variance: float = 2 * SCALE**2
) -> tuple[float, float, float]:
    """The low end, the estimate and the high end of first less second: the square root of the sum of squares of both distances,
    less what their noises have in common (Zou and Donner 2008).

    variance : of each noise; 0 for noises of two releases, which have nothing in common.
    """
    common = variance and float(first.noise @ second.noise)
    spread = math.sqrt(float(first.noise @ first.noise) * float(second.noise @ second.noise))
    ends = [[onto(value) for value in (one.end(-1), one.estimate, one.end(1))] for one in (first, second)]
    (low, middle, high), (other_low, other_middle, other_high) = ends

    def together(one: float, other: float) -> float:
        return math.sqrt(one**2 + other**2 - 2 * common / spread * one * other)

    estimated = middle - other_middle
    below, above = together(middle - low, other_high - other_middle), together(high - middle, other_middle - other_low)
    return estimated - below, estimated, estimated + above


def assert_difference(found: tuple[float | None, ...], expected: tuple[float, float, float]) -> None:
    low, middle, high = expected
    assert found[1] == pytest.approx(middle)
    assert_ends((found[0], found[2]), (low, high), middle)


@pytest.mark.slow
def test_the_ends_of_contrasts_of_shares() -> None:
    first, second = (share(B_OF_CELL == 1, group == A_OF_CELL) for group in (0, 1))
    found = {term.name: term for term in estimate(noisy(), "share b == 1: a == 0 against a == 1").contrasts}
    scales: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
        "risk difference": (float, float),
        "risk ratio": (math.log, math.log),
        "odds ratio": (lambda value: math.log(value / (1 - value)), math.log),
    }
    for name, (onto, of_ratio) in scales.items():
        term = found[name]
        assert term.low is not None
        assert term.estimate is not None
        assert term.high is not None
        assert_difference((of_ratio(term.low), of_ratio(term.estimate), of_ratio(term.high)), difference(first, second, onto))


def mean_of(group: int, values: np.ndarray = NUMBERS) -> Quotient:
    among = (group == A_OF_CELL).astype(float)
    return quotient(values[B_OF_CELL] * among, among)


@pytest.mark.slow
def test_the_ends_of_a_contrast_of_means() -> None:
    """Of bin numbers; and of own values, the lowest of one group beside the highest of the other."""
    (term,) = estimate(noisy(), "mean b: a == 0 against a == 1").contrasts
    assert_difference((term.binned_low, term.estimate, term.binned_high), difference(mean_of(0), mean_of(1)))
    lowest, highest = VALUES
    for end, side, values in ((term.low, 0, (lowest, highest)), (term.high, 2, (highest, lowest))):
        expected = difference(mean_of(0, values[0]), mean_of(1, values[1]))
        assert_ends((end,), (expected[side],), expected[1])


@pytest.mark.slow
@pytest.mark.parametrize(("cut", "group"), [(1, 1), (2, 2)])
def test_the_ends_of_a_quantile(cut: int, group: int) -> None:
    """Two of three bins may hold it, which is too many to name one, from just that part of the rows on at which the interval of
    the share of the rows below the second one begins, up to where it ends."""
    below = share(cut > B_OF_CELL, group == A_OF_CELL)
    for end in below.ends:
        near = NEAR * (end - below.estimate)
        named = [only(f"quantile {end + moved:.9f} b where a == {group}").estimable for moved in (-near, near)]
        assert named == [False, True]


def test_the_ends_of_a_contrast_of_quantiles() -> None:
    """As far apart as the ends of both, each of which misses with half of the risk; the second group's is 2 to 3."""
    asked, made = "quantile 0.9 b", release(TABLE, ["ab"], Fraction(1), np.random.default_rng(3))
    (term,) = estimate(made, f"{asked}: a == 0 against a == 2").contrasts
    first, second = (estimate(made, f"{asked} where a == {group}", confidence=0.975).terms[0] for group in (0, 2))
    assert (term.low, term.high) == (first.low - second.high, first.high - second.low)  # type: ignore[operator]
    assert (second.low, second.high) == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["share b >= 1 where a == 1", "mean b"])
def test_the_ends_of_a_change_and_of_a_level(question: str) -> None:
    """Of two releases, whose noises have nothing in common."""
    years = [
        replace(release(table, ["ab"], EPSILON, np.random.default_rng(seed)), folder=Path(name))
        for name, table, seed in (("2021", TABLE, 3), ("2022", LATER, 4))
    ]
    among = (A_OF_CELL == 1).astype(float) if "where" in question else np.ones(9)
    figure = among * (B_OF_CELL >= 1 if "share" in question else NUMBERS[B_OF_CELL])
    earlier, later = (quotient(figure, among, cells=counts(year)) for year in years)
    answer = trend(years, question)
    (change,), level = answer.contrasts, answer.terms[-1]
    in_bins = change.binned_low is not None
    found = (change.binned_low, change.estimate, change.binned_high) if in_bins else (change.low, change.estimate, change.high)
    assert_difference(found, difference(later, earlier, variance=0.0))
    parts = np.array([len(TABLE), len(LATER)]) / (len(TABLE) + len(LATER))
    middle = float(parts @ [earlier.estimate, later.estimate])
    half = [math.hypot(*(parts * [one.end(side) - one.estimate for one in (earlier, later)])) for side in (-1, 1)]
    ends = (level.binned_low, level.binned_high) if in_bins else (level.low, level.high)
    assert_ends(ends, (middle - half[0], middle + half[1]), middle)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["share y == 1 weighted", "mean y where a >= 1 weighted"])
def test_the_ends_of_weighted_answers(question: str) -> None:
    made = of_weights.survey(of_weights.ROWS, epsilon=EPSILON, seed=5)
    y, a, w = (axis.ravel() for axis in np.indices((2, 3, 3)))
    among = (w + 1.0) * ((a >= 1) if "where" in question else 1)
    slow = quotient(among * y, among, cells=counts(made))
    (term,) = estimate(made, question).terms
    assert term.estimate == pytest.approx(slow.estimate)
    assert_ends((term.low, term.high), slow.ends, slow.estimate)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["share age >= 1", "mean age"])
def test_the_ends_of_answers_about_members(question: str) -> None:
    """Of one table with the ages of both persons, in the cells that homes can have: the second only beside the first."""
    made = of_members.release(of_members.TABLE, [("age_1", "age_2")], np.random.default_rng(5), EPSILON)
    (table,) = made.measurements.tables  # type: ignore[union-attr]
    first, second = (axis.ravel() for axis in np.indices((4, 4)))
    held = (first < 3) | (second == 3)
    values = table.values.astype(float).ravel()[held]
    cells = values + (made.n_rows - values.sum()) / held.sum()
    ages = [age[held] for age in (first, second)]
    size = sum((age < 3).astype(float) for age in ages)
    figure = sum(np.where(age < 3, age >= 1 if "share" in question else age, 0).astype(float) for age in ages)
    slow = quotient(figure, size, cells=cells)
    (term,) = estimate(made, question).terms
    assert term.estimate == pytest.approx(slow.estimate)
    assert_ends((term.low, term.high), slow.ends, slow.estimate)


# Sums that were measured directly share one noise, which is drawn here: 0.2% of a limit is left to chance.

DRAWS = 200_000
MEASURED_AT = Fraction(1, 10)
LOW = of_models.ROWS // (1, 3, 1)
LOW[of_models.ROWS[:, 1] == of_models.WORLD.y, 1] = of_models.WORLD.y
"""Rows whose mean of y is far from the middle of its limits, so that the noise of their number matters."""


@cache
def shared_noise(size: int, scale: float) -> np.ndarray:
    """(size, DRAWS) noises with a density proportional to exp(-max|z_i| / scale)."""
    random = np.random.default_rng(8)
    return random.uniform(-1, 1, (size, DRAWS)) * random.gamma(size + 1, scale, DRAWS)


def limit_by_draws(noise: np.ndarray, weights: np.ndarray, sd: float = 0.0) -> float:
    assert sd == 0
    return float(np.quantile(np.abs(weights @ noise), LEVEL))


@cache
def measured(question: str) -> tuple[PublishedRelease, ModelsPart]:
    world = of_models.WORLD
    made = world.release(LOW, world.measured((question,), MEASURED_AT), SeededEntropy(6))
    assert made.models is not None
    return made, made.models


def sums_of(part: ModelsPart) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], np.ndarray], np.ndarray]:
    """The sum of each product over the rows, the weight of each noise in it, and draws of the noises."""
    n, (noise,) = len(LOW), part.noises
    steps = [(entry.high - entry.low) / part.steps for entry in part.sums]
    keys = [tuple(factor[0] for factor in entry.of) for entry in part.sums]
    totals = {key: n * entry.low + entry.value * step for key, entry, step in zip(keys, part.sums, steps, strict=True)}
    weights = {key: step * np.eye(len(keys))[index] for index, (key, step) in enumerate(zip(keys, steps, strict=True))}
    return totals, weights, shared_noise(noise.size, noise.scale)


def assert_measured(question: str, slow: Quotient, middle: float = 0.0) -> None:
    term = estimate(measured(question)[0], question).terms[0]
    assert term.estimate == pytest.approx(slow.estimate + middle, rel=1e-5)
    assert_ends((term.low, term.high), (end + middle for end in slow.ends), slow.estimate + middle)


@pytest.mark.slow
def test_the_ends_of_a_measured_mean() -> None:
    """y is from 7 to 47: 27 and -1 to 1 times 20. Rows without y do not count."""
    totals, weights, noise = sums_of(measured("mean y")[1])
    slow = Quotient(
        numerator=20 * totals["y",],
        denominator=totals[()],
        weights_at=lambda value: 20 * weights["y",] - value * weights[()],
        limit=lambda of, sd: limit_by_draws(noise, of, sd),
    )
    assert_measured("mean y", slow, 27)


@pytest.mark.slow
def test_the_ends_of_a_measured_ratio() -> None:
    """x is from 7 to 27: 17 and -1 to 1 times 10."""
    totals, weights, noise = sums_of(measured("ratio y to x")[1])
    (of_y, of_x) = (lambda of: 27 * of[()] + 20 * of["y",]), (lambda of: 17 * of[()] + 10 * of["x",])
    slow = Quotient(
        numerator=of_y(totals),
        denominator=of_x(totals),
        weights_at=lambda value: of_y(weights) - value * of_x(weights),
        limit=lambda of, sd: limit_by_draws(noise, of, sd),
    )
    assert_measured("ratio y to x", slow)


@pytest.mark.slow
def test_the_ends_of_a_measured_slope() -> None:
    """The difference of two means of x, as a slope: (sum xz - sum x sum z / n) / (sum z - (sum z)^2 / n), z being 0 or 1."""
    question, n = "slope x on z == 'b'", len(LOW)
    totals, weights, noise = sums_of(measured(question)[1])
    x, z, xz = (("x",), ("z",), ("x", "z"))
    part, mean = totals[z] / n, totals[x] / n

    def at(slope: float) -> np.ndarray:
        change = weights[xz] - part * weights[x] - mean * weights[z]
        return np.asarray(10 * change - slope * (1 - 2 * part) * weights[z])

    variance = float((weights[z] @ noise).var())
    denominator = totals[z] - totals[z] * part
    line = (totals[xz] - part * totals[x]) / denominator
    slow = Quotient(
        numerator=10 * (totals[xz] - part * totals[x] - line * variance / n),
        denominator=denominator,
        weights_at=at,
        limit=lambda of, sd: limit_by_draws(noise, of, sd),
    )
    assert_measured(question, slow)


@pytest.mark.slow
def test_the_ends_of_measured_means_of_groups() -> None:
    """Each row of a group is shared out in 2^30 parts by its place t between the limits: 2 t (1 - t) / 2 + t^2 = t."""
    question, whole = "mean x: z == 'a' against z == 'b'", 2**30
    made, part = measured(question)
    (model,) = part.models
    assert model.scale is not None
    noise = np.random.default_rng(9).laplace(0, float(model.scale) / whole, (6, DRAWS))
    shares = np.array([group.shares for group in model.groups], dtype=float) / whole

    def of_group(index: int) -> Quotient:
        size, total = np.zeros((2, 3)), np.zeros((2, 3))
        size[index], total[index] = 1, (0, 10, 20)
        return Quotient(
            numerator=float(total.ravel() @ shares.ravel()),
            denominator=float(size.ravel() @ shares.ravel()),
            weights_at=lambda value: (total - value * size).ravel(),
            limit=lambda of, sd: limit_by_draws(noise, of, sd),
        )

    answer, first, second = estimate(made, question), of_group(0), of_group(1)
    for term, slow in zip(answer.terms, (first, second), strict=True):
        assert term.estimate == pytest.approx(slow.estimate + 7)
        assert_ends((term.low, term.high), (end + 7 for end in slow.ends), slow.estimate + 7)
    (contrast,) = answer.contrasts
    assert_difference((contrast.low, contrast.estimate, contrast.high), difference(first, second, variance=0.0))


@pytest.mark.slow
def test_the_ends_of_a_slope() -> None:
    """Each cell counts (x - mean x) (y - mean y - slope (x - mean x)); the bias of the noisy square of mean x is taken off."""
    x, y = NUMBERS[A_OF_CELL], NUMBERS[B_OF_CELL]
    middle_x, middle_y = float(x @ counts()) / N, float(y @ counts()) / N
    covariance, variance = float((x - middle_x) * (y - middle_y) @ counts()), float((x - middle_x) ** 2 @ counts())
    line = covariance / variance
    residual = weights_of(y - middle_y - line * (x - middle_x))
    bias = -2 * SCALE**2 * float(residual @ weights_of(x - middle_x)) / N
    slow = Quotient(
        numerator=covariance - bias,
        denominator=variance,
        weights_at=lambda slope: weights_of((x - middle_x) * (y - middle_y - slope * (x - middle_x))),
    )
    term = only("slope b on a")
    low, high = (term.low, term.high) if term.binned_low is None else (term.binned_low, term.binned_high)
    assert term.estimate == pytest.approx(slow.estimate, rel=1e-6)
    assert_ends((low, high), slow.ends, slow.estimate)
