"""How a text of the private file is read: the atomic bin of a value, by public rules for that value alone.

In every kind of column spaces around a text do not count, and a number that is written as 12.0 (as pandas does where a column
has missing values) is also the category, code or missing value "12". A text that the specification lists as a category or code
is that, even when [input] lists it as a missing value; a text that is a missing value is no number and no date. Integers may be
written 12, 12.0, +12 or 1e+05 (as R does); 1.5, 1,000 and 1_000 are not integers, and inf is not a number. With a decimal comma
they are written 12,0, and 1.5 is no number at all. Dates are read by `domain.dates`; the date is the one that is written,
whatever the time zone.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from synthrelease.domain.dates import PARTS
from synthrelease.domain.schema import Column
from synthrelease.enclave.texts import Texts
from synthrelease.toml.tables import InputTable

MISSING, OUTSIDE, WRONG = -1, -2, -3
"""In the place of a bin: what has none."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)


def atomic_bins(columns: Mapping[str, Texts], column: Column, policy: InputTable) -> np.ndarray:
    """(n_rows,) the atomic bins of a column, from columns of the file; MISSING, OUTSIDE or WRONG where the value has none."""
    cells = columns[column.source]
    if column.minus is not None:
        return _days_between(cells, columns[column.minus], column, policy)
    bin_of = _bin_of_text(column, policy, "." if cells.typed else policy.decimal)
    return np.array([bin_of(text) for text in cells.texts], dtype=np.int64)[cells.codes]


def _days_between(ends: Texts, starts: Texts, column: Column, policy: InputTable) -> np.ndarray:
    """(n_rows,) the bins of the days from the dates of one column to those of another.

    The number of a row is missing where either date is, and what is no date makes the row wrong, whatever the other one is.
    """
    (end, no_end, bad_end), (start, no_start, bad_start) = (_ordinals(cells, column, policy) for cells in (ends, starts))
    days = end - start
    low, high = column.bounds or (-math.inf, math.inf)
    bins = np.searchsorted(np.array(column.edges), days, side="right").astype(np.int64)
    if column.outside != "clip":
        bins[(days < low) | (days > high)] = OUTSIDE
    bins[no_end | no_start] = _absent(column)
    bins[bad_end | bad_start] = WRONG
    return bins


def _ordinals(cells: Texts, column: Column, policy: InputTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n_rows,) numbers of days (0 where there is no date), whether the date is missing, and whether it is wrong."""
    missing = _missing_texts(column, policy)
    absent = np.array([text is None or any(form in missing for form in _forms(text, ".")) for text in cells.texts], dtype=bool)
    dates = [None if column.dates is None or text is None else column.dates.read(text.strip()) for text in cells.texts]
    wrong = np.array([date is None for date in dates], dtype=bool) & ~absent
    days = np.array([0 if date is None else date.toordinal() for date in dates], dtype=np.int64)
    return days[cells.codes], absent[cells.codes], wrong[cells.codes]


def _missing_texts(column: Column, policy: InputTable) -> set[str]:
    return {form for text in policy.missing_values + column.missing_values for form in (text, text.strip())}


def _absent(column: Column) -> int:
    """Where missing values go."""
    return MISSING if column.atoms.missing is None else column.atoms.missing


def _bin_of_text(column: Column, policy: InputTable, decimal: str) -> Callable[[str | None], int]:
    """The reading of one text: its atomic bin, that of missing values included, or one of MISSING, OUTSIDE and WRONG."""
    missing, absent = _missing_texts(column, policy), _absent(column)
    values = {text.strip(): index for text, index in column.values.items()} | dict(column.values)

    def bin_of(text: str | None) -> int:
        for form in _forms(text or "", decimal):
            if form in values:
                return values[form]
            if form in missing:
                return absent
        if text is None:
            return absent
        return OUTSIDE if column.kind == "category" else _bin_of_number(_number(text.strip(), column, decimal), column)

    return bin_of


def _forms(text: str, decimal: str) -> Iterator[str]:
    """The ways in which the specification may write the same text, most exact first."""
    yield text
    yield text.strip()
    if whole := _WHOLE.fullmatch(_with_point(text.strip(), decimal)):
        yield whole[1]


def _with_point(text: str, decimal: str) -> str:
    """A number with a decimal point; one that has another in its place is no number."""
    return text if decimal == "." else "" if "." in text else text.replace(decimal, ".")


def _number(text: str, column: Column, decimal: str) -> float:
    """The number, or the part of the date, that the text stands for; NaN when there is none."""
    if column.dates is not None and column.part is not None:
        date = column.dates.read(text)
        return math.nan if date is None else float(PARTS[column.part](date))
    written = _with_point(text, decimal)
    number = float(written) if _NUMBER.fullmatch(written) else math.nan
    if column.kind == "integer" and math.isfinite(number) and not number.is_integer():
        return math.nan
    return number


def _bin_of_number(number: float, column: Column) -> int:
    if math.isnan(number):
        return WRONG
    low, high = column.bounds or (-math.inf, math.inf)
    if not low <= number <= high and column.outside != "clip":
        return OUTSIDE
    return bisect_right(column.edges, number)  # beyond a bound: the first or last bin
