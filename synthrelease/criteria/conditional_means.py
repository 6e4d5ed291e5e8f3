"""Conditional means: the largest error of a column's mean over groups of other columns (paper 4.5.3).

Theory 3.3, conditional means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria.base import Criterion, Mistake, Query, Setting, not_inside, unknown_columns, unnumbered
from synthrelease.criteria.fitted import Fitted
from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.randomness import noise_grid

MOST_ROWS = 2**30
"""Of a private table (docs/known-limitations.md): the sensitivity of a mean is at least the width of its range over this."""


class ConditionalMean(Criterion):
    """max over groups v of |resized mean_R(column | v) - mean_S(column | v)|.

    Attributes
    ----------
    column : the column that is averaged, by the numbers of its bins, clipped to `range`. Example: `column = "birth_weight"`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column.
        Example: `by = ["age", "sex"]`.
    overall : whether the mean of all rows counts, too. Example: `overall = false`, `by = ["age"]`.
    range : [lowest, highest]; numbers of the column beyond it count as its ends. The noise grows with its width.
        Example: `range = [1400, 4600]`.
    size_margin : public bound T on the error of a group's share of the rows; the resize parameter of group v is
        m_v = max(1, count_S(v) - ceil(n T)). The threshold of the absolute marginal error is the natural choice: a larger
        margin means more noise in small groups, a smaller one that means of groups with fewer private rows are pulled to the
        middle of the range. Example: `size_margin = 0.01`.

    Privacy
    -------
    Sensitivity (U - L) / min_v m_v. The resized mean of a group is sum/len when len >= m, else
    (sum + (m - len) w) / m with w the middle of the range; it moves by at most (U - L)/m when one value is added, removed
    or replaced (theory 3.3, conditional means), and one replaced record does one of these to each group. Groups and m_v come
    from the candidate and n, so they are public. The maximum keeps the sensitivity (Proposition 3).

    Rounding: a value enters as its bin's distance from the middle of the range, a public number that is a function of the bin
    alone and at most (U - L)/2 (but for 2^-53 of it); w is then 0. The number of rows of a group in each bin is an exact
    integer, products with it are off by 2^-53 of themselves, and their sum is correctly rounded in whatever order
    (math.fsum). So the figure is off by less than `mean_error`, however far from 0 the range lies; a range for which that
    is above a quarter of a grid step at some number of rows is refused.
    """

    kind: Literal["conditional_mean"]
    column: str
    by: tuple[str, ...] = ()
    overall: bool = True
    range: tuple[float, float]
    size_margin: float = Field(ge=0, lt=1)

    @property
    def figure_range(self) -> tuple[float, float]:
        return 0.0, self.range[1] - self.range[0]

    @model_validator(mode="after")
    def _usable(self) -> ConditionalMean:
        if not self.range[0] < self.range[1]:
            raise ValueError("range must be [lowest, highest] with lowest < highest")
        lowest, highest = self.range
        width = highest - lowest
        step = noise_grid(width / MOST_ROWS).step if 1e-200 < width < math.inf else math.nan
        if not mean_error(lowest, highest) <= step / 4:
            raise ValueError(
                "range must have a width that floating-point numbers can tell the means of: neither tiny nor infinite"
            )
        if not self.by and not self.overall:
            raise ValueError("there must be a group-by column, or overall = true")
        return self

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        unknown = [*unknown_columns(setting.schema, "column", [self.column])]
        unknown += unknown_columns(setting.schema, "by", self.by)
        if unknown:
            return unknown
        found = [*unnumbered(setting, "column", self.column)]
        for column in self.by:
            if column in setting.groups:
                found += not_inside(setting, "by", column, setting.groups[column])
        return found

    def query(self, n: int, candidate: Candidate, setting: Setting, fitted: Fitted) -> Query:
        lowest, highest = self.range
        groups = self._groups(candidate, setting)
        numbers = np.clip(candidate.transformation.numbers(self.column), lowest, highest) - middle(lowest, highest)
        column = candidate.transformation.layout.index(self.column)
        synthetic = [_sums(candidate.counts, column, numbers, group) for group in groups]
        margin = math.ceil(self.size_margin * candidate.n)
        sizes = [np.maximum(1, counts - margin) for counts, _ in synthetic]
        void = any((counts == 0).any() for counts, _ in synthetic)  # an empty group has no mean
        targets = [resized_means(counts, sums, np.ones_like(counts)) for counts, sums in synthetic]
        sensitivity = (highest - lowest) / min(int(size.min()) for size in sizes)

        def figure(counts: Counts) -> float:
            worst = 0.0
            for group, size, target in zip(groups, sizes, targets, strict=True):
                means = resized_means(*_sums(counts, column, numbers, group), size)
                worst = max(worst, float(np.abs(means - target).max()))
            return worst

        return Query(sensitivity=sensitivity, figure=figure, void=void)

    def _groups(self, candidate: Candidate, setting: Setting) -> list[tuple[int, np.ndarray]]:
        """(column index, group of every bin) for each grouping; all bins in group 0 for the overall mean."""
        layout, groups = candidate.transformation.layout, []
        for name in self.by:
            binning = candidate.transformation.binning(name)
            into = binning.map_to(setting.groups[name]) if name in setting.groups else np.arange(len(binning))
            groups.append((layout.index(name), np.asarray(into)))
        if self.overall:
            groups.append((0, np.zeros(layout.sizes[0], dtype=np.int64)))
        return groups


def _sums(table: Counts, column: int, numbers: np.ndarray, group: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(n_groups,) counts, exact, and sums of the numbers, correctly rounded sums of products that are."""
    by, into = group
    n_groups, n_bins = int(into.max()) + 1, len(numbers)
    places = into[table.digits(by)] * n_bins + table.digits(column)
    cells = Counts(Layout(columns=("group", "bin"), sizes=(n_groups, n_bins)), places, table.counts)
    members, bins = np.divmod(cells.codes, n_bins)
    counts = np.bincount(members, weights=cells.counts, minlength=n_groups).astype(np.int64)
    products, ends = cells.counts * numbers[bins], np.searchsorted(members, np.arange(n_groups + 1)).tolist()
    return counts, np.array([math.fsum(products[start:stop].tolist()) for start, stop in pairwise(ends)])


def resized_means(counts: np.ndarray, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Deterministic resized mean of every group: short groups are filled up with 0, the middle of the range.

    Theory 3.3, conditional means.
    """
    return sums / np.maximum(counts, sizes)


def middle(lowest: float, highest: float) -> float:
    """A public number in the middle of a range, that means are computed around."""
    return lowest + (highest - lowest) / 2


def mean_error(lowest: float, highest: float) -> float:
    """How far rounding moves the difference of two resized means of values in a range, at most.

    A mean is at most half the width from the middle; the products behind it, their sum, the quotient and the difference are
    each rounded once, by 2^-53 of the width at most.
    """
    return 8 * 2.0**-53 * (highest - lowest)
