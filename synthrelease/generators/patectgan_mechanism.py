"""The private half of `patectgan`: teachers on disjoint parts of the table vote whether rows are real (PATE, Papernot et al.
2017).

Private: the counts of the table, to whom each row belongs, what a teacher knows of its rows, and the exact votes. Out: noisy
votes and noisy frequencies, public.

Guarantee: rho zero-concentrated, rho_1 for the frequencies and an equal part of the rest for the votes of each step; neighbours
replace one record. That moves the votes of one teacher, so each of k counts of votes by 1: squared l2 sensitivity k.

Each row of the table belongs to one teacher, drawn for it uniformly, exactly and independently of everything else. So replacing
a row replaces one row of one teacher (theory 12.8, votes of teachers). A teacher is not a network: it counts the bins of its
rows, and the pairs of bins beyond what independent columns would have, and votes that a row is real when those of the row are
more frequent among its own rows than among generated ones.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.enclave.door import opaque
from synthrelease.generators.adaptive_mechanism import Budgeted
from synthrelease.generators.adversarial_mechanism import noisy_frequencies
from synthrelease.privacy.noise import SystemEntropy, rounded_gaussian

TEACHER_CHUNK = 2**17
"""Rows that are dealt out at once."""


class Pairs:
    """The sub-tables of two columns of a layout, one after the other, each column with itself among them.

    Attributes
    ----------
    columns, cells : of each, and in all of them together.
    """

    def __init__(self, layout: Layout):
        self._sizes = layout.sizes
        self.columns = list(combinations_with_replacement(range(len(layout.sizes)), 2))
        self._starts = np.cumsum([0, *(layout.sizes[a] * layout.sizes[b] for a, b in self.columns)])
        self.cells = int(self._starts[-1])

    def __len__(self) -> int:
        return len(self.columns)

    def places(self, bins: list[np.ndarray]) -> np.ndarray:
        """Return (pairs, rows) where each row's pairs of bins are, from the bins (rows,) of every column."""
        cells = [start + bins[a] * self._sizes[b] + bins[b] for start, (a, b) in zip(self._starts, self.columns, strict=False)]
        return np.stack(cells)

    def surplus(self, tables: np.ndarray) -> np.ndarray:
        """Return (tables, cells) how many more rows have each pair than if columns were independent; how many have each bin.

        Parameters
        ----------
        tables : (tables, cells) counts of pairs, or expected ones; each line is treated by itself.
        """
        surpluses = []
        for start, (a, b) in zip(self._starts, self.columns, strict=False):
            joint = tables[:, start : start + self._sizes[a] * self._sizes[b]].reshape(-1, self._sizes[a], self._sizes[b])
            first, second = joint.sum(axis=2, keepdims=True), joint.sum(axis=1, keepdims=True)
            whole = np.maximum(first.sum(axis=1, keepdims=True), 1e-9)
            surpluses.append((joint - (a != b) * first * second / whole).reshape(len(tables), -1))
        return np.hstack(surpluses)


class Teachers:
    """A number of teachers, with the rows of each counted by pairs of bins.

    Attributes
    ----------
    tables : (teachers, cells of all pairs) how many of its rows have each pair of bins.
    """

    def __init__(self, pairs: Pairs, number: int):
        self.pairs, self.tables = pairs, np.zeros((number, pairs.cells), dtype=np.float32)

    @cached_property
    def surplus(self) -> np.ndarray:
        """Return (teachers, cells of all pairs) by how much each teacher's rows with a pair exceed those of independent
        columns; for a column with itself the rows of each bin. Ask once all rows are dealt out.
        """
        return self.pairs.surplus(self.tables)

    @classmethod
    def dealt(cls, counts: Counts, pairs: Pairs, number: int, entropy: SystemEntropy) -> Teachers:
        """Deal the rows of a private table out. Nothing is published."""
        teachers, ends = cls(pairs, number), np.cumsum(counts.counts)
        for start in range(0, counts.total, TEACHER_CHUNK):
            cells = np.searchsorted(ends, np.arange(start, min(start + TEACHER_CHUNK, counts.total)), side="right")
            teachers.teach(entropy.picks(np.full(len(cells), number)), [column[cells] for column in counts.bins])
        return teachers

    def teach(self, owners: np.ndarray, bins: list[np.ndarray]) -> None:
        """Give rows, by their bins (rows,) in each column, to their owners. Below 2^24 rows of a teacher counts are exact."""
        flat = self.tables.reshape(-1)
        for places in self.pairs.places(bins):
            np.add.at(flat, owners * self.pairs.cells + places, 1)

    def votes(self, bins: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
        """Return (rows,) int64: how many teachers hold each of these public rows for real.

        Parameters
        ----------
        expected : (cells of all pairs) how often a teacher would have each pair, if its rows were generated; public.

        Teachers add up surplus / sqrt(expected + 1) over the pairs of a row, in a fixed order, and compare with the sum for
        generated rows. So a vote is a function of the teacher's own line of `tables` and of what is public.
        """
        weights, usual = 1 / np.sqrt(expected + 1), self.pairs.surplus(expected[None])[0]
        score, threshold = np.zeros((len(self.tables), len(bins[0])), dtype=np.float32), np.zeros(len(bins[0]))
        for places in self.pairs.places(bins):
            score += self.surplus[:, places] * weights[places].astype(np.float32)
            threshold += usual[places] * weights[places]
        return (score > threshold).sum(axis=0)


class NoisyVotes(Budgeted):
    """Teachers with the rows of a private table, closed behind a budget rho: their votes come out with noise.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record, whatever is asked, and whoever the rows were dealt to: the frequencies
    cost `first`, every further answer its part (`noisy_votes`), and the parts never add up to more than the budget (theory
    12.10, a budget that answers share out).

    Attributes
    ----------
    frequencies : of the bins of all columns, measured with noise.
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy, first: Fraction, pairs: Pairs, teachers: int):
        super().__init__(budget, entropy)
        self._take(first)
        self.frequencies = noisy_frequencies(counts, first, entropy)
        self._teachers = Teachers.dealt(counts, pairs, teachers, entropy)

    def votes(self, bins: list[np.ndarray], expected: np.ndarray, part: Fraction) -> np.ndarray:
        """Return (rows,) how many teachers hold each of these public rows for real, with noise, for this part of the budget."""
        self._take(part)
        return opaque(lambda: noisy_votes(self._teachers, bins, expected, rho=part, entropy=self._entropy))


def dealt_out(
    counts: Counts, budget: Fraction, entropy: SystemEntropy, first: Fraction, pairs: Pairs, teachers: int
) -> NoisyVotes:
    """Close private counts behind a budget: the charge covers every answer, and nothing else comes out."""
    return NoisyVotes(counts, budget, entropy, first, pairs, teachers)


def noisy_votes(
    teachers: Teachers, bins: list[np.ndarray], expected: np.ndarray, rho: Fraction, entropy: SystemEntropy
) -> np.ndarray:
    """Return (rows,) int64 votes with rounded Gaussian noise.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record, whatever the votes are: given who belongs to whom, one teacher's votes
    may change, so each of k counts moves by at most 1, and all by at most k in squared l2 norm.
    """
    return rounded_gaussian(teachers.votes(bins, expected), squared_sensitivity=len(bins[0]), rho=rho, entropy=entropy)
