"""Bounded functions of one row that are added up over rows: products of own values and of indicators, and shares of rows.

Everything here is public: which functions there are, their limits, and which columns they look at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synthrelease.data.rules import Rule, comparisons

STEPS = 2**20
"""What a row adds to a sum is a whole number of steps, from 0 to this."""

SHARE_STEPS = 2**15
"""A value is put on so many steps of its limits before a row of a group is shared out by it."""

SHARES = SHARE_STEPS**2
"""What each row is shared out in, among the three shares of its group."""

MOST_ROWS = 2**32
"""Of a table: its sums, and their noise, are whole numbers of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """The own value of a row, clipped to public limits, as a number from -1 to 1."""

    column: str
    low: float
    high: float

    @property
    def text(self) -> str:
        return f"{self.column}({self.low:.15g}..{self.high:.15g})"

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, kw_only=True)
class Indicator:
    """1 for a row that meets a condition, 0 for every other row."""

    text: str
    rule: Rule

    middle, half = 0.0, 1.0


Factor = Value | Indicator


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of an analysis: those that meet a condition and have a value in some columns."""

    text: str = ""
    rule: Rule | None = None
    valued: tuple[str, ...] = ()

    @property
    def every(self) -> bool:
        """Return whether all rows are included."""
        return self.rule is None and not self.valued


@dataclass(frozen=True, kw_only=True)
class RowFunction:
    """The product of at most two factors for a row that counts, and 0 for every other row."""

    factors: tuple[Factor, ...]
    rows: Rows

    @property
    def key(self) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """Return the key that identifies the function."""
        return tuple(factor.text for factor in self.factors), self.rows.text, self.rows.valued

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that a row adds."""
        square = len(self.factors) == 2 and self.factors[0] == self.factors[1]
        signed = any(isinstance(factor, Value) for factor in self.factors) and not square
        return (-1.0 if signed else 0.0), 1.0


@dataclass(frozen=True, kw_only=True)
class GroupMeans:
    """The mean of a value in each group: of the released bins of a column, or of the rows that meet one of two conditions."""

    value: Value
    rows: Rows
    by: str = ""
    groups: tuple[Indicator, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NoisyModels:
    """The noisy measurements, in the order of the blocks of sums and of the means of groups: public.

    Attributes
    ----------
    sums : of each block the noisy sums, in steps.
    tables : of each analysis by group (n_groups, 3) noisy shares of the rows of each group.
    """

    sums: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[tuple[int, int, int], ...], ...]


def columns_of(parts: Iterable[Factor | Rows]) -> set[str]:
    """Return the columns by which rows are distinguished."""
    names = set[str]()
    for part in parts:
        if isinstance(part, Value):
            names.add(part.column)
        elif part.rule is not None:
            names |= {comparison.column for comparison in comparisons(part.rule)}
        names |= set(part.valued) if isinstance(part, Rows) else set()
    return names
