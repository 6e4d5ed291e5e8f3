"""Cases of the noise itself: integer Laplace vectors, released figures and their low bits, and the stop coin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.hidden_numbers import coin
from synthrelease.privacy.noise import SYSTEM, choose, discrete_laplace, laplace_figure, one_noise, rounded_gaussian
from tests.whole.drawn.cases import Case, Event, draws_to_find

# Discrete Laplace noise as OpenDP 0.14.0 and 0.14.1 drew it (opendp issue 2638), computed and drawn, for the audit alone.
#
# A coin that shows heads with probability exp(-x) is made of coins of probability x, x/2, x/3, ... (theory 9.5, exact coins).
# There a fraction p/q divided by k became (p/g) / (k floor(q/g)), g = gcd(p, k), which is too much unless g divides q: of 4/5
# the second coin had probability 1/2 in place of 2/5. So some outcomes were up to 15% more likely than stated, and others up to
# 4% less, at every whole scale but 1 and 2. Neighbouring outcomes lose 1.5 times the claim at scale 3, 2.7 times at 10, 15
# times at 100.

_REACH = 40
"""Scales up to which the law is written down; what lies beyond has a probability below 1e-17."""


def heads(above: int, below: int) -> float:
    """The probability with which a coin of exp(-above / below) shows heads there, 0 <= above < below."""
    common = math.gcd(above, below)
    p, q = above // common, below // common
    odd, reached, toss = 0.0, 1.0, 1
    while reached > 1e-20:
        g = math.gcd(p, toss)
        again = p // g / (toss * (q // g))
        if toss % 2:
            odd += reached * (1 - again)
        reached, toss = reached * again, toss + 1
    return odd


@lru_cache
def law(scale: int) -> np.ndarray:
    """Return (2m + 1,) the probabilities of -m, ..., m, m = 40 scales.

    The size is u + scale v, u below the scale taken with the probability of `heads`, v geometric; it has a fair sign, and is
    drawn again where that makes -0 of it.
    """
    size = np.arange(_REACH * scale + 1)
    taken = np.array([heads(rest, scale) for rest in range(scale)])
    weights = taken[size % scale] * np.exp(-(size // scale))
    mirrored = np.concatenate([weights[:0:-1], weights])
    return mirrored / mirrored.sum()


def drawn(size: int, scale: int, generator: np.random.Generator) -> np.ndarray:
    """Draw (size,) int64 independent draws from this law. Not private: from a generator of doubles."""
    return generator.choice(2 * _REACH * scale + 1, size, p=law(scale)) - _REACH * scale


# Integer Laplace and Gaussian vectors, released figures and their low bits, and the stop coin.

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
    yield low_bits_case(partial(_figures, 1.0, Fraction(1)), faulty=False)
    for probability in _COINS:
        yield Case(
            family="stop coin",
            name=f"probability {probability}, against an independent source",
            claim=0.0,
            draw=partial(_tossed, probability),
            sides=(_coins, _reference_coins),
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
        draw=draw,
        sides=(left, right),
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
        draw=draw,
        sides=(left, right),
        features=tuple(f"count {i}" for i in range(len(left))),
        draws=200_000,
        faulty=spent is not None,
        gaussian=True,
    )


def _gaussian_vectors(counts: tuple[int, ...], draws: int, *, squared_sensitivity: int, rho: Fraction) -> np.ndarray:
    values = np.tile(np.array(counts, dtype=np.int64), draws)
    return rounded_gaussian(values, squared_sensitivity=squared_sensitivity, rho=rho).reshape(draws, -1).astype(float)


def laplace_vectors(counts: tuple[int, ...], draws: int, *, sensitivity: int, epsilon: Fraction, origin: int = 0) -> np.ndarray:
    """Draw (draws, k) noisy vectors, minus a public origin so that doubles hold them exactly."""
    values = np.tile(np.array(counts, dtype=np.int64), draws)
    noisy = discrete_laplace(values, sensitivity=sensitivity, epsilon=epsilon)
    return (noisy.reshape(draws, -1) - origin).astype(float)


def figure_case(name: str, epsilon: Fraction, *, spent: Fraction | None = None, draws: int = FIGURE_DRAWS) -> Case:
    """A released figure; `spent` is the epsilon that the noise is drawn for, right unless given."""
    sensitivity, left, right = FIGURES[name]
    return Case(
        family="released figure",
        name=f"{name}{', overspent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        draw=partial(_figures, sensitivity, spent or epsilon),
        sides=(left, right),
        features=("figure",),
        draws=draws,
        faulty=spent is not None,
    )


def _figures(sensitivity: float, epsilon: Fraction, value: float, draws: int) -> np.ndarray:
    return np.array([laplace_figure(value, sensitivity=sensitivity, epsilon=epsilon).value for _ in range(draws)])


def low_bits_case(draw_around: Callable[[float, int], np.ndarray], *, faulty: bool) -> Case:
    """Noise of scale 1 around 0 and around 1, looked at through the event that breaks textbook Laplace noise."""
    return Case(
        family="low bits of textbook Laplace" if faulty else "low bits of a figure",
        name=f"a double of size 1/4 to 1/2 with bits below 2^-53{', textbook noise' if faulty else ''}",
        claim=1.0,
        draw=draw_around,
        sides=(0.0, 1.0),
        features=("figure",),
        draws=500_000,
        event=Event(text="low bits", statistic=has_low_bits, threshold=1.0),
        faulty=faulty,
    )


def has_low_bits(figures: np.ndarray) -> np.ndarray:
    """Return (n,) 1 where the output is in [1/4, 1/2) and no multiple of 2^-53.

    Noise around 1 gives no such double: 1 plus a double of that size is a multiple of 2^-53 (Mironov 2012). Noise around 0
    gives them in every other draw of that range, when it is computed from doubles as textbooks do.
    """
    size, scaled = figures[:, 0], figures[:, 0] * 2.0**53
    return ((size >= 0.25) & (size < 0.5) & (scaled != np.rint(scaled))).astype(float)


def _tossed(probability: Fraction, toss: Callable[[Fraction, int], np.ndarray], draws: int) -> np.ndarray:
    return toss(probability, draws)


def _coins(probability: Fraction, draws: int) -> np.ndarray:
    return np.array([coin(probability) for _ in range(draws)])


def _reference_coins(probability: Fraction, draws: int) -> np.ndarray:
    return SYSTEM.generator().integers(probability.denominator, size=draws) < probability.numerator


# Cases of noise on vectors of every length: each vector is drawn by a call of its own, as a release draws it.
#
# A sampler that is right for long vectors and wrong for short ones, or right at one scale and wrong at others, is found nowhere
# else. The numbers of a vector are independent, so each of them is an output of its own.

LENGTHS = (1, 2, 199)
SCALES = (5, 40, 100, 1000)
MOST_CALLS = 800_000
"""On each side. To find the fault of `biased_sampler` it takes more at scale 100 in vectors of 1 (twice as many), and at scale
1,000 in vectors of 1 and 2 (17 and 9 times as many), which `--hours` draws."""

Noise = Callable[[np.ndarray], np.ndarray]


def vector_cases() -> Iterator[Case]:
    """Laplace and Gaussian noise on vectors of all lengths, and one noise for all numbers of a vector."""
    for length in LENGTHS:
        for scale in SCALES:
            yield laplace_vector_case(length, scale)
        yield scale_case(length)
        yield Case(
            family="rounded Gaussian",
            name=f"one count by 50, in vectors of {length}",
            claim=2.0,
            draw=partial(numbers, partial(rounded_gaussian, squared_sensitivity=50**2, rho=Fraction(2)), length),
            sides=(0, 50),
            features=("count",),
            draws=50_000,
            gaussian=True,
        )
    single = partial(one_noise, sensitivity=1, epsilon=Fraction(1, 5))  # one number that shares its noise with no other
    yield _by_one("one noise for a vector", "one count by 1, scale 5", single, 1, 5)


def laplace_vector_case(length: int, scale: int) -> Case:
    """Noise of a whole scale on counts that differ by 1."""
    noise = partial(discrete_laplace, sensitivity=1, epsilon=Fraction(1, scale))
    name = f"one count by 1, in vectors of {length}, scale {scale}"
    return _by_one("discrete Laplace, by length", name, noise, length, scale)


def scale_case(length: int) -> Case:
    """The same noise on counts that differ by a scale of 5, with events that are chosen on held-out draws.

    They find a scale that is a tenth too small, as those of long vectors do.
    """
    noise = partial(discrete_laplace, sensitivity=5, epsilon=Fraction(1))
    return Case(
        family="discrete Laplace, by length",
        name=f"one count by 5, in vectors of {length}, scale 5",
        claim=1.0,
        draw=partial(numbers, noise, length),
        sides=(0, 5),
        features=("count",),
        draws=unit_draws(Fraction(1)),
    )


def biased_case(scale: int) -> Case:
    """A known fault: the sampler of OpenDP 0.14.1, drawn beside the claim that it breaks."""
    name = f"coins of OpenDP 0.14.1, scale {scale}"
    return _by_one("discrete Laplace, by length", name, partial(_biased, scale), 10_000, scale, faulty=True)


def _by_one(family: str, name: str, noise: Noise, length: int, scale: int, *, faulty: bool = False) -> Case:
    """Counts 0 and 1, whose claim is 1 / scale, through the event that the fault of `biased_sampler` makes too likely."""
    event, draws = _planned(scale)
    return Case(
        family=family,
        name=name,
        claim=1 / scale,
        draw=partial(numbers, noise, length),
        sides=(0, 1),
        features=("count",),
        draws=min(draws, MOST_CALLS * length),
        event=event,
        faulty=faulty,
    )


def numbers(noise: Noise, length: int, count: int, draws: int) -> np.ndarray:
    """Draw (draws,) noisy counts, drawn as vectors of this length."""
    values = np.full(length, count, dtype=np.int64)
    return np.concatenate([noise(values) for _ in range(-(-draws // length))])[:draws].astype(float)


def _biased(scale: int, values: np.ndarray) -> np.ndarray:
    return values + drawn(len(values), scale, SYSTEM.generator())


@dataclass(frozen=True)
class LosesMore:
    """1 where a count of 0 is too much likelier than a count of 1, by the law of `biased_sampler` at a scale."""

    scale: int

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        listed = _outcomes(self.scale)[0]
        indices = outputs[:, 0].astype(np.int64) + len(listed) // 2
        inside = (indices >= 0) & (indices < len(listed))
        result: np.ndarray = inside & listed[np.where(inside, indices, 0)]
        return result.astype(float)


@lru_cache
def _planned(scale: int) -> tuple[Event, int]:
    """The event, and the draws after which the fault is found with probability 0.999."""
    _, likelier, rarer = _outcomes(scale)
    event = Event(text="outcomes that a biased coin favours", statistic=LosesMore(scale), threshold=1.0)
    return event, draws_to_find(likelier, rarer, 1 / scale, error=PLANNING_ERROR)


@lru_cache
def _outcomes(scale: int) -> tuple[np.ndarray, float, float]:
    """Return which of -m, ..., m are in the event, and its probability for counts of 0 and of 1: those outcomes are in it, the
    most telling first, that together stand out most from the claim."""
    zero = law(scale)
    shifted = np.concatenate([[0.0], zero[:-1]])
    allowed = np.exp(1 / scale) * shifted
    order = np.argsort(-np.divide(zero, allowed, out=np.zeros_like(zero), where=allowed > 0), kind="stable")
    excess, spread = np.cumsum((zero - allowed)[order]), np.cumsum((zero + allowed)[order])
    last = int(np.argmax(excess / np.sqrt(spread)))
    listed = np.zeros(len(zero), dtype=bool)
    listed[order[: last + 1]] = True
    return listed, float(zero[listed].sum()), float(shifted[listed].sum())


# Cases of the private choices: exponential mechanism and permute-and-flip.

MECHANISMS = ("permute_and_flip", "exponential")
CHOICE_CASES_EPSILONS = (Fraction(1, 2), Fraction(7, 10), Fraction(1), Fraction(2), Fraction(4))
SENSITIVITY = 10

DRAWS = 10_000
_SCORES = {
    "two candidates, far apart": ((0, -20), (-10, -10)),
    "two candidates that change places": ((5, 0), (0, 5)),
    "one rises, three fall": ((0, 0, 0, 0), (10, -10, -10, -10)),
    "one of five rises from behind": ((-25, 0, 0, -5, -3), (-15, -10, -10, -15, -13)),
    "twelve candidates, half rise": ((0,) * 12, (10, -10) * 6),
    "scores far from zero": ((10**12, 10**12 - 20), (10**12 - 10, 10**12 - 10)),
}
"""Names -> integer scores of two neighbours; each score moves by at most 10."""

_UNIT = "permute_and_flip", "two candidates, far apart"
"""It realises its claim here: the case by which its power is measured."""


def choice_cases() -> Iterator[Case]:
    """Private choices by score."""
    for mechanism in MECHANISMS:
        for epsilon in CHOICE_CASES_EPSILONS:
            for name, (left, right) in _SCORES.items():
                draws = even_draws(epsilon) if (mechanism, name) == _UNIT else DRAWS
                yield choice_case(mechanism, name, left, right, SENSITIVITY, epsilon, draws=draws)


def choice_case(
    mechanism: str,
    name: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    sensitivity: int,
    epsilon: Fraction,
    *,
    draws: int = DRAWS,
    spent: Fraction | None = None,
) -> Case:
    """A choice among candidates with these scores; `spent` is the epsilon of the mechanism, right unless given."""
    draw = partial(_choices, mechanism=mechanism, sensitivity=sensitivity, epsilon=spent or epsilon)
    return Case(
        family=mechanism.replace("_", " ") if mechanism == "permute_and_flip" else "exponential mechanism",
        name=f"{mechanism.replace('_', ' ')}: {name}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        draw=draw,
        sides=(left, right),
        features=("chosen",),
        draws=draws,
        faulty=spent is not None,
    )


def _choices(scores: tuple[int, ...], draws: int, *, mechanism: str, sensitivity: int, epsilon: Fraction) -> np.ndarray:
    return np.array([choose(scores, sensitivity=sensitivity, epsilon=epsilon, mechanism=mechanism) for _ in range(draws)])
