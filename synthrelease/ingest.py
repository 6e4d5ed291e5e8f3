"""From a private CSV or Parquet file to atomic counts: the one place where rows exist.

The file is read in pieces, so that it may be larger than memory. Every value meets a public rule of the specification
(missing, outside the bounds, plausible or not) or stops the run with an error that names the column and the place, never
the value. Bins and layout come from the specification alone.

How a text is read, in every kind of column: spaces around it do not count, and a number that is written as 12.0 (as
pandas does where a column has missing values) is also the category or missing value "12". A text that the specification
lists as a category is that category, even when it is also listed as a missing value. Integers may be written 12, 12.0,
+12 or 1e+05 (as R does); 1.5, 1,000 and 1_000 are not integers, and inf is not a number. Dates are yyyy-mm-dd, with or
without a time of day after T or a space; the date is the one that is written, whatever the time zone.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path

import numpy as np

from synthrelease.constraints import Plausibility
from synthrelease.errors import InputError, listing
from synthrelease.privacy import Charge
from synthrelease.private import Meter, PrivateCounts
from synthrelease.reading import pieces
from synthrelease.schema import Column, Schema
from synthrelease.spec_files import InputTable
from synthrelease.table import Counts
from synthrelease.texts import Texts

MAX_ROWS = 2**30
"""Capacities of the matching are 32-bit, and products of two counts must fit 64 bits."""

_MISSING, _OUTSIDE, _WRONG = -1, -2, -3
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})([T ]\d{2}:\d{2}.*)?", re.ASCII)


def ingest(
    path: str | Path, schema: Schema, rules: InputTable, raw: Plausibility, planned: tuple[Charge, ...]
) -> PrivateCounts:
    """Read the private file once and group it to atomic cells.

    Parameters
    ----------
    planned : the charges that may be spent on the result before the selection loop.

    Raises
    ------
    InputError : with column and place, no value, and no cause or frame of the code that saw values.

    Privacy
    -------
    Neighbouring tables are tables of plausible rows: rows that break a raw rule are left out here, and their number is
    not kept. The number of rows that remain, n, is an invariant of the guarantee (theory 10).
    """
    found = _counts_or_problem(path, schema, rules, raw)
    if isinstance(found, str):
        raise InputError(found)
    return PrivateCounts(found, Meter(planned))


def read_public(path: str | Path, schema: Schema, rules: InputTable, raw: Plausibility) -> Counts:
    """The same for a file that is public: counts that anybody may see. Only the rehearsal may call it.

    Raises
    ------
    InputError : as `ingest`.
    """
    found = _counts_or_problem(path, schema, rules, raw)
    if isinstance(found, str):
        raise InputError(found)
    return found


def _counts_or_problem(path: str | Path, schema: Schema, rules: InputTable, raw: Plausibility) -> Counts | str:
    """The counts, or what is wrong: a text, so that no error carries a frame or cause that saw values."""
    try:
        return _read(Path(path), schema, rules, raw)
    except InputError as error:
        return f"{path}: {error}"
    except Exception:
        return f"{path}: expected a file that can be read, found one that cannot. The cause is not shown: it may hold values."


def _read(path: Path, schema: Schema, rules: InputTable, raw: Plausibility) -> Counts:
    total: Counts | None = None
    for first_row, columns in pieces(path, schema, rules):
        piece = _count(columns, first_row, schema, rules, raw)
        total = piece if total is None else total + piece
        if total.total > MAX_ROWS:
            raise InputError(f"expected at most {MAX_ROWS} rows, found more.")
    if total is None:
        raise InputError("expected rows after the header, found none.")
    if not total.total:
        raise InputError("expected at least one row that follows the plausibility rules, found none.")
    return total


def _count(columns: Mapping[str, Texts], first_row: int, schema: Schema, rules: InputTable, raw: Plausibility) -> Counts:
    digits = [_encode(columns[column.source], column, rules, first_row) for column in schema.columns]
    kept = np.all([digit >= 0 for digit in digits], axis=0)
    digits = [digit[kept] for digit in digits]
    codes = sum(digit * stride for digit, stride in zip(digits, schema.layout.strides, strict=True))
    return Counts(schema.layout, np.asarray(codes, dtype=np.int64)[~raw.forbidden(digits)])


def _encode(cells: Texts, column: Column, rules: InputTable, first_row: int) -> np.ndarray:
    """(n_rows,) atomic bins, negative where the row is left out.

    Raises
    ------
    InputError : at the first row that the rules of the column do not allow.
    """
    bin_of = _bin_of_text(column, rules)
    digits = np.array([bin_of(text) for text in cells.texts], dtype=np.int64)[cells.codes]
    if column.kind == "category":
        expected = f"one of the categories {listing(column.values)}"
    elif column.part:
        expected = "dates such as 2014-12-31"
    else:
        expected = "whole numbers such as 12" if column.kind == "integer" else "numbers such as 1.5"
    _stop_at(digits == _WRONG, column, first_row, expected, "something else")
    if column.missing != "drop":
        _stop_at(digits == _MISSING, column, first_row, "a value in every row", "a missing value")
    if column.outside != "drop":  # clipped numbers are inside by now
        if column.bounds is not None:
            expected = "values within the public bounds {:.15g} to {:.15g}".format(*column.bounds)
        _stop_at(digits == _OUTSIDE, column, first_row, expected, "another value")
    return digits


def _bin_of_text(column: Column, rules: InputTable) -> Callable[[str | None], int]:
    """The reading of one text: its atomic bin, or one of _MISSING, _OUTSIDE and _WRONG."""
    missing = {form for text in rules.missing_values for form in (text, text.strip())}
    values = {text.strip(): index for text, index in column.values.items()} | dict(column.values)

    def bin_of(text: str | None) -> int:
        forms = list(_forms(text or ""))
        index = next((values[form] for form in forms if form in values), None)
        if index is not None:
            return index
        if text is None or any(form in missing for form in forms):
            return _MISSING
        return _OUTSIDE if column.kind == "category" else _bin_of_number(_number(text.strip(), column), column)

    return bin_of


def _forms(text: str) -> Iterator[str]:
    """The ways in which the specification may write the same text, most exact first."""
    yield text
    yield text.strip()
    if whole := _WHOLE.fullmatch(text.strip()):
        yield whole[1]


def _number(text: str, column: Column) -> float:
    """The number, or the part of the date, that the text stands for; NaN when there is none."""
    if column.part:
        found = _DATE.fullmatch(text)
        return _date_part(int(found["year"]), int(found["month"]), int(found["day"]), column.part) if found else math.nan
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if column.kind == "integer" and math.isfinite(number) and not number.is_integer():
        return math.nan
    return number


def _date_part(year: int, month: int, day: int, part: str) -> float:
    try:
        return float(getattr(date(year, month, day), part))
    except ValueError:  # such as 30 February
        return math.nan


def _bin_of_number(number: float, column: Column) -> int:
    if math.isnan(number):
        return _WRONG
    low, high = column.bounds or (-math.inf, math.inf)
    if not low <= number <= high and column.outside != "clip":
        return _OUTSIDE
    return bisect_right(column.edges, number)  # beyond a bound: the first or last bin


def _stop_at(bad: np.ndarray, column: Column, first_row: int, expected: str, found: str) -> None:
    if bad.any():
        row = first_row + int(np.argmax(bad))
        raise InputError(
            f"column {column.source!r}: expected {expected}, found {found} in data row {row} (the header and blank lines are "
            "not counted; the value is not shown)."
        )
