"""A batch of a private file, whatever its format, is columns of texts.

**What a reader owes** (theory 1.8, reading row by row): the texts of a row are a function of that row alone, given what is
public about the file: its format, the names and declared types of its columns, the specification. Then the counts of a table
are the sum of the counts of its rows, each read as a table by itself, which is what theorem 1.7 asks. So

- the text of a value is made before it is compared with another one: what Python, a library or a database calls equal may
  have different texts (a decimal 1.5 and 1.50, one instant with two offsets, True and 1). `Texts.of` joins texts alone;
- whether a text was a number of the file (`Texts.typed`) belongs to the value, not to the column, where a column may hold both;
- no type, unit, zone or encoding is guessed from rows; a library that guesses is not asked (`sources.source.check_driver`);
- a text that is too long ends the reading of any file; it is not cut.
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

# The one text of a number, whatever file or database holds it, of whatever type.
#
# A whole number is written with all its digits and nothing else: 10000000000000000 for an integer, a float 1e16 and a decimal
# 1.0E+16 alike. Of other floats the shortest digits are taken that stand for the same float, of other decimals their digits
# without zeros at the end: 1.5 for a float 1.5 and a decimal 1.50. Neither has an exponent, zero has no sign, and a text that
# is read as a float is the float that it was made of. Of a float of 32 or 16 bits the shortest digits are those that tell it
# from its neighbours of as many bits, also of a whole one, as databases write it: 0.1, and 123456790 for 123456792, which has
# no other neighbours than 123456784 and 123456800.
#
# Each text is a function of the number alone. So equal numbers of one type have equal texts, which is what those need who join
# equal values; and of equal whole numbers and decimals all types have the same text.
#
# A key has one text, too (`key_text`): whoever wrote it as 12, 12.0 or 1.2e+01 has one key.
#
# A NaN is no number: it has no text, like a null. Infinity is "inf". Beyond 400 digits before or behind the point, where no
# float is, a number is written as 1.5e+5000.

_MOST_PLACES = 400
_SHORT = 10**_MOST_PLACES
_NUMBER = re.compile(r"([+-]?)(?=\.?\d)(\d*)(\.\d*)?((?(3)[ED]|E)[+-]?0*\d{1,15})?", re.ASCII | re.IGNORECASE)
"""With an exponent as in 1e+05 (R), 1.2E+07 (Excel), 1.0E5 (Java), 0E-7 (decimals of Java and Python) or 0.12D+02 (Fortran)."""


def whole_text(number: int) -> str:
    return str(number) if -_SHORT < number < _SHORT else _plain(Decimal(number))


def float_text(number: float) -> str | None:
    """Return the text of a float of Python, which has 64 bits; None for NaN."""
    if math.isfinite(number):
        return str(int(number)) if number.is_integer() else _plain(Decimal(float.__repr__(number)))
    return None if math.isnan(number) else "inf" if number > 0 else "-inf"


def decimal_text(written: str) -> str | None:
    """Return the text of a decimal number, from that which Python or PostgreSQL writes, such as 1.50 or 1E+2; None for NaN."""
    number = Decimal(written)
    return _plain(number) if number.is_finite() else None if number.is_nan() else "-inf" if number < 0 else "inf"


def float_texts(numbers: np.ndarray) -> list[str | None]:
    """Return the texts of floats of any precision."""
    if numbers.dtype == np.float64:
        return list(map(float_text, numbers.tolist()))
    return [_plain(Decimal(str(number))) if math.isfinite(number) else float_text(float(number)) for number in numbers]


def key_text(text: str, decimal: str = ".", *, typed: bool = False) -> str:
    """Return the canonical text of a key, whatever program wrote it; it depends on the text alone.

    Parameters
    ----------
    text : spaces around it do not count.
    decimal : the decimal mark of files of texts.
    typed : whether the file knows the value as a number. Its text has a point whatever the decimal mark is.

    Returns
    -------
    Of a number the text that a decimal of its value has, with the decimal mark: 12 for 12, +12, 12.0, 1.2e+01 and 0.12E+02.
    A text of letters and digits alone may be a code and is as it stands, such as 007 and 1E5. Needless zeros before the point
    stay where there is no exponent: 007.0 is 007, and 007 and 7 may be two persons. All else is as it stands, such as 12.5
    where the decimal mark is a comma.

    Notes
    -----
    A function of one text: it asks no other key of the file (theory 1.8, reading row by row). It is constant on what it gives.
    In doubt keys of one value are joined: one person under two keys has half the protection, two persons under one key lose
    rows, which `check --data` counts (theory 1.9, first rows of a person).
    """
    plain = text.strip()
    if plain.isalnum():  # without a sign and a point: a whole number, or a code
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
    """Return the number that a key would be if it were no code, such as 7 for 007; the key itself where it is no number."""
    number = key_text("+" + (key.replace(decimal, ".").lstrip("0") or "0"))
    return key if number.startswith("+") else number


def _plain(number: Decimal) -> str:
    """Return a number without an exponent, needless zeros and a plus sign."""
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
    """One column of one batch: its distinct texts, and the index of each row's text. Private; the repr shows nothing.

    Attributes
    ----------
    texts : (n_texts,) the texts; None stands for a null, also the system-missing value of SPSS. Some may occur twice, or in no
        row.
    codes : (n_rows,) the index into `texts` of each row, integers of any type.
    typed : (n_texts,) whether a text was made from a value that the file knows as a number, a date and so on; one for all
        where the type of the column tells. Those of a CSV file never are: how it writes numbers, the specification says.
    """

    texts: Sequence[str | None]
    codes: np.ndarray
    typed: bool | np.ndarray = False

    @classmethod
    def of(cls, rows: Sequence[str]) -> Texts:
        """Return the texts of some rows. Only identical texts are joined, so no row can lend its text to another."""
        distinct = Numbered[str]()
        codes = np.fromiter(map(distinct.__getitem__, rows), dtype=np.int64, count=len(rows))
        return cls(texts=list(distinct), codes=codes)


class LazyTexts(Sequence[str | None]):
    """Texts that a library holds; they become Python strings only when they are read."""

    @abstractmethod
    def made(self) -> list[str | None]:
        """Return all texts."""

    @abstractmethod
    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_texts,) float64 numbers, and where they are known: for a text that is a number with this decimal mark,
        exactly the result of `float`. A text that is not marked as known may still be a number.
        """

    @cached_property
    def _all(self) -> list[str | None]:
        return self.made()

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._all)

    def __getitem__(self, place: Any) -> Any:
        return self._all[place]


NO_VALUE = "\0"
"""A text that no specification and no CSV file can contain: it represents a value that has no text."""

Batch = tuple[int, Mapping[str, Texts]]
"""The number of the first row, counted from 1, and the needed columns by name."""


def too_long(name: str) -> InputError:
    return InputError(f"column {name!r}: expected texts of at most {LONGEST_TEXT} characters, found a longer one.")


Text = TypeVar("Text")


class Numbered(dict[Text, int]):
    """Texts with numbers in the order in which they came first."""

    def __missing__(self, text: Text) -> int:
        number = self[text] = len(self)
        return number


def check_header(header: Sequence[str], needed: Sequence[str]) -> None:
    """Check that a header has every needed column once. A file without a header starts with a person's row, so only names
    that surely are column names are shown.
    """
    for name in needed:
        if header.count(name) > 1:
            raise InputError(f"expected each column once, found {name!r} more than once in the header.")
    if missing := [name for name in needed if name not in header]:
        unused = [name for name in header if name not in needed]  # a column that is read is no other one under a wrong name
        same = next((name for name in unused if name.casefold() == missing[0].casefold()), None)
        guess = same or (None if len(missing) == len(needed) else closest(missing[0], unused))
        raise InputError(missing_columns(needed, missing, guess))
