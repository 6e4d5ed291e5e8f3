"""A noisy table of respondents, raked to known margins; its cells then are strata with totals (Merrill 2021, section 7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthrelease.studio.rehearsal.surrogates import GroupSums, fit
from tests.reproduction.imputation import STEPS, Neighbours

# Theory 11.8, weighted count.
#
# All counts get Laplace noise. Cells that came out at 0 or below, though people can be there, are joined with a neighbour, as
# whole slices, so that the cells stay a product of groups: this looks at the noisy table alone. Iterative proportional fitting
# then gives every cell an estimate of its population, and the private file is not looked at again for it.

TOLERANCE = 1e-6
"""How far a fitted margin may be off, as a share of the population."""


class NotRaked(ValueError):
    """Totals that no table has, or a noisy table that no joining makes positive."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RakedTable:
    """Cells that are products of groups of bins, with their estimated population.

    Attributes
    ----------
    into : per axis, (n_bins,) the group of every bin.
    population : one axis of groups per axis of bins; 0 where nobody can be.
    """

    into: tuple[np.ndarray, ...]
    population: np.ndarray

    @property
    def stratum(self) -> np.ndarray:
        """Return (n_cells,) the stratum of every cell of the fine table, counted in the order of the cells; -1 where nobody
        can be."""
        strata = np.full(self.population.size, -1)
        inhabited = np.flatnonzero(self.population.ravel() > 0)
        strata[inhabited] = np.arange(len(inhabited))
        return strata.reshape(self.population.shape)[np.ix_(*self.into)].ravel()

    @property
    def totals(self) -> np.ndarray:
        """Return (n_strata,) the population of every stratum."""
        return self.population.ravel()[self.population.ravel() > 0]


def noisy_counts(
    counts: np.ndarray, possible: np.ndarray, epsilon: float, neighbours: Neighbours, generator: np.random.Generator
) -> np.ndarray:
    """Counts with discrete Laplace noise, 0 where nobody can be.

    Privacy: epsilon-DP. One added or removed record moves one count by 1: scale 1 / epsilon. A replaced one moves two: 2 /
    epsilon.

    Parameters
    ----------
    counts, possible : of one shape; whether anybody can be in a cell is public.
    """
    stop = -np.expm1(-epsilon / STEPS[neighbours])
    noise = generator.geometric(stop, counts.shape) - generator.geometric(stop, counts.shape)
    return np.where(possible, counts + noise, 0)


def raked_to(noisy: np.ndarray, possible: np.ndarray, margins: Mapping[tuple[int, ...], np.ndarray]) -> RakedTable:
    """Join until all cells that can hold people are positive, then fit the margins. Post-processing of a noisy table.

    Parameters
    ----------
    margins : known totals over some axes, in their order, of the fine bins.

    Raises
    ------
    NotRaked : for totals that contradict each other or the cells in which nobody can be, or a noisy table without people.
    """
    _check(margins)
    into = [np.arange(size) for size in noisy.shape]
    table, open_ = noisy.astype(float), possible
    while np.any(open_ & (table <= 0)):
        axis, group = _to_join(table, open_)
        table, open_ = _joined_noisy(table, axis, group, np.add), _joined_noisy(open_, axis, group, np.logical_or)
        into[axis] = into[axis] - (into[axis] > group)
    fitted = []
    cell_indices = np.indices(table.shape)
    for axes, totals in margins.items():
        coarse = totals
        for position, axis in enumerate(axes):
            coarse = np.stack(
                [coarse.compress(into[axis] == group, position).sum(position) for group in range(table.shape[axis])], position
            )
        cells = np.ravel_multi_index(tuple(cell_indices[axis].ravel() for axis in axes), coarse.shape)
        fitted.append(GroupSums(groups=cells, target=coarse.ravel().astype(float)))
    population = fit(table.ravel(), fitted)
    whole = population.sum()
    if not all(np.allclose(margin.of(population), margin.target, rtol=0, atol=TOLERANCE * whole) for margin in fitted):
        raise NotRaked("expected totals that a table with these cells can have")
    return RakedTable(into=tuple(into), population=population.reshape(table.shape))


def _check(margins: Mapping[tuple[int, ...], np.ndarray]) -> None:
    """Raise NotRaked unless the margins agree in the axes that they share."""
    for axes, totals in margins.items():
        if not (np.all(totals >= 0) and totals.sum() > 0):
            raise NotRaked("expected totals of at least 0, and not all of them 0")
        for further_axes, further_totals in margins.items():
            shared = set(axes) & set(further_axes)
            first, second = (
                margin.sum(axis=tuple(position for position, axis in enumerate(margin_axes) if axis not in shared))
                for margin_axes, margin in ((axes, totals), (further_axes, further_totals))
            )
            if not np.allclose(first, second, rtol=1e-9):
                raise NotRaked("expected margins that agree in what they share, found totals that contradict each other")


def _to_join(table: np.ndarray, open_: np.ndarray) -> tuple[int, int]:
    """The axis with the most groups left, and the lower of two groups: the first bad cell's and its smaller neighbour."""
    axis = int(np.argmax(table.shape))
    if table.shape[axis] == 1:
        raise NotRaked("expected a noisy table with people in it")
    group = int(np.argwhere(open_ & (table <= 0))[0][axis])
    sizes = table.sum(axis=tuple(axis_ for axis_ in range(table.ndim) if axis_ != axis))
    if group == len(sizes) - 1 or (group and sizes[group - 1] <= sizes[group + 1]):
        group -= 1
    return axis, group


def _joined_noisy(table: np.ndarray, axis: int, group: int, join: np.ufunc) -> np.ndarray:
    """The table with slice `group` + 1 taken into slice `group`."""
    return join.reduceat(table, [index for index in range(table.shape[axis]) if index != group + 1], axis=axis)


# Post-stratified weights, how large they can get, a choice of strata, and one weighted count (Merrill 2021, chapter 7).
#
# A respondent's weight is its base weight times the known total of its stratum over the base weights of all who answered there.
# So it depends on who else answered, and one record can move a weighted count by as much as the largest weight, here bounded by
# smooth sensitivity (theory 11.7, potential weights; theory 11.8, weighted count; theory 11.9, choice of strata). For public
# data alone: a release refuses it and weights the accepted table afterwards, at no cost (docs/weights.md).
