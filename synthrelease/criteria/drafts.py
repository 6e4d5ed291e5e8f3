"""What a criterion is drafted from, and the budget that the noise of a drafted figure asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

NOISE_SHARE = 8
"""The noise scale of a figure is to be at most its threshold divided by this: then the figure also bounds other errors."""

MOST_EPSILON = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A drafted column of a public file.

    Attributes
    ----------
    of_date : whether it is a part of a date.
    limits : inner limits of the drafted bins of a column of numbers; None for categories.
    category_rows : how often each category occurs in the file.
    smallest_group : share of the rows in the smallest group that a mean may be taken over; 0 where there are too many groups.
    """

    name: str
    of_date: bool
    limits: tuple[float, ...] | None
    category_rows: tuple[int, ...]
    smallest_group: float


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """What a criterion may be drafted from; the private file is taken to have about as many rows.

    Attributes
    ----------
    cell : the error of a cell of a small table that the draft allows, as a share of all rows.
    """

    columns: tuple[FileColumn, ...]
    n_rows: int
    cell: float


@dataclass(frozen=True, kw_only=True)
class CriterionDraft:
    """One criterion: its TOML keys in order, and a remark."""

    settings: Mapping[str, object]
    remark: str


def budget(wanted: float) -> Fraction:
    """An epsilon of at least this much, as a steward would write it: 0.01, 0.02, 0.05, 0.1, ..."""
    power = 10.0 ** math.floor(math.log10(max(wanted, 0.01)))
    factor = next(factor for factor in (1, 2, 5, 10) if power * factor >= max(wanted, 0.01) * (1 - 1e-9))
    return Fraction(f"{power * factor:.12g}")
