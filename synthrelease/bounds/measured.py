"""What published noisy tables say about the original one: limits of all their sums, together (theory 13.3, measured sums).

A measured table holds R(cell) + z, z independent noise of a published law (`measurements.noise`). A sum of k such counts is
off by the sum of k noises, whose law is known (theory 13.5, limits of noise); so is that of a sum with weights.

The sums that are used are fixed beforehand: every cell of every table of some columns of a measured table, every run of
first bins of a column with an order, sums of the numbers of a column in bins of another, and every measured sum of scores. Each
gets an equal part of the risk, so all limits hold together (Bonferroni).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.criteria.facts import SumError
from synthrelease.data.axes import added_up
from synthrelease.data.schema import in_steps
from synthrelease.generators.measured_noise import CountNoise
from synthrelease.generators.measurements import noise_limit
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement


def sum_limit(noise: CountNoise, count: int, risk: float) -> int:
    """A t with Pr[|sum of `count` independent noises of this law| > t] <= risk, above 0 and below 1."""
    return noise_limit(((noise, 1, count),), risk)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberSum:
    """low <= sum of steps[bin of the column] * R <= high, over the rows that are `inside`.

    Attributes
    ----------
    steps : (n_bins,) whole numbers: those of the column's bins on a grid, around the middle of their range; 0 where missing.
    by : another column; `inside` (n_bins,) are the bins of it.
    """

    steps: np.ndarray
    by: str
    inside: np.ndarray
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredLimits:
    """All limits that published tables give.

    Attributes
    ----------
    measurements : on the released bins.
    risk : probability, over all noise of the run, that a table is released and one of the limits is wrong.
    each : of each sum.
    n_sums : how many sums there are.
    """

    release: PublishedRelease
    measurements: Measurements
    risk: float
    each: float
    n_sums: int

    @classmethod
    def of(cls, release: PublishedRelease, risk: float, acceptance: float | None) -> MeasuredLimits | None:
        """None where nothing is published, or the search might have measured without end.

        Parameters
        ----------
        acceptance : a lower bound on the probability that a round is accepted, the caller's word, or None.
        """
        times = measured_times(release, acceptance)
        if release.measurements is None or times is None:
            return None
        sums = sum(_n_sums(release, table) for table in release.measurements.tables) + len(release.measurements.sums)
        return cls(release=release, measurements=release.measurements, risk=risk, each=risk / (times * sums), n_sums=sums)

    def cells(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original counts of the table of these columns, which are in the order of the release; or None."""
        found = [self._around(table, *_sub_table(table, names)) for table in self._with(names)]
        return _narrowest(found)

    def first_bins(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original numbers of rows in the first 1, 2, ... bins of a column with an order; None if not."""
        present = _in_order(self.release, name)
        if not present:
            return None
        found = []
        for table in self._with([name]):
            values, cells = _sub_table(table, [name])
            found.append(self._around(table, np.cumsum(values)[: present - 1], np.cumsum(cells)[: present - 1]))
        return _narrowest(found)

    def number_sums(self, name: str) -> Iterator[NumberSum]:
        """Sums of the numbers of a column, in single and in first bins of the others that it was measured with."""
        for table in self._with([name]) if name in _numbered(self.release) else ():
            steps = _steps(self.release, name)
            for by in table.columns:
                if by == name:
                    continue
                values, cells = _sub_table(table, [by, name])
                for inside in _bins_and_runs(self.release, by):
                    value = int((values[inside].sum(axis=0) * steps).sum())
                    noises = Counter[int]()
                    for step, count in zip(np.abs(steps).tolist(), cells[inside].sum(axis=0).tolist(), strict=True):
                        if step and count:
                            noises[step] += count
                    parts = tuple((table.noise, step, count) for step, count in sorted(noises.items()))
                    limit = noise_limit(parts, self.each) if parts else 0
                    yield NumberSum(steps=steps, by=by, inside=inside, low=value - limit, high=value + limit)

    def scored_sums(self) -> Iterator[SumError]:
        """Every measured sum of scores, from above and from below."""
        from synthrelease.generators.measured_noise import entry_limit  # here, for few readers of a release have sums

        for one in self.measurements.sums:
            limit = entry_limit(one.together, one.sensitivity / one.epsilon, self.each)
            yield SumError(
                columns=one.columns,
                weights=(one.steps.astype(float), -one.steps.astype(float)),
                most=(float(one.value + limit), float(limit - one.value)),
                each=f"the published noisy sum {one.name} and the law of its noise",
            )

    def _with(self, names: Sequence[str]) -> Iterator[PublishedMeasurement]:
        return (table for table in self.measurements.tables if set(names) <= set(table.columns))

    def _around(self, table: PublishedMeasurement, values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, places = np.unique(cells, return_inverse=True)
        limits = np.array([sum_limit(table.noise, int(count), self.each) if count else 0 for count in counts])[places]
        limits = limits.reshape(cells.shape)
        return np.maximum(0, values - limits), np.minimum(self.release.n_rows, values + limits)

    def in_words(self) -> str:
        """One line for the list of what a bound rests on."""
        noises = [table.noise for table in self.measurements.tables]
        widest, narrowest = (sum_limit(noise, 1, self.each) for noise in (max(noises), min(noises)))
        rows = f"{narrowest:,}" if narrowest == widest else f"{narrowest:,} to {widest:,}"
        return (
            f"{len(noises)} published noisy tables: each cell at most {rows} rows off, and so all of {self.n_sums:,} sums of "
            "cells within what their noise allows"
        )


def measured_times(release: PublishedRelease, acceptance: float | None) -> float | None:
    """Into how many parts the risk of a limit is cut; None where nothing is published or nobody knows.

    How often was measured before the release, on average at most; of shared measurements, on how many bins they could have
    been published.
    """
    found = release.measurements
    if found is None or not found.tables:
        return None
    times = found.times if found.times == 1 or acceptance is None else min(found.times, 1 / acceptance)
    return times * found.bins if math.isfinite(times) else None


def _sub_table(table: PublishedMeasurement, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values and numbers of noisy counts, added up over all other columns of a measured table."""
    return added_up(table.values, table.columns, names), added_up(table.cells, table.columns, names)


def _narrowest(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray] | None:
    if not found:
        return None
    lows, highs = zip(*found, strict=True)
    return np.max(lows, axis=0).astype(float), np.min(highs, axis=0).astype(float)


def _n_sums(release: PublishedRelease, table: PublishedMeasurement) -> int:
    """Cells of all its sub-tables, and runs of first bins of its columns."""
    sizes = table.values.shape
    subsets = [chosen for width in range(1, len(sizes) + 1) for chosen in combinations(sizes, width)]
    runs = sum(max(0, _in_order(release, name) - 1) for name in table.columns)
    of_numbers = sum(
        len(_bins_and_runs(release, by))
        for name in table.columns
        if name in _numbered(release)
        for by in table.columns
        if by != name
    )
    return sum(math.prod(chosen) for chosen in subsets) + runs + of_numbers


def _bins_and_runs(release: PublishedRelease, name: str) -> list[np.ndarray]:
    """Each bin of a column, and its first 2, 3, ... bins where they are in order; the last run are all of them."""
    bins = np.arange(len(release.by_name[name].labels))
    runs = range(2, _in_order(release, name) + 1)
    return [*(bins == one for one in bins), *(bins < length for length in runs)]


def _numbered(release: PublishedRelease) -> set[str]:
    """The columns all of whose values have numbers, not all the same."""
    found = {column.name: column.numbers[: column.present] for column in release.schema}
    return {name for name, numbers in found.items() if None not in numbers and len(set(numbers)) > 1}


def _steps(release: PublishedRelease, name: str) -> np.ndarray:
    column = release.by_name[name]
    numbers = [float(number) for number in column.numbers[: column.present] if number is not None]
    lowest, highest = min(numbers), max(numbers)
    steps = np.zeros(len(column.labels), dtype=np.int64)
    steps[: column.present] = in_steps(numbers, lowest, highest, (lowest + highest) / 2)[0]
    return steps


def _in_order(release: PublishedRelease, name: str) -> int:
    """How many of the first bins of a column are in order; 0 where they have none."""
    column = release.by_name[name]
    return column.present if column.ordered else 0
