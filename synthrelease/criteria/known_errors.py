"""What the limit of a criterion's true error says about the original table, as bounds take it (theory 13, error bounds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class CellError:
    """No cell of a table of at most `largest` columns, nor of one of the `tables`, is off by more than `rows`."""

    rows: int
    largest: int
    criterion: str
    tables: tuple[frozenset[str], ...] = ()

    def holds_for(self, columns: Sequence[str]) -> bool:
        """Whether the cells of the table of these columns are among them."""
        return len(columns) <= self.largest or frozenset(columns) in self.tables


@dataclass(frozen=True, kw_only=True)
class RatioError:
    """No bin of a 1-way table is off by more than this factor (of counts plus 1)."""

    factor: float
    criterion: str


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanError:
    """No mean of `column` is off by more than `most` in the groups of `by`, nor overall where `overall` says so.

    `lowest` and `highest` clip the numbers; `size_margin` gives the sizes below which a group is filled up. `values` are
    (n_present,) the lowest and the highest that an original row of each bin counts as: twice its number, where the criterion
    is about bin numbers.
    """

    most: float
    column: str
    by: tuple[str, ...]
    overall: bool
    lowest: float
    highest: float
    size_margin: float
    values: tuple[np.ndarray, np.ndarray]
    criterion: str


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """All but `rows` original rows have a similar released row for themselves.

    `steps`: for the columns that may be one bin apart, whether each bin is similar to the next one up. `ignored` columns may
    differ in any way.
    """

    rows: int
    steps: Mapping[str, tuple[bool, ...]]
    criterion: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SumError:
    """Weighted sums over the cells of the table of some columns are at most so much: weights . R <= most, one by one.

    `weights` has an array with an axis for each column, over all its released bins, for every sum; `each` is one in words.
    """

    columns: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    most: tuple[float, ...]
    each: str


@dataclass(frozen=True, kw_only=True, eq=False)
class SumErrors:
    """Everything that one criterion says about weighted sums, over tables of different columns."""

    sums: tuple[SumError, ...]
    criterion: str


KnownError = CellError | RatioError | MeanError | Unmatched | SumErrors
