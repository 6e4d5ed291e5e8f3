"""Represent a batch of rows of a private file as columns of texts, for every file format.

**Contract of a reader** (theory 1.8, reading row by row): the texts of a row depend only on this row and on public facts: the
format of the file, the names and declared types of its columns, and the specification. Then the counts of a table are the sum
of the counts of its single rows, as theorem 1.7 requires. So

- each value is converted to its text before values are compared, because equal values in Python, a library or a database may
  have different texts (a decimal 1.5 and 1.50, one instant with two offsets, True and 1). `Texts.of` joins only equal texts;
- if a column may contain numbers and texts, the batch records which values were numbers in the file (`Texts.typed`);
- no type, unit, time zone or encoding is guessed from rows, and libraries that guess are not used
  (`sources.source.check_driver`);
- a text that is too long is never cut: the reading ends with an error.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from synthrelease.errors import InputError, closest
from synthrelease.settings.columns import missing_columns
from synthrelease.sources.tables import LONGEST_TEXT

# A number has the same text in every file and database, whatever its type.
#
# A whole number is written with all its digits only: 10000000000000000 for an integer, a float 1e16 and a decimal 1.0E+16.
# Another float is written with the shortest digits that identify the float; another decimal is written without zeros at the
# end. So 1.5 is the text of the float 1.5 and of the decimal 1.50. Such texts have no exponent, and zero has no sign. Reading
# the text of a float gives the same float. A float of 32 or 16 bits is written with the shortest digits that identify it among
# floats of its size, also if it is a whole number, as databases write it. Examples are 0.1, and 123456790 for 123456792, whose
# neighbours are 123456784 and 123456800.
#
# Each text is a function of the number alone. So equal numbers of one type have equal texts, as code that joins equal values
# needs; and equal whole numbers and decimals have the same text in all types.
#
# A key also has only one text (`key_text`): 12, 12.0 and 1.2e+01 are the same key.
#
# A NaN is not a number, and has no text, like a null. Infinity is "inf". With more than 400 digits before or behind the point,
# which no float has, a number is written as 1.5e+5000.

_MOST_PLACES = 400
_SHORT = 10**_MOST_PLACES
# Pattern of a number; exponents as in 1e+05 (R), 1.2E+07 (Excel), 1.0E5 (Java), 0E-7 (Python) or 0.12D+02 (Fortran).
_NUMBER = re.compile(r"([+-]?)(?=\.?\d)(\d*)(\.\d*)?((?(3)[ED]|E)[+-]?0*\d{1,15})?", re.ASCII | re.IGNORECASE)


def whole_text(number: int) -> str:
    return str(number) if -_SHORT < number < _SHORT else _plain(Decimal(number))


def float_text(number: float) -> str | None:
    """Return the text of a 64-bit float, or None for NaN."""
    if math.isfinite(number):
        return str(int(number)) if number.is_integer() else _plain(Decimal(float.__repr__(number)))
    return None if math.isnan(number) else "inf" if number > 0 else "-inf"


def decimal_text(written: str) -> str | None:
    """Return the normal text of a decimal number from Python or PostgreSQL (1.5 for 1.50, 100 for 1E+2), or None for NaN."""
    number = Decimal(written)
    return _plain(number) if number.is_finite() else None if number.is_nan() else "-inf" if number < 0 else "inf"


def float_texts(numbers: np.ndarray) -> list[str | None]:
    """Return the texts of floats of any precision, None for NaN."""
    if numbers.dtype == np.float64:
        return list(map(float_text, numbers.tolist()))
    return [_plain(Decimal(str(number))) if math.isfinite(number) else float_text(float(number)) for number in numbers]


def key_text(text: str, decimal: str = ".", *, typed: bool = False) -> str:
    """Return the canonical text of a key, whichever program wrote the file.

    Parameters
    ----------
    text : the key as written, perhaps with spaces around it.
    decimal : the decimal mark in text files.
    typed : whether the file stores the value as a number, whose text has a decimal point even if the decimal mark is a comma.

    Returns
    -------
    For a number, the shortest decimal text of its value: 12 for 12, +12, 12.0, 1.2e+01 and 0.12E+02. A text of letters and
    digits alone, such as 007 or 1E5, may be a code and stays unchanged. Leading zeros stay if there is no exponent: 007.0
    becomes 007, because 007 and 7 may be two persons. All other texts stay unchanged.

    Notes
    -----
    The result depends only on this text, not on other keys of the file (theory 1.8, reading row by row), and is its own
    canonical text. In doubtful cases, keys with the same value count as the same key, because a person with two keys would have
    half the protection. If two persons share a key, some of their rows are lost, but they are still protected. `check --data`
    counts such keys (theory 1.9, first rows of a person).
    """
    plain = text.strip()
    if plain.isalnum():  # without a sign and a point, the text is a whole number or a code
        return plain
    number = plain if typed or decimal == "." else plain.replace(".", "?").replace(decimal, ".")
    parts = _NUMBER.fullmatch(number)
    if parts is None:
        return plain
    sign, whole, fraction, exponent = parts.groups("")
    if exponent or whole in ("", "0") or whole[0] != "0":
        return _plain(Decimal(number.upper().replace("D", "E"))).replace(".", decimal)
    return f"{sign.replace('+', '')}{whole}{fraction.rstrip('0').rstrip('.').replace('.', decimal)}"


def key_number(key: str, decimal: str = ".") -> str:
    """Return the number that a key represents, as text: 7 for 007. Other keys stay unchanged."""
    number = key_text("+" + (key.replace(decimal, ".").lstrip("0") or "0"))
    return key if number.startswith("+") else number


def _plain(number: Decimal) -> str:
    """Return the text of a number without exponent, unnecessary zeros or plus sign."""
    if not number:
        return "0"
    if not -_MOST_PLACES <= number.adjusted() < _MOST_PLACES:
        sign, digits, _ = number.as_tuple()
        significant = "".join(map(str, digits)).rstrip("0")
        return f"{'-' * sign}{significant[0]}{'.' if significant[1:] else ''}{significant[1:]}e{number.adjusted():+d}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, kw_only=True, repr=False)
class Texts:
    """A private column of a batch: a list of texts and, for each row, the index of its text. The repr does not show the texts.

    Attributes
    ----------
    texts : (n_texts,) strings; None for a null. A string may be listed twice, or be the text of no row.
    codes : (n_rows,) index of each row's text; integers of any type.
    typed : whether the file stores the value as a number, a date or another type that is not text: (n_texts,), or a single
        boolean for the column. False for a CSV file, for which the specification states how numbers are written.
    """

    texts: Sequence[str | None]
    codes: np.ndarray
    typed: bool | np.ndarray = False

    @classmethod
    def of(cls, rows: Sequence[str]) -> Texts:
        """Make a column from the text of each row. Only identical texts share an entry, so the text of a row does not depend on
        other rows."""
        distinct = Numbered[str]()
        codes = np.fromiter(map(distinct.__getitem__, rows), dtype=np.int64, count=len(rows))
        return cls(texts=list(distinct), codes=codes)


class LazyTexts(Sequence[str | None]):
    """Texts that a library stores, converted to Python strings only when needed."""

    @abstractmethod
    def made(self) -> list[str | None]:
        """Convert all texts to Python strings."""

    @abstractmethod
    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        """Convert the texts to (n_texts,) float64 numbers with this decimal mark. Where the (n_texts,) mask is True, the number
        equals that of `float`; elsewhere the text may still be a number."""

    @cached_property
    def _all(self) -> list[str | None]:
        return self.made()

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._all)

    def __getitem__(self, place: Any) -> Any:
        return self._all[place]


NO_VALUE = "\0"
"""A text that no specification and no CSV file can contain. It stands for a value that has no text."""

Batch = tuple[int, Mapping[str, Texts]]
"""The number of the first row, counted from 1, and the needed columns by name."""


def too_long(name: str) -> InputError:
    return InputError(
        f"column {name!r}: A value has more than {LONGEST_TEXT:,} characters. Shorten the texts of this column in the file, or "
        "leave the column out of the configuration."
    )


Text = TypeVar("Text")


class Numbered(dict[Text, int]):
    """A mapping from texts to numbers, in which each new text gets the next number, from 0."""

    def __missing__(self, text: Text) -> int:
        number = self[text] = len(self)
        return number


def check_header(header: Sequence[str], needed: Sequence[str]) -> None:
    """Check that a header contains every needed column exactly once.

    If a file has no header, its first line is the row of a person, so messages show only names that are certainly names of
    columns.

    Raises
    ------
    InputError : if a needed column is missing or occurs twice.
    """
    for name in needed:
        if header.count(name) > 1:
            raise InputError(f"The column {name!r} occurs more than once in the header. Give each needed column its own name.")
    if missing := [name for name in needed if name not in header]:
        unused = [name for name in header if name not in needed]  # a column in use has its right name
        same = next((name for name in unused if name.casefold() == missing[0].casefold()), None)
        guess = same or (None if len(missing) == len(needed) else closest(missing[0], unused))
        raise InputError(missing_columns(needed, missing, guess))
