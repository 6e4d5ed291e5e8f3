"""A model that holds the probability of every cell of the table: for tables that fit in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.bayesian_network import systematic_rounding
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound


@dataclass(frozen=True, kw_only=True)
class DenseModel:
    """`shares` (sizes of the columns) are the probabilities of all cells, up to a factor."""

    layout: Layout
    shares: np.ndarray

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """n rows by systematic rounding of the expected counts, those of a rare bin side by side."""
        expected = self.shares.ravel()
        cells = np.flatnonzero(expected)
        order = rare_first(np.unravel_index(cells, self.layout.sizes), expected[cells], n)
        return Counts(self.layout, cells[order], systematic_rounding(expected[cells][order], n, generator))


def plausible_cells(plausibility: Plausibility) -> np.ndarray:
    """(sizes of the columns) 1 for every plausible cell and 0 for every other.

    Raises
    ------
    RejectedRound : when no cell is plausible.
    """
    free = ~plausibility.structural_zeros(tuple(range(len(plausibility.layout.sizes))))
    if not free.any():
        raise RejectedRound("the rules leave no plausible cell")
    return free.astype(float)
