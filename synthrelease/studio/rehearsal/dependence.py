"""Measure the association between columns of a public table, and select the tables that a model should measure.

This module uses exact counts, of public data only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, permutations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns
from synthrelease.data.marginals import Lattice, lattice, with_pairs
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound, so_many
from synthrelease.generators.associations import LEAST_STRENGTH, Strengths, cramers_v
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.junction_tree import JunctionTree, largest_clique, spread
from synthrelease.generators.maximum_entropy import ProportionalFit, Target, base_potentials, families_of, tolerances_of
from synthrelease.generators.measured_noise import CountNoise, RoundedGaussian
from synthrelease.generators.measurements import weight_of
from synthrelease.privacy.public_entropy import SeededEntropy

MODEL_CELLS, MODEL_CELLS_OF_MANY, MANY_COLUMNS = 2**18, 2**16, 30
"""Largest number of cells of one table in a model, the limit for many columns, and the number of columns above which this limit
applies. With 50 columns that depend on one hidden variable, the smaller limit reduced the time of `init` from 200 to 38 CPU
seconds, and the preserved share of the associations from 80% to 79%.
"""

LEAST_MOVED = 0.01
"""A strong pair has at least this distance from independence, as a share of all rows. A few rows can make Cramer's V large."""
LEAST_ODD = 20
"""A weak pair counts as associated if one cell has at least this many rows more than under independence."""

MOST_ROUNDS, FEW_ROUNDS = 8, 2
_SHARE_OF_PRICE = 0.5
_MOST_BLOCKED = 40  # Number of tables with the largest errors for which the search checks whether a model can contain them
# With more columns than the first number, a step ends after the second number of tables that a model cannot contain: a test
# takes 20 milliseconds. With 50 columns that one hidden number ties, such a limit would preserve 71% instead of 79%.
_FEW_COLUMNS, _MOST_REFUSED = 100, 100
# With more columns than `_FEW_COLUMNS`, only this number of tables of three columns is counted: those with the most associated
# pairs. With 200 columns and 100,000 rows, counting all such tables took 58 CPU seconds, and no table was selected.
_MOST_TRIPLES = 2_000
_KEPT = 0.75  # Share of Cramer's V that a model without noise must preserve, so that a release preserves half of it
# A fit ends after 150 sweeps, or when cells change by less than the first share of the noise or the second share of a row.
_PRECISION, _FINEST, _SWEEPS = 0.2, 0.05, 150
_BETTER = 0.75  # Tables are exchanged again only if the largest error of a pair without room in the model fell to this share


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two columns and the association between them.

    Attributes
    ----------
    columns : the names of the two columns.
    distance : share of all rows that would have to change to make the columns independent: the total variation distance
        between their table and the product of its margins, over the rows with both values.
    largest_cell : largest difference between a cell of the table and this product, as a share of all rows.
    cramers_v : Cramer's V over the rows with both values, from 0 for independence to 1, corrected for chance.
    beyond_chance : the distance minus the distance that a sample of this size has by chance; may be below 0.
    """

    columns: tuple[str, str]
    distance: float
    largest_cell: float
    cramers_v: float
    beyond_chance: float

    @property
    def strong(self) -> bool:
        """Return whether Cramer's V is large, and many rows would have to change to make the columns independent."""
        return self.cramers_v >= LEAST_STRENGTH and self.distance >= LEAST_MOVED

    def faint(self, n_rows: int) -> bool:
        """Return whether the association is strong but comes from only a few of the `n_rows` rows."""
        return self.cramers_v >= LEAST_STRENGTH and self.distance < LEAST_MOVED and self.largest_cell * n_rows >= LEAST_ODD

    @classmethod
    def of(cls, columns: Iterable[tuple[str, str]], counts: np.ndarray, n_rows: int) -> list[Pair]:
        """Measure the association of pairs of columns. Columns without rows count as independent.

        Parameters
        ----------
        counts : (n_pairs, n_first, n_second) counts of the rows with a value of both columns.
        n_rows : the number of all rows.
        """
        residuals = from_independence(counts)
        sizes = np.abs(residuals)
        figures = (
            sizes.sum(axis=(-2, -1)) / 2 / n_rows,
            sizes.max(axis=(-2, -1), initial=0.0) / n_rows,
            cramers_v(counts),
            _beyond_chance(counts, counts - residuals) / 2 / n_rows,
        )
        named = zip(columns, *(figure.tolist() for figure in figures), strict=True)
        return [
            cls(columns=pair, distance=distance, largest_cell=cell, cramers_v=strength, beyond_chance=beyond)
            for pair, distance, cell, strength, beyond in named
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairTables:
    """The joint counts of all pairs of columns, stacked by shape for speed.

    Attributes
    ----------
    stacks : for each shape, the (n,) indices of the pairs, in the order of `combinations`, and their (n, n_first, n_second)
        tables.
    """

    stacks: tuple[tuple[np.ndarray, np.ndarray], ...]

    @classmethod
    def of(cls, marginals: Lattice) -> PairTables:
        return cls.stacked([marginals.get(columns) for columns in combinations(range(len(marginals.layout.sizes)), 2)])

    @classmethod
    def stacked(cls, tables: Sequence[np.ndarray]) -> PairTables:
        of_shape = defaultdict[tuple[int, ...], list[int]](list)
        for index, table in enumerate(tables):
            of_shape[table.shape].append(index)
        stacks = ((np.array(indices), np.stack([tables[index] for index in indices])) for indices in of_shape.values())
        return cls(stacks=tuple(stacks))

    @property
    def n_pairs(self) -> int:
        return sum(len(indices) for indices, _ in self.stacks)

    def tables(self) -> list[np.ndarray]:
        of_pair = {index: table for indices, stack in self.stacks for index, table in zip(indices.tolist(), stack, strict=True)}
        return [of_pair[index] for index in range(self.n_pairs)]

    def differences(self, other: PairTables, measure: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the (n_pairs,) differences from the joint tables of `other`, as `measure` computes them for a stack of
        tables.
        """
        result = np.empty(self.n_pairs)
        for (indices, stack), (_, counterpart) in zip(self.stacks, other.stacks, strict=True):
            result[indices] = measure(stack, counterpart)
        return result

    def __truediv__(self, n_rows: int) -> PairTables:
        return PairTables(stacks=tuple((indices, stack / n_rows) for indices, stack in self.stacks))


def strongest_pairs(table: Counts, missing: Collection[str] = (), counted: PairTables | None = None) -> list[Pair]:
    """Measure the association of all pairs of columns, the pair farthest from independence first.

    Parameters
    ----------
    missing : columns whose last bin is the bin of missing values. Rows with a missing value do not count: two columns are
        missing together because of the questionnaire.
    counted : the tables of the pairs, or None to count them.
    """
    names = list(combinations(table.layout.columns, 2))
    of_index = dict[int, Pair]()
    for indices, stack in (counted or PairTables.of(with_pairs(table))).stacks:
        columns, counts = [names[index] for index in indices.tolist()], stack.copy()
        counts[[first in missing for first, _ in columns], -1, :] = 0  # bins without rows are ignored
        counts[[second in missing for _, second in columns], :, -1] = 0
        of_index |= zip(indices.tolist(), Pair.of(columns, counts, table.total), strict=True)
    return sorted((of_index[index] for index in range(len(names))), key=lambda pair: -pair.distance)


def strengths_of(table: Counts, pairs: Iterable[Pair], missing: Collection[str]) -> Strengths:
    """Return Cramer's V of each pair and the share of the rows in each bin, from which a plan predicts preserved
    associations.
    """
    names, n_rows, shares = table.layout.columns, max(1, table.total), dict[str, list[float]]()
    for axis, name in enumerate(names):
        rows = table.marginal((axis,))
        shares[name] = [float(f"{share:.3g}") for share in rows[: len(rows) - (name in missing)] / n_rows]
    strengths = {":".join(sorted(pair.columns, key=names.index)): round(pair.cramers_v, 3) for pair in pairs}
    return Strengths(shares=shares, pairs=strengths)


def tied_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the strongly associated pairs, the largest distance beyond chance first."""
    return sorted((pair for pair in pairs if pair.strong), key=lambda pair: -pair.beyond_chance)


def pairs_off(original: Counts, other: Counts, pairs: Sequence[Pair]) -> float:
    """Return the total variation distance of the joint tables of these pairs, as a mean over the pairs."""
    names = original.layout.columns
    own, others = map(with_pairs if 4 * len(pairs) > math.comb(len(names), 2) else lattice, (original, other))
    places = [tuple(sorted(map(names.index, pair.columns))) for pair in pairs]
    differences = (np.abs(own.get(place) / original.total - others.get(place) / other.total).sum() for place in places)
    return float(np.mean([float(table) / 2 for table in differences])) if pairs else 0.0


def distances(first: PairTables, second: PairTables) -> np.ndarray:
    """Return the (n_pairs,) total variation distances of the joint distributions in two data sets."""
    return first.differences(second, lambda own, others: np.abs(own - others).sum(axis=(-2, -1)) / 2)


def shares_of_pairs(table: Counts, columns: Sequence[str]) -> PairTables:
    names = table.layout.columns
    own = table if names == tuple(columns) else table.project([names.index(name) for name in columns])
    return PairTables.of(with_pairs(own)) / table.total


def valued(counts: np.ndarray, first: bool, second: bool) -> np.ndarray:
    """Return a table of two columns without the last bin of a column that `first` or `second` marks as missing values."""
    return counts[: counts.shape[0] - first, : counts.shape[1] - second]


def from_independence(counts: np.ndarray) -> np.ndarray:
    """Return (..., n_first, n_second) counts minus the counts expected under independence."""
    n, rows, columns = (counts.sum(axis=axis, keepdims=True) for axis in ((-2, -1), -1, -2))
    return np.asarray(counts - rows * columns / np.maximum(n, 1))


@dataclass(frozen=True, kw_only=True)
class Purse:
    """The privacy budget that all measured tables of a model share, and the kind of their noise.

    Attributes
    ----------
    cost : the budget of all tables together: an epsilon, or a rho for Gaussian noise.
    """

    kind: type[CountNoise]
    cost: Fraction

    def noise(self, share: Fraction) -> CountNoise:
        return self.kind.of_table(self.cost * share)

    def rows_of_noise(self, tables: _Sharing) -> float:
        """Return the expected absolute noise of all cells of tables that share the budget by their weights, in rows."""
        return self._whole * tables.weight**self._power * tables.cells

    @cached_property
    def _whole(self) -> float:
        return self.kind.of_table(self.cost).mean_size

    def sharing(self, tables: Iterable[tuple[int, Fraction]]) -> _Sharing:
        """Return the sums for the noise of tables that share the budget, given by number of cells and weight."""
        weighted = [(cells, float(weight)) for cells, weight in tables]
        noisy = sum(cells / weight**self._power for cells, weight in weighted)
        return _Sharing(weight=sum(weight for _, weight in weighted), cells=noisy)

    @property
    def _power(self) -> float:
        """Return the power p at which the noise of a table is proportional to budget^-p."""
        return 0.5 if self.kind is RoundedGaussian else 1.0

    @property
    def single_columns(self) -> bool:
        """Return whether each column should also be measured alone."""
        return self.kind is RoundedGaussian


@dataclass(frozen=True, kw_only=True)
class _Sharing:
    """Two sums over tables that share a budget: of weights, and of (number of cells) / weight^p (noise falls with
    budget^-p).
    """

    weight: float
    cells: float

    def __add__(self, other: _Sharing) -> _Sharing:
        return _Sharing(weight=self.weight + other.weight, cells=self.cells + other.cells)


@dataclass(frozen=True, kw_only=True)
class TellingTables:
    """The tables that a model should measure, and the associated pairs of columns that such a model would lose.

    Attributes
    ----------
    tables : the columns of each table.
    lost : the strong pairs that the model loses, and whose own tables it cannot contain in addition.
    faint : the lost pairs that are associated only in few rows, the strongest first.
    """

    tables: tuple[Columns, ...]
    lost: tuple[tuple[str, str], ...]
    faint: tuple[Pair, ...] = ()


def telling_tables(
    table: Counts,
    plausibility: Plausibility,
    purse: Purse,
    seed: int = 0,
    missing: Collection[str] = (),
    first: Sequence[Columns] = (),
    *,
    progress: Callable[[str], None] = lambda doing: None,
) -> TellingTables:
    """Select the tables of two or three columns whose measurement improves a model of maximum entropy more than it costs.

    All measured tables share the budget, so each further table makes the others noisier. As in AIM (McKenna, Mullins,
    Sheldon & Miklau 2022), each round fits a model to the selected tables, without noise because the table is public. A
    table is added if its error, in rows, is larger than half of the noise that its measurement adds to all tables. Pairs
    are selected first, then tables of three columns, then the strong pairs that the model would lose, unless noise would
    hide their association. If the model has no room for the pair with the largest error, this pair replaces other tables.
    Every column is in at least one table.

    Parameters
    ----------
    purse : the budget of all measurements, which share it by `weight_of`.
    missing : columns whose last bin is the bin of missing values.
    first : tables that are selected first, if a model can contain them.
    progress : called in every round.
    """
    search = _Search(table, plausibility, purse, first, progress)
    lost, faint = list[tuple[str, str]](), list[Pair]()
    search.add_best(search.errors_of_independence())
    try:
        worst = math.inf
        for number in range(MOST_ROUNDS):
            progress(f"looking for tables of two columns: round {number + 1} of at most {MOST_ROUNDS}")
            errors = search.errors_of(search.modelled(seed + number))
            if search.add_best(errors):
                continue
            blocked = search.blocked(errors)
            if not blocked or errors[blocked[0]] > _BETTER * worst:
                break
            worst = errors[blocked[0]]
            search.put_first(blocked[: max(2, len(table.layout.sizes) // 4)])
        for number in range(FEW_ROUNDS):
            progress(f"looking for tables of three columns: round {number + 1} of at most {FEW_ROUNDS}")
            if not search.add_best(search.errors_of(search.modelled(seed + MOST_ROUNDS + number), search.triples())):
                break
        progress("looking for pairs of columns that would be lost")
        losing = search.lost(search.modelled(seed), missing)
        search.add(pair for pair in tied_pairs(losing) if search.shows(pair))
        losing = [pair for pair in losing if not search.known(search.places(pair))]
        lost = [pair.columns for pair in tied_pairs(losing)]
        faint = sorted((pair for pair in losing if pair.faint(table.total)), key=lambda pair: -pair.cramers_v)
    except RejectedRound:
        pass
    return TellingTables(tables=search.tables(), lost=tuple(lost), faint=tuple(faint))


def _beyond_chance(counts: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Return the sum of the absolute errors of a model over all cells, in rows, minus an allowance for sampling errors.

    The mean sampling error of a cell with m rows is sqrt(2 m / pi), with variance m (1 - 2 / pi). Two standard deviations
    of the sum are subtracted, too.
    """
    cells = (-2, -1)
    chance = np.sqrt(np.maximum(model, 0) * (2 / np.pi)).sum(axis=cells)
    chance += 2 * np.sqrt(model.sum(axis=cells) * (1 - 2 / np.pi))
    return np.asarray(np.abs(counts - model).sum(axis=cells) - chance)


def _unpacked(table: Counts) -> Lattice:
    counted = with_pairs(table)
    counted.parts = tuple(replace(part, bins=[*part.bins]) for part in counted.parts)
    return counted


def _counted(table: Lattice, columns: Columns) -> np.ndarray:
    """Return the joint counts of three columns, with the third along the second axis."""
    counts = table.joint(columns[:-1], columns[-1])
    return counts.reshape(-1, counts.shape[-1])


def _pairs(table: Counts) -> list[Columns]:
    return list(combinations(range(len(table.layout.sizes)), 2))


class _Search:
    """The search for the tables that a model should measure: the chosen tables, and the errors of their model."""

    def __init__(
        self, table: Counts, plausibility: Plausibility, purse: Purse, first: Sequence[Columns], progress: Callable[[str], None]
    ):
        self.table, self.plausibility, self.purse, self.first, self.progress = table, plausibility, purse, first, progress
        self.sizes = table.layout.sizes
        self.most_cells = MODEL_CELLS if len(self.sizes) <= MANY_COLUMNS else MODEL_CELLS_OF_MANY
        self.most_refused = math.inf if len(self.sizes) <= _FEW_COLUMNS else _MOST_REFUSED
        self.exact = _unpacked(table)
        self.exact_pairs = PairTables.of(self.exact)
        self.chosen: dict[Columns, frozenset[int]] = {}
        self._inside = set[Columns]()  # all pairs and triples inside chosen tables
        self.rules = [mask.columns for mask in plausibility.masks]
        self._shares: dict[Columns, _Sharing] = {}
        self._parameters: dict[Columns, np.ndarray] = {}
        self._refused = set[Columns]()
        self.put_first(())

    def errors_of_independence(self) -> dict[Columns, float]:
        """Return the errors of a model with independent columns, as in `errors_of`."""
        return self._of_unknown(self._dependence)

    @cached_property
    def _dependence(self) -> np.ndarray:
        """Return the (n_pairs,) differences from independence beyond chance, in rows."""
        exact = self.exact_pairs
        return exact.differences(exact, lambda own, _: _beyond_chance(own, own - from_independence(own)))

    def _of_unknown(self, errors: np.ndarray) -> dict[Columns, float]:
        every = zip(_pairs(self.table), errors.tolist(), strict=True)
        return {pair: error for pair, error in every if not self.known(pair)}

    def tables(self) -> tuple[Columns, ...]:
        within = set[int]() if self.purse.single_columns else set(chain.from_iterable(self.chosen))
        return (*sorted(self.chosen), *((column,) for column in range(len(self.sizes)) if column not in within))

    def triples(self) -> list[Columns]:
        """Return triples of columns that could be chosen next: chosen tables have at least two of the three pairs.

        If there are many columns and many such triples, only those with the strongest associations are returned.
        """
        near = defaultdict[int, set[int]](set)
        for first, second in (pair for columns in self.chosen for pair in permutations(columns, 2)):
            near[first].add(second)
        triples = {tuple(sorted((column, *two))) for column, others in near.items() for two in combinations(others, 2)}
        small = sorted(columns for columns in triples - {*self.chosen} if self._cells([columns]) <= self.most_cells)
        if len(self.sizes) <= _FEW_COLUMNS or len(small) <= _MOST_TRIPLES:
            return small
        dependence = dict(zip(_pairs(self.table), np.maximum(self._dependence, 0).tolist(), strict=True))
        strongest = sorted(small, key=lambda columns: -sum(dependence[pair] for pair in combinations(columns, 2)))
        return sorted(strongest[:_MOST_TRIPLES])

    def modelled(self, seed: int) -> Counts:
        """Draw a synthetic table of the same size from a model of the chosen tables.

        The tables get the precision of the measurements of a release, because a fit to exact counts takes minutes.
        """
        tables = self.tables()
        self.progress(f"fitting a model of {so_many(len(tables), 'table')}")
        weights = {columns: weight_of(columns, self.sizes) for columns in tables}
        total = sum(weights.values())
        noise = {columns: self.purse.noise(weight / total) for columns, weight in weights.items()}
        exact = {columns: self.exact.get(columns).astype(float) for columns in tables}
        variance = {columns: np.full(exact[columns].shape, noise[columns].variance_above) for columns in tables}
        targets = [Target(columns=columns, values=exact[columns], variance=variance[columns]) for columns in tables]
        tree = JunctionTree.of(self.sizes, [*tables, *self.rules])
        base = base_potentials(tree, self.plausibility, None)
        fit = ProportionalFit(tree, base, targets, self.table.total, 1.0, parameters=self._start(tables))
        fit.solve(tolerances_of(targets, _PRECISION, _FINEST), _SWEEPS, agreed=True)
        self._parameters = dict(zip(tables, fit.parameters, strict=True))
        self.progress(f"drawing rows of a model of {so_many(len(tables), 'table')}")
        families = tuple(families_of(tree, fit.shares))
        model = BayesianNetwork(layout=self.table.layout, families=families)
        return model.sample(self.table.total, SeededEntropy(seed).generator())

    def _start(self, tables: Sequence[Columns]) -> list[np.ndarray]:
        """Return the parameters of the previous model as a start: 0 for a new table, a sum for one that replaces several."""
        start = {columns: np.zeros([self.sizes[column] for column in columns]) for columns in tables}
        for columns, parameters in self._parameters.items():
            if home := columns if columns in start else next((other for other in tables if set(columns) <= set(other)), None):
                start[home] = start[home] + spread(parameters, columns, home)
        return list(start.values())

    def errors_of(self, model: Counts, triples: Iterable[Columns] = ()) -> dict[Columns, float]:
        """Return the errors of a model beyond chance, in rows, for each pair and given triple whose table is not yet chosen."""
        modelled = _unpacked(model)
        errors = self._of_unknown(self.exact_pairs.differences(PairTables.of(modelled), _beyond_chance))
        for columns in triples:
            if not self.known(columns):
                errors[columns] = float(_beyond_chance(_counted(self.exact, columns), _counted(modelled, columns)))
        return errors

    def lost(self, model: Counts, missing: Collection[str]) -> list[Pair]:
        """Return the pairs without a chosen table whose Cramer's V in the model is below a fixed share of the public one."""
        modelled = {pair.columns: pair.cramers_v for pair in strongest_pairs(model, missing=missing)}
        return [
            pair
            for pair in strongest_pairs(self.table, missing, self.exact_pairs)
            if modelled[pair.columns] < _KEPT * pair.cramers_v and not self.known(self.places(pair))
        ]

    def shows(self, pair: Pair) -> bool:
        """Return whether the noise of a pair's joint table would be smaller than the error of independent columns."""
        own = self._sharing([self.places(pair)])
        share = Fraction(own.weight / (self._present() + own).weight)
        noise = self.purse.noise(share).mean_size * self._cells([self.places(pair)])
        return noise < 2 * pair.beyond_chance * self.table.total

    def places(self, pair: Pair) -> Columns:
        first, second = sorted(self.table.layout.columns.index(name) for name in pair.columns)
        return first, second

    def blocked(self, errors: Mapping[Columns, float]) -> list[Columns]:
        """Return the tables that are worth their noise but make the model too large, the largest errors first."""
        worth = [columns for columns, price in self._prices(errors, self._present()).items() if errors[columns] > price]
        worst = sorted(worth, key=lambda columns: -errors[columns])[:_MOST_BLOCKED]
        return [columns for columns in worst if not self._fits(columns)]

    def put_first(self, tables: Iterable[Columns]) -> None:
        """Choose tables again: those in `first`, then the given tables, then those chosen before, as far as the model has
        room.
        """
        before, self.chosen, self._inside, self._refused = self.chosen, {}, set(), set()
        self._choose([*self.first, *tables, *before])

    def add(self, pairs: Iterable[Pair]) -> None:
        self._choose(map(self.places, pairs), self.most_refused)

    def _choose(self, tables: Iterable[Columns], most_refused: float = math.inf) -> None:
        """Choose these tables in their order, without those that make the model too large.

        A run of tables that a model can contain is tested at once.
        """
        before, runs = len(self._refused), [list(tables)]
        while runs and len(self._refused) - before < most_refused:
            run = [columns for columns in runs.pop() if not (self.known(columns) or columns in self._refused)]
            if self._fits(*run):
                for columns in run:
                    if not self.known(columns):
                        self._put(columns)
            elif len(run) > 1:
                runs += [run[len(run) // 2 :], run[: len(run) // 2]]

    def _put(self, columns: Columns) -> None:
        own = frozenset(columns)
        self.chosen = {columns: other for columns, other in self.chosen.items() if not other < own} | {columns: own}
        self._inside |= {columns, *combinations(columns, 2)}

    def known(self, columns: Columns) -> bool:
        """Return whether the table of these columns was chosen, alone or inside a larger one."""
        return columns in self._inside

    def _fits(self, *tables: Columns) -> bool:
        """Return whether the model stays small enough with these tables. A single table that does not fit is remembered."""
        if len(tables) == 1 and tables[0] in self._refused:
            return False
        near, sets, others = set(chain.from_iterable(tables)), list[Columns](), [*self.chosen, *self.rules]
        while linked := [columns for columns in others if not near.isdisjoint(columns)]:
            others = [columns for columns in others if near.isdisjoint(columns)]
            near, sets = near.union(*linked), sets + linked
        fits = largest_clique(self.sizes, [*sets, *tables], self.most_cells) <= self.most_cells  # no other clique changes
        if not fits and len(tables) == 1:
            self._refused.add(tables[0])
        return fits

    def add_best(self, errors: Mapping[Columns, float]) -> int:
        """Choose the tables whose error exceeds their price in noise by most, and return how many were chosen."""
        added: list[Columns] = []
        now = self._present()
        prices = self._prices(errors, now)
        order = sorted(prices, key=lambda columns: prices[columns] - errors[columns])
        most = max(2, len(self.sizes) // 2) if self.chosen else len(self.sizes)
        most_refused = len(self._refused) + self.most_refused
        for columns in order:
            full = len(added) == most or len(self._refused) == most_refused
            if full or errors[columns] <= self._price(columns, now):
                break
            close = sum(len(set(columns) & set(other)) > 1 for other in added)
            if not close and self._fits(columns):
                self._put(columns)
                added.append(columns)
                now = self._present()
        return len(added)

    def _price(self, columns: Columns, present: _Sharing) -> float:
        """Return half of the noise, in rows, that measuring one more table adds to all tables, which share the budget.

        Only half counts, because the new table also improves others (the best factor in tests on two registers of 15 and 34
        columns).
        """
        with_it = self.purse.rows_of_noise(present + self._sharing([columns]))
        return _SHARE_OF_PRICE * (with_it - self.purse.rows_of_noise(present))

    def _prices(self, errors: Mapping[Columns, float], present: _Sharing) -> dict[Columns, float]:
        of_sizes, prices = dict[Columns, float](), dict[Columns, float]()
        for columns in (columns for columns, error in errors.items() if error > 0):
            sizes = tuple(self.sizes[column] for column in columns)
            if sizes not in of_sizes:
                of_sizes[sizes] = self._price(columns, present)
            prices[columns] = of_sizes[sizes]
        return prices

    def _present(self) -> _Sharing:
        alone = [(column,) for column in range(len(self.sizes)) if self.purse.single_columns]
        return self._sharing([*self.chosen, *alone])

    def _sharing(self, tables: Sequence[Columns]) -> _Sharing:
        for columns in tables:
            if columns not in self._shares:
                self._shares[columns] = self.purse.sharing([(self._cells([columns]), weight_of(columns, self.sizes))])
        shares = [self._shares[columns] for columns in tables]
        return _Sharing(weight=sum(share.weight for share in shares), cells=sum(share.cells for share in shares))

    def _cells(self, tables: Iterable[Columns]) -> int:
        return sum(math.prod(self.sizes[column] for column in columns) for columns in tables)
