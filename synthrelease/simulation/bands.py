"""Bands: published tables show ranges of a column's values. Here each is a range of whole units, and all together cut cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from scipy.interpolate import PchipInterpolator

from synthrelease.data.schema import IntervalBin, parse_bins
from synthrelease.errors import Unexpected, closest, listing

MAX_BANDS = 1000
"""Bands of one table and categories of one column."""
SLICES = 16
"""Into how many parts an interpolated curve cuts a cell: it is taken as flat within a part."""
_MOST_UNITS = 10**12


@dataclass(frozen=True, kw_only=True)
class Band:
    """One band of a table: half-open ranges of units. Only a group of categories has more than one."""

    ranges: tuple[tuple[int, int], ...]
    label: str = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Units:
    """All values of a column as whole numbers: first <= unit < stop.

    A whole number or month is itself, a real number a multiple of 1 / scale, a category its place in the list.
    """

    kind: str
    first: int
    stop: int
    scale: int = 1
    categories: tuple[str, ...] = ()

    @classmethod
    def between(cls, kind: str, bounds: tuple[float, float], decimals: int) -> Units:
        """Units of a column of numbers. The upper bound is a value of whole numbers, and the open end of real ones."""
        low, high = (bound * 10**decimals for bound in bounds)
        if not (low < high and high - low <= _MOST_UNITS and max(abs(low), abs(high)) <= 1e15):
            raise Unexpected("[lowest, highest] with lowest < highest and at most 1e12 steps between them")
        if not (_is_whole(low) and _is_whole(high)):
            raise Unexpected(f"whole multiples of {10**-decimals:g}")
        return cls(kind=kind, first=round(low), stop=round(high) + (kind == "integer"), scale=10**decimals)

    def bands(self, labels: Iterable[str]) -> tuple[Band, ...]:
        """The bands of some labels; "17..28" is one band for each number.

        Raises
        ------
        ValueError : when a label cannot be read, or goes beyond the column's values.
        """
        if self.categories:
            found = tuple(self._group(label) for label in labels)
        else:
            intervals = (interval for label in labels for interval in parse_bins([label], whole_numbers=self.kind != "real"))
            found = tuple(self._band(interval) for interval in islice(intervals, MAX_BANDS + 1))
        check_number(len(found))
        return found

    def _band(self, interval: IntervalBin) -> Band:
        start, end = interval.lower * self.scale, interval.upper * self.scale
        start, end = self.first if start == -math.inf else start, self.stop if end == math.inf else end
        if not (_is_whole(start) and _is_whole(end)):
            raise Unexpected(f"bands that end on multiples of {1 / self.scale:g}", repr(interval.label))
        if not self.first <= round(start) < round(end) <= self.stop:
            raise Unexpected(f"bands within {self.label(self.first, self.stop)}", repr(interval.label))
        return Band(label=interval.label, ranges=((round(start), round(end)),))

    def _group(self, label: str) -> Band:
        names = [label] if label in self.categories else [name.strip() for name in label.split("+")]
        for name in names:
            if name not in self.categories:
                meant = closest(name, self.categories)
                hint = f" (did you mean {meant!r}?)" if meant else ""
                raise Unexpected(f"categories out of {listing(self.categories)}", f"{name!r}{hint}")
        places = sorted(self.categories.index(name) for name in names)
        return Band(label=label, ranges=tuple((place, place + 1) for place in places))

    def label(self, start: int, stop: int) -> str:
        """A range of units in words."""
        if self.categories:
            return " + ".join(self.categories[start:stop])
        if self.kind == "real":
            return f"{start / self.scale:g} to {stop / self.scale:g}"
        between = "-" if start >= 0 else " to "
        return f"{start}" if stop - start == 1 else f"{start}{between}{stop - 1}"

    def without(self, bands: Iterable[Band]) -> tuple[Band, ...]:
        """What the bands leave over, in order; one band for each category."""
        left, at = [], self.first
        for start, stop in [*sorted(part for band in bands for part in band.ranges), (self.stop, self.stop)]:
            if at < start:
                steps = range(at, start) if self.categories else (at,)
                left += [(step, step + 1 if self.categories else start) for step in steps]
            at = max(at, stop)
        return tuple(Band(label=self.label(*part), ranges=(part,)) for part in left)


def check_number(n_bands: int) -> None:
    """Raise ValueError when a table has too many bands."""
    if n_bands > MAX_BANDS:
        raise Unexpected(f"at most {MAX_BANDS} bands", "more")


def check_apart(bands: Iterable[Band]) -> None:
    """Raise ValueError when two bands overlap."""
    parts = sorted((part, band.label) for band in bands for part in band.ranges)
    for (left, one), (right, other) in zip(parts, parts[1:], strict=False):
        if right[0] < left[1]:
            raise Unexpected("bands that do not overlap", f"{one!r} and {other!r}")


def cell_edges(units: Units, bands: Iterable[Band], *, interpolated: bool) -> np.ndarray:
    """(n_cells + 1,) units at which cells start: the common refinement of all bands, in slices where curves need them."""
    if units.categories:
        return np.arange(units.stop + 1)
    cuts = sorted({units.first, units.stop, *(edge for band in bands for part in band.ranges for edge in part)})
    if interpolated:
        slices = (np.linspace(a, b, min(SLICES, b - a) + 1) for a, b in zip(cuts, cuts[1:], strict=False))
        return np.unique(np.concatenate([np.rint(part).astype(np.int64) for part in slices]))
    return np.array(cuts)


def bands_of_cells(bands: Sequence[Band], edges: np.ndarray) -> np.ndarray:
    """(n_cells,) the index of the band that holds each cell. The bands cover all cells."""
    index = np.zeros(len(edges) - 1, dtype=np.int64)
    for number, band in enumerate(bands):
        for start, stop in band.ranges:
            index[(edges[:-1] >= start) & (edges[:-1] < stop)] = number
    return index


def spread(shares: np.ndarray, bands: Sequence[Band], edges: np.ndarray, *, interpolated: bool) -> np.ndarray:
    """Share the figures of bands out over their cells; each band keeps its total.

    Parameters
    ----------
    shares : (..., n_bands) at least 0.
    interpolated : take differences of a monotone cubic curve through the cumulated shares (Fritsch & Carlson 1980), so
        that neighbouring bands shade into each other; else every unit of a band gets the same.

    Returns
    -------
    (..., n_cells) shares of the cells.
    """
    if interpolated and len(bands) > 1:
        order = sorted(range(len(bands)), key=lambda number: bands[number].ranges)
        knots = [bands[order[0]].ranges[0][0], *(bands[number].ranges[0][1] for number in order)]
        cumulated = np.cumsum(shares[..., order], axis=-1)
        curve = PchipInterpolator(knots, np.concatenate([np.zeros((*shares.shape[:-1], 1)), cumulated], axis=-1), axis=-1)
        cells = np.diff(curve(edges), axis=-1).clip(min=0.0)
    else:
        cells = np.broadcast_to(np.diff(edges).astype(float), (*shares.shape[:-1], len(edges) - 1))
    index = bands_of_cells(bands, edges)
    totals = cells @ np.eye(len(bands))[index]  # the curve's own rounding errors are scaled away
    factors = np.divide(shares, totals, out=np.zeros(shares.shape), where=totals > 0)
    return cells * factors[..., index]


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6
