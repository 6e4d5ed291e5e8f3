"""Differences in proportions: whether the share of a condition in each group is right, P(hospital | diabetes) for example.

A table can be right in every cell and wrong in what is read off it: in a small group an error of a cell is a large one of its
share. This criterion looks at the shares themselves (theory 3.12, difference in proportions).
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
from synthrelease.criteria.columns import condition, condition_mistakes, grouping_mistakes, unknown_columns
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import Group, PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import (
    groupings,
    public_groupings,
    public_sizes,
    rows_of_group,
    tables_of_groups,
)
from synthrelease.criteria.guarding import LostPair
from synthrelease.criteria.known_errors import SumError, SumErrors
from synthrelease.criteria.measured_groups import furthest_share, shares_of_groups
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.members import OfMembers, reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.wording import figure, grouped, shown, words
from synthrelease.domain.layout import Layout
from synthrelease.domain.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import SharesOfGroups

_MOST_BY = 6
"""Groupings of a draft."""


@reads_members
class DifferenceInProportions(OfMembers):
    """max over groups g of |a_g - p_g n_g| / m_g: the error of the share of a condition within each group, in one step.

    Of the n_g private rows of group g (with a value of the column), a_g meet the condition; the candidate has m_g rows there,
    of which a share p_g does. a_g - p_g n_g = n_g (share in the original - p_g), so the figure is the error of the share, times
    the size of the group in the original over its size in the release: the error itself where the group's size is right. Two
    groups' difference of shares (a risk difference) is then off by at most the sum of their two errors.

    Attributes
    ----------
    column : the column of the condition. Example: `column = "hospital"`.
    bins : labels of its bins that meet the condition: bins of [groups] where it has the column, otherwise bins that every
        alternative has. Example: `bins = ["yes"]`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column. Example: `by = ["diabetes"]`.
    overall : whether the share among all rows counts, too. Example: `overall = false`, `by = ["diabetes"]`.

    Privacy
    -------
    Sensitivity 1 / min m_g. p_g and m_g are the candidate's: public. A private row of g adds (1 - p_g)/m_g when it meets the
    condition and -p_g/m_g otherwise, a row outside of g or without a value adds 0: all in an interval of length 1/m_g, and one
    replaced record moves the sum by at most that. The maximum keeps the sensitivity (theory 3.0, maxima). No private size
    divides, so no margin is needed and no group is filled up. a_g m_g - (p_g m_g) n_g is a whole number, exact whatever its
    size, over m_g^2; the quotient, at most n / m_g, is rounded to 2^-51 of itself: by 4 n 2^-53 of the sensitivity, which is
    below a quarter of a grid step up to 2^40 rows (`laplace_figure`).

    Examples
    --------
    >>> judged = DifferenceInProportions(
    ...     kind="difference_in_proportions", name="hospital", threshold=0.03, epsilon="0.01",
    ...     column="hospital", bins=["yes"], by=["age"]
    ... )
    >>> judged.least_sensitivity(10_000)
    0.0001
    """

    asked_for: ClassVar[str] = "How often a value occurs, also in groups: the largest error of a share of a group"
    kind: Literal["difference_in_proportions"]
    column: str
    bins: tuple[str, ...] = Field(min_length=1)
    by: tuple[str, ...] = ()
    overall: bool = True

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft | str]:
        """The shares of the rarer of two categories, for the three columns that hang together most with others."""
        least = max(300, 0.01 * file.n_rows)
        if not any(file.grouping(column, least, _MOST_BY) for column in file.conditions[:3]):
            yield "difference_in_proportions: no column of two frequent values has groups that are large enough"
        for column in file.conditions[:3]:
            by = [other.name for other in file.grouping(column, least, _MOST_BY)]
            rarer = min(column.category_rows, key=lambda label: column.category_rows[label])
            if by:
                yield CriterionDraft(
                    settings={
                        "name": f"share of {column.name}"[:80],
                        "kind": "difference_in_proportions",
                        "column": column.name,
                        "bins": [rarer],
                        "by": by,
                        "threshold": 0.05,
                        "epsilon": Fraction(1, 100),
                    },
                    remark="no group's share of rows with this value, nor the overall share, may be off by more than this",
                )

    @model_validator(mode="after")
    def _usable(self) -> DifferenceInProportions:
        if not self.by and not self.overall:
            raise ValueError("there must be a group-by column, or overall = true")
        if self.column in self.by:
            raise ValueError("the column of the condition cannot be one to group by")
        return self

    @property
    def read(self) -> tuple[str, ...]:
        return (self.column, *self.by)

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of a group"

    def guards(self, pair: LostPair) -> bool:
        """It names the column and those it is grouped by."""
        return pair.is_one_of(self.column, self.by)

    def least_sensitivity(self, n: int) -> float:
        """No group has more than all rows."""
        return 1 / n

    def effort(self, layout: Layout, n: int) -> float:
        return float(min(n, layout.n_cells)) * (len(self.by) + self.overall)

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The largest difference between released and original share of rows with {words(self.column)} "
            f"{shown(self.bins)}, {grouped(self.by, self.overall, facts)}. Original groups count by their size in the release, "
            "and only rows with a value."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        """One over the smallest released group; groups of rows that have a value of the column."""
        names = [*self.by, *([""] if self.overall else [])]
        return 1 / max(1, min(size for name in names for size in public_sizes(name, self.column, facts)))

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Of every group, |a_g - p_g n_g| <= limit m_g, p_g and m_g those of the release."""
        meets, found = self._meets(facts), []
        for columns, inside, rows in tables_of_groups(self.by, self.overall, self.column, facts):
            most = float(rows.sum())
            if most:
                weights = (meets - float(rows[meets].sum()) / most) * inside
                found.append(
                    SumError(
                        columns=columns,
                        weights=(weights, -weights),
                        most=(limit * most,) * 2,
                        each=f"each share of {words(self.column)}={shown(self.bins)} is off by at most {figure(limit)}",
                    )
                )
        return SumErrors(sums=tuple(found), criterion=self.name)

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        found = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        return found or condition_mistakes(setting, "bins", self.column, self.bins)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings.mechanism import largest_error

        shares = self._shares(candidate, setting)
        smallest = min(int(share.rows.min()) for share in shares)
        return Query(sensitivity=1 / max(1, smallest), figure=partial(largest_error, found=shares), void=smallest == 0)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Rows that meet the condition, and those that do not, of every group."""
        return shares_of_groups(self.by, self.overall, self.column, self._meets(facts), facts)

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """|a (1 - p) - b p| / m_g, with m_g at most all rows."""
        return max(float(each.min()) for each in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        meets, worst = self._meets(facts), 0.0
        groups = public_groupings(self.by, self.overall, self.column, facts)
        for (columns, inside), each in zip(groups, limits, strict=True):
            rows = rows_of_group(columns, inside, facts)
            if not rows.any():
                return math.nan
            worst = max(worst, furthest_share(each, int(rows[meets].sum()), int(rows.sum())))
        return worst

    def _meets(self, facts: PublicFacts) -> np.ndarray:
        """(n_bins,) which released bins meet the condition."""
        column = facts.by_name[self.column]
        groups = facts.groups.get(self.column) or [
            Group(label=label, inside=tuple(label == one for one in column.labels)) for label in column.labels
        ]
        named = [group.inside for group in groups if group.label in self.bins]
        return np.asarray(np.array(named, dtype=bool).reshape(len(named), len(column.labels)).any(axis=0))

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group with the largest error."""

        def words_of(found: SharesOfGroups) -> tuple[float, Offender]:
            errors = found.errors(public.counts)
            group = int(errors.argmax())
            rows, hits = found.of(public.counts)
            where = f"{words(self.column)}={shown(self.bins)} among {found.grouping.where(group)}"
            released, original = share(found.hits[group], found.rows[group]), share(hits[group], rows[group])
            return float(errors[group]), Offender(where=where, released=released, original=original)

        return max((words_of(found) for found in self._shares(candidate, setting)), key=lambda found: found[0])[1]

    def _shares(self, candidate: SyntheticTable, setting: Setting) -> list[SharesOfGroups]:
        from synthrelease.criteria.groupings.mechanism import SharesOfGroups

        transformation = candidate.transformation
        binning = transformation.binning(self.column)
        meets, column = condition(binning, setting.groups.get(self.column), self.bins), transformation.layout.index(self.column)
        return [
            SharesOfGroups.counted(candidate.counts, grouping, column, meets, binning.present)
            for grouping in groupings(self.by, self.overall, transformation, setting)
        ]
