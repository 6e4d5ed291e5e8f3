"""A regression on original and on synthetic data: how far confidence intervals overlap, and differences in standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import listing
from synthrelease.rehearsal.combining import Rule, combine
from synthrelease.rehearsal.confidence import ConfidenceIntervals, interval_overlap, student_interval
from synthrelease.rehearsal.logit import fit_logit
from synthrelease.rehearsal.public_table import PublicTable

INTERCEPT = "(intercept)"

_RANK_TOLERANCE = 1e-10
"""Smallest eigenvalue of the features' correlation matrix at which the coefficients count as determined."""


@dataclass(frozen=True, kw_only=True)
class CoefficientComparison:
    """One coefficient of a linear or logistic regression on the original and on the synthetic data.

    Attributes
    ----------
    name : the feature, or `(intercept)`.
    original, original_se : estimate and standard error on the original, in units of the target (of a logistic regression: in
        log odds) per unit of the feature.
    synthetic, synthetic_se : the same on the synthetic data, combined over the copies where there are several.
    original_interval, synthetic_interval : (lower, upper) confidence bounds.
    interval_overlap : at most 1, which is best; negative when the intervals are disjoint (`confidence.interval_overlap`).
    standardised_difference : |original - synthetic| / original_se; 0 is best. Both are NaN when a copy does not determine
        the coefficient.
    """

    name: str
    original: float
    original_se: float
    synthetic: float
    synthetic_se: float
    original_interval: tuple[float, float]
    synthetic_interval: tuple[float, float]
    interval_overlap: float
    standardised_difference: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A fitted regression: (k,) estimates and standard errors, intercept first; NaN where the rows do not determine it."""

    estimates: np.ndarray
    standard_errors: np.ndarray
    degrees_of_freedom: float

    @property
    def determined(self) -> bool:
        return bool(np.isfinite(self.estimates).all() and np.isfinite(self.standard_errors).all())

    def interval(self, confidence: float) -> ConfidenceIntervals:
        freedom = np.array(max(self.degrees_of_freedom, 1.0))
        return student_interval(self.estimates, self.standard_errors**2, freedom, confidence)


def standardised_difference(original: np.ndarray, synthetic: np.ndarray, original_se: np.ndarray) -> np.ndarray:
    """|beta_orig - beta_syn| / SE(beta_orig), at least 0; NaN where the standard error is 0.

    Source: Jiang (2025), Short Course on Data Privacy, slide "Analysis-specific measures for the estimand of interest",
    second (the text has no page numbers).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(original_se > 0, np.abs(original - synthetic) / original_se, np.nan)


def compare_regressions(
    public: PublicTable,
    copies: Sequence[Counts],
    *,
    target: str,
    features: Sequence[str],
    positive: Sequence[str] | None = None,
    rule: Rule = "partial",
    confidence: float = 0.95,
) -> tuple[CoefficientComparison, ...]:
    """A regression of `target` on `features` and an intercept, on the original and on M synthetic copies.

    Features stand for the numbers of their bins; so does the target of a linear regression (least squares). With `positive` it
    is a logistic regression (maximum likelihood) of whether the target is in one of these bins. With two or more copies the
    synthetic interval follows the combining rules (`combining.combine`); with one it is that of the copy, analysed as if it
    were the original.

    Parameters
    ----------
    positive : labels of bins of the target that count as 1, the other values as 0; None for a linear regression.
    rule : the kind of copies.

    Returns
    -------
    One comparison per coefficient: the intercept, then the features in their order.

    Raises
    ------
    ValueError : for unknown or repeated columns or labels, bins without numbers, copies over other bins, or an original that
        does not determine the coefficients (of a logistic regression also where a line separates its outcomes).
    """
    public.check_copies(copies)
    if not features:
        raise ValueError("features: expected at least one column, found none.")
    public.indices("target and features", (target, *features))
    fit = _fitting(public, target, features, positive)
    original = fit(public.counts)
    if not original.determined:
        raise ValueError(
            "regression: expected public rows that determine every coefficient (more rows than coefficients, no feature "
            "constant or a linear function of the others, outcomes that no line separates), found rows that do not."
        )
    lines = [fit(copy) for copy in copies]
    if len(lines) > 1:
        combined = combine(
            np.array([line.estimates for line in lines]),
            np.array([line.standard_errors**2 for line in lines]),
            rule,
            float(np.mean([copy.total for copy in copies])) / public.n,
        )
        estimates, errors = combined.estimate, np.sqrt(combined.total_variance)
        interval = combined.interval(confidence)
    else:
        estimates, errors, interval = lines[0].estimates, lines[0].standard_errors, lines[0].interval(confidence)
    wanted = original.interval(confidence)
    overlaps = interval_overlap(wanted, interval)
    differences = standardised_difference(original.estimates, estimates, original.standard_errors)
    return tuple(
        CoefficientComparison(
            name=name,
            original=float(original.estimates[i]),
            original_se=float(original.standard_errors[i]),
            synthetic=float(estimates[i]),
            synthetic_se=float(errors[i]),
            original_interval=(float(wanted.lower[i]), float(wanted.upper[i])),
            synthetic_interval=(float(interval.lower[i]), float(interval.upper[i])),
            interval_overlap=float(overlaps[i]),
            standardised_difference=float(differences[i]),
        )
        for i, name in enumerate((INTERCEPT, *features))
    )


def _fitting(
    public: PublicTable, target: str, features: Sequence[str], positive: Sequence[str] | None
) -> Callable[[Counts], Line]:
    if positive is None:
        return lambda table: fit_line(public, table, target, features)
    return lambda table: fit_odds(public, table, target, positive, features)


def fit_odds(public: PublicTable, table: Counts, target: str, positive: Sequence[str], features: Sequence[str]) -> Line:
    """Maximum likelihood of the log odds of `positive`, every cell of the columns' own table weighted by its count.

    Exactly the logistic regression of the rows in which no column of it is missing, with standard errors from the inverse of
    the information; the intervals are normal.

    Returns
    -------
    A line of NaN where the rows do not determine it: no more rows than coefficients, a feature that is constant or a linear
    function of the others, and outcomes that a line separates.

    Raises
    ------
    ValueError : for a label that the target does not have, or when none or all of its values are positive.
    """
    layout, binning = table.layout, public.transformation.binning(target)
    unknown = [label for label in positive if label not in binning.labels[: binning.present]]
    if unknown:
        raise ValueError(f"positive: expected labels of {target!r} ({listing(binning.labels)}), found {unknown[0]!r}.")
    if not 0 < len(set(positive)) < binning.present:
        raise ValueError(f"positive: expected some but not all of the values of {target!r}, found {listing(positive)}.")
    cells = table.project([layout.index(name) for name in (*features, target)])
    columns = [public.numbers("features", name)[cells.digits(place)] for place, name in enumerate(features)]
    outcome = cells.digits(len(features))
    complete = np.isfinite(np.column_stack(columns)).all(axis=1) & (outcome < binning.present)
    rows = cells.counts[complete]
    yes = np.isin(outcome, [binning.labels.index(label) for label in positive])[complete]
    design = np.column_stack([np.ones(len(rows)), *(column[complete] for column in columns)])
    means = rows @ design[:, 1:] / max(1, rows.sum())
    fit = fit_logit(np.column_stack([design[:, 0], design[:, 1:] - means]), rows, rows * yes)
    if fit is None:
        nothing = np.full(design.shape[1], np.nan)
        return Line(estimates=nothing, standard_errors=nothing, degrees_of_freedom=math.inf)
    at_zero = np.concatenate([[1.0], -means])  # the intercept is the line at x = 0, so far from the means
    errors = np.sqrt(np.concatenate([[at_zero @ fit.covariance @ at_zero], np.diag(fit.covariance)[1:]]))
    estimates = np.concatenate([[at_zero @ fit.estimates], fit.estimates[1:]])
    return Line(estimates=estimates, standard_errors=errors, degrees_of_freedom=math.inf)


def fit_line(public: PublicTable, table: Counts, target: str, features: Sequence[str]) -> Line:
    """Ordinary least squares, every cell weighted by its count, with the textbook standard errors.

    beta = (X'WX)^-1 X'Wy,  s^2 = sum_c w_c (y_c - x_c beta)^2 / (n - k),  SE^2 = s^2 diag (X'WX)^-1, with W the counts and n
    their sum: exactly the ordinary least squares of the n rows in which no column of the regression is missing. Features are
    centred and scaled first, so that nothing is lost to large numbers.

    Returns
    -------
    A line of NaN when n <= k or a feature is constant or a linear function of the others.
    """
    layout, weights = table.layout, table.counts.astype(float)
    response = public.numbers("target", target)[table.digits(layout.index(target))]
    columns = [public.numbers("features", name)[table.digits(layout.index(name))] for name in features]
    complete = np.isfinite(np.column_stack([response, *columns])).all(axis=1)
    response, columns, weights = response[complete], [column[complete] for column in columns], weights[complete]
    n, k = int(table.counts[complete].sum()), len(columns) + 1
    nothing = Line(estimates=np.full(k, np.nan), standard_errors=np.full(k, np.nan), degrees_of_freedom=n - k)
    if n <= k:
        return nothing
    design = np.column_stack(columns)
    means, response_mean = weights @ design / n, weights @ response / n
    spreads = np.sqrt(weights @ (design - means) ** 2 / n)
    # a constant feature leaves rounding of its mean, not exactly 0
    if (spreads <= 1e-12 * np.abs(design).max(axis=0)).any():
        return nothing
    standard = (design - means) / spreads
    correlations = standard.T @ (standard * weights[:, None]) / n
    if not np.linalg.eigvalsh(correlations)[0] > _RANK_TOLERANCE:
        return nothing
    inverse = np.linalg.inv(correlations)
    slopes = inverse @ (standard.T @ (weights * (response - response_mean)) / n)
    residuals = response - response_mean - standard @ slopes
    variance = float(weights @ residuals**2) / (n - k)
    at_zero = means / spreads  # the intercept is the line at x = 0, so many spreads from the means
    intercept_variance = variance / n * (1 + at_zero @ inverse @ at_zero)
    return Line(
        estimates=np.array([response_mean - at_zero @ slopes, *(slopes / spreads)]),
        standard_errors=np.sqrt([intercept_variance, *(variance / n * np.diag(inverse) / spreads**2)]),
        degrees_of_freedom=n - k,
    )
