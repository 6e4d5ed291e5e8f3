"""Iterative proportional fitting to noisy tables, on a junction tree. Post-processing.

Over all tables p of mass 1 it minimises

    weight * KL(p || base) + sum over targets and cells of (n p(cell) - y)^2 / (2 variance)

by exact steps on one target after the other (Deming & Stephan 1940; with a penalty Dudik, Phillips & Schapire 2007). A step
solves for the parameters l of a target, p = base * exp(sum of l): each of its cells has the equation

    q exp(l' - l) + k l' = y,    q = n p(cell),  k = weight * variance / n,

whose solution is a Wright omega function. Cliques are visited along the tree, and each passes on what it knows.

The number of sweeps stays small whatever n is because the targets are first made to agree (`consistent_tables`), so that steps
do not pull against each other, and because a step solves each cell's equation however far from its solution it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synthrelease.candidates.generators.consistent_tables import Target, consistent
from synthrelease.candidates.generators.junction_tree import JunctionTree, spread
from synthrelease.candidates.generators.tilts import Tilt
from synthrelease.data.layout import Columns
from synthrelease.measurements.noisy_tables import NoisySum

_SMALL = 1.0
"""Steps are small when they move cells by their tolerances, in the root mean square."""

_FAIR, _WITHIN, _STALLED = 2.0, 10, 0.95
"""Steps up to twice as large are small enough when the last sweeps hardly made them smaller: they move rows to and fro within
their noise. With 80 tables of 32 columns the error hardly changes after 40 sweeps, and 600 do not bring the steps to a half."""

_LARGE = 2**15
"""Cells from which on it pays to sum a table up in another order."""

LOWEST = -30.0
"""Of a parameter: a cell whose share is multiplied by exp(-30) gets no row."""

_FLOOR = 1e-200
"""Share of every possible cell, at least: a cell that has become 0 could never come back."""


class ProportionalFit:
    """A fit in progress: the shares of all cliques, and one parameter for every cell of every target.

    Parameters
    ----------
    tree : every target lies inside one of its cliques.
    base : one log table per clique, -inf where a cell is impossible; some cell must be possible.
    parameters : where to start; zeros when omitted.
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
        self._sums = [Tilt(one, n, weight) for one in sums]
        potentials = list(base)
        for target, home, table in zip(targets, self._homes, self.parameters, strict=True):
            potentials[home] = potentials[home] + spread(table, target.columns, tree.cliques[home])
        beliefs = tree.calibrate(potentials)[1]
        self._floors = [np.where(np.isfinite(belief), _FLOOR, 0.0) for belief in beliefs]
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
        self._at = [
            [number for number, home in enumerate(self._homes) if home == clique] for clique in range(len(tree.cliques))
        ]
        self._tilts = [
            [tilt for tilt in self._sums if tree.home(tilt.columns) == clique] for clique in range(len(tree.cliques))
        ]

    def margin(self, number: int) -> np.ndarray:
        """The share of every cell of a target."""
        return self._margin(self._homes[number], self.targets[number].columns)

    def table(self, columns: Columns) -> np.ndarray:
        """The share of every cell of a table inside a clique."""
        return self._margin(self.tree.home(columns), columns)

    def solve(self, tolerances: Sequence[np.ndarray], sweeps: int, *, agreed: bool = False) -> bool:
        """Sweep until steps move the cells by little: by their tolerances, or up to twice that where more sweeps do not help.

        Parameters
        ----------
        tolerances : in records, for every cell of every target.
        sweeps : how many, at most.
        agreed : whether the targets agree as they are, as exact tables of the same rows do.

        Returns
        -------
        Whether that was reached.
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
        """One step for every target; the root mean square over all cells of how far each was moved, in its tolerance."""
        squares = self._visit(0, tolerances)
        self._tell_below(0)
        return math.sqrt(squares / (sum(target.values.size for target in self.targets) + len(self._sums)))

    def original_parameters(self) -> list[np.ndarray]:
        """The parameters of the same table for the targets as they were given, before they were made to agree."""
        return [
            np.where(mask, table + (target.values - aim) / ridge, table)
            for mask, table, target, aim, ridge in zip(
                self.possible, self.parameters, self.targets, self.aims, self._ridges, strict=True
            )
        ]

    def _visit(self, clique: int, tolerances: Sequence[np.ndarray]) -> float:
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
        """The listener takes over what the teller knows about the columns that both have."""
        columns = self.tree.separator(child)
        new, old = self._margin(teller, columns), self._separators[child]
        ratio = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
        table = self.shares[listener]
        table *= spread(ratio, columns, self.tree.cliques[listener])
        np.maximum(table, self._floors[listener], out=table)
        self._separators[child] = new

    def _step(self, number: int, tolerance: np.ndarray) -> float:
        target, home, ridge = self.targets[number], self._homes[number], self._ridges[number]
        now, old, possible = self.n * self.margin(number), self.parameters[number], self.possible[number]
        found = _parameters(now, old, self.aims[number], ridge, self._logs[number])
        new = np.where(possible & np.isfinite(found), np.maximum(found, LOWEST), old)
        factor = np.exp(np.minimum(new - old, 700.0))
        self.parameters[number] = new
        table = self.shares[home]
        mass = float((now * factor).sum()) / self.n  # of the table, which is divided by it
        table *= spread(factor / mass, target.columns, self.tree.cliques[home])
        np.maximum(table, self._floors[home], out=table)
        return float(((now * (factor - 1) / tolerance) ** 2).sum())

    def _tilt(self, tilt: Tilt, home: int) -> float:
        factor, moved = tilt.step(self._margin(home, tilt.columns))
        table = self.shares[home]
        table *= spread(factor, tilt.columns, self.tree.cliques[home])
        table /= table.sum()
        np.maximum(table, self._floors[home], out=table)
        return moved**2

    def sum_parameters(self) -> np.ndarray:
        """One for every sum, of its scores in highest scores, for the sum as it was measured."""
        return np.array([tilt.original_parameter for tilt in self._sums])

    def _margin(self, clique: int, columns: Sequence[int]) -> np.ndarray:
        return summed_onto(self.shares[clique], [column in columns for column in self.tree.cliques[clique]])


def summed_onto(table: np.ndarray, kept: Sequence[bool]) -> np.ndarray:
    """The sums over all axes but those that are kept, as `table.sum(axis=...)`, which takes two to four times as long for large
    tables.

    Neighbouring axes of one kind are one axis, and the last ones are summed up as a product with ones: a loop over an axis of
    few bins takes most of its time to begin.

    Parameters
    ----------
    table : contiguous, or it is copied.
    kept : for each axis.
    """
    if table.size < _LARGE:
        return np.asarray(table.sum(axis=tuple(axis for axis, keep in enumerate(kept) if not keep)))
    runs: list[tuple[bool, int]] = []
    for keep, size in zip(kept, table.shape, strict=True):
        if runs and runs[-1][0] == keep:
            runs[-1] = keep, runs[-1][1] * size
        else:
            runs.append((keep, size))
    found = table
    if runs and not runs[-1][0]:
        _, size = runs.pop()
        found = found.reshape(-1, size) @ np.ones(size)
    found = found.reshape([size for _, size in runs])
    axes = [axis for axis, (keep, _) in enumerate(runs) if not keep]
    for done, axis in enumerate(axes):
        found = found.sum(axis=axis - done)
    return np.asarray(found).reshape([size for keep, size in zip(kept, table.shape, strict=True) if keep])


def _parameters(now: np.ndarray, old: np.ndarray, aim: np.ndarray, ridge: np.ndarray, log_ridge: np.ndarray) -> np.ndarray:
    """The solution l of now * exp(l - old) + ridge * l = aim, in every cell: aim / ridge - w, where w = omega(...).

    Where w is large the difference would lose its digits; there l follows from the new count, which is ridge * w.
    """
    from scipy.special import wrightomega

    with np.errstate(divide="ignore", invalid="ignore"):
        omega = wrightomega(np.log(now) - old + aim / ridge - log_ridge)
        return np.asarray(np.where(omega > 1, old + np.log(ridge * omega / now), aim / ridge - omega))


def tolerances_of(targets: Sequence[Target], share: float, finest: float) -> list[np.ndarray]:
    """This share of each cell's noise deviation, at least `finest` records."""
    return [np.maximum(share * np.sqrt(target.variance), finest) for target in targets]
