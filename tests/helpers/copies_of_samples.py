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

from synthrelease.studio.rehearsal.utility import ConfidenceIntervals, student_interval

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


# The rule for copies of imputations, which no command makes.


@dataclass(frozen=True, kw_only=True, eq=False)
class NestedCopies:
    """What m imputations of missing values, each with r partially synthetic copies, say together about k quantities.

    Attributes
    ----------
    estimate, total_variance, degrees_of_freedom : (k,) the mean, T = (1 + 1/m) B - W / r + U and its degrees of freedom. B is
        the variance of the means of the imputations, W the mean variance among the copies of one, U that inside a copy.
    """

    estimate: np.ndarray
    total_variance: np.ndarray
    degrees_of_freedom: np.ndarray

    def interval(self, confidence: float = 0.95) -> ConfidenceIntervals:
        """Confidence interval from Student's t distribution."""
        return student_interval(self.estimate, self.total_variance, self.degrees_of_freedom, confidence)


def nested(estimates: np.ndarray, variances: np.ndarray) -> NestedCopies:
    """Combine copies in which missing values were imputed and then values replaced: b would hold the imputation's variance.

    Parameters
    ----------
    estimates, variances : (m, r, k) or (m, r), m >= 2 imputations with r >= 2 copies each.

    Notes
    -----
    T can be negative by chance; it then counts as U + (1 + 1/m) B, which is larger (Reiter 2004 has an adjustment, too).
    The rule "partial" on the same copies counts the imputation variance 1 / (m r) times where 1 + 1/m is right.

    Source
    ------
    Reiter, "Simultaneous use of multiple imputation for missing data and disclosure limitation", Survey Methodology 30 (2004).
    """
    estimates, variances = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if estimates.ndim not in (2, 3) or estimates.shape != variances.shape or min(estimates.shape[:2]) < 2:
        raise ValueError(
            "expected estimates and variances of one shape (m, r) or (m, r, k), at least two imputations of two copies, found "
            f"{estimates.shape} and {variances.shape}."
        )
    m, r = estimates.shape[:2]
    means = estimates.mean(axis=1)
    between, within, inside = means.var(axis=0, ddof=1), estimates.var(axis=1, ddof=1).mean(axis=0), variances.mean(axis=(0, 1))
    wide = (1 + 1 / m) * between
    total = wide - within / r + inside
    total = np.where(total > 0, total, wide + inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = 1 / ((wide / total) ** 2 / (m - 1) + (within / (r * total)) ** 2 / (m * (r - 1)))
    freedom = np.where((between == 0) & (within == 0), np.inf, freedom)
    return NestedCopies(estimate=means.mean(axis=0), total_variance=total, degrees_of_freedom=freedom)
