"""Linear regression: distance of the prediction errors (paper 4.5.4; theory 3.5, regression prediction)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.functional_mechanism import LinearModel, least_squares
from synthrelease.criteria.intervals import Interval, linear
from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.criteria.wording import shown
from synthrelease.data.layout import Layout
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import closest, listing
from synthrelease.privacy.grids import grid_bits


class RegressionPrediction(Criterion):
    """|MAE_R(w_eps(R)) - MAE_R(w(S))|, predictions and values clipped to `range` (train on synthetic, test on real).

    Records that lack one of the columns are left out. The mean is taken over m, the number of synthetic rows that have them
    all: the private number is not public; without such records m = n.

    Attributes
    ----------
    coefficients : the name of the criterion whose private fit w_eps(R) is used; it stands before this one.
        Example: `coefficients = "regression coefficients"`.
    range : [lowest, highest]; predictions are clipped to it, and values of the target. The noise grows with its width.
        Example: `range = [1400, 4600]`.
    bound : "range" takes the sensitivity of the paper; "lines" the smaller one that follows from the two lines.
        Example: `bound = "lines"`.

    Privacy
    -------
    Both lines are public. The figure is |sum of a gap over the records| / m, where the gap of a record is the difference of its
    two absolute errors: sensitivity (largest - smallest gap) / m over the records that the public rules allow, and 0 among them
    where a record can lack a column ("lines"; theory 3.5, regression prediction). The gaps lie in [-(U - L), U - L], so 2 (U -
    L) / m always holds ("range"; Proposition 9). A record's gap is public, computed from both lines before the counts are
    looked at; its products with counts are off by 2^-53 of themselves and their sum is correctly rounded in whatever order
    (math.fsum). So the figure is off by less than n 2^-51 / m of the largest gap: less than a quarter of a grid step, because
    the sensitivity is at least n 2^(b - 47) / m of that gap, and a step above 2^-(b + 1) of the sensitivity (`grid_bits`).

    Examples
    --------
    >>> judged = RegressionPrediction(
    ...     kind="regression_prediction", name="errors", threshold=5, epsilon="0.01",
    ...     coefficients="line", range=[0, 900]
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_sensitivity: ClassVar[str] = (
        'With bound = "lines" it follows from the two lines, of which a bundle holds the released one alone.'
    )
    no_bounds: ClassVar[str] = "A difference of mean errors of two lines says nothing about single counts or means."
    no_measured_bound: ClassVar[str] = "Absolute errors are of whole records, which tables of two columns do not determine."
    no_draft: ClassVar[str] = "It needs the private line of another criterion, which is not drafted either."
    no_offender: ClassVar[str] = "It is one mean over all rows."
    kind: Literal["regression_prediction"]
    coefficients: str
    range: tuple[float, float]
    bound: Literal["range", "lines"] = "range"

    def figure_unit(self, facts: PublicFacts) -> str:
        partner = facts.criteria.get(self.coefficients)
        return facts.unit(partner.target) if isinstance(partner, RegressionCoefficients) else ""

    def sentence(self, facts: PublicFacts) -> str:
        low, high = self.range
        partner = facts.criteria.get(self.coefficients)
        measured = isinstance(partner, RegressionCoefficients) and partner.measured_line
        theirs = "the noisy tables give" if measured else "was fitted, with noise, on the original ones"
        return (
            "On the original records, the difference between the mean absolute errors of two linear predictions: by the line "
            f"that was fitted on the released rows and by the line that {theirs}. "
            f"Predictions and values are limited to {shown(low)} to {shown(high)}."
        )

    def effort(self, layout: Layout, n: int) -> float:
        """The rows are counted by the cells of the regression of another criterion: all of them, at most."""
        return float(min(n, layout.n_cells)) * len(layout.sizes)

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        partner, rows = facts.criteria.get(self.coefficients), facts.n
        if isinstance(partner, RegressionCoefficients):
            rows = max(1, facts.rows_with_values(partner.columns))
        elif any(column.missing is not None for column in facts.columns):
            return None
        return 2 * (self.range[1] - self.range[0]) / rows if self.bound == "range" else None

    @model_validator(mode="after")
    def _increasing(self) -> RegressionPrediction:
        if not self.range[0] < self.range[1]:
            raise ValueError("range must be [lowest, highest] with lowest < highest")
        return self

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        lines = {name: other for name, other in others.items() if isinstance(other, RegressionCoefficients)}
        known = [name for name, other in lines.items() if other.fit_charge or other.measured_line]
        if self.coefficients not in known:
            yield Mistake(
                field="coefficients",
                expected="the name of an earlier criterion with a line: regression_coefficients, or "
                f"regression_one_step with fit_epsilon or line ({listing(known) or 'there is none'})",
                found=repr(self.coefficients),
                suggestion=closest(self.coefficients, known),
            )
            return
        partner = _coefficients(others, self.coefficients)
        numbers = partner.regression_columns(setting).numbers[-1]
        if not self.range[0] <= numbers.min() <= numbers.max() <= self.range[1]:
            yield Mistake(
                field="range",
                expected=f"a range that holds every number of the target ({numbers.min():.15g} to {numbers.max():.15g})",
                found=str(list(self.range)),
            )

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.records.mechanism import difference_of_mean_errors, released_records

        partner = _coefficients(setting.criteria, self.coefficients)
        lowest, highest = self.range
        columns, transformation = partner.regression_columns(setting), candidate.transformation
        regression = fitted.regression(self.coefficients)
        released = released_records(candidate.counts, columns, transformation)
        lines, rows = (regression.fitted, least_squares(released)[0]), released.rows

        figure = partial(
            difference_of_mean_errors,
            columns=columns,
            transformation=transformation,
            lines=lines,
            allowed=self.range,
            rows=max(1, rows),
        )
        widest = 2 * (highest - lowest)
        if self.bound == "lines":
            gaps = _gaps(columns.limits, lines, self.range)
            least, most = (np.append(end[regression.possible], [0.0] if regression.design.counted else []) for end in gaps)
            # equal lines would need no noise at all; a little is added, because noise of scale 0 cannot be drawn, and enough of
            # it to cover the rounding of a sum of large gaps that hardly differ
            room = 2.0 ** (grid_bits(n) - 47)
            furthest = max(float(np.abs(least).max()), float(np.abs(most).max()))
            widest = max(float(most.max() - least.min()), widest * 2.0**-20, n * furthest * room)
        return Query(sensitivity=widest / max(1, rows), figure=figure, void=not rows)


def _gaps(
    limits: Sequence[Interval], lines: tuple[LinearModel, LinearModel], allowed: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """(n_cells,) the lowest and highest difference of a record's absolute errors by two lines, or what is beyond them.

    By the steps of `mechanism.absolute_errors` on intervals; and the difference is at most that of the two predictions, which
    are further apart before they are clipped.
    """
    *features, target = limits
    predictions = [linear(line.intercept, features, line.coefficients.tolist()) for line in lines]
    inside = target.clipped(*allowed)
    ours, theirs = ((each.clipped(*allowed).outer() - inside).size for each in predictions)
    slopes = (lines[0].coefficients - lines[1].coefficients).tolist()
    apart = linear(lines[0].intercept - lines[1].intercept, features, slopes).outer().furthest
    sizes = [Interval.exactly(each.furthest) for each in features]
    terms = [linear(abs(line.intercept), sizes, np.abs(line.coefficients).tolist()).high[..., None] for line in lines]
    rounding = 2.0**-45 * (terms[0] + terms[1])
    gap, most = ours - theirs, apart * (1 + 2.0**-40) + rounding
    return np.maximum(gap.low, -most).ravel(), np.minimum(gap.high, most).ravel()


def _coefficients(criteria: Mapping[str, Criterion], name: str) -> RegressionCoefficients:
    criterion = criteria[name]
    if not isinstance(criterion, RegressionCoefficients):
        raise LookupError(f"{name!r} is not a regression_coefficients criterion")
    return criterion
