"""From a private CSV or Parquet file to atomic counts: the one place where rows exist.

The file is read in pieces, so that it may be larger than memory. Every value meets a public rule of the specification
(missing, outside the bounds, plausible or not) or stops the run with an error that names the column and the place, never
the value. Bins and layout come from the specification alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from synthrelease.constraints import Plausibility
from synthrelease.errors import InputError
from synthrelease.privacy import Charge
from synthrelease.private import Meter, PrivateCounts
from synthrelease.reading import pieces
from synthrelease.schema import Column, Schema
from synthrelease.spec_files import InputTable
from synthrelease.table import Counts

MAX_ROWS = 2**30
"""Capacities of the matching are 32-bit, and products of two counts must fit 64 bits."""

_DATE = r"^(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:[T ].*)?$"


def ingest(
    path: str | Path, schema: Schema, rules: InputTable, raw: Plausibility, planned: tuple[Charge, ...]
) -> PrivateCounts:
    """Read the private file once and group it to atomic cells.

    Parameters
    ----------
    planned : the charges that may be spent on the result before the selection loop.

    Raises
    ------
    InputError : with column and place, no value.

    Privacy
    -------
    Neighbouring tables are tables of plausible rows: rows that break a raw rule are left out here, and their number is
    not kept. The number of rows that remain, n, is an invariant of the guarantee (theory 10).
    """
    total: Counts | None = None
    for first_row, frame in pieces(Path(path), schema, rules):
        piece = _count(frame, first_row, schema, rules, raw)
        total = piece if total is None else total + piece
        if total.total > MAX_ROWS:
            raise InputError(f"{path}: expected at most {MAX_ROWS} rows, found more.")
    if total is None or not total.total:
        raise InputError(f"{path}: expected at least one row that follows the plausibility rules, found none.")
    return PrivateCounts(total, Meter(planned))


def _count(frame: pd.DataFrame, first_row: int, schema: Schema, rules: InputTable, raw: Plausibility) -> Counts:
    kept = np.ones(len(frame), dtype=bool)
    digits = []
    for column in schema.columns:
        values, usable = _encode(frame[column.source], column, rules, first_row)
        digits.append(values)
        kept &= usable
    kept &= ~raw.forbidden(digits) if len(frame) else True
    codes = sum(digit[kept] * stride for digit, stride in zip(digits, schema.layout.strides, strict=True))
    return Counts(schema.layout, np.asarray(codes, dtype=np.int64))


def _encode(series: pd.Series, column: Column, rules: InputTable, first_row: int) -> tuple[np.ndarray, np.ndarray]:
    """(n,) atomic bins and (n,) whether the row is kept."""
    missing = series.isna().to_numpy()
    if series.dtype == object or isinstance(series.dtype, pd.StringDtype):
        missing = missing | series.isin(list(rules.missing_values)).to_numpy()
    if column.missing == "error":
        _stop_at(missing, column, first_row, "a value in every row", "a missing value")
    if column.kind == "category":
        digits, outside = _categories(series, column, missing)
        expected = "one of the categories of the specification"
    else:
        digits, outside = _numbers(series, column, missing, first_row)
        expected = f"values within the public bounds {list(column.bounds or ())}"
    if column.outside == "error":
        _stop_at(outside, column, first_row, expected, "another value")
    kept = ~missing & ~outside if column.outside == "drop" else ~missing
    return np.where(kept, digits, 0), kept


def _categories(series: pd.Series, column: Column, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    index = series.astype(str).map(dict(column.values)).to_numpy(dtype=float, na_value=np.nan)
    outside = np.isnan(index) & ~missing
    return np.nan_to_num(index, nan=0).astype(np.int64), outside


def _numbers(series: pd.Series, column: Column, missing: np.ndarray, first_row: int) -> tuple[np.ndarray, np.ndarray]:
    if column.part:
        numbers = _date_part(series, column.part)
        expected = "dates written yyyy-mm-dd"
    else:
        numbers = pd.to_numeric(series.where(~missing), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        expected = "whole numbers" if column.kind == "integer" else "numbers"
    wrong = ~missing & ~np.isfinite(numbers)
    if column.kind == "integer":
        wrong |= ~missing & np.isfinite(numbers) & (numbers != np.floor(numbers))
    _stop_at(wrong, column, first_row, expected, "something else")
    low, high = column.bounds or (-np.inf, np.inf)
    numbers = np.where(missing, low, numbers)
    outside = (numbers < low) | (numbers > high)
    return np.searchsorted(np.array(column.edges), np.clip(numbers, low, high), side="right"), outside


def _date_part(series: pd.Series, part: str) -> np.ndarray:
    if pd.api.types.is_datetime64_any_dtype(series):
        dates = series
    else:
        text = series.astype(str)
        dates = pd.to_datetime(text.where(text.str.match(_DATE)).str.slice(0, 10), format="%Y-%m-%d", errors="coerce")
    return getattr(dates.dt, part).to_numpy(dtype=float, na_value=np.nan)


def _stop_at(bad: np.ndarray, column: Column, first_row: int, expected: str, found: str) -> None:
    if bad.any():
        row = first_row + int(np.argmax(bad))
        raise InputError(
            f"Column {column.source!r}: expected {expected}, found {found} in data row {row} (counted from 1 after the "
            f"header; the value is not shown)."
        )
