"""Determine the atomic bin of each value in a private file, by public rules that depend only on this value.

Spaces around a text are ignored. Categories, codes and missing values are looked up as written, then as numbers without
trailing zeros of a fraction: 12.0 (which pandas writes for 12 in a column with missing values) is 12, and .5 is 0.5, but 012
and +12 are different from 12. So a number matches the same entry of the specification, whether the file stores it as a text or
as a number (see `texts.LazyTexts.numbers`).

A text that is listed as a category or code has this meaning, even if [input] lists it as a missing value. A text that means a
missing value is not read as a number or a date. If only the first characters of a text are its code, the whole text determines
whether the value is missing.

Integers may be written 12, 12.0, +12 or 1e+05 (as R does), but not 1.5, 1,000 or 1_000. With a decimal comma, numbers are
written 12,0, and 1.5 is not a number. The random group of a cluster is computed from a public digest of its text, so it also
depends only on the row.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.dates import PARTS, DateFormat, years_between
from synthrelease.data.misfits import MISSING, OUTSIDE, WRONG
from synthrelease.data.schema import Column
from synthrelease.enclave.texts import LazyTexts, Texts
from synthrelease.settings.columns import InputTable

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?", re.ASCII)


@dataclass(frozen=True, kw_only=True, repr=False)
class Digits:
    """The private bins of one column in a batch of rows. The repr does not show them.

    Attributes
    ----------
    of_text : (n_texts,) int64, the atomic bin of each text, or MISSING, OUTSIDE or WRONG.
    codes : (n_rows,) index of each row's text. Some texts may occur in no row.
    """

    of_text: np.ndarray
    codes: np.ndarray

    def rows(self) -> np.ndarray:
        return self.of_text[self.codes]

    def kinds(self) -> dict[int, int]:
        """Count the rows whose value has no bin, for each reason that occurs (MISSING, OUTSIDE or WRONG)."""
        if self.of_text.min(initial=0) >= 0:
            return {}
        rows = self.rows()
        rows_of_kind = {kind: int(np.count_nonzero(rows == kind)) for kind in (MISSING, OUTSIDE, WRONG)}
        return {kind: rows_having for kind, rows_having in rows_of_kind.items() if rows_having}


class Known(dict[str | None, int]):
    """Caches the bins of a column's texts. `rule` returns the bin of a text, which depends on nothing else, so the cache
    changes no result."""

    MOST = 2**17
    LONGEST = 50
    """The cache stores only texts with at most this number of characters."""

    def __init__(self, rule: Callable[[str | None], int]):
        self._rule = rule

    def __missing__(self, text: str | None) -> int:
        meaning = self._rule(text)
        if text is None or len(text) <= self.LONGEST:
            if len(self) >= self.MOST:
                self.clear()
            self[text] = meaning
        return meaning

    def of(self, texts: Sequence[str | None]) -> np.ndarray:
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int64, count=len(texts))


MANY = 500
"""If a batch has at least this number of texts, its plain numbers are read all at once."""


def atomic_bins(columns: Mapping[str, Texts], column: Column, policy: InputTable, known: dict[str, Known]) -> Digits:
    """Assign an atomic bin of a column to each row of a batch, from the columns of the file.

    Parameters
    ----------
    known : the cached bins of this column, by decimal mark; an empty dict for the first batch.
    """
    cells = columns[column.source]
    if column.minus is not None:
        return _days_between(cells, columns[column.minus], column, policy, known)
    rules = [_rule(column, policy, mark, known) for mark in (".", policy.decimal)]
    if isinstance(cells.typed, np.ndarray) and policy.decimal != ".":
        bins = [rule.of(cells.texts) for rule in rules]
        return Digits(of_text=np.where(cells.typed, *bins), codes=cells.codes)
    decimal, rule = (".", rules[0]) if np.any(cells.typed) else (policy.decimal, rules[1])
    if isinstance(cells.texts, LazyTexts) and len(cells.texts) >= MANY and column.kind != "category" and column.dates is None:
        return Digits(of_text=_bins_of_numbers(cells.texts, column, policy, decimal, rule), codes=cells.codes)
    return Digits(of_text=rule.of(cells.texts), codes=cells.codes)


def _rule(column: Column, policy: InputTable, decimal: str, known: dict[str, Known]) -> Known:
    if (rule := known.get(decimal)) is None:
        rule = known[decimal] = Known(_bin_of_text(column, policy, decimal))
    return rule


def _bins_of_numbers(texts: LazyTexts, column: Column, policy: InputTable, decimal: str, rule: Known) -> np.ndarray:
    """Return the (n_texts,) bins of texts of numbers, as if `rule` converted every text. Plain numbers are converted all at
    once.

    The rule converts numbers that equal a listed missing value, because a text such as "99.0" may mean the listed "99".
    """
    numbers, plain = texts.numbers(decimal)
    plain &= ~np.isin(numbers, _numbers_that_may_be_missing(column, policy))
    bins = np.searchsorted(np.array(column.edges), numbers, side="right").astype(np.int64)
    low, high = column.bounds or (-math.inf, math.inf)
    if column.outside != "clip":
        bins[~((low <= numbers) & (numbers <= high))] = OUTSIDE
    if column.kind == "integer":
        bins[numbers != np.floor(numbers)] = WRONG if column.unlisted is None else column.unlisted
    rest = np.flatnonzero(~plain)
    bins[rest] = rule.of([texts[index] for index in rest.tolist()])
    return bins


def _numbers_that_may_be_missing(column: Column, policy: InputTable) -> list[float]:
    candidates = [_with_point(text.strip(), decimal) for text in _missing_texts(column, policy) for decimal in ".,"]
    return [float(text) for text in candidates if _NUMBER.fullmatch(text)]


def _days_between(ends: Texts, starts: Texts, column: Column, policy: InputTable, known: dict[str, Known]) -> Digits:
    """Compute the days, or completed years, between the dates in two columns, and return the bins of the rows.

    The value is missing if either date is missing, and WRONG if either text is not a date, even if the other date is missing.
    """
    for side, dates in (("ends", column.dates), ("starts", column.minus_dates)):
        if side not in known:
            known[side] = Known(_ordinal_of_text(dates, column, policy))
    end, start = (known[side].of(cells.texts)[cells.codes] for side, cells in (("ends", ends), ("starts", starts)))
    days = end - start if column.part is None else years_between(start, end)
    low, high = column.bounds or (-math.inf, math.inf)
    bins = np.searchsorted(np.array(column.edges), days, side="right").astype(np.int64)
    if column.outside != "clip":
        bins[(days < low) | (days > high)] = OUTSIDE
    bins[(end == MISSING) | (start == MISSING)] = absent(column)
    bins[(end == WRONG) | (start == WRONG)] = WRONG
    return Digits(of_text=np.arange(WRONG, len(column.atoms)), codes=bins - WRONG)


def _ordinal_of_text(dates: DateFormat | None, column: Column, policy: InputTable) -> Callable[[str | None], int]:
    """Return a function that converts the text of a date to a day number (a positive integer), or to MISSING or WRONG."""
    missing = _Listed({}, _missing_texts(column, policy), MISSING, ".")

    def ordinal_of(text: str | None) -> int:
        if text is None or missing.of(text, ".") == MISSING:
            return MISSING
        date = None if dates is None else dates.read(text.strip())
        return WRONG if date is None else date.toordinal()

    return ordinal_of


def _missing_texts(column: Column, policy: InputTable) -> Sequence[str]:
    return policy.missing_values + column.missing_values


class _Listed:
    """Looks up texts that the specification lists: as written, then without spaces, then as a number. Of several entries that
    are equal as numbers, the first counts.

    Parameters
    ----------
    values, missing : the bins of the listed texts, and the texts that mean a missing value. A text in `missing` has the meaning
        `absent`, unless it is also in `values`.
    decimal : the decimal mark in these texts.
    """

    def __init__(self, values: Mapping[str, int], missing: Sequence[str], absent: int, decimal: str):
        listed = dict.fromkeys(missing, absent) | dict(values)
        self._texts = {text.strip(): absent for text in missing} | dict.fromkeys(missing, absent)
        self._texts |= {text.strip(): index for text, index in values.items()} | dict(values)
        self._numbers: dict[str | None, int] = {}
        for text in [*values, *missing]:
            self._numbers.setdefault(number_form(text, decimal), listed[text])
        self._numbers.pop(None, None)

    def of(self, text: str, decimal: str) -> int | None:
        """Return what the specification lists for a text with this decimal mark, or None."""
        for form in (text, text.strip()):
            if form in self._texts:
                return self._texts[form]
        number = number_form(text, decimal)
        if number is None:
            return None
        return self._texts.get(number, self._numbers.get(number))


def absent(column: Column) -> int:
    return MISSING if column.atoms.missing is None else column.atoms.missing


def _bin_of_text(column: Column, policy: InputTable, decimal: str) -> Callable[[str | None], int]:
    """Return a function that finds the atomic bin of a text, or MISSING, OUTSIDE or WRONG."""
    none = absent(column)
    values = {text.strip(): index for text, index in column.values.items()} | dict(column.values)
    listed = _Listed(column.values, _missing_texts(column, policy), none, policy.decimal)
    unlisted = OUTSIDE if column.unlisted is None else column.unlisted

    def bin_of(text: str | None) -> int:
        listed_bin = listed.of(text or "", decimal)
        if listed_bin is not None:
            return listed_bin
        if text is None:
            return none
        if column.by_digest:
            digest = hashlib.sha256((number_form(text, decimal) or text.strip()).encode("utf-8", "surrogatepass")).digest()
            return int.from_bytes(digest[:8]) % column.atoms.present
        if column.kind != "category":
            return _bin_of_number(_number(text.strip(), column, decimal), column)
        if column.characters is not None:
            beginnings = (form[: column.characters] for form in (text.strip(), number_form(text, decimal)) if form is not None)
            return next((values[code] for code in beginnings if code in values), unlisted)
        return unlisted

    return bin_of


def number_form(text: str, decimal: str) -> str | None:
    """Return a number as text, without trailing zeros of its fraction (12 for 12.00), or None if the text is no plain
    number."""
    match = _PLAIN.fullmatch(_with_point(text.strip(), decimal))
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, rest = match[1], match[2] or "0", (match[3] or "").rstrip("0")
    return f"{sign}{whole}.{rest}" if rest else "0" if whole == "0" and sign == "-" else f"{sign}{whole}"


def _with_point(text: str, decimal: str) -> str:
    """Replace the decimal mark of a number by a point. With another mark, a number with a point becomes "", which is not a
    number."""
    return text if decimal == "." else "" if "." in text else text.replace(decimal, ".")


def _number(text: str, column: Column, decimal: str) -> float:
    """Return the number in a text, or the part of a date that the column uses, or NaN."""
    if column.dates is not None and column.part is not None:
        date = column.dates.read(text)
        return math.nan if date is None else float(PARTS[column.part](date))
    with_point = _with_point(text, decimal)
    number = float(with_point) if _NUMBER.fullmatch(with_point) else math.nan
    if column.kind == "integer" and math.isfinite(number) and not number.is_integer():
        return math.nan
    return number


def _bin_of_number(number: float, column: Column) -> int:
    if math.isnan(number):
        return WRONG if column.unlisted is None else column.unlisted
    low, high = column.bounds or (-math.inf, math.inf)
    if not low <= number <= high and column.outside != "clip":
        return OUTSIDE
    return bisect_right(column.edges, number)  # a value beyond a bound is in the first or last bin
