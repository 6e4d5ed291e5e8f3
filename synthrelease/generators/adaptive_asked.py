"""What an adaptive generator asks of a table that competes with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.data.layout import Columns


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A table that competes in a choice. All of it is public.

    Attributes
    ----------
    expected : int64 counts that a model gives its cells.
    weight : how much its error counts, at least 1.
    handicap : what is taken off its error, in records.
    """

    columns: Columns
    expected: np.ndarray
    weight: int
    handicap: int
