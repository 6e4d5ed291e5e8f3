"""Linear regression: distance of the coefficients by one Newton step from the synthetic line.

Theory 3.4, one-step regression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.accounting.charges import Charge, mechanism
from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.functional_mechanism import Design, least_squares, sub_table
from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.criteria.wording import words
from synthrelease.domain.counts import Counts
from synthrelease.errors import rejecting

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
        """The line of the column of numbers that hangs together most with others, on up to three of these that are numbers."""
        for column in file.outcomes[:1]:
            features = file.numeric_partners(column, 3)
            limits = column.limits or (0.0, 1.0)
            if features:
                yield CriterionDraft(
                    settings={
                        "name": f"line of {column.name}"[:80],
                        "kind": "regression_one_step",
                        "target": column.name,
                        "features": [other.name for other in features],
                        "representation": {other.name: other.alternative for other in [column, *features]},
                        "range": [limits[0], limits[-1]],
                        "threshold": float(f"{(limits[-1] - limits[0]) * 0.1:.2g}"),
                        "epsilon": Fraction(1, 100),
                    },
                    remark="the sum of the errors of the regression coefficients, per standard deviation of each feature",
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
            "the spread and the correlation of the features, this is the distance between the coefficients of the two."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """From A_S, the residuals and what the raw rules allow, all on the released bins."""
        columns = [facts.by_name[name] for name in self.columns]
        if any(column.binning != self.representation[column.name] for column in columns):
            return None
        possible = facts.of_values(facts.possible(self.columns), self.columns)
        numbers = tuple(np.array(column.numbers[: column.present], dtype=float) for column in columns)
        design = Design.of(numbers, possible, self.public_prior())
        cells = facts.of_values(facts.cells(self.columns), self.columns)
        return _Step.of(design, cells, self.range).sensitivity(possible, self.range)

    def query(self, n: int, candidate: Candidate, setting: Setting, fitted: Fitted) -> Query:  # type: ignore[override]
        regression = fitted.regression(self.name)
        wanted = self.binnings(setting)
        present = tuple(candidate.transformation.binning(name) for name in self.columns)
        step = _Step.of(regression.design, sub_table(candidate.counts, self.columns, present, wanted), self.range)

        def figure(counts: Counts) -> float:
            table = sub_table(counts, self.columns, present, wanted).reshape(step.residuals.shape)
            rows, places = np.nonzero(table)
            shares = table[rows, places] * step.residuals[rows, places]
            return math.fsum(abs(math.fsum((shares * each[rows]).tolist())) for each in step.steps.T) / step.rows

        return Query(sensitivity=step.sensitivity(regression.possible, self.range), figure=figure, void=step.void)


@dataclass(frozen=True, kw_only=True)
class _Step:
    """What a record adds to the step, from the synthetic table alone.

    `steps` (feature combinations, d) are A_S^-1 x, `residuals` (feature combinations, target values); `rows` is m, the
    synthetic records with all columns; `void` where they determine no line.
    """

    steps: np.ndarray
    residuals: np.ndarray
    rows: int
    void: bool

    @classmethod
    def of(cls, design: Design, synthetic: np.ndarray, allowed: tuple[float, float]) -> _Step:
        """`synthetic` are the counts over the cells of the design, `allowed` the range that predictions are clipped to."""
        line, deviations = least_squares(design, synthetic)
        shape = (-1, len(design.numbers[-1]))  # (feature combinations, target values)
        features = design.cells(np.arange(0, synthetic.size, shape[1]))[0]
        rows = max(1, int(synthetic.sum()))
        weights = synthetic.reshape(shape).sum(axis=1) / rows
        standard = (features - weights @ features) / np.where(deviations > 0, deviations, 1.0)
        products = (standard * weights[:, None]).T @ standard
        with rejecting(np.linalg.LinAlgError, because="the moments of the candidate have no eigenvalues"):
            void = not np.linalg.eigvalsh(products)[0] > _SINGULAR
            steps = standard @ np.linalg.pinv(products, hermitian=True)  # the intercept is orthogonal to centred features
        predictions = np.clip(line.intercept + features @ line.coefficients, *allowed)
        return cls(steps=steps, residuals=design.numbers[-1] - predictions[:, None], rows=rows, void=void)

    def sensitivity(self, possible: np.ndarray, allowed: tuple[float, float]) -> float:
        """2 max || v(z) ||_1 / m over the records that the raw rules allow."""
        largest = np.where(possible.reshape(self.residuals.shape), np.abs(self.residuals), 0.0).max(axis=1)
        widest = 2 * float((np.abs(self.steps).sum(axis=1) * largest).max())
        # without spread in S the figure is 0 and needs no noise; a little is added, because scale 0 cannot be drawn
        return max(widest, (allowed[1] - allowed[0]) * 2.0**-20) / self.rows
