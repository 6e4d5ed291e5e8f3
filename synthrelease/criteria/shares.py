"""What criteria have in common that compare shares of rows within groups: one share, or all cumulative ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import model_validator

from synthrelease.criteria.base import Query, Setting
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.groupings import public_groupings, public_sizes, rows_of_group, tables_of_groups
from synthrelease.criteria.in_groups import InGroups
from synthrelease.criteria.known_errors import SumError, SumErrors
from synthrelease.criteria.measured_groups import furthest_share, shares_of_groups
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.criteria.groupings.mechanism import SharesOfGroups
    from synthrelease.generators.drawing import Drawing


class SharesInGroups(InGroups):
    """A criterion about the shares of rows whose value of a column is one of some bins, in groups of rows with a value.

    With a_g of the n_g private rows of group g, the candidate's m_g rows there and its share p_g, the error of a share is
    |a_g - p_g n_g| / m_g (theory 3.12, difference in proportions).
    """

    @model_validator(mode="after")
    def _groups_by_others(self) -> Self:
        if self.column in self.by:
            raise ValueError("the column whose shares are compared cannot be one to group by")
        return self

    def of_candidate(self, candidate: SyntheticTable, setting: Setting) -> Sequence[SharesOfGroups]:
        """The shares of a candidate, for each grouping."""
        raise NotImplementedError

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        """Of every share, (n_bins,) which released bins it is of."""
        raise NotImplementedError

    def said_of_each(self, limit: float) -> str:
        """What an error of at most `limit` means, in words."""
        raise NotImplementedError

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of a group"

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float:
        return 1 / self.rows_of_smallest_group(n, setting)

    def public_sensitivity(self, facts: PublicFacts) -> float:
        """One over the smallest released group; groups of rows that have a value of the column."""
        return 1 / max(1, min(size for name in self.grouped_by for size in public_sizes(name, self.column, facts)))

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings.mechanism import largest_error

        found = self.of_candidate(candidate, setting)
        smallest = min(int(each.released[0].min()) for each in found)
        return Query(sensitivity=1 / max(1, smallest), figure=partial(largest_error, found=found), void=smallest == 0)

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float | None:
        """Of a group, the rows that a share is of are a share of all rows, and so are the others. The error is 1 - p of the
        ones less p of the others, over the group's part of the release: it moves by no more than one of them, whatever p is.
        """
        smallest = min(size for name in self.grouped_by for size in public_sizes(name, self.column, facts))
        if not smallest:
            return None
        groups = sum(1 for _ in public_groupings(self.by, self.overall, self.column, facts))
        ways = math.prod(drawing.ways.get(name, 1) for name in {self.column, *self.by})
        return drawing.of_shares(2 * groups * len(self.bins_of_shares(facts)) * ways) * facts.n / smallest

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Of every group and share, |a_g - p_g n_g| <= limit m_g, p_g and m_g those of the release."""
        shares, found = self.bins_of_shares(facts), []
        for columns, inside, rows in tables_of_groups(self.by, self.overall, self.column, facts):
            most = float(rows.sum())
            if most:
                weights = [(bins - float(rows[bins].sum()) / most) * inside for bins in shares]
                found.append(
                    SumError(
                        columns=columns,
                        weights=tuple(sign * each for each in weights for sign in (1, -1)),
                        most=(limit * most,) * (2 * len(weights)),
                        each=self.said_of_each(limit),
                    )
                )
        return SumErrors(sums=tuple(found), criterion=self.name)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Of every share, the rows of each group that it is of, and those that it is not of."""
        return [
            sums
            for bins in self.bins_of_shares(facts)
            for sums in shares_of_groups(self.by, self.overall, self.column, bins, facts)
        ]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """|a (1 - p) - b p| / m_g, with m_g at most all rows."""
        return max(float(each.min()) for each in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        groups = list(public_groupings(self.by, self.overall, self.column, facts))
        worst, remaining = 0.0, iter(limits)
        for bins in self.bins_of_shares(facts):
            for columns, inside in groups:
                rows = rows_of_group(columns, inside, facts)
                if not rows.any():
                    return math.nan
                worst = max(worst, furthest_share(next(remaining), int(rows[bins].sum()), int(rows.sum())))
        return worst
