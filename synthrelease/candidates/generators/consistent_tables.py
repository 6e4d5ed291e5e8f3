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

from synthrelease.candidates.generators.junction_tree import spread
from synthrelease.data.layout import Columns

_CERTAIN = 100.0
"""How much more than a noisy count a cell counts that is known to be 0."""

_MOST_PASSES = 10
_MOST_STEPS = 40
_PRECISION = 1e-3
"""Steps end when the error of all tables together is below this, in noise deviations."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a table of some columns should be: its counts, one axis per column, and the noise variance of each (> 0)."""

    columns: Columns
    values: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SumTarget:
    """What a sum of scores over the table of some columns should be: the score of every cell, and the noise variance (> 0)."""

    columns: Columns
    scores: np.ndarray
    value: float
    variance: float


def consistent(
    targets: Sequence[Target], possible: Sequence[np.ndarray], sizes: Sequence[int], n: int, sums: Sequence[SumTarget] = ()
) -> tuple[list[np.ndarray], list[float]]:
    """The values of all targets and sums, moved as little as possible in units of their noise: they agree, add up to n, and
    have no cell below 0 but those that are best left empty. A sum of columns that no target holds stays as it is.

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
    problem = _LeastSquares(targets, sizes, n, sums)
    known, values = _flat(possible), _flat([target.values for target in targets])
    free = known
    for _ in range(_MOST_PASSES):
        table = problem.solved(free)
        pulled = np.where(free, table, _CERTAIN * table + values)
        before, free = free, known & (pulled > 0)
        if np.array_equal(before, free):
            break
    return problem.split(np.where(known, pulled, 0.0)), problem.sums()


class _LeastSquares:
    """Weighted least squares for the components; every solution starts from the one before.

    All cells of all tables stand in one row, and so do all components: `_spread` is the sparse matrix from these to those.
    """

    def __init__(self, targets: Sequence[Target], sizes: Sequence[int], n: int, sums: Sequence[SumTarget]):
        from scipy.sparse import csr_matrix, vstack

        self._shapes = [target.values.shape for target in targets]
        self._values = _flat([target.values for target in targets])
        self._precision = 1 / _flat([target.variance for target in targets])
        self._even = _flat([np.full(target.values.shape, n / target.values.size) for target in targets])
        kept = sorted({part for target in targets for part in parts(target.columns)})
        ends = np.cumsum([math.prod(sizes[column] for column in part) for part in kept])
        place = dict(zip(kept, [0, *ends[:-1].tolist()], strict=True))
        self._centring = _Centring([[sizes[column] for column in part] for part in kept])
        columns, shares, entries = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        for target in targets:
            inside = list(parts(target.columns))
            of_cells = [_components_of_cells(part, target.columns, sizes) + place[part] for part in inside]
            columns.append(np.stack(of_cells, axis=1).ravel())
            shares.append(np.tile([1 / _cells_between(target.columns, part, sizes) for part in inside], target.values.size))
            entries.append(np.full(target.values.size, len(inside)))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(entries))])
        shape = (len(self._values), int(ends[-1]))
        self._spread = csr_matrix((np.concatenate(shares), np.concatenate(columns), starts), shape=shape)
        self._gather = self._spread.T.tocsr()
        self._found = np.zeros(shape[1])
        cells = _flat(
            [np.full(shape, 1 / np.mean(1 / target.variance)) for shape, target in zip(self._shapes, targets, strict=True)]
        )
        self._scale = self._gather @ (1 / cells)
        self._n_cells = len(self._values)
        self._all_sums = [each.value for each in sums]
        self._placed: list[int] = []
        starts_of = np.cumsum([0, *(target.values.size for target in targets)])
        for number, each in enumerate(sums):
            holding = [index for index, target in enumerate(targets) if set(each.columns) <= set(target.columns)]
            if not holding:
                continue
            home = min(holding, key=lambda one: targets[one].values.size)
            shape = targets[home].values.shape
            scores = np.broadcast_to(spread(each.scores, each.columns, targets[home].columns), shape).ravel()
            rows = slice(int(starts_of[home]), int(starts_of[home + 1]))
            self._placed.append(number)
            self._spread = vstack([self._spread, csr_matrix(scores[None, :]) @ self._spread[rows]]).tocsr()
            self._even = np.append(self._even, scores @ self._even[rows])
            self._values = np.append(self._values, each.value)
            self._precision = np.append(self._precision, 1 / each.variance)
        self._gather = self._spread.T.tocsr()

    def solved(self, free: np.ndarray) -> np.ndarray:
        """The tables, by conjugate gradients; cells that are not free count as 0, `_CERTAIN` times as much as a noisy one."""
        free = np.append(free, np.ones(len(self._placed), dtype=bool))
        weights = np.where(free, 1.0, _CERTAIN) * self._precision
        wanted = np.where(free, self._values, 0.0)
        residual = self._components(weights * (wanted - self._tables()))
        step = residual / self._scale
        energy = float(residual @ step)
        for _ in range(_MOST_STEPS):
            if not energy > _PRECISION**2:
                break
            curved = self._components(weights * (self._spread @ step))
            length = energy / float(step @ curved)
            self._found = self._found + length * step
            residual = residual - length * curved
            scaled = residual / self._scale
            before, energy = energy, float(residual @ scaled)
            step = scaled + energy / before * step
        return self._tables()[: self._n_cells]

    def sums(self) -> list[float]:
        """Every sum as the last solution has it."""
        found, rows = list(self._all_sums), self._tables()[self._n_cells :]
        for place, value in zip(self._placed, rows.tolist(), strict=True):
            found[place] = value
        return found

    def split(self, cells: np.ndarray) -> list[np.ndarray]:
        """The tables of a row of all cells."""
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        return [table.reshape(shape) for table, shape in zip(np.split(cells, ends[:-1]), self._shapes, strict=True)]

    def _tables(self) -> np.ndarray:
        return np.asarray(self._even + self._spread @ self._found)

    def _components(self, cells: np.ndarray) -> np.ndarray:
        """The transposed map of `_spread`, centred."""
        return self._centring.of(self._gather @ cells)


class _Centring:
    """Takes the mean along every axis out of many small tables that stand in one row."""

    def __init__(self, shapes: Sequence[Sequence[int]]):
        self._lines: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for axis in range(max(map(len, shapes))):
            places, lines, lengths, start, line = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), 0, 0
            for shape in shapes:
                cells = math.prod(shape)
                if axis < len(shape):
                    after = math.prod(shape[axis + 1 :])
                    numbers = np.arange(cells)
                    places.append(start + numbers)
                    lines.append(line + numbers // (after * shape[axis]) * after + numbers % after)
                    lengths.append(np.full(cells // shape[axis], shape[axis]))
                    line += cells // shape[axis]
                start += cells
            self._lines.append((np.concatenate(places), np.concatenate(lines), np.concatenate(lengths)))

    def of(self, row: np.ndarray) -> np.ndarray:
        centred = row.copy()
        for places, lines, lengths in self._lines:
            values = centred[places]
            centred[places] = values - (np.bincount(lines, weights=values, minlength=len(lengths)) / lengths)[lines]
        return centred


def _flat(tables: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([table.ravel() for table in tables])


def _components_of_cells(part: Columns, columns: Columns, sizes: Sequence[int]) -> np.ndarray:
    """(cells,) for every cell of the table of `columns`, which cell of the table of `part` it belongs to."""
    shape = [sizes[column] for column in part]
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(spread(numbers, part, columns), [sizes[column] for column in columns]).ravel()


def parts(columns: Columns) -> Iterator[Columns]:
    """All sets of columns inside a set, but the empty one."""
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def _cells_between(columns: Columns, part: Columns, sizes: Sequence[int]) -> int:
    """Cells of the table of `columns` for each cell of the table of `part`."""
    return math.prod(sizes[column] for column in columns if column not in part)
