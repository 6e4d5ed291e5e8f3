"""How far two tables of roots with members are from each other: pairs of columns of roots, of members, and of two members.

Each is a mean total variation: 0 for the same, 1 for what has nothing in common. *Roots*: pairs of columns of roots, the
number of members among them. *Members*: a column of members with another one or with one of their root, over all members of all
roots. *Two members of a root*: a column of a member with a column of another member of the same root, over all ordered pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked

ROOTS, MEMBERS, WITHIN = "roots", "members", "two members of a root"


def linked_errors(linked: Linked, table: Counts, other: Counts) -> dict[str, float]:
    """The mean over pairs of columns of each kind; a kind without pairs, or without members, has none.

    Parameters
    ----------
    table, other : wide records over the same layout.
    """
    one, two = (pair_tables(linked, each) for each in (table, other))
    return {
        kind: float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(one[kind], two[kind], strict=True)]))
        for kind in one
        if one[kind] and one[kind][0].sum() and two[kind][0].sum()
    }


def pair_tables(linked: Linked, table: Counts) -> Mapping[str, list[np.ndarray]]:
    """The tables of all pairs of columns of each kind, as shares."""
    names, sizes, weight = table.layout.columns, table.layout.sizes, table.counts
    bins = [each.astype(np.int64) for each in table.bins]
    number = linked.numbers(bins[names.index(linked.size)])
    of_roots = [names.index(name) for name in linked.of_roots(names)]
    slots = [[names.index(name) for name in slot] for slot in linked.slots]
    there = [np.flatnonzero(number > place) for place in range(len(slots))]
    own = range(len(slots[0]))

    def shares(a: int, b: int, parts: list[tuple[int, int, np.ndarray]]) -> np.ndarray:
        """Of some rows each with the columns that stand for a and b there; all of them have as many bins as a and b."""
        counts = np.zeros(sizes[a] * sizes[b])
        for left, right, rows in parts:
            code = bins[left][rows] * sizes[b] + bins[right][rows]
            counts += np.bincount(code, weights=weight[rows], minlength=len(counts))
        return counts / max(1.0, counts.sum())

    first, every = slots[0], np.arange(len(weight))
    pairs = [(i, j) for i, j in product(range(len(slots)), repeat=2) if i != j]
    return {
        ROOTS: [shares(a, b, [(a, b, every)]) for a, b in combinations(of_roots, 2)],
        MEMBERS: [
            shares(first[a], first[b], [(slot[a], slot[b], rows) for slot, rows in zip(slots, there, strict=True)])
            for a, b in combinations(own, 2)
        ]
        + [
            shares(a, first[b], [(a, slot[b], rows) for slot, rows in zip(slots, there, strict=True)])
            for a, b in product(of_roots, own)
        ],
        WITHIN: [
            shares(first[a], first[b], [(slots[i][a], slots[j][b], there[max(i, j)]) for i, j in pairs])
            for a, b in product(own, repeat=2)
        ]
        if pairs
        else [],
    }
