"""Choose the cells in which a scout counts each column, from the codebook and from noisy counts alone.

Codes have a cell each. Numbers are counted twice. The first table of a number has public cells: intervals of one width if both
bounds are near each other, otherwise 1, 2 and 5 times powers of ten with a cell for 0. Cells with many rows are cut into round
steps for the second table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from synthrelease.data.schema import Binning, Column, Schema
from synthrelease.errors import InputError, listing
from synthrelease.scouting.codebook import CodebookEntry

UNREAD, OTHER, GAP = "not a number", "other texts", "no value"
"""Names of the cells for texts that are no number, for texts that the codebook does not list, and for missing values."""
SMALLEST, LARGEST = -6, 12
"""Powers of ten between which numbers without bounds are counted. Numbers beyond count in the outermost cells."""
STEPS = 50
"""The largest number of steps into which a cell that holds all rows is cut for the second table."""
FULL, EMPTY = 4.0, 2.5
"""Limits in standard deviations of the noise. Cells with counts above `FULL` are cut; counts up to `EMPTY` are treated as 0."""
_LADDER = (1, 2, 5)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An interval [low, high) of a numeric column, which may be cut into multiples of a smallest step.

    Bounds and step are exact fractions, so that the edges of bins are round decimal numbers.
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def edges(self, parts: float = math.inf) -> list[Fraction]:
        """Return the lower edges of at most `parts` intervals of equal, round width that divide the cell.

        If no such width divides the cell, the result is the lower edge of the cell alone.
        """
        width = self.high - self.low
        for step in _steps_from(self.step, width):
            round_enough = parts == math.inf or step == width or not _is_two(step)
            if round_enough and width / step <= max(1.0, parts) and not (width % step or step % self.step):
                return [self.low + step * place for place in range(int(width / step))]
        return [self.low]


def _is_two(step: Fraction) -> bool:
    """Return whether a step is 2 times a power of ten. Such steps give limits such as 46, where a person would choose 45."""
    return step / Fraction(10) ** math.floor(math.log10(step)) == 2


def _steps_from(least: Fraction, most: Fraction) -> list[Fraction]:
    power = Fraction(10) ** math.floor(math.log10(least))
    steps = [power * Fraction(10) ** above * factor for above in range(4) for factor in _LADDER]
    return [step for step in steps if least <= step <= most]


@dataclass(frozen=True, kw_only=True)
class ScoutedColumn:
    """A column of the private file, as the codebook describes it.

    Attributes
    ----------
    name, description : name and meaning of the column.
    kind : "listed" for a column whose codes the codebook lists, "texts" for categories without a list, "number" for numbers.
    codes : meaning of each code, without the codes for missing answers.
    missing : texts that stand for a missing answer.
    low, high : smallest and largest number; None if not stated.
    whole : whether the numbers are integers. Other numbers then count as texts that are no number.
    """

    name: str
    kind: Literal["listed", "texts", "number"]
    description: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    low: Fraction | None = None
    high: Fraction | None = None
    whole: bool = False

    @property
    def queries(self) -> int:
        """The number of noisy tables that are measured for the column."""
        return 2 if self.kind == "number" else 1

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the first table of a numeric column, from the lowest to the highest."""
        return _cells(self.low, self.high, self.whole)

    @cached_property
    def atoms(self) -> tuple[Fraction, ...]:
        """The lower edges of the finest bins of a numeric column, in all cells."""
        return _atoms(self.low, self.high, self.whole)

    @property
    def _floats(self) -> tuple[float, ...]:
        return _floats(self.low, self.high, self.whole)

    @property
    def first_look(self) -> tuple[Fraction, ...]:
        """The lower edges of the cells of the first table."""
        return tuple(cell.low for cell in self.cells)

    def second_look(self, counts: Sequence[int], deviation: float, rows: int) -> tuple[Fraction, ...]:
        """Return the lower edges of the cells of the second table.

        Parameters
        ----------
        counts : noisy counts of the cells of the first table. The result depends on no other private value.
        deviation : standard deviation of the noise of a count.
        rows : number of rows of the file.
        """
        edges: list[Fraction] = []
        for cell, count in zip(self.cells, counts, strict=False):
            edges += cell.edges(STEPS * count / rows) if count > FULL * deviation else [cell.low]
        return tuple(edges)

    def groups(self, edges: Sequence[Fraction]) -> np.ndarray:
        """Return (n_atoms + 2,) the cell of each finest bin, for cells with these lower edges.

        The last two entries are the cell of texts that are no number, and the cell of missing values.
        """
        places = np.searchsorted(np.array(edges, dtype=float), np.array(self._floats), side="right") - 1
        return np.append(places, [len(edges), len(edges) + 1])

    def column(self, found: Sequence[str] = ()) -> Column:
        """Return the column of the schema by which the file is read.

        Its bins are the finest bins of the column, one bin for unlisted texts or texts that are no number, and one for missing
        values.

        Parameters
        ----------
        found : categories of a column without a list of codes, which were published with noise.
        """
        number = self.kind == "number"
        codes = () if number else tuple(self.codes) or tuple(found)
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
            values={code: place for place, code in enumerate(codes)},
            missing_label=GAP,
            outside_label=OTHER,
            missing_values=self.missing,
        )


@lru_cache(maxsize=256)
def _cells(low: Fraction | None, high: Fraction | None, whole: bool) -> tuple[Cell, ...]:
    """Return the cells of the first table of a number with these bounds. Columns with equal bounds share the result."""
    return tuple(_linear(low, high, whole) or _grid(low, high, whole))


@lru_cache(maxsize=256)
def _atoms(low: Fraction | None, high: Fraction | None, whole: bool) -> tuple[Fraction, ...]:
    return tuple(edge for cell in _cells(low, high, whole) for edge in cell.edges())


@lru_cache(maxsize=256)
def _floats(low: Fraction | None, high: Fraction | None, whole: bool) -> tuple[float, ...]:
    return tuple(map(float, _atoms(low, high, whole)))


def _linear(low: Fraction | None, high: Fraction | None, whole: bool) -> list[Cell]:
    """Return cells of equal width if both bounds are stated and near each other, as for years; otherwise no cells."""
    if low is None or high is None:
        return []
    near = low * high > 0 and max(abs(low), abs(high)) <= 10 * min(abs(low), abs(high))
    if not (near or (whole and high - low <= 60)):
        return []
    least = Fraction(1) if whole else Fraction(0)
    wide = max(least, _round_up((high - low) / 20))
    fine = max(least, _round_up((high - low) / 400))
    cells, start = list[Cell](), (low // wide) * wide
    end = high + 1 if whole else high
    while start < end or not cells:
        cells.append(Cell(low=start, high=start + wide, step=fine))
        start += wide
    return cells


def _round_up(least: Fraction) -> Fraction:
    power = Fraction(10) ** math.floor(math.log10(least))
    return next(power * factor for factor in (*_LADDER, 10) if power * factor >= least)


def _grid(low: Fraction | None, high: Fraction | None, whole: bool) -> list[Cell]:
    """Return cells with edges of 1, 2 and 5 times powers of ten, and cells next to 0, as far as the bounds reach."""
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
    """Return the columns that a scout counts, from the entries of a codebook.

    Parameters
    ----------
    entries : entry of each column, by name.
    only : names of the columns to count; None for all columns.
    leave_out : names of columns that are not counted.

    Raises
    ------
    InputError : when the codebook lacks a named column, when it gives neither codes nor a kind for a column, when a lower bound
        is not below the upper bound, when a bound of integers is no integer, and when fewer than two columns remain. A scout
        needs two columns for its measure of dependence.
    """
    unknown = [name for name in (*(only or ()), *leave_out) if name not in entries]
    if unknown:
        raise InputError(f"expected columns of the codebook, found {listing(unknown)}.")
    names = [name for name in entries if (only is None or name in only) and name not in leave_out]
    columns = [_scouted(name, entries[name]) for name in names]
    unsaid = [name for name, column in zip(names, columns, strict=True) if column is None]
    if unsaid or not names:
        raise InputError(
            "expected a codebook that describes each column, found no description of "
            f"{listing(unsaid or ['any column'])}. "
            'Set "kind" to "integer", "number" or "text", list the codes, or use --leave-out. Nothing was read.'
        )
    asked = tuple(column for column in columns if column is not None)
    out_of_order = [each.name for each in asked if each.low is not None and each.high is not None and not each.low < each.high]
    broken = [
        each.name for each in asked if each.whole and any(bound % 1 for bound in (each.low, each.high) if bound is not None)
    ]
    if out_of_order:
        raise InputError(f"expected min below max, found another order for {listing(out_of_order)}. Nothing was read.")
    if broken:
        raise InputError(f"expected whole numbers as bounds of integers, found others for {listing(broken)}. Nothing was read.")
    if len(asked) < 2:
        raise InputError(f"expected at least two columns, found only {listing(names)}. Nothing was read.")
    return asked


def _scouted(name: str, entry: CodebookEntry) -> ScoutedColumn | None:
    codes = {code: label for code, label in entry.labels.items() if code not in entry.missing}
    about = {"name": name, "description": entry.description, "missing": tuple(sorted(entry.missing))}
    if entry.number and not entry.code:
        return ScoutedColumn(kind="number", low=entry.low, high=entry.high, whole=entry.whole, **about)  # type: ignore[arg-type]
    if codes:
        return ScoutedColumn(kind="listed", codes=codes, **about)  # type: ignore[arg-type]
    return ScoutedColumn(kind="texts", **about) if entry.code else None  # type: ignore[arg-type]


def schema_of(columns: Sequence[ScoutedColumn], found: Mapping[str, Sequence[str]]) -> Schema:
    """Return the schema of the private file at the finest bins.

    Parameters
    ----------
    found : published categories of each column without a list of codes.
    """
    return Schema(columns=tuple(column.column(found.get(column.name, ())) for column in columns))
