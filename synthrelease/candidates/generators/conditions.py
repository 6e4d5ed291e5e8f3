"""Conditions of generated rows, drawn from frequencies that were measured with noise and paid for.

DPCTGAN and PATECTGAN of smartnoise-synth draw theirs from the exact frequencies, for which nothing is charged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.adversarial import Conditions

_SWEEPS = 20


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How much rows count by their bin in one column: `weights` (bins of that column), above 0. Public."""

    column: int
    weights: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Frequencies:
    """`columns`: per column the shares of its bins, above 0; they add up to 1. Measured with noise: public."""

    columns: tuple[np.ndarray, ...]

    def by_logarithm(self, column: int, n: int, most: float) -> np.ndarray:
        """(bins) Shares in proportion to the logarithms of the counts of n rows, as in CTGAN (Xu et al. 2019).

        Every bin gets its frequency to about a factor of `most`, at least 1, and with 1 its frequency.
        """
        frequency = self.columns[column]
        logarithms = np.log1p(n * frequency)
        wanted = np.clip(logarithms / logarithms.sum(), frequency / most, frequency * most)
        return wanted / wanted.sum()

    def everywhere(self, rows: int, public: np.random.Generator) -> Conditions:
        """Conditions on all columns alike, each bin as often as it was measured."""
        columns, bins = np.arange(rows) % len(self.columns), np.zeros(rows, dtype=np.int64)
        for column, shares in enumerate(self.columns):
            here = np.flatnonzero(columns == column)
            bins[here] = public.choice(len(shares), size=len(here), p=shares)
        return Conditions(columns=columns, bins=bins)

    def raked(self, shares: np.ndarray) -> np.ndarray:
        """The law of the table (sizes of the columns), up to a factor, with the measured frequencies of every column.

        Iterative proportional fitting (Deming & Stephan 1940): after-treatment of what was paid for. Cells of share 0 keep it.
        """
        for _ in range(_SWEEPS):
            for column, frequency in enumerate(self.columns):
                others = tuple(axis for axis in range(shares.ndim) if axis != column)
                found = shares.sum(axis=others)
                factors = np.divide(frequency, found, out=np.zeros_like(frequency), where=found > 0)
                shares = shares * factors.reshape([-1 if axis == column else 1 for axis in range(shares.ndim)])
        return shares


def on_one(column: int, shares: np.ndarray, rows: int, public: np.random.Generator) -> Conditions:
    """Conditions on one column, each bin with its share."""
    return Conditions(columns=np.full(rows, column), bins=public.choice(len(shares), size=rows, p=shares))
