"""Teachers on disjoint parts of a table, who vote whether rows are real; PATE (Papernot et al. 2017) for `patectgan`.

Each row of the table belongs to one teacher, drawn for it uniformly and independently of everything else, exactly, from the
source of all private randomness. So replacing a row replaces one row of one teacher (theory 12.8, votes of teachers).

A teacher is not a network: it counts the pairs of bins of its rows once, and votes that a row is real when its pairs are more
frequent among its own rows than among generated ones. A teacher of PATE may be any function of its own part and of what is public.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.randomness import SystemEntropy, discrete_gaussian

_PIECE = 2**20
"""Rows that are dealt out at once."""


class Pairs:
    """The sub-tables of two columns of a layout, one after the other; of the only column, where there is one.

    Attributes
    ----------
    cells : in all of them together.
    """

    def __init__(self, layout: Layout):
        self._sizes = layout.sizes
        last = len(layout.sizes) - 1
        self._columns = list(combinations(range(len(layout.sizes)), 2)) or [(last, last)]
        self._starts = np.cumsum([0, *(layout.sizes[a] * layout.sizes[b] for a, b in self._columns)])
        self.cells = int(self._starts[-1])

    def places(self, bins: list[np.ndarray]) -> np.ndarray:
        """(pairs, rows) where each row's pairs of bins are, from the bins (rows,) of every column."""
        found = [start + bins[a] * self._sizes[b] + bins[b] for start, (a, b) in zip(self._starts, self._columns, strict=False)]
        return np.stack(found)


class Teachers:
    """What a number of teachers know.

    Attributes
    ----------
    tables : (teachers, cells of all pairs) how many of its rows have each pair of bins.
    """

    def __init__(self, pairs: Pairs, number: int):
        self.pairs, self.tables = pairs, np.zeros((number, pairs.cells), dtype=np.float32)

    @classmethod
    def dealt(cls, counts: Counts, pairs: Pairs, number: int, entropy: SystemEntropy) -> Teachers:
        """Deal the rows of a private table out. Nothing is published."""
        teachers = cls(pairs, number)
        for start in range(0, counts.total, _PIECE):
            cells = _cells_of_rows(counts, start, min(start + _PIECE, counts.total))
            teachers.teach(entropy.picks(np.full(len(cells), number)), [column[cells] for column in counts.bins])
        return teachers

    def teach(self, owners: np.ndarray, bins: list[np.ndarray]) -> None:
        """Give rows (rows,) in each column to their owners. Counts are small whole numbers: the sums are exact."""
        flat = self.tables.reshape(-1)
        for places in self.pairs.places(bins):
            np.add.at(flat, owners * self.pairs.cells + places, 1)

    def votes(self, bins: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
        """(rows,) int64: how many teachers hold each of these public rows for real.

        Parameters
        ----------
        expected : (cells of all pairs) how often a teacher would have each pair, if its rows were generated; public.

        A teacher's vote is a function of its own line of `tables` and of what is public: sums go over the pairs in a fixed order.
        """
        weights = (1 / np.sqrt(expected + 1)).astype(np.float32)
        surplus = np.zeros((len(self.tables), len(bins[0])), dtype=np.float32)
        for places in self.pairs.places(bins):
            surplus += self.tables[:, places] * weights[places]
        threshold = sum((expected * weights)[places] for places in self.pairs.places(bins))
        return (surplus > threshold).sum(axis=0)


def noisy_votes(
    teachers: Teachers, bins: list[np.ndarray], expected: np.ndarray, rho: Fraction, entropy: SystemEntropy
) -> np.ndarray:
    """(rows,) int64 votes with discrete Gaussian noise.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record, whatever the votes are: given who belongs to whom, one teacher's votes
    may change, so each of k counts moves by at most 1, and all by at most k in squared l2 norm.
    """
    return discrete_gaussian(teachers.votes(bins, expected), squared_sensitivity=len(bins[0]), rho=rho, entropy=entropy)


def _cells_of_rows(counts: Counts, start: int, stop: int) -> np.ndarray:
    """The cells of the rows from `start` to `stop`, in the order of the cells."""
    ends = np.cumsum(counts.counts)
    return np.searchsorted(ends, np.arange(start, stop), side="right")
