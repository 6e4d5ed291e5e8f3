"""Two random pieces of the rows of a release: one that the generator is fitted to, and one that the criteria ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synthrelease.accounting.charges import GENERATION, Charge
from synthrelease.accounting.rows import NUMBER_OF_ROWS
from synthrelease.errors import InputError

Piece = Literal["fit", "score"]
PIECES: tuple[Piece, Piece] = ("fit", "score")


@dataclass(frozen=True, kw_only=True)
class PartitionRule:
    """How the rows that a release works with are divided, at random and without a look at their values.

    Attributes
    ----------
    fit : the share of the rows that the generator is fitted to, above 0 and below 1; criteria ask the rest.
    """

    fit: Fraction

    @property
    def score(self) -> Fraction:
        """The share of the rows that the criteria ask."""
        return 1 - self.fit

    def sizes(self, n: int) -> tuple[int, int]:
        """Rows of the two pieces, at least 1 each: a function of the public number of rows alone.

        Raises
        ------
        InputError : for fewer than two rows.
        """
        if n < 2:
            raise InputError(f"expected at least 2 rows, because they are divided, found {n}.")
        fit = min(max(int(n * self.fit), 1), n - 1)
        return fit, n - fit


def piece_of(charge: Charge) -> Piece | None:
    """Which piece a charge may read; None for that of the number of rows, which is paid before they are divided."""
    if charge.name == NUMBER_OF_ROWS:
        return None
    return "fit" if charge.name == GENERATION else "score"


def of_piece(charges: Sequence[Charge], piece: Piece | None) -> tuple[Charge, ...]:
    """Those of the charges that read this piece."""
    return tuple(charge for charge in charges if piece_of(charge) == piece)
