"""Between which values the rows of a bin lie: what the limits of bins say about means and medians of the file's own values."""

from __future__ import annotations

import numpy as np

from synthrelease.bounds.conditions import AskedOf
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError, closest, cut, listing


def numbers_of(column: PublishedColumn) -> np.ndarray:
    """(n_present,) the number that stands for each bin. For columns that have one for every bin."""
    return np.array([float(number or 0.0) for number in column.numbers[: column.present]])


def limits_of(column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    """(n_present,) the lowest and the highest value in each bin; infinite where neither bin nor bounds end it.

    Whole numbers of a bin end one below its upper edge. An open bin ends at the public bound of the column: values beyond it
    are not kept, or count as the bound. A category has no value but the number that stands for it.
    """
    if column.kind == "category":
        return numbers_of(column), numbers_of(column)
    lowest, highest = column.bounds or (-np.inf, np.inf)
    last = np.array(column.upper) - (column.kind == "integer")
    return np.maximum(column.lower, lowest), np.minimum(last, highest)


def tells_values(column: PublishedColumn) -> bool:
    """Whether the number that stands for each bin is the value of every row in it."""
    low, high = limits_of(column)
    numbers = numbers_of(column)
    return bool((low == numbers).all() and (high == numbers).all())


def check_numbers(release: AskedOf, name: str) -> None:
    """Raises InputError for a column that is not there, or that has a bin of values without a number."""
    if name not in release.by_name:
        hint = closest(name, release.by_name)
        raise InputError(
            f"expected a column of the release ({listing(release.by_name, 40)}), found {cut(name, 60)!r}."
            + (f" Did you mean {hint!r}?" if hint else "")
        )
    column = release.by_name[name]
    if any(number is None for number in column.numbers[: column.present]):
        raise InputError(f"expected a column with a number for every bin, found {cut(name, 60)!r}, which has none.")
