"""Fit the distribution with the largest entropy, or nearest to a public table, to noisy marginals. The whole fit is
post-processing.

The fit minimises, over all distributions p on the plausible cells,

    weight * KL(p || prior) + sum over measured cells of (n p(cell) - y)^2 / (2 variance),

where the prior is uniform if none is given. The solution is prior * exp(sum of one parameter per measured cell), so a
junction tree of the measured tables and the rules represents it. Cells that a rule excludes are exact zeros. The dual
problem is convex and smooth. Proportional fitting (`ProportionalFit`) approaches the solution in a number of sweeps that
does not grow with n; L-BFGS then reaches the stated precision where necessary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns
from synthrelease.data.marginals import added_up, lattice
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.generators.agreements import AgreementTerms
from synthrelease.generators.bayesian_network import BayesianNetwork, Family
from synthrelease.generators.junction_tree import JunctionTree, spread
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum
from synthrelease.privacy.public_entropy import SeededEntropy

# Overlapping noisy tables are made consistent by weighted least squares. This is post-processing.
#
# The tables nearest to the measured tables that are marginals of one signed table with the public total are computed by
# components: one for every set of columns inside a measured table, centred along each axis (the decomposition of an analysis of
# variance; McKenna, Sheldon & Miklau 2019, Section 3; Mullins, Fuentes, Xiao, Kifer, Musco & Sheldon 2024, ReM). If all cells
# of a table have equal noise, the components are independent, so conjugate gradients need at most as many steps as there are
# distinct precisions.

_CERTAIN = 100.0  # Weight of a cell that is known to be 0, relative to the weight of a noisy count

_MOST_PASSES = 10
_MOST_TABLE_STEPS = 40
# Conjugate gradients stop if the error of all tables together is below this number, in standard deviations of the noise.
_TABLE_PRECISION = 1e-3


@dataclass(frozen=True, kw_only=True)
class Target:
    """A table to fit: counts, with one axis per column, and their noise variances (> 0)."""

    columns: Columns
    values: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SumTarget:
    """A sum of scores to fit: the score of every cell of a table, the noisy sum, and its noise variance (> 0)."""

    columns: Columns
    scores: np.ndarray
    value: float
    variance: float


def consistent(
    targets: Sequence[Target], possible: Sequence[np.ndarray], sizes: Sequence[int], n: int, sums: Sequence[SumTarget] = ()
) -> tuple[list[np.ndarray], list[float]]:
    """Change noisy tables and sums as little as their noise allows, so that tables agree on common columns and with the
    sums. Return the new values.

    Each table adds up to n. Cells are negative only where an empty cell fits best. A sum is unchanged if no table contains
    its columns.

    Parameters
    ----------
    possible : for each target, a mask that is False where a cell is known to be 0.

    Notes
    -----
    Among tables p of mass n with given zeros, replacing y by the least-squares solution changes the sum of (p - y)^2 /
    variance over the other cells only by a constant (normal equations). So a fit to the solution is a fit to y. The zeros
    are searched as in non-negative least squares (Lawson & Hanson 1974): a negative cell becomes 0. For such a cell, a
    number follows from the other cells and its measured value; if positive, the cell is free again, otherwise this number
    is returned.
    """
    problem = _LeastSquares(targets, sizes, n, sums)
    is_possible, values = _flat(possible), _flat([target.values for target in targets])
    free = is_possible
    for _ in range(_MOST_PASSES):
        table = problem.solved(free)
        pulled = np.where(free, table, _CERTAIN * table + values)
        previous, free = free, is_possible & (pulled > 0)
        if np.array_equal(previous, free):
            break
    return problem.split(np.where(is_possible, pulled, 0.0)), problem.sums()


class _LeastSquares:
    """The least-squares problem of the consistent tables nearest to noisy tables. Each search starts from the previous
    solution.

    The sparse matrix `_spread` maps the vector of all components (main effects and interactions) to the vector of all
    cells.
    """

    def __init__(self, targets: Sequence[Target], sizes: Sequence[int], n: int, sums: Sequence[SumTarget]):
        from scipy.sparse import csr_matrix, vstack

        self._shapes = [target.values.shape for target in targets]
        self._values = _flat([target.values for target in targets])
        self._precision = 1 / _flat([target.variance for target in targets])
        self._even = _flat([np.full(target.values.shape, n / target.values.size) for target in targets])
        components = sorted({part for target in targets for part in parts(target.columns)})
        ends = np.cumsum([math.prod(sizes[column] for column in part) for part in components])
        start_of = dict(zip(components, [0, *ends[:-1].tolist()], strict=True))
        self._centring = _Centring([[sizes[column] for column in part] for part in components])
        columns, shares, entries = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        for target in targets:
            inside = list(parts(target.columns))
            of_cells = [_components_of_cells(part, target.columns, sizes) + start_of[part] for part in inside]
            columns.append(np.stack(of_cells, axis=1).ravel())
            shares.append(np.tile([1 / _cells_between(target.columns, part, sizes) for part in inside], target.values.size))
            entries.append(np.full(target.values.size, len(inside)))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(entries))])
        shape = (len(self._values), int(ends[-1]))
        self._spread = csr_matrix((np.concatenate(shares), np.concatenate(columns), starts), shape=shape)
        self._gather = self._spread.T.tocsr()
        self._found = np.zeros(shape[1])
        variances = [1 / np.mean(1 / target.variance) for target in targets]
        cells = _flat([np.full(shape, variance) for shape, variance in zip(self._shapes, variances, strict=True)])
        self._scale = self._gather @ (1 / cells)
        self._n_cells = len(self._values)
        self._all_sums = [total.value for total in sums]
        self._placed: list[int] = []
        starts_of = np.cumsum([0, *(target.values.size for target in targets)])
        for number, total in enumerate(sums):
            holding = [index for index, target in enumerate(targets) if set(total.columns) <= set(target.columns)]
            if not holding:
                continue
            home = min(holding, key=lambda one: targets[one].values.size)
            shape = targets[home].values.shape
            scores = np.broadcast_to(spread(total.scores, total.columns, targets[home].columns), shape).ravel()
            rows = slice(int(starts_of[home]), int(starts_of[home + 1]))
            self._placed.append(number)
            self._spread = vstack([self._spread, csr_matrix(scores[None, :]) @ self._spread[rows]]).tocsr()
            self._even = np.append(self._even, scores @ self._even[rows])
            self._values = np.append(self._values, total.value)
            self._precision = np.append(self._precision, 1 / total.variance)
        self._gather = self._spread.T.tocsr()

    def solved(self, free: np.ndarray) -> np.ndarray:
        """Return the consistent values of all cells, by conjugate gradients. Cells that are not `free` are forced to 0."""
        free = np.append(free, np.ones(len(self._placed), dtype=bool))
        weights = np.where(free, 1.0, _CERTAIN) * self._precision
        aims = np.where(free, self._values, 0.0)
        residual = self._components(weights * (aims - self._tables()))
        step = residual / self._scale
        energy = float(residual @ step)
        for _ in range(_MOST_TABLE_STEPS):
            if not energy > _TABLE_PRECISION**2:
                break
            curved = self._components(weights * (self._spread @ step))
            length = energy / float(step @ curved)
            self._found = self._found + length * step
            residual = residual - length * curved
            scaled = residual / self._scale
            earlier, energy = energy, float(residual @ scaled)
            step = scaled + energy / earlier * step
        return self._tables()[: self._n_cells]

    def sums(self) -> list[float]:
        values, rows = list(self._all_sums), self._tables()[self._n_cells :]
        for index, value in zip(self._placed, rows.tolist(), strict=True):
            values[index] = value
        return values

    def split(self, cells: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        return [table.reshape(shape) for table, shape in zip(np.split(cells, ends[:-1]), self._shapes, strict=True)]

    def _tables(self) -> np.ndarray:
        """Return all cells of the latest solution, followed by the sums."""
        return np.asarray(self._even + self._spread @ self._found)

    def _components(self, cells: np.ndarray) -> np.ndarray:
        return self._centring.of(self._gather @ cells)


class _Centring:
    """Subtracts the mean along every axis from each of many small tables, stored one after the other in one vector."""

    def __init__(self, shapes: Sequence[Sequence[int]]):
        self._lines: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for axis in range(max(map(len, shapes))):
            positions, lines, lengths, start, line = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), 0, 0
            for shape in shapes:
                cells = math.prod(shape)
                if axis < len(shape):
                    after = math.prod(shape[axis + 1 :])
                    numbers = np.arange(cells)
                    positions.append(start + numbers)
                    lines.append(line + numbers // (after * shape[axis]) * after + numbers % after)
                    lengths.append(np.full(cells // shape[axis], shape[axis]))
                    line += cells // shape[axis]
                start += cells
            self._lines.append((np.concatenate(positions), np.concatenate(lines), np.concatenate(lengths)))

    def of(self, row: np.ndarray) -> np.ndarray:
        centred = row.copy()
        for positions, lines, lengths in self._lines:
            values = centred[positions]
            centred[positions] = values - (np.bincount(lines, weights=values, minlength=len(lengths)) / lengths)[lines]
        return centred


def _flat(tables: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([table.ravel() for table in tables])


def _components_of_cells(part: Columns, columns: Columns, sizes: Sequence[int]) -> np.ndarray:
    """Return, for each cell of the table of `columns`, the index of its cell in the smaller table of `part`, as a (cells,)
    array.
    """
    shape = [sizes[column] for column in part]
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(spread(numbers, part, columns), [sizes[column] for column in columns]).ravel()


def parts(columns: Columns) -> Iterator[Columns]:
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def _cells_between(columns: Columns, part: Columns, sizes: Sequence[int]) -> int:
    return math.prod(sizes[column] for column in columns if column not in part)


# One step of proportional fitting towards a measured sum tilts the table by exp(parameter * score). This is post-processing.
#
# A step solves for the parameter l of a sum with scores f (from 0 to 1) and noisy value y,
#
#     n E_p[f exp((l' - l) f)] / E_p[exp((l' - l) f)] + k l' = y,    k = weight * variance / n,
#
# whose left side increases with l', so it has one root, which Brent's method finds between limits that contain it.

_FARTHEST = 60.0  # Largest absolute value of a parameter: the weight of the highest score then changes by a factor of exp(60)

# Tolerance of a sum, as a share of its noise's standard deviation. A step is small if it changes the sum by less than this
# tolerance.
_TOLERANCE = 0.2


class Tilt:
    """A noisy sum of scores, and the parameter by which the model fits it."""

    def __init__(self, measured: NoisySum, n: int, weight: float):
        self.columns = measured.columns
        self.scores = measured.scores / measured.sensitivity
        self.aim = self.given = measured.value / measured.sensitivity
        self.variance = measured.variance / measured.sensitivity**2
        self.ridge, self.n, self.parameter = weight * self.variance / n, n, 0.0

    @property
    def target(self) -> SumTarget:
        return SumTarget(columns=self.columns, scores=self.scores, value=self.given, variance=self.variance)

    def aim_at(self, value: float) -> None:
        self.aim = value

    @property
    def original_parameter(self) -> float:
        """Return the parameter that would give the same model if the measured sum were the target."""
        return self.parameter + (self.given - self.aim) / self.ridge

    def step(self, margin: np.ndarray) -> tuple[np.ndarray, float]:
        """Choose a parameter that moves the model's sum towards its target, given the shares of its cells (`margin`).
        Return the factor of each cell, up to a common constant, and the change of the sum divided by its tolerance.
        """
        from scipy.optimize import brentq

        def tilted(parameter: float) -> float:
            powers = (parameter - self.parameter) * self.scores
            shares = margin * np.exp(powers - powers.max())
            return self.n * float((shares * self.scores).sum() / shares.sum())

        def short(parameter: float) -> float:
            return tilted(parameter) + self.ridge * parameter - self.aim

        start, old = tilted(self.parameter), self.parameter
        if short(-_FARTHEST) >= 0:
            new = -_FARTHEST
        elif short(_FARTHEST) <= 0:
            new = _FARTHEST
        else:
            new = float(brentq(short, -_FARTHEST, _FARTHEST, xtol=1e-12, rtol=1e-12))
        moved = (tilted(new) - start) / (_TOLERANCE * max(np.sqrt(self.variance), 0.25))
        self.parameter = new
        powers = (new - old) * self.scores
        return np.exp(powers - powers.max()), float(moved)


# Iterative proportional fitting to noisy tables, on a junction tree. This is post-processing.
#
# It minimises, over all tables p of mass 1,
#
#     weight * KL(p || base) + sum over targets and cells of (n p(cell) - y)^2 / (2 variance)
#
# by exact steps on one target after the other (Deming & Stephan 1940; with a penalty Dudik, Phillips & Schapire 2007). A step
# solves for the parameters l of a target, p = base * exp(sum of l): each of its cells has the equation
#
#     q exp(l' - l) + k l' = y,    q = n p(cell),  k = weight * variance / n,
#
# whose solution is a Wright omega function. Cliques are visited along the tree, and each clique passes its margins on to the
# next.
#
# The number of sweeps does not grow with n, for two reasons. The targets are first made consistent (`consistent`), so that
# steps do not undo each other. And each step solves the equation of a cell exactly.

# Steps are small if the root mean square of the changes of cells, in units of their tolerances, is at most this number.
_SMALL = 1.0

# Limits for fits that make no progress. Steps up to the first number are accepted if, over the second number of sweeps, they
# did not decrease below the third number as a ratio. Such steps only move rows within their noise. With 80 tables of 32 columns
# the error hardly changes after 40 sweeps, and 600 sweeps do not halve the steps.
_FAIR, _WITHIN, _STALLED = 2.0, 10, 0.95

_LARGE = 2**15  # Number of cells from which `summed_onto` uses a faster order of summation

LOWEST = -30.0
"""Smallest value of a parameter. A cell whose share is multiplied by exp(-30) gets no row."""

_FLOOR = 1e-200  # Smallest share of a possible cell: a share of exactly 0 could never increase again


class ProportionalFit:
    """A model that is fitted to noisy tables step by step: the shares of the cells of all cliques, and one parameter for
    every cell of every table.

    Parameters
    ----------
    tree : the junction tree; every target lies inside a clique.
    base : one table of logarithms per clique, with -inf for impossible cells. At least one cell is possible.
    weight : the weight of the prior, as a number of records.
    parameters : the starting values, by default zeros.
    """

    def __init__(
        self,
        tree: JunctionTree,
        base: Sequence[np.ndarray],
        targets: Sequence[Target],
        n: int,
        weight: float,
        parameters: Sequence[np.ndarray] | None = None,
        sums: Sequence[NoisySum] = (),
    ):
        self.tree, self.targets, self.n, self.weight = tree, targets, n, weight
        self.parameters = [np.zeros(t.values.shape) for t in targets] if parameters is None else list(parameters)
        self._homes = [tree.home(target.columns) for target in targets]
        self._sums = [Tilt(noisy_sum, n, weight) for noisy_sum in sums]
        potentials = list(base)
        for target, home, table in zip(targets, self._homes, self.parameters, strict=True):
            potentials[home] = potentials[home] + spread(table, target.columns, tree.cliques[home])
        beliefs = tree.calibrate(potentials)[1]
        finite = map(np.isfinite, beliefs)
        self._floors = [np.array(_FLOOR) if possible.all() else np.where(possible, _FLOOR, 0.0) for possible in finite]
        self.shares = [np.maximum(np.exp(belief), floor) for belief, floor in zip(beliefs, self._floors, strict=True)]
        self.possible = [self.margin(number) > 0 for number in range(len(targets))]
        self.aims = [target.values for target in targets]
        self._ridges = [np.maximum(target.variance, 1e-12) * (weight / n) for target in targets]
        self._logs = [np.log(ridge) for ridge in self._ridges]
        self._separators = [self._margin(clique, tree.separator(clique)) for clique in range(len(tree.cliques))]
        self._below: list[list[int]] = [[] for _ in tree.cliques]
        for child, parent in enumerate(tree.parents):
            if parent >= 0:
                self._below[parent].append(child)
        cliques = range(len(tree.cliques))
        self._at = [[number for number, home in enumerate(self._homes) if home == clique] for clique in cliques]
        self._tilts = [[tilt for tilt in self._sums if tree.home(tilt.columns) == clique] for clique in cliques]

    def margin(self, number: int) -> np.ndarray:
        return self._margin(self._homes[number], self.targets[number].columns)

    def table(self, columns: Columns) -> np.ndarray:
        return self._margin(self.tree.home(columns), columns)

    def solve(self, tolerances: Sequence[np.ndarray], sweeps: int, *, agreed: bool = False) -> bool:
        """Repeat at most `sweeps` sweeps until the root mean square of their changes is within the tolerances, or within
        twice the tolerances if more sweeps do not help. Return whether this was reached.

        Parameters
        ----------
        tolerances : the tolerance of every cell of every target, in records.
        agreed : whether the targets are already consistent.
        """
        if not agreed:
            sums = [tilt.target for tilt in self._sums]
            self.aims, of_sums = consistent(self.targets, self.possible, self.tree.sizes, self.n, sums)
            for tilt, aim in zip(self._sums, of_sums, strict=True):
                tilt.aim_at(aim)
        moved: list[float] = []
        for _ in range(sweeps):
            moved.append(self.sweep(tolerances))
            stalled = len(moved) > _WITHIN and moved[-1] > _STALLED * moved[-1 - _WITHIN]
            if moved[-1] <= _SMALL or (stalled and moved[-1] <= _FAIR):
                return True
        return False

    def sweep(self, tolerances: Sequence[np.ndarray]) -> float:
        """Adjust the model once to every target. Return the root mean square of the changes, in units of the tolerances."""
        squares = self._visit(0, tolerances)
        self._tell_below(0)
        return math.sqrt(squares / (sum(target.values.size for target in self.targets) + len(self._sums)))

    def original_parameters(self) -> list[np.ndarray]:
        """Return the parameters that would give the same model if the measured tables were the targets, instead of
        consistent ones.
        """
        return [
            np.where(mask, table + (target.values - aim) / ridge, table)
            for mask, table, target, aim, ridge in zip(
                self.possible, self.parameters, self.targets, self.aims, self._ridges, strict=True
            )
        ]

    def _visit(self, clique: int, tolerances: Sequence[np.ndarray]) -> float:
        """Adjust the model to the targets of a clique and of all cliques below it. Return the sum of the squared changes,
        in units of the tolerances.
        """
        squares = 0.0
        for number in self._at[clique]:
            squares += self._step(number, tolerances[number])
        for tilt in self._tilts[clique]:
            squares += self._tilt(tilt, clique)
        for child in self._below[clique]:
            self._tell(clique, child, child)
            squares += self._visit(child, tolerances)
            self._tell(child, clique, child)
        return squares

    def _tell_below(self, clique: int) -> None:
        for child in self._below[clique]:
            self._tell(clique, child, child)
            self._tell_below(child)

    def _tell(self, teller: int, listener: int, child: int) -> None:
        """Scale the clique `listener` to the marginal table of the clique `teller` on their shared columns."""
        columns = self.tree.separator(child)
        new, old = self._margin(teller, columns), self._separators[child]
        ratio = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
        table = self.shares[listener]
        table *= spread(ratio, columns, self.tree.cliques[listener])
        np.maximum(table, self._floors[listener], out=table)
        self._separators[child] = new

    def _step(self, number: int, tolerance: np.ndarray) -> float:
        """Adjust the model to one target table. Return the sum of the squared changes, in units of the tolerances."""
        target, home, ridge = self.targets[number], self._homes[number], self._ridges[number]
        counts, old, possible = self.n * self.margin(number), self.parameters[number], self.possible[number]
        solution = _parameters(counts, old, self.aims[number], ridge, self._logs[number])
        new = np.where(possible & np.isfinite(solution), np.maximum(solution, LOWEST), old)
        factor = np.exp(np.minimum(new - old, 700.0))
        self.parameters[number] = new
        table = self.shares[home]
        mass = float((counts * factor).sum()) / self.n  # the table is normalised by its mass
        table *= spread(factor / mass, target.columns, self.tree.cliques[home])
        np.maximum(table, self._floors[home], out=table)
        return float(((counts * (factor - 1) / tolerance) ** 2).sum())

    def _tilt(self, tilt: Tilt, home: int) -> float:
        factor, moved = tilt.step(self._margin(home, tilt.columns))
        table = self.shares[home]
        table *= spread(factor, tilt.columns, self.tree.cliques[home])
        table /= table.sum()
        np.maximum(table, self._floors[home], out=table)
        return moved**2

    def sum_parameters(self) -> np.ndarray:
        """Return, for every sum, the parameter that would give the same model if the measured sum were the target (scores
        scaled to at most 1).
        """
        return np.array([tilt.original_parameter for tilt in self._sums])

    def _margin(self, clique: int, columns: Sequence[int]) -> np.ndarray:
        return summed_onto(self.shares[clique], [column in columns for column in self.tree.cliques[clique]])


def summed_onto(table: np.ndarray, keeps: Sequence[bool]) -> np.ndarray:
    """Sum a table over all axes except the kept ones, two to four times as fast as `table.sum` for large tables."""
    if table.size < _LARGE:
        return np.asarray(table.sum(axis=tuple(axis for axis, keep in enumerate(keeps) if not keep)))
    runs: list[tuple[bool, int]] = []
    for keep, size in zip(keeps, table.shape, strict=True):
        if runs and runs[-1][0] == keep:
            runs[-1] = keep, runs[-1][1] * size
        else:
            runs.append((keep, size))
    summed = table
    if runs and not runs[-1][0]:
        _, size = runs.pop()
        summed = summed.reshape(-1, size) @ np.ones(size)
    summed = summed.reshape([size for _, size in runs])
    axes = [axis for axis, (keep, _) in enumerate(runs) if not keep]
    for done, axis in enumerate(axes):
        summed = summed.sum(axis=axis - done)
    return np.asarray(summed).reshape([size for keep, size in zip(keeps, table.shape, strict=True) if keep])


def _parameters(counts: np.ndarray, old: np.ndarray, aim: np.ndarray, ridge: np.ndarray, log_ridge: np.ndarray) -> np.ndarray:
    """Return, for every cell, the parameter l that solves counts * exp(l - old) + ridge * l = aim, where the ridge term
    allows for noise.

    The solution is aim / ridge - w, where w is a value of the Wright omega function. Where w is large, this difference
    would lose precision, and l is computed from the new count ridge * w.
    """
    from scipy.special import wrightomega

    with np.errstate(divide="ignore", invalid="ignore"):
        omega = wrightomega(np.log(counts) - old + aim / ridge - log_ridge)
        return np.asarray(np.where(omega > 1, old + np.log(ridge * omega / counts), aim / ridge - omega))


def tolerances_of(targets: Sequence[Target], share: float, finest: float) -> list[np.ndarray]:
    """Return the tolerance of each cell in records: this share of the standard deviation of its noise, but at least
    `finest`.
    """
    return [np.maximum(share * np.sqrt(target.variance), finest) for target in targets]


# Share of the prior that is spread over all plausible cells, so that the fit can use cells that are empty in the public
# table.
_UNIFORM_SHARE = 0.001

# The fit ends when the residual of every measured cell is within this share of the standard deviation of the cell's noise.
_PRECISION = 0.2

# Smallest tolerance of a cell, in records: rows are whole, and doubles are not more exact if the noise is negligible. A cell
# with fewer records than this number that should have even fewer gets no row, and counts as converged.
_FINEST = 0.05

_SWEEPS = 150  # Largest number of sweeps of proportional fitting: about 0.1 s for cliques of 10,000 cells

_MOST_STEPS = 20_000

# For agreements: the number of optimiser steps before the curvature is computed again, and the largest number of such
# computations.
_STEPS_OF_A_CURVATURE, _CURVATURES = 15, 100

# Number that is added to the diagonal of a curvature matrix, so that its Cholesky decomposition is stable.
_LEAST_CURVED = 1e-12

# Largest number of starts of the optimiser. A new start from the last point helps if the line search fails because of an
# outdated curvature.
_STARTS = 5


def maximum_entropy(
    measured: NoisyMarginals,
    structure: Sequence[Columns],
    plausibility: Plausibility,
    prior: Counts | None,
    weight: float,
    *,
    exact: bool = False,
    evenly: bool = False,
    given: Mask | None = None,
) -> BayesianNetwork:
    """Fit the distribution of largest entropy to noisy tables, and return it as a Bayesian network.

    Parameters
    ----------
    structure : column sets inside cliques of the model, including the columns of all measured tables.
    plausibility : the rules, whose structural zeros are exact zeros of the model.
    prior : a public table over the same layout, or None for the uniform distribution.
    weight : the weight of the prior, as a number of records, > 0.
    exact : whether the tables are exact tables of **public** rows, and so consistent.
    evenly : how rows are drawn (`BayesianNetwork`).
    given : a rule whose cells are excluded after the fit. Its columns must be one of the sets of `structure`. None keeps
        all rows.

    Raises
    ------
    RejectedRound : if no table is plausible, or if the optimiser does not converge.
    """
    sets = [*structure, *(mask.columns for mask in plausibility.masks)]  # every rule lies inside one clique
    tree = JunctionTree.of(measured.layout.sizes, sets)
    base = base_potentials(tree, plausibility, prior)
    targets, last = [target_of(table) for table in measured.tables], _LAST.get()
    key = tree.sizes, tuple(target.columns for target in targets)
    start = None if last is None else last.get(key)
    fit = ProportionalFit(tree, base, targets, measured.n, weight, start, measured.sums)
    tolerances = tolerances_of(fit.targets, _PRECISION, _FINEST)
    near = bool(measured.tables) and fit.solve(tolerances, _SWEEPS, agreed=exact)
    if last is not None:
        last[key] = fit.parameters
    if near and not measured.agreements:
        shares = fit.shares
    else:
        shares = _Dual(tree, base, measured, weight).solved(fit.original_parameters(), fit.sum_parameters())
    families = tuple(families_of(tree, shares if given is None else _conditional(tree, shares, given)))
    return BayesianNetwork(layout=measured.layout, families=families, evenly=evenly)


_LAST = ContextVar[dict[object, list[np.ndarray]] | None]("parameters of the last fit to the same tables", default=None)


@contextmanager
def warm_starts() -> Iterator[None]:
    """Within this context, start each fit from the result of the last fit to the same tables. Only for repeated fits to
    **public** rows.

    The solution is unique, so the start changes the result only within the tolerance.
    """
    token = _LAST.set({})
    try:
        yield
    finally:
        _LAST.reset(token)


def _conditional(tree: JunctionTree, shares: Sequence[np.ndarray], given: Mask) -> list[np.ndarray]:
    """Return the shares of every clique's cells among rows outside the forbidden cells of `given`."""
    potentials = []
    for index, (clique, table) in enumerate(zip(tree.cliques, shares, strict=True)):
        separator = tree.separator(index)
        of_separator = spread(added_up(table, clique, separator), separator, clique)
        potentials.append(np.log(table, out=np.full_like(table, -np.inf), where=table > 0))
        potentials[index] -= np.log(of_separator, out=np.zeros_like(of_separator), where=of_separator > 0)
    home = tree.home(given.columns)
    potentials[home] += spread(np.where(given.forbidden, -np.inf, 0.0), given.columns, tree.cliques[home])
    total, beliefs = tree.calibrate(potentials)
    if not np.isfinite(total):
        raise RejectedRound("the model has no row in the remaining cells")
    return [np.exp(belief) for belief in beliefs]


def target_of(table: NoisyMarginal) -> Target:
    return Target(columns=table.columns, values=table.values.astype(float), variance=table.variance())


def base_potentials(tree: JunctionTree, plausibility: Plausibility, prior: Counts | None) -> list[np.ndarray]:
    """Return the distribution from which a fit starts, as one table of logarithms per clique: the slightly smoothed public
    prior or, without one, the uniform distribution over plausible cells.
    """
    uniform = [np.where(plausibility.structural_zeros(clique), -np.inf, 0.0) for clique in tree.cliques]
    if prior is None and not plausibility.masks:
        return uniform
    total, beliefs = tree.calibrate(uniform)
    if not np.isfinite(total):
        raise RejectedRound("the rules leave no plausible cell")
    if prior is None:
        return uniform
    public = lattice(prior)
    potentials = []
    for index, clique in enumerate(tree.cliques):
        counts = np.where(np.isfinite(uniform[index]), public.get(clique), 0)
        shares = (1 - _UNIFORM_SHARE) * counts / max(1, counts.sum()) + _UNIFORM_SHARE * np.exp(beliefs[index])
        of_separator = added_up(shares, clique, tree.separator(index))
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log(shares) - np.log(spread(of_separator, tree.separator(index), clique))
        potentials.append(np.where(shares > 0, table, -np.inf))
    return potentials


@dataclass(frozen=True, kw_only=True)
class _Block:
    """The place of one measured table among all parameters: its clique, its slice, and its possible cells."""

    columns: Columns
    home: int
    shape: tuple[int, ...]
    possible: np.ndarray
    place: slice


class _Dual:
    """The dual problem of the fit: a smooth convex function with one parameter for each possible measured cell, each sum
    and each agreement. Its minimum gives the fitted model.

    f(lambda) = log Z(lambda) - lambda.y/n + 1/2 sum r lambda^2 with r = weight * variance / n^2; its gradient is p - y/n +
    r lambda. Parameters are scaled by approximately 1 / sqrt(curvature).
    """

    def __init__(self, tree: JunctionTree, base: list[np.ndarray], measured: NoisyMarginals, weight: float):
        self.tree, self.base, self.layout = tree, base, measured.layout
        _, beliefs = tree.calibrate(base)
        blocks, targets, ridges, start = [], [], [], 0
        for table in measured.tables:
            home = tree.home(table.columns)
            possible = (added_up(np.exp(beliefs[home]), tree.cliques[home], table.columns) > 0).ravel()
            parameters = slice(start, start + int(possible.sum()))
            start = parameters.stop
            blocks.append(
                _Block(columns=table.columns, home=home, shape=table.values.shape, possible=possible, place=parameters)
            )
            targets.append(table.values.ravel()[possible] / measured.n)
            ridges.append(table.variance().ravel()[possible] * (weight / measured.n**2))
        self.tilts = [Tilt(noisy_sum, measured.n, weight) for noisy_sum in measured.sums]
        targets.append(np.array([tilt.aim / measured.n for tilt in self.tilts]))
        ridges.append(np.array([tilt.ridge / measured.n for tilt in self.tilts]))
        self.start_of_tilts, self.start_of_agreements = start, start + len(self.tilts)
        self.agreements = AgreementTerms(tree, measured.agreements) if measured.agreements else None
        if self.agreements:
            targets.append(self.agreements.target / measured.n)
            ridges.append(self.agreements.variance * (weight / measured.n**2))
        self.blocks, self.target, self.ridge = blocks, np.concatenate(targets), np.concatenate(ridges)
        deviation = np.sqrt(self.ridge / weight)
        self.tolerance = np.maximum(_PRECISION * deviation, _FINEST / measured.n)
        self.shares = self.latest = np.full(len(self.target), np.inf)
        self.root: np.ndarray | None = None
        self.empty = np.append(np.full(start, _FINEST / measured.n), np.full(len(self.target) - start, -1.0))
        self.scale = 1 / np.sqrt(np.maximum(self.target, deviation) + self.ridge)

    def potentials(self, parameters: np.ndarray) -> list[np.ndarray]:
        tables = list(self.base)
        for block in self.blocks:
            full = np.zeros(len(block.possible))
            full[block.possible] = parameters[block.place]
            clique = self.tree.cliques[block.home]
            tables[block.home] = tables[block.home] + spread(full.reshape(block.shape), block.columns, clique)
        of_tilts = parameters[self.start_of_tilts : self.start_of_agreements].tolist()
        for tilt, parameter in zip(self.tilts, of_tilts, strict=True):
            home = self.tree.home(tilt.columns)
            tables[home] = tables[home] + spread(parameter * tilt.scores, tilt.columns, self.tree.cliques[home])
        added = self.agreements.potentials(parameters[self.start_of_agreements :]) if self.agreements else ()
        for home, columns, table in added:
            tables[home] = tables[home] + spread(table, columns, self.tree.cliques[home])
        return tables

    def __call__(self, scaled: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = self._unscaled(scaled)
        total, beliefs = self.tree.calibrate(self.potentials(parameters))
        shares = [np.exp(belief) for belief in beliefs]
        model = np.concatenate(
            [
                added_up(shares[block.home], self.tree.cliques[block.home], block.columns).ravel()[block.possible]
                for block in self.blocks
            ]
            + [[self._of_tilt(tilt, shares)] for tilt in self.tilts]
            + ([self.agreements.shares(shares)] if self.agreements else [])
        )
        value = total - parameters @ self.target + 0.5 * (self.ridge * parameters) @ parameters
        self.shares = model
        self.latest = model - self.target + self.ridge * parameters
        scaled_gradient, start = self.scale * self.latest, self.start_of_agreements
        if self.root is not None:
            scaled_gradient[start:] = self.latest[start:] @ self.root
        return float(value), scaled_gradient

    def _unscaled(self, scaled: np.ndarray) -> np.ndarray:
        parameters, start = self.scale * scaled, self.start_of_agreements
        if self.root is not None:
            parameters[start:] = self.root @ scaled[start:]
        return parameters

    def _take_curvature(self, parameters: np.ndarray) -> np.ndarray:
        """Rescale the parameters of agreements by `root`, so that the curvature is similar in all directions, and return
        all scaled parameters.

        If the curvature matrix is not numerically positive definite, `root` is None.
        """
        scaled, start = parameters / self.scale, self.start_of_agreements
        if self.agreements:
            shares = [np.exp(belief) for belief in self.tree.calibrate(self.potentials(parameters))[1]]
            curvature = self.agreements.covariances(shares, partial(self._draw, shares)) + np.diag(self.ridge[start:])
            try:
                factor = np.linalg.cholesky(curvature + np.eye(len(curvature)) * _LEAST_CURVED)
                self.root = np.linalg.inv(factor).T
            except np.linalg.LinAlgError:  # contradictory numbers make the matrix singular in floating point
                self.root = None
            else:
                scaled[start:] = factor.T @ parameters[start:]
        return scaled

    def _draw(self, shares: Sequence[np.ndarray], n: int) -> Counts:
        """Draw n rows of this distribution. Every call uses the same random numbers."""
        network = BayesianNetwork(layout=self.layout, families=tuple(families_of(self.tree, shares)))
        return network.sample(n, SeededEntropy(0).generator())

    def _of_tilt(self, tilt: Tilt, shares: Sequence[np.ndarray]) -> float:
        home = self.tree.home(tilt.columns)
        return float((added_up(shares[home], self.tree.cliques[home], tilt.columns) * tilt.scores).sum())

    def solved(self, start: Sequence[np.ndarray], tilts: np.ndarray) -> list[np.ndarray]:
        """Minimise the dual from the given parameters of tables and sums, and return the shares of every clique's cells.
        Raises RejectedRound if the search does not converge.
        """
        from scipy.optimize import minimize

        def stop(_: np.ndarray) -> None:
            if self.converged(self.latest):  # `latest` is the gradient at the point of this iteration
                raise StopIteration

        steps, starts = (_STEPS_OF_A_CURVATURE, _CURVATURES) if self.agreements else (_MOST_STEPS, _STARTS)
        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 30, "gtol": 0.0, "ftol": 0.0}
        begun = [table.ravel()[block.possible] for table, block in zip(start, self.blocks, strict=True)]
        at = np.concatenate([*begun, tilts, np.zeros(len(self.target) - self.start_of_agreements)])
        for _ in range(starts):
            scaled = self._take_curvature(at)
            self(scaled)
            if self.converged(self.latest):
                _, beliefs = self.tree.calibrate(self.potentials(at))
                return [np.exp(belief) for belief in beliefs]
            at = self._unscaled(minimize(self, scaled, jac=True, method="L-BFGS-B", options=options, callback=stop).x)
        raise RejectedRound("the fit of the marginals did not converge")

    def converged(self, gradient: np.ndarray) -> bool:
        """Return whether every measured cell is empty or within its tolerance of its target. False for NaN."""
        empty = (self.shares <= self.empty) & (gradient > 0)
        return bool(((np.abs(gradient) <= self.tolerance) | empty).all())


def families_of(tree: JunctionTree, shares: Sequence[np.ndarray]) -> list[Family]:
    """Convert a distribution on a junction tree into conditional probabilities Pr[column | earlier columns of its clique],
    in sampling order.
    """
    families = []
    for index, clique in enumerate(tree.cliques):
        parents = list(tree.separator(index))
        for column in clique:
            if column in parents:
                continue
            joint = added_up(shares[index], clique, (*parents, column))
            sums = joint.sum(axis=-1, keepdims=True)
            uniform = np.full_like(joint, 1 / joint.shape[-1])  # for bins of parents that do not occur
            conditional = np.divide(joint, sums, out=uniform, where=sums > 0)
            families.append(Family(column=column, parents=tuple(parents), conditional=conditional))
            parents.append(column)
    return families
