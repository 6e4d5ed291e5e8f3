"""Measure all pairs of two-bin columns together, by counting the rows in which the two columns agree (theory 12.17,
agreements of pairs).

Columns i and j have two bins each. Let c_i be the number of rows in the second bin of i, and a_ij (the agreement) the
number of rows whose bins of i and j have the same number. Then (c_i + c_j + a_ij - n) / 2 rows are in the second bin of
both, so all c and a determine the tables of all pairs. A record that changes in m of d columns changes m of the numbers c
and m (d - m) of the numbers a, each by 1. The tables of all pairs would change by more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.marginals import added_up
from synthrelease.generators.junction_tree import JunctionTree, largest_clique
from synthrelease.generators.measured_noise import TABLE_CHANGE, CountNoise

# If not all pairs fit into the model, the model uses only the pairs that clearly differ from independence. The difference must
# be at least this multiple of the standard deviation of the noise.
_VISIBLE = 2.0

ROOM = 2**16
"""Largest number of cells of a clique of the model, if pairs of columns with two bins are measured."""

_ROWS = 20_000  # Number of rows of the model from which covariances are estimated


@dataclass(frozen=True, kw_only=True)
class AgreeingPairs:
    """A public list of pairs of two-bin columns. Instead of a pair's table, its agreement is measured: the number of rows
    in which both columns have the same bin.

    Attributes
    ----------
    pairs : the pairs of column indices in order, the smaller first.
    """

    pairs: tuple[Columns, ...]

    @cached_property
    def pairs_of_columns(self) -> Counter[int]:
        return Counter(chain.from_iterable(self.pairs))

    @property
    def columns(self) -> Columns:
        return tuple(sorted(self.pairs_of_columns))

    @cached_property
    def _tables(self) -> frozenset[Columns]:
        return frozenset([*self.pairs, *((column,) for column in self.columns)])

    def holds(self, columns: Columns) -> bool:
        """Return whether these columns are a measured column or pair, whose table follows from the noisy numbers."""
        return columns in self._tables

    def price(self, ratio: int) -> int:
        """Return the largest cost of replacing one record. The unit is the cost of one changed agreement; one changed count
        costs `ratio` units.

        Suppose m of d columns change. An agreement changes if exactly one of its two columns changes. The number of such
        pairs is at most m (d - m), at most the number of pairs, and at most the number of pairs of the m columns with the
        most pairs.
        """
        beside = sorted(self.pairs_of_columns.values(), reverse=True)
        d = len(beside)
        return max(ratio * m + min(m * (d - m), len(self.pairs), sum(beside[:m])) for m in range(1, d + 1))

    def ratio(self, kind: type[CountNoise]) -> int:
        """Return how many times as much a changed count costs as a changed agreement, as a whole number.

        With this ratio, the cells of a pair's table have the smallest noise variance, (2 V_count + V_agreement) / 4.
        """
        power = 1 if kind.cost == "rho" else 2  # a variance is inversely proportional to this power of the cost

        def variance(ratio: int) -> float:
            return float(self.price(ratio) ** power * (2 / ratio**power + 1))

        return min(range(1, len(self.columns) + 1), key=variance)

    def costs(self, part: Fraction, kind: type[CountNoise]) -> tuple[Fraction, Fraction]:
        """Return the cost of one changed count and of one changed agreement. Replacing a record costs at most `part`."""
        ratio = self.ratio(kind)
        of_agreement = part / self.price(ratio)
        return ratio * of_agreement, of_agreement

    def laws(self, part: Fraction, kind: type[CountNoise]) -> tuple[CountNoise, CountNoise]:
        """Return the noise distributions of a count and of an agreement, if all together get `part` of the budget.

        `of_table` divides its cost between two changed cells, so it gets twice the cost of one number.
        """
        of_count, of_agreement = (kind.of_table(TABLE_CHANGE * cost) for cost in self.costs(part, kind))
        return of_count, of_agreement

    def of_cells(self, part: Fraction, kind: type[CountNoise]) -> tuple[CountNoise, CountNoise]:
        """Return two noise distributions: of the count of a bin, and of a cell of a pair's table, which is computed from
        two counts and one agreement (with the same scale as its noise).
        """
        of_count, of_agreement = self.laws(part, kind)
        return of_count, kind(math.sqrt((2 * of_count.scale**2 + of_agreement.scale**2) / 4))


@dataclass(frozen=True, kw_only=True)
class NoisyAgreements:
    """Noisy counts of the second bins of columns, and noisy agreements of pairs, with the noise distributions of both."""

    columns: Columns
    counts: np.ndarray
    pairs: tuple[Columns, ...]
    agreements: np.ndarray
    laws: tuple[CountNoise, CountNoise]

    @property
    def variances(self) -> np.ndarray:
        return np.repeat([law.variance_above for law in self.laws], [len(self.columns), len(self.pairs)])

    def merge(self, layout: Layout, maps: Sequence[np.ndarray], n: int) -> NoisyAgreements:
        """Return the same noisy numbers after bin b of column c becomes `maps[c][b]`, which may exchange two bins
        (post-processing). Columns without two bins are dropped.
        """
        left = {column: layout.sizes[column] == 2 for column in self.columns}
        turned = {column: left[column] and maps[column][0] == 1 for column in self.columns}
        columns = [column for column in self.columns if left[column]]
        pairs = [(i, j) for i, j in self.pairs if left[i] and left[j]]
        counts = dict(zip(self.columns, self.counts.tolist(), strict=True))
        agreements = dict(zip(self.pairs, self.agreements.tolist(), strict=True))
        return replace(
            self,
            columns=tuple(columns),
            counts=np.array([n - counts[i] if turned[i] else counts[i] for i in columns], dtype=np.int64),
            pairs=tuple(pairs),
            agreements=np.array(
                [n - agreements[i, j] if turned[i] != turned[j] else agreements[i, j] for i, j in pairs], dtype=np.int64
            ),
        )

    def strongest(self, sizes: Sequence[int], sets: Sequence[Columns], n: int) -> list[Columns]:
        """Return further pairs for a model with the column sets `sets`, the strongest first: those whose noisy agreement
        differs clearly from independence, and that make no clique too large.
        """
        share = dict(zip(self.columns, (self.counts / n).tolist(), strict=True))
        chosen = list(sets)
        most = max(ROOM, largest_clique(sizes, chosen))
        independent = [n * (1 - share[i] - share[j] + 2 * share[i] * share[j]) for i, j in self.pairs]
        away = np.abs(self.agreements - independent) / math.sqrt(self.laws[1].variance_above)
        for place in np.argsort(-away, kind="stable").tolist():
            if away[place] >= _VISIBLE and largest_clique(sizes, [*chosen, self.pairs[place]], most) <= most:
                chosen.append(self.pairs[place])
        return chosen[len(sets) :]


class _Signs:
    """Fast sums over all 2^k cells of k two-bin columns, with bins as signs s_i, -1 or 1."""

    def __init__(self, k: int):
        self._half = k // 2
        self._first, self._last = (
            2.0 * (np.arange(2**width)[:, None] >> np.arange(width)[::-1] & 1) - 1 for width in (self._half, k - self._half)
        )
        self._shape = (2,) * k

    def potential(self, weights: np.ndarray) -> np.ndarray:
        """Return the (2, ..., 2) log-linear potential of each cell: the sum of weights[i, i] s_i, and of weights[i, j] s_i
        s_j for i < j.
        """
        half, sides = self._half, []
        for signs, own in ((self._first, weights[:half, :half]), (self._last, weights[half:, half:])):
            sides.append(signs @ np.diag(own) + ((signs @ np.triu(own, 1)) * signs).sum(axis=1))
        across = self._first @ weights[:half, half:] @ self._last.T
        return np.asarray(sides[0][:, None] + sides[1] + across).reshape(self._shape)

    def moments(self, shares: np.ndarray) -> np.ndarray:
        """Return a (k, k) matrix of means over cells with these shares: of s_i on the diagonal, of s_i s_j above it."""
        table, half = shares.reshape(len(self._first), len(self._last)), self._half
        means = np.zeros((len(self._shape),) * 2)
        means[:half, half:] = self._first.T @ table @ self._last
        for signs, margin, own in (
            (self._first, table.sum(axis=1), slice(0, half)),
            (self._last, table.sum(axis=0), slice(half, None)),
        ):
            means[own, own] = signs.T @ (margin[:, None] * signs)
            np.fill_diagonal(means[own, own], margin @ signs)
        return means


def _all_moments(shares: np.ndarray) -> np.ndarray:
    """Return the (2^k,) means of products of signs, one for each set of columns, by a fast Walsh transform.

    The index of a set has a bit for each column; the first column is the highest bit.
    """
    means = shares
    for axis in range(shares.ndim):
        pairs = means.reshape(2**axis, 2, -1)
        means = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 1] - pairs[:, 0]], axis=1)
    return means.ravel()


class AgreementTerms:
    """The terms of a log-linear model on a junction tree, by which the model fits the measured counts and agreements.

    There is one parameter for each count, then one for each pair inside a clique of the tree.

    Attributes
    ----------
    target, variance : (n_parameters,) the noisy numbers and their noise variances.
    """

    def __init__(self, tree: JunctionTree, measured: NoisyAgreements):
        inside = {pair for clique in tree.cliques for pair in combinations(sorted(clique), 2)}
        held = np.array([pair in inside for pair in measured.pairs], dtype=bool)
        terms = [*((column,) for column in measured.columns), *(measured.pairs[place] for place in np.flatnonzero(held))]
        self.target = np.concatenate([measured.counts, measured.agreements[held]]).astype(float)
        self.variance = measured.variances[np.append(np.ones(len(measured.columns), dtype=bool), held)]
        self._tree, self._terms, homes = tree, terms, [tree.home(term) for term in terms]
        self._by_clique = list[tuple[int, Columns, _Signs, np.ndarray, tuple[np.ndarray, np.ndarray]]]()
        for home in sorted(set(homes)):
            places = np.array([place for place, other in enumerate(homes) if other == home])
            columns = tuple(sorted({column for place in places for column in terms[place]}))
            ends = [[columns.index(terms[place][end]) for place in places] for end in (0, -1)]
            self._by_clique.append((home, columns, _Signs(len(columns)), places, (np.array(ends[0]), np.array(ends[1]))))

    def potentials(self, parameters: np.ndarray) -> Iterator[tuple[int, Columns, np.ndarray]]:
        """For each clique with some of these terms, yield its index, the columns of its terms, and the table over them that
        is added to the logarithms of the cells.
        """
        for home, columns, signs, places, ends in self._by_clique:
            weights = np.zeros((len(columns), len(columns)))
            weights[ends] = parameters[places] / 2
            yield home, columns, signs.potential(weights) + parameters[places].sum() / 2

    def shares(self, cliques: Sequence[np.ndarray]) -> np.ndarray:
        """Return, for each parameter, the share of rows that the model expects in the second bin of the column, or with the
        same bin in both columns. `cliques` are shares of cells.
        """
        shares = np.empty(len(self.target))
        for home, columns, signs, places, ends in self._by_clique:
            shares[places] = (1 + signs.moments(self._table(cliques, home, columns))[ends]) / 2
        return shares

    def covariances(self, cliques: Sequence[np.ndarray], draw: Callable[[int], Counts]) -> np.ndarray:
        """Return the (n_parameters, n_parameters) covariance matrix of the counted features of a row under the model: exact
        within one clique, otherwise estimated from drawn rows.
        """
        if not self._by_clique:
            return np.zeros((0, 0))
        if len(self._by_clique) > 1:
            rows = draw(_ROWS)
            signs = [2.0 * rows.digits(column) - 1 for column in range(len(rows.layout.sizes))]
            added = np.array([math.prod(signs[column] for column in term) for term in self._terms]) / 2
            return np.cov(added, fweights=rows.counts)
        [(home, columns, _, _, (first, last))] = self._by_clique
        means = _all_moments(self._table(cliques, home, columns))
        bits = 2 ** (len(columns) - 1 - np.arange(len(columns)))
        sets = bits[first] | bits[last]
        return np.asarray((means[sets[:, None] ^ sets] - np.outer(means[sets], means[sets])) / 4)

    def _table(self, cliques: Sequence[np.ndarray], home: int, columns: Columns) -> np.ndarray:
        table = cliques[home]
        return table if len(columns) == table.ndim else added_up(table, self._tree.cliques[home], columns)
