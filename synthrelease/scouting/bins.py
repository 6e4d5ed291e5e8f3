"""Choose the bins of a draft from the noisy tables of a scout.

Bins of numeric columns have round limits and about equal numbers of rows. Frequent codes have bins of their own. All
choices are post-processing of noisy counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from synthrelease.data.dates import ISO, DateFormat
from synthrelease.scouting.columns import (
    EMPTY,
    FULL,
    LONGEST_SPAN,
    MOST_PERIODS,
    PERIODS,
    ROUND,
    ScoutedColumn,
    days_between,
    fillers_from,
)

MASS, ALONE, LEAST = 1 / 8, 0.03, 0.04
"""Shares of all rows: the share in a usual bin of numbers, the least share of a 0 that gets a bin of its own, and the share in
the smallest usual bin.
"""
FEW_NUMBERS, TAIL = 1 / 5, 0.02
"""Shares of the rows with a number other than a frequent 0: the share in a usual bin if there are few such rows, and the
share in the smallest outermost bin.
"""
FEW_BINS = 3
"""If 0 is frequent, the other numbers get up to this number of bins, even if these bins have fewer rows than a usual bin.
There are fewer bins if the noise does not allow them.
"""
NOISE_OF_BIN, NOISE_OF_CODE, FEW_CODES, RARE_CODE, SURE = 5, 3, 12, 0.01, 2.33
"""Five limits for bins. The smallest count of a bin and of a code, in standard deviations of the noise. The number of codes up
to which every code gets a bin. If there are more codes, the share of the rows that a code needs for a bin. The 99% quantile of
the noise in standard deviations, by which the noisy count of a code may be lower.
"""


@dataclass(frozen=True, kw_only=True)
class ScoutedBins:
    """The bins of a column in a draft, chosen from the noisy counts that a scout published.

    Attributes
    ----------
    edges : the lower edges of the bins of a numeric column, and the upper edge of its last bin; otherwise empty.
    numbers : the mean of each bin of a numeric column, computed from noisy counts.
    codes : the codes, strings or periods with a bin of their own; all others share one bin. Empty for numeric columns.
    days : for a column of dates in which single days have few rows, the period to which each day belongs; otherwise empty.
    fillers : whether the last bin, which ends at a power of ten above a gap, may contain codes such as 98 or 9999.
    gaps : the noisy number of rows without a value or, in a numeric column, with a string that is not a number.
    """

    column: ScoutedColumn
    edges: tuple[Fraction, ...] = ()
    numbers: tuple[float, ...] = ()
    codes: tuple[str, ...] = ()
    days: Mapping[str, str] = field(default_factory=dict)
    fillers: bool = False
    gaps: int = 0

    @property
    def n_bins(self) -> int:
        """The number of bins, with the shared bin of other codes, but without the bin for missing values."""
        return len(self.edges) - 1 if self.column.kind == "number" else len(self.codes) + 1

    def groups(self, found: Sequence[str] = ()) -> np.ndarray:
        """Return the (n_finest_bins,) bin of the draft that contains each finest bin.

        In a numeric column, strings that are not numbers are in the bin of missing values.

        Parameters
        ----------
        found : the published categories of a column that has no list of codes.
        """
        column = self.column
        if column.kind == "number":
            return np.clip(column.groups(self.edges[:-1]), 0, self.n_bins)
        listed = tuple(column.codes) or tuple(found)
        place = {code: index for index, code in enumerate(self.codes)}
        return np.array([*(place.get(self.days.get(code, code), len(place)) for code in listed), len(place), len(place) + 1])


def code_bins(column: ScoutedColumn, counts: Mapping[str, int], gaps: int, *, rows: int, deviation: float) -> ScoutedBins:
    """Choose the bins of a column of codes or strings from its noisy counts.

    Up to 12 codes have a bin each; of more codes, only frequent ones: a code with 1% of the rows gets a bin in 99% of
    scouts, if these rows are at least 5.4 standard deviations of the noise. Many days are merged into the shortest period
    (weeks, months, quarters or years) with at most 16 periods and an average count of at least 5 standard deviations of the
    noise.

    Parameters
    ----------
    gaps : the noisy number of rows without a value.
    rows : the number of rows of the file.
    deviation : the standard deviation of the noise of a count.
    """
    days = column.days or _periods(counts, deviation)
    few = len(column.codes or counts) <= FEW_CODES
    least = -np.inf if few else max(RARE_CODE * rows - SURE * deviation, NOISE_OF_CODE * deviation)
    codes = [code for code, count in counts.items() if count > least and code not in days]
    return ScoutedBins(column=column, codes=tuple(dict.fromkeys((*days.values(), *codes))), days=days, gaps=gaps)


def _periods(counts: Mapping[str, int], deviation: float) -> dict[str, str]:
    """Return the ISO week, month, quarter or year of each day from the first to the last, if days are merged.

    The result is empty if each day keeps its own bin, if at most half of the strings are days, or if the days are more than
    ten years apart.
    """
    days = {text: day for text in counts if (day := DateFormat(ISO).read(text)) and text == day.isoformat()}
    first, last = min(days.values(), default=date.min), max(days.values(), default=date.min)
    if 2 * len(days) <= len(counts) or last - first > LONGEST_SPAN:
        return {}
    for name in PERIODS:
        periods = len({*map(name, days.values())})
        noise = deviation * (len(days) * periods) ** 0.5
        if periods <= MOST_PERIODS and sum(counts[text] for text in days) >= NOISE_OF_BIN * noise:
            break
    every = days_between(first, last) if name is not PERIODS[0] else []
    return {day.isoformat(): name(day) for day in every}


def number_bins(
    column: ScoutedColumn,
    first_counts: Sequence[int],
    edges: Sequence[Fraction],
    counts: Sequence[int],
    gaps: int,
    *,
    rows: int,
    deviation: float,
) -> ScoutedBins:
    """Choose the bins of a numeric column from its noisy counts.

    A bin has round limits and about an eighth of the rows. If few rows have a number other than a frequent 0, a bin has a
    fifth of these rows, but at least 4% of all rows. The outermost bins have fewer rows. A frequent 0 and codes such as
    9999 have bins of their own. A bin begins at each of the `limits` in the codebook.

    Parameters
    ----------
    first_counts : the noisy counts of the cells of the first table.
    edges, counts : the lower edges and the noisy counts of the cells of the second table.
    gaps : the noisy number of rows without a number.
    deviation : the standard deviation of the noise of a count.
    """
    ends = [*edges[1:], column.cells[-1].high]
    visible = [count if count > EMPTY * deviation else 0 for count in counts]
    cells = list(zip(edges, ends, visible, strict=True))
    # among some hundred empty cells a few exceed EMPTY by noise alone, and in many columns one exceeds FULL; so the range of
    # the numbers ends with a cell of the first table that has rows in both tables
    seen = [count > EMPTY * deviation for count in first_counts]
    looked = [bisect_right(column.first_look, low) - 1 for low, _, _ in cells]
    filled = [place for place, (_, _, count) in enumerate(cells) if count > FULL * deviation and seen[looked[place]]]
    if not filled:
        return ScoutedBins(column=column, edges=(cells[0][0], cells[-1][1]), numbers=(0.0,), gaps=gaps)
    first = 0 if column.low is not None else looked.index(looked[filled[0]])
    last = len(cells) - 1 if column.high is not None else bisect_right(looked, looked[filled[-1]]) - 1
    cells = cells[first : last + 1]
    noise = NOISE_OF_BIN * deviation
    zero = next((place for place, (low, _, count) in enumerate(cells) if low == 0 and count > max(ALONE * rows, noise)), None)
    numbers = sum(count for place, (_, _, count) in enumerate(cells) if place != zero)
    tail, mass = max(TAIL * numbers, noise), min(MASS * rows, max(FEW_NUMBERS * numbers, LEAST * rows))
    alone = {cells[0][0], *column.limits}
    if zero is not None:  # include the empty cells up to 1, so that the bin of 0 has a round limit
        end = next((at for at in range(zero + 1, len(cells)) if at + first in filled or cells[at][1] > 1), len(cells) - 1)
        alone |= {cells[zero][0], cells[end][0]}
    low, high, count = cells[-1]
    if fillers := len(cells) > 1 and low == fillers_from(high) and not cells[-2][2] and count > noise:
        alone.add(low)
    starts = [place for place, (low, _, _) in enumerate(cells) if low in alone]
    cuts = set[Fraction]()
    for part in (cells[start:end] for start, end in pairwise([*starts, len(cells)])):
        if part[0] is cells[0] or part[0][0] in (0, *column.limits) or sum(count for _, _, count in part) >= tail:
            cuts.add(part[0][0])
        if zero is None or part[0] is not cells[zero]:
            small = (not column.limits or part[0] is cells[0], not column.limits or part[-1] is cells[-1])
            cuts |= {*_cuts(part, mass, tail, small)}
    if column.high is not None:  # numbers above are clipped into the last bin
        cuts = {cut for cut in cuts if cut < column.high + column.whole}
        fillers = fillers and low in cuts
    limits = [*sorted(cuts), cells[-1][1] if column.high is None else column.high + column.whole]
    limits[0] = limits[0] if column.low is None else column.low
    cells = [(max(low, limits[0]), min(high, limits[-1]), count) for low, high, count in cells]
    means = [_mean(low, high, column.whole, [one for one in cells if low <= one[0] < high]) for low, high in pairwise(limits)]
    return ScoutedBins(column=column, edges=tuple(limits), numbers=tuple(means), fillers=fillers, gaps=gaps)


_Cells = Sequence[tuple[Fraction, Fraction, int]]


def _cuts(cells: _Cells, mass: float, tail: float, ends: tuple[bool, bool] = (True, True)) -> Iterator[Fraction]:
    """Yield limits between bins of neighbouring cells (intervals) with about `mass` rows each, fewer at the selected `ends`."""
    below = [0, *accumulate(count for _, _, count in cells)]
    total = below[-1]
    if total < 2 * tail:
        return
    start, end = 0, len(cells)
    if total >= 3 * mass:
        start = (ends[0] and _roundest(cells, [at for at in range(1, end) if tail <= below[at] < 2 * tail])) or 0
        end = (ends[1] and _roundest(cells, [at for at in range(1, end) if tail <= total - below[at] < 2 * tail])) or end
    middle = below[end] - below[start]
    goal = middle / max(1, round(middle / mass), min(FEW_BINS * all(ends), int(middle / (1.5 * tail))))
    yield from (cells[place][0] for place in (start, end) if 0 < place < len(cells))
    at = start
    while below[end] - below[at] > 1.4 * goal:
        near = [place for place in range(at + 1, end) if 0.5 * goal <= below[place] - below[at] <= 1.5 * goal]
        near = [place for place in near if below[end] - below[place] >= tail]
        # a limit within a gap says nothing
        near = [place for place in near if cells[place][2] or below[place] > below[max(0, place - 2)]]
        near.sort(key=lambda place: abs(below[place] - below[at] - goal))
        after = [place for place in range(at + 1, end) if below[place] - below[at] > tail and below[end] - below[place] >= tail]
        at = _roundest(cells, near) or (after[0] if after else end)
        if at == end:
            return
        yield cells[at][0]


def _roundest(cells: _Cells, places: Sequence[int]) -> int | None:
    return max(places, key=lambda place: _roundness(cells[place][0]), default=None)


def _roundness(number: Fraction) -> int:
    """Return the rank of a number by the largest of ..., 1, 2, 5, 10, ... that divides it, so that 200 ranks above 110."""
    if not number:
        return 1000
    return max((rank for rank, step in enumerate(ROUND, 1) if not number % step), default=0)


def _mean(low: Fraction, high: Fraction, whole: bool, cells: _Cells) -> float:
    """Return the mean of a bin, with each row at the middle of its cell; for a bin without rows, the middle."""
    mass = sum(count for _, _, count in cells)
    if not mass:
        return float(low + high - whole) / 2
    return float(sum(count * (cell_low + cell_high - whole) / 2 for cell_low, cell_high, count in cells) / mass)
