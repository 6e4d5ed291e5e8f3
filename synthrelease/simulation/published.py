"""A published table as arrays: its bands, its figures, and a rule for the combinations that it does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any

import numpy as np

from synthrelease.errors import Problem, Unexpected, listing
from synthrelease.settings.reading import shown
from synthrelease.simulation.bands import MAX_BANDS, Band, Units, check_apart, check_number
from synthrelease.simulation.facts import FactTable, MeanTable, ShareTable
from synthrelease.simulation.moments import check_moments

ROUNDING = 0.02
"""How far the numbers of a row may be from adding up to `per`: rounded figures hardly ever add up."""
MAX_COMBINATIONS = 100_000


class TableMistake(Unexpected):
    """A mistake in one table, with its place in the table."""

    def __init__(self, place: str, expected: str, found: str):
        super().__init__(expected, found, place=place)

    @classmethod
    def of(cls, place: str, error: Unexpected, found: str = "") -> TableMistake:
        """From an error without a place; `found` is for one that leaves what was found to the caller."""
        return cls(place, error.expected, found if error.found is None else error.found)

    def problem(self, file: str, path: str) -> Problem:
        return Problem(file=file, path=f"{path}.{self.place}", expected=self.expected, found=self.found or "")


@dataclass(frozen=True, kw_only=True)
class PublishedFigures:
    """A published table of one column.

    Attributes
    ----------
    path : where it stands in the file.
    given : the columns that its rows are by; given_bands has the bands of each, which cover all its values.
    bands : the bands of the column `of` itself; empty in a table of means.
    figures : (n_given_bands, ..., n_bands) shares that sum to 1 over the last axis, or (n_given_bands, ..., 2) means and
        standard deviations; NaN where a combination was not published.
    ordered : for each given column, whether its bands have an order.
    missing : "nearest" or "average".
    """

    path: str
    of: str
    given: tuple[str, ...]
    given_bands: tuple[tuple[Band, ...], ...]
    bands: tuple[Band, ...]
    figures: np.ndarray
    ordered: tuple[bool, ...]
    missing: str

    def filled(self, weights: np.ndarray) -> np.ndarray:
        """The figures with every combination, after the table's public rule.

        "nearest" takes the mean of the published rows that are fewest bands away, adding over the given columns
        (categories without an order are one away); "average" takes the mean of all published rows, weighted by how common
        their combinations are.

        Parameters
        ----------
        weights : (n_given_bands, ...) how common each combination is.
        """
        published = ~np.isnan(self.figures[..., 0])
        if published.all():
            return self.figures
        figures = self.figures.copy()
        known, rows = np.argwhere(published), self.figures[published]
        if self.missing == "average":
            common = weights[published] if weights[published].sum() > 0 else np.ones(len(rows))
            figures[~published] = np.average(rows, axis=0, weights=common)
            return figures
        for place in np.argwhere(~published):
            steps = np.abs(known - place)
            distance = np.where(self.ordered, steps, steps > 0).sum(axis=1)
            figures[tuple(place)] = rows[distance == distance.min()].mean(axis=0)
        return figures


def published_shares(path: str, table: ShareTable, units: Mapping[str, Units]) -> PublishedFigures:
    """The arrays of a table of shares or counts.

    Rows are bands of the given columns and then one number for each band of `across`; without `across`, the last band of a
    row is of the column itself and one number follows.

    Raises
    ------
    TableMistake : for the first mistake in it.
    """
    own = units[table.of]
    if table.across is not None:
        try:
            bands = own.bands(table.across)
        except Unexpected as error:
            raise TableMistake.of("across", error) from None
        _check_cover(table.of, own, bands, "across")
        rows = _by_combination(table, [units[name] for name in table.given], len(bands))
    else:
        cells = _by_combination(table, [units[name] for name in (*table.given, table.of)], 1)
        bands = tuple(dict.fromkeys(combination[-1] for combination in cells))
        _check_cover(table.of, own, bands, "rows")
        rows = {}
        for combination in dict.fromkeys(key[:-1] for key in cells):
            absent = [band.label for band in bands if (*combination, band) not in cells]
            if absent:
                raise TableMistake("rows", f"a number for {absent[0]!r} in the rows of {_words(combination)}", "none")
            rows[combination] = [cells[*combination, band][0] for band in bands]
    for combination, numbers in rows.items():
        total = sum(numbers)
        where = f" in the rows of {_words(combination)}" if combination else ""
        if not total > 0:
            raise TableMistake("rows", f"a number above 0{where}", "only zeros")
        if table.per is not None and not abs(total - table.per) <= ROUNDING * table.per:
            expected = f"numbers{where} that add up to per = {table.per:g}, give or take {ROUNDING:.0%} for rounding"
            raise TableMistake("rows", expected, f"{total:g}")
    shares = {combination: np.array(numbers) / sum(numbers) for combination, numbers in rows.items()}
    return _published(path, table, units, bands, shares)


def published_means(path: str, table: MeanTable, units: Mapping[str, Units]) -> PublishedFigures:
    """The arrays of a table of means: rows are bands of the given columns, then mean and standard deviation.

    Raises
    ------
    TableMistake : for the first mistake in it.
    """
    rows = _by_combination(table, [units[name] for name in table.given], 2)
    for number, (mean, deviation) in enumerate(rows.values()):
        try:
            check_moments(units[table.of], mean, deviation)
        except Unexpected as error:
            raise TableMistake.of(f"rows[{number}]", error) from None
    return _published(path, table, units, (), {combination: np.array(numbers) for combination, numbers in rows.items()})


def _published(
    path: str,
    table: FactTable,
    units: Mapping[str, Units],
    bands: tuple[Band, ...],
    rows: Mapping[tuple[Band, ...], np.ndarray],
) -> PublishedFigures:
    """Rows by combination -> arrays over all combinations."""
    given_bands = []
    for place, name in enumerate(table.given):
        named = dict.fromkeys(combination[place] for combination in rows)
        given_bands.append(tuple(sorted([*named, *units[name].without(named)], key=lambda band: band.ranges)))
        if len(given_bands[-1]) > MAX_BANDS:
            raise TableMistake("given", f"at most {MAX_BANDS} bands of {name!r}", "more")
    sizes = [len(choices) for choices in given_bands]
    if prod(sizes) > MAX_COMBINATIONS:
        raise TableMistake("given", f"at most {MAX_COMBINATIONS} combinations of bands", f"{prod(sizes)}")
    figures = np.full((*sizes, len(next(iter(rows.values())))), np.nan)
    absent = []
    for index, combination in zip(np.ndindex(*sizes), product(*given_bands), strict=True):
        if combination in rows:
            figures[index] = rows[combination]
        else:
            absent.append(combination)
    if absent and table.missing == "error":
        more = f" (and for {len(absent) - 1} more)" if len(absent) > 1 else ""
        expected = "a row for every combination, or missing = 'nearest' or 'average'"
        raise TableMistake("rows", expected, f"none for {_words(absent[0])}{more}")
    return PublishedFigures(
        path=path,
        of=table.of,
        given=table.given,
        given_bands=tuple(given_bands),
        bands=bands,
        figures=figures,
        ordered=tuple(not units[name].categories for name in table.given),
        missing=table.missing,
    )


def _by_combination(table: FactTable, columns: Sequence[Units], width: int) -> dict[tuple[Band, ...], list[float]]:
    """The numbers of each row by the bands before them."""
    found: dict[tuple[Band, ...], list[float]] = {}
    for number, row in enumerate(table.rows):
        place = f"rows[{number}]"
        if len(row) != len(columns) + width:
            expected = f"{len(columns)} band(s) and then {width} number(s)"
            raise TableMistake(place, expected, f"{len(row)} values")
        numbers = [_number(value, f"{place}[{len(columns) + i}]") for i, value in enumerate(row[len(columns) :])]
        combination = tuple(
            _one_band(units, str(label), f"{place}[{i}]") for i, (units, label) in enumerate(zip(columns, row, strict=False))
        )
        if combination in found:
            raise TableMistake(place, "one row for each combination", f"a second one for {_words(combination)}")
        found[combination] = numbers
    for choices in zip(*found, strict=True):
        try:
            check_apart(dict.fromkeys(choices))
        except Unexpected as error:
            raise TableMistake.of("rows", error) from None
    return found


def _number(value: Any, place: str) -> float:
    if isinstance(value, int | float | Decimal) and value >= 0:
        return float(value)
    raise TableMistake(place, "a number of at least 0", shown(value))


def _one_band(units: Units, label: str, place: str) -> Band:
    try:
        bands = units.bands([label])
    except Unexpected as error:
        raise TableMistake.of(place, error) from None
    if len(bands) != 1:
        raise TableMistake(place, "one band", f"{label!r}, which is {len(bands)}")
    return bands[0]


def _check_cover(name: str, units: Units, bands: Sequence[Band], place: str) -> None:
    try:
        check_number(len(bands))
        check_apart(bands)
    except Unexpected as error:
        raise TableMistake.of(place, error) from None
    left = units.without(bands)
    if left:
        raise TableMistake(place, f"bands for all values of {name!r}", f"none for {listing(band.label for band in left)}")


def _words(combination: Sequence[Band]) -> str:
    return " and ".join(repr(band.label) for band in combination) or "all"
