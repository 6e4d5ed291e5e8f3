"""A batch of a private file, whatever its format, is columns of texts.

**What a reader owes** (theory 1.8, reading row by row): the texts of a row are a function of that row alone, given what is
public about the file: its format, the names and declared types of its columns, the specification. Then the counts of a table
are the sum of the counts of its rows, each read as a table by itself, which is what theorem 1.7 asks. So

- the text of a value is made before it is compared with another one: what Python, a library or a database calls equal may
  have different texts (a decimal 1.5 and 1.50, one instant with two offsets, True and 1). `Texts.of` joins texts alone;
- whether a text was a number of the file (`Texts.typed`) belongs to the value, not to the column, where a column may hold both;
- no type, unit, zone or encoding is guessed from rows; a library that guesses is not asked (`databases`);
- a text that is too long ends the reading of any file; it is not cut.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from synthrelease.errors import InputError, closest
from synthrelease.settings import columns as unreadable
from synthrelease.sources.tables import LONGEST_TEXT


@dataclass(frozen=True, kw_only=True, repr=False)
class Texts:
    """One column of one batch: its distinct texts and which of them each row holds. Private; the repr shows nothing.

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
        """The texts of some rows. Those are joined that are equal in every letter: no row can lend its text to another."""
        known = Numbered[str]()
        codes = np.fromiter(map(known.__getitem__, rows), dtype=np.int64, count=len(rows))
        return cls(texts=list(known), codes=codes)


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

    def __getitem__(self, place: Any) -> Any:
        return self._all[place]


NO_VALUE = "\0"
"""What no specification and no CSV file can hold stands for a value that has no text."""

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
    """Every needed column once. A file without a header starts with a person's row: only what is surely a name is shown."""
    for name in needed:
        if header.count(name) > 1:
            raise InputError(f"expected each column once, found {name!r} more than once in the header.")
    if missing := [name for name in needed if name not in header]:
        same = next((name for name in header if name.casefold() == missing[0].casefold()), None)
        guess = same or (None if len(missing) == len(needed) else closest(missing[0], header))
        raise InputError(unreadable.missing_columns(needed, missing, guess))
