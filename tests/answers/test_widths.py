"""Ends of intervals against a slow computation of its own: not only do they hold the truth, they lie where they should.

The noise of a sum is convolved cell by cell on a grid, and each end is searched by halves: the value at which the noise of
numerator - value * denominator is exactly as large as it gets with the stated confidence. Nothing of the package computes here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.answers.words import Term
from synthrelease.published import PublishedRelease
from tests.answers.test_estimate import TABLE, release

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


@cache
def counts() -> np.ndarray:
    """The published table of a and b, each cell moved by as much, so that all add up to the rows, which are known."""
    (table,) = noisy().measurements.tables  # type: ignore[union-attr]
    values = table.values.astype(float).ravel()
    return values + (N - values.sum()) / values.size


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

    @property
    def estimate(self) -> float:
        return self.numerator / self.denominator

    def end(self, sign: int) -> float:
        """The value, on one side, at which the difference is as large as its noise gets."""
        near, far = self.estimate, self.estimate + sign * 4.0
        for _ in range(24):
            value = (near + far) / 2
            inside = abs(self.numerator - value * self.denominator) <= limit(self.weights_at(value), self.sd_at(value))
            near, far = (value, far) if inside else (near, value)
        return near

    @property
    def ends(self) -> tuple[float, float]:
        return self.end(-1), self.end(1)

    @property
    def noise(self) -> np.ndarray:
        """The weights of the quotient itself, to first order."""
        return self.weights_at(self.estimate) / self.denominator


def quotient(figure: np.ndarray, size: np.ndarray, sd_at: Callable[[float], float] = lambda value: 0.0) -> Quotient:
    over, under = weights_of(figure), weights_of(size)
    return Quotient(
        numerator=float(figure @ counts()),
        denominator=float(size @ counts()),
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
    lowest, highest = (quotient(values[B_OF_CELL] * among, among) for values in VALUES)
    assert_ends((term.low,), (lowest.end(-1),), lowest.estimate)
    assert_ends((term.high,), (highest.end(1),), highest.estimate)


VALUES = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
"""The lowest and the highest value in each bin of b: 0, 1 and 2 to 3."""


@pytest.mark.slow
def test_the_ends_of_contrasts() -> None:
    """The square root of the sum of squares of both distances, less what their noises have in common (Zou and Donner 2008)."""
    first, second = (share(B_OF_CELL == 1, group == A_OF_CELL) for group in (0, 1))
    found = {term.name: term for term in estimate(noisy(), "share b == 1: a == 0 against a == 1").contrasts}
    common = 2 * SCALE**2 * float(first.noise @ second.noise)
    spread = 2 * SCALE**2 * math.sqrt(float(first.noise @ first.noise) * float(second.noise @ second.noise))
    scales: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
        "risk difference": (float, float),
        "risk ratio": (math.log, math.exp),
        "odds ratio": (lambda value: math.log(value / (1 - value)), math.exp),
    }
    for name, (onto, back) in scales.items():
        ends = [[onto(value) for value in (one.end(-1), one.estimate, one.end(1))] for one in (first, second)]
        (low, middle, high), (other_low, other_middle, other_high) = ends

        def together(one: float, other: float) -> float:
            return math.sqrt(one**2 + other**2 - 2 * common / spread * one * other)

        below, above = together(middle - low, other_high - other_middle), together(high - middle, other_middle - other_low)
        term, estimated = found[name], middle - other_middle
        assert term.estimate == pytest.approx(back(estimated))
        assert term.low is not None
        assert term.high is not None
        scaled = [onto_scale(name, end) for end in (term.low, term.high)]
        assert_ends(scaled, (estimated - below, estimated + above), estimated)


def onto_scale(name: str, end: float) -> float:
    """A difference as it is, a ratio of shares or odds by its logarithm."""
    return end if name == "risk difference" else math.log(end)


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
