"""Plausible rows that are no record of anybody: what a table is filled up with that has too few."""

from __future__ import annotations

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.layout import Layout
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.rules import RuleError

_TRIED = 10_000
"""Rows of the sequence among which some must follow the rules that are asked of whole rows."""


class FillerRows:
    """A fixed, public sequence of plausible rows, which fills up a table that has too few.

    Row i takes, in every group of columns that rules tie together and in every other column, the allowed bin combination at
    the place i, i + 1, ... (one further for each group), over and over: all of them occur, nearly equally often. Where rules
    are asked of whole rows, or columns follow from others, those that they keep of the first ones come over and over.
    """

    def __init__(self, raw: Plausibility):
        self.layout: Layout = raw.layout
        self._groups, self._raw = raw.drawn_from(), raw
        self._kept: np.ndarray | None = None
        if raw.records or raw.counted:
            self._kept = np.flatnonzero(~raw.forbidden(self._digits(np.arange(_TRIED))))
            if not len(self._kept):
                raise RuleError("rules that leave some row possible", f"none among {_TRIED:,} rows of a public sequence")

    def first(self, size: int) -> Counts:
        """The first rows of the sequence, as counts."""
        places = np.arange(size)
        return Counts.of(self.layout, self._digits(places if self._kept is None else self._kept[places % len(self._kept)]))

    def _digits(self, places: np.ndarray) -> list[np.ndarray]:
        digits = [np.zeros(len(places), dtype=np.int64)] * len(self.layout.sizes)
        for shift, (columns, allowed) in enumerate(self._groups):
            chosen = allowed[(places + shift) % len(allowed)]
            for axis, column in enumerate(columns):
                digits[column] = chosen[:, axis]
        self._raw.follow(digits)
        return digits
