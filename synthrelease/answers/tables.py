"""Estimate sums over the rows that a release uses, without bias, from all published noisy tables with the needed columns.

Each cell gets the mean of its values in these tables, weighted by inverse variances. Then the cells are adjusted, in
proportion to their variances, so that they add up to the known number n. The weights depend only on public facts: the
scales of the noise, the rules and the question. So every estimate is the true sum plus a weighted sum of noise terms with
known weights. A statement about the file has a further error, because the used rows were drawn at random from the rows that
the rules keep.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.answers.limits import KeptRows
from synthrelease.answers.questions import excluded
from synthrelease.data.marginals import added_up, spread_out
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError, listing
from synthrelease.generators.measured_noise import DiscreteLaplace, Noises
from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import PublishedMeasurement

MAX_CELLS = 1_000_000
"""Largest number of cells in the table over the columns of a question."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySums:
    """Estimates of k sums over the used private rows. The error of each is a weighted sum of noise terms with known
    weights.

    Attributes
    ----------
    values : (k,) estimates.
    weights : (k, n_noises) weights of the noise terms of the published cells. The noise of the number of rows comes last,
        with weight 0.
    moments : (l,) estimates of further sums, for which no errors are computed.
    """

    values: np.ndarray
    weights: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCount:
    """The estimated number of rows in one bin. Cells with equal weights share one noise term; the last one, of the number
    of rows, has weight 0.
    """

    value: float
    weights: np.ndarray
    noises: Noises


class PublishedTables:
    """The published noisy tables of a release. Cells that a rule excludes are exactly 0.

    Attributes
    ----------
    kept : the published information about the rows that the rules keep, from which the used rows were drawn.
    noises : the noise terms of all published cells, followed by the noise of the number of kept rows, if it was counted
        with noise.
    """

    def __init__(self, release: PublishedRelease):
        published = release.measurements.tables if release.measurements else ()
        if not published:
            raise InputError(
                "This release publishes no noisy tables (measurements.json), so nothing can be estimated. Use `synthrelease "
                "bound` to get the range of answers that agree with the released criterion values."
            )
        self.release = release
        self.kept = KeptRows.of(release)
        self._hold([_without_impossible(release, table) for table in published])
        self._all = self.tables

    def over(self, names: Iterable[str]) -> PublishedTables:
        """Return only the noisy tables that contain all these columns, summed over other columns.

        Questions about only these columns get the same answers, with less time and memory.
        """
        columns = tuple(column.name for column in self.columns(names))

        def summed(table: PublishedMeasurement) -> PublishedMeasurement:
            values, cells = (added_up(array, table.columns, columns) for array in (table.values, table.cells))
            return replace(table, columns=columns, values=values, cells=cells)

        narrower = copy(self)
        narrower._hold([summed(table) for table in self.tables if {*columns} <= {*table.columns}])
        return narrower

    def _hold(self, tables: list[PublishedMeasurement]) -> None:
        self.tables = tables
        sizes = [table.values.size for table in tables]
        self.starts = np.cumsum([0, *sizes])
        counted = self.kept.scale is not None
        noises = [*(table.noise for table in self.tables), DiscreteLaplace(self.kept.scale or 1.0)]
        laws = tuple(dict.fromkeys(noises))
        self.noises = Noises(
            laws=laws,
            law=np.repeat([laws.index(noise) for noise in noises], [*sizes, 1]),
            count=np.append(np.concatenate([table.cells.ravel() for table in self.tables]), int(counted)),
        )

    def columns(self, names: Iterable[str]) -> tuple[PublishedColumn, ...]:
        """Return the columns with these names, in the order of the release.

        Raises
        ------
        InputError : if the columns have too many combinations of bins.
        """
        chosen = set(names)
        columns = tuple(column for column in self.release.schema if column.name in chosen)
        cells = math.prod(len(column.labels) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(
                f"The columns of this question have {cells:,} combinations of bins. At most {MAX_CELLS:,} are allowed. Use "
                "fewer columns."
            )
        return columns

    def number(self, names: Iterable[str]) -> int:
        return sum(set(names) <= set(table.columns) for table in self.tables)

    def sums(self, names: Iterable[str], figures: np.ndarray, moments: np.ndarray | None = None) -> NoisySums:
        """Estimate weighted sums of counts over the cells of some columns.

        Parameters
        ----------
        figures : (k, n_cells) weights of the cells of these columns, in the order of the release.
        moments : (l, n_cells) weights of further sums, whose errors are not computed.

        Raises
        ------
        InputError : if no table contains all columns.
        """
        columns = self.columns(names)
        ordered, shape = [column.name for column in columns], [len(column.labels) for column in columns]
        holding = [index for index, table in enumerate(self.tables) if set(ordered) <= set(table.columns)]
        if not holding:
            raise self._not_together(ordered)
        tables = [self.tables[index] for index in holding]
        cells, variances, shares = _combined(tables, ordered)
        is_empty = variances == 0

        def centred_and_moved(of_cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            moved = (of_cells @ variances) / variances.sum() if variances.any() else np.zeros(len(of_cells))
            return np.where(is_empty, 0.0, of_cells - moved[:, None]), moved

        (centred, moved), further = centred_and_moved(figures), centred_and_moved(figures[:0] if moments is None else moments)
        weights = np.zeros((len(figures), len(self.noises.count)))
        for index, table, share in zip(holding, tables, shares, strict=True):
            own_figures = (centred * share).reshape(-1, *shape)
            spread = spread_out(own_figures, ordered, table.columns, table.values.shape) * (table.cells > 0)
            weights[:, self.starts[index] : self.starts[index + 1]] = spread.reshape(len(figures), -1)
        n = self.release.n_rows
        return NoisySums(values=centred @ cells + moved * n, weights=weights, moments=further[0] @ cells + further[1] * n)

    def cells(self, names: Iterable[str], last: str) -> np.ndarray:
        """Estimate the (n_cells, n_bins) numbers of rows in each cell of some columns and each bin of a further column.

        The further column need not be in the tables that `over` returned.
        """
        columns = [column.name for column in self.columns({*names, last})]
        values = _combined([table for table in self._all if set(columns) <= set(table.columns)], columns)[0]
        by_bin = values.reshape([len(self.release.by_name[name].labels) for name in columns])
        return np.moveaxis(by_bin, columns.index(last), -1).reshape(-1, by_bin.shape[columns.index(last)])

    def single_bins(self, name: str) -> Iterator[NoisyCount]:
        """Yield the estimated number of rows in each bin of a column.

        Cells outside a bin have equal weights if they combine the same number of noise terms in every table.
        """
        tables = [table for table in self.tables if name in table.columns]
        if not tables:
            raise self._not_together([name])
        cells, variances, shares = _combined(tables, [name])
        counts = np.array([added_up(table.cells, table.columns, [name]) for table in tables])
        alike, first, kind, number = np.unique(counts, axis=1, return_index=True, return_inverse=True, return_counts=True)
        laws = [table.noise for table in tables] * 2 + [DiscreteLaplace(self.kept.scale or 1.0)]
        distinct = tuple(dict.fromkeys(laws))
        total, whole = float(variances.sum()), float(cells.sum())
        law = np.array([distinct.index(noise) for noise in laws])
        law = np.concatenate([np.repeat(law[: len(tables)], len(first)), law[len(tables) :]])
        for bin_, kind_of_bin in enumerate(kind.ravel()):
            moved = float(variances[bin_]) / total if total else 0.0
            alike_but_own = alike * (number - (np.arange(len(first)) == kind_of_bin))
            yield NoisyCount(
                value=float(cells[bin_]) + moved * (self.release.n_rows - whole),
                weights=np.concatenate([(-moved * shares[:, first]).ravel(), (1 - moved) * shares[:, bin_], [0.0]]),
                noises=Noises(
                    laws=distinct,
                    law=law,
                    count=np.concatenate([alike_but_own.ravel(), counts[:, bin_], [int(self.kept.scale is not None)]]),
                ),
            )

    def _not_together(self, names: list[str]) -> InputError:
        reasons = []
        for name in names:
            together = {partner for table in self.tables if name in table.columns for partner in table.columns} - {name}
            lacking = [partner for partner in names if partner not in together | {name}]
            measured = any(name in table.columns for table in self.tables)
            beside = listing([column.name for column in self.release.schema if column.name in together], 40)
            if not measured:
                reasons.append(f"{name!r} was not measured")
            elif lacking:
                reasons.append(
                    f"{name!r} was measured {f'with {beside}' if beside else 'alone'}, but not with {listing(lacking)}"
                )
        if not reasons:
            reasons = ["each pair of these columns was measured together, but not all columns together"]
        return InputError(
            f"No published noisy table contains all these columns ({listing(names)}): {'; '.join(reasons)}. Use `synthrelease "
            "bound` to get the range of answers that agree with the released criterion values."
        )


def _combined(tables: list[PublishedMeasurement], names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Combine noisy tables over some columns: the (n_cells,) weighted means, their variances, and the (n_tables, n_cells)
    weights.

    All three are 0 in cells that the rules exclude.
    """
    values = np.array([added_up(table.values, table.columns, names).ravel() for table in tables])
    counts = np.array([added_up(table.cells, table.columns, names).ravel() for table in tables])
    with np.errstate(divide="ignore"):
        precisions = 1 / (counts * np.array([[table.noise.variance] for table in tables]))
    is_empty = ~np.isfinite(precisions).all(axis=0)  # the rules exclude this cell
    precisions = np.where(is_empty, 0.0, precisions)
    variances = np.where(is_empty, 0.0, 1 / np.where(is_empty, 1.0, precisions.sum(axis=0)))
    shares = precisions * variances
    return (shares * values).sum(axis=0), variances, shares


def _without_impossible(release: PublishedRelease, table: PublishedMeasurement) -> PublishedMeasurement:
    columns = tuple(release.by_name[name] for name in table.columns)
    empty = np.zeros(table.values.shape, dtype=bool)
    for rule in release.rules:
        mask = excluded(rule.never, columns) if "raw" in rule.applies_to else None
        empty |= False if mask is None else mask
    if release.linked is not None:
        low, high = release.linked.between(table.columns, table.values.shape)
        empty |= low > high
    return replace(table, values=np.where(empty, 0, table.values), cells=np.where(empty, 0, table.cells))
