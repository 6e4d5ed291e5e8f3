"""Define criteria that compare shares of rows within groups: the share that meets a condition, or all cumulative shares
(Kolmogorov distance).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import condition, condition_mistakes
from synthrelease.criteria.facts import (
    Group,
    Offender,
    PublicCounts,
    PublicFacts,
    Query,
    SumError,
    SumErrors,
    in_words,
    share,
    words,
)
from synthrelease.criteria.groupings import InGroups, InGroupsExplained, furthest_share, groupings, rows_of_group
from synthrelease.criteria.measured import Limits, Sums
from synthrelease.criteria.members import reads_members
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.criteria.groupings_mechanism import SharesOfGroups
    from synthrelease.generators.drawing import Drawing


_COUNTED = "Errors are multiplied by the original and divided by the released size of the group. Only rows with a value count."


class SharesInGroups(InGroups):
    """The base class of all criteria about shares of rows within groups.

    Let group g have n_g private rows with a value, of which a_g count for the share, and m_g released rows with a value, of
    which a share p_g counts. The error of the share is |a_g - p_g n_g| / m_g (theory 3.12, difference in proportions).
    """

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings_mechanism import largest_error

        shares = self.of_candidate(candidate, setting)
        smallest = min(int(grouped.released[0].min()) for grouped in shares)
        return Query(sensitivity=1 / max(1, smallest), figure=partial(largest_error, shares=shares), void=smallest == 0)

    def contradictions(self) -> Iterator[str | Unexpected]:
        yield from super().contradictions()
        if self.column in self.by:
            yield f"{self.column!r} is the column whose shares are compared, so it cannot be in `by`"

    def of_candidate(self, candidate: SyntheticTable, setting: Setting) -> list[SharesOfGroups]:
        """Return the compared shares of a candidate, one object per grouping."""
        from synthrelease.criteria.groupings_mechanism import SharesOfGroups

        transformation = candidate.transformation
        return [
            SharesOfGroups(
                table=candidate.counts,
                grouping=grouping,
                column=transformation.layout.index(self.column),
                present=transformation.binning(self.column).present,
                meets=self.counted_bins(candidate, setting),
            )
            for grouping in groupings(self.by, self.overall, transformation, setting)
        ]

    def counted_bins(self, candidate: SyntheticTable, setting: Setting) -> np.ndarray | None:
        """Return an (n_bins,) mask of the bins that the share counts, or None for the cumulative shares at every bin."""
        return None

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        """Return, for every compared share, an (n_bins,) mask of the released bins that it counts."""
        raise NotImplementedError

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        pairs = product(self.bins_of_shares(facts), self.groups_in(facts))
        return [
            Sums(columns=columns, weights=np.stack([inside * bins, inside * ~bins]).astype(np.int64))
            for bins, (columns, inside) in pairs
        ]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Return a lower limit on the bound: h / n, if noise leaves the numbers of counted and of other rows of a group
        uncertain by at least +-h.
        """
        return max(float(width.min()) for width in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        groups = [rows_of_group(columns, inside, facts) for columns, inside in self.groups_in(facts)]
        if not all(rows.any() for rows in groups):
            return math.nan
        shares = product(self.bins_of_shares(facts), groups)
        errors = (
            furthest_share(limit, int(rows[bins].sum()), int(rows.sum()))
            for limit, (bins, rows) in zip(limits, shares, strict=True)
        )
        return max(errors, default=0.0)


Shares = TypeVar("Shares", bound=SharesInGroups)


class SharesInGroupsExplained(InGroupsExplained[Shares]):
    """Explain a limit on the largest error of a share within a group of rows."""

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of a group"

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float:
        return 1 / self.about.rows_of_smallest_group(n, setting)

    def public_sensitivity(self, facts: PublicFacts) -> float:
        return 1 / max(1, self.smallest(facts))

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float | None:
        """Return a limit on how much the error of a share changes because the release uses a random subset, or None if a
        group is empty.

        It changes at most as much as the share of counted or of other rows of the group among all rows, divided by the
        group's part of the release.
        """
        smallest = self.smallest(facts)
        if not smallest:
            return None
        return self.drawn_shares(drawing, facts, len(self.about.bins_of_shares(facts))) * facts.n / smallest

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Return the bounds |a_g - p_g n_g| <= limit m_g for every group and share."""
        shares, errors = self.about.bins_of_shares(facts), []
        for columns, inside in self.about.groups_in(facts):
            rows = rows_of_group(columns, inside, facts)
            most = float(rows.sum())
            if most:
                weights = [(bins - float(rows[bins].sum()) / most) * inside for bins in shares]
                both_ways = tuple(sign * weight for weight in weights for sign in (1, -1))
                errors.append(SumError(columns=columns, weights=both_ways, most=(limit * most,) * len(both_ways)))
        return SumErrors(sums=tuple(errors), criterion=self.about.name)

    def share_in_words(self, index: int, candidate: SyntheticTable) -> str:
        raise NotImplementedError

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        def furthest_of(shares: SharesOfGroups) -> tuple[float, Offender]:
            errors = shares.errors(public.counts)
            group, column = (int(index) for index in np.unravel_index(errors.argmax(), errors.shape))
            released, original = (
                share(int(hits[group, column]), int(rows[group, 0]))
                for rows, hits in (shares.released, shares.of(public.counts))
            )
            part = f"{self.share_in_words(column, candidate)} among {shares.grouping.where(group)}"
            return float(errors.max()), Offender(where=part, released=released, original=original)

        return max(map(furthest_of, self.about.of_candidate(candidate, setting)), key=lambda error: error[0])[1]


# A median describes one point of a distribution. The Kolmogorov distance is the largest error of a cumulative share over the
# upper limits of all released bins (theory 3.14, Kolmogorov distance). So it compares the whole distribution of a number in
# each group, and therefore every quantile.


@reads_members
class KolmogorovDistance(SharesInGroups):
    """The largest error of a cumulative share, such as the share of incomes up to 2,000, over all groups and bins: max over
    groups g and bins t of |a_gt - p_gt n_g| / m_g. Of the n_g private rows of a group, a_gt are at or below t. Of its m_g
    released rows, a share p_gt are at or below t.

    Only rows with a value of the column count. The value is the Kolmogorov distance of the two distributions within the
    group times n_g / m_g, and equal to the distance if the size of the group is right. At a distance d, every quantile q of
    the original lies between the quantiles q - d and q + d of the release, up to the width of a bin. With wide released
    bins, the distributions are compared at fewer points.

    Privacy
    -------
    The sensitivity is 1 / min m_g under replacing one of n rows, where n and the candidate are public. For one g and t, a
    private row of g adds (1 - p_gt)/m_g if it lies at or below t, and -p_gt/m_g otherwise. A row outside of g or without a
    value adds 0. All these values are in an interval of length 1/m_g, so one replaced record moves the sum by at most
    1/m_g. The maximum keeps the sensitivity (theory 3.0, maxima), however many bins there are. Nothing is divided by a
    private size. The criterion value is a quotient of whole numbers, rounded as in `difference_in_proportions`.

    Attributes
    ----------
    column : the column whose distributions are compared, with ordered bins. Example: `column = "income"`.
    by : the columns to group by, each separately. The groups are the column's bins of [groups] or, without these, its own
        bins. Example: `by = ["age", "sex"]`.
    overall : if true, the distribution over all rows is also compared. Example: `overall = false`, `by = ["age"]`.

    Examples
    --------
    >>> judged = KolmogorovDistance(
    ...     name="income", kind="kolmogorov_distance", column="income", by=["age"], threshold=0.03, epsilon="0.01"
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    kind: Literal["kolmogorov_distance"]

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        return self.column_mistakes(setting, ordered=True)

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        """Return a mask of each released bin of values except the last, with all bins below it."""
        column = facts.by_name[self.column]
        return [np.arange(len(column.labels)) <= last for last in range(max(1, column.present - 1))]


class KolmogorovDistanceExplained(SharesInGroupsExplained[KolmogorovDistance]):
    """Explain a limit on the largest error of a cumulative share within a group of rows."""

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "The largest difference between released and original share of rows up to some value of "
            f"{words(self.about.column)} (Kolmogorov distance), {self.over(facts)}. {_COUNTED}"
        )

    def share_in_words(self, index: int, candidate: SyntheticTable) -> str:
        return f"{words(self.about.column)} up to {candidate.transformation.binning(self.about.column).labels[index]}"


# In a small group, a small error of a cell is a large error of its share within the group. A difference in proportions compares
# the shares themselves, such as P(hospital | diabetes) (theory 3.12, difference in proportions).


@reads_members
class DifferenceInProportions(SharesInGroups):
    """The largest error of the share of rows that meet a condition, such as the share of patients in hospital, over all
    groups: max over groups g of |a_g - p_g n_g| / m_g. Of the n_g private rows of a group, a_g meet the condition. Of its
    m_g released rows, a share p_g meets the condition.

    Only rows with a value of the column count. The value is the error of the share times n_g / m_g, and equal to the error
    if the size of the group is right. A risk difference of two groups then has at most the sum of their errors.

    Privacy
    -------
    The sensitivity is 1 / min m_g. Both p_g and m_g come from the candidate, so they are public. A private row of g adds (1
    - p_g)/m_g if it meets the condition, and -p_g/m_g otherwise. A row outside of g or without a value adds 0. All these
    values are in an interval of length 1/m_g, so one replaced record moves the sum by at most 1/m_g. The maximum keeps the
    sensitivity (theory 3.0, maxima). Nothing is divided by a private size. The criterion value is the whole number a_g m_g
    - (p_g m_g) n_g, which is exact for any size, divided by m_g^2. The quotient is at most n / m_g and has a relative error
    of at most 2^-51. This is at most 4 n 2^-53 of the sensitivity, which is below a quarter of a grid step up to 2^40 rows
    (`laplace_figure`).

    Attributes
    ----------
    column : the column to which the condition applies. Example: `column = "hospital"`.
    bins : the labels of the bins that meet the condition: the column's bins of [groups] or, without these, bins that every
        alternative has. Example: `bins = ["yes"]`.
    by : the columns to group by, each separately. The groups are the column's bins of [groups] or, without these, its own
        bins. Example: `by = ["diabetes"]`.
    overall : if true, the share among all rows is also compared. Example: `overall = false`, `by = ["diabetes"]`.

    Examples
    --------
    >>> judged = DifferenceInProportions(
    ...     kind="difference_in_proportions", name="hospital", threshold=0.03, epsilon="0.01",
    ...     column="hospital", bins=["yes"], by=["age"]
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    kind: Literal["difference_in_proportions"]
    bins: tuple[str, ...] = Field(min_length=1)

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        return self.column_mistakes(setting) or condition_mistakes(setting, "bins", self.column, self.bins)

    def bins_of_shares(self, facts: PublicFacts) -> list[np.ndarray]:
        column = facts.by_name[self.column]
        groups = facts.groups.get(self.column) or [
            Group(label=label, inside=tuple(label == other_label for other_label in column.labels)) for label in column.labels
        ]
        named = [group.inside for group in groups if group.label in self.bins]
        return [np.asarray(np.array(named, dtype=bool).reshape(len(named), len(column.labels)).any(axis=0))]

    def counted_bins(self, candidate: SyntheticTable, setting: Setting) -> np.ndarray:
        return condition(candidate.transformation.binning(self.column), setting.groups.get(self.column), self.bins)


class DifferenceInProportionsExplained(SharesInGroupsExplained[DifferenceInProportions]):
    """Explain a limit on the largest error of the share of rows that meet a condition, within a group of rows."""

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The largest difference between released and original share of rows with {words(self.about.column)} "
            f"{in_words(self.about.bins)}, {self.over(facts)}. {_COUNTED}"
        )

    def share_in_words(self, index: int, candidate: SyntheticTable) -> str:
        return f"{words(self.about.column)}={in_words(self.about.bins)}"
