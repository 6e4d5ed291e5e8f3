"""The table [partition]: random pieces of the rows, one for the generator and one for the criteria."""

from __future__ import annotations

from fractions import Fraction

from pydantic import Field, model_validator

from synthrelease.settings.base import SpecTable


class PartitionTable(SpecTable):
    """[partition]: the rows are divided at random, once, and the generator is fitted to one piece while the criteria ask the
    other. A record then costs what its piece spends, not the sum. The released table has as many rows as the piece that the
    criteria ask, and its figures are about that piece: thresholds must bear how it differs from the whole by chance.

    Attributes
    ----------
    fit : the share of the rows that the generator is fitted to. Example: `fit = 0.5`, `score = 0.5`.
    score : the share of the rows that the criteria ask; both together are 1. Example: `score = 0.5`, `fit = 0.5`.
    """

    fit: Fraction = Field(gt=0, lt=1)
    score: Fraction = Field(gt=0, lt=1)

    @model_validator(mode="after")
    def _whole(self) -> PartitionTable:
        if self.fit + self.score != 1:
            raise ValueError(f"fit and score must add up to 1, found {float(self.fit + self.score):g}")
        return self


TABLE = PartitionTable
