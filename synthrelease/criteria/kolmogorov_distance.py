"""Kolmogorov distances: whether the whole distribution of a number is right in each group, and so each of its quantiles.

A median looks at one point of a distribution, a mean at none. The distance of Kolmogorov and Smirnov is the largest error of a
cumulative share, over all points at which the released bins can be told apart (theory 3.14, Kolmogorov distance).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from synthrelease.criteria.base import Criterion, Mistake, Setting
from synthrelease.criteria.columns import grouping_mistakes, unknown_columns
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import (
    groupings,
)
from synthrelease.criteria.members import reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.shares import SharesInGroups
from synthrelease.criteria.wording import figure, grouped, words
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import SharesOfGroups


@reads_members
class KolmogorovDistance(SharesInGroups):
    """max over groups g and bins t of |a_gt - p_gt n_g| / m_g: the error of the share of a group at or below t, in one step.

    Of the n_g private rows of group g (with a value of the column), a_gt lie in bin t or below; the candidate has m_g rows
    there, of which a share p_gt does. a_gt - p_gt n_g = n_g (cumulative share in the original - p_gt), so the figure is the
    Kolmogorov distance of the two distributions within the group, times the size of the group in the original over its size in
    the release: the distance itself where the group's size is right. At a distance d every quantile q of the original lies
    between the quantiles q - d and q + d of the release, up to the width of a bin. The bins are those of the released table:
    coarse ones are compared at fewer points.

    Attributes
    ----------
    column : the column whose distributions are compared; its bins have an order. Example: `column = "income"`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column.
        Example: `by = ["age", "sex"]`.
    overall : whether the distribution over all rows counts, too. Example: `overall = false`, `by = ["age"]`.

    Privacy
    -------
    Sensitivity 1 / min m_g under replacing one of n rows, n and the candidate public. For one g and t, a private row of g adds
    (1 - p_gt)/m_g when it lies at or below t and -p_gt/m_g otherwise, a row outside of g or without a value adds 0: all in an
    interval of length 1/m_g, and one replaced record moves the sum by at most that. The maximum keeps the sensitivity (theory
    3.0, maxima), however many bins there are. No private size divides. The figure is a quotient of whole numbers, rounded as
    that of `difference_in_proportions`.

    Examples
    --------
    >>> judged = KolmogorovDistance(
    ...     name="income", kind="kolmogorov_distance", column="income", by=["age"], threshold=0.03, epsilon="0.01"
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_draft: ClassVar[str] = "`init` drafts a median, which readers know; its bound for whole distributions is a choice."
    asked_for: ClassVar[str] = "How a column is distributed, also in groups: the largest error of a cumulated share"
    kind: Literal["kolmogorov_distance"]

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The largest difference between released and original share of rows up to some value of {words(self.column)} "
            f"(Kolmogorov distance), {grouped(self.by, self.overall, facts)}. Original groups count by their size in the "
            "release, and only rows with a value."
        )

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        found = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        if not found and not setting.schema[self.column].ordered:
            found.append(Mistake(field="column", expected="a column whose bins have an order", found=repr(self.column)))
        return found

    def said_of_each(self, limit: float) -> str:
        return f"each cumulative share of {words(self.column)} is off by at most {figure(limit)}"

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        """Of every released bin with values but the last, (n_bins,) which lie at or below it."""
        column = facts.by_name[self.column]
        return [np.arange(len(column.labels)) <= place for place in range(max(1, column.present - 1))]

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group and the bin with the largest error."""
        labels = candidate.transformation.binning(self.column).labels

        def words_of(found: SharesOfGroups) -> tuple[float, Offender]:
            errors = found.errors(public.counts)
            group, place = (int(each) for each in np.unravel_index(errors.argmax(), errors.shape))
            released, original = (
                share(int(hits[group, place]), int(hits[group, -1])) for _, hits in (found.released, found.of(public.counts))
            )
            where = f"{words(self.column)} up to {labels[place]} among {found.grouping.where(group)}"
            return float(errors.max()), Offender(where=where, released=released, original=original)

        return max((words_of(found) for found in self.of_candidate(candidate, setting)), key=lambda found: found[0])[1]

    def of_candidate(self, candidate: SyntheticTable, setting: Setting) -> list[SharesOfGroups]:
        from synthrelease.criteria.groupings.mechanism import SharesOfGroups

        transformation = candidate.transformation
        present, column = transformation.binning(self.column).present, transformation.layout.index(self.column)
        return [
            SharesOfGroups(table=candidate.counts, grouping=grouping, column=column, present=present)
            for grouping in groupings(self.by, self.overall, transformation, setting)
        ]
