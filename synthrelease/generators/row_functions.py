"""Define the bounded public functions of a row that are summed and measured: products of exact values and indicators, or
the three shares by which a row counts in the mean of its group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synthrelease.data.rules import Rule, comparisons

STEPS = 2**20
"""Largest number of steps that a row adds to a sum. A row adds a whole number of steps, at least 0."""

SHARE_STEPS = 2**15
"""Number of steps between the limits of a value. Values are rounded to these steps before the shares of a row are computed."""

SHARES = SHARE_STEPS**2
"""The three shares that a row adds to its group have this sum."""

MOST_ROWS = 2**32
"""Largest number of rows for which all sums with their noise are 64-bit integers."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """A row's exact value in a column, clipped to public limits and scaled to [-1, 1]."""

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
    """A condition as a function of a row: 1 if the row satisfies it, otherwise 0."""

    text: str
    rule: Rule

    middle, half = 0.0, 1.0


Factor = Value | Indicator


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows that a question uses: those that satisfy a condition and have values in some columns."""

    text: str = ""
    rule: Rule | None = None
    valued: tuple[str, ...] = ()

    @property
    def every(self) -> bool:
        return self.rule is None and not self.valued


@dataclass(frozen=True, kw_only=True)
class RowFunction:
    """A summed function of a row: the product of at most two factors, 0 for rows that are not used."""

    factors: tuple[Factor, ...]
    rows: Rows

    @property
    def key(self) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """Return a key that is equal for equal functions, so that their sum is measured once."""
        return tuple(factor.text for factor in self.factors), self.rows.text, self.rows.valued

    @property
    def ends(self) -> tuple[float, float]:
        square = len(self.factors) == 2 and self.factors[0] == self.factors[1]
        signed = any(isinstance(factor, Value) for factor in self.factors) and not square
        return (-1.0 if signed else 0.0), 1.0


@dataclass(frozen=True, kw_only=True)
class GroupMeans:
    """A question about means in groups: the released bins of a column, or the rows of two conditions."""

    value: Value
    rows: Rows
    by: str = ""
    groups: tuple[Indicator, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NoisyModels:
    """The noisy numbers that answer the questions of [[models]].

    Attributes
    ----------
    sums : for each block the noisy sums, in steps.
    tables : for each question about groups, the (n_groups, 3) noisy sums of shares.
    """

    sums: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[tuple[int, int, int], ...], ...]


def columns_of(parts: Iterable[Factor | Rows]) -> set[str]:
    names = set[str]()
    for part in parts:
        if isinstance(part, Value):
            names.add(part.column)
        elif part.rule is not None:
            names |= {comparison.column for comparison in comparisons(part.rule)}
        names |= set(part.valued) if isinstance(part, Rows) else set()
    return names
