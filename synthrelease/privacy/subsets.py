"""Pieces of a register for releases of several years: what a record has paid when each release reads one of them.

Every record has a public record number, and a secret key decides for ever which piece a number belongs to. A release reads one
piece, or all rows. So a record whose number stays pays for the releases that read its piece, and for those that read all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synthrelease.errors import InputError
from synthrelease.privacy.charges import GENERATION, NUMBER_OF_ROWS, Charge

MOST_PIECES = 1000
"""A release from a thousandth of a register already says little about it."""


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """Which piece of a register a release reads.

    Attributes
    ----------
    by : the column of the file with the public record number, which is not released.
    piece : 1 to `of`.
    of : into how many pieces the register is split.
    """

    by: str
    piece: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Split:
    """The facts a ledger records about a split: all of them are digests or public.

    Attributes
    ----------
    pieces : how many there are.
    key : sha256 of the secret key, in 64 hexadecimal digits.
    register : keyed digest of the set of record numbers, so that a renumbered register is found.
    """

    pieces: int
    key: str
    register: str


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Epsilon, or delta, of the releases of one dataset.

    Attributes
    ----------
    of_all : what releases of all rows cost together.
    of_pieces : by piece, what its releases cost together; a piece that none read is not in it.
    """

    of_all: Fraction
    of_pieces: dict[int, Fraction]

    @classmethod
    def of(cls, charges: Iterable[tuple[int | None, Fraction]]) -> Spent:
        """Add up charges by their pieces, None for all rows."""
        of_all, of_pieces = Fraction(0), dict[int, Fraction]()
        for piece, amount in charges:
            if piece is None:
                of_all += amount
            else:
                of_pieces[piece] = of_pieces.get(piece, Fraction(0)) + amount
        return cls(of_all=of_all, of_pieces=of_pieces)

    @property
    def most(self) -> Fraction:
        """Return the most that a record with an unchanged number has paid (theory 11.12, pieces for ever)."""
        return self.of_all + max(self.of_pieces.values(), default=Fraction(0))

    @property
    def most_renumbered(self) -> Fraction:
        """Return the loss if a record may be replaced by one of another number, so that two pieces may change."""
        return self.of_all + sum(sorted(self.of_pieces.values())[-2:], Fraction(0))

    def before(self, piece: int | None) -> Fraction:
        """Return the most that a record of the next release has paid: a record of its piece, or of any piece where it reads all
        rows.
        """
        return self.most if piece is None else self.of_all + self.of_pieces.get(piece, Fraction(0))


# Two random pieces of the rows of a release: one that the generator is fitted to, and one that the criteria ask.

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
        """Return rows of the two pieces, at least 1 each: a function of the public number of rows alone.

        Raises
        ------
        InputError : for fewer than two rows.
        """
        if n < 2:
            raise InputError(f"expected at least 2 rows, because they are divided, found {n}.")
        fit = min(max(int(n * self.fit), 1), n - 1)
        return fit, n - fit


def piece_of(charge: Charge) -> Piece | None:
    """Return the piece that a charge may read; None for that of the number of rows, paid before the rows are divided."""
    if charge.name == NUMBER_OF_ROWS:
        return None
    return "fit" if charge.name == GENERATION else "score"


def of_piece(charges: Sequence[Charge], piece: Piece | None) -> tuple[Charge, ...]:
    """Return the charges that read this piece."""
    return tuple(charge for charge in charges if piece_of(charge) == piece)
