"""Limits of sums of original counts that shared noisy tables give, all at once.

Theory 13.6, criteria that measurements answer. Which sums there are is fixed before anything is measured; each gets an equal
part of the risk. Of the tables that hold a sum's columns, those are combined, by weights that are public, too, whose noise
together is smallest; or a measured sum of scores is taken, where it says more (`scored_limits`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from synthrelease.criteria.scored_limits import Limit, limits_of_cells, limits_of_sum
from synthrelease.data.axes import added_up, spread_out
from synthrelease.generators.measured_noise import CountNoise
from synthrelease.generators.measurements import Parts, noise_limit

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals

_FINEST_WEIGHT = 8
"""Weights of tables in a combination are whole numbers up to this."""

_EXACT = 2**53
"""Sums of counts with weights beyond this would not be exact as floats; they get no limits."""

Name = TypeVar("Name")
Possible = Callable[[tuple[str, ...]], np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """Sums of original counts over the cells of the table of some columns.

    Attributes
    ----------
    weights : (n_sums, *sizes of the columns) whole numbers; None for the count of every cell, one after the other.
    """

    columns: tuple[str, ...]
    weights: np.ndarray | None = None

    def number(self, sizes: Mapping[str, int]) -> int:
        """How many sums these are, on bins of these sizes."""
        cells = int(np.prod([sizes[name] for name in self.columns], dtype=np.int64))
        return cells if self.weights is None else len(self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """(n_sums,) lowest and highest values of some sums, whole numbers."""

    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Estimate:
    """One sum as one measured table gives it: its noisy value, and how often which size of weight stands before a noise."""

    value: int
    noise: CountNoise
    noises: tuple[tuple[int, int], ...]

    @property
    def variance(self) -> float:
        return sum(weight**2 * count for weight, count in self.noises) * self.noise.variance_above

    def parts(self, times: int) -> Iterator[tuple[CountNoise, int, int]]:
        return ((self.noise, weight * times, count) for weight, count in self.noises)


def all_limits(
    asked: Mapping[Name, Sequence[Sums]], measured: NoisyMarginals, possible: Possible, risk: float
) -> dict[Name, list[Limits]]:
    """Limits of all sums: with probability at least 1 - risk over the noise, every one of them holds.

    Parameters
    ----------
    asked : by whatever asks them; each in `covered` columns.
    measured : on the bins of the sums.
    possible : for columns, (n_cells,) False where the public rules exclude every original row.
    risk : above 0, below 1.
    """
    sizes = dict(zip(measured.layout.columns, measured.layout.sizes, strict=True))
    number = sum(one.number(sizes) for sums in asked.values() for one in sums)
    tables = [_Table(measured, table, possible) for table in measured.tables]
    return {name: [_limits(one, tables, measured, risk / max(number, 1)) for one in sums] for name, sums in asked.items()}


def half_widths(sums: Sums, measured: NoisyMarginals, possible: Possible, risk: float) -> np.ndarray:
    """(n_sums,) how far each limit is from the middle at least, whatever the noise turns out to be: public beforehand."""
    tables = [_Table(measured, table, possible) for table in measured.tables]
    widths = []
    of_sums = _of_scored_sums(sums, measured, risk)
    for place, estimates in enumerate(_estimates(sums, [table for table in tables if table.holds(sums.columns)])):
        _, width, times = _least([_narrowest(estimates, risk), *of_sums(place)])
        widths.append(width / times)
    return np.array(widths)


def covered(columns: Sequence[str], measured: Sequence[Sequence[str]]) -> bool:
    """Whether some measured table has all these columns."""
    return any(set(columns) <= set(table) for table in measured)


class _Table:
    """A measured table with 0 in the cells that no original row can be in: they have no noise either."""

    def __init__(self, measured: NoisyMarginals, table: NoisyMarginal, possible: Possible):
        self.columns = tuple(measured.layout.columns[column] for column in table.columns)
        allowed = possible(self.columns).reshape(table.values.shape)
        self.values, self.cells = np.where(allowed, table.values, 0), np.where(allowed, table.cells, 0)
        self.noise = table.noise

    def holds(self, columns: Sequence[str]) -> bool:
        return set(columns) <= set(self.columns)

    def every_cell(self, columns: tuple[str, ...]) -> Iterator[_Estimate]:
        values, cells = (added_up(array, self.columns, columns).ravel() for array in (self.values, self.cells))
        for value, count in zip(values.tolist(), cells.tolist(), strict=True):
            yield _Estimate(value=value, noise=self.noise, noises=((1, count),) if count else ())

    def weighted(self, columns: tuple[str, ...], weights: np.ndarray) -> _Estimate:
        own = spread_out(weights, columns, self.columns, self.values.shape)
        sizes: Counter[int] = Counter()
        for weight, count in zip(np.abs(own).ravel().tolist(), self.cells.ravel().tolist(), strict=True):
            if weight and count:
                sizes[weight] += count
        return _Estimate(value=int((own * self.values).sum()), noise=self.noise, noises=tuple(sorted(sizes.items())))


def _limits(sums: Sums, tables: Sequence[_Table], measured: NoisyMarginals, each: float) -> Limits:
    holding = [table for table in tables if table.holds(sums.columns)]
    if not holding:
        raise LookupError(f"no measured table has the columns {sums.columns}")
    low, high, n = [], [], measured.n
    of_sums = _of_scored_sums(sums, measured, each)
    for place, estimates in enumerate(_estimates(sums, holding)):
        value, width, times = _least([_narrowest(estimates, each), *of_sums(place)])
        least, most = (0, n) if sums.weights is None else _possible_range(sums.weights[place], n)
        lowest, highest = max(least, -((width - value) // times)), min(most, (value + width) // times)
        if lowest > highest:  # the noise was beyond its limits: then nothing is known
            lowest, highest = least, most
        low.append(lowest)
        high.append(highest)
    return Limits(low=np.array(low, dtype=np.int64), high=np.array(high, dtype=np.int64))


def _of_scored_sums(sums: Sums, measured: NoisyMarginals, risk: float) -> Callable[[int], Sequence[Limit]]:
    """What measured sums of scores say about each of these sums."""
    if sums.weights is None:
        cells = limits_of_cells(sums.columns, measured, risk)
        return lambda place: cells.get(place, [])
    weights = sums.weights
    return lambda place: limits_of_sum(sums.columns, weights[place], measured, risk)


def _least(limits: Sequence[Limit]) -> Limit:
    """The narrowest: a function of scales alone, which are public."""
    return min(limits, key=lambda limit: limit[1] / limit[2])


def _possible_range(weights: np.ndarray, n: int) -> tuple[int, int]:
    """What a weighted sum of n rows can be."""
    if max(abs(int(weights.min())), abs(int(weights.max()))) * n >= _EXACT:
        raise ValueError("expected weights whose sums over all rows are exact")
    return int(weights.min()) * n, int(weights.max()) * n


def _estimates(sums: Sums, tables: Sequence[_Table]) -> Iterator[list[_Estimate]]:
    """The estimates of one sum after the other, one from each table."""
    if sums.weights is None:
        yield from map(list, zip(*(table.every_cell(sums.columns) for table in tables), strict=True))
    else:
        for weights in sums.weights:
            yield [table.weighted(sums.columns, weights) for table in tables]


def _narrowest(estimates: Sequence[_Estimate], risk: float) -> tuple[int, int, int]:
    """(v, t, m): m times the sum is within t of v, at this risk. Which tables it is from does not depend on their values."""
    least = min(estimates, key=lambda estimate: estimate.variance)
    if not least.noises:
        return least.value, 0, 1
    alone = noise_limit(_joined([(least, 1)]), risk)
    combined = [(each, round(_FINEST_WEIGHT * least.variance / each.variance)) for each in estimates]
    combined = [(each, times) for each, times in combined if times]
    if len(combined) == 1:
        return least.value, alone, 1
    width, total = noise_limit(_joined(combined), risk), sum(times for _, times in combined)
    if width >= alone * total:
        return least.value, alone, 1
    return sum(times * each.value for each, times in combined), width, total


def _joined(estimates: Sequence[tuple[_Estimate, int]]) -> Parts:
    found: Counter[tuple[CountNoise, int]] = Counter()
    for estimate, times in estimates:
        for noise, weight, count in estimate.parts(times):
            found[noise, weight] += count
    return tuple((noise, weight, count) for (noise, weight), count in sorted(found.items()))
