"""Noisy marginals are what a generator measured: values that may be merged, shared by rounds and published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from synthrelease.data.axes import with_merged_bins
from synthrelease.data.layout import Layout
from synthrelease.measurements.cube_law import cube_sd, entry_limit
from synthrelease.measurements.noise import CountNoise, DiscreteLaplace
from synthrelease.measurements.rare_bins import NoisyBin, merged
from synthrelease.measurements.scored_sums import ScoredSum, merged_scores


@dataclass(frozen=True, kw_only=True)
class NoisyMarginal:
    """One measured sub-table.

    Attributes
    ----------
    columns : increasing indices of its columns.
    values : int64, one axis per column: counts plus independent noise per cell.
    cost : what it cost: an epsilon, or a rho where the noise is Gaussian.
    cells : how many noisy cells were added up in each of `values`; 1 as measured.
    kind : the kind of noise, whose scale follows from the cost.
    """

    columns: tuple[int, ...]
    values: np.ndarray
    cost: Fraction
    cells: np.ndarray
    kind: type[CountNoise] = DiscreteLaplace

    @cached_property
    def noise(self) -> CountNoise:
        """The law of the noise of one cell."""
        return self.kind.of_table(self.cost)

    def variance(self) -> np.ndarray:
        """Noise variance of each value; of Laplace noise that of the continuous law of the same scale, an upper bound."""
        return self.cells * self.noise.variance_above

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginal:
        """The same measurement on coarser bins. Post-processing."""
        values, cells = self.values, self.cells
        for axis, column in enumerate(self.columns):
            values, cells = (with_merged_bins(array, axis, maps[column], layout.sizes[column]) for array in (values, cells))
        return replace(self, values=values, cells=cells)


@dataclass(frozen=True, kw_only=True)
class NoisySum:
    """One measured sum of public scores over all rows.

    Attributes
    ----------
    text : its factors, as the configuration names them.
    columns : increasing indices of its columns.
    scores : one axis per column: what a row of each cell adds, from 0 to `scored_sums.STEPS`; on merged bins, in the mean.
    value : the sum plus discrete Laplace noise of scale `sensitivity` / epsilon, or its part of a noise that several share.
    epsilon : what it cost, or all that share its noise cost together.
    sensitivity : how far one replaced record moves the sum: the highest score as measured, the lowest being 0.
    exact : whether `value` is the sum of `scores` over the rows, but for its noise: not where bins of different scores were
        merged, nor where own values were added up.
    own : the sum of own values, where they were; `scores` are then what the numbers of bins lead to.
    together : how many sums share its noise (theory 9.18, one noise for many numbers); they stand one after the other.
    """

    text: str
    columns: tuple[int, ...]
    scores: np.ndarray
    value: int
    epsilon: Fraction
    sensitivity: int
    exact: bool = True
    own: ScoredSum | None = None
    together: int = 1

    @property
    def variance(self) -> float:
        """Of its noise; where it has one of its own that of continuous Laplace noise of the same scale, an upper bound."""
        scale = self.sensitivity / self.epsilon
        return 2.0 * float(scale) ** 2 if self.together == 1 else cube_sd(self.together, scale) ** 2

    def limit(self, risk: float) -> int:
        """How far the noise is off at most, at this risk."""
        return entry_limit(self.together, self.sensitivity / self.epsilon, risk)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisySum:
        """The same measurement, with the scores of coarser bins. Post-processing."""
        if self.own is not None:
            return replace(self, scores=self.own.scores(layout))
        merged = merged_scores(self.scores, self.columns, layout.sizes, maps)
        same = np.array_equal(merged[np.ix_(*(maps[column] for column in self.columns))], self.scores)
        return replace(self, scores=merged, exact=self.exact and same)


@dataclass(frozen=True, kw_only=True)
class NoisyMarginals:
    """Everything that was measured of one table, over one layout. Already private: may be published.

    Attributes
    ----------
    n : how many rows the tables and sums are of: all of them, or about how many are in no bin that is counted apart.
    rare_bins : bins whose rows are in no table and no sum.
    """

    layout: Layout
    n: int
    tables: tuple[NoisyMarginal, ...]
    sums: tuple[NoisySum, ...] = ()
    rare_bins: tuple[NoisyBin, ...] = ()

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginals:
        """The same measurements on coarser bins: column c's bin b becomes `maps[c][b]`."""
        tables = tuple(table.merge(layout, maps) for table in self.tables)
        sums = tuple(one.merge(layout, maps) for one in self.sums)
        return replace(self, layout=layout, tables=tables, sums=sums, rare_bins=merged(self.rare_bins, maps))
