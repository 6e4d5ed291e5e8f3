"""Cases of noise on vectors of every length: each vector is drawn by a call of its own, as a release draws it.

A sampler that is right for long vectors and wrong for short ones, or right at one scale and wrong at others, is found nowhere
else. The numbers of a vector are independent, so each of them is an output of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from synthrelease.audit import biased_sampler
from synthrelease.audit.cases import Case
from synthrelease.audit.events import Event
from synthrelease.audit.hits import draws_to_find
from synthrelease.audit.noise_cases import PLANNING_ERROR, unit_draws
from synthrelease.privacy.noise import SYSTEM, discrete_laplace, one_noise, rounded_gaussian

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
            left=partial(numbers, partial(rounded_gaussian, squared_sensitivity=50**2, rho=Fraction(2)), length, 0),
            right=partial(numbers, partial(rounded_gaussian, squared_sensitivity=50**2, rho=Fraction(2)), length, 50),
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
        left=partial(numbers, noise, length, 0),
        right=partial(numbers, noise, length, 5),
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
        left=partial(numbers, noise, length, 0),
        right=partial(numbers, noise, length, 1),
        features=("count",),
        draws=min(draws, MOST_CALLS * length),
        event=event,
        faulty=faulty,
    )


def numbers(noise: Noise, length: int, count: int, draws: int) -> np.ndarray:
    """(draws,) noisy counts, drawn as vectors of this length."""
    values = np.full(length, count, dtype=np.int64)
    return np.concatenate([noise(values) for _ in range(-(-draws // length))])[:draws].astype(float)


def _biased(scale: int, values: np.ndarray) -> np.ndarray:
    return values + biased_sampler.drawn(len(values), scale, SYSTEM.generator())


@dataclass(frozen=True)
class LosesMore:
    """1 where a count of 0 is too much likelier than a count of 1, by the law of `biased_sampler` at a scale."""

    scale: int

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        listed = _outcomes(self.scale)[0]
        places = outputs[:, 0].astype(np.int64) + len(listed) // 2
        inside = (places >= 0) & (places < len(listed))
        found: np.ndarray = inside & listed[np.where(inside, places, 0)]
        return found.astype(float)


@lru_cache
def _planned(scale: int) -> tuple[Event, int]:
    """The event, and the draws after which the fault is found with probability 0.999."""
    _, more, less = _outcomes(scale)
    event = Event(text="outcomes that a biased coin favours", statistic=LosesMore(scale), threshold=1.0)
    return event, draws_to_find(more, less, 1 / scale, error=PLANNING_ERROR)


@lru_cache
def _outcomes(scale: int) -> tuple[np.ndarray, float, float]:
    """Which of -m, ..., m are in the event, and its probability for counts of 0 and of 1: those outcomes are in it, the most
    telling first, that together stand out most from the claim."""
    zero = biased_sampler.law(scale)
    one = np.concatenate([[0.0], zero[:-1]])
    allowed = np.exp(1 / scale) * one
    order = np.argsort(-np.divide(zero, allowed, out=np.zeros_like(zero), where=allowed > 0), kind="stable")
    excess, spread = np.cumsum((zero - allowed)[order]), np.cumsum((zero + allowed)[order])
    last = int(np.argmax(excess / np.sqrt(spread)))
    listed = np.zeros(len(zero), dtype=bool)
    listed[order[: last + 1]] = True
    return listed, float(zero[listed].sum()), float(one[listed].sum())
