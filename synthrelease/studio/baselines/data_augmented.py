"""Make partially synthetic copies by data-augmented multiple imputation (DA-MI), for comparison on public data only.

In DA-MI (Jiang 2025), quasi-identifiers X are replaced by draws from p(x | z, theta) p(w | x). W is a noisy copy of X, and
theta is drawn from its posterior. The other columns Z are published unchanged. The noise of W, which may depend on the risk
group, decides whether the copies resemble Rubin's imputation (which uses no noisy copy) or the original. **There is no
guarantee**, because Z is published. A release refuses this method.

All models are tables: p(x | z) is the posterior of the frequencies in the finest group that is large enough, without bins
that the rules forbid. Several columns are first drawn in order, and then in further sweeps given all other columns (chained
equations). With only one draw, columns would lose their association, because W of a later column has no effect on an
earlier column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import listing
from synthrelease.studio.baselines.base import (
    MOST_PREDICTORS,
    NO_GUARANTEE,
    Baseline,
    ComparedFile,
    ConditionalTable,
    MadeTables,
    MatrixMask,
    NoiseMask,
    OrderedMask,
    draw_weighted,
    least_rows,
)

SWEEPS = 5

KEPT_SHARES = (0.9, 0.7, 0.5)
"""Probability that W is the value itself, for values without an order, at low, medium and high risk."""

SPREADS = (0.5, 1.0, 2.0)
"""Standard deviation of the noise of W in bins, for ordered values, at low, medium and high risk."""

_TRIES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class DataAugmented:
    """A public table, with the settings for replacing the values of some columns, called X.

    Attributes
    ----------
    predictors : for each column of X, the other columns in the order in which they form groups.
    masks : for each risk group, the noise mask of each column of X.
    risk : (n_cells,) the risk group of each cell of the table, from 0, or None if there is only one group.
    plausibility : rules for the copies. A row that breaks a rule is drawn again.
    """

    table: Counts
    predictors: Mapping[int, Sequence[int]]
    masks: Sequence[Mapping[int, NoiseMask]]
    risk: np.ndarray | None = None
    plausibility: Plausibility | None = None
    sweeps: int = SWEEPS

    def __post_init__(self) -> None:
        if not self.predictors:
            raise ValueError("the model needs at least one column to draw")

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        return [self.table.rows(column) for column in range(len(self.table.layout.sizes))]

    @cached_property
    def _groups(self) -> np.ndarray:
        return np.repeat(np.zeros(len(self.table), dtype=np.int64) if self.risk is None else self.risk, self.table.counts)

    @cached_property
    def _steps(self) -> tuple[dict[int, _ColumnStep], dict[int, _ColumnStep]]:
        """Two models of each replaced column: given the unchanged and the earlier columns, and given all others.

        The second is omitted for a single column.
        """
        rows, order = self._rows, list(self.predictors)
        unknown = {column: set(order[position:]) - {column} for position, column in enumerate(order)}
        first = {
            column: _ColumnStep.of(self, rows, column, [z for z in predictors if z not in unknown[column]], unknown[column])
            for column, predictors in self.predictors.items()
        }
        again = {column: _ColumnStep.of(self, rows, column, given, set()) for column, given in self.predictors.items()}
        return first, again if len(order) > 1 else {}

    def masked(self, generator: np.random.Generator) -> dict[int, np.ndarray]:
        """Return, for each replaced column X, a noisy copy W of its (n_rows,) values.

        All imputed tables use the same W, because drawing a new W for each table would reveal more.
        """
        masks_by_column = {}
        for column in self.predictors:
            copy = np.empty(len(self._groups))
            for group, masks in enumerate(self.masks):
                rows = self._groups == group
                copy[rows] = masks[column].draw(self._rows[column][rows].astype(np.int64), generator)
            masks_by_column[column] = copy
        return masks_by_column

    def copy(self, masked: Mapping[int, np.ndarray], generator: np.random.Generator) -> Counts:
        """Return one imputed table of the same size. A row that still breaks a rule after many draws stays in the table."""
        return Counts.of(self.table.layout, self.rows(masked, generator))

    def rows(self, masked: Mapping[int, np.ndarray], generator: np.random.Generator) -> list[np.ndarray]:
        """Return the (n_rows,) bins of every column of an imputed table, in the order of `table.expand()`."""
        columns = [rows.astype(np.int64) if column in self.predictors else rows for column, rows in enumerate(self._rows)]
        first, again = self._steps
        steps = [first, *[again] * (self.sweeps if again else 0)]
        shares = {id(step): step.table.posterior(generator) for sweep in (first, again) for step in sweep.values()}
        unknown = np.arange(len(self._groups))
        for _ in range(_TRIES):
            for sweep in steps:
                for column, step in sweep.items():
                    columns[column][unknown] = self._draw(step, columns, unknown, shares[id(step)], masked[column], generator)
            if self.plausibility is None:
                break
            unknown = unknown[self.plausibility.forbidden([rows[unknown] for rows in columns])]
            if not len(unknown):
                break
        return columns

    def _draw(
        self,
        step: _ColumnStep,
        drawn: Sequence[np.ndarray],
        rows: np.ndarray,
        shares: np.ndarray,
        masked: np.ndarray,
        generator: np.random.Generator,
    ) -> np.ndarray:
        groups = step.table.groups([drawn[z][rows] for z in step.predictors], len(rows))
        risk, copy = self._groups[rows], masked[rows]

        def likelihood(part: slice) -> np.ndarray:
            probabilities = np.empty((len(copy[part]), shares.shape[1]))
            for group, masks in enumerate(self.masks):
                inside = risk[part] == group
                masked_values, mask = copy[part][inside], masks[step.column]
                probabilities[inside] = mask.likelihood(masked_values if mask.continuous else masked_values.astype(np.int64))
            allowed = probabilities.copy()
            for columns, forbidden in step.rules:
                allowed[forbidden[tuple(drawn[z][rows[part]] for z in columns)]] = 0.0
            return np.where(allowed.any(axis=1, keepdims=True), allowed, probabilities)

        return draw_weighted(shares, groups, likelihood, generator)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ColumnStep:
    """The model from which one column is drawn, given other columns.

    Attributes
    ----------
    predictors : the columns that form groups, the most informative first.
    table : frequencies of the column in these groups.
    rules : for each rule about the column, the other columns of the rule and the forbidden combinations: an array over the
        bins of these columns, and over the bins of the column as last axis.
    """

    column: int
    predictors: tuple[int, ...]
    table: ConditionalTable
    rules: tuple[tuple[tuple[int, ...], np.ndarray], ...]

    @classmethod
    def of(
        cls, method: DataAugmented, rows: Sequence[np.ndarray], column: int, given: Sequence[int], unknown: set[int]
    ) -> _ColumnStep:
        """Return the model of one column: its frequencies by its predictors, and the rules that contain the column.

        Parameters
        ----------
        unknown : columns that have no bins yet; rules with one of them are left out.
        """
        sizes, given = method.table.layout.sizes, tuple(given[:MOST_PREDICTORS])
        table = ConditionalTable.of(
            rows[column], sizes[column], [rows[z] for z in given], [sizes[z] for z in given], least=least_rows(sizes[column])
        )
        rules = [
            (tuple(z for z in mask.columns if z != column), np.moveaxis(mask.forbidden, mask.columns.index(column), -1))
            for mask in (method.plausibility.masks if method.plausibility else ())
            if column in mask.columns and not unknown & set(mask.columns)
        ]
        return cls(column=column, predictors=given, table=table, rules=tuple(rules))


class AugmentedImputation(Baseline):
    """The method DA-MI: columns that an intruder knows are drawn given a noisy copy, with noise by the risk group of a row."""

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        columns = range(len(file.names))
        masks = [{c: _mask(file, c, *levels) for c in file.known} for levels in zip(KEPT_SHARES, SPREADS, strict=True)]
        method = DataAugmented(
            table=file.table,
            predictors={column: file.by_strength(column, [c for c in columns if c != column]) for column in file.known},
            masks=masks,
            risk=file.risk(),
            plausibility=file.plausibility,
        )
        masked = method.masked(file.generator(3))
        rest = [name for column, name in enumerate(file.names) if column not in file.known]
        unchanged = f"published unchanged: {listing(rest)}" if rest else "every column is drawn anew"
        epsilons = [mask.local_epsilon() for group in masks for mask in group.values() if isinstance(mask, MatrixMask)]
        shares, spreads = (", ".join(f"{number:g}" for number in numbers) for numbers in (KEPT_SHARES, SPREADS))
        notes = [
            f"{unchanged}; masks of low, medium and high risk keep a value with probability {shares}, or add noise with a "
            f"standard deviation of {spreads} bins; one mask for all copies"
        ]
        if epsilons:
            notes.append(f"a mask of values without order has an epsilon of up to {max(epsilons):.2f} for one value")
        guarantee = f"{NO_GUARANTEE}: columns are published unchanged" if rest else NO_GUARANTEE
        copies = [method.copy(masked, file.generator(4, copy)) for copy in range(file.copies)]
        return [MadeTables(name="DA-MI", guarantee=guarantee, copies=copies, notes=tuple(notes))]


def _mask(file: ComparedFile, column: int, share: float, sd: float) -> NoiseMask:
    binning = file.transformation.binnings[column]
    if file.numbers(column) is None or binning.present < 3:
        return MatrixMask.keeping(len(binning), share)
    return OrderedMask(present=binning.present, missing=binning.missing is not None, sd=sd, kept=share)
