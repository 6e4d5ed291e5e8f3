"""Conditional medians and other quantiles: whether those of the original lie within so many bins of the released ones.

Stakeholders ask for medians; a mean bounds them only for distributions without a large share at one end (theory 3.11,
conditional medians).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.columns import grouping_mistakes, unknown_columns
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import groupings, public_groupings, quantile_bins, rows_of_group, tables_of_groups
from synthrelease.criteria.in_groups import InGroups
from synthrelease.criteria.known_errors import SumError, SumErrors
from synthrelease.criteria.measured_groups import most_beyond, sums_beyond
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.members import reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts
from synthrelease.criteria.wording import grouped, shown, words
from synthrelease.data.layout import Layout
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import Windows
    from synthrelease.generators.drawing import Drawing

_FINEST = 10_000
"""Quantiles are whole multiples of one over this."""


@reads_members
class ConditionalMedian(InGroups):
    """max over groups g and quantiles q of max(B - q n_g, A - (1 - q) n_g) / n.

    t is the bin of the (lower) q-quantile of group g in the candidate; of the n_g private rows of g, B lie more than `within`
    bins below t and A more than `within` bins above. The figure is at or below 0 just when every original quantile reaches into
    the bins [t - within, t + within]; above 0 it is the share of all rows that are too many on one side.

    Attributes
    ----------
    column : the column whose medians are compared; its bins have an order. Example: `column = "income"`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column.
        Example: `by = ["age", "sex"]`.
    overall : whether the quantiles of all rows count, too. Example: `overall = false`, `by = ["age"]`.
    within : how many bins an original quantile may lie from the released one; 0 asks for the same bin. Example: `within = 1`.
    quantiles : which quantiles are compared, each between 0 and 1. Example: `quantiles = [0.25, 0.5, 0.75]`.

    Privacy
    -------
    Sensitivity 1/n. Groups and windows come from the candidate: they are public. A private row of g adds 1 - q to B - q n_g
    when it lies below the window and -q otherwise, a row outside of g or without a value of the column adds 0: three numbers in
    [-q, 1 - q], so a replaced record moves the sum by at most 1; likewise A - (1 - q) n_g. The maximum keeps that (theory 3.0,
    maxima). No division by a private size takes place, so small groups need no more noise. With q = a/b the figure is a whole
    number over b n, rounded once.

    Examples
    --------
    >>> judged = ConditionalMedian(
    ...     kind="conditional_median", name="income", threshold=0.02, epsilon="0.01", column="income",
    ...     by=["age"], within=1
    ... )
    >>> judged.figure_range
    (-0.5, 1.0)
    """

    counts_rows: ClassVar[bool] = True
    best_figure: ClassVar[float] = -0.5
    asked_for: ClassVar[str] = (
        "The median of a column of numbers, also in groups: whether it lies in the bin of the released one or next to it"
    )
    kind: Literal["conditional_median"]
    within: int = Field(default=0, ge=0)
    quantiles: tuple[float, ...] = Field(default=(0.5,), min_length=1, max_length=20)

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft]:
        """The median of the column of numbers that hangs together most with others."""
        for column in file.outcomes[:1]:
            yield CriterionDraft(
                settings={
                    "name": f"median {column.name}"[:80],
                    "kind": "conditional_median",
                    "column": column.name,
                    "by": [other.name for other in file.grouping(column, 0.05 * file.n_rows, 3)],
                    "within": 1,
                    "threshold": file.cell,
                    "epsilon": Fraction(1, 100),
                },
                remark="whether each original median lies in the bin of the released one or next to it",
            )

    @model_validator(mode="after")
    def _usable(self) -> ConditionalMedian:
        if not all(0 < q < 1 and (Fraction(str(q)) * _FINEST).denominator == 1 for q in self.quantiles):
            raise ValueError("quantiles must lie above 0 and below 1, with at most four decimals")
        return self

    @property
    def worst_figure(self) -> float:
        return 1.0

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of the rows"

    def effort(self, layout: Layout, n: int) -> float:
        return super().effort(layout, n) * len(self.quantiles)

    def sentence(self, facts: PublicFacts) -> str:
        which = "median" if self.quantiles == (0.5,) else f"quantile ({shown(self.quantiles)})"
        over = grouped(self.by, self.overall, facts)
        near = f"the bin of the released one or {self.within} next to it" if self.within else "the bin of the released one"
        return (
            f"Whether the original {which} of {words(self.column)} lies in {near}, {over}: the largest share of all rows by "
            "which too many original rows lie below or above. At 0 or less, each lies there. Only rows with a value count."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        return 1 / facts.n

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        """Of a group, the rows on a side of a bin are a share of all rows, and so are the others. The excess on the side is
        1 - q of the ones less q of the others, or the other way round: it moves by no more than one of them, whatever the bin.
        """
        groups = sum(1 for _ in public_groupings(self.by, self.overall, self.column, facts))
        ways = math.prod(drawing.ways.get(name, 1) for name in {self.column, *self.by})
        return drawing.of_shares(2 * groups * facts.by_name[self.column].present * ways)

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Of every group, at most so many rows too many below the window, and above it: B - q n_g <= n limit, likewise A."""
        found = []
        for columns, inside, rows in tables_of_groups(self.by, self.overall, self.column, facts):
            bins, weights = np.arange(len(rows)), list[np.ndarray]()
            for q in map(float, self.quantiles):
                reached = np.cumsum(rows)
                middle = int(np.searchsorted(reached, math.ceil(Fraction(str(q)) * int(reached[-1]))))
                weights += [((bins < middle - self.within) - q) * inside, ((bins > middle + self.within) - (1 - q)) * inside]
            found.append(
                SumError(
                    columns=columns,
                    weights=tuple(weights),
                    most=(facts.n * limit,) * len(weights),
                    each=f"the rows beyond each quantile of {words(self.column)} are as few as its criterion found",
                )
            )
        return SumErrors(sums=tuple(found), criterion=self.name)

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        found = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        if not found and not setting.schema[self.column].ordered:
            found.append(Mistake(field="column", expected="a column whose bins have an order", found=repr(self.column)))
        return found

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings.mechanism import largest_excess

        windows = self._windows(candidate, setting)
        return Query(
            sensitivity=1 / n,
            figure=partial(largest_excess, windows=windows, n=n),
            void=any(window.void for window in windows),
        )

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Rows beyond every bin of every group."""
        return sums_beyond(self.by, self.overall, self.column, self._exact_quantiles, facts)

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        worst = self.best_figure * facts.n
        groups = public_groupings(self.by, self.overall, self.column, facts)
        for (columns, inside), each in zip(groups, limits, strict=True):
            rows = rows_of_group(columns, inside, facts)
            found = list(most_beyond(each, rows, self._exact_quantiles, self.within))
            if any(map(math.isnan, found)):
                return math.nan
            worst = max(worst, *found)
        return worst / facts.n

    @property
    def _exact_quantiles(self) -> list[Fraction]:
        return [Fraction(str(number)) for number in self.quantiles]

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group and quantile with the most rows on the wrong side."""
        labels = candidate.transformation.binning(self.column).labels

        def words_of(window: Windows) -> tuple[float, Offender]:
            excess = window.excess(public.counts)
            group = int(excess.argmax())
            theirs = quantile_bins(public.counts, window.grouping, window.column, window.present, window.q)[group]
            released, original = (labels[int(place)] if place >= 0 else "no rows" for place in (window.middle[group], theirs))
            where = f"{words(self.column)}, quantile {float(window.q):g}, {window.grouping.where(group)}"
            return excess[group] / window.q.denominator, Offender(where=where, released=released, original=original)

        return max((words_of(window) for window in self._windows(candidate, setting)), key=lambda found: found[0])[1]

    def _windows(self, candidate: SyntheticTable, setting: Setting) -> list[Windows]:
        from synthrelease.criteria.groupings.mechanism import Windows

        transformation = candidate.transformation
        column, present = transformation.layout.index(self.column), transformation.binning(self.column).present
        return [
            Windows(
                grouping=grouping,
                column=column,
                present=present,
                within=self.within,
                q=q,
                middle=quantile_bins(candidate.counts, grouping, column, present, q),
            )
            for grouping in groupings(self.by, self.overall, transformation, setting)
            for q in (Fraction(str(number)) for number in self.quantiles)
        ]
