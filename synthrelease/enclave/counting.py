"""How many rows there are of each cell: a sum over the pieces of a file, or over files, in any order.

Rows that have a bin in every column are counted, also those that a rule forbids: a rule is a mask over cells, so it is asked
once for each cell that occurs, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.domain.counts import Counts, Tally
from synthrelease.domain.schema import Layout
from synthrelease.enclave.values import Digits

DENSE = 2**24
"""Layouts of at most so many cells are counted in one array (128 MiB, of which only what is used takes memory)."""


class CellCount:
    """The cells of the rows that were added, and how often each occurs."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._dense = np.zeros(layout.n_cells, dtype=np.int64) if layout.n_cells <= DENSE else None
        self._others = Tally(layout)
        self._kind: type[np.int64] | type[np.int32] = np.int64 if self._dense is None else np.int32

    def add(self, digits: Sequence[Digits]) -> None:
        """Count the rows of a piece that have a bin in every column. The bins of one column each."""
        kept = _rows_with_bins(digits)
        if not self._layout.has_codes:
            self._others.add(Counts.of(self._layout, [_part(each, kept) for each in digits]))
            return
        codes: np.ndarray = np.zeros(len(digits[0].codes), dtype=self._kind)
        for each, stride in zip(digits, self._layout.strides, strict=True):
            codes += (np.maximum(each.of_text, 0) * stride).astype(self._kind)[each.codes]
        codes = codes if kept is None else codes[kept]
        if self._dense is not None:
            np.add.at(self._dense, codes, 1)
        else:
            codes.sort()
            self._others.add(Counts.of_sorted(self._layout, codes))

    def total(self) -> Counts:
        """All that was added."""
        if self._dense is None:
            return self._others.total()
        codes = np.flatnonzero(self._dense)
        return Counts(self._layout, codes, self._dense[codes])


def _rows_with_bins(digits: Sequence[Digits]) -> np.ndarray | None:
    """(n_rows,) whether a row has a bin in every column; None where all have."""
    without = [each for each in digits if each.of_text.min(initial=0) < 0]
    return np.all([(each.of_text >= 0)[each.codes] for each in without], axis=0) if without else None


def _part(digits: Digits, kept: np.ndarray | None) -> np.ndarray:
    return digits.of_text[digits.codes if kept is None else digits.codes[kept]]
