"""The table [split]: which piece of a register a release reads."""

from __future__ import annotations

from pydantic import Field, model_validator

from synthrelease.settings.base import Line, SpecTable


class SplitTable(SpecTable):
    """[split]: the register is split into pieces by a secret key, once and for ever (`synthrelease ledger split`), and this
    release reads one of them. Releases that read other pieces spend on other records; the released figures are about the piece.

    Attributes
    ----------
    by : the column of the private file with the record number: public, in every row, none twice, and no column of the release.
        Example: `by = "certificate"`, `piece = 1`, `of = 2`.
    piece : which piece this release reads, 1 to `of`. Example: `piece = 1`, `by = "certificate"`, `of = 2`.
    of : into how many pieces the register is split, as the ledger says, too. Example: `of = 2`, `by = "certificate"`,
        `piece = 1`.
    """

    by: Line = Field(min_length=1, max_length=200)
    piece: int = Field(ge=1)
    of: int = Field(ge=2, le=1000)

    @property
    def numbers_records(self) -> bool:
        """By its column."""
        return True

    @property
    def several_releases(self) -> bool:
        """Others read the other pieces."""
        return True

    @model_validator(mode="after")
    def _there_is_one(self) -> SplitTable:
        if self.piece > self.of:
            raise ValueError(f"piece must be 1 to {self.of}, found {self.piece}")
        return self


TABLE = SplitTable
