"""Compute utility statistics of synthetic copies of a public table, with measures from the literature and without noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from synthrelease.criteria.records import NewtonResult, maximum
from synthrelease.criteria.regressions import RegressionCoefficients
from synthrelease.data.counts import Counts
from synthrelease.errors import InputError, RejectedRound, closest, listing
from synthrelease.generators.space import Configuration
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import PublicTable, Trials
from synthrelease.studio.rehearsal.risk import risk_report

# Confidence intervals of the original and of the synthetic data, and how far they overlap.


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceIntervals:
    """The (k,) lower and upper ends of k confidence intervals; NaN without an estimate."""

    lower: np.ndarray
    upper: np.ndarray


def student_interval(
    estimates: np.ndarray, variances: np.ndarray, degrees_of_freedom: np.ndarray, confidence: float
) -> ConfidenceIntervals:
    """Return intervals of Student's t: estimate -+ t quantile * sqrt(variance). Infinite degrees of freedom give normal
    ones.

    Parameters
    ----------
    estimates, variances, degrees_of_freedom : arrays of shape (k,), or values that broadcast to this shape.
    confidence : inside (0, 1).
    """
    from scipy import stats  # here, because it takes a second and most rehearsals need none of it

    half = stats.t.ppf((1 + confidence) / 2, degrees_of_freedom) * np.sqrt(variances)
    return ConfidenceIntervals(lower=estimates - half, upper=estimates + half)


def interval_overlap(original: ConfidenceIntervals, synthetic: ConfidenceIntervals) -> np.ndarray:
    """Return the share of each interval that the other interval covers, averaged over both.

    0.5 [ (min(U_orig, U_syn) - max(L_orig, L_syn)) / (U_orig - L_orig) + the same / (U_syn - L_syn) ]

    Returns
    -------
    (k,) overlaps: 1 for equal intervals, negative for disjoint ones, without a lower bound. NaN if an interval has no width
    or an end is NaN.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, slide "Analysis-specific measures for the estimand of interest", first (the
    text has no page numbers); Karr et al., The American Statistician 60 (2006).
    """
    shared = np.minimum(original.upper, synthetic.upper) - np.maximum(original.lower, synthetic.lower)
    return 0.5 * (_ratio(shared, original.upper - original.lower) + _ratio(shared, synthetic.upper - synthetic.lower))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(denominator) > 0, np.divide(numerator, denominator), np.nan)


# Logistic regression of "synthetic" on the cells of a stacked table: one line of the design per cell, not per row.

# Penalty on squared coefficients, in units of the log-likelihood of one row. The penalty keeps coefficients finite if a bin
# occurs in only one table, and is too weak to matter otherwise.
_RIDGE = 1e-6

_CONVERGED = 1e-7
# Allowed difference from the largest log-likelihood (about 0.7 per row); the second part covers rounding errors.
_CONVERGED_PER_ROW = 1e-13

# Initial coefficient of a bin that occurs in only one table. The likelihood of such a coefficient has no maximum, and from 0
# Newton's method would take many steps of about 1.
_ONE_SIDED = 15.0

_MOST_STEPS = 200
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedDesign:
    """The propensity model: a logistic regression that tells synthetic rows from original ones, with rows counted by cell.

    Attributes
    ----------
    rows, synthetic : (n_cells,) numbers of rows of both tables together, and of the synthetic table.
    few : (n_cells, k_1) sparse columns of the model matrix: the intercept, and an indicator for every bin but one of every
        column.
    many : (n_cells, k_2) dense columns: for every two columns that have numbers and vary, the product of the standardised
        numbers, or 0 if a number is missing.
    start : (k,) initial coefficients.
    """

    rows: np.ndarray
    synthetic: np.ndarray
    few: sparse.csr_matrix
    many: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, public: PublicTable, copy: Counts) -> StackedDesign:
        stacked = public.counts + copy
        synthetic = np.zeros(len(stacked))
        synthetic[stacked.find(copy.bins)] = copy.counts
        rows = stacked.counts.astype(float)
        cells = np.arange(len(rows))
        blocks, starts = [sparse.csr_matrix(np.ones((len(rows), 1)))], [np.array([logit(synthetic.sum() / rows.sum())])]
        for column, size in enumerate(stacked.layout.sizes):
            digits = stacked.digits(column)
            in_both = np.bincount(digits, weights=rows, minlength=size)
            only = np.bincount(digits, weights=synthetic, minlength=size)
            # the most frequent bin is the reference, because both tables are most likely to have it
            indicated = np.flatnonzero(in_both)
            indicated = indicated[indicated != np.argmax(in_both)]
            blocks.append(sparse.csr_matrix((np.ones(len(rows)), (cells, digits)), shape=(len(rows), size))[:, indicated])
            starts.append(_ONE_SIDED * ((only == in_both).astype(float) - (only == 0))[indicated])
        products = _products(public, stacked)
        return cls(
            rows=rows,
            synthetic=synthetic,
            few=sparse.hstack(blocks, format="csr"),
            many=products,
            start=np.concatenate([*starts, np.zeros(products.shape[1])]),
        )

    @cached_property
    def n_parameters(self) -> int:
        """Return the number of independent parameters (the rank of the model matrix)."""
        gram = self._gram(self.rows)
        scale = np.sqrt(np.diag(gram))
        scale[scale == 0] = 1.0  # a product of two features can be 0 in all cells
        return int(np.linalg.matrix_rank(gram / np.outer(scale, scale), tol=_RANK_TOLERANCE, hermitian=True))

    def probabilities(self) -> np.ndarray:
        """Return the (n_cells,) fitted probabilities that a row is synthetic.

        Raises
        ------
        ArithmeticError : if Newton's method does not converge, which would be a mistake in the program: the likelihood is
            concave.
        """
        penalty = np.full(len(self.start), _RIDGE)
        penalty[0] = 0.0
        enough = _CONVERGED + _CONVERGED_PER_ROW * self.rows.sum()

        def likelihood(coefficients: np.ndarray) -> float:
            line = self._line(coefficients)
            return float(self.synthetic @ line - self.rows @ np.logaddexp(0.0, line) - penalty @ coefficients**2 / 2)

        def derivatives(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            fitted = expit(self._line(coefficients))
            residual = self.synthetic - self.rows * fitted
            gradient = np.concatenate([self.few.T @ residual, self.many.T @ residual]) - penalty * coefficients
            return gradient, self._gram(self.rows * fitted * (1 - fitted)) + np.diag(penalty)

        def small(step: np.ndarray, reached: NewtonResult) -> bool:
            return bool(reached.gradient @ step < enough)  # twice the possible gain, if the likelihood is nearly quadratic

        fit = maximum(likelihood, derivatives, self.start, small=small, most_steps=_MOST_STEPS)
        if fit is None or not fit.reached:
            raise ArithmeticError(f"the logistic regression of the propensity scores did not converge in {_MOST_STEPS} steps.")
        return expit(self._line(fit.at))

    def _line(self, coefficients: np.ndarray) -> np.ndarray:
        k = self.few.shape[1]
        return self.few @ coefficients[:k] + self.many @ coefficients[k:]

    def _gram(self, weights: np.ndarray) -> np.ndarray:
        weighted = self.many * weights[:, None]
        corner = (self.few.T @ self.few.multiply(weights[:, None]).tocsr()).toarray()
        side = self.few.T @ weighted
        return np.block([[corner, side], [side.T, self.many.T @ weighted]])


def _products(public: PublicTable, stacked: Counts) -> np.ndarray:
    """Return the products of every two standardised numeric columns, by which the model detects wrong correlations."""
    standard = []
    for column, name in enumerate(public.columns):
        if not public.has_numbers(name):
            continue
        values = public.numbers("propensity score", name)[stacked.digits(column)]
        present = np.isfinite(values)
        rows = stacked.counts * present
        if not rows.any():
            continue
        values = np.where(present, values, 0.0)
        centred = np.where(present, values - rows @ values / rows.sum(), 0.0)
        spread = np.sqrt(rows @ centred**2 / rows.sum())
        if spread > 1e-12 * np.abs(values).max():
            standard.append(centred / spread)
    pairs = [first * second for first, second in combinations(standard, 2)]
    return np.column_stack(pairs) if pairs else np.empty((len(stacked), 0))


# The combining rules: one estimate and one variance from the same analysis of M synthetic copies.
#
# Each kind of copy has its own `Rule`. docs/appendix/benchmarks.md shows how often the intervals contain the truth (`python -m
# tests.benchmarks.combining`).

Rule = Literal["partial", "simple"]
"""The variance of the mean over M copies of k rows from an original of n rows; v is the mean variance inside the copies.

partial : v + b / M, for copies that are independent given the original. One example is partially synthetic copies with
    parameters drawn from their posterior (Reiter 2003). Another example is separate runs of a generator with separate noise, as
    in a rehearsal, with k = n. Proof for runs: the variance of the mean is the variance v of the common estimate, plus 1/M of
    the variance of a copy, which b estimates.
simple : (k / n + 1 / M) v, for fully synthetic copies that are drawn from one fitted model, without posterior draws or noise:
    k v / n is the variance of the original's estimate, and v the variance of a copy about it (Raab, Nowok & Dibben 2017)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Combined:
    """The same k estimates from M synthetic copies, combined into one estimate each, with a variance.

    Attributes
    ----------
    n_copies : M, at least 2.
    estimate : (k,) q_bar = sum_m q_m / M, the estimate.
    within_variance : (k,) v_bar = sum_m v_m / M, mean of the variances inside the copies.
    between_variance : (k,) b = sum_m (q_m - q_bar)^2 / (M - 1), variance of the estimates across copies.
    rule : the kind of copies.
    size_ratio : rows of a copy over rows of the original. The rule "simple" uses it.
    """

    n_copies: int
    estimate: np.ndarray
    within_variance: np.ndarray
    between_variance: np.ndarray
    rule: Rule = "partial"
    size_ratio: float = 1.0

    @property
    def total_variance(self) -> np.ndarray:
        """Return the (k,) estimated variances of the combined estimates (`Rule` has the formulas)."""
        if self.rule == "simple":
            return (self.size_ratio + 1 / self.n_copies) * self.within_variance
        return self.between_variance / self.n_copies + self.within_variance

    @property
    def degrees_of_freedom(self) -> np.ndarray:
        """Return the (k,) degrees of freedom nu = (M - 1) (1 + 1 / r)^2, where r = (b / M) / v_bar.

        nu is infinite where b is 0, and for the rule "simple". The code computes the equal expression (M - 1) (T / (r
        v_bar))^2, with T the total variance, which needs no division by v_bar.
        """
        between = self.between_variance / self.n_copies * (self.rule == "partial")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            freedom = (self.n_copies - 1) * (self.total_variance / between) ** 2
        return np.where(between == 0, np.inf, freedom)

    def interval(self, confidence: float = 0.95) -> ConfidenceIntervals:
        return student_interval(self.estimate, self.total_variance, self.degrees_of_freedom, confidence)


def combine(estimates: np.ndarray, variances: np.ndarray, rule: Rule = "partial", size_ratio: float = 1.0) -> Combined:
    """Combine the estimates from M synthetic copies into one estimate with a variance.

    Parameters
    ----------
    estimates : (M, k) or (M,) q_m, such as regression coefficients.
    variances : same shape, v_m, their squared standard errors, each as if the copy were the original. NaN in one copy makes
        the results NaN.
    rule, size_ratio : the kind of copies, and k / n, rows of a copy over rows of the original.

    Notes
    -----
    A rule for another kind of copies gives intervals that are usually too short. For differentially private copies from
    **one** noisy measurement, such as a release, b does not contain the noise, so neither "partial" nor "simple" is right.
    For runs with separate noise (rehearsals), b contains the noise. No rule accounts for a bias of the generator; interval
    overlap in a rehearsal shows the bias.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, the slide that starts "Let Q = Q(D) be a target estimand", just before
    "Focusing on Complete Case" (the text has no page numbers); Reiter, Survey Methodology 29 (2003).
    """
    estimates, variances = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    return Combined(
        n_copies=len(estimates),
        estimate=estimates.mean(axis=0),
        within_variance=variances.mean(axis=0),
        between_variance=estimates.var(axis=0, ddof=1),
        rule=rule,
        size_ratio=size_ratio,
    )


# Propensity scores: how well a model can tell synthetic rows from original ones (pMSE).


@dataclass(frozen=True, kw_only=True)
class PropensityScore:
    """How well a model can tell the synthetic from the original rows, by the probabilities p that it fits to all N rows.

    With c the share of synthetic rows, p stays near c if the tables are alike.

    Attributes
    ----------
    pmse : sum_i (p_i - c)^2 / N, from 0 (the tables look alike) to c (1 - c), 1/4 for tables of equal size (every synthetic
        row is recognised).
    null_expectation : (k - 1) c (1 - c)^2 / N, the mean of pmse if the synthetic rows were drawn from the distribution of
        the original.
    n_parameters : k, independent parameters of the model with its intercept.
    """

    pmse: float
    null_expectation: float
    n_parameters: int

    @property
    def ratio(self) -> float:
        """Return the pMSE over its null expectation: about 1 if the rows are alike, NaN for a model of only an intercept."""
        return self.pmse / self.null_expectation if self.null_expectation > 0 else float("nan")


def propensity_score(public: PublicTable, copy: Counts) -> PropensityScore:
    """Measure how well a logistic regression on all columns can tell synthetic rows from original ones (pMSE).

    The model has an indicator for every bin, and the product of every two standardised columns with numbers. So it detects
    differences in single columns and in correlations.

    Notes
    -----
    In the source, the two tables have equal size, so c is 1/2. The null expectation is for rows that are drawn given the
    original, by resampling it or from a model that fits it. So only the sampling of these rows counts, which gives the
    factor 1 - c. The ratio is reliable if every bin has at least about five rows.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, slides on utility before "Analysis-specific measures", U_p (the text has no
    page numbers); null expectation: Snoke, Raab, Nowok, Dibben, Slavkovic, J. R. Statist. Soc. A 181 (2018).
    """
    public.check_copies([copy])
    design = StackedDesign.of(public, copy)
    total, n_parameters = int(design.rows.sum()), design.n_parameters
    share = copy.total / total
    return PropensityScore(
        pmse=float(design.rows @ (design.probabilities() - share) ** 2 / total),
        null_expectation=(n_parameters - 1) * share * (1 - share) ** 2 / total,
        n_parameters=n_parameters,
    )


# A regression on original and on synthetic data: how far confidence intervals overlap, and differences in standard errors.

# Smallest eigenvalue of the correlation matrix of the features at which the coefficients count as determined.
_LINEAR_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A fitted regression: (k,) estimates and standard errors, the intercept first; NaN where the rows do not determine
    them.
    """

    estimates: np.ndarray
    standard_errors: np.ndarray
    degrees_of_freedom: float

    @property
    def determined(self) -> bool:
        return bool(np.isfinite(self.estimates).all() and np.isfinite(self.standard_errors).all())

    def interval(self, confidence: float) -> ConfidenceIntervals:
        freedom = np.array(max(self.degrees_of_freedom, 1.0))
        return student_interval(self.estimates, self.standard_errors**2, freedom, confidence)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionComparison:
    """A linear regression, fitted to the original and to the synthetic data. All arrays are (k,), the intercept first.

    Attributes
    ----------
    original : the fit to the original, in units of the target per unit of a feature.
    estimates, standard_errors, interval : results for the synthetic data, combined over several copies.
    interval_overlap : at most 1, which is best; negative for disjoint intervals (`interval_overlap`).
    standardised_difference : |original - synthetic| / original standard error; 0 is best. Both are NaN when a copy does not
        determine the coefficient.
    """

    original: Line
    estimates: np.ndarray
    standard_errors: np.ndarray
    interval: ConfidenceIntervals
    interval_overlap: np.ndarray
    standardised_difference: np.ndarray


def standardised_difference(original: np.ndarray, synthetic: np.ndarray, original_se: np.ndarray) -> np.ndarray:
    """Return |beta_orig - beta_syn| / SE(beta_orig), or NaN if the standard error is 0.

    Source: Jiang (2025), Short Course on Data Privacy, slide "Analysis-specific measures for the estimand of interest",
    second (the text has no page numbers).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(original_se > 0, np.abs(original - synthetic) / original_se, np.nan)


_CONFIDENCE = 0.95


def compare_regressions(
    public: PublicTable, copies: Sequence[Counts], *, target: str, features: Sequence[str], rule: Rule = "partial"
) -> RegressionComparison:
    """Fit the linear regression of `target` on `features` to the original and to M synthetic copies, and compare
    coefficients.

    Every column has the representative values of its bins. With two or more copies, the synthetic interval follows the
    combining rules (`combine`). With one copy, it is the interval of this copy.

    Raises
    ------
    ValueError : for unknown or repeated columns, if a bin has no representative value, if a copy has other bins than the
        original, or if the original does not determine the coefficients.
    """
    public.check_copies(copies)
    public.indices("target and features", (target, *features))

    original = fit_line(public, public.counts, target, features)
    if not original.determined:
        raise ValueError(
            "regression: the public rows do not determine every coefficient. Use more rows than coefficients, and no feature "
            "that is constant or a linear function of the other features."
        )
    lines = [fit_line(public, copy, target, features) for copy in copies]
    if len(lines) > 1:
        combined = combine(
            np.array([line.estimates for line in lines]),
            np.array([line.standard_errors**2 for line in lines]),
            rule,
            float(np.mean([copy.total for copy in copies])) / public.n,
        )
        estimates, errors = combined.estimate, np.sqrt(combined.total_variance)
        interval = combined.interval(_CONFIDENCE)
    else:
        estimates, errors, interval = lines[0].estimates, lines[0].standard_errors, lines[0].interval(_CONFIDENCE)
    return RegressionComparison(
        original=original,
        estimates=estimates,
        standard_errors=errors,
        interval=interval,
        interval_overlap=interval_overlap(original.interval(_CONFIDENCE), interval),
        standardised_difference=standardised_difference(original.estimates, estimates, original.standard_errors),
    )


def fit_line(public: PublicTable, table: Counts, target: str, features: Sequence[str]) -> Line:
    """Fit ordinary least squares to the rows of a table of counts in which no column of the regression is missing.

    beta = (X'WX)^-1 X'Wy, s^2 = sum_c w_c (y_c - x_c beta)^2 / (n - k), SE^2 = s^2 diag (X'WX)^-1, with W the counts and n
    their sum. Features are centred and scaled first, so that large numbers cause no rounding errors.

    Returns
    -------
    A fit of NaN if n <= k, or if a feature is constant or a linear function of the other features.
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
    # for a constant feature, rounding of the mean may leave a small number instead of 0
    if (spreads <= 1e-12 * np.abs(design).max(axis=0)).any():
        return nothing
    standard = (design - means) / spreads
    correlations = standard.T @ (standard * weights[:, None]) / n
    if not np.linalg.eigvalsh(correlations)[0] > _LINEAR_RANK_TOLERANCE:
        return nothing
    inverse = np.linalg.inv(correlations)
    slopes = inverse @ (standard.T @ (weights * (response - response_mean)) / n)
    residuals = response - response_mean - standard @ slopes
    variance = float(weights @ residuals**2) / (n - k)
    at_zero = means / spreads  # the intercept is the value of the line at x = 0; distance of 0 from the means, in spreads
    intercept_variance = variance / n * (1 + at_zero @ inverse @ at_zero)
    return Line(
        estimates=np.array([response_mean - at_zero @ slopes, *(slopes / spreads)]),
        standard_errors=np.sqrt([intercept_variance, *(variance / n * np.diag(inverse) / spreads**2)]),
        degrees_of_freedom=n - k,
    )


def utility_figures(
    public: PublicTable,
    copies: Sequence[Counts],
    *,
    target: str | None = None,
    features: Sequence[str] = (),
    rule: Rule = "partial",
) -> dict[str, float]:
    """Return utility statistics of M >= 1 synthetic copies, by name, as means over the copies and the slopes of a
    regression.

    pmse is best at 0 and worst at 1/4, its ratio about 1 for rows drawn from the original; overlaps are at most 1.
    Statistics of a regression that the public table does not determine are missing; those that a copy does not determine
    are NaN.

    Parameters
    ----------
    target, features : columns of the linear regression, or None if there is no regression.
    rule : the combining rule of this kind of copies.

    Privacy
    -------
    There is no protection: the statistics are exact functions of the original. Therefore the original must be a
    `PublicTable`.
    """
    scores = [propensity_score(public, copy) for copy in copies]
    figures = {"pmse": _mean([score.pmse for score in scores]), "pmse_ratio": _mean([score.ratio for score in scores])}
    if target is not None:
        with suppress(ValueError):
            regressions = compare_regressions(public, copies, target=target, features=features, rule=rule)
            slopes = slice(1, None)  # the intercept is seldom of interest
            figures["mean_interval_overlap"] = _mean(regressions.interval_overlap[slopes].tolist())
            figures["mean_standardised_difference"] = _mean(regressions.standardised_difference[slopes].tolist())
    return figures


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


# Utility and risk of the shortlisted configurations: several synthetic copies of the public table, compared without noise.


def check_known(option: str, names: Sequence[str], names_known: Sequence[str]) -> None:
    """Raise InputError for the first unknown name of an option."""
    for name in names:
        if name not in names_known:
            guess = closest(name, names_known)
            meant = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(f"{option}: {name!r} is not one of {listing(names_known)}.{meant}")


@dataclass(frozen=True, kw_only=True)
class CopyComparison:
    """The analyses by which synthetic copies are compared with the original.

    Attributes
    ----------
    copies : number of synthetic tables per configuration, at least 2 for the combining rules.
    target, features : columns of the linear regression, or None and ().
    quasi_identifiers : the columns that an intruder is assumed to know.
    """

    copies: int
    target: str | None
    features: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]

    @classmethod
    def of(cls, spec: ReleaseSpec, copies: int, quasi_identifiers: Sequence[str] | None) -> CopyComparison:
        """Return the analyses that follow from the acceptance criteria.

        By default, an intruder knows every column except the target of the regression.

        Raises
        ------
        InputError : for a quasi-identifier that is no column.
        """
        fitted = next((criterion for criterion in spec.criteria if isinstance(criterion, RegressionCoefficients)), None)
        names = spec.schema.names
        check_known("--quasi-identifiers", quasi_identifiers or (), names)
        target = fitted.target if fitted else None
        return cls(
            copies=copies,
            target=target,
            features=fitted.features if fitted else (),
            quasi_identifiers=tuple(quasi_identifiers or (name for name in names if name != target)),
        )


@dataclass(frozen=True, kw_only=True)
class CopyFigures:
    """Utility and risk statistics of one configuration's copies, by name; empty if a copy could not be made."""

    configuration: int
    utility: dict[str, float]
    risk: dict[str, float]


def copy_figures(trials: Trials, index: int, comparison: CopyComparison) -> CopyFigures:
    entropies = (SeededEntropy(trials.seed, 2, index, number) for number in range(comparison.copies))
    try:
        copies = [trials.candidate(index, entropy).counts for entropy in entropies]
    except RejectedRound:
        return CopyFigures(configuration=index, utility={}, risk={})
    utility, risk = compared(trials.counts, trials.spec.space[index], copies, comparison)
    return CopyFigures(configuration=index, utility=utility, risk=risk)


def compared(
    counts: Counts, configuration: Configuration, copies: Sequence[Counts], comparison: CopyComparison, rule: Rule = "partial"
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the utility and the risk statistics of synthetic copies, compared with the original in a configuration's bins.

    `counts` are the public rows over atomic cells.
    """
    transformation = configuration.transformation
    original = PublicTable(
        counts=counts.merge(transformation.layout, transformation.maps),
        transformation=transformation,
        public_because="the file was given to `synthrelease rehearse`, which is for public data",
    )
    risk = risk_report(original, copies, quasi_identifiers=comparison.quasi_identifiers)
    utility = utility_figures(original, copies, target=comparison.target, features=comparison.features, rule=rule)
    return utility, risk
