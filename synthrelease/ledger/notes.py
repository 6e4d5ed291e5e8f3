"""What an entry of a ledger notes beside its charge, as one text: a piece or a split, a year or a plan over years."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.accounting.ledger_pieces import MOST_PIECES, Split
from synthrelease.accounting.years import MOST_YEARS, Horizon
from synthrelease.ledger.rationals import from_text, to_text

_PIECE = re.compile(r"[1-9][0-9]{0,3}")
_YEAR = re.compile(r"year (-?[0-9]{1,4})( again)?")
_SPLIT = re.compile(r"split ([1-9][0-9]{0,3}) ([0-9a-f]{64}) ([0-9a-f]{64})")
_HORIZON = re.compile(r"years (-?[0-9]{1,4}) ([0-9,/]+) ([0-9/]+) ([1-9][0-9]{0,3}) ([1-9][0-9]{0,5}) ([0-9]{1,3}) ([0-9/]+)")


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What an entry notes: all of it is public.

    Attributes
    ----------
    piece : the piece of the register that the release reads, None for all rows.
    split : how the register is split; such an entry costs nothing.
    year, again : the year of the release, None without a plan over years, and whether it replaces one that released nothing.
    horizon : the plan over years; such an entry costs nothing.
    """

    piece: int | None = None
    split: Split | None = None
    year: int | None = None
    again: bool = False
    horizon: Horizon | None = None

    @property
    def once(self) -> bool:
        """Whether a ledger has it at most once, and later entries build on it."""
        return self.split is not None or self.horizon is not None

    @property
    def text(self) -> str:
        """As it is stored and hashed."""
        if self.split is not None:
            return f"split {self.split.pieces} {self.split.key} {self.split.register}"
        if (plan := self.horizon) is not None:
            epsilons = ",".join(map(to_text, plan.epsilons))
            second = f"{plan.fallbacks} {to_text(plan.fallback_epsilon)}"
            return f"years {plan.first} {epsilons} {to_text(plan.delta)} {plan.in_year} {plan.in_all} {second}"
        if self.year is not None:
            return f"year {self.year}{' again' if self.again else ''}"
        return "" if self.piece is None else str(self.piece)


NONE = Notes()
"""What most entries note."""


def notes_of(text: object, before: Sequence[Notes]) -> Notes:
    """The notes of a stored text.

    Parameters
    ----------
    before : those of earlier entries that are there once.

    Raises
    ------
    ValueError : for a text that is none, a second split or plan, and a piece or a year that there is not.
    """
    split = next((notes.split for notes in before if notes.split is not None), None)
    horizon = next((notes.horizon for notes in before if notes.horizon is not None), None)
    found = _read(text) if isinstance(text, str) else None
    if found is None or found.text != text:
        raise ValueError("expected a piece, a split, a year or a plan, or nothing")
    second = (found.split is not None and split is not None) or (found.horizon is not None and horizon is not None)
    no_piece = found.piece is not None and (split is None or found.piece > split.pieces)
    no_year = found.year is not None and (horizon is None or found.year not in horizon.years)
    if second or no_piece or no_year:
        raise ValueError("expected one split, one plan over years, and pieces and years of these")
    return found


def _read(text: str) -> Notes | None:
    if match := _SPLIT.fullmatch(text):
        return Notes(split=Split(pieces=int(match[1]), key=match[2], register=match[3])) if _many(match[1]) else None
    if match := _HORIZON.fullmatch(text):
        epsilons = tuple(from_text(each) for each in match[2].split(","))
        plan = Horizon(
            first=int(match[1]),
            epsilons=epsilons,
            delta=from_text(match[3]),
            in_year=int(match[4]),
            in_all=int(match[5]),
            fallbacks=int(match[6]),
            fallback_epsilon=from_text(match[7]),
        )
        return Notes(horizon=plan) if len(epsilons) <= MOST_YEARS else None
    if match := _YEAR.fullmatch(text):
        return Notes(year=int(match[1]), again=match[2] is not None)
    if _PIECE.fullmatch(text):
        return Notes(piece=int(text))
    return None if text else Notes()


def _many(pieces: str) -> bool:
    return 2 <= int(pieces) <= MOST_PIECES
