"""Linear regression: distance of the coefficients by one Newton step from the synthetic line.

Theory 3.4, one-step regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.functional_mechanism import LinearModel, least_squares
from synthrelease.criteria.intervals import Interval, linear
from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.criteria.records import Records, StandardUnits, public_axes
from synthrelease.criteria.wording import what_counts, words
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import rejecting
from synthrelease.privacy.charges import Charge, mechanism

_MOST_DIRECTIONS = 64
"""In which the distance to the threshold is counted in records; with more the figure's sensitivity decides."""

_SINGULAR = 1e-9
"""Smallest eigenvalue of the synthetic correlation matrix with which a line is taken to be determined."""


class RegressionOneStep(RegressionCoefficients):
    """|| A_S^-1 X'r / m ||_1 over the slopes, with r = y - clip(X w(S)) for the private records; m are the synthetic ones.

    Records that lack one of the columns are left out, of both tables; without such records m = n.

    X are the private features in standard units of S, with an intercept; A_S = X_S'X_S / m is public. One Newton step from
    w(S) leads to w(R) when A_R = A_S, so the figure is the distance of the slopes up to the difference of the two A, which the
    marginal criteria bound. One scalar with little noise takes the place of a whole private line.

    Attributes
    ----------
    range : [lowest, highest]; predictions are clipped to it, which bounds the residuals. Example: `range = [1400, 4600]`.
    fit : always "once", and may be left out: no line is fitted in a round. Example: `fit = "once"`.
    fit_epsilon : budget of a private line fitted once before the loop, for a criterion of prediction errors; left out, none is
        fitted. Example: `fit_epsilon = 0.2`.
    line : "measurements" takes the line for a criterion of prediction errors from the shared measurements, at no cost, in place
        of a private one; pairs of columns that no table has count as uncorrelated. Example: `line = "measurements"`.

    Privacy
    -------
    With v(z) = A_S^-1 x(z) r(z), public for every possible record z, the figure is || sum_z v(z) ||_1 / m over the records:
    replacing one moves it by at most 2 max_z || v(z) ||_1 / m (slopes only), over the records that the public rules allow; a
    record that lacks a column adds 0. m is a number of synthetic rows, so public. A record's share v(z) is public: computed
    from S alone, once for all cells, before the counts are looked at. Products with counts are off by 2^-52 of themselves at
    most, and their sums are correctly rounded in whatever order (math.fsum), as are the sum over the slopes and the quotient:
    by 5 n 2^-53 max || v ||_1 / m in all, less than 3 n 2^-53 of the sensitivity. That is below a quarter of a grid step for n
    up to 2^40, which is above 8 n 2^-53 of it (`laplace_figure`).

    Examples
    --------
    >>> judged = RegressionOneStep(
    ...     kind="regression_one_step", name="line", threshold=0.1, epsilon="0.4", target="income",
    ...     features=["age"], representation={"income": "fine", "age": "fine"}, range=[0, 900]
    ... )
    >>> judged.charge.epsilon
    Fraction(2, 5)
    """

    figure_gets_noise: ClassVar[bool] = True
    no_sensitivity: ClassVar[str] = (
        "It follows from the released table where the representation of every column is what was released; of other bins a "
        "bundle holds the name alone."
    )
    no_measured_bound: ClassVar[str] = "Residuals are of clipped predictions, which tables of two columns do not determine."
    no_draft: ClassVar[str] = ""
    kind: Literal["regression_one_step"]  # type: ignore[assignment]
    range: tuple[float, float]
    fit: Literal["once"] = "once"
    fit_epsilon: Fraction | None = Field(default=None, gt=0)
    line: Literal["measurements"] | None = None

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft]:
        """The line of the column of numbers that hangs together most with others, on up to three of these that are numbers.

        It is that of the file; or, where bins of the features are too wide for that, the file's on their bins.
        """
        for column in file.outcomes[:1]:
            features = file.numeric_partners(column, 3)
            low, high = column.line_range
            if not features:
                continue
            settings = {
                "kind": "regression_one_step",
                "target": column.name,
                "features": [other.name for other in features],
                "representation": {other.name: other.alternative for other in [column, *features]},
            }
            ranges = {other.name: list(other.line_range) for other in [*features, column]}
            rest = {
                "ranges": ranges,
                "range": [low, high],
                "threshold": float(f"{(high - low) * 0.1:.2g}"),
                "epsilon": Fraction(1, 100),
            }
            remark = (
                "the sum of the errors of the regression coefficients, per standard deviation of each feature; values beyond "
                "`ranges` count as their ends"
            )
            name = f"line of {column.name}"[:80]
            yield CriterionDraft(settings={"name": name, **settings, **rest}, remark=remark)
            yield CriterionDraft(
                settings={
                    "name": f"line on the bins for {column.name}"[:80],
                    **settings,
                    "values": "own target",
                    **rest,
                },
                remark=remark,
                in_place_of=name,
            )

    @model_validator(mode="after")
    def _increasing(self) -> RegressionOneStep:
        if not self.range[0] < self.range[1]:
            raise ValueError("range must be [lowest, highest] with lowest < highest")
        if self.line is not None and self.fit_epsilon is not None:
            raise ValueError('fit_epsilon pays for a private line, and line = "measurements" takes another: name one of them')
        return self

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "Laplace mechanism")

    @property
    def fit_charge(self) -> Charge | None:
        if self.fit_epsilon is None:
            return None
        because = "functional mechanism, joint form (Zhang et al. 2012)"
        return mechanism(f"private line: {self.name}", self.fit_epsilon, because)

    def per_score(self) -> tuple[Charge, ...]:
        return (self.charge,)

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        yield from super().mistakes(setting, others)
        if self.prior is not None and self.fit_epsilon is None:
            yield Mistake(field="prior", expected="no prior without fit_epsilon: nothing is fitted", found="a prior")

    @property
    def measured_line(self) -> bool:
        return self.line is not None

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "How far one Newton step on the original records moves the coefficients of the linear regression of "
            f"{words(self.target)} on {', '.join(map(words, self.features))} that was fitted on the released rows: the sum of "
            "the absolute differences, per standard deviation of each feature. Where released and original records agree in "
            "the spread and the correlation of the features, this is the distance between the coefficients of the two"
            f"{what_counts(self.values, self.ranges, self.columns, facts)}."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """From A_S, the residuals and what the raw rules allow, all on the released bins."""
        columns = [facts.by_name[name] for name in self.columns]
        if any(column.binning != self.representation[column.name] for column in columns):
            return None
        possible = facts.of_values(facts.possible(self.columns), self.columns)
        numbers, limits = public_axes(columns, self.ranges, self.own_values_of)
        from synthrelease.criteria.records.mechanism import records_of_cells

        released = records_of_cells(facts.of_values(facts.cells(self.columns), self.columns), numbers)
        return _Step.of(released, self.range).sensitivity(limits, possible)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:  # type: ignore[override]
        from synthrelease.criteria.records.mechanism import distance_of_steps, released_records, slack_of_steps

        possible, columns = fitted.regression(self.name).possible, self.regression_columns(setting)
        step = _Step.of(released_records(candidate.counts, columns, candidate.transformation), self.range)

        sensitivity = step.sensitivity(columns.limits, possible)
        figure = partial(distance_of_steps, columns=columns, transformation=candidate.transformation, step=step)
        slack = partial(
            slack_of_steps,
            columns=columns,
            transformation=candidate.transformation,
            step=step,
            threshold=self.threshold,
            sensitivity=sensitivity,
            farthest=step.farthest(columns.limits, possible),
        )
        return Query(sensitivity=sensitivity, figure=figure, slack=slack, void=step.void)


@dataclass(frozen=True, kw_only=True)
class _Step:
    """What a record adds to the step, from the synthetic table alone.

    Attributes
    ----------
    line : of S; its predictions are clipped to `allowed`.
    units : of the features in S.
    inverse : (d, d) A_S^-1 of the features in standard units.
    rows : m, the synthetic records with all columns.
    void : whether they determine no line.
    """

    line: LinearModel
    units: StandardUnits
    inverse: np.ndarray
    allowed: tuple[float, float]
    rows: int
    void: bool

    @classmethod
    def of(cls, released: Records, allowed: tuple[float, float]) -> _Step:
        """From the rows of S, and the range that predictions are clipped to."""
        from synthrelease.criteria.records.mechanism import in_units

        line, spreads = least_squares(released)
        features = released.values[:, :-1]
        weights = released.counts / max(1, released.rows)
        units = StandardUnits.of(weights @ features, spreads)
        standard = in_units(features, units)
        products = (standard * weights[:, None]).T @ standard
        with rejecting(np.linalg.LinAlgError, because="the moments of the candidate have no eigenvalues"):
            void = not np.linalg.eigvalsh(products)[0] > _SINGULAR
            inverse = np.linalg.pinv(products, hermitian=True)  # the intercept is orthogonal to centred features
        return cls(
            line=line,
            units=units,
            inverse=inverse,
            allowed=allowed,
            rows=max(1, released.rows),
            void=void,
        )

    def sensitivity(self, limits: Sequence[Interval], possible: np.ndarray) -> float:
        """2 max || v(z) ||_1 / m, or more, over the records that the raw rules allow.

        The steps of `mechanism.steps_of_records` on intervals: no record of a cell adds more than the cell's bound, rounding
        included.

        Parameters
        ----------
        limits : per feature, and last for the target, (n_bins,) the values that records of each bin can have.
        possible : (n_cells,) False where the rules exclude every record of the cell; the target's bins vary fastest.
        """
        parts = self.units.of_limits(limits[:-1])
        steps = sum(linear(0.0, parts, slopes).furthest for slopes in self.inverse.T.tolist())
        widest = 2 * float((np.ravel(steps) * self._residuals(limits, possible).furthest).max())
        # without spread in S the figure is 0 and needs no noise; a little is added, because scale 0 cannot be drawn
        return max(widest, (self.allowed[1] - self.allowed[0]) * 2.0**-20) / self.rows

    def farthest(self, limits: Sequence[Interval], possible: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """In each of the 2^d directions of (d,) signs the largest sum over slopes of sign * v(z), and 0, over the same records.

        By the steps of `mechanism.replaced_before` on intervals. Empty for too many directions.
        """
        d = len(limits) - 1
        if 2**d > _MOST_DIRECTIONS:
            return []
        parts, residuals = self.units.of_limits(limits[:-1]), self._residuals(limits, possible)
        found = []
        for signs in product((1.0, -1.0), repeat=d):
            direction = np.array(signs)
            steps = linear(0.0, parts, (self.inverse @ direction).tolist())
            along = Interval(np.ravel(steps.low), np.ravel(steps.high)) * residuals
            found.append((direction, max(0.0, float(along.high.max()))))
        return found

    def _residuals(self, limits: Sequence[Interval], possible: np.ndarray) -> Interval:
        """(n,) the lowest and the highest residual of records of each cell of the features, 0 where the rules allow none."""
        *features, target = limits
        predictions = linear(self.line.intercept, features, self.line.coefficients.tolist()).clipped(*self.allowed)
        shape = (-1, len(target.low))
        column = Interval(predictions.low.reshape(-1, 1), predictions.high.reshape(-1, 1))
        found, allowed = target - column, possible.reshape(shape)
        low = np.where(allowed, found.low, np.inf).min(axis=1)
        high = np.where(allowed, found.high, -np.inf).max(axis=1)
        some = allowed.any(axis=1)
        return Interval(np.where(some, low, 0.0), np.where(some, high, 0.0))
