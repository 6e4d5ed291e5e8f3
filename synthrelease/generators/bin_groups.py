"""Bins that are too small for their noise are put together, and divided again in the rows. All of it is post-processing.

A model of groups is smaller, and its tables have less noise. Bins go into one group only where every plausibility rule treats
them alike, so that a row of groups is plausible just when each row of its bins is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.generators.bayesian_network import nearest_on_simplex, systematic_rounding

_REST = 0.4
"""Of the rows that a group of neighbours needs: so many are enough beside a group that has them."""


def split_masks(masks: Sequence[Mask]) -> list[Mask]:
    """Return the rules as masks of two columns, none of them superfluous, where such masks are equivalent; rules that share a
    column are joined.
    """
    return [part for mask in masks for part in _pairs_of(mask)]


def _pairs_of(mask: Mask) -> list[Mask]:
    allowed, axes = ~mask.forbidden, range(mask.forbidden.ndim)
    if len(mask.columns) <= 2:
        return [mask]

    shadows = {
        pair: np.asarray(allowed.any(axis=tuple(axis for axis in axes if axis not in pair))) for pair in combinations(axes, 2)
    }
    shadows = {pair: shadow for pair, shadow in shadows.items() if not shadow.all()}
    if not np.array_equal(_all_of(shadows, allowed.shape), allowed):
        return [mask]
    for pair in sorted(shadows, key=lambda pair: -float(shadows[pair].mean())):  # those that forbid least, first
        others = {other: shadow for other, shadow in shadows.items() if other != pair}
        if np.array_equal(_all_of(others, allowed.shape), allowed):
            shadows = others
    return [Mask(columns=(mask.columns[a], mask.columns[b]), forbidden=~shadow) for (a, b), shadow in shadows.items()]


def _all_of(shadows: dict[tuple[int, int], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    allowed = np.ones(shape, dtype=bool)
    for pair, shadow in shadows.items():
        allowed &= shadow.reshape([size if axis in pair else 1 for axis, size in enumerate(shape)])
    return allowed


def rule_classes(column: int, size: int, masks: Sequence[Mask]) -> list[int]:
    """Return a number for every bin of a column: the same for bins that all rules treat alike."""
    signs: list[tuple[bytes, ...]] = [()] * size
    for mask in masks:
        if column in mask.columns:
            slices = np.moveaxis(mask.forbidden, mask.columns.index(column), 0).reshape(size, -1)
            signs = [(*sign, np.packbits(part).tobytes()) for sign, part in zip(signs, slices, strict=True)]
    numbers: dict[tuple[bytes, ...], int] = {}
    return [numbers.setdefault(sign, len(numbers)) for sign in signs]


def groups_of(counts: np.ndarray, classes: Sequence[int], ordered: int, least: float, least_ordered: float) -> np.ndarray:
    """Return the (n_bins,) group of every bin, numbered from 0 in the order of their first bins; where nothing is put together,
    each bin is its own group.

    Parameters
    ----------
    counts : noisy counts of the bins.
    ordered : the first so many bins are in order: of these, neighbours are put together until they have `least_ordered`
        rows. Of the others those below `least` rows are put together.
    """
    into = np.full(len(counts), -1, dtype=np.int64)
    groups = 0
    for start, stop in _runs(classes[:ordered]):
        groups = _put_neighbours_together(counts, into, start, stop, groups, least_ordered)
    for number in dict.fromkeys(classes[ordered:]):
        members = [b for b in range(ordered, len(counts)) if classes[b] == number]
        small = [b for b in members if counts[b] < least]
        for b in members:
            if b not in small:
                into[b], groups = groups, groups + 1
        if small:
            into[small], groups = groups, groups + 1
    first = np.unique(into, return_index=True)[1]
    return np.argsort(np.argsort(first))[into]


def _runs(classes: Sequence[int]) -> list[tuple[int, int]]:
    """Return start and end of every run of equal numbers."""
    starts = [b for b in range(len(classes)) if b == 0 or classes[b] != classes[b - 1]]
    return list(zip(starts, [*starts[1:], len(classes)], strict=True)) if starts else []


def _put_neighbours_together(counts: np.ndarray, into: np.ndarray, start: int, stop: int, groups: int, least: float) -> int:
    """Number the groups of one run of bins from `groups` on; the next free number.

    A bin that is large enough alone takes neither those before it nor those after it, if these have `_REST` of `least` rows:
    the many at zero say nothing about the few above it. What is left over and has less joins the last group.
    """
    positive, held, opened = np.maximum(counts, 0), 0.0, False
    for b in range(start, stop):
        full = held >= least or (positive[b] >= least and held >= _REST * least)
        if opened and full and positive[b:stop].sum() >= _REST * least:
            groups, held = groups + 1, 0.0
        into[b], opened = groups, True
        held += float(positive[b])
    return groups + 1


def grouped_rules(masks: Sequence[Mask], maps: Sequence[np.ndarray], layout: Layout) -> Plausibility:
    """Return the masks over groups of bins: a group is allowed where any of its bins is."""
    first = [np.unique(into, return_index=True)[1] for into in maps]
    grouped = []
    for mask in masks:
        forbidden = mask.forbidden
        for axis, column in enumerate(mask.columns):
            forbidden = forbidden.take(first[column], axis=axis)
        grouped.append(Mask(columns=mask.columns, forbidden=forbidden))
    return Plausibility(layout=layout, masks=tuple(grouped))


def divided(groups: np.ndarray, into: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return (n_rows,) a bin inside its group for every row: in proportion to the nearest non-negative counts, systematically
    rounded.

    Parameters
    ----------
    groups : (n_rows,) the group of every row.
    counts : (n_bins,) noisy counts.
    """
    bins = np.zeros(len(groups), dtype=np.min_scalar_type(len(into) - 1))
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=int(into.max()) + 1))
    for group, stop in enumerate(ends.tolist()):
        rows, members = order[ends[group - 1] if group else 0 : stop], np.flatnonzero(into == group)
        if len(rows):
            total = float(len(rows))
            shares = nearest_on_simplex(counts[members].astype(float), total, np.ones(len(members), dtype=bool))
            bins[rows] = generator.permutation(np.repeat(members, systematic_rounding(shares, len(rows), generator)))
    return bins
