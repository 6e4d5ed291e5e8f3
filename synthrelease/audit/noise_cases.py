"""Cases of the noise itself: integer Laplace vectors, released figures and their low bits, and the stop coin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.audit.events import Event
from synthrelease.audit.hits import draws_to_find
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.hidden_numbers import coin
from synthrelease.privacy.noise import SYSTEM, discrete_laplace, laplace_figure, rounded_gaussian

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3), Fraction(4))
ODD_EPSILONS = (Fraction(1, 4), Fraction(1, 3), Fraction(7, 10), Fraction(22, 7))
"""Further ones for the first vectors: small, or with scales that no double holds."""

FIGURE_DRAWS = 6_000
PLANNING_ERROR = 1e-6
"""About the error of one statement among those of a whole audit: for the planned number of draws only."""

_VECTORS = {
    "one count, replaced by a neighbour's": ((0,), (1,)),
    "one count, off by 7": ((3,), (10,)),
    "one count near the largest": ((2**61,), (2**61 - 1,)),
    "two counts, a record moves": ((5, 0), (4, 1)),
    "three counts, one takes the whole change": ((0, 0, 0), (0, 6, 0)),
    "four counts in two tables, a record moves in both": ((2, 1, 3, 0), (1, 2, 2, 1)),
    "six sums, each moves": ((10, -3, 0, 8, 2, 7), (13, -4, 2, 3, 2, 3)),
    "counts of a million people, a record moves": ((900_000, 100_000), (899_999, 100_001)),
}
"""Names -> counts of two neighbours; the sensitivity is their l1 distance."""

_GAUSSIAN = {"one count, by 50": ((0,), (50,)), "two counts, each by 50": ((50, 0), (0, 50))}

FIGURES = {
    "a share of 7 records": (1 / 7, 0.0, 1 / 7),
    "a mean in grams": (250.0, 3100.0, 3350.0),
    "a small ratio": (0.037, 1.0, 1.037),
    "values that round apart": (2.0**-9, 0.49999 * 2.0**-21, 2.0**-9 + 0.50001 * 2.0**-21),
    "below zero": (1.5, 0.3, -1.2),
    "a share of 158,500 records": (1 / 158_500, 0.25, 0.25 + 1 / 158_500),
    "a tiny sensitivity beside a large value": (1e-9, 1.0, 1.000000001),
}
"""Names -> (sensitivity, value of one neighbour, of the other)."""
_COINS = tuple(Fraction(*terms) for terms in ((0, 1), (1, 1000), (1, 4), (1, 3), (1, 2), (999, 1000), (1, 1)))


def unit_draws(epsilon: Fraction) -> int:
    """Draws after which Laplace noise that is a tenth too small is found with probability 0.999.

    The best event against it is a half line, of probabilities 1 / (1 + a) and a / (1 + a), a = exp(-epsilon / 0.9).
    """
    a = math.exp(-float(epsilon) / 0.9)
    return draws_to_find(1 / (1 + a), a / (1 + a), float(epsilon), error=PLANNING_ERROR)


def even_draws(epsilon: Fraction) -> int:
    """Draws after which an event that has probability 1/2, and exp(-epsilon / 0.9) / 2 on the other side, is found with 0.999.

    At a scale a tenth too small these are: of two candidates of permute-and-flip the one behind, which is level on the other
    side; and what lies beyond the value of a figure.
    """
    return draws_to_find(0.5, math.exp(-float(epsilon) / 0.9) / 2, float(epsilon), error=PLANNING_ERROR)


def noise_cases() -> Iterator[Case]:
    """Integer noise on counts, figures, low bits, coin. Vectors of every length are in `vector_cases`."""
    for epsilon in EPSILONS:
        for name, (left, right) in _VECTORS.items():
            yield laplace_case(name, left, right, epsilon=epsilon)
        for name in FIGURES:
            yield figure_case(name, epsilon)
    for epsilon in ODD_EPSILONS:
        for name, (left, right) in list(_VECTORS.items())[:2]:
            yield laplace_case(name, left, right, epsilon=epsilon)
    for name in _GAUSSIAN:
        for mu in (2, 4):
            yield gaussian_case(name, mu)
    yield low_bits_case(_figures_of_sensitivity_one, faulty=False)
    for probability in _COINS:
        yield Case(
            family="stop coin",
            name=f"probability {probability}, against an independent source",
            claim=0.0,
            left=partial(_coins, probability),
            right=partial(_reference_coins, probability),
            features=("heads",),
            draws=100_000,
        )


def laplace_case(
    name: str, left: tuple[int, ...], right: tuple[int, ...], *, epsilon: Fraction, spent: Fraction | None = None,
    sensitivity: int | None = None,
) -> Case:  # fmt: skip
    """Noise on a vector of counts; `spent` and `sensitivity` are what the noise is drawn for, right unless given."""
    distance = sum(abs(a - b) for a, b in zip(left, right, strict=True))
    draw = partial(laplace_vectors, sensitivity=sensitivity or distance, epsilon=spent or epsilon, origin=left[0])
    return Case(
        family="discrete Laplace",
        name=f"{name}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, left),
        right=partial(draw, right),
        features=tuple(f"count {i}" for i in range(len(left))),
        draws=unit_draws(epsilon),
        faulty=spent is not None or sensitivity is not None,
    )


def gaussian_case(name: str, mu: int, *, spent: Fraction | None = None) -> Case:
    """Rounded Gaussian noise on counts; its mu is claimed, of which about 200,000 draws show nearly all.

    Counts differ by 50, so that rounding takes little of it; `spent` is the mu that the noise is drawn for.
    """
    left, right = _GAUSSIAN[name]
    squared = sum((a - b) ** 2 for a, b in zip(left, right, strict=True))
    draw = partial(_gaussian_vectors, squared_sensitivity=squared, rho=(spent or Fraction(mu)) ** 2 / 2)
    return Case(
        family="rounded Gaussian",
        name=f"{name}{', a tenth too small' if spent else ''}, mu {mu}",
        claim=float(mu),
        left=partial(draw, left),
        right=partial(draw, right),
        features=tuple(f"count {i}" for i in range(len(left))),
        draws=200_000,
        faulty=spent is not None,
        gaussian=True,
    )


def _gaussian_vectors(counts: tuple[int, ...], draws: int, *, squared_sensitivity: int, rho: Fraction) -> np.ndarray:
    values = np.tile(np.array(counts, dtype=np.int64), draws)
    return rounded_gaussian(values, squared_sensitivity=squared_sensitivity, rho=rho).reshape(draws, -1).astype(float)


def laplace_vectors(counts: tuple[int, ...], draws: int, *, sensitivity: int, epsilon: Fraction, origin: int = 0) -> np.ndarray:
    """(draws, k) noisy vectors, minus a public origin so that doubles hold them exactly."""
    values = np.tile(np.array(counts, dtype=np.int64), draws)
    noisy = discrete_laplace(values, sensitivity=sensitivity, epsilon=epsilon)
    return (noisy.reshape(draws, -1) - origin).astype(float)


def figure_case(name: str, epsilon: Fraction, *, spent: Fraction | None = None, draws: int = FIGURE_DRAWS) -> Case:
    """A released figure; `spent` is the epsilon that the noise is drawn for, right unless given."""
    sensitivity, left, right = FIGURES[name]
    return Case(
        family="released figure",
        name=f"{name}{', more spent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(_figures, left, sensitivity, spent or epsilon),
        right=partial(_figures, right, sensitivity, spent or epsilon),
        features=("figure",),
        draws=draws,
        faulty=spent is not None,
    )


def _figures(value: float, sensitivity: float, epsilon: Fraction, draws: int) -> np.ndarray:
    return np.array([laplace_figure(value, sensitivity=sensitivity, epsilon=epsilon).value for _ in range(draws)])


def low_bits_case(draw_around: Callable[[float, int], np.ndarray], *, faulty: bool) -> Case:
    """Noise of scale 1 around 0 and around 1, looked at through the event that breaks textbook Laplace noise."""
    return Case(
        family="low bits of textbook Laplace" if faulty else "low bits of a figure",
        name=f"a double of size 1/4 to 1/2 with bits below 2^-53{', textbook noise' if faulty else ''}",
        claim=1.0,
        left=partial(draw_around, 0.0),
        right=partial(draw_around, 1.0),
        features=("figure",),
        draws=500_000,
        event=Event(text="low bits", statistic=has_low_bits, threshold=1.0),
        faulty=faulty,
    )


def _figures_of_sensitivity_one(value: float, draws: int) -> np.ndarray:
    return _figures(value, 1.0, Fraction(1), draws)


def has_low_bits(figures: np.ndarray) -> np.ndarray:
    """(n,) 1 where the output is in [1/4, 1/2) and no multiple of 2^-53.

    Noise around 1 gives no such double: 1 plus a double of that size is a multiple of 2^-53 (Mironov 2012). Noise around 0
    gives them in every other draw of that range, when it is computed from doubles as textbooks do.
    """
    size, scaled = figures[:, 0], figures[:, 0] * 2.0**53
    return ((size >= 0.25) & (size < 0.5) & (scaled != np.rint(scaled))).astype(float)


def _coins(probability: Fraction, draws: int) -> np.ndarray:
    return np.array([coin(probability) for _ in range(draws)])


def _reference_coins(probability: Fraction, draws: int) -> np.ndarray:
    return SYSTEM.generator().integers(probability.denominator, size=draws) < probability.numerator
