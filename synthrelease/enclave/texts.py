"""A piece of a private file, whatever its format, is columns of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.errors import InputError, closest, listing


@dataclass(frozen=True, kw_only=True, repr=False)
class Texts:
    """One column of one piece: its distinct texts and which of them each row holds. Private; the repr shows nothing.

    Attributes
    ----------
    texts : (n_texts,) the texts; None stands for a null, also the system-missing value of SPSS. Some may occur twice, or in no
        row.
    codes : (n_rows,) the index into `texts` of each row.
    """

    texts: Sequence[str | None]
    codes: np.ndarray


NO_VALUE = "\0"
"""What no specification and no CSV file can hold stands for a value that has no text."""

Piece = tuple[int, Mapping[str, Texts]]
"""The number of the first row, counted from 1, and the needed columns by name."""


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
