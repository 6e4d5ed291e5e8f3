"""Which rows are the same: sorted words, of which each stands for the bins of several columns (`Layout.words`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EqualRows:
    """Rows in the order of their words, and where each group of equal rows starts in it.

    Attributes
    ----------
    order : (n_rows,) indices of the rows, equal ones side by side.
    starts : (n_groups,) where the groups start in `order`.
    """

    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: Sequence[np.ndarray]) -> EqualRows:
        """Of rows that are given by the (n_rows,) integers of every word, the first word most significant; at least one.

        A word stands for many columns, so the first alone puts nearly all rows in order; by the others those are sorted that it
        leaves together.
        """
        order = np.argsort(words[0], kind="stable")  # linear where whole tables in their order stand one after the other
        ordered = words[0][order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = ordered[1:] != ordered[:-1]
        if len(words) > 1:
            tied = ~new
            tied[:-1] |= ~new[1:]
            places = np.flatnonzero(tied)
            rows = order[places]
            rows = order[places] = rows[np.lexsort([word[rows] for word in reversed(words)])]
            for word in words[1:]:
                ordered = word[rows]
                new[places[1:]] |= ordered[1:] != ordered[:-1]
        return cls(order, np.flatnonzero(new))

    @property
    def first(self) -> np.ndarray:
        """(n_groups,) a row of each group."""
        return self.order[self.starts]

    @property
    def ranks(self) -> np.ndarray:
        """(n_rows,) the number of each row's group."""
        new = np.zeros(len(self.order), dtype=np.int64)
        new[self.starts[1:]] = 1
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.cumsum(new)
        return ranks

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(n_groups,) exact sums of the integers of the rows of each group."""
        return np.add.reduceat(values[self.order], self.starts) if len(values) else values


def places_in(haystack: Sequence[np.ndarray], needles: Sequence[np.ndarray]) -> np.ndarray:
    """(n_needles,) where each row stands among the rows of the haystack, which are different and in order; -1 where it is not.

    Parameters
    ----------
    haystack, needles : the words of the rows of either, as for `EqualRows.of`.
    """
    length = len(haystack[0])
    if len(haystack) > 1:
        ranks = EqualRows.of([np.concatenate(both) for both in zip(haystack, needles, strict=True)]).ranks
        haystack, needles = [ranks[:length]], [ranks[length:]]
    if not length:
        return np.full(len(needles[0]), -1)
    found = np.minimum(np.searchsorted(haystack[0], needles[0]), length - 1)
    return np.where(haystack[0][found] == needles[0], found, -1)


def dense_sums(codes: np.ndarray, values: np.ndarray, n_cells: int) -> np.ndarray:
    """(n_cells,) exact sums of the integers of the rows of every cell."""
    return Addends(values).sums(codes, n_cells)


class Addends:
    """Integers of rows that are added up by cells, perhaps by many kinds of cells, one after the other."""

    def __init__(self, values: np.ndarray):
        self._values, self._only, self._doubles = values, 0, None
        if len(values) and values[0] in (1, -1) and values.min() == values.max():  # most rows of a wide table occur once
            self._only = int(values[0])
            return
        doubles = values.astype(float)
        # bincount adds doubles, which is exact while the absolute sum stays below 2**53
        self._doubles = doubles if np.abs(doubles).sum() < 2.0**53 else None

    def sums(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """(n_cells,) their exact sums where these are the cells of the rows."""
        if self._only:
            return np.bincount(codes, minlength=n_cells) * self._only
        if self._doubles is not None:
            return np.bincount(codes, weights=self._doubles, minlength=n_cells).astype(np.int64)
        dense = np.zeros(n_cells, dtype=np.int64)
        np.add.at(dense, codes, self._values)
        return dense
