"""The combining rules: one estimate and one variance from the same analysis of M synthetic copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.rehearsal.confidence import Interval, student_interval


@dataclass(frozen=True, kw_only=True, eq=False)
class Combined:
    """What M copies say together about k quantities.

    Attributes
    ----------
    n_copies : M, at least 2.
    estimate : (k,) q_bar = sum_m q_m / M, the estimate.
    within_variance : (k,) v_bar = sum_m v_m / M, mean of the variances inside the copies.
    between_variance : (k,) b = sum_m (q_m - q_bar)^2 / (M - 1), variance of the estimates across copies.
    """

    n_copies: int
    estimate: np.ndarray
    within_variance: np.ndarray
    between_variance: np.ndarray

    @property
    def total_variance(self) -> np.ndarray:
        """(k,) T = b / M + v_bar, the estimated variance of the estimate."""
        return self.between_variance / self.n_copies + self.within_variance

    @property
    def degrees_of_freedom(self) -> np.ndarray:
        """(k,) nu = (M - 1) (1 + 1 / r)^2 with r = (b / M) / v_bar; at least M - 1, infinite where b is 0.

        Computed as (M - 1) (T / (b / M))^2, the same number, which needs no division by v_bar.
        """
        between = self.between_variance / self.n_copies
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            freedom = (self.n_copies - 1) * (self.total_variance / between) ** 2
        return np.where(between == 0, np.inf, freedom)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Confidence interval from Student's t distribution with nu degrees of freedom."""
        return student_interval(self.estimate, self.total_variance, self.degrees_of_freedom, confidence)


def combine(estimates: np.ndarray, variances: np.ndarray) -> Combined:
    """Combine the same estimate from M synthetic copies.

    Parameters
    ----------
    estimates : (M, k) or (M,) q_m, for example the coefficients of a regression that was fitted to each copy.
    variances : same shape, v_m, their squared standard errors, each computed as if its copy were the original data.
        NaN, where a copy has no such estimate, makes the combined figures NaN.

    Raises
    ------
    ValueError : for fewer than two copies (one copy says nothing about the variance between copies), different shapes,
        infinite values, or a negative variance.

    Notes
    -----
    The rule is that of Reiter (2003) for copies drawn from a posterior predictive distribution that was fitted without
    noise. Differentially private copies differ from the original by their noise as well. b sees that noise only as far as
    every copy has noise of its own, and divides it by M; a bias of the generator is seen by nothing. So such intervals
    are too short for the original's parameter, the more so the smaller epsilon; interval overlap in a rehearsal shows
    how much.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, the slide that starts "Let Q = Q(D) be a target estimand", just before
    "Focusing on Complete Case" (the text has no page numbers); Reiter, Survey Methodology 29 (2003).
    """
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
    )
