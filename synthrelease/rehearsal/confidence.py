"""Confidence intervals of the original and of the synthetic data, and how far they overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceIntervals:
    """Lower and upper ends, each of shape (k,), of k confidence intervals. Ends may be NaN where there is no estimate."""

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        if np.shape(self.lower) != np.shape(self.upper):
            raise ValueError(
                f"expected as many lower ends as upper ends, found {np.shape(self.lower)}, {np.shape(self.upper)}."
            )
        if np.any(np.asarray(self.lower) > np.asarray(self.upper)):
            raise ValueError("expected every lower end at or below its upper end, found one above it.")


def student_interval(
    estimates: np.ndarray, variances: np.ndarray, degrees_of_freedom: np.ndarray, confidence: float
) -> ConfidenceIntervals:
    """estimate -+ t quantile * sqrt(variance); with infinitely many degrees of freedom the normal interval.

    Parameters
    ----------
    estimates, variances, degrees_of_freedom : (k,) arrays, or broadcast to it.
    confidence : inside (0, 1), for example 0.95.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected a number between 0 and 1, found {confidence}.")
    from scipy import stats  # here, because it takes a second and most rehearsals need none of it

    half = stats.t.ppf((1 + confidence) / 2, degrees_of_freedom) * np.sqrt(variances)
    return ConfidenceIntervals(lower=estimates - half, upper=estimates + half)


def interval_overlap(original: ConfidenceIntervals, synthetic: ConfidenceIntervals) -> np.ndarray:
    """Mean of the shares of each interval that the other one covers.

    0.5 [ (min(U_orig, U_syn) - max(L_orig, L_syn)) / (U_orig - L_orig) + the same / (U_syn - L_syn) ]

    Returns
    -------
    (k,) overlaps: 1 for equal intervals, at most 1, negative for disjoint ones (the further apart, the lower, without a
    bound). NaN where an interval has no width or an end is NaN.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, slide "Analysis-specific measures for the estimand of interest", first
    (the text has no page numbers); Karr et al., The American Statistician 60 (2006).
    """
    shared = np.minimum(original.upper, synthetic.upper) - np.maximum(original.lower, synthetic.lower)
    return 0.5 * (_ratio(shared, original.upper - original.lower) + _ratio(shared, synthetic.upper - synthetic.lower))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """NaN where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(denominator) > 0, np.divide(numerator, denominator), np.nan)
