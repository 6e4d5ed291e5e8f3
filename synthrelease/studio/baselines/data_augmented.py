"""Data-augmented multiple imputation (DA-MI): quasi-identifiers are drawn anew, with a noisy copy of each as a predictor.

Partially synthetic data (Jiang 2025): columns X are replaced by draws from p(x | z, theta) p(w | x), theta drawn from its
posterior, W a noisy copy of X; the other columns Z are published as they are. What W tells sets where between the imputation
of Rubin (no noisy copy) and the original itself the copies are, by group of risk if wanted. **It has no guarantee**: Z is
published. A baseline for public data; a release refuses it.

Everything is a table here: p(x | z) is the posterior of the frequencies of the finest group that is large enough, less the bins
that rules forbid beside the other columns. Several columns are drawn in an order, each given Z and the earlier ones, and
then in turn, each given all others as they stand, in some sweeps (chained equations). Drawn once alone, columns would lose what
ties them: W of a later column says nothing of an earlier one then.
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
"""Of the masks of low, medium and high risk: how often W is the value itself, where values have no order."""

SPREADS = (0.5, 1.0, 2.0)
"""And how far W is off in standard deviation, in bins, where they have."""

_TRIES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class DataAugmented:
    """One public table, ready to be masked and imputed.

    Attributes
    ----------
    table : public counts.
    predictors : for each column of X that is drawn anew, the other columns in the order in which they are to make groups.
    masks : for each group of risk, the mask of each column of X.
    risk : (n_cells,) the group of risk of each cell of the table, from 0; all in group 0 where None.
    plausibility : rules for the copies; a row that breaks one is drawn again.
    """

    table: Counts
    predictors: Mapping[int, Sequence[int]]
    masks: Sequence[Mapping[int, NoiseMask]]
    risk: np.ndarray | None = None
    plausibility: Plausibility | None = None
    sweeps: int = SWEEPS

    def __post_init__(self) -> None:
        if not self.predictors:
            raise ValueError("expected at least one column to draw anew, found none.")

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        """Return the (n_rows,) bins of every column."""
        return [self.table.rows(column) for column in range(len(self.table.layout.sizes))]

    @cached_property
    def _groups(self) -> np.ndarray:
        """Return (n_rows,) the group of risk of every row."""
        return np.repeat(np.zeros(len(self.table), dtype=np.int64) if self.risk is None else self.risk, self.table.counts)

    @cached_property
    def _steps(self) -> tuple[dict[int, _ColumnStep], dict[int, _ColumnStep]]:
        """Return every column given Z and the earlier ones, and then given all others; none of these of one column alone."""
        rows, order = self._rows, list(self.predictors)
        unknown = {column: set(order[position:]) - {column} for position, column in enumerate(order)}
        first = {
            column: _ColumnStep.of(self, rows, column, [z for z in predictors if z not in unknown[column]], unknown[column])
            for column, predictors in self.predictors.items()
        }
        again = {column: _ColumnStep.of(self, rows, column, given, set()) for column, given in self.predictors.items()}
        return first, again if len(order) > 1 else {}

    def masked(self, generator: np.random.Generator) -> dict[int, np.ndarray]:
        """Return W of each column: drawn once for all copies, or anew for each copy, which reveals more."""
        masks_by_column = {}
        for column in self.predictors:
            copy = np.empty(len(self._groups))
            for group, masks in enumerate(self.masks):
                rows = self._groups == group
                copy[rows] = masks[column].draw(self._rows[column][rows].astype(np.int64), generator)
            masks_by_column[column] = copy
        return masks_by_column

    def copy(self, masked: Mapping[int, np.ndarray], generator: np.random.Generator) -> Counts:
        """Return one copy, of the same size: theta and X drawn given Z and W. Rows that break a rule after many tries stay."""
        return Counts.of(self.table.layout, self.rows(masked, generator))

    def rows(self, masked: Mapping[int, np.ndarray], generator: np.random.Generator) -> list[np.ndarray]:
        """Draw the masked columns anew; return (n_rows,) bins of every column, in the order of `table.expand()`."""
        columns = [rows.astype(np.int64) if column in self.predictors else rows for column, rows in enumerate(self._rows)]
        first, again = self._steps
        steps = [first, *[again] * (self.sweeps if again else 0)]
        shares = {id(step): step.table.posterior(generator) for sweep in (first, again) for step in sweep.values()}
        rows_to_draw = np.arange(len(self._groups))
        for _ in range(_TRIES):
            for sweep in steps:
                for column, step in sweep.items():
                    columns[column][rows_to_draw] = self._draw(
                        step, columns, rows_to_draw, shares[id(step)], masked[column], generator
                    )
            if self.plausibility is None:
                break
            rows_to_draw = rows_to_draw[self.plausibility.forbidden([rows[rows_to_draw] for rows in columns])]
            if not len(rows_to_draw):
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
        """Return the bins of one column for these rows, given the others as they stand."""
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
    """One column, given others.

    Attributes
    ----------
    column : the column. predictors : the columns that make groups, the one that tells most first. table : their frequencies.
    rules : for each rule with the column, the other columns of it, and what it forbids: an array over their bins and, last, the
        column's.
    """

    column: int
    predictors: tuple[int, ...]
    table: ConditionalTable
    rules: tuple[tuple[tuple[int, ...], np.ndarray], ...]

    @classmethod
    def of(
        cls, method: DataAugmented, rows: Sequence[np.ndarray], column: int, predictors: Sequence[int], unknown: set[int]
    ) -> _ColumnStep:
        """`unknown` are columns that have no bins yet."""
        sizes, predictors = method.table.layout.sizes, tuple(predictors[:MOST_PREDICTORS])
        table = ConditionalTable.of(
            rows[column],
            sizes[column],
            [rows[z] for z in predictors],
            [sizes[z] for z in predictors],
            least=least_rows(sizes[column]),
        )
        rules = [
            (tuple(z for z in mask.columns if z != column), np.moveaxis(mask.forbidden, mask.columns.index(column), -1))
            for mask in (method.plausibility.masks if method.plausibility else ())
            if column in mask.columns and not unknown & set(mask.columns)
        ]
        return cls(column=column, predictors=predictors, table=table, rules=tuple(rules))


class AugmentedImputation(Baseline):
    """The columns that an intruder knows, drawn anew with masks by group of risk."""

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
        unchanged = (
            f"published as it is: {listing(rest)}" if rest else "every column is drawn anew, so nothing is left as it is"
        )
        epsilons = [mask.local_epsilon() for group in masks for mask in group.values() if isinstance(mask, MatrixMask)]
        return [
            MadeTables(
                name="DA-MI",
                guarantee=f"{NO_GUARANTEE}: columns are published as they are" if rest else NO_GUARANTEE,
                copies=[method.copy(masked, file.generator(4, copy)) for copy in range(file.copies)],
                notes=(
                    f"{unchanged}; masks of low, medium and high risk keep a value with probability "
                    f"{', '.join(f'{share:g}' for share in KEPT_SHARES)}, or are off by "
                    f"{', '.join(f'{sd:g}' for sd in SPREADS)} bins in standard deviation; one mask for all copies",
                    *(
                        (f"a mask of values without order tells of one value up to epsilon {max(epsilons):.2f}",)
                        if epsilons
                        else ()
                    ),
                ),
            )
        ]


def _mask(file: ComparedFile, column: int, share: float, sd: float) -> NoiseMask:
    binning = file.transformation.binnings[column]
    if file.numbers(column) is None or binning.present < 3:
        return MatrixMask.keeping(len(binning), share)
    return OrderedMask(present=binning.present, missing=binning.missing is not None, sd=sd, kept=share)
