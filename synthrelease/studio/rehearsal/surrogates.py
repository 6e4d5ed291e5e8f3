"""Simulate a public file from published tables and means: read a file of facts, fit a model to all tables, and draw rows."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice, pairwise, product
from math import prod
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import networkx as nx
import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator
from scipy.interpolate import PchipInterpolator
from scipy.special import betainc, betaincinv

from synthrelease.bundle.write import check_free_name, new_file
from synthrelease.data.rules import HOLDS, Domain, Rule, Truth, parse_rule, truth_of
from synthrelease.data.schema import IntervalBin, parse_bins
from synthrelease.data.texts import is_executable
from synthrelease.errors import (
    InputError,
    OutputError,
    Problem,
    SpecError,
    Unexpected,
    UnexpectedValue,
    closest,
    listing,
    mistake,
    so_many,
)
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.settings.base import SpecTable
from synthrelease.settings.mistakes import validated
from synthrelease.settings.reading import read_toml, value_text

# Bands: ranges of a column's values in published tables, as ranges of whole units. The limits of the bands divide a column into
# cells.

MAX_BANDS = 1000
"""Largest number of bands of a table, and of categories of a column."""
SLICES = 16
"""An interpolated curve divides a cell into this number of parts, and is flat within each part."""
_MOST_UNITS = 10**12


@dataclass(frozen=True, kw_only=True)
class Band:
    """A label of a published table, such as "20-24", as half-open ranges of units: several for a group of categories."""

    ranges: tuple[tuple[int, int], ...]
    label: str = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Units:
    """The values of a column as whole numbers (units): first <= unit < stop.

    A whole number or month is its own unit. A real number is a multiple of 1 / scale. A category is its position in the list.
    """

    kind: str
    first: int
    stop: int
    scale: int = 1
    categories: tuple[str, ...] = ()

    @classmethod
    def between(cls, kind: str, bounds: tuple[float, float], decimals: int) -> Units:
        """Return the units of a column of numbers. Its upper bound is a possible whole number, but not a possible real
        number.
        """
        low, high = (bound * 10**decimals for bound in bounds)
        if not (low < high and high - low <= _MOST_UNITS and max(abs(low), abs(high)) <= 1e15):
            raise UnexpectedValue("[lowest, highest] with lowest < highest and at most 1e12 steps between them")
        if not (_is_whole(low) and _is_whole(high)):
            raise UnexpectedValue(f"multiples of {10**-decimals:g}" if decimals else "whole numbers")
        return cls(kind=kind, first=round(low), stop=round(high) + (kind == "integer"), scale=10**decimals)

    def bands(self, labels: Iterable[str]) -> tuple[Band, ...]:
        """Return the bands that these labels of a published table stand for; "17..28" stands for one band for each number.

        Raises ValueError if a label cannot be read, or goes beyond the values of the column.
        """
        if self.categories:
            bands = tuple(self._group(label) for label in labels)
        else:
            intervals = (interval for label in labels for interval in parse_bins([label], whole_numbers=self.kind != "real"))
            bands = tuple(self._band(interval) for interval in islice(intervals, MAX_BANDS + 1))
        check_number(len(bands))
        return bands

    def _band(self, interval: IntervalBin) -> Band:
        start, end = interval.lower * self.scale, interval.upper * self.scale
        start, end = self.first if start == -math.inf else start, self.stop if end == math.inf else end
        if not (_is_whole(start) and _is_whole(end)):
            raise Unexpected(f"bands whose limits are multiples of {1 / self.scale:g}", repr(interval.label))
        if not self.first <= round(start) < round(end) <= self.stop:
            values = self.label(self.first, self.stop)
            raise Unexpected(f"The band {interval.label!r} goes beyond {values}, the values of the column")
        return Band(label=interval.label, ranges=((round(start), round(end)),))

    def _group(self, label: str) -> Band:
        names = [label] if label in self.categories else [name.strip() for name in label.split("+")]
        for name in names:
            if name not in self.categories:
                meant = closest(name, self.categories)
                hint = f" (did you mean {meant!r}?)" if meant else ""
                raise Unexpected(f"{name!r} is not one of the categories {listing(self.categories)}{hint}")
        positions = sorted(self.categories.index(name) for name in names)
        return Band(label=label, ranges=tuple((position, position + 1) for position in positions))

    def label(self, start: int, stop: int) -> str:
        """Describe a range of units in words, such as "20-24"."""
        if self.categories:
            return " + ".join(self.categories[start:stop])
        if self.kind == "real":
            return f"{start / self.scale:g} to {stop / self.scale:g}"
        between = "-" if start >= 0 else " to "
        return f"{start}" if stop - start == 1 else f"{start}{between}{stop - 1}"

    def without(self, bands: Iterable[Band]) -> tuple[Band, ...]:
        """Return the ranges of values that no given band covers, in order; for categories, one band each."""
        uncovered, at = [], self.first
        for start, stop in [*sorted(part for band in bands for part in band.ranges), (self.stop, self.stop)]:
            if at < start:
                steps = range(at, start) if self.categories else (at,)
                uncovered += [(step, step + 1 if self.categories else start) for step in steps]
            at = max(at, stop)
        return tuple(Band(label=self.label(*part), ranges=(part,)) for part in uncovered)


def check_number(n_bands: int) -> None:
    if n_bands > MAX_BANDS:
        raise Unexpected(f"There are more than {MAX_BANDS:,} bands")


def check_apart(bands: Iterable[Band]) -> None:
    parts = sorted((part, band.label) for band in bands for part in band.ranges)
    for (first, first_label), (second, second_label) in pairwise(parts):
        if second[0] < first[1]:
            raise Unexpected(f"The bands {first_label!r} and {second_label!r} overlap")


def cell_edges(units: Units, bands: Iterable[Band], *, interpolated: bool) -> np.ndarray:
    """Return the (n_cells + 1,) units at which the cells of a column start. Every band consists of whole cells.

    Interpolated curves have finer cells.
    """
    if units.categories:
        return np.arange(units.stop + 1)
    cuts = sorted({units.first, units.stop, *(edge for band in bands for part in band.ranges for edge in part)})
    if interpolated:
        slices = (np.linspace(a, b, min(SLICES, b - a) + 1) for a, b in pairwise(cuts))
        return np.unique(np.concatenate([np.rint(part).astype(np.int64) for part in slices]))
    return np.array(cuts)


def bands_of_cells(bands: Sequence[Band], edges: np.ndarray) -> np.ndarray:
    """Return the (n_cells,) indices of the bands in which the cells lie."""
    index = np.zeros(len(edges) - 1, dtype=np.int64)
    for position, band in enumerate(bands):
        for start, stop in band.ranges:
            index[(edges[:-1] >= start) & (edges[:-1] < stop)] = position
    return index


def spread(shares: np.ndarray, bands: Sequence[Band], edges: np.ndarray, *, interpolated: bool) -> np.ndarray:
    """Distribute the share of the rows in each band over the finer cells inside it.

    Parameters
    ----------
    shares : (..., n_bands) at least 0.
    interpolated : whether the shares are differences of a monotone cubic curve through the cumulated shares (Fritsch &
        Carlson 1980), so that the density is smooth across bands. Otherwise every unit of a band gets the same share.

    Returns
    -------
    (..., n_cells) shares of the cells.
    """
    if interpolated and len(bands) > 1:
        order = sorted(range(len(bands)), key=lambda band: bands[band].ranges)
        knots = [bands[order[0]].ranges[0][0], *(bands[band].ranges[0][1] for band in order)]
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


# Iterative proportional fitting: the table closest to a start that has given margins (Deming & Stephan 1940).

MAX_CYCLES = 1000


@dataclass(frozen=True, kw_only=True)
class GroupSums:
    """The target sums of groups of cells (a margin) that a fitted table should have.

    Attributes
    ----------
    groups : (n_cells,) the group of each cell.
    target : (n_groups,) the sum of each group.
    """

    groups: np.ndarray
    target: np.ndarray

    def of(self, table: np.ndarray) -> np.ndarray:
        return np.bincount(self.groups, table, minlength=len(self.target))


def fit(start: np.ndarray, margins: Sequence[GroupSums], *, precision: float = 1e-12) -> np.ndarray:
    """Scale a table to each of its margins in turn, until a whole cycle changes nothing (iterative proportional fitting).

    If the margins are consistent, the result meets all of them, with the smallest relative entropy to the start (Csiszar
    1975). Otherwise the result is the mean of the last cycle, so that the order of the margins does not matter.

    Parameters
    ----------
    start : (n_cells,) at least 0; cells of 0 stay 0.
    precision : the largest change of a cycle, as a sum over cells, at which the fitting ends.

    Returns
    -------
    (n_cells,) the fitted table.
    """
    table = start
    for _ in range(MAX_CYCLES):
        previous, total = table, np.zeros(len(start))
        for margin in margins:
            sums = margin.of(table)
            factors = np.divide(margin.target, sums, out=np.zeros(len(sums)), where=sums > 0)
            table = table * factors[margin.groups]
            total += table
        if np.abs(table - previous).sum() <= precision:
            break
    return total / len(margins)


# Writing a public table as CSV, gzip-compressed CSV or Parquet, by the file's suffix; never over another file.

SUFFIXES = (".csv", ".csv.gz")
_ROWS = 100_000  # Number of rows that are converted to text at a time


def check_table_path(path: str | Path) -> Path:
    """Return the path of a new table. Raises OutputError if its suffix is unknown, its folder is missing or the file exists."""
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise OutputError(f"{path}: the name of the file must end in {' or '.join(SUFFIXES)}.")
    return check_free_name(path)


def write_table(table: Mapping[str, np.ndarray], path: str | Path) -> Path:
    """Write a table of (n,) values by column. The file appears complete or not at all. Equal tables give equal bytes.

    Raises OutputError as `check_table_path` does, or if the file cannot be written.
    """
    path = check_table_path(path)
    with new_file(path, "the table") as file:
        if path.name.endswith(".gz"):
            # without a name and a time in the header, equal tables give equal bytes
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                _write_csv(table, packed)
        else:
            _write_csv(table, file)
    return path


def _write_csv(table: Mapping[str, np.ndarray], file: IO[bytes] | gzip.GzipFile) -> None:
    file.write(_lines([table]))
    for first in range(0, len(next(iter(table.values()))), _ROWS):
        file.write(_lines(zip(*(values[first : first + _ROWS].tolist() for values in table.values()), strict=True)))


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


# The facts file as validated models: columns, published tables and means, and where they come from.

MAX_COLUMNS = 40


def _rows(value: Any) -> Any:
    """Return the rows of a table in a facts file. Raises Unexpected for other values."""
    if isinstance(value, list) and all(isinstance(row, list) and all(_is_entry(entry) for entry in row) for row in value):
        return value
    raise UnexpectedValue("a list of rows such as [['18-19', 12.5], ['20-24', 40.1]]")


def _labels(value: Any) -> Any:
    if isinstance(value, list) and all(_is_entry(label) for label in value):
        return [str(label) for label in value]
    raise UnexpectedValue("a list of bands such as ['<18', '18-19']")


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_harmless(text: str) -> None:
    """Raise Unexpected for a text that a spreadsheet would execute."""
    if is_executable(text):
        raise Unexpected(f"A spreadsheet would read {text!r} as a formula. No part of it may start with =, +, - or @")


def _is_entry(value: Any) -> bool:
    return isinstance(value, str | int | float | Decimal) and not isinstance(value, bool)


class FactColumn(SpecTable):
    """[columns.NAME]: a column of the simulated file, and its possible values.

    `skipped` is a condition on other columns under which a question is not asked (`skipped = "status != 'Employed'"`). `gaps`
    is the share of the asked persons who do not answer. Both give empty cells.
    """

    kind: Literal["integer", "real", "category", "date"]
    description: str = ""
    unit: str = ""
    bounds: tuple[float, float] | None = None
    decimals: int = Field(default=1, ge=0, le=6)
    categories: tuple[str, ...] | None = Field(default=None, min_length=1, max_length=MAX_BANDS)
    year: int | None = Field(default=None, ge=1, le=9999)
    day: int = Field(default=15, ge=1, le=28)
    within: Literal["uniform", "interpolated"] = "uniform"
    gaps: float = Field(default=0, ge=0, lt=1)
    skipped: str = ""

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> FactColumn:
        needed, *optional = _KEYS[self.kind]
        if getattr(self, needed) is None:
            raise Unexpected(f"A column of kind {self.kind!r} needs {needed!r}")
        for key in sorted({key for keys in _KEYS.values() for key in keys} - {needed, *optional}):
            if key in self.model_fields_set:
                raise Unexpected(f"A column of kind {self.kind!r} cannot have {key!r}. Remove this setting")
        return self

    @field_validator("categories")
    @classmethod
    def _different(cls, categories: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if categories and (len(set(categories)) < len(categories) or not all(map(str.strip, categories))):
            raise Unexpected(f"A category is empty or occurs twice: {listing(categories)}")
        for category in categories or ():
            _check_harmless(category)
        return categories

    def units(self) -> Units:
        """Return the possible values of the column as whole numbers. Raises Unexpected if the bounds cannot be used."""
        if self.categories:
            return Units(kind=self.kind, first=0, stop=len(self.categories), categories=self.categories)
        if self.bounds is None:
            return Units(kind=self.kind, first=1, stop=13)
        return Units.between(self.kind, self.bounds, self.decimals if self.kind == "real" else 0)


# The required settings of each kind of column, and then the optional ones.
_KEYS = {
    "integer": ("bounds", "within"),
    "real": ("bounds", "within", "decimals"),
    "category": ("categories",),
    "date": ("year", "day", "within"),
}


class FactTable(SpecTable):
    """The common settings of [tables.NAME] and [means.NAME]."""

    of: str
    given: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    rows: Annotated[tuple[tuple[Any, ...], ...], BeforeValidator(_rows)] = Field(min_length=1)
    source: str | None = None
    note: str = ""


class ShareTable(FactTable):
    """[tables.NAME]: shares or counts of the bands of a column, for all rows or given other columns."""

    across: Annotated[tuple[str, ...] | None, BeforeValidator(_labels)] = Field(default=None, min_length=1)
    per: float | None = Field(default=None, gt=0)


class MeanTable(FactTable):
    """[means.NAME]: mean and standard deviation of a column of numbers, for all rows or given other columns."""


class FactsFile(SpecTable):
    """The content of a facts file."""

    title: str = Field(min_length=1, max_length=300)
    description: str = ""
    tolerance: float = Field(default=0.01, gt=0, lt=1)
    sources: dict[str, str] = Field(min_length=1)
    columns: dict[str, FactColumn] = Field(min_length=1, max_length=MAX_COLUMNS)
    tables: dict[str, ShareTable] = Field(default_factory=dict)
    means: dict[str, MeanTable] = Field(default_factory=dict)

    @field_validator("columns")
    @classmethod
    def _harmless_names(cls, columns: dict[str, FactColumn]) -> dict[str, FactColumn]:
        for name in columns:
            _check_harmless(name)
        return columns

    def facts(self) -> Iterator[tuple[str, ShareTable | MeanTable]]:
        yield from ((f"tables.{name}", table) for name, table in self.tables.items())
        yield from ((f"means.{name}", table) for name, table in self.means.items())


# A column whose mean and standard deviation alone are published: a beta distribution, stretched over the column's values.
#
# The distribution has exactly this mean and standard deviation, and stays within the bounds. Far from the bounds it is close to
# normal. Near a bound it is skewed away from the bound. (PERT planning uses this distribution for the same reasons.)


def check_moments(units: Units, mean: float, deviation: float) -> None:
    """Raise Unexpected if no beta distribution within the bounds of the column has these moments."""
    low, high = (end / units.scale for end in _ends(units))
    if not low < mean < high:
        raise Unexpected(f"The mean {mean:g} is not between the bounds {low:g} and {high:g}")
    largest = np.sqrt((mean - low) * (high - mean))
    if not 0 < deviation < largest:
        needed = f"With a mean of {mean:g}, it must be above 0 and below {largest:.4g}"
        raise Unexpected(f"The standard deviation {deviation:g} is not possible between these bounds. {needed}")


def shares_of_cells(units: Units, moments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the (..., n_cells) shares of beta distributions, given their means and deviations as (..., 2) moments."""
    alpha, beta = _parameters(units, moments)
    low, high = _ends(units)
    # values are rounded to the nearest unit, so a cell starts half a unit before its first unit
    points = ((edges - 0.5 - low) / (high - low)).clip(0.0, 1.0)
    points[0], points[-1] = 0.0, 1.0
    return np.diff(betainc(alpha[..., None], beta[..., None], points))


def quantiles(units: Units, moments: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return n units: for each order, the quantile of the beta distribution with these moments (mean and deviation)."""
    alpha, beta = _parameters(units, moments)
    low, high = _ends(units)
    values = np.rint(low + (high - low) * betaincinv(alpha, beta, orders)).astype(np.int64)
    return values.clip(units.first, units.stop - 1)


def _ends(units: Units) -> tuple[int, int]:
    """Return the smallest and the largest value in units; for real numbers, the excluded upper end."""
    return units.first, units.stop if units.kind == "real" else units.stop - 1


def _parameters(units: Units, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = _ends(units)
    mean = (moments[..., 0] * units.scale - low) / (high - low)
    variance = (moments[..., 1] * units.scale / (high - low)) ** 2
    size = mean * (1 - mean) / variance - 1
    return mean * size, (1 - mean) * size


ROUNDING = 0.02
"""Allowed difference between the sum of a row and `per`, because rounded numbers rarely add up exactly."""
MAX_COMBINATIONS = 100_000


@contextmanager
def _inside(place: str) -> Iterator[None]:
    try:
        yield
    except Unexpected as error:
        error.place = error.place or place
        raise


def _problem(error: Unexpected, file: str, path: str, whole: str = "") -> Problem:
    """Convert a mistake into a problem at a place such as tables.age.rows; `whole` is shown if the mistake has no value."""
    return Problem(file, f"{path}.{error.place}", error.about(whole))


@dataclass(frozen=True, kw_only=True)
class PublishedFigures:
    """A published table of shares or means of one column, with the bands of each axis.

    Attributes
    ----------
    path : path of the table in the file.
    given, given_bands : the columns on which the distribution depends, and their bands, which cover all values.
    bands : the bands of the column `of`; empty in a table of means.
    figures : (n_given_bands, ..., n_bands) shares that sum to 1 over the last axis, or (n_given_bands, ..., 2) means and
        standard deviations.
    """

    path: str
    of: str
    given: tuple[str, ...]
    given_bands: tuple[tuple[Band, ...], ...]
    bands: tuple[Band, ...]
    figures: np.ndarray


def published_shares(path: str, table: ShareTable, units: Mapping[str, Units]) -> PublishedFigures:
    """Read a published table of shares or counts. Raises Unexpected for the first mistake.

    A row has bands of the given columns, then one number for each band of `across`. Without `across`, the last band of a
    row is a band of the column itself, and one number follows the bands.
    """
    column_units = units[table.of]
    if table.across is not None:
        with _inside("across"):
            bands = column_units.bands(table.across)
            _check_cover(table.of, column_units, bands)
        rows = _by_combination(table, [units[name] for name in table.given], len(bands))
    else:
        cells = _by_combination(table, [units[name] for name in (*table.given, table.of)], 1)
        bands = tuple(dict.fromkeys(combination[-1] for combination in cells))
        with _inside("rows"):
            _check_cover(table.of, column_units, bands)
        rows = {}
        for combination in dict.fromkeys(key[:-1] for key in cells):
            absent = [band.label for band in bands if (*combination, band) not in cells]
            if absent:
                raise Unexpected(f"The rows of {_words(combination)} have no number for {absent[0]!r}", place="rows")
            rows[combination] = [cells[*combination, band][0] for band in bands]
    for combination, row in rows.items():
        total = sum(row)
        of_rows = f" in the rows of {_words(combination)}" if combination else ""
        if not total > 0:
            raise Unexpected(f"All numbers{of_rows} are 0. At least one must be larger", place="rows")
        if table.per is not None and not abs(total - table.per) <= ROUNDING * table.per:
            needed = f"They must add up to per = {table.per:g}, within {ROUNDING:.0%} for rounding"
            raise Unexpected(f"The numbers{of_rows} add up to {total:g}. {needed}", place="rows")
    shares = {combination: np.array(row) / sum(row) for combination, row in rows.items()}
    return _published(path, table, units, bands, shares)


def published_means(path: str, table: MeanTable, units: Mapping[str, Units]) -> PublishedFigures:
    """Read a published table whose rows have bands of the given columns, then mean and standard deviation.

    Raises Unexpected for the first mistake.
    """
    rows = _by_combination(table, [units[name] for name in table.given], 2)
    for index, (mean, deviation) in enumerate(rows.values()):
        with _inside(f"rows[{index}]"):
            check_moments(units[table.of], mean, deviation)
    return _published(path, table, units, (), {combination: np.array(figures) for combination, figures in rows.items()})


def _published(
    path: str, fact: FactTable, units: Mapping[str, Units], bands: tuple[Band, ...], rows: Mapping[tuple[Band, ...], np.ndarray]
) -> PublishedFigures:
    """Arrange rows in an array with one axis for each given column. Raises Unexpected if a combination of bands has no row."""
    given = []
    for axis, name in enumerate(fact.given):
        bands_named = dict.fromkeys(combination[axis] for combination in rows)
        given.append(tuple(sorted([*bands_named, *units[name].without(bands_named)], key=lambda band: band.ranges)))
        if len(given[-1]) > MAX_BANDS:
            raise Unexpected(f"The table has more than {MAX_BANDS:,} bands of {name!r}", place="given")
    sizes = [len(choices) for choices in given]
    if prod(sizes) > MAX_COMBINATIONS:
        many = f"The given columns have {prod(sizes):,} combinations of bands. The limit is {MAX_COMBINATIONS:,}"
        raise Unexpected(many, place="given")
    absent = [combination for combination in product(*given) if combination not in rows]
    if absent:
        further = f", nor for {so_many(len(absent) - 1, 'other combination')}" if len(absent) > 1 else ""
        raise Unexpected(f"There is no row for {_words(absent[0])}{further}", place="rows")
    figures = np.array([rows[combination] for combination in product(*given)]).reshape(*sizes, -1)
    return PublishedFigures(path=path, of=fact.of, given=fact.given, given_bands=tuple(given), bands=bands, figures=figures)


def _by_combination(table: FactTable, columns: Sequence[Units], width: int) -> dict[tuple[Band, ...], list[float]]:
    by_combination: dict[tuple[Band, ...], list[float]] = {}
    n_columns = len(columns)
    for index, row in enumerate(table.rows):
        place = f"rows[{index}]"
        if len(row) != n_columns + width:
            needed = f"{so_many(n_columns, 'band')} and then {so_many(width, 'number')}"
            raise Unexpected(f"The row has {so_many(len(row), 'value')}. It must have {needed}", place=place)
        figures = [_number(value, f"{place}[{n_columns + i}]") for i, value in enumerate(row[n_columns:])]
        bands = []
        for i, (units, label) in enumerate(zip(columns, row, strict=False)):
            with _inside(f"{place}[{i}]"):
                bands.append(_one_band(units, str(label)))
        combination = tuple(bands)
        if combination in by_combination:
            raise Unexpected(f"This is the second row for {_words(combination)}. Write only one row", place=place)
        by_combination[combination] = figures
    with _inside("rows"):
        for choices in zip(*by_combination, strict=True):
            check_apart(dict.fromkeys(choices))
    return by_combination


def _number(value: Any, place: str) -> float:
    if isinstance(value, int | float | Decimal) and value >= 0:
        return float(value)
    raise Unexpected("a number of at least 0", value_text(value), place=place)


def _one_band(units: Units, label: str) -> Band:
    bands = units.bands([label])
    if len(bands) != 1:
        raise Unexpected(f"{label!r} stands for {len(bands)} bands. Write one band in each row")
    return bands[0]


def _check_cover(name: str, units: Units, bands: Sequence[Band]) -> None:
    check_number(len(bands))
    check_apart(bands)
    uncovered = units.without(bands)
    if uncovered:
        bands_missing = listing(band.label for band in uncovered)
        raise Unexpected(f"The bands do not cover {bands_missing}. They must cover all values of {name!r}")


def _words(combination: Sequence[Band]) -> str:
    return " and ".join(repr(band.label) for band in combination) or "all"


# Reading a facts file. Each mistake is reported with its place.


@dataclass(frozen=True, kw_only=True)
class CheckedFacts:
    """The content of a facts file, checked except for cycles and for tables that contradict each other.

    Attributes
    ----------
    skips : for each column, the condition under which the question is not asked.
    tables : for each column, its tables of shares or its one table of means.
    """

    file: str
    tolerance: float
    columns: Mapping[str, FactColumn]
    skips: Mapping[str, Rule]
    units: Mapping[str, Units]
    tables: Mapping[str, tuple[PublishedFigures, ...]]


def load_facts(path: Path) -> CheckedFacts:
    """Read and check a facts file. Raises SpecError with every mistake that was found.

    Rows are checked only if the other parts have no mistake.
    """
    name = str(path)
    model = validated(FactsFile, read_toml(path), name)
    if isinstance(model, list):
        raise SpecError(model)
    units: dict[str, Units] = {}
    skips = dict[str, Rule]()
    problems = [*_wrong_names(model, name)] or [*_undrawn(model, name)]  # a table of a misspelt column draws none
    domains = {
        column: Domain(kind=table.kind, bounds=table.bounds, categories=table.categories or ())
        for column, table in model.columns.items()
        if table.kind != "date"
    }
    for column, table in model.columns.items():
        try:
            with _inside("bounds"):
                units[column] = table.units()
        except Unexpected as error:
            problems.append(_problem(error, name, f"columns.{column}", value_text(table.bounds)))
        others = {condition: domain for condition, domain in domains.items() if condition != column}
        try:
            with _inside("skipped"):
                skips |= {column: parse_rule(table.skipped, others)} if table.skipped else {}
        except Unexpected as error:
            problems.append(_problem(error, name, f"columns.{column}"))
    if problems:
        raise SpecError(problems)
    published: list[PublishedFigures] = []
    for path_in_file, fact in model.facts():
        try:
            if isinstance(fact, ShareTable):
                published.append(published_shares(path_in_file, fact, units))
            else:
                published.append(published_means(path_in_file, fact, units))
        except Unexpected as error:
            problems.append(_problem(error, name, path_in_file))
    if problems:
        raise SpecError(problems)
    tables = {column: tuple(table for table in published if table.of == column) for column in model.columns}
    return CheckedFacts(file=name, tolerance=model.tolerance, columns=model.columns, skips=skips, units=units, tables=tables)


def _wrong_names(model: FactsFile, file: str) -> Iterator[Problem]:
    """Yield problems for unknown columns and sources, and for columns that are named twice or are their own condition."""
    for path, fact in model.facts():
        used = [(f"{path}.of", fact.of), *((f"{path}.given[{i}]", name) for i, name in enumerate(fact.given))]
        for key, name in used:
            if name not in model.columns:
                expected = f"one of the columns {listing(model.columns, MAX_COLUMNS)}"
                meant = closest(name, model.columns)
                yield Problem(file, key, mistake(expected, repr(name)), meant)
        if len(set(fact.given)) < len(fact.given) or fact.of in fact.given:
            wrong = f"The given columns must be different, and none of them may be {fact.of!r}. They are {listing(fact.given)}"
            yield Problem(file, f"{path}.given", mistake(wrong))
        if fact.source is not None and fact.source not in model.sources:
            expected, meant = f"one of the sources {listing(model.sources)}", closest(fact.source, model.sources)
            yield Problem(file, f"{path}.source", mistake(expected, repr(fact.source)), meant)


def _undrawn(model: FactsFile, file: str) -> Iterator[Problem]:
    for name, column in model.columns.items():
        tables = [path for path, fact in model.facts() if fact.of == name]
        means = [path for path in tables if path.startswith("means.")]
        if not tables:
            evenly = "To draw its values evenly, write a table with one band for all values"
            yield Problem(file, f"columns.{name}", mistake(f"The file has no table and no means of {name!r}. {evenly}"))
        elif means and len(tables) > 1:
            needed = f"{name!r} needs either tables of shares or a single table of means"
            yield Problem(file, f"columns.{name}", mistake(f"{needed}. The file has {listing(tables)}"))
        elif means and column.kind not in ("integer", "real"):
            wrong = f"{name!r} is a column of kind {column.kind!r}. Only a column of kind 'integer' or 'real' has a mean"
            yield Problem(file, f"{means[0]}.of", mistake(wrong))


# A family is the distribution of one column given its parents, the columns by which its tables are broken down.
#
# A family is fitted to all tables of its column at once. For this it needs the joint distribution of all parents.

# A combination of given bands with a smaller share counts as absent, so that published numbers for it are not compared.
_NEVER = 1e-12


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The cells of each parent (a column by which tables are broken down), in groups that no table tells apart.

    Attributes
    ----------
    of_cells : for each parent, (n_cells of the parent,) the group of each cell.
    rows : for each table, index arrays, one for each given column, that broadcast to (n_groups, ...) and select its row for
        every combination of groups.
    """

    of_cells: tuple[np.ndarray, ...]
    rows: tuple[tuple[np.ndarray, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(group.max()) + 1 for group in self.of_cells)

    def row_numbers(self, table: int, sizes: Sequence[int]) -> np.ndarray:
        """Return the (n_combinations,) row of a table that applies to each combination of groups."""
        row_number: Any = 0
        for row, size in zip(self.rows[table], sizes, strict=True):
            row_number = row_number * size + row
        return np.broadcast_to(row_number, self.shape).ravel()


def parent_groups(tables: Sequence[PublishedFigures], parents: Sequence[str], edges: Mapping[str, np.ndarray]) -> Groups:
    of_cells: list[np.ndarray] = []
    bands: dict[tuple[str, str], np.ndarray] = {}
    for axis, parent in enumerate(parents):
        using = [table for table in tables if parent in table.given]
        by_table = [bands_of_cells(table.given_bands[table.given.index(parent)], edges[parent]) for table in using]
        bands_of_groups, group = np.unique(np.array(by_table), axis=1, return_inverse=True)
        of_cells.append(group.ravel())
        shape = [-1 if axis_ == axis else 1 for axis_ in range(len(parents))]
        bands |= {(table.path, parent): band.reshape(shape) for table, band in zip(using, bands_of_groups, strict=True)}
    rows = tuple(tuple(bands[table.path, parent_of_table] for parent_of_table in table.given) for table in tables)
    return Groups(of_cells=tuple(of_cells), rows=rows)


def fitted_shares(facts: CheckedFacts, column: str, groups: Groups, joint: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the distribution of a column given its parents that agrees with all its tables and the parents' distribution.

    The parents are the columns by which the tables are broken down. The fit starts from the table with most bands.

    Parameters
    ----------
    joint : (n_groups, ...) share of each combination of groups.
    edges : (n_cells + 1,) units at which the cells of the column start.

    Returns
    -------
    (n_groups, ..., n_cells) shares that sum to 1 over the last axis.

    Raises
    ------
    SpecError : if a published number is missed by more than the tolerance.
    """
    tables = facts.tables[column]
    interpolated = facts.columns[column].within == "interpolated"
    shape = (*groups.shape, len(edges) - 1)
    published = []
    for index, table in enumerate(tables):
        sizes = table.figures.shape[:-1]
        rows = groups.row_numbers(index, sizes)
        weights = np.bincount(rows, joint.ravel(), minlength=prod(sizes)).reshape(sizes)  # how common each row is
        cells = (rows[:, None] * len(table.bands) + bands_of_cells(table.bands, edges)).ravel()
        published.append(GroupSums(groups=cells, target=(table.figures * weights[..., None]).ravel()))
    finest = max(range(len(tables)), key=lambda index: (len(tables[index].bands), tables[index].figures.size))
    start = spread(tables[finest].figures, tables[finest].bands, edges, interpolated=interpolated)[groups.rows[finest]]
    start = np.broadcast_to(start, shape)
    of_parents = GroupSums(groups=np.repeat(np.arange(joint.size), shape[-1]), target=joint.ravel())
    # fit the parents' joint distribution after every table, so that contradictory tables have equal weight
    margins = [step for margin in published for step in (margin, of_parents)]
    fitted_table = fit((start * joint[..., None]).ravel(), margins).reshape(shape)
    totals = fitted_table.sum(axis=-1, keepdims=True)
    shares = np.divide(fitted_table, totals, out=np.array(start), where=totals > _NEVER)
    _check_agreement(facts, column, published, shares * joint[..., None])
    return shares


def _check_agreement(facts: CheckedFacts, column: str, margins: Sequence[GroupSums], fitted_table: np.ndarray) -> None:
    """Raise SpecError if the fitted table misses a published share within a row by more than the tolerance."""
    tables = facts.tables[column]
    worst: tuple[float, str, str] = (facts.tolerance, "", "")
    for table, margin in zip(tables, margins, strict=True):
        sums = margin.of(fitted_table.ravel()).reshape(table.figures.shape)
        weights = sums.sum(axis=-1, keepdims=True)
        shares = np.divide(sums, weights, out=np.full(sums.shape, np.nan), where=weights > _NEVER)
        missed = np.nan_to_num(np.abs(shares - table.figures))
        cell = np.unravel_index(missed.argmax(), missed.shape)
        if missed[cell] > worst[0]:
            row = [bands[i].label for bands, i in zip(table.given_bands, cell[:-1], strict=True)]
            of_row = f" in the row {' and '.join(map(repr, row))}" if row else ""
            figures = f"{table.figures[cell]:.4g}, but {shares[cell]:.4g} in the best fit to all tables"
            worst = float(missed[cell]), table.path, f"{table.bands[cell[-1]].label!r}{of_row} has the share {figures}"
    if worst[1]:
        further = " and ".join(table.path for table in tables if table.path != worst[1])
        exceeds = f"The difference exceeds the tolerance of {facts.tolerance:g}"
        raise SpecError.at(facts.file, worst[1], f"The table contradicts {further}. {worst[2]}. {exceeds}")


# The network of a surrogate: its columns in an order in which each comes after its parents, and the family of each.
#
# The surrogate's distribution is the product of the families: each column given its parents, the columns that its tables name.
# All tables of a column are met at once by iterative proportional fitting over its own bands and those of its parents, whose
# joint distribution comes from the families before it.

MAX_CELLS = 2_000_000
MAX_COLUMN_CELLS = 10_000
MAX_PARENTS = 12


@dataclass(frozen=True, kw_only=True)
class GivenParents:
    """The distribution of a column given its parents, the columns by which its tables are broken down.

    Attributes
    ----------
    groups : for each parent, (n_cells of the parent,) the group of each cell.
    shares : (n_groups, ..., n_cells) share of each cell of the column.
    moments : (n_groups, ..., 2) mean and standard deviation, for a column that is drawn from means.
    """

    column: str
    parents: tuple[str, ...]
    groups: tuple[np.ndarray, ...]
    shares: np.ndarray
    moments: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class DrawingNetwork:
    """The distribution of each column given its parents, in the order of drawing, and the units at which its cells start."""

    families: Mapping[str, GivenParents]
    edges: Mapping[str, np.ndarray]


def fitted(facts: CheckedFacts) -> DrawingNetwork:
    """Fit a model of all columns to the published tables, with the columns in an order for drawing.

    Raises SpecError if columns depend on each other in a circle, or if tables are too large together or contradict each
    other.
    """
    edges = {}
    tables = [table for column in facts.columns for table in facts.tables[column]]
    for name, column in facts.columns.items():
        mentioned = [band for table in tables if table.of == name for band in table.bands]
        mentioned += [
            band for table in tables for parent, bands in zip(table.given, table.given_bands, strict=True) if parent == name
            for band in bands
        ]  # fmt: skip
        interpolated = column.within == "interpolated" and bool(facts.tables[name][0].bands)
        edges[name] = cell_edges(facts.units[name], mentioned, interpolated=interpolated)
        if len(edges[name]) > MAX_COLUMN_CELLS:
            many = f"All tables together have more than {MAX_COLUMN_CELLS:,} different bands of {name!r}"
            raise SpecError.at(facts.file, f"columns.{name}", many)
    families: dict[str, GivenParents] = {}
    for name in _order(facts):
        families[name] = _family(facts, name, families, edges)
    return DrawingNetwork(families=families, edges=edges)


def _order(facts: CheckedFacts) -> list[str]:
    """Return the columns so that each comes after the columns by which its tables are broken down, otherwise as in the
    file.

    Raises SpecError if columns depend on each other in a circle.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(facts.columns)
    for column in facts.columns:
        for table in facts.tables[column]:
            graph.add_edges_from(((parent, column) for parent in table.given), path=table.path)
    if not nx.is_directed_acyclic_graph(graph):
        circle = nx.find_cycle(graph)
        parts = [f"{column!r} needs {parent!r} ({graph.edges[parent, column]['path']})" for parent, column in reversed(circle)]
        path = f"{graph.edges[circle[0]]['path']}.given"
        raise SpecError.at(facts.file, path, f"Tables depend on each other in a circle: {'; '.join(parts)}")
    positions = {column: position for position, column in enumerate(facts.columns)}
    return list(nx.lexicographical_topological_sort(graph, key=positions.__getitem__))


def _family(
    facts: CheckedFacts, column: str, families: Mapping[str, GivenParents], edges: Mapping[str, np.ndarray]
) -> GivenParents:
    tables = facts.tables[column]
    parents = tuple(dict.fromkeys(parent for table in tables for parent in table.given))
    if len(parents) > MAX_PARENTS:
        many = f"The tables of {column!r} have {len(parents)} given columns. The limit is {MAX_PARENTS}"
        raise SpecError.at(facts.file, f"columns.{column}", many)
    cells = prod(len(edges[name]) - 1 for name in (column, *parents))
    if cells > MAX_CELLS:
        many = f"The tables of {column!r} have {cells:,} combinations of the bands of {listing([column, *parents])}"
        raise SpecError.at(facts.file, f"columns.{column}", f"{many}. The limit is {MAX_CELLS:,}")
    groups = parent_groups(tables, parents, edges)
    joint = _joint(families, parents, groups.of_cells)
    if not tables[0].bands:
        moments = np.broadcast_to(tables[0].figures[groups.rows[0]], (*groups.shape, 2))
        shares = shares_of_cells(facts.units[column], moments, edges[column])
        return GivenParents(column=column, parents=parents, groups=groups.of_cells, shares=shares, moments=moments)
    shares = fitted_shares(facts, column, groups, joint, edges[column])
    return GivenParents(column=column, parents=parents, groups=groups.of_cells, shares=shares)


def _joint(families: Mapping[str, GivenParents], parents: Sequence[str], groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_groups, ...) joint distribution of a column's parents, from the families fitted before."""
    needed = [*parents]
    for name in needed:  # grows while it is read
        needed += [parent for parent in families[name].parents if parent not in needed]
    label = {name: axis for axis, name in enumerate(needed)}
    operands: list[Any] = []
    for name in needed:
        family = families[name]
        cells = family.shares[np.ix_(*family.groups, np.arange(family.shares.shape[-1]))]
        operands += [cells, [label[parent] for parent in family.parents] + [label[name]]]
    for axis, (parent, group) in enumerate(zip(parents, groups, strict=True)):
        operands += [np.eye(int(group.max()) + 1)[group], [label[parent], len(needed) + axis]]
    if not parents:
        return np.array(1.0)
    return np.einsum(*operands, [len(needed) + axis for axis in range(len(parents))], optimize="greedy")


# Rows of a surrogate are drawn column by column. Systematic sampling keeps counts as near to the facts as whole rows allow.
#
# The rows of one combination of given bands get evenly spaced orders (k + u) / m, k = 0..m-1, in random order, with one
# random offset u. Any interval of length p contains floor(p m) or ceil(p m) of these orders, so every figure of the
# combination is met to within one row (Madow & Madow 1944).

MAX_ROWS = 100_000_000


def simulate(path: str | Path, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Draw a simulated public table from a facts file.

    Parameters
    ----------
    n : number of rows, at least 1.
    seed : at least 0. The same file, number of rows and seed give the same table.

    Returns
    -------
    dict : (n,) values of each column, in the order of the file, and rows in random order. Whole numbers are int64, real
        numbers float64, categories and dates (yyyy-mm-dd) texts. A column with empty cells holds objects, with None for an
        empty cell.

    Raises
    ------
    SpecError : for mistakes in the file.
    InputError : for an invalid n or seed.

    Privacy
    -------
    No guarantee is needed, because only published statistics are read.
    """
    if not 1 <= n <= MAX_ROWS:
        raise InputError(f"rows: expected a whole number from 1 to {MAX_ROWS:,}, found {n}.")
    if seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, found {seed}.")
    facts = load_facts(Path(path))
    return _draw(facts, fitted(facts), n, SeededEntropy(seed).generator())


def _draw(facts: CheckedFacts, network: DrawingNetwork, n: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    cells: dict[str, np.ndarray] = {}
    units: dict[str, np.ndarray] = {}
    for name, family in network.families.items():
        edges = network.edges[name]
        group = np.zeros(n, dtype=np.int64)
        for parent, groups, size in zip(family.parents, family.groups, family.shares.shape, strict=False):
            group = group * size + groups[cells[parent]]
        orders = systematic_orders(group, generator)
        if family.moments is not None:
            units[name] = quantiles(facts.units[name], family.moments.reshape(-1, 2)[group], orders)
            cells[name] = np.searchsorted(edges, units[name], side="right") - 1
        else:
            cells[name] = _cells_at(family.shares.reshape(-1, family.shares.shape[-1]), group, orders)
            widths = np.diff(edges)[cells[name]]
            within = systematic_orders(cells[name], generator) if widths.max() > 1 else np.zeros(n)
            units[name] = edges[cells[name]] + np.floor(within * widths).astype(np.int64)
    columns: Mapping[str, FactColumn] = facts.columns
    whole = {name: _values(columns[name], facts.units[name], units[name]) for name in columns}
    gapped = dict(whole)

    def compared(part: Any) -> Truth:
        met = np.asarray(HOLDS[part.operator](whole[part.column], part.value), dtype=bool)
        return met, ~met

    for name, column in columns.items():
        answered = generator.random(n) >= column.gaps if column.gaps else np.ones(n, dtype=bool)
        if name in facts.skips:
            answered &= ~truth_of(facts.skips[name], compared)[0]
        if not answered.all():
            gapped[name] = np.where(answered, whole[name].astype(object), np.array(None, dtype=object))
    return gapped


def systematic_orders(group: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return (n,) numbers in [0, 1) in random order, evenly spaced within each group with one random offset.

    If they are used as orders of quantiles, the counts of a group differ from their expectation by less than one row.
    """
    order = generator.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    sizes = np.bincount(group)
    offsets = generator.random(len(sizes))
    sorted_group = group[order]
    ranks = np.arange(len(group)) - (np.cumsum(sizes) - sizes)[sorted_group]
    orders = np.empty(len(group))
    orders[order] = (ranks + offsets[sorted_group]) / sizes[sorted_group]
    return np.minimum(orders, np.nextafter(1.0, 0.0))


def _cells_at(shares: np.ndarray, group: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the (n,) cells of the rows: quantiles of these orders in the (n_groups, n_cells) distributions of their groups."""
    cumulated = np.cumsum(shares, axis=1)
    cumulated /= cumulated[:, -1:]  # the last is 1 exactly, so that no order lies beyond it
    cells = np.empty(len(group), dtype=np.int64)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(shares)))
    for index in np.unique(group):
        rows = by_group[ends[index - 1] if index else 0 : ends[index]]
        cells[rows] = np.searchsorted(cumulated[index], orders[rows], side="right")
    return cells


def _values(column: FactColumn, units: Units, units_drawn: np.ndarray) -> np.ndarray:
    if units.categories:
        return np.array(units.categories, dtype=object)[units_drawn]
    if column.kind == "date":
        return np.array([f"{column.year:04d}-{month:02d}-{column.day:02d}" for month in range(13)], dtype=object)[units_drawn]
    return units_drawn / units.scale if column.kind == "real" else units_drawn
