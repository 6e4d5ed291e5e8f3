"""Choose the cells in which a scout counts the values of each column, from the codebook and from noisy counts alone.

Each code has a cell. Columns of numbers are counted twice. The cells of the first table are public: intervals of equal
width if the bounds are near each other, otherwise with limits of 1, 2 and 5 times powers of ten, and a cell for 0. For the
second table, cells with many rows are divided into round steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from synthrelease.data.dates import PARTS, DateFormat
from synthrelease.data.schema import Binning, Column, Schema
from synthrelease.errors import InputError, listing
from synthrelease.scouting.codebook import CodebookEntry

UNREAD, OTHER, GAP = "not a number", "other texts", "no value"
"""Names of three cells: strings that are not a number, strings that the codebook does not list, missing values."""
SMALLEST, LARGEST = -6, 12
"""Numbers without bounds are counted between these powers of ten. Larger numbers count in the outermost cells."""
STEPS = 50
"""A cell that contained all numbers would be divided into this number of steps for the second table."""
FULL, EMPTY = 4.0, 2.5
"""Limits in standard deviations of the noise. Cells with counts above `FULL` are cut, into steps with counts of `FULL` on
average; counts up to `EMPTY` are treated as 0."""
ROUND = [Fraction(10) ** power * factor for power in range(-12, 19) for factor in (1, 2, 5)]
"""Round numbers in ascending order: widths of cells, and divisors that make a limit round."""


LONGEST_SPAN, MOST_PERIODS = timedelta(3660), 16
"""The longest time from the first to the last date, and the largest number of periods, except for years."""


def _quarter(day: date) -> str:
    return f"{day.year}-Q{PARTS['quarter'](day)}"


PERIODS = "{:%Y-%m-%d}".format, "{:%G-W%V}".format, "{:%Y-%m}".format, _quarter, "{:%Y}".format
"""Functions from a day to its name, and to the names of its ISO week, month, quarter and year."""


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(place) for place in range((last - first).days + 1)]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An interval [low, high) of a numeric column, which can be divided at multiples of a smallest step.

    The bounds and the step are exact fractions, so that the edges of bins are round decimal numbers.
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def edges(self, parts: float = math.inf) -> list[Fraction]:
        """Return the lower edges of at most `parts` intervals of equal, round width that divide the cell.

        If no such width divides the cell, return only its lower edge.
        """
        width = self.high - self.low
        for place, step in enumerate(ROUND):  # 2 times a power of ten gives limits such as 46, where a person would choose 45
            round_enough = self.step <= step <= width and (parts == math.inf or step == width or place % 3 != 1)
            if round_enough and width / step <= max(1.0, parts) and not (width % step or step % self.step):
                return [self.low + step * place for place in range(int(width / step))]
        return [self.low]


def fillers_from(high: Fraction) -> Fraction:
    """Return the number below `high`, a power of ten, from which numbers may be codes such as 97 or 998: 90 for 100."""
    return high - max(Fraction(10), high / 100)


@dataclass(frozen=True, kw_only=True)
class ScoutedColumn:
    """A column of the private file, in the form in which the codebook describes it.

    Attributes
    ----------
    kind : "listed" for a column whose codes the codebook lists, "texts" for categories without a list, "number" for numbers.
    codes : the meaning of each code, except the codes for missing answers.
    low, high : the smallest and the largest number, or None if the codebook does not state it.
    whole : whether the numbers are integers. Any other number is then treated as no number.
    limits : numbers such as 37 weeks, the limit of births at term, at which a bin always begins.
    dates : for dates, the first date, the last date and the date format. The codes are then the shortest of days, weeks,
        months, quarters or years with at most 16 periods, by the first and the last date alone. Otherwise empty.
    """

    name: str
    kind: Literal["listed", "texts", "number"]
    description: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    low: Fraction | None = None
    high: Fraction | None = None
    whole: bool = False
    limits: tuple[Fraction, ...] = ()
    dates: tuple[str, ...] = ()

    @cached_property
    def days(self) -> dict[str, str]:
        """The period of each string that states a day, for all days from the first to the last date; empty without dates.

        Raises
        ------
        ValueError : if the dates or the format cannot be read, if the last date is not after the first date, or if the
            dates are more than ten years apart.
        """
        if not self.dates:
            return {}
        start, end, form = self.dates
        first, last, ways = date.fromisoformat(start), date.fromisoformat(end), DateFormat(form)
        if not timedelta(0) < last - first <= LONGEST_SPAN or ways.lacks(None):
            raise ValueError("the dates are not whole dates in order")
        days = days_between(first, last)
        name = next((name for name in PERIODS if len({*map(name, days)}) <= MOST_PERIODS), PERIODS[-1])
        return {text: name(day) for day in days for text in ways.texts(day)}

    @property
    def queries(self) -> int:
        return 2 if self.kind == "number" else 1

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells (intervals) of the first noisy table of a numeric column, in increasing order."""
        return _cells(self.low, self.high, self.whole)

    @cached_property
    def atoms(self) -> tuple[Fraction, ...]:
        """The lower edges of the finest bins of a numeric column, which divide its cells."""
        return _atoms(self.low, self.high, self.whole, self.limits)

    @cached_property
    def _floats(self) -> tuple[float, ...]:
        return tuple(map(float, self.atoms))

    @property
    def first_look(self) -> tuple[Fraction, ...]:
        return tuple(cell.low for cell in self.cells)

    def second_look(self, counts: Sequence[int], deviation: float) -> tuple[Fraction, ...]:
        """Return the lower edges of the cells of the second noisy table of a numeric column.

        Cells with many rows in the first table are divided: a cell with all numbers into at most 50 steps, a cell with a
        tenth of the numbers into at most 5, and fewer if the noise would hide the count of a step. Zeros are not counted as
        numbers here.

        Parameters
        ----------
        counts : the noisy counts of the cells of the first table. The result depends on the private file only through these
            counts.
        deviation : standard deviation of the noise of a count.
        """
        full = [(cell, count) for cell, count in zip(self.cells, counts, strict=False) if count > FULL * deviation]
        numbers = sum(count for cell, count in full if cell.low or cell.high > 1)
        edges = {*self.first_look, *self.limits} & {*self.atoms}
        for cell, count in full:
            edges |= {*cell.edges(min(STEPS * count / max(numbers, 1), count / max(1.0, FULL * deviation)))}
            if cell.high == 2 * cell.low == 100 * cell.step >= 100:
                edges.add(fillers_from(cell.high))
        return tuple(sorted(edges))

    def groups(self, edges: Sequence[Fraction]) -> np.ndarray:
        """Return the (n_finest_bins,) index of the cell, given by the lower `edges`, that contains each finest bin.

        The last two finest bins, for strings that are not numbers and for missing values, have cells of their own.
        """
        places = np.searchsorted(np.array(edges, dtype=float), np.array(self._floats), side="right") - 1
        return np.append(places, [len(edges), len(edges) + 1])

    def column(self, found: Sequence[str] = ()) -> Column:
        """Return this column as a column of a schema, with which the private file is read.

        It has the finest bins, one bin for unlisted strings or strings that are not numbers, and one for missing values.

        Parameters
        ----------
        found : the categories of a column that has no list of codes. They were published with noise.
        """
        number = self.kind == "number"
        codes = () if number else tuple(self.codes) or tuple(found)
        places = {code: place for place, code in enumerate(codes)}
        n_bins = len(self.atoms) if number else len(codes)
        labels = (*map(str, range(n_bins)), OTHER, GAP)
        atoms = Binning(
            name="atoms",
            labels=labels,
            numbers=(None,) * len(labels),
            of_atom=tuple(range(len(labels))),
            missing=len(labels) - 1,
        )
        return Column(
            name=self.name,
            kind="category" if not number else "integer" if self.whole else "real",
            description="",
            unit="",
            source=self.name,
            missing="bin",
            outside="clip" if number else "bin",
            ordered=number,
            atoms=atoms,
            alternatives={},
            edges=self._floats[1:] if number else (),
            values={text: places[period] for text, period in self.days.items()} or places,
            missing_label=GAP,
            outside_label=OTHER,
            missing_values=self.missing,
        )


@lru_cache(maxsize=256)
def _cells(low: Fraction | None, high: Fraction | None, whole: bool) -> tuple[Cell, ...]:
    return tuple(_linear(low, high, whole) or _grid(low, high, whole))


@lru_cache(maxsize=256)
def _atoms(low: Fraction | None, high: Fraction | None, whole: bool, limits: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    cells = _cells(low, high, whole)
    inside = (limit for limit in limits if cells[0].low < limit < cells[-1].high)
    return tuple(sorted({*inside, *(edge for cell in cells for edge in cell.edges())}))


def _linear(low: Fraction | None, high: Fraction | None, whole: bool) -> list[Cell]:
    """Return cells (intervals) of equal width if both bounds are stated and near each other, such as for years; otherwise
    none.
    """
    if low is None or high is None:
        return []
    near = low * high > 0 and max(abs(low), abs(high)) <= 10 * min(abs(low), abs(high)) and high - low < ROUND[-1]
    if not (near or (whole and high - low <= 60)):
        return []
    wide, fine = (next(step for step in ROUND if step >= max((high - low) / parts, Fraction(whole))) for parts in (20, 400))
    first, last = low // wide, -(-(high + whole) // wide)
    return [Cell(low=place * wide, high=(place + 1) * wide, step=fine) for place in range(first, max(last, first + 1))]


def _grid(low: Fraction | None, high: Fraction | None, whole: bool) -> list[Cell]:
    """Return cells (intervals) whose edges are 1, 2 and 5 times powers of ten, within the bounds, with further cells next
    to 0.
    """
    powers = [Fraction(10) ** power for power in range(0 if whole else SMALLEST, LARGEST + 1)]
    cells = ((1, 2, 100), (2, 5, 20), (5, 10, 10))
    sizes = [(power * first, power * last, power / fine) for power in powers for first, last, fine in cells]
    least = Fraction(1) if whole else Fraction(0)
    above = [Cell(low=first, high=last, step=max(step, least)) for first, last, step in sizes]
    below = [Cell(low=-cell.high, high=-cell.low, step=cell.step) for cell in reversed(above)]
    nearest = above[0].low
    none = [Cell(low=Fraction(0), high=nearest, step=nearest)]
    below.append(Cell(low=-nearest, high=Fraction(0), step=nearest))
    least_value = -powers[-1] * 10 if low is None else low
    most_value = powers[-1] * 10 if high is None else high
    inside = [cell for cell in (*below, *none, *above) if cell.high > least_value and cell.low <= most_value]
    return inside or none


def scouted_columns(
    entries: Mapping[str, CodebookEntry], only: Sequence[str] | None = None, leave_out: Sequence[str] = ()
) -> tuple[ScoutedColumn, ...]:
    """Return the columns that a scout counts with noise, as the entries of a codebook describe them.

    Parameters
    ----------
    only : the columns to count, or None for all.

    Raises
    ------
    InputError : if the codebook has no entry for a named column, or states neither codes nor a kind for a column; if a
        lower bound is not below the upper bound, or a bound of integers is not an integer; if fewer than two columns
        remain, because the measure of dependence needs two.
    """
    unknown = [name for name in (*(only or ()), *leave_out) if name not in entries]
    if unknown:
        raise InputError(
            f"--only and --leave-out: these columns are not in the codebook: {listing(unknown)}. Nothing was read."
        )
    names = [name for name in entries if (only is None or name in only) and name not in leave_out]
    columns = [_scouted(name, entries[name]) for name in names]
    unsaid = [name for name, column in zip(names, columns, strict=True) if column is None]
    if unsaid:
        raise InputError(
            f"The codebook does not say which values these columns can have: {listing(unsaid)}. "
            'Set "kind" to "integer", "number", "text" or "date", list the codes, or use --leave-out. Nothing was read.'
        )
    asked = tuple(column for column in columns if column is not None)
    wrong = [each.name for each in asked if each.low is not None and each.high is not None and not each.low < each.high]
    wrong += [
        each.name for each in asked if each.whole and any((bound or 0) % 1 for bound in (each.low, each.high, *each.limits))
    ]
    if wrong:
        raise InputError(
            f"The bounds or limits of {listing(wrong)} are not valid. min must be below max, and the bounds and limits of "
            "integers must be whole numbers. Nothing was read."
        )
    if len(asked) < 2:
        raise InputError(f"A scout needs at least two columns. It has {listing(names) or 'none'}. Nothing was read.")
    return asked


def _scouted(name: str, entry: CodebookEntry) -> ScoutedColumn | None:
    codes = {code: label for code, label in entry.labels.items() if code not in entry.missing}
    about = {"name": name, "description": entry.description, "missing": tuple(sorted(entry.missing))}
    if entry.dates:
        dated = ScoutedColumn(kind="listed", dates=entry.dates, **about)  # type: ignore[arg-type]
        try:
            return replace(dated, codes={period: period for period in dated.days.values()})
        except ValueError:
            raise InputError(
                "The dates of {!r} are not valid: min is {!r}, max is {!r}, and the format is {!r}. min and max must be dates "
                "such as 2020-01-31, at most ten years apart, and the format must contain %Y, %m and %d. Nothing was "
                "read.".format(name, *entry.dates)
            ) from None
    if entry.number and not entry.code:
        low, high = entry.low, entry.high
        limits = tuple(each for each in entry.limits if (low is None or low < each) and (high is None or each <= high))
        return ScoutedColumn(kind="number", low=low, high=high, whole=entry.whole, limits=limits, **about)  # type: ignore[arg-type]
    if codes:
        return ScoutedColumn(kind="listed", codes=codes, **about)  # type: ignore[arg-type]
    return ScoutedColumn(kind="texts", **about) if entry.code else None  # type: ignore[arg-type]


def schema_of(columns: Sequence[ScoutedColumn], found: Mapping[str, Sequence[str]]) -> Schema:
    """Return the schema with which a scout reads the private file: every column with its finest bins.

    Parameters
    ----------
    found : the published categories of each column that has no list of codes.
    """
    return Schema(columns=tuple(column.column(found.get(column.name, ())) for column in columns))
