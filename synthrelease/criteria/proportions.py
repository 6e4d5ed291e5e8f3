"""Differences in proportions: whether the share of a condition in each group is right, P(hospital | diabetes) for example.

A table can be right in every cell and wrong in what is read off it: in a small group an error of a cell is a large one of its
share. This criterion looks at the shares themselves (theory 3.12, difference in proportions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Mistake, Setting
from synthrelease.criteria.columns import condition, condition_mistakes, grouping_mistakes, unknown_columns
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import Group, PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import (
    groupings,
)
from synthrelease.criteria.members import reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.shares import SharesInGroups
from synthrelease.criteria.wording import figure, grouped, shown, words
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import SharesOfGroups

_MOST_BY = 6
"""Groupings of a draft."""


@reads_members
class DifferenceInProportions(SharesInGroups):
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
    bins: tuple[str, ...] = Field(min_length=1)

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

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The largest difference between released and original share of rows with {words(self.column)} "
            f"{shown(self.bins)}, {grouped(self.by, self.overall, facts)}. Original groups count by their size in the release, "
            "and only rows with a value."
        )

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        found = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        return found or condition_mistakes(setting, "bins", self.column, self.bins)

    def said_of_each(self, limit: float) -> str:
        return f"each share of {words(self.column)}={shown(self.bins)} is off by at most {figure(limit)}"

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        """(n_bins,) which released bins meet the condition."""
        column = facts.by_name[self.column]
        groups = facts.groups.get(self.column) or [
            Group(label=label, inside=tuple(label == one for one in column.labels)) for label in column.labels
        ]
        named = [group.inside for group in groups if group.label in self.bins]
        return [np.asarray(np.array(named, dtype=bool).reshape(len(named), len(column.labels)).any(axis=0))]

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group with the largest error."""

        def words_of(found: SharesOfGroups) -> tuple[float, Offender]:
            errors = found.errors(public.counts)
            group = int(errors.argmax())
            where = f"{words(self.column)}={shown(self.bins)} among {found.grouping.where(group)}"
            released, original = (
                share(int(hits[group, 0]), int(rows[group, 0])) for rows, hits in (found.released, found.of(public.counts))
            )
            return float(errors[group, 0]), Offender(where=where, released=released, original=original)

        return max((words_of(found) for found in self.of_candidate(candidate, setting)), key=lambda found: found[0])[1]

    def of_candidate(self, candidate: SyntheticTable, setting: Setting) -> list[SharesOfGroups]:
        from synthrelease.criteria.groupings.mechanism import SharesOfGroups

        transformation = candidate.transformation
        binning = transformation.binning(self.column)
        meets, column = condition(binning, setting.groups.get(self.column), self.bins), transformation.layout.index(self.column)
        return [
            SharesOfGroups(table=candidate.counts, grouping=grouping, column=column, present=binning.present, meets=meets)
            for grouping in groupings(self.by, self.overall, transformation, setting)
        ]
