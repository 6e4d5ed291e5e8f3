"""Rows of rare bins that were counted apart, beside the model of all other rows. All of it is post-processing.

Of a row in such a bin nothing is known but the bin. It is given the other columns of a drawn row in the bin next to it, where
the column is in order, otherwise of any row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.base import KeptModel
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.measurements.rare_bins import NoisyBin, RareBin

_DONORS = 1_000
"""Rows, at least, that those of rare bins may be like."""


@dataclass(frozen=True, kw_only=True)
class WithRareBins:
    """A model of the rows that tables have, and how many rows of each rare bin there are beside them.

    Attributes
    ----------
    n : how many rows the first ones are.
    plausibility : rules for all rows.
    ordered : per column, how many of its first bins are in order; empty where none are.
    """

    rest: KeptModel
    n: int
    bins: tuple[NoisyBin, ...]
    plausibility: Plausibility
    ordered: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many it holds."""
        return self.rest.numbers + len(self.bins)

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """n rows: of each rare bin its share, exactly its noisy count among as many rows as were measured.

        Raises
        ------
        RejectedRound : when the rules allow none of the drawn rows in a rare bin.
        """
        whole = self.n + sum(each.value for each in self.bins)
        numbers = [(each.value * n + int(generator.integers(whole))) // whole for each in self.bins]
        left = max(n - sum(numbers), 0)
        others = self.rest.sample(max(left, min(n, _DONORS)), generator)
        rows = others if others.total == left else self.rest.sample(left, generator) if left else Counts.empty(others.layout)
        for one, number in zip(self.bins, numbers, strict=True):
            rows = rows + self._like_neighbours(others, one.of, min(number, n - rows.total), generator)
        return rows if rows.total == n else rows + self.rest.sample(n - rows.total, generator)

    def _like_neighbours(self, others: Counts, bin_: RareBin, number: int, generator: np.random.Generator) -> Counts:
        """So many rows of a bin, each a drawn row but for this column."""
        moved = list(others.bins)
        moved[bin_.column] = np.full(len(others), bin_.bin, dtype=moved[bin_.column].dtype)
        possible = ~self.plausibility.forbidden(moved)
        for near in self._nearest(others.digits(bin_.column), bin_):
            weights = np.where(near & possible, others.counts, 0)
            if weights.any():
                return Counts.of(others.layout, moved, generator.multinomial(number, weights / weights.sum()))
        if number:
            raise RejectedRound("no row that was drawn may be in a rare bin")
        return Counts.empty(others.layout)

    def _nearest(self, places: np.ndarray, bin_: RareBin) -> Iterator[np.ndarray]:
        """(n_cells,) which rows are in the bins next to this one, nearest first; at last all of them."""
        ordered = self.ordered[bin_.column] if self.ordered else 0
        if bin_.bin < ordered:
            for steps in range(1, ordered):
                yield (np.abs(places - bin_.bin) == steps) & (places < ordered)
        yield np.ones(len(places), dtype=bool)
