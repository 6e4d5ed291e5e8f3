"""The strongest pairs of columns that nothing in a release looks at: no criterion, and no table that is sure to be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import LostPair
from synthrelease.data.counts import Counts
from synthrelease.generators.space import Configuration
from synthrelease.rehearsal.dependence import WEAKEST, Pair, cramers_v, from_independence, strongest_pairs, valued

MOST_PAIRS = 10
MOST_TOLD = 200

SMALLEST_BIN = 0.005
"""Share of the rows that a bin has at least to stand as the example of a pair."""


@dataclass(frozen=True, kw_only=True)
class UnguardedPair:
    """A pair that nothing looks at, with what becomes of it.

    Attributes
    ----------
    columns : their names.
    strong : whether they hang together by the rows that would have to change, too, and not by a few odd rows alone.
    cramers_v : in the public file.
    candidates_v : median of the candidates; None without any.
    condition, outcome : the labels of the bins of the first and of the second column in whose cell the tie shows most.
    overall, original : share of the outcome among public rows with a value of both, and among those of the condition.
    released : that share in the candidates, the median; None where no candidate has such rows.
    """

    columns: tuple[str, str]
    strong: bool
    cramers_v: float
    candidates_v: float | None
    condition: str
    outcome: str
    overall: float
    original: float
    released: float | None

    @property
    def lost(self) -> bool:
        """Whether it is strong, and the candidates keep less than half of it."""
        return self.strong and self.candidates_v is not None and self.candidates_v < self.cramers_v / 2


def unguarded_pairs(
    configuration: Configuration, criteria: Sequence[Criterion], original: Counts, candidates: Sequence[Counts]
) -> tuple[UnguardedPair, ...]:
    """Pairs that hang together and that nothing looks at, the strongest first; at most `MOST_TOLD`.

    Parameters
    ----------
    criteria : those that can say something; the others guard nothing.
    original, candidates : public rows, and candidates made from them, on the bins of the configuration.
    """
    layout = original.layout
    measured = [{layout.columns[column] for column in columns} for columns in configuration.generator.fixed_tables(layout)]
    width = len(layout.columns)

    def looked_at(pair: Pair) -> bool:
        names = frozenset(pair.columns)
        lost = LostPair(columns=names, distance=pair.distance, largest_cell=pair.largest_cell, n_columns=width)
        return any(names <= table for table in measured) or any(each.guards(lost) for each in criteria)

    by_strength = sorted(strongest_pairs(original, missing=with_gaps(configuration)), key=lambda pair: -pair.cramers_v)
    found = [pair for pair in by_strength if pair.cramers_v >= WEAKEST and not looked_at(pair)]
    return tuple(_told(pair, configuration, original, candidates) for pair in found[:MOST_TOLD])


def worth_a_line(pairs: Sequence[UnguardedPair]) -> tuple[UnguardedPair, ...]:
    """The `MOST_PAIRS` strongest, and as many of the others that the candidates lost; the strongest first."""
    return (*pairs[:MOST_PAIRS], *[pair for pair in pairs[MOST_PAIRS:] if pair.lost][:MOST_PAIRS])


def _told(pair: Pair, configuration: Configuration, original: Counts, candidates: Sequence[Counts]) -> UnguardedPair:
    """The pair with its most telling cell, read from the rarer of its two bins."""
    names = pair.columns
    table = _valued(original, configuration, names)
    first, second = _telling_cell(table)
    if table[first].sum() > table[:, second].sum():
        names, first, second, table = names[::-1], second, first, table.T
    tables = [_valued(each, configuration, names) for each in candidates]
    labels = [configuration.transformation.binning(name).labels for name in names]
    shares = [each[first, second] / each[first].sum() for each in tables if each[first].sum()]
    return UnguardedPair(
        columns=names,
        strong=pair.strong,
        cramers_v=pair.cramers_v,
        candidates_v=float(np.median([cramers_v(each) for each in tables])) if tables else None,
        condition=labels[0][first],
        outcome=labels[1][second],
        overall=float(table[:, second].sum() / table.sum()),
        original=float(table[first, second] / table[first].sum()),
        released=float(np.median(shares)) if shares else None,
    )


def with_gaps(configuration: Configuration) -> list[str]:
    """Columns with a bin of missing values. That two are missing together is known from the form they were asked on."""
    binnings = zip(configuration.transformation.layout.columns, configuration.transformation.binnings, strict=True)
    return [name for name, binning in binnings if binning.present < len(binning)]


def _valued(table: Counts, configuration: Configuration, names: Sequence[str]) -> np.ndarray:
    """The table of two columns, over the rows with a value of both."""
    gaps = with_gaps(configuration)
    return valued(table.marginal([table.layout.index(name) for name in names]), names[0] in gaps, names[1] in gaps)


def _telling_cell(table: np.ndarray) -> tuple[int, int]:
    """The cell that Cramer's V owes most to: the largest residual of Pearson's, among bins of some size."""
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = np.outer(rows, columns)
    residuals = np.abs(from_independence(table)) / table.sum() / np.sqrt(np.where(expected > 0, expected, 1.0))
    frequent = np.minimum.outer(rows, columns) >= SMALLEST_BIN
    chosen = np.where(frequent, residuals, -1.0) if frequent.any() else residuals
    first, second = np.unravel_index(int(chosen.argmax()), table.shape)
    return int(first), int(second)
