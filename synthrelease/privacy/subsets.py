"""Compute the privacy loss of releases that each read one piece of a register, and of random pieces of rows within one release.

Every record has a public record number, and a secret key assigns each number permanently to a piece. If a record is replaced
and its number stays the same, only releases that read its piece, or all rows, are affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synthrelease.errors import InputError
from synthrelease.privacy.charges import GENERATION, NUMBER_OF_ROWS, Charge

MOST_PIECES = 1000
"""Largest number of pieces of a register. Even a thousandth of a register is hardly enough to describe the register."""


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """The piece, from 1 to `of`, of a split register that a release reads. `by` is the column with the public record number."""

    by: str
    piece: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Split:
    """The facts that a ledger records about a split of a register.

    Attributes
    ----------
    pieces : the number of pieces.
    key : SHA-256 digest of the secret key, in 64 hexadecimal digits.
    register : keyed digest of the set of record numbers, which detects a renumbered register.
    """

    pieces: int
    key: str
    register: str


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The epsilon (or delta) that all releases of one dataset have spent so far.

    Attributes
    ----------
    of_all : the sum over releases of all rows.
    of_pieces : the sum over releases of each piece. Pieces that no release read have no entry.
    """

    of_all: Fraction
    of_pieces: dict[int, Fraction]

    @classmethod
    def of(cls, charges: Iterable[tuple[int | None, Fraction]]) -> Spent:
        """Add up charges, pairs (piece, epsilon or delta). The piece None stands for a release of all rows."""
        of_all, of_pieces = Fraction(0), dict[int, Fraction]()
        for piece, amount in charges:
            if piece is None:
                of_all += amount
            else:
                of_pieces[piece] = of_pieces.get(piece, Fraction(0)) + amount
        return cls(of_all=of_all, of_pieces=of_pieces)

    @property
    def most(self) -> Fraction:
        """Return the largest loss if a record is replaced by one with the same number, in the same piece (theory 11.12, pieces
        for ever)."""
        return self.of_all + max(self.of_pieces.values(), default=Fraction(0))

    @property
    def most_renumbered(self) -> Fraction:
        """Return the largest loss if a record is replaced by one with another number, which may change two pieces."""
        return self.of_all + sum(sorted(self.of_pieces.values())[-2:], Fraction(0))

    def before(self, piece: int | None) -> Fraction:
        """Return the largest loss so far of a record in this piece, or in any piece if `piece` is None."""
        return self.most if piece is None else self.of_all + self.of_pieces.get(piece, Fraction(0))


# The rows of a release may be divided at random into two pieces: the generator is fitted to one piece, and the criteria
# evaluate the other.

Piece = Literal["fit", "score"]
PIECES: tuple[Piece, Piece] = ("fit", "score")


@dataclass(frozen=True, kw_only=True)
class PartitionRule:
    """The rule that divides the rows at random, independently of their values, into two pieces: one for the generator, and one
    for the criteria.

    Attributes
    ----------
    fit : the share of the rows to which the generator is fitted, above 0 and below 1.
    """

    fit: Fraction

    @property
    def score(self) -> Fraction:
        return 1 - self.fit

    def sizes(self, n: int) -> tuple[int, int]:
        """Return how many of the n rows go to the fit and how many to the criteria, at least 1 each. Both depend on the public
        number n alone.

        Raises
        ------
        InputError : if there are fewer than two rows.
        """
        if n < 2:
            raise InputError(f"The rows cannot be divided into two pieces, because there are fewer than 2 rows ({n}).")
        fit = min(max(int(n * self.fit), 1), n - 1)
        return fit, n - fit


def piece_of(charge: Charge) -> Piece | None:
    """Return which piece of the rows a charge pays for, or None for the number of rows, measured before the division."""
    if charge.name == NUMBER_OF_ROWS:
        return None
    return "fit" if charge.name == GENERATION else "score"


def of_piece(charges: Sequence[Charge], piece: Piece | None) -> tuple[Charge, ...]:
    """Return the charges for mechanisms on this piece of the rows, or, if None, before the rows are divided."""
    return tuple(charge for charge in charges if piece_of(charge) == piece)
