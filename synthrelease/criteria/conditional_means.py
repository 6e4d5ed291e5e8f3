"""Conditional means: the largest error of a column's mean over groups of other columns (paper 4.5.3).

Theory 3.3, conditional means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.columns import grouping_mistakes, unknown_columns, unnumbered
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import (
    groupings,
    public_groupings,
    public_sizes,
    rows_of_group,
)
from synthrelease.criteria.in_groups import InGroups
from synthrelease.criteria.known_errors import MeanError
from synthrelease.criteria.measured_groups import furthest_mean, sums_of_numbers
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.members import reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts
from synthrelease.criteria.wording import figure, grouped, shown, words
from synthrelease.data.schema import FINEST, in_steps
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.privacy.grids import MOST_ROWS, noise_grid


@reads_members
class ConditionalMean(InGroups):
    """max over groups v of |resized mean_R(column | v) - mean_S(column | v)|.

    mean_S is that of the numbers that stand for the released bins, mean_R that of the own values of the private rows: what a
    reader of the table computes against what the file has.

    Attributes
    ----------
    column : the column that is averaged. Example: `column = "birth_weight"`.
    values : "own" takes private rows by their own values, on the grid of the column (`step`). "bins" takes them by the numbers
        of their released bins, as Hod & Canetti (2024) do, and then the figure says nothing about what a bin's number
        hides. Example: `values = "bins"`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column.
        Example: `by = ["age", "sex"]`.
    overall : whether the mean of all rows counts, too. Example: `overall = false`, `by = ["age"]`.
    range : [lowest, highest]; values and numbers beyond it count as its ends, so that the means are of clipped values where it
        is narrower than the values that occur. The noise grows with its width. Example: `range = [500, 5500]`.
    size_margin : public bound T on the error of a group's share of the rows; the resize parameter of group v is
        m_v = max(1, count_S(v) - ceil(n T)). The threshold of the absolute marginal error is the natural choice: a larger
        margin means more noise in small groups, a smaller one that means of groups with fewer private rows are pulled to the
        middle of the range. Example: `size_margin = 0.01`.

    Privacy
    -------
    Sensitivity (U - L) / min_v m_v. The resized mean of a group is sum/len when len >= m, else
    (sum + (m - len) w) / m with w the middle of the range; it moves by at most (U - L)/m when one value is added, removed
    or replaced (theory 3.3, conditional means), and one replaced record does one of these to each group, also when it comes to
    lack a value: rows without one of the column, or of the column they are grouped by, are in no group. Groups and m_v come
    from the candidate and n, so they are public. The maximum keeps the sensitivity (Proposition 3).

    A value enters as that of its grid point, which is a function of the record alone, whatever others there are.

    Rounding: a value enters as its distance from the middle of the range, a public number that is a function of its atomic bin
    alone and at most (U - L)/2 (but for 2^-53 of it); w is then 0. The number of rows of a group in each bin is an exact
    integer, products with it are off by 2^-53 of themselves, and their sum is correctly rounded in whatever order (math.fsum).
    So the figure is off by less than `mean_error`, 2^-50 of the width, however far from 0 the range lies. The sensitivity is at
    least the width / n, and a grid step above 2^-(b + 1) of that, where b = 12 up to 2^35 rows and n 2^b <= 2^47 up to 2^40 of
    them (`grid_bits`): a quarter of a step is above 2^-50 of the width. A range that is too narrow or too wide for
    floating-point numbers is refused.

    Examples
    --------
    >>> judged = ConditionalMean(
    ...     kind="conditional_mean", name="income", threshold=5, epsilon="0.01", column="income",
    ...     range=[0, 900], by=["age"], size_margin=0.01
    ... )
    >>> judged.own_values_of
    ('income',)
    """

    asked_for: ClassVar[str] = "The mean of a column of numbers, also in groups: its largest error"
    kind: Literal["conditional_mean"]
    range: tuple[float, float]
    size_margin: float = Field(ge=0, lt=1)
    values: Literal["own", "bins"] = "own"

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return (self.column,) if self.values == "own" else ()

    @property
    def worst_figure(self) -> float:
        return self.range[1] - self.range[0]

    def figure_unit(self, facts: PublicFacts) -> str:
        return facts.unit(self.column)

    def sentence(self, facts: PublicFacts) -> str:
        low, high = self.range
        name = words(self.column)
        means = (
            f"the mean of {name} in the released table, by the numbers that stand for its bins, and in the original records, "
            "by their own values"
            if self.values == "own"
            else f"released and original mean of the numbers that stand for the bins of {name}"
        )
        return (
            f"The largest difference between {means}, {grouped(self.by, self.overall, facts)}. "
            f"Values count as {shown(low)} to {shown(high)}{facts.grid_of(self.own_values_of)}; rows without one do not count."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        """The range over the smallest public group size (theory 3.3, conditional means)."""
        lowest, highest = self.range
        margin = math.ceil(self.size_margin * facts.n)
        sizes = [size for name in self.grouped_by for size in public_sizes(name, self.column, facts)]
        return (highest - lowest) / min(max(1, size - margin) for size in sizes)

    def known_error(self, limit: float, facts: PublicFacts) -> MeanError:
        return MeanError(
            most=limit,
            column=self.column,
            by=self.by,
            overall=self.overall,
            lowest=self.range[0],
            highest=self.range[1],
            size_margin=self.size_margin,
            values=self._value_limits(facts),
            criterion=self.name,
        )

    def _value_limits(self, facts: PublicFacts) -> tuple[np.ndarray, np.ndarray]:
        """(n_present,) the lowest and the highest that an original row of each released bin counts as."""
        column = facts.by_name[self.column]
        numbers = np.array(column.numbers[: column.present], dtype=float)
        low, high = column.value_limits if self.values == "own" else (numbers, numbers)
        return np.clip(low, *self.range), np.clip(high, *self.range)

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float:
        smallest = self.rows_of_smallest_group(n, setting) - math.ceil(n * self.size_margin)
        return (self.range[1] - self.range[0]) / max(1, smallest)

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft | str]:
        """The means of the two columns of numbers that hang together most with others, by up to three of these."""
        for column in file.outcomes[:2]:
            low, high = column.mean_range
            yield CriterionDraft(
                settings={
                    "name": f"mean {column.name}"[:80],
                    "kind": "conditional_mean",
                    "column": column.name,
                    "by": [other.name for other in file.grouping(column, 3 * file.cell * file.n_rows, 3)],
                    "range": [low, high],
                    "size_margin": file.cell,
                    "threshold": float(f"{(high - low) * 0.05:.2g}"),
                    "epsilon": Fraction(1, 100),
                },
                remark="no mean of a group, nor the overall mean, may be off by more than this; values beyond `range` count as "
                "its ends",
            )

    @model_validator(mode="after")
    def _usable(self) -> ConditionalMean:
        check_range(self.range)
        return self

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        unknown = [*unknown_columns(setting.schema, "column", [self.column])]
        found = [*unknown, *grouping_mistakes(setting, "by", self.by)]
        if self.answered_by is not None and self.values == "own":
            found.append(
                Mistake(
                    field="answered_by",
                    expected='values = "bins" beside it: noisy tables tell how many rows a bin has, and not their own values',
                    found='values = "own"',
                )
            )
        return found if unknown else [*unnumbered(setting, "column", self.column), *found]

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings.mechanism import RowsOfGroups, furthest_mean_of_groups, resized_means

        lowest, highest = self.range
        groups = groupings(self.by, self.overall, candidate.transformation, setting)
        rows = RowsOfGroups(
            column=self.column,
            transformation=candidate.transformation,
            range=self.range,
            centre=middle(*self.range),
            own=self.values == "own",
        )
        synthetic = [rows.of_released(candidate.counts, group) for group in groups]
        margin = math.ceil(self.size_margin * candidate.n)
        sizes = [np.maximum(1, counts - margin) for counts, _ in synthetic]
        void = any((counts == 0).any() for counts, _ in synthetic)  # an empty group has no mean
        targets = [resized_means(counts, sums, np.ones_like(counts)) for counts, sums in synthetic]
        sensitivity = (highest - lowest) / min(int(size.min()) for size in sizes)

        figure = partial(furthest_mean_of_groups, rows=rows, groups=groups, sizes=sizes, targets=targets)
        return Query(sensitivity=sensitivity, figure=figure, void=void)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Rows and sums of every group."""
        return sums_of_numbers(self.by, self.overall, self.column, self._in_steps(facts)[0], facts)

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """No group has more than all rows, so its mean is known no better than its sum over all rows."""
        step = (self.range[1] - self.range[0]) / FINEST
        return max(float(each[1]) for each in widths) * step / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        lowest, highest = self.range
        moved, step = self._in_steps(facts)[1], (highest - lowest) / FINEST
        numbers = np.array([0.0 if one is None else one for one in facts.by_name[self.column].numbers])
        numbers = np.clip(numbers, lowest, highest) - middle(lowest, highest)
        margin, worst = math.ceil(self.size_margin * facts.n), 0.0
        groups = public_groupings(self.by, self.overall, self.column, facts)
        for (columns, inside), each in zip(groups, limits, strict=True):
            rows = rows_of_group(columns, inside, facts)
            total = int(rows.sum())
            if not total:
                return math.nan
            target = math.fsum((rows * numbers).tolist()) / total
            worst = max(worst, furthest_mean(each, step, max(1, total - margin), target, (highest - lowest) / 2))
        return worst + moved

    def _in_steps(self, facts: PublicFacts) -> tuple[np.ndarray, float]:
        return in_steps(facts.by_name[self.column].numbers, *self.range, middle(*self.range))

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group whose mean is furthest off, as it is: not resized."""
        from synthrelease.criteria.groupings.mechanism import RowsOfGroups

        values = RowsOfGroups(
            column=self.column,
            transformation=candidate.transformation,
            range=self.range,
            centre=middle(*self.range),
            own=self.values == "own",
        )
        found = []
        for grouping in groupings(self.by, self.overall, candidate.transformation, setting):
            ours, theirs = (
                sums / np.maximum(rows, 1) + middle(*self.range)
                for rows, sums in (values.of_released(candidate.counts, grouping), values.of_original(public.counts, grouping))
            )
            worst = int(np.abs(ours - theirs).argmax())
            where = f"mean {words(self.column)}, {grouping.where(worst)}"
            released, original = (figure(float(means[worst])) for means in (ours, theirs))
            error = abs(float(ours[worst] - theirs[worst]))
            found.append((error, Offender(where=where, released=released, original=original)))
        return max(found, key=lambda each: each[0])[1]


def check_range(ends: tuple[float, float]) -> None:
    """Raises ValueError for a range of values whose means floating-point numbers cannot tell apart."""
    lowest, highest = ends
    if not lowest < highest:
        raise ValueError("range must be [lowest, highest] with lowest < highest")
    width = highest - lowest
    step = noise_grid(width / MOST_ROWS, MOST_ROWS).step if 1e-200 < width < math.inf else math.nan
    if not mean_error(lowest, highest) <= step / 4:
        raise ValueError("range must have a width that floating-point numbers can tell the means of: neither tiny nor infinite")


def middle(lowest: float, highest: float) -> float:
    """A public number in the middle of a range, that means are computed around."""
    return lowest + (highest - lowest) / 2


def mean_error(lowest: float, highest: float) -> float:
    """How far rounding moves the difference of two resized means of values in a range, at most.

    A mean is at most half the width from the middle; the products behind it, their sum, the quotient and the difference are
    each rounded once, by 2^-53 of the width at most.
    """
    return 8 * 2.0**-53 * (highest - lowest)
