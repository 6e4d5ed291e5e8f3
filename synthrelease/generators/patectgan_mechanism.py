"""The private half of `patectgan`: teachers on disjoint parts of the table vote whether rows are real, and noise is added
to their votes (PATE, Papernot et al. 2017).

Private: the counts of the table, the assignment of rows to teachers, the teachers' counts of their rows, and the exact
votes. Out: noisy votes and noisy frequencies, public.

Guarantee: rho-zero-concentrated; neighbours replace one record. The frequencies cost rho_1, and the votes of each step cost
an equal part of the rest. Replacing a record changes the votes of one teacher. So each of k counts of votes changes by at
most 1, and their squared l2 sensitivity is k.

The teacher of each row is drawn uniformly and exactly, independently of everything else. So replacing a row replaces one
row of one teacher (theory 12.8, votes of teachers). A teacher is not a network: it counts the bins of its rows, and how
much more often pairs of bins occur than under independence. It votes that a row is real if the row's bins and pairs are
more frequent among its own rows than among generated rows.
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
"""Number of rows that are assigned to teachers at once."""


class Pairs:
    """All pairs of columns, each column with itself included; their tables form one array.

    Attributes
    ----------
    columns : the columns of each table.
    cells : the number of cells of all tables together.
    """

    def __init__(self, layout: Layout):
        self._sizes = layout.sizes
        self.columns = list(combinations_with_replacement(range(len(layout.sizes)), 2))
        self._starts = np.cumsum([0, *(layout.sizes[a] * layout.sizes[b] for a, b in self.columns)])
        self.cells = int(self._starts[-1])

    def __len__(self) -> int:
        return len(self.columns)

    def places(self, bins: list[np.ndarray]) -> np.ndarray:
        """Return the position of every row's cell in the array of all tables, (pairs, rows), given the (rows,) bins of
        every column.
        """
        cells = [start + bins[a] * self._sizes[b] + bins[b] for start, (a, b) in zip(self._starts, self.columns, strict=False)]
        return np.stack(cells)

    def surplus(self, tables: np.ndarray) -> np.ndarray:
        """Return, for each pair of bins, how many more rows have it than under independence, as an array (tables, cells);
        for a column with itself, the number of rows in each bin. Each row of `tables` (counts of pairs, or expected counts)
        is treated separately.
        """
        surpluses = []
        for start, (a, b) in zip(self._starts, self.columns, strict=False):
            joint = tables[:, start : start + self._sizes[a] * self._sizes[b]].reshape(-1, self._sizes[a], self._sizes[b])
            first, second = joint.sum(axis=2, keepdims=True), joint.sum(axis=1, keepdims=True)
            whole = np.maximum(first.sum(axis=1, keepdims=True), 1e-9)
            surpluses.append((joint - (a != b) * first * second / whole).reshape(len(tables), -1))
        return np.hstack(surpluses)


class Teachers:
    """Parts of the rows, each of which counts its rows by pairs of bins, and votes on whether other rows look real.

    Attributes
    ----------
    tables : (teachers, cells of all pairs) the number of a teacher's rows with each pair of bins.
    """

    def __init__(self, pairs: Pairs, number: int):
        self.pairs, self.tables = pairs, np.zeros((number, pairs.cells), dtype=np.float32)

    @cached_property
    def surplus(self) -> np.ndarray:
        """Return the surplus (`Pairs.surplus`) of each teacher's rows, (teachers, cells of all pairs). Cached: use it only
        after all rows are assigned.
        """
        return self.pairs.surplus(self.tables)

    @classmethod
    def dealt(cls, counts: Counts, pairs: Pairs, number: int, entropy: SystemEntropy) -> Teachers:
        """Assign the rows of a private table to teachers at random. The result is private."""
        teachers, ends = cls(pairs, number), np.cumsum(counts.counts)
        for start in range(0, counts.total, TEACHER_CHUNK):
            cells = np.searchsorted(ends, np.arange(start, min(start + TEACHER_CHUNK, counts.total)), side="right")
            teachers.teach(entropy.picks(np.full(len(cells), number)), [column[cells] for column in counts.bins])
        return teachers

    def teach(self, owners: np.ndarray, bins: list[np.ndarray]) -> None:
        """Add each row, with its bins, to the counts of its teacher (`owners`). Counts are exact below 2^24 rows per
        teacher.
        """
        flat = self.tables.reshape(-1)
        for places in self.pairs.places(bins):
            np.add.at(flat, owners * self.pairs.cells + places, 1)

    def votes(self, bins: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
        """Return the (rows,) int64 numbers of teachers that vote that each of these public rows is real.

        Parameters
        ----------
        bins : the (rows,) bins of each column.
        expected : (cells of all pairs) the public expected counts of a teacher with generated rows.

        Notes
        -----
        A teacher sums surplus / sqrt(expected + 1) over the pairs of a row, in a fixed order, and compares the sum with the
        sum for generated rows. So a vote is a function of the teacher's own row of `tables` and of public numbers.
        """
        weights, usual = 1 / np.sqrt(expected + 1), self.pairs.surplus(expected[None])[0]
        score, threshold = np.zeros((len(self.tables), len(bins[0])), dtype=np.float32), np.zeros(len(bins[0]))
        for places in self.pairs.places(bins):
            score += self.surplus[:, places] * weights[places].astype(np.float32)
            threshold += usual[places] * weights[places]
        return (score > threshold).sum(axis=0)


class NoisyVotes(Budgeted):
    """Give noisy frequencies of bins and noisy votes of teachers on generated rows, within a budget rho.

    Privacy
    -------
    All answers together are rho-zero-concentrated, for any questions and any assignment of rows; neighbours replace one
    record. The frequencies cost `first`, and every further answer costs its part (`noisy_votes`). The costs never add up to
    more than the budget (theory 12.10, a budget that answers share out).

    Attributes
    ----------
    frequencies : the noisy frequencies of the bins of all columns.
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy, first: Fraction, pairs: Pairs, teachers: int):
        super().__init__(budget, entropy)
        self._take(first)
        self.frequencies = noisy_frequencies(counts, first, entropy)
        self._teachers = Teachers.dealt(counts, pairs, teachers, entropy)

    def votes(self, bins: list[np.ndarray], expected: np.ndarray, part: Fraction) -> np.ndarray:
        """Return (rows,) noisy numbers of teachers that vote that a public row is real, for `part` of the budget."""
        self._take(part)
        return opaque(lambda: noisy_votes(self._teachers, bins, expected, rho=part, entropy=self._entropy))


def dealt_out(
    counts: Counts, budget: Fraction, entropy: SystemEntropy, first: Fraction, pairs: Pairs, teachers: int
) -> NoisyVotes:
    """Return an object that assigns the private rows to teachers and gives only noisy answers, within `budget`."""
    return NoisyVotes(counts, budget, entropy, first, pairs, teachers)


def noisy_votes(
    teachers: Teachers, bins: list[np.ndarray], expected: np.ndarray, rho: Fraction, entropy: SystemEntropy
) -> np.ndarray:
    """Return the (rows,) int64 numbers of teachers that vote for each row, with rounded Gaussian noise.

    Privacy
    -------
    The votes are rho-zero-concentrated, for any rows to vote on; neighbours replace one record. Given the assignment of
    rows, only the votes of one teacher may change: each of k counts by at most 1, all together by at most k in squared l2
    norm.
    """
    return rounded_gaussian(teachers.votes(bins, expected), squared_sensitivity=len(bins[0]), rho=rho, entropy=entropy)
