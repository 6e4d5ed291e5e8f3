"""From a private CSV or Parquet file to atomic counts: the one place where rows exist.

The file is read in pieces, so that it may be larger than memory. Every value meets a public rule of the specification
(missing, outside the bounds, plausible or not); a file with values that meet none is refused, by the names of all columns that
do not fit, never with a value, a row or a number of rows. Bins and layout come from the specification alone.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from synthrelease.domain.counts import Counts, Tally
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.schema import Column, Schema
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.reading import pieces
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError, listing
from synthrelease.toml.tables import InputTable

MAX_ROWS = 2**30
"""Capacities of the matching are 32-bit, and products of two counts must fit 64 bits."""

_MISSING, _OUTSIDE, _WRONG = -1, -2, -3
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})([T ]\d{2}:\d{2}.*)?", re.ASCII)


ADVICE = (
    "Neither rows nor values are shown, and how many rows it concerns is not told. What this message says comes from the "
    "private file and is not paid for: do not change bounds, bins or categories because of it. What works for any file: "
    'outside = "clip" or "drop", missing = "bin" or "drop".'
)


def ingest(path: str | Path, schema: Schema, policy: InputTable, raw: Plausibility) -> PrivateRows:
    """Read the private file once and group the rows that the public rules keep to atomic cells.

    Raises
    ------
    InputError : with columns, no value, and no cause or frame of the code that saw values. A line that is no CSV is named by
        its number; a value that does not fit never is.

    Privacy
    -------
    The result may be any table of kept rows: rows with a missing value, a value outside or against a raw rule are left out
    where the specification says so, and their number stays behind the door with the counts. `resizing.resize` makes of it the
    table that a release works with. The number of rows of the file is public. Where the specification drops nothing, a value
    that does not fit stops the run: files with such values are outside the domain of the guarantee.
    """
    found = _counts_or_problem(path, schema, policy, raw)
    if isinstance(found, str):
        raise InputError(found)
    return PrivateRows(found.kept, found.n_file)


def read_public(path: str | Path, schema: Schema, policy: InputTable, raw: Plausibility) -> Counts:
    """The kept rows of a file that is public: counts that anybody may see. Only the rehearsal may call it.

    Raises
    ------
    InputError : as `ingest`, and for a file of which no row is kept.
    """
    found = _counts_or_problem(path, schema, policy, raw)
    if isinstance(found, str):
        raise InputError(found)
    if not found.kept.total:
        raise InputError(f"{path}: expected at least one row that follows the plausibility rules, found none.")
    return found.kept


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The kept rows of a file, and the number of all its rows."""

    kept: Counts
    n_file: int


def _counts_or_problem(path: str | Path, schema: Schema, policy: InputTable, raw: Plausibility) -> _Rows | str:
    """The counts, or what is wrong: a text, so that no error carries a frame or cause that saw values."""
    try:
        return _read(Path(path), schema, policy, raw)
    except InputError as error:
        return f"{path}: {error}"
    except Exception:
        return f"{path}: expected a file that can be read, found one that cannot. The cause is not shown: it may hold values."


def _read(path: Path, schema: Schema, policy: InputTable, raw: Plausibility) -> _Rows:
    kept = Tally(schema.layout)
    n_file = 0
    problems: set[tuple[int, int]] = set()
    for _, columns in pieces(path, schema, policy):
        digits = [_encode(columns[column.source], column, policy) for column in schema.columns]
        n_file += len(digits[0])
        if n_file > MAX_ROWS:
            raise InputError(f"expected at most {MAX_ROWS} rows, found more.")
        problems |= {
            (place, kind)
            for place, (column, found) in enumerate(zip(schema.columns, digits, strict=True))
            for kind in _forbidden_kinds(column)
            if (found == kind).any()
        }
        if not problems:
            kept.add(_count(digits, schema, raw))
    if problems:  # of the whole file, in the order of the columns, whatever the order of the rows
        found_in = [_problem(schema.columns[place], kind) for place, kind in sorted(problems)]
        raise InputError("\n  ".join(["the file does not fit the specification.", *found_in]) + f"\n{ADVICE}")
    if not n_file:
        raise InputError("expected rows after the header, found none.")
    return _Rows(kept=kept.total(), n_file=n_file)


def _count(digits: list[np.ndarray], schema: Schema, raw: Plausibility) -> Counts:
    kept = np.all([digit >= 0 for digit in digits], axis=0)
    digits = [digit[kept] for digit in digits]
    plausible = ~raw.forbidden(digits)
    return Counts.of(schema.layout, [digit[plausible] for digit in digits])


def _encode(cells: Texts, column: Column, policy: InputTable) -> np.ndarray:
    """(n_rows,) atomic bins, negative where the value has none."""
    bin_of = _bin_of_text(column, policy)
    return np.array([bin_of(text) for text in cells.texts], dtype=np.int64)[cells.codes]


def _forbidden_kinds(column: Column) -> Iterator[int]:
    """What must not occur in a column; the other rows without a bin are left out."""
    yield _WRONG
    if column.missing == "error":
        yield _MISSING
    if column.outside != "drop":  # clipped numbers are inside by now
        yield _OUTSIDE


def _problem(column: Column, kind: int) -> str:
    if kind == _MISSING:
        expected, found = "a value in every row", "missing values"
    elif column.kind == "category":
        expected, found = f"one of the categories {listing(column.values)}", "something else"
    elif kind == _OUTSIDE and column.bounds is not None:
        expected, found = "values within the public bounds {:.15g} to {:.15g}".format(*column.bounds), "other values"
    elif column.part:
        expected, found = "dates such as 2014-12-31", "something else"
    else:
        numbers = "whole numbers such as 12" if column.kind == "integer" else "numbers such as 1.5"
        expected, found = numbers, "something else"
    return f"column {column.source!r}: expected {expected}, found {found}."


def _bin_of_text(column: Column, policy: InputTable) -> Callable[[str | None], int]:
    """The reading of one text: its atomic bin, that of missing values included, or one of _MISSING, _OUTSIDE and _WRONG."""
    missing = {form for text in policy.missing_values + column.missing_values for form in (text, text.strip())}
    absent = _MISSING if column.atoms.missing is None else column.atoms.missing
    values = {text.strip(): index for text, index in column.values.items()} | dict(column.values)

    def bin_of(text: str | None) -> int:
        for form in _forms(text or ""):
            if form in values:
                return values[form]
            if form in missing:
                return absent
        if text is None:
            return absent
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
