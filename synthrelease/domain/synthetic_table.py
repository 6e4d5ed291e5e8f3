"""A synthetic table as criteria look at it, whatever it was made by: a candidate of a round, a copy, or made-up rows."""

from __future__ import annotations

from typing import Protocol

from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Transformation


class SyntheticTable(Protocol):
    """Distinct rows over the bins of a transformation. Differentially private already, or of public rows: public.

    Attributes
    ----------
    transformation : the binning of every column.
    counts : of the rows, over the layout of the transformation.
    n : the number of rows.
    """

    @property
    def transformation(self) -> Transformation: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def n(self) -> int: ...
