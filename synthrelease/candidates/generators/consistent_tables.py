"""Noisy tables that overlap are made to agree, by weighted least squares. Post-processing.

The nearest tables that are marginals of one signed table with the public total are found in its components: one for every set
of columns inside a measured table, centred along each axis (the decomposition of an analysis of variance; McKenna, Sheldon &
Miklau 2019, Section 3; Mullins, Fuentes, Xiao, Kifer, Musco & Sheldon 2024, ReM). With equal noise in all cells of a table the
components are independent, so that conjugate gradients end after as many steps as there are different precisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.candidates.generators.bayesian_network import margin_of
from synthrelease.candidates.generators.junction_tree import Columns, spread

_CERTAIN = 100.0
"""How much more than a noisy count a cell counts that is known to be 0."""

_MOST_PASSES = 10
_MOST_STEPS = 40
_PRECISION = 1e-3
"""Steps end when the error of all tables together is below this, in noise deviations."""

Components = dict[Columns, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a table of some columns should be: its counts, one axis per column, and the noise variance of each (> 0)."""

    columns: Columns
    values: np.ndarray
    variance: np.ndarray


def consistent(targets: Sequence[Target], possible: Sequence[np.ndarray], sizes: Sequence[int], n: int) -> list[np.ndarray]:
    """The values of all targets, moved as little as possible in units of their noise: they agree, add up to n, and have no cell
    below 0 but those that are best left empty.

    Parameters
    ----------
    possible : per target, False where a cell is known to be 0.

    Notes
    -----
    For every table p of mass n that is 0 in a set of cells, the sum of (p - y)^2 / variance over the other cells differs from
    the same sum with what least squares returns in place of y, when it takes those cells as known, by a constant: the normal
    equations. So whatever is fitted to the one is fitted to the other. The set is searched as in least squares with
    non-negative unknowns (Lawson & Hanson 1974): a cell below 0 joins it, and leaves it when the others and its own value
    together would raise it above 0; what they come to otherwise, a number below 0, is returned for it.
    """
    problem, known = _LeastSquares(targets, sizes, n), list(possible)
    free = known
    for _ in range(_MOST_PASSES):
        tables = problem.solved(free)
        pulled = [
            np.where(mask, table, _CERTAIN * table + target.values)
            for mask, table, target in zip(free, tables, targets, strict=True)
        ]
        before, free = free, [mask & (pull > 0) for mask, pull in zip(known, pulled, strict=True)]
        if all(np.array_equal(a, b) for a, b in zip(before, free, strict=True)):
            break
    return [np.where(mask, pull, 0.0) for mask, pull in zip(known, pulled, strict=True)]


class _LeastSquares:
    """Weighted least squares for the components; every solution starts from the one before."""

    def __init__(self, targets: Sequence[Target], sizes: Sequence[int], n: int):
        self._targets, self._sizes, self._sets = targets, sizes, [target.columns for target in targets]
        self._even = [np.full(target.values.shape, n / target.values.size) for target in targets]
        kept = sorted({part for columns in self._sets for part in parts(columns)})
        self._found: Components = {part: np.zeros([sizes[column] for column in part]) for part in kept}
        self._scale = {
            part: sum(
                float((1 / target.variance).mean()) / _cells_between(target.columns, part, sizes)
                for target in targets
                if set(part) <= set(target.columns)
            )
            for part in kept
        }

    def solved(self, free: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The tables, by conjugate gradients; cells that are not free count as 0, `_CERTAIN` times as much as a noisy one."""
        weights = [np.where(mask, 1.0, _CERTAIN) / target.variance for target, mask in zip(self._targets, free, strict=True)]
        wanted = [np.where(mask, target.values, 0.0) for target, mask in zip(self._targets, free, strict=True)]
        gaps = [w * (values - table) for w, values, table in zip(weights, wanted, self._tables(), strict=True)]
        residual = _to_components(gaps, self._sets, self._sizes)
        step = {part: table / self._scale[part] for part, table in residual.items()}
        energy = _dot(residual, step)
        for _ in range(_MOST_STEPS):
            if not energy > _PRECISION**2:
                break
            moved = [w * table for w, table in zip(weights, _to_tables(step, self._sets, self._sizes), strict=True)]
            curved = _to_components(moved, self._sets, self._sizes)
            length = energy / _dot(step, curved)
            self._found = {part: table + length * step[part] for part, table in self._found.items()}
            residual = {part: table - length * curved[part] for part, table in residual.items()}
            scaled = {part: table / self._scale[part] for part, table in residual.items()}
            before, energy = energy, _dot(residual, scaled)
            step = {part: table + energy / before * step[part] for part, table in scaled.items()}
        return self._tables()

    def _tables(self) -> list[np.ndarray]:
        added = _to_tables(self._found, self._sets, self._sizes)
        return [even + table for even, table in zip(self._even, added, strict=True)]


def parts(columns: Columns) -> Iterator[Columns]:
    """All sets of columns inside a set, but the empty one."""
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def centred(table: np.ndarray) -> np.ndarray:
    """The table with its mean along every axis taken out."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _to_tables(components: Components, sets: Sequence[Columns], sizes: Sequence[int]) -> list[np.ndarray]:
    """What the components add up to in every table."""
    tables = []
    for columns in sets:
        table = np.zeros([sizes[column] for column in columns])
        for part in parts(columns):
            table = table + spread(components[part], part, columns) / _cells_between(columns, part, sizes)
        tables.append(table)
    return tables


def _to_components(tables: Sequence[np.ndarray], sets: Sequence[Columns], sizes: Sequence[int]) -> Components:
    """The transposed map of `_to_tables`."""
    found: Components = {}
    for columns, table in zip(sets, tables, strict=True):
        for part in parts(columns):
            share = margin_of(table, columns, part) / _cells_between(columns, part, sizes)
            found[part] = found[part] + share if part in found else share
    return {part: centred(table) for part, table in found.items()}


def _cells_between(columns: Columns, part: Columns, sizes: Sequence[int]) -> int:
    """Cells of the table of `columns` for each cell of the table of `part`."""
    return math.prod(sizes[column] for column in columns if column not in part)


def _dot(first: Components, second: Components) -> float:
    return sum(float((first[part] * second[part]).sum()) for part in first)
