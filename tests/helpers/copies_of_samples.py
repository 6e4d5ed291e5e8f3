"""Known populations, samples of them and copies of each kind, to see how often intervals of a combining rule hold the truth.

A person has a group g (0, 1, 2; known shares) and y, normal with mean 1 + g and standard deviation 1. The estimand is the mean
of y, 2. What is made of a sample of n persons:

- `partial`: y of the persons of group 2 is replaced by draws from its posterior predictive law;
- `simple`: k new persons are drawn from the law that was fitted to the sample, without a posterior draw;
- `own noise`: k = n new persons from a fit with noise of its own for each copy; `one noise`: one noisy fit for all copies;
- `known noise`: the mean of the sample is drawn from its posterior given the noisy measurement, and y moved to have it;
- `nested`: a third of y is missing; it is imputed m times from its posterior, and y of group 2 then replaced r times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TRUTH = 2.0
NOISE = 0.1
"""Standard deviation of the noise on the mean of a sample, where there is noise: of the size of its standard error."""

Random = np.random.Generator
Copies = tuple[np.ndarray, np.ndarray]
"""(M,) estimates and variances; (m, r) of nested copies."""


@dataclass(frozen=True)
class Sample:
    """n persons."""

    group: np.ndarray
    y: np.ndarray

    @classmethod
    def draw(cls, n: int, random: Random) -> Sample:
        group = random.integers(0, 3, n)
        return cls(group, 1 + group + random.standard_normal(n))


def mean_of(y: np.ndarray) -> tuple[float, float]:
    return float(y.mean()), float(y.var(ddof=1) / len(y))


def predictive(y: np.ndarray, n: int, random: Random) -> np.ndarray:
    """n draws from the posterior predictive law of a normal sample, with one draw of its parameters."""
    variance = (len(y) - 1) * y.var(ddof=1) / random.chisquare(len(y) - 1)
    centre = y.mean() + np.sqrt(variance / len(y)) * random.standard_normal()
    return centre + np.sqrt(variance) * random.standard_normal(n)


def _copies(made: list[tuple[float, float]]) -> Copies:
    estimates, variances = zip(*made, strict=True)
    return np.array(estimates), np.array(variances)


def _replaced(sample: Sample, random: Random) -> np.ndarray:
    inside = sample.group == 2
    y = sample.y.copy()
    y[inside] = predictive(sample.y[inside], int(inside.sum()), random)
    return y


def partial(sample: Sample, copies: int, random: Random) -> Copies:
    return _copies([mean_of(_replaced(sample, random)) for _ in range(copies)])


def simple(ratio: float, noise: str = "") -> Callable[[Sample, int, Random], Copies]:
    """New persons from a fit of the sample; `noise` is "", "own" or "one"."""

    def make(sample: Sample, copies: int, random: Random) -> Copies:
        n = len(sample.y)
        shifts = NOISE * random.standard_normal(copies) if noise else np.zeros(copies)
        if noise == "one":
            shifts[:] = shifts[0]
        centre, spread = sample.y.mean(), sample.y.std()
        drawn = [centre + shift + spread * random.standard_normal(round(ratio * n)) for shift in shifts]
        return _copies([mean_of(y) for y in drawn])

    return make


def known_noise(sample: Sample, copies: int, random: Random) -> Copies:
    measured = sample.y.mean() + NOISE * random.standard_normal()
    return _copies([mean_of(sample.y - sample.y.mean() + measured + NOISE * random.standard_normal()) for _ in range(copies)])


def twice(imputations: int) -> Callable[[Sample, int, Random], Copies]:
    """Missing values are imputed, then values replaced, `copies` times for each imputation."""

    def make(sample: Sample, copies: int, random: Random) -> Copies:
        missing = random.random(len(sample.y)) < 1 / 3
        made = []
        for _ in range(imputations):
            filled = sample.y.copy()
            for g in range(3):
                gone, there = missing & (sample.group == g), ~missing & (sample.group == g)
                filled[gone] = predictive(sample.y[there], int(gone.sum()), random)
            made.append(partial(Sample(sample.group, filled), copies, random))
        return np.array([estimates for estimates, _ in made]), np.array([variances for _, variances in made])

    return make
