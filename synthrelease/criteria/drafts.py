"""What a criterion is drafted from, and the budget that the noise of a drafted figure asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

NOISE_SHARE = 6
"""The noise scale of a figure is to be at most its threshold divided by this: then the figure also bounds other errors."""

MOST_EPSILON = Fraction(1, 4)
"""A figure that would need more is not drafted."""

MOST_UNIQUE = 0.2
"""Share of the rows that occur once up to which a draft asks for a minimum count of rows."""

_NOT_OUTCOMES = ("age", "agep", "edad", "alter", "sex", "gender", "sexo", "race", "year", "month", "date")
"""Parts of names of columns that people group by, rather than explain."""


@dataclass(frozen=True, kw_only=True)
class Partner:
    """Another column, beside the rows that have a value of both.

    Attributes
    ----------
    distance : how much the two hang together: the share of all rows that would have to change for them to be independent.
    smallest_group : rows in the smallest of the few groups of the other column that figures may be taken over; 0 where it has
        too many.
    """

    distance: float
    smallest_group: int


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A drafted column of a public file, in the bins that it is released in.

    Attributes
    ----------
    of_date : whether it is made from a date.
    weight : whether it is a design weight.
    alternative : what the bins that it is released in are called.
    limits : inner limits of the drafted bins of a column of numbers; None for categories.
    mean_range : of a column of numbers: what values may be clipped to so that no mean moves by more than next to nothing.
    line_range : likewise for a line, in which a few extreme rows may count as less than they are.
    category_rows : how often each category occurs in the file, by its label; empty for numbers.
    missing_rows : rows without a value.
    partners : the other columns, those that hang together most with this one first.
    """

    name: str
    of_date: bool
    weight: bool
    alternative: str
    limits: tuple[float, ...] | None
    category_rows: Mapping[str, int]
    missing_rows: int
    partners: Mapping[str, Partner]
    mean_range: tuple[float, float]
    line_range: tuple[float, float]

    @property
    def n_bins(self) -> int:
        """How many bins it is released in."""
        return (len(self.limits) + 1 if self.limits is not None else len(self.category_rows)) + (self.missing_rows > 0)

    @property
    def tied(self) -> float:
        """How much it hangs together with all other columns."""
        return sum(partner.distance for partner in self.partners.values())

    @property
    def explained(self) -> bool:
        """Whether its name lets it be what others explain: no age, sex, date or weight."""
        words = self.name.lower().replace("-", "_").split("_")
        return not (self.of_date or self.weight or any(word in _NOT_OUTCOMES for word in words))


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """What a criterion may be drafted from; the private file is taken to have about as many rows.

    Attributes
    ----------
    cell : the error of a cell of a small table that the draft allows at first, as a share of all rows.
    unique : share of the rows that occur once in the bins of the draft.
    strongest : pairs of columns that hang together beyond chance, those that hang together most first.
    members : the columns of a member, where rows are roots that may have several.
    """

    columns: tuple[FileColumn, ...]
    n_rows: int
    cell: float
    unique: float
    strongest: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()

    @property
    def outcomes(self) -> tuple[FileColumn, ...]:
        """Columns of numbers that look like what others explain, the one that hangs together most with them first."""
        numeric = [column for column in self.columns if column.explained and len(column.limits or ()) > 2]
        return tuple(sorted(numeric, key=lambda column: -column.tied))

    @property
    def conditions(self) -> tuple[FileColumn, ...]:
        """Columns of two categories that look like what others explain, likewise."""
        two = [column for column in self.columns if column.explained and len(column.category_rows) == 2]
        return tuple(
            sorted(
                (column for column in two if min(column.category_rows.values()) >= max(100, 0.01 * self.n_rows)),
                key=lambda column: -column.tied,
            )
        )

    def numeric_partners(self, column: FileColumn, most: int) -> tuple[FileColumn, ...]:
        """At most so many columns of numbers, the strongest partners first."""
        named = {other.name: other for other in self.columns}
        fits = [named[name] for name in column.partners if named[name].limits is not None and not named[name].weight]
        return tuple(fits[:most])

    def grouping(self, column: FileColumn, least: float, most: int) -> tuple[FileColumn, ...]:
        """At most so many columns to group by, the strongest partners first; each group has `least` rows with values."""
        named = {other.name: other for other in self.columns}
        large = [name for name, partner in column.partners.items() if partner.smallest_group >= max(1, least)]
        fits = [named[name] for name in large if not named[name].weight]
        return tuple(fits[:most])


@dataclass(frozen=True, kw_only=True)
class CriterionDraft:
    """One criterion: its TOML keys in order, and a remark. Threshold and epsilon are first guesses, until figures are known.

    Attributes
    ----------
    in_place_of : the name of the criterion that this one stands for where that one could only have a far wider limit, because
        bins are too wide for it; empty where it stands for none.
    asks : "single columns", or "shares of single columns" where its figure is one, which independent columns have right;
        "pairs" where it is about how columns hang together at large: a draft needs one of these that independent columns fail.
    """

    settings: Mapping[str, object]
    remark: str
    in_place_of: str = ""
    asks: Literal["", "single columns", "shares of single columns", "pairs"] = ""


def budget(wanted: float) -> Fraction:
    """An epsilon of at least this much, in thousandths; in hundredths from a tenth on."""
    step = 100 if wanted >= 0.1 else 1000
    return Fraction(max(1, math.ceil(wanted * step * (1 - 1e-9))), step)
