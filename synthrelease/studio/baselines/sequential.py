"""Make synthetic tables by classical sequential synthesis without noise: each column is drawn given the earlier columns.

Packages for synthetic data use this method by default. A value is drawn from the smoothed counts of the finest group of
records that agree in earlier columns and is large enough, as in a leaf of a tree. There is no guarantee, because a fitted
model reveals its records. The method is for public data only. A release refuses it.
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
"""A function that draws (n_rows,) bins of a column, given the (n_rows,) bins of all earlier columns and the number of rows."""


def saturated(
    table: Counts,
    predictors: Mapping[int, Sequence[int]],
    plausibility: Plausibility,
    generator: np.random.Generator,
    prior: float = PRIOR,
) -> Counts:
    """Draw as many rows as the public table has, each column with its shares among rows that agree in earlier columns.

    Parameters
    ----------
    predictors : for each column, the earlier columns in the order in which they form groups.
    plausibility : rules. Rows that break a rule are drawn again, and left out if they still break a rule after many tries.
    prior : prior count of each bin. With a prior count of 0, a value is taken from a random record of the group.
    """
    rows, sizes = _rows(table), table.layout.sizes
    draws = [_by_table(rows[column], sizes[column], rows, sizes, predictors[column], prior) for column in range(len(rows))]
    return _drawn(table, draws, plausibility, generator)


def _rows(table: Counts) -> list[np.ndarray]:
    return [table.rows(column) for column in range(len(table.layout.sizes))]


def _drawn(table: Counts, draws: Sequence[Draw], plausibility: Plausibility, generator: np.random.Generator) -> Counts:
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
    """The method of sequential synthesis, for comparison, with a prior for shares and, in a second variant, without."""

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        columns = range(len(file.names))
        predictors = {column: file.by_strength(column, range(column)) for column in columns}
        smoothed, plain = (
            [saturated(file.table, predictors, file.plausibility, file.generator(key, k), prior) for k in range(file.copies)]
            for key, prior in ((1, PRIOR), (6, 0.0))
        )
        leaf = "each value comes from a random record of its group, as in a leaf of a tree"
        return [_made("sequential tables", smoothed, file, ()), _made("sequential tables, no prior", plain, file, (leaf,))]


def _made(name: str, copies: Sequence[Counts], file: ComparedFile, notes: tuple[str, ...]) -> MadeTables:
    fewest = min(copy.total for copy in copies)
    if fewest < file.table.total:
        share = 1 - fewest / file.table.total
        notes = (*notes, f"{share:.2%} of the rows are missing, because the model draws too few rows that meet the rules")
    return MadeTables(name=name, guarantee=NO_GUARANTEE, copies=copies, rule="simple", notes=notes)
