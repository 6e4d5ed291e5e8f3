"""Before a fit, group bins that have too few rows for their noise. In the drawn rows, divide the groups into bins again.

All of this is post-processing. A model over groups is smaller, and its tables have less noise. Bins form a group only if
every plausibility rule treats them alike, so that rules hold for groups as for bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.generators.bayesian_network import nearest_on_simplex, systematic_rounding

# A group of neighbouring bins needs only this share of the required rows if an adjacent group has all required rows.
_REST = 0.4


def split_masks(masks: Sequence[Mask]) -> list[Mask]:
    """Replace masks (rules) over more than two columns by equivalent masks over pairs of columns, where possible."""
    return [part for mask in masks for part in _pairs_of(mask)]


def _pairs_of(mask: Mask) -> list[Mask]:
    """Return masks over pairs of columns that forbid the same rows as this mask, or the mask itself if there are none."""
    allowed, axes = ~mask.forbidden, range(mask.forbidden.ndim)
    if len(mask.columns) <= 2:
        return [mask]

    shadows = {
        pair: np.asarray(allowed.any(axis=tuple(axis for axis in axes if axis not in pair))) for pair in combinations(axes, 2)
    }
    shadows = {pair: shadow for pair, shadow in shadows.items() if not shadow.all()}
    if not np.array_equal(_all_of(shadows, allowed.shape), allowed):
        return [mask]
    for pair in sorted(shadows, key=lambda pair: -float(shadows[pair].mean())):  # masks that forbid the fewest cells come first
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
    """Return a class number for every bin of a column, equal for bins that every rule treats alike."""
    signs: list[tuple[bytes, ...]] = [()] * size
    for mask in masks:
        if column in mask.columns:
            slices = np.moveaxis(mask.forbidden, mask.columns.index(column), 0).reshape(size, -1)
            signs = [(*sign, np.packbits(part).tobytes()) for sign, part in zip(signs, slices, strict=True)]
    numbers: dict[tuple[bytes, ...], int] = {}
    return [numbers.setdefault(sign, len(numbers)) for sign in signs]


def groups_of(counts: np.ndarray, classes: Sequence[int], ordered: int, least: float, least_ordered: float) -> np.ndarray:
    """Group bins with few rows. Return the (n_bins,) group of every bin, numbered in the order of their first bins.

    Parameters
    ----------
    classes : the class number of every bin (`rule_classes`); only bins of one class are grouped.
    ordered : how many leading bins are ordered. Neighbours among them are grouped until a group has `least_ordered` rows.
    least : unordered bins with fewer rows are grouped.
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
    starts = [b for b in range(len(classes)) if b == 0 or classes[b] != classes[b - 1]]
    return list(zip(starts, [*starts[1:], len(classes)], strict=True)) if starts else []


def _put_neighbours_together(counts: np.ndarray, into: np.ndarray, start: int, stop: int, groups: int, least: float) -> int:
    """Group the ordered bins from `start` to `stop` - 1 into neighbours with at least `least` rows, and write the group
    numbers, from `groups` on, into `into`. Return the next free number.

    A bin with enough rows stays alone if the bins before or after it have at least the share `_REST` of `least` rows: many
    rows at zero say nothing about a few rows above zero. Remaining bins with too few rows join the last group.
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
    """Translate rules about bins into rules about groups of merged bins. Every rule must treat all bins of a group alike."""
    first = [np.unique(into, return_index=True)[1] for into in maps]
    grouped = []
    for mask in masks:
        forbidden = mask.forbidden
        for axis, column in enumerate(mask.columns):
            forbidden = forbidden.take(first[column], axis=axis)
        grouped.append(Mask(columns=mask.columns, forbidden=forbidden))
    return Plausibility(layout=layout, masks=tuple(grouped))


def divided(groups: np.ndarray, into: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw a bin for every row of a group, in proportion to noisy counts, made non-negative. Return the (n_rows,) bins.

    Parameters
    ----------
    groups : (n_rows,) the group of every row.
    into : (n_bins,) the group of every bin.
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
