"""Classical sequential synthesis without noise: each column drawn given the earlier ones, from tables.

What packages for synthetic data do by default. A value is drawn from the smoothed counts of the finest group of records that
agree on earlier columns and is large enough, like a leaf of a tree. No guarantee: what a model was fitted to shows through.
For public data alone; a release refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.studio.baselines.base import (
    MOST_PREDICTORS,
    NO_GUARANTEE,
    PRIOR,
    Baseline,
    ComparedFile,
    ConditionalTable,
    MadeTables,
    least_rows,
)

_TRIES = 100

Draw = Callable[[Sequence[np.ndarray], int, np.random.Generator], np.ndarray]
"""(n_rows,) bins of a column, from the (n_rows,) bins of all earlier columns, and their number."""


def saturated(
    table: Counts,
    predictors: Mapping[int, Sequence[int]],
    plausibility: Plausibility,
    generator: np.random.Generator,
    prior: float = PRIOR,
) -> Counts:
    """Draw as many rows as the public table has, from saturated tables.

    Parameters
    ----------
    predictors : for each column, earlier ones in the order in which they are to make groups.
    plausibility : rules; rows that break one are drawn again, and left out where that does not help after many tries.
    prior : of each bin; 0 draws the value of a random record of the group.
    """
    rows, sizes = _rows(table), table.layout.sizes
    draws = [_by_table(rows[column], sizes[column], rows, sizes, predictors[column], prior) for column in range(len(rows))]
    return _drawn(table, draws, plausibility, generator)


def _rows(table: Counts) -> list[np.ndarray]:
    return [table.rows(column) for column in range(len(table.layout.sizes))]


def _drawn(table: Counts, draws: Sequence[Draw], plausibility: Plausibility, generator: np.random.Generator) -> Counts:
    """Return rows column by column; those that break a rule are drawn anew as whole rows."""
    copy = Counts.empty(table.layout)
    for _ in range(_TRIES):
        missing = table.total - copy.total
        if not missing:
            break
        rows: list[np.ndarray] = []
        for draw in draws:
            rows.append(draw(rows, missing, generator))
        copy = copy + plausibility.filter(Counts.of(table.layout, rows))
    return copy


def _by_table(
    bins: np.ndarray, size: int, rows: Sequence[np.ndarray], sizes: Sequence[int], earlier: Sequence[int], prior: float = PRIOR
) -> Draw:
    earlier, smallest = tuple(earlier[:MOST_PREDICTORS]), least_rows(size, prior)
    shares = ConditionalTable.of(bins, size, [rows[z] for z in earlier], [sizes[z] for z in earlier], least=smallest)

    def draw(columns: Sequence[np.ndarray], n_rows: int, generator: np.random.Generator) -> np.ndarray:
        return shares.draw(shares.groups([columns[z] for z in earlier], n_rows), generator, prior)

    return draw


class Sequential(Baseline):
    """Saturated tables with a prior, and the same without."""

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        columns = range(len(file.names))
        predictors = {column: file.by_strength(column, range(column)) for column in columns}
        smoothed, plain = (
            [saturated(file.table, predictors, file.plausibility, file.generator(key, k), prior) for k in range(file.copies)]
            for key, prior in ((1, PRIOR), (6, 0.0))
        )
        leaf = "each value is that of a random record, as in a leaf of a tree"
        return [_made("sequential tables", smoothed, file, ()), _made("sequential tables, no prior", plain, file, (leaf,))]


def _made(name: str, copies: Sequence[Counts], file: ComparedFile, notes: tuple[str, ...]) -> MadeTables:
    """Return the copies, with a note where rows are lacking that no draw made plausible."""
    fewest = min(copy.total for copy in copies)
    if fewest < file.table.total:
        share = 1 - fewest / file.table.total
        notes = (*notes, f"{share:.2%} of the rows are lacking: the model gives too little mass to plausible ones")
    return MadeTables(name=name, guarantee=NO_GUARANTEE, copies=copies, rule="simple", notes=notes)
