"""What is measured of a member is expected of those after it, until they are measured themselves. It is all post-processing.

Few roots have a third or a fourth member, so tables of these drown in noise. Their columns are those of the second one, though,
and hang together much as there. So slots from the second on have the same groups of bins, and a table of one slot lends later
slots its interactions (factors of a log-linear model, without the margins): the fit starts from there, and what is measured of
a later slot is fitted on top, as a deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.junction_tree import Columns, JunctionTree, spread
from synthrelease.candidates.generators.proportional_fitting import ProportionalFit
from synthrelease.linked import Linked

_STRONGEST = 4.0
"""Of an interaction, a logarithm: what is nearly impossible for one member may be rare for another."""

_CENTRINGS = 20
"""Rounds of taking out both margins: the weights are uneven, so that one round leaves a little."""

Kind = tuple[int, int, int]
"""A table of two columns in some slot: the number of the first column among those of roots or of a member; that of the second
one among those of a member; and whether the first is of the root (0), of the same member (1) or of the first member (2)."""


@dataclass(frozen=True, kw_only=True)
class Lent:
    """The interactions of a measured table, lent to the same table of a later slot."""

    columns: Columns
    source: Columns


@dataclass(frozen=True, kw_only=True)
class TiedSlots:
    """Which columns of a layout are the same column of several members.

    Attributes
    ----------
    slots : for each slot its columns, in one order; none without members.
    whole : columns whose last bin is that of a member who is not there, and of nobody else.
    """

    slots: tuple[Columns, ...] = ()
    whole: frozenset[int] = frozenset()

    @classmethod
    def of(cls, linked: Linked | None, names: Sequence[str]) -> TiedSlots:
        """Those of a layout with columns of these names."""
        if linked is None:
            return cls()
        slots = tuple(tuple(names.index(name) for name in slot) for slot in linked.slots)
        return cls(slots=slots, whole=frozenset(names.index(name) for name in linked.needed))

    def together(self, tables: Sequence[np.ndarray], variances: Sequence[float]) -> tuple[list[np.ndarray], list[float]]:
        """Per column the counts by which its bins are grouped, and their noise variance: of slots from the second on, sums."""
        counts, noise = [np.asarray(table) for table in tables], list(variances)
        for same in zip(*self.slots[1:], strict=True):
            for column in same:
                counts[column] = np.sum([np.maximum(tables[other], 0) for other in same], axis=0)
                noise[column] = sum(variances[other] for other in same)
        return counts, noise

    def lent(self, measured: Sequence[Columns]) -> list[Lent]:
        """Which tables are lent to which, those of early slots first. The last slot before that was measured lends."""
        by_kind: dict[Kind, dict[int, Columns]] = {}
        for columns in measured:
            found = self._kind(columns)
            if found is not None:
                by_kind.setdefault(found[0], {})[found[1]] = columns
        lent = []
        for slot in range(2, len(self.slots)):
            for kind, sources in by_kind.items():
                before = [place for place in sources if place < slot]
                if before:
                    lent.append(Lent(columns=self._columns(kind, slot), source=sources[max(before)]))
        return lent

    def interaction(self, columns: Columns, parameters: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The parameters of a fitted table of two columns without their means by row and by column, weighted by the shares of
        its cells; 0 where the member is not there."""
        there = np.ones(shares.shape)
        for axis, column in enumerate(columns):
            if column in self.whole:
                np.moveaxis(there, axis, 0)[-1] = 0
        weights = there * (shares + 1e-12)
        found = there * parameters
        for _ in range(_CENTRINGS):
            for axis in (0, 1):
                total = weights.sum(axis=axis, keepdims=True)
                mean = (weights * found).sum(axis=axis, keepdims=True)
                found = there * (found - np.divide(mean, total, out=np.zeros_like(mean), where=total > 0))
        return np.clip(found, -_STRONGEST, _STRONGEST)

    def _kind(self, columns: Columns) -> tuple[Kind, int] | None:
        """The kind of a table and its slot, from 0; None for tables that no slot lends."""
        if len(columns) != 2:
            return None
        (first, one), (slot, other) = self._place(columns[0]), self._place(columns[1])
        if slot is None or slot == 0:
            return None
        if first is None:
            return (one, other, 0), slot
        if first == slot:
            return (one, other, 1), slot
        return ((one, other, 2), slot) if first == 0 and slot > 1 else None

    def _place(self, column: int) -> tuple[int | None, int]:
        """The slot of a column and its number among the columns of a member; None and the column for one of roots."""
        return next(((place, slot.index(column)) for place, slot in enumerate(self.slots) if column in slot), (None, column))

    def _columns(self, kind: Kind, slot: int) -> Columns:
        one, other, whose = kind
        first = one if whose == 0 else self.slots[slot if whose == 1 else 0][one]
        return first, self.slots[slot][other]


class Lending:
    """What is lent in the fit to come, from the one before.

    Parameters
    ----------
    maps : per column, (n_bins,) the group of every bin. Tables are lent where groups are the same, which rules may prevent.
    cells : of the largest clique that a table is lent to, at most.
    """

    def __init__(self, slots: TiedSlots, maps: Sequence[np.ndarray], cells: int):
        self._slots, self._maps, self._cells = slots, maps, cells
        self._lent: list[Lent] = []
        self._own: dict[Columns, np.ndarray] = {}

    def tree(self, sizes: Sequence[int], structure: Sequence[Columns], measured: Sequence[Columns]) -> JunctionTree:
        """A tree whose cliques hold the structure and all tables that are lent to, as far as none grows above the limit."""
        sets, self._lent = list(structure), []
        tree = JunctionTree.of(sizes, sets)
        for each in self._slots.lent(measured):
            if not all(map(np.array_equal, *([self._maps[column] for column in side] for side in (each.columns, each.source)))):
                continue
            if not any(set(each.columns) <= set(clique) for clique in tree.cliques):
                larger = JunctionTree.of(sizes, [*sets, each.columns])
                if larger.largest > max(self._cells, tree.largest):
                    continue
                tree = larger
            sets.append(each.columns)
            self._lent.append(each)
        return tree

    def add_to(self, base: list[np.ndarray], tree: JunctionTree) -> None:
        """Multiply a base by what is lent, in place: what the source has of its own, and what it was lent itself."""
        found: dict[Columns, np.ndarray] = {}
        for each in self._lent:  # a source is of an earlier slot, so what it was lent is known
            if each.source in self._own:
                found[each.columns] = table = self._own[each.source] + found.get(each.source, 0.0)
                home = tree.home(each.columns)
                base[home] = base[home] + spread(table, each.columns, tree.cliques[home])

    def learn(self, fit: ProportionalFit) -> None:
        """Take the interactions of the tables that lend from a fit."""
        sources = {each.source for each in self._lent}
        self._own = {}
        for number, target in enumerate(fit.targets):
            if target.columns in sources:
                own = self._slots.interaction(target.columns, fit.parameters[number], fit.margin(number))
                self._own[target.columns] = self._own.get(target.columns, 0.0) + own
