"""Define criteria that compare means, medians or other quantiles of a column within groups of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import OF_BINS, unnumbered
from synthrelease.criteria.facts import (
    MeanError,
    Offender,
    PublicCounts,
    PublicFacts,
    Query,
    SumError,
    SumErrors,
    figure,
    in_words,
    words,
)
from synthrelease.criteria.groupings import InGroups, InGroupsExplained, furthest_mean, groupings, most_beyond, rows_of_group
from synthrelease.criteria.measured import Limits, Sums
from synthrelease.criteria.members import reads_members
from synthrelease.data.counts import Counts
from synthrelease.data.schema import FINEST, in_steps
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected, so_many
from synthrelease.privacy.grids import MOST_ROWS, noise_grid
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.criteria.groupings_mechanism import RowsOfGroups, Windows
    from synthrelease.generators.drawing import Drawing


def quantile_bins(rows: Counts, present: int, q: Fraction) -> np.ndarray:
    """Return the (n_groups,) bin of each group's q-quantile: the lowest bin such that at least a share q of the group's
    rows with a value lie there or below; -1 for a group without rows. `present` is the number of bins with values.
    """
    n_groups, n_bins = rows.layout.sizes
    groups, bins = np.divmod(rows.codes, n_bins)  # sorted by group and bin
    valued = bins < present
    groups, bins, reached = groups[valued], bins[valued], np.cumsum(rows.counts[valued])
    ends = np.searchsorted(groups, np.arange(n_groups + 1))  # where each group begins, and the end of the last one
    before = np.append(0, reached)[ends]
    least = np.array([max(1, math.ceil(q * int(total))) for total in np.diff(before)], dtype=np.int64)
    place = np.searchsorted(reached, before[:-1] + least)
    return np.where(np.diff(before) > 0, np.append(bins, -1)[place], -1)


@reads_members
class ConditionalMean(InGroups):
    """The largest error of the mean of a column, such as the mean income of an age group, over all groups: the maximum over
    groups v of |resized mean_R(column | v) - mean_S(column | v)| (paper 4.5.3; theory 3.3, conditional means).

    mean_S is computed from the representative values of the released bins, mean_R from the exact private values.

    Privacy
    -------
    The sensitivity is (U - L) / min_v m_v. The resized mean of a group is sum/len if len >= m, else (sum + (m - len) w) /
    m, where w is the middle of the range. The resized mean moves by at most (U - L)/m when one value is added, removed or
    replaced (theory 3.3, conditional means). One replaced record adds, removes or replaces at most one value in each group,
    even if the new record lacks a value. Rows without a value of the column or of the grouping column are in no group.
    Groups and m_v come from the candidate and n, so they are public. The maximum keeps the sensitivity (Proposition 3).

    Rounding: a value counts as its difference from the middle of the range. This difference is a public function of the
    atomic bin of the value, and at most (U - L)/2 up to a relative error of 2^-53; w is then 0. The number of rows of a
    group in each bin is an exact integer, products with it have relative errors of at most 2^-53, and their sum is
    correctly rounded in any order (math.fsum). So the error of the criterion value is below `mean_error`, which is 2^-50 of
    the width. The sensitivity is at least the width / n, and a grid step is above 2^-(b + 1) of that, where b = 12 up to
    2^35 rows and n 2^b <= 2^47 up to 2^40 rows (`grid_bits`). So a quarter of a step is above 2^-50 of the width. Too
    narrow or too wide ranges are refused.

    Attributes
    ----------
    column : the column whose means are compared. Example: `column = "birth_weight"`.
    values : "own" uses the exact values of the private rows, on the grid of the column (`step`). "bins" uses the
        representative values of the released bins, as Hod & Canetti (2024) do, and does not detect errors within a bin.
        Example: `values = "bins"`.
    by : the columns to group by, each separately. The groups are the column's bins of [groups] or, without these, its own
        bins. Example: `by = ["age", "sex"]`.
    overall : if true, the mean of all rows is also compared. Example: `overall = false`, `by = ["age"]`.
    range : the lowest and the highest value, to which values are clipped. The noise grows with the width of the range.
        Example: `range = [500, 5500]`.
    size_margin : a public bound T on the error of the share of rows in a group. Group v of the private rows is resized to
        m_v = max(1, count_S(v) - ceil(n T)) rows, where S is the released table. Choose T as the threshold of the criterion
        absolute_marginal_error. A larger T means more noise in small groups. A smaller T moves the mean of a group with few
        private rows towards the middle of the range. Example: `size_margin = 0.01`.

    Examples
    --------
    >>> judged = ConditionalMean(
    ...     kind="conditional_mean", name="income", threshold=5, epsilon="0.01", column="income",
    ...     range=[0, 900], by=["age"], size_margin=0.01
    ... )
    >>> judged.own_values_of
    ('income',)
    """

    kind: Literal["conditional_mean"]
    range: tuple[float, float]
    size_margin: float = Field(ge=0, lt=1)
    values: Literal["own", "bins"] = "own"

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings_mechanism import furthest_mean_of_groups, resized_means

        lowest, highest = self.range
        groups = groupings(self.by, self.overall, candidate.transformation, setting)
        rows = self.rows(candidate)
        synthetic = [rows.of_released(candidate.counts, group) for group in groups]
        margin = math.ceil(self.size_margin * candidate.n)
        sizes = [np.maximum(1, counts - margin) for counts, _ in synthetic]
        void = any((counts == 0).any() for counts, _ in synthetic)  # a group without rows has no mean
        targets = [resized_means(counts, sums, np.ones_like(counts)) for counts, sums in synthetic]
        sensitivity = (highest - lowest) / min(int(size.min()) for size in sizes)

        figure = partial(furthest_mean_of_groups, rows=rows, groups=groups, sizes=sizes, targets=targets)
        return Query(sensitivity=sensitivity, figure=figure, void=void)

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return (self.column,) if self.values == "own" else ()

    @property
    def worst_figure(self) -> float:
        return self.range[1] - self.range[0]

    def rows(self, candidate: SyntheticTable) -> RowsOfGroups:
        from synthrelease.criteria.groupings_mechanism import RowsOfGroups

        return RowsOfGroups(
            column=self.column,
            transformation=candidate.transformation,
            range=self.range,
            centre=middle(*self.range),
            own=self.values == "own",
        )

    def contradictions(self) -> Iterator[str | Unexpected]:
        yield from super().contradictions()
        check_range(self.range)

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        wrong = self.column_mistakes(setting)
        if self.answered_by is not None and self.values == "own":
            wrong.append(Mistake("answered_by", OF_BINS))
        return [*unnumbered(setting, "column", self.column), *wrong] if self.column in setting.schema.names else wrong

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Return, for every group, its number of rows and the sum of (value - middle of the range), in whole steps of a
        fine grid.
        """
        numbers = self._in_steps(facts)[0]
        groups = self.groups_in(facts)
        return [Sums(columns=names, weights=np.stack([inside, inside * numbers]).astype(np.int64)) for names, inside in groups]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Return a lower limit on the bound: the largest h / n, if noise leaves the sum of a group's values uncertain by
        +-h.
        """
        step = (self.range[1] - self.range[0]) / FINEST
        return max(float(width[1]) for width in widths) * step / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        lowest, highest = self.range
        moved, step = self._in_steps(facts)[1], (highest - lowest) / FINEST
        numbers = np.array([0.0 if number is None else number for number in facts.by_name[self.column].numbers])
        numbers = np.clip(numbers, lowest, highest) - middle(lowest, highest)
        margin, worst = math.ceil(self.size_margin * facts.n), 0.0
        for (columns, inside), limit in zip(self.groups_in(facts), limits, strict=True):
            rows = rows_of_group(columns, inside, facts)
            total = int(rows.sum())
            if not total:
                return math.nan
            target = math.fsum((rows * numbers).tolist()) / total
            worst = max(worst, furthest_mean(limit, step, max(1, total - margin), target, (highest - lowest) / 2))
        return worst + moved

    def _in_steps(self, facts: PublicFacts) -> tuple[np.ndarray, float]:
        return in_steps(facts.by_name[self.column].numbers, *self.range, middle(*self.range))


def check_range(ends: tuple[float, float]) -> None:
    """Raise ValueError unless the range is increasing, and wide enough for floating-point numbers."""
    lowest, highest = ends
    if not lowest < highest:
        raise ValueError("range must be [lowest, highest], with lowest < highest")
    width = highest - lowest
    step = noise_grid(width / MOST_ROWS, MOST_ROWS).step if 1e-200 < width < math.inf else math.nan
    if not mean_error(lowest, highest) <= step / 4:
        raise ValueError("range is too narrow or too wide. Floating-point numbers must be able to distinguish the means in it")


def middle(lowest: float, highest: float) -> float:
    return lowest + (highest - lowest) / 2


def mean_error(lowest: float, highest: float) -> float:
    """Return an upper limit on the rounding error of the difference of two resized means.

    Products, their sum, the quotient and the difference are each rounded once, with an error of at most 2^-53 of the width.
    """
    return 8 * 2.0**-53 * (highest - lowest)


class ConditionalMeanExplained(InGroupsExplained[ConditionalMean]):
    """Explain a limit on the largest error of a mean within a group of rows."""

    def figure_unit(self, facts: PublicFacts) -> str:
        return facts.unit(self.about.column)

    def sentence(self, facts: PublicFacts) -> str:
        low, high = self.about.range
        name = words(self.about.column)
        means = f"the released and the original mean of {name}, both from the representative values of bins"
        if self.about.values == "own":
            means = f"the released mean of {name}, from the representative values of bins, and the original mean, from exact "
            means += "values"
        return (
            f"The largest difference between {means}, {self.over(facts)}. Values are limited to {in_words(low)} to "
            f"{in_words(high)}{facts.grid_of(self.about.own_values_of)}; rows without a value do not count."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        lowest, highest = self.about.range
        return (highest - lowest) / max(1, self.smallest(facts) - math.ceil(self.about.size_margin * facts.n))

    def known_error(self, limit: float, facts: PublicFacts) -> MeanError:
        return MeanError(
            most=limit,
            column=self.about.column,
            by=self.about.by,
            overall=self.about.overall,
            lowest=self.about.range[0],
            highest=self.about.range[1],
            size_margin=self.about.size_margin,
            values=self._value_limits(facts),
            criterion=self.about.name,
        )

    def _value_limits(self, facts: PublicFacts) -> tuple[np.ndarray, np.ndarray]:
        column = facts.by_name[self.about.column]
        numbers = np.array(column.numbers[: column.present], dtype=float)
        low, high = column.value_limits if self.about.values == "own" else (numbers, numbers)
        return np.clip(low, *self.about.range), np.clip(high, *self.about.range)

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float:
        smallest = self.about.rows_of_smallest_group(n, setting) - math.ceil(n * self.about.size_margin)
        return (self.about.range[1] - self.about.range[0]) / max(1, smallest)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        values, centre = self.about.rows(candidate), middle(*self.about.range)
        offenders = []
        for grouping in groupings(self.about.by, self.about.overall, candidate.transformation, setting):
            ours, original_means = (
                sums / np.maximum(rows, 1) + centre
                for rows, sums in (values.of_released(candidate.counts, grouping), values.of_original(public.counts, grouping))
            )
            worst = int(np.abs(ours - original_means).argmax())
            part = f"mean {words(self.about.column)}, {grouping.where(worst)}"
            released, original = (figure(float(means[worst])) for means in (ours, original_means))
            error = abs(float(ours[worst] - original_means[worst]))
            offenders.append((error, Offender(where=part, released=released, original=original)))
        return max(offenders, key=lambda error_and_words: error_and_words[0])[1]


# Stakeholders ask for medians. A mean bounds a median only for distributions without a large share at one end (theory 3.11,
# conditional medians).

_FINEST = 10_000  # Quantiles are multiples of 1 / `_FINEST`


@reads_members
class ConditionalMedian(InGroups):
    """The largest excess of private rows on one side of a window of bins around the released median (or other quantiles) of
    a column, over all groups, as a share of all rows. The value is max over groups g and quantiles q of max(B - q n_g, A -
    (1 - q) n_g) / n. Of the n_g private rows of g, B lie more than `within` bins below the released quantile, and A more
    than `within` bins above.

    Let t be the bin of the (lower) q-quantile of group g in the candidate. The window is the bins t - within to t + within.
    The value is at most 0 if and only if, for every g and q, a q-quantile of the private rows lies in the window.

    Privacy
    -------
    The sensitivity is 1/n. Groups and windows come from the candidate, so they are public. A private row of g adds 1 - q to
    B - q n_g if it lies below the window, and -q otherwise. A row outside of g or without a value of the column adds 0.
    These three numbers are in [-q, 1 - q], so a replaced record moves the sum by at most 1. The same holds for A - (1 - q)
    n_g. The maximum keeps the sensitivity (theory 3.0, maxima). Nothing is divided by a private size, so small groups do
    not need more noise. With q = a/b, the criterion value is a whole number over b n, rounded once.

    Attributes
    ----------
    column : the column whose medians are compared, with ordered bins. Example: `column = "income"`.
    by : the columns to group by, each separately. The groups are the column's bins of [groups] or, without these, its own
        bins. Example: `by = ["age", "sex"]`.
    overall : if true, the quantiles of all rows are also compared. Example: `overall = false`, `by = ["age"]`.
    within : how many bins the private quantile may lie from the released quantile; 0 requires the same bin. Example:
        `within = 1`.
    quantiles : the compared quantiles, each between 0 and 1. Example: `quantiles = [0.25, 0.5, 0.75]`.

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
    kind: Literal["conditional_median"]
    within: int = Field(default=0, ge=0)
    quantiles: tuple[float, ...] = Field(default=(0.5,), min_length=1, max_length=20)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.groupings_mechanism import largest_excess

        windows = self._windows(candidate, setting)
        return Query(
            sensitivity=1 / n, figure=partial(largest_excess, windows=windows, n=n), void=any(window.void for window in windows)
        )

    def contradictions(self) -> Iterator[str | Unexpected]:
        yield from super().contradictions()
        if not all(0 < q < 1 and (Fraction(str(q)) * _FINEST).denominator == 1 for q in self.quantiles):
            yield "Quantiles must be above 0 and below 1, with at most four decimals"

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        return self.column_mistakes(setting, ordered=True)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Return two sums for every group, quantile q and bin t: the rows below t minus q times all rows of the group, and
        the rows above t minus (1 - q) times all. Both are multiplied by the denominator of q, so that weights are whole
        numbers.
        """
        bins, sums = np.arange(len(facts.by_name[self.column].labels)), list[Sums]()
        edges = np.arange(-1, len(bins) + 1)[:, None]
        for columns, inside in self.groups_in(facts):
            weights = list[np.ndarray]()
            for q in self._exact_quantiles:
                below, above = (bins < edges) * q.denominator - q.numerator, (bins > edges) * q.denominator
                above = above - (q.denominator - q.numerator)
                weights += [inside * beyond.reshape(-1, *[1] * (inside.ndim - 1), len(bins)) for beyond in (below, above)]
            sums.append(Sums(columns=columns, weights=np.concatenate(weights).astype(np.int64)))
        return sums

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        worst = self.best_figure * facts.n
        for (columns, inside), limit in zip(self.groups_in(facts), limits, strict=True):
            rows = rows_of_group(columns, inside, facts)
            excess = list(most_beyond(limit, rows, self._exact_quantiles, self.within))
            if any(map(math.isnan, excess)):
                return math.nan
            worst = max(worst, *excess)
        return worst / facts.n

    @property
    def _exact_quantiles(self) -> list[Fraction]:
        return [Fraction(str(number)) for number in self.quantiles]

    def _windows(self, candidate: SyntheticTable, setting: Setting) -> list[Windows]:
        from synthrelease.criteria.groupings_mechanism import Windows, rows_of_bins

        transformation = candidate.transformation
        column, present = transformation.layout.index(self.column), transformation.binning(self.column).present
        windows = []
        for grouping in groupings(self.by, self.overall, transformation, setting):
            rows = rows_of_bins(candidate.counts, column, grouping, transformation.layout.sizes[column])
            window = partial(Windows, grouping=grouping, column=column, present=present, within=self.within)
            windows += [window(q=q, middle=quantile_bins(rows, present, q)) for q in self._exact_quantiles]
        return windows


class ConditionalMedianExplained(InGroupsExplained[ConditionalMedian]):
    """Explain the excess of original rows beyond the windows around the released quantiles, as a share of all rows."""

    def sentence(self, facts: PublicFacts) -> str:
        which = "median" if self.about.quantiles == (0.5,) else f"quantile ({in_words(self.about.quantiles)})"
        within = self.about.within
        near = f"the bin of the released {which}" + f", or at most {so_many(within, 'bin')} from it" * bool(within)
        return (
            f"Whether the original {which} of {words(self.about.column)} lies in {near}, {self.over(facts)}. The value is the "
            "largest surplus of original rows below or above these bins, as a share of all rows. At 0 or less, every original "
            f"{which} lies in these bins. Only rows with a value count."
        )

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        """Return a limit on how much the excess of rows beyond a window changes because the release uses a random subset:
        at most as much as one share of all rows.
        """
        return self.drawn_shares(drawing, facts, facts.by_name[self.about.column].present)

    def known_error(self, limit: float, facts: PublicFacts) -> SumErrors:
        """Return the limits B - q n_g <= n * limit and A - (1 - q) n_g <= n * limit for every group and quantile q."""
        errors = []
        for columns, inside in self.about.groups_in(facts):
            reached, weights = np.cumsum(rows_of_group(columns, inside, facts)), list[np.ndarray]()
            bins = np.arange(len(reached))
            for q, exact in zip(self.about.quantiles, self.about._exact_quantiles, strict=True):
                middle = int(np.searchsorted(reached, math.ceil(exact * int(reached[-1]))))
                below, above = bins < middle - self.about.within, bins > middle + self.about.within
                weights += [(below - q) * inside, (above - (1 - q)) * inside]
            errors.append(SumError(columns=columns, weights=tuple(weights), most=(facts.n * limit,) * len(weights)))
        return SumErrors(sums=tuple(errors), criterion=self.about.name)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        labels = candidate.transformation.binning(self.about.column).labels

        def words_of(window: Windows) -> tuple[float, Offender]:
            excess = window.excess(public.counts)
            group = int(excess.argmax())
            original_bins = quantile_bins(window.rows(public.counts), window.present, window.q)[group]
            released, original = (
                labels[int(index)] if index >= 0 else "no rows" for index in (window.middle[group], original_bins)
            )
            part = f"{words(self.about.column)}, quantile {float(window.q):g}, {window.grouping.where(group)}"
            return excess[group] / window.q.denominator, Offender(where=part, released=released, original=original)

        return max((words_of(window) for window in self.about._windows(candidate, setting)), key=lambda error: error[0])[1]
