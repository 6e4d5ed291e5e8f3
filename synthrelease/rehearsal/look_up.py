"""A look-up of persons: how many rows of a synthetic table match each cell of a public one on its quasi-identifiers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.public_table import PublicTable


@dataclass(frozen=True, kw_only=True, eq=False)
class LookUp:
    """How to find the matches of every cell of the public table.

    `windows[q]` has, for each step between bins of quasi-identifier q, the (n_bins,) mask of the bins from which the step
    leads to a bin in range.
    """

    public: PublicTable
    columns: tuple[int, ...]
    windows: tuple[Mapping[int, np.ndarray], ...]

    @classmethod
    def of(cls, public: PublicTable, quasi_identifiers: Sequence[str], within: Mapping[str, float]) -> LookUp:
        if not quasi_identifiers:
            raise ValueError("quasi_identifiers: expected at least one column, found none.")
        columns = public.indices("quasi_identifiers", quasi_identifiers)
        public.indices("within", within)
        for name, distance in within.items():
            if name not in quasi_identifiers:
                raise ValueError(f"within: expected quasi-identifiers, found {name!r}, which is none.")
            if not (0 <= distance < math.inf):
                raise ValueError(f"within.{name}: expected a distance of at least 0, found {distance}.")
        windows = []
        for name, column in zip(quasi_identifiers, columns, strict=True):
            bins = np.arange(public.counts.layout.sizes[column])
            near = bins[:, None] == bins
            if within.get(name):  # at a distance of 0 the same bin alone, also where another one has the same number
                numbers = public.numbers("within", name)
                near = near | (np.abs(numbers[:, None] - numbers) <= within[name])  # missing values are near each other alone
            steps = {step: np.diagonal(near, step) for step in range(1 - len(bins), len(bins))}
            windows.append({step: _from(mask, step, len(bins)) for step, mask in steps.items() if mask.any()})
        return cls(public=public, columns=columns, windows=tuple(windows))

    def matching(self, table: Counts) -> np.ndarray:
        """(n_cells,) rows of `table` that match the quasi-identifiers of each public cell."""
        return self._found(table.project(self.columns), self.columns)

    def agreeing(self, table: Counts) -> np.ndarray:
        """(n_cells,) those of the matching rows that agree in all other columns."""
        return self._found(table, tuple(range(len(table.layout.sizes))))

    def _found(self, table: Counts, columns: tuple[int, ...]) -> np.ndarray:
        """`table` has the given columns of the public table, in this order."""
        bins = {column: self.public.counts.bins[column] for column in columns}
        found = np.zeros(len(self.public.counts), dtype=np.int64)
        for steps in self._steps():
            inside = np.all([mask[bins[column]] for column, _, mask in steps], axis=0)
            stepped = {column: bins[column][inside].astype(np.int64) + step for column, step, _ in steps}
            at = table.find([stepped[column] if column in stepped else bins[column][inside] for column in columns])
            found[inside] += np.where(at < 0, 0, table.counts[at])
        return found

    def _steps(self) -> Iterator[tuple[tuple[int, int, np.ndarray], ...]]:
        """Every combination of steps: (column, step, mask of the bins it may start from) per quasi-identifier."""
        yield from product(
            *(
                [(column, step, mask) for step, mask in windows.items()]
                for column, windows in zip(self.columns, self.windows, strict=True)
            )
        )


def _from(diagonal: np.ndarray, step: int, size: int) -> np.ndarray:
    """(size,) mask by starting bin, from the diagonal of a matrix of pairs (from, to)."""
    mask = np.zeros(size, dtype=bool)
    start = max(0, -step)
    mask[start : start + len(diagonal)] = diagonal
    return mask
