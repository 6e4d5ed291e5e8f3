"""Kolmogorov distances: whether the whole distribution of a number is right in each group, and so each of its quantiles.

A median looks at one point of a distribution, a mean at none. The distance of Kolmogorov and Smirnov is the largest error of a
cumulative share, over all points at which the released bins can be told apart (theory 3.14, Kolmogorov distance).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.columns import grouping_mistakes, unknown_columns
from synthrelease.criteria.facts import PublicFacts
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
from synthrelease.criteria.wording import figure, grouped, words
from synthrelease.domain.layout import Layout
from synthrelease.domain.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import DistributionsOfGroups


@reads_members
class KolmogorovDistance(OfMembers):
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
    column: str
    by: tuple[str, ...] = ()
    overall: bool = True

    @model_validator(mode="after")
    def _usable(self) -> KolmogorovDistance:
        if not self.by and not self.overall:
            raise ValueError("there must be a group-by column, or overall = true")
        if self.column in self.by:
            raise ValueError("the column that is compared cannot be one to group by")
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
            f"The largest difference between released and original share of rows up to some value of {words(self.column)} "
            f"(Kolmogorov distance), {grouped(self.by, self.overall, facts)}. Original groups count by their size in the "
            "release, and only rows with a value."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        """One over the smallest released group; groups of rows that have a value of the column."""
        names = [*self.by, *([""] if self.overall else [])]
        return 1 / max(1, min(size for name in names for size in public_sizes(name, self.column, facts)))

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Of every group and bin t, |a_gt - p_gt n_g| <= limit m_g, p_gt and m_g those of the release."""
        found = []
        for columns, inside, rows in tables_of_groups(self.by, self.overall, self.column, facts):
            most = float(rows.sum())
            if most:
                cuts = self._cuts(facts)
                weights = [(below - float(rows[below].sum()) / most) * inside for below in cuts]
                found.append(
                    SumError(
                        columns=columns,
                        weights=tuple(sign * each for each in weights for sign in (1, -1)),
                        most=(limit * most,) * (2 * len(weights)),
                        each=f"each cumulative share of {words(self.column)} is off by at most {figure(limit)}",
                    )
                )
        return SumErrors(sums=tuple(found), criterion=self.name)

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        found = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        if not found and not setting.schema[self.column].ordered:
            found.append(Mistake(field="column", expected="a column whose bins have an order", found=repr(self.column)))
        return found

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings.mechanism import largest_error

        found = self._distributions(candidate, setting)
        smallest = min(int(each.released[:, -1].min()) for each in found)
        return Query(sensitivity=1 / max(1, smallest), figure=partial(largest_error, found=found), void=smallest == 0)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Of every bin t, the rows of each group at or below it, and those above."""
        cuts = self._cuts(facts)
        return [sums for below in cuts for sums in shares_of_groups(self.by, self.overall, self.column, below, facts)]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """|a (1 - p) - b p| / m_g, with m_g at most all rows."""
        return max(float(each.min()) for each in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        groups = list(public_groupings(self.by, self.overall, self.column, facts))
        worst, remaining = 0.0, iter(limits)
        for below in self._cuts(facts):
            for columns, inside in groups:
                rows = rows_of_group(columns, inside, facts)
                if not rows.any():
                    return math.nan
                worst = max(worst, furthest_share(next(remaining), int(rows[below].sum()), int(rows.sum())))
        return worst

    def _cuts(self, facts: PublicFacts) -> list[np.ndarray]:
        """Of every released bin with values but the last, (n_bins,) which lie at or below it."""
        column = facts.by_name[self.column]
        return [np.arange(len(column.labels)) <= place for place in range(max(1, column.present - 1))]

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The group and the bin with the largest error."""
        labels = candidate.transformation.binning(self.column).labels

        def words_of(found: DistributionsOfGroups) -> tuple[float, Offender]:
            errors, theirs = found.errors(public.counts), found.cumulated(public.counts)
            group, place = (int(each) for each in np.unravel_index(errors.argmax(), errors.shape))
            released, original = (share(int(each[group, place]), int(each[group, -1])) for each in (found.released, theirs))
            where = f"{words(self.column)} up to {labels[place]} among {found.grouping.where(group)}"
            return float(errors.max()), Offender(where=where, released=released, original=original)

        return max((words_of(found) for found in self._distributions(candidate, setting)), key=lambda found: found[0])[1]

    def _distributions(self, candidate: SyntheticTable, setting: Setting) -> list[DistributionsOfGroups]:
        from synthrelease.criteria.groupings.mechanism import DistributionsOfGroups

        transformation = candidate.transformation
        binning, column = transformation.binning(self.column), transformation.layout.index(self.column)
        return [
            DistributionsOfGroups(table=candidate.counts, grouping=grouping, column=column, binning=binning)
            for grouping in groupings(self.by, self.overall, transformation, setting)
        ]
