"""Define the criterion logistic regression: the largest change of a released coefficient by one Newton step on the original
records.

Theory 3.13, one-step logistic regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import condition, representation_mistakes, unknown_columns
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, Offender, PublicCounts, PublicFacts, Query, in_words, what_counts, words
from synthrelease.criteria.facts import figure as number
from synthrelease.criteria.records import (
    Finite,
    Interval,
    LogisticStep,
    NewtonResult,
    Records,
    RegressionColumns,
    StandardUnits,
    check_ranges,
    linear,
    maximum,
    public_axes,
)
from synthrelease.data.schema import Binning, Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected, listing
from synthrelease.settings.base import KEYS, AboutColumn, AmongColumns, Mistake

# Coefficients count as determined if every eigenvalue of the mean information matrix, in standard units, is above this
# number.
_SINGULAR = 1e-6

_MOST_STEPS = 60

_SMALLEST = 2.0**-20  # Lower limit of the sensitivity times the number of rows. Noise of scale 0 cannot be drawn.


class LogisticRegression(Criterion):
    """The largest error of a slope of a logistic regression, approximated by one Newton step from the regression on the
    released rows, in log odds per standard deviation of the feature. The value is the largest |sum of v_j(z) over the
    private records z| / m over the slopes j, where v(z) = H^-1 x(z) (y(z) - mu(x)) and m is the number of released rows
    that have all the columns.

    y is 1 for the bins of `positive` and 0 otherwise. x is the vector of the features in standard units of the candidate S,
    with an intercept. mu(x) is the probability of the logistic regression fitted on S, and H = sum mu (1 - mu) x x' / m is
    the mean information of S. The step equals the difference of the two fits up to second order, and up to the difference
    between the matrices H of the two tables, which the marginal criteria bound. So one value with little noise replaces a
    noisy private fit.

    A value of 0.1 means that an odds ratio per standard deviation has a relative error of about a tenth. Unlike standard
    errors, this unit does not depend on the number of rows. The largest change counts, because readers look at each odds
    ratio separately.

    Privacy
    -------
    v(z) is a function of S and of the record's cell, and is 0 for a record that lacks one of the columns. Replacing a
    record moves the sum of v_j by at most max_z v_j - min_z v_j, over 0 and the records that the public rules allow. So the
    sensitivity is max_j (max v_j - min v_j) / m. m is public. The term of a record is computed once for all cells, before
    the counts are read. Its products with counts have relative errors of at most 2^-52. The sums of these products are
    correctly rounded in any order (math.fsum), and the quotient is rounded once. The error of the criterion value is at
    most 4 n 2^-53 max |v_j| / m in all. The sensitivity is at least max |v_j| / m, and a quarter of a grid step is above 8
    n 2^-53 of it for n up to 2^40 (`laplace_figure`).

    Attributes
    ----------
    target : the dependent variable, a column. Example: `target = "hospital"`.
    positive : the labels of the bins of the target that count as 1; all others count as 0. Example: `positive = ["yes"]`.
    features : the explanatory variables, a list of columns. Example: `features = ["age", "children"]`.
    representation : for the target and each feature, the alternative whose representative values stand for the released
        rows. Each bin of every other alternative must lie in one of its bins. Example: `representation = { hospital =
        "categories", age = "five_years", children = "single" }`.
    values : "own" uses the exact values of private features, on the grids of the columns (`step`). "bins" uses the
        representative values of the released bins. Example: `values = "bins"`.
    ranges : for some of the features, the lowest and the highest value, to which values are clipped. The default is the
        bounds of the column. Example: `ranges = { age = [18, 80] }`.

    Examples
    --------
    >>> judged = LogisticRegression(
    ...     kind="logistic_regression", name="odds", threshold=0.1, epsilon="0.01", target="hospital",
    ...     positive=["yes"], features=["age"], representation={"hospital": "all", "age": "fine"}
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_measured_bound: ClassVar[str] = "A residual depends on all columns of a record, which tables of two columns do not show."
    kind: Literal["logistic_regression"]
    target: AboutColumn
    positive: tuple[str, ...] = Field(min_length=1)
    features: AmongColumns = Field(min_length=1, max_length=50)
    representation: Annotated[Mapping[str, str], KEYS]
    values: Literal["own", "bins"] = "own"
    ranges: Annotated[Mapping[str, tuple[Finite, Finite]], KEYS] = Field(default_factory=dict)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.records_mechanism import largest_logistic_step, released_records

        columns = self.regression_columns(setting, candidate.transformation)
        steps = _Steps.of(released_records(candidate.counts, columns))
        figure = partial(largest_logistic_step, columns=columns, step=steps)
        possible = setting.possible(self.columns, columns.wanted)
        return Query(sensitivity=steps.sensitivity(columns.limits, possible), figure=figure, void=steps.void)

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return self.features if self.values == "own" else ()

    def contradictions(self) -> Iterator[str | Unexpected]:
        if len(set(self.columns)) != len(self.columns):
            yield "The target and the features must be different columns"
        check_ranges(self.ranges, self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features, self.target)

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        schema = setting.schema
        wrong = [*unknown_columns(schema, "target", [self.target]), *unknown_columns(schema, "features", self.features)]
        wrong = wrong or [*representation_mistakes(setting, self.columns, self.representation, self.features)]
        if wrong:
            return wrong
        target = self.binnings(setting)[-1]
        labels_of_values = target.labels[: target.present]
        if not set(self.positive) < set(labels_of_values):
            problem = f"Name some of the values of {self.target!r}, but not all: {listing(labels_of_values)}"
            return [Mistake("positive", f"{problem}. `positive` names {listing(self.positive)}")]
        return []

    def binnings(self, setting: Setting) -> tuple[Binning, ...]:
        return tuple(setting.schema[name].alternatives[self.representation[name]] for name in self.columns)

    def regression_columns(self, setting: Setting, transformation: Transformation) -> RegressionColumns:
        """Return the columns of the regression, with the numbers that stand for original and released values."""
        binnings = self.binnings(setting)
        return RegressionColumns(
            transformation=transformation,
            names=self.columns,
            wanted=binnings,
            ranges=self.ranges,
            own=self.own_values_of,
            outcome=condition(binnings[-1], None, self.positive)[: binnings[-1].present].astype(float),
        )


class _Steps(LogisticStep):
    """The Newton step of a logistic regression, from the synthetic table alone.

    `inverse` is the (d + 1, d + 1) matrix H^-1, where H is the mean information of the released rows.
    """

    @classmethod
    def of(cls, released: Records) -> _Steps:
        """Compute the step from the released rows, whose target is 1 for the positive bins and 0 otherwise."""
        from synthrelease.criteria.records_mechanism import in_units

        features, outcome = released.values[:, :-1], released.values[:, -1]
        weights = released.counts / max(1, released.rows)
        centres = weights @ features
        units = StandardUnits.of(centres, np.sqrt(weights @ (features - centres) ** 2))
        standard = np.column_stack([np.ones(len(features)), in_units(features, units)])
        fit, size = _fit(standard, weights, weights * outcome), standard.shape[1]
        return cls(
            units=units,
            coefficients=np.zeros(size) if fit is None else fit.at,
            inverse=np.zeros((size, size)) if fit is None else np.linalg.inv(fit.information),
            rows=max(1, released.rows),
            void=fit is None,
        )

    @property
    def slopes(self) -> np.ndarray:
        return self.coefficients[1:]

    def sensitivity(self, limits: Sequence[Interval], possible: np.ndarray) -> float:
        """Return an upper limit on the sensitivity of the criterion value.

        A record z adds v_j(z) / m to slope j, where m is the number of released rows. The limit is the largest (max v_j -
        min v_j) / m of a slope, over the records that the rules for private rows allow, and over 0 for records that add
        nothing.

        The operations of `records_mechanism.logistic_steps_of_records` are applied to intervals, with a margin for the
        rounding of the exponential.

        Parameters
        ----------
        limits : for each feature and then the outcome, the (n_bins,) intervals of values in each bin.
        possible : an (n_cells,) mask, False where the rules exclude every record of the cell; the target's bins vary
            fastest.
        """
        from synthrelease.criteria.records_mechanism import probability

        *features, outcome = limits
        parts = self.units.of_limits(features)
        start, *slopes = self.coefficients.tolist()
        scores, room = linear(start, parts, slopes).outer(), 2.0**-40
        probabilities = Interval(probability(scores.low) * (1 - room), probability(scores.high) * (1 + room))
        residuals, widest = outcome - probabilities, 0.0
        for first, *rest in self.inverse.T.tolist()[1:]:
            shares = linear(first, parts, rest).outer() * residuals
            low, high = (np.where(possible, end.ravel(), 0.0) for end in (shares.low, shares.high))
            widest = max(widest, max(float(high.max()), 0.0) - min(float(low.min()), 0.0))
        return max(widest, _SMALLEST) / self.rows


def _fit(standard: np.ndarray, weights: np.ndarray, hits: np.ndarray) -> NewtonResult | None:
    """Return the maximum of the log likelihood per row, or None if the rows do not determine one.

    Parameters
    ----------
    standard : (n, d + 1) a column of ones, followed by the features in standard units, for every combination of values.
    weights : (n,) the share of the rows with each combination.
    hits : (n,) the share of the rows with each combination and the outcome 1.
    """
    from synthrelease.criteria.records_mechanism import probability

    def likelihood(beta: np.ndarray) -> float:
        scores = standard @ beta
        return float(hits @ scores - weights @ np.logaddexp(0.0, scores))

    def derivatives(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probabilities = probability(standard @ beta)
        spread = weights * probabilities * (1 - probabilities)
        information = (standard * spread[:, None]).T @ standard
        if not np.linalg.eigvalsh(information)[0] > _SINGULAR:
            raise np.linalg.LinAlgError  # a feature without spread, or probabilities that converge to 0 and 1
        return standard.T @ (hits - weights * probabilities), information

    def small(step: np.ndarray, result: NewtonResult) -> bool:
        return bool(np.abs(step).max() < 1e-13 * max(1.0, float(np.abs(result.at).max())))

    fit = maximum(likelihood, derivatives, np.zeros(standard.shape[1]), small=small, most_steps=_MOST_STEPS)
    near = fit is not None and (fit.reached or np.abs(fit.gradient).max() < 1e-9)
    return fit if near else None


class LogisticRegressionExplained(Explanation[LogisticRegression]):
    """Explain a limit on the largest change of a coefficient of a logistic regression by one Newton step."""

    no_sensitivity: ClassVar[str] = (
        "The sensitivity follows from the released table if all columns are represented by their released bins. The files of a "
        "release contain no numbers of rows in other bins."
    )
    no_bounds: ClassVar[str] = "Coefficients give no limit on the error of single counts or means."

    def figure_unit(self, facts: PublicFacts) -> str:
        return "log odds"

    def guards(self, pair: LostPair) -> bool:
        return pair.is_one_of(self.about.target, self.about.features)

    def sentence(self, facts: PublicFacts) -> str:
        line = self.about
        return (
            f"First, the logistic regression of {words(line.target)} ({in_words(line.positive)}) on "
            f"{', '.join(map(words, line.features))} is fitted on the released rows. Then one Newton step is taken on the "
            "original records. The criterion value is the largest change of a coefficient, in log odds per standard deviation "
            "of a feature. Only rows with all these columns count. If the features vary equally in released and original "
            "records, a small change is the difference between the two coefficients"
            f"{what_counts(line.values, line.ranges, line.features, facts)}."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """Return the sensitivity, from the fit on the released table and the combinations of bins that the rules for
        private rows allow. None if the regression uses other bins than the released ones.
        """
        columns = [facts.by_name[name] for name in self.about.columns]
        if any(column.binning != self.about.representation[column.name] for column in columns):
            return None
        outcome = np.isin(columns[-1].labels[: columns[-1].present], self.about.positive).astype(float)
        numbers, limits = public_axes(columns[:-1], self.about.ranges, self.about.own_values_of)
        cells, possible = (
            facts.of_values(entries, self.about.columns)
            for entries in (facts.cells(self.about.columns), facts.possible(self.about.columns))
        )
        from synthrelease.criteria.records_mechanism import records_of_cells

        released = records_of_cells(cells, [*numbers, outcome])
        return _Steps.of(released).sensitivity([*limits, Interval.exactly(outcome)], possible)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        from synthrelease.criteria.records_mechanism import logistic_steps, original_records, released_records

        columns = self.about.regression_columns(setting, candidate.transformation)
        steps = _Steps.of(released_records(candidate.counts, columns))
        changes = logistic_steps(original_records(public.counts, columns), steps)
        worst = max(range(len(changes)), key=lambda slope: abs(changes[slope]))
        released, step = float(steps.slopes[worst]), changes[worst]
        return Offender(
            where=f"{words(self.about.features[worst])}, log odds of {words(self.about.target)} per standard deviation",
            released=number(released, 3),
            original=f"{number(released + step, 3)} after one step",
        )
