"""The combining rules: one estimate and one variance from the same analysis of M synthetic copies.

Each kind of copy has its own (`Rule`, and `nested` for copies of imputations); docs/appendix/benchmarks.md has how often
their intervals hold the truth (`python -m tests.benchmarks.combining`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from synthrelease.errors import listing
from synthrelease.rehearsal.confidence import ConfidenceIntervals, student_interval

Rule = Literal["partial", "simple", "noise_aware"]
"""Which variance belongs to copies of k rows that come from an original of n rows, v the mean variance inside them.

partial : v + b / M. Copies that are independent given the original: partially synthetic ones with parameters drawn from their
    posterior (Reiter 2003), and whole runs of a generator, each with noise of its own, as a rehearsal makes them, where k = n.
    Proof of the latter: the variance of the mean is that of what the copies estimate in common, the original's v, plus that of
    one copy about it over M, which b estimates.
simple : (k / n + 1 / M) v. Fully synthetic copies that are drawn from one fitted model, without posterior draws or noise:
    k v / n is the variance of the original's estimate, v that of a copy about it (Raab, Nowok & Dibben 2017). b does not count.
noise_aware : (1 + 1 / M) b + v. Copies that are draws of the true table given noisy measurements whose noise is known (Raisa et
    al. 2023): b is all that is not known of the true table, and stays however many copies there are.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Combined:
    """What M copies say together about k quantities.

    Attributes
    ----------
    n_copies : M, at least 2.
    estimate : (k,) q_bar = sum_m q_m / M, the estimate.
    within_variance : (k,) v_bar = sum_m v_m / M, mean of the variances inside the copies.
    between_variance : (k,) b = sum_m (q_m - q_bar)^2 / (M - 1), variance of the estimates across copies.
    rule : the kind of copies.
    size_ratio : rows of a copy over rows of the original; the rule "simple" uses it.
    """

    n_copies: int
    estimate: np.ndarray
    within_variance: np.ndarray
    between_variance: np.ndarray
    rule: Rule = "partial"
    size_ratio: float = 1.0

    @property
    def total_variance(self) -> np.ndarray:
        """(k,) T, the estimated variance of the estimate: b / M + v_bar for the rule "partial"; see `Rule` for the others."""
        if self.rule == "simple":
            return (self.size_ratio + 1 / self.n_copies) * self.within_variance
        return self._between + self.within_variance

    @property
    def _between(self) -> np.ndarray:
        """The part of T that has b in it."""
        if self.rule == "simple":
            return np.zeros_like(self.between_variance)
        return self.between_variance * (1 / self.n_copies + (self.rule == "noise_aware"))

    @property
    def degrees_of_freedom(self) -> np.ndarray:
        """(k,) nu = (M - 1) (1 + 1 / r)^2 with r = (b / M) / v_bar, (1 + 1 / M) b / v_bar for the rule "noise_aware".

        At least M - 1; infinite where b is 0, and for the rule "simple". Computed as (M - 1) (T / (r v_bar))^2, the same, which
        needs no division by v_bar.
        """
        between = self._between
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            freedom = (self.n_copies - 1) * (self.total_variance / between) ** 2
        return np.where(between == 0, np.inf, freedom)

    def interval(self, confidence: float = 0.95) -> ConfidenceIntervals:
        """Confidence interval from Student's t distribution with nu degrees of freedom."""
        return student_interval(self.estimate, self.total_variance, self.degrees_of_freedom, confidence)


def combine(estimates: np.ndarray, variances: np.ndarray, rule: Rule = "partial", size_ratio: float = 1.0) -> Combined:
    """Combine the same estimate from M synthetic copies.

    Parameters
    ----------
    estimates : (M, k) or (M,) q_m, for example the coefficients of a regression that was fitted to each copy.
    variances : same shape, v_m, their squared standard errors, each computed as if its copy were the original data.
        NaN, where a copy has no such estimate, makes the combined figures NaN.
    rule, size_ratio : the kind of copies, and k / n, rows of a copy over rows of the original.

    Raises
    ------
    ValueError : for an unknown rule, a ratio that is not above 0, fewer than two copies (one copy says nothing about
        the variance between copies), different shapes, infinite values, or a negative variance.

    Notes
    -----
    A rule for another kind of copies gives intervals that are too short, seldom too long. Of differentially private copies from
    **one** noisy measurement b does not see its noise: none of "partial" and "simple" is right there, and what a release
    publishes is such a table. Runs with a noise of their own (rehearsals) show the noise in b. A bias of the generator is seen
    by nothing; interval overlap in a rehearsal shows how much it is.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, the slide that starts "Let Q = Q(D) be a target estimand", just before
    "Focusing on Complete Case" (the text has no page numbers); Reiter, Survey Methodology 29 (2003).
    """
    if rule not in get_args(Rule):
        raise ValueError(f"expected one of the rules {listing(get_args(Rule))}, found {rule!r}.")
    if not size_ratio > 0:
        raise ValueError(f"expected a ratio of sizes above 0, found {size_ratio}.")
    estimates, variances = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if estimates.ndim not in (1, 2) or estimates.shape != variances.shape:
        raise ValueError(
            f"expected estimates and variances of one shape (M,) or (M, k), found {estimates.shape} and {variances.shape}."
        )
    n_copies = len(estimates)
    if n_copies < 2:
        raise ValueError(f"expected at least two copies to combine, found {n_copies}.")
    if np.isinf(estimates).any() or np.isinf(variances).any():
        raise ValueError("expected finite estimates and variances, found an infinite one.")
    if (variances < 0).any():
        raise ValueError("expected variances of at least 0, found a negative one.")
    return Combined(
        n_copies=n_copies,
        estimate=estimates.mean(axis=0),
        within_variance=variances.mean(axis=0),
        between_variance=estimates.var(axis=0, ddof=1),
        rule=rule,
        size_ratio=size_ratio,
    )


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
