"""The part of release.json about the piece of a register that a release read."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from synthrelease.privacy.charges import Way
from synthrelease.privacy.subsets import MOST_PIECES
from synthrelease.published.base import Fact, Part


class SplitPart(Part):
    """Which piece of the register the release read. Figures, noise and table are about this piece.

    Attributes
    ----------
    by : the column of the file with the public record numbers.
    piece, of : which one of how many pieces. A secret key, which no release holds, decides which numbers belong to it.
    """

    by: str
    piece: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=2, le=MOST_PIECES)]

    @model_validator(mode="after")
    def _there_is_one(self) -> SplitPart:
        if self.piece > self.of:
            raise ValueError(f"expected a piece of {self.of}, found {self.piece}")
        return self

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Which piece was read, the specification says."""
        return (("specification", "split"),)

    @property
    def secret_piece(self) -> bool:
        """The key decides."""
        return True

    @property
    def ledger_note(self) -> str:
        """The piece that is charged."""
        return f"piece {self.piece}"

    @property
    def left_out(self) -> str:
        """The other pieces."""
        return f"Rows of other pieces of the register were left out ({self.of - 1} of {self.of})."

    @property
    def figures_about(self) -> str:
        """The piece."""
        return "a piece of the register ([split])"

    @property
    def several_releases(self) -> bool:
        """Others read the other pieces."""
        return True

    def sampling_error(self, rows: int, file_rows: int, share: float = 0.5) -> float:
        """The standard deviation of a share in the rows that the release worked with, around this share of all rows of the file
        (theory 11.11, counts of random pieces: a keyed hash is taken for a random choice)."""
        left = (file_rows - rows) / max(file_rows - 1, 1)
        return (share * (1 - share) / rows * left) ** 0.5


PUBLISHED = SplitPart
