"""How far two tables of roots with members are from each other: pairs of columns of roots, of members, and of two members."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked

# Each is a mean total variation: 0 for the same, 1 for what has nothing in common. *Roots*: pairs of columns of roots, the
# number of members among them. *Members*: a column of members with another one or with one of their root, over all members of
# all roots. *Two members of a root*: a column of a member with a column of another member of the same root, over all ordered
# pairs.

ROOTS, MEMBERS, WITHIN = "roots", "members", "two members of a root"


def linked_errors(linked: Linked, table: Counts, copy: Counts) -> dict[str, float]:
    """The mean over pairs of columns of each kind; a kind without pairs, or without members, has none.

    Parameters
    ----------
    table, copy : wide records over the same layout.
    """
    first, second = (pair_tables(linked, records) for records in (table, copy))
    return {
        kind: float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(first[kind], second[kind], strict=True)]))
        for kind in first
        if first[kind] and first[kind][0].sum() and second[kind][0].sum()
    }


def pair_tables(linked: Linked, table: Counts) -> Mapping[str, list[np.ndarray]]:
    """The tables of all pairs of columns of each kind, as shares."""
    names, sizes, weight = table.layout.columns, table.layout.sizes, table.counts
    bins = [bin_.astype(np.int64) for bin_ in table.bins]
    n_members = linked.numbers(bins[names.index(linked.size)])
    of_roots = [names.index(name) for name in linked.of_roots(names)]
    slots = [[names.index(name) for name in slot] for slot in linked.slots]
    filled = [np.flatnonzero(n_members > slot_index) for slot_index in range(len(slots))]
    member_columns = range(len(slots[0]))

    def shares(a: int, b: int, parts: list[tuple[int, int, np.ndarray]]) -> np.ndarray:
        """Return the shares of the pairs of bins of some rows, each with the columns that stand for a and b there; all of them
        have as many bins as a and b."""
        counts = np.zeros(sizes[a] * sizes[b])
        for first_column, second_column, rows in parts:
            code = bins[first_column][rows] * sizes[b] + bins[second_column][rows]
            counts += np.bincount(code, weights=weight[rows], minlength=len(counts))
        return counts / max(1.0, counts.sum())

    first, every = slots[0], np.arange(len(weight))
    pairs = [(i, j) for i, j in product(range(len(slots)), repeat=2) if i != j]
    return {
        ROOTS: [shares(a, b, [(a, b, every)]) for a, b in combinations(of_roots, 2)],
        MEMBERS: [
            shares(first[a], first[b], [(slot[a], slot[b], rows) for slot, rows in zip(slots, filled, strict=True)])
            for a, b in combinations(member_columns, 2)
        ]
        + [
            shares(a, first[b], [(a, slot[b], rows) for slot, rows in zip(slots, filled, strict=True)])
            for a, b in product(of_roots, member_columns)
        ],
        WITHIN: [
            shares(first[a], first[b], [(slots[i][a], slots[j][b], filled[max(i, j)]) for i, j in pairs])
            for a, b in product(member_columns, repeat=2)
        ]
        if pairs
        else [],
    }


def shuffled(table: Counts, linked: Linked, generator: np.random.Generator) -> Counts:
    """The same roots with as many members as they have, and the same members, in any roots."""
    names = table.layout.columns
    columns = [table.rows(column) for column in range(len(names))]
    n_members = linked.numbers(columns[names.index(linked.size)])
    slots = [[names.index(name) for name in slot] for slot in linked.slots]
    filled = [np.flatnonzero(n_members > position) for position in range(len(slots))]
    order = generator.permutation(sum(map(len, filled)))
    for same in zip(*slots, strict=True):  # one column of members, in every slot
        everybody = np.concatenate([columns[slot_column][roots] for slot_column, roots in zip(same, filled, strict=True)])[
            order
        ]
        parts = np.split(everybody, np.cumsum([len(roots) for roots in filled])[:-1])
        for slot_column, roots, part in zip(same, filled, parts, strict=True):
            columns[slot_column] = columns[slot_column].copy()
            columns[slot_column][roots] = part
    return Counts.of(table.layout, columns)
