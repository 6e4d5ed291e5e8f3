"""A piece of a private file, whatever its format, is columns of texts."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar, overload

import numpy as np

from synthrelease.errors import InputError, closest, listing


@dataclass(frozen=True, kw_only=True, repr=False)
class Texts:
    """One column of one piece: its distinct texts and which of them each row holds. Private; the repr shows nothing.

    Attributes
    ----------
    texts : (n_texts,) the texts; None stands for a null, also the system-missing value of SPSS. Some may occur twice, or in no
        row.
    codes : (n_rows,) the index into `texts` of each row, integers of any type.
    typed : whether the texts were made from values that the file knows as numbers, dates and so on. Those of a CSV file never
        are: how it writes numbers, the specification says.
    """

    texts: Sequence[str | None]
    codes: np.ndarray
    typed: bool = False


class LazyTexts(Sequence[str | None]):
    """Texts that a library holds, and that become texts of Python only when somebody looks at one of them."""

    @abstractmethod
    def made(self) -> list[str | None]:
        """All of them."""

    @abstractmethod
    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        """(n_texts,) float64 numbers, and where they are known: for a text that is a number with this decimal mark, exactly
        what `float` makes of it. What is not known may be a number all the same.
        """

    @cached_property
    def _all(self) -> list[str | None]:
        return self.made()

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._all)

    @overload
    def __getitem__(self, place: int) -> str | None: ...

    @overload
    def __getitem__(self, place: slice) -> list[str | None]: ...

    def __getitem__(self, place: int | slice) -> str | None | list[str | None]:
        return self._all[place]


NO_VALUE = "\0"
"""What no specification and no CSV file can hold stands for a value that has no text."""

Piece = tuple[int, Mapping[str, Texts]]
"""The number of the first row, counted from 1, and the needed columns by name."""


Value = TypeVar("Value")


class Collected(Generic[Value]):
    """Records that become columns, a few at a time: as long as these stand in the processor's cache.

    Parameters
    ----------
    places : of the columns, in a record.
    """

    _AT_ONCE = 100

    def __init__(self, places: Sequence[int]):
        self._places = places
        self._records: list[Sequence[Value]] = []
        self._known: list[_Numbered[Value]] = [_Numbered() for _ in places]
        self._codes = [array("q") for _ in places]

    def add(self, record: Sequence[Value]) -> None:
        self._records.append(record)
        if len(self._records) == self._AT_ONCE:
            self._encode()

    def columns(self) -> list[tuple[list[Value], np.ndarray]]:
        """For each place its distinct values, in the order in which they came, and which of them each record holds."""
        self._encode()
        codes = (np.array(each, dtype=np.int64) for each in self._codes)
        return [(list(known), each) for known, each in zip(self._known, codes, strict=True)]

    def _encode(self) -> None:
        if not self._records:
            return
        columns = list(zip(*self._records, strict=True))
        for place, known, codes in zip(self._places, self._known, self._codes, strict=True):
            codes.extend(map(known.__getitem__, columns[place]))
        self._records = []


class _Numbered(dict[Value, int]):
    """Values with numbers in the order in which they came first."""

    def __missing__(self, value: Value) -> int:
        number = self[value] = len(self)
        return number


def check_header(header: Sequence[str], needed: Sequence[str]) -> None:
    """Every needed column once. A file without a header starts with a person's row: only what is surely a name is shown."""
    for name in needed:
        if header.count(name) > 1:
            raise InputError(f"expected each column once, found {name!r} more than once in the header.")
    missing = [name for name in needed if name not in header]
    if not missing:
        return
    none = len(missing) == len(needed)
    same = next((name for name in header if name.casefold() == missing[0].casefold()), None)
    guess = same or (None if none else closest(missing[0], header))
    if guess:
        advice = f"Is it {guess!r}? Then set source = {guess!r} for the column {missing[0]!r} in the configuration."
    elif none:
        advice = "Is the first line a header?"
    else:
        advice = "Set source for a column that has another name in the file."
    found = "none of them" if none else f"no {listing(missing)}"
    raise InputError(f"expected the columns {listing(needed)}, found {found} in the header. {advice}")
