"""The private half of `mean_of_roots`: the largest error, over all groups, of a mean over roots, such as households.

Private: the counts of the table by root, with the exact values of its members. Out: an exact criterion value, only for
`criteria.base_mechanism`, which adds the noise; the same functions also read candidates, which are public.

Neighbours replace one root with all its members, and the sensitivity is (b - a)/m. The number of a root is clipped to the
public range [a, b], whatever members the root has. Let a group have m released roots. A root in the group adds a value from an
interval of length (b - a)/m to the error of the group. A root outside of the group adds 0, and the interval contains 0 (theory
3.23, means over roots). The number of a root is a function of this root alone and is computed elementwise. Sums of these
numbers are correctly rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from synthrelease.criteria.groupings import Grouping
from synthrelease.criteria.groupings_mechanism import groups_of_cells, sizes
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts, atoms_of
from synthrelease.data.schema import Transformation


def furthest_mean_of_roots(counts: Counts, numbers: NumbersOfRoots, groups: Sequence[ReleasedRoots]) -> float:
    return max(float(group.errors(*numbers.of_original(counts, group.grouping)).max()) for group in groups)


@dataclass(frozen=True, kw_only=True)
class ReleasedRoots:
    """A candidate's (n_groups,) numbers of roots, and sums of (number - centre) over them."""

    grouping: Grouping
    roots: np.ndarray
    sums: np.ndarray

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.sums / np.maximum(self.roots, 1))

    def errors(self, roots: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return the (n_groups,) errors |sum - mean * roots| / m. Sums and roots are those of the original table; the mean,
        and the number m of roots, those of the candidate."""
        return np.abs(sums - self.means * roots) / np.maximum(self.roots, 1)


@dataclass(frozen=True, kw_only=True)
class NumbersOfRoots:
    """Compute the number that a criterion assigns to every root, such as the mean age of a household, from its members'
    values.

    Attributes
    ----------
    columns : the columns of the members, or the single column of the root.
    scores : for each column, the (n_bins,) value of a member in each released bin, NaN if missing. With "agreement", the
        value is the index of the bin or group.
    own : whether the original table uses exact values.
    range : the limits to which a root's number is clipped.
    centre : the middle of the range, subtracted from the numbers.
    """

    transformation: Transformation
    columns: tuple[str, ...]
    number: Literal["agreement", "sum", "mean"]
    scores: tuple[np.ndarray, ...]
    own: bool
    range: tuple[float, float]
    centre: float

    def of_released(self, table: Counts, grouping: Grouping) -> ReleasedRoots:
        """Return a candidate's roots in each group, and the sum of (number - centre) over them, with representative values."""
        roots, sums = self._added(table, grouping, self.scores)
        return ReleasedRoots(grouping=grouping, roots=roots, sums=sums)

    def of_original(self, table: Counts, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n_groups,) numbers of roots in the original table, and the sums of (number - centre) over them.
        Cached for candidates with the same bins."""

        def added() -> tuple[np.ndarray, np.ndarray]:
            if not self.own:
                return self._added(table, grouping, self.scores)
            rows, on_atoms = atoms_of(table, self.transformation), grouping.on_atoms(self.transformation)
            return self._added(rows, on_atoms, self._own_scores)

        bins = tuple(scores.tobytes() for scores in self.scores)
        key = ("numbers of roots", self.columns, self.number, self.own, self.range, bins, grouping.name)
        return table.cached(key, added) if isinstance(table, BinnedCounts) else added()

    @cached_property
    def _own_scores(self) -> tuple[np.ndarray, ...]:
        return tuple(self.transformation.schema[name].atoms.known_numbers for name in self.columns)

    def _added(self, table: Counts, grouping: Grouping, scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        layout = self.transformation.layout
        scores_of_cells = [score[table.digits(layout.index(name))] for name, score in zip(self.columns, scores, strict=True)]
        numbers, counted = self._numbers(scores_of_cells)
        groups = groups_of_cells(table, grouping)
        roots = sizes(table, groups, counted, len(grouping))
        products = table.counts * (np.clip(numbers, *self.range) - self.centre)
        inside = [counted & (groups == group) for group in range(len(grouping))]
        return roots, np.array([math.fsum(products[cells].tolist()) for cells in inside])

    def _numbers(self, scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n_cells,) number h of the roots in each cell, and a mask of the cells whose roots have one.

        Parameters
        ----------
        scores : for each member, the (n_cells,) values, or NaN without such a member or value.
        """
        present = [np.isfinite(numbers) for numbers in scores]
        if self.number == "agreement":
            pairs, total = np.zeros(len(scores[0])), np.zeros(len(scores[0]))
            for slot, one in enumerate(scores):
                for earlier, earlier_present in zip(scores[:slot], present[:slot], strict=True):
                    pairs += present[slot] & earlier_present
                    total += one == earlier
            return total / np.maximum(pairs, 1), pairs > 0
        members, total = np.sum(present, axis=0), np.zeros(len(scores[0]))
        with np.errstate(over="ignore"):  # infinite sums are clipped later
            for one, valued in zip(scores, present, strict=True):
                total[valued] += one[valued]
        if self.number == "sum":
            return total, np.ones(len(total), dtype=bool)
        return total / np.maximum(members, 1), members > 0
