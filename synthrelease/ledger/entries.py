"""The entries of a ledger as values, with their sums and their chain of hashes. `ledger.storage` keeps them in files.

The first hash covers the format, the dataset and its limits; the hash of an entry covers the hash before it and the entry.
An entry also notes the domain of a charge whose number of rows is published exactly, how a register is split, and which piece
a charge is for.
Rationals are written "numerator/denominator" in lowest terms, never as floats, so that sums and comparisons are exact.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from synthrelease.accounting.charges import decimal_text, exact
from synthrelease.accounting.ledger_pieces import MOST_PIECES, Spent, Split
from synthrelease.errors import BudgetError

FORMAT = 3
_RATIONAL = re.compile(r"(0|[1-9][0-9]{0,99})/([1-9][0-9]{0,99})")
_LARGEST_DENOMINATOR = 10**1000
_BEGINNING = re.compile(r"[0-9a-f]{16,64}")

_DOMAIN = re.compile(r"[0-9a-f]{64}")
_PIECE = re.compile(r"[1-9][0-9]{0,3}")
_SPLIT = re.compile(r"split ([1-9][0-9]{0,3}) ([0-9a-f]{64}) ([0-9a-f]{64})")

Row = tuple[int | str, ...]
"""An entry as it is stored: number, started, what, epsilon, delta, the domain (or ""), the piece that it is for or how the
register is split (or ""), and the hash."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """How far a ledger had come: the number of its charges and the hash of the last one."""

    number: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge: when its run started (UTC), what for, and what it cost. `hash` covers it and all before it.

    `domain` is the digest of the public domain of a release that publishes its number of rows exactly, else None. `piece` is
    the piece of the register that the release reads, None for all rows. An entry with a `split` says how the register is split;
    it costs nothing.
    """

    number: int
    started: str
    what: str
    epsilon: Fraction
    delta: Fraction
    hash: str
    domain: str | None = None
    piece: int | None = None
    split: Split | None = None

    @classmethod
    def after(
        cls,
        head: Head,
        *,
        started: str,
        what: str,
        epsilon: Fraction,
        delta: Fraction,
        domain: str | None = None,
        piece: int | None = None,
        split: Split | None = None,
    ) -> Entry:
        """The entry that follows the one whose head this is."""
        number = head.number + 1
        noted = [domain or "", pieces_text(piece, split)]
        digest = _digest([head.hash, number, started, what, to_text(epsilon), to_text(delta), *noted])
        return cls(
            number=number,
            started=started,
            what=what,
            epsilon=epsilon,
            delta=delta,
            hash=digest,
            domain=domain,
            piece=piece,
            split=split,
        )

    @property
    def head(self) -> Head:
        """The head of a ledger that ends with it."""
        return Head(number=self.number, hash=self.hash)

    def row(self) -> Row:
        """The entry as it is stored."""
        noted = (self.domain or "", pieces_text(self.piece, self.split))
        return self.number, self.started, self.what, to_text(self.epsilon), to_text(self.delta), *noted, self.hash


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A ledger as it was found: the account and its entries in order."""

    dataset: str
    epsilon_limit: Fraction
    delta_limit: Fraction
    entries: tuple[Entry, ...] = ()

    @property
    def epsilons(self) -> Spent:
        """Epsilon charged so far, by piece."""
        return Spent.of((entry.piece, entry.epsilon) for entry in self.entries)

    @property
    def deltas(self) -> Spent:
        """Delta charged so far, by piece."""
        return Spent.of((entry.piece, entry.delta) for entry in self.entries)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon charged so far: of the piece that paid most, with what all rows paid. Without pieces the sum."""
        return self.epsilons.most

    @property
    def delta(self) -> Fraction:
        """Delta charged so far, in the same way."""
        return self.deltas.most

    @property
    def split(self) -> Split | None:
        """How the register is split; None where it is not."""
        return next((entry.split for entry in self.entries if entry.split is not None), None)

    @property
    def domain(self) -> str | None:
        """The domain on which releases published their number of rows exactly; None where none did."""
        return next((entry.domain for entry in self.entries if entry.domain is not None), None)

    @property
    def head(self) -> Head:
        """The last hash, for the head file and the steward's logbook."""
        return Head(number=len(self.entries), hash=self._hash(len(self.entries)))

    def holds(self, head: Head) -> bool:
        """Whether the entry of that number is here and has that hash."""
        return head.number <= len(self.entries) and self._hash(head.number) == head.hash

    def knows(self, beginning: str) -> bool:
        """Whether some entry's hash, or the first one, starts so (at least 16 hexadecimal digits)."""
        hashes = (self._hash(number) for number in range(len(self.entries) + 1))
        return _BEGINNING.fullmatch(beginning) is not None and any(found.startswith(beginning) for found in hashes)

    def with_charge(
        self,
        *,
        started: str,
        what: str,
        epsilon: Fraction,
        delta: Fraction,
        domain: str | None = None,
        piece: int | None = None,
        split: Split | None = None,
    ) -> Statement:
        """The ledger with one more entry at its end."""
        noted: dict[str, Any] = {"domain": domain, "piece": piece, "split": split}
        entry = Entry.after(self.head, started=started, what=what, epsilon=epsilon, delta=delta, **noted)
        return replace(self, entries=(*self.entries, entry))

    def logbook_line(self) -> str:
        """What a steward writes down after each run: the sums and the beginning of the last hash."""
        return (
            f"{self.dataset}: {len(self.entries)} charges, epsilon {shown(self.epsilon)} of {shown(self.epsilon_limit)}, "
            f"delta {shown(self.delta)} of {shown(self.delta_limit)}, head {self.head.hash[:16]}"
        )

    def _hash(self, number: int) -> str:
        if number > 0:
            return self.entries[number - 1].hash
        account = [self.dataset, to_text(self.epsilon_limit), to_text(self.delta_limit)]
        return _digest(["synthrelease ledger", FORMAT, *account])


def pieces_text(piece: int | None, split: Split | None) -> str:
    """What a row holds of pieces: the number of one, how the register is split, or nothing."""
    if split is not None:
        return f"split {split.pieces} {split.key} {split.register}"
    return "" if piece is None else str(piece)


def pieces_of(text: object, before: Split | None) -> tuple[int | None, Split | None]:
    """The piece and the split that a row holds.

    Parameters
    ----------
    before : how the register was split by then.

    Raises
    ------
    ValueError : for a text that is neither, a second split, and a piece that there is not.
    """
    if text == "":
        return None, None
    if isinstance(text, str) and before is None and (match := _SPLIT.fullmatch(text)) and 2 <= int(match[1]) <= MOST_PIECES:
        return None, Split(pieces=int(match[1]), key=match[2], register=match[3])
    if isinstance(text, str) and before is not None and _PIECE.fullmatch(text) and int(text) <= before.pieces:
        return int(text), None
    raise ValueError("expected a piece, or a split, or nothing")


def domain_of(text: object) -> str | None:
    """The domain that a row holds. Raises ValueError for a text that is none."""
    if text == "":
        return None
    if not (isinstance(text, str) and _DOMAIN.fullmatch(text)):
        raise ValueError("expected the sha256 of a domain, or nothing")
    return text


def _digest(fields: list[str | int]) -> str:
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")).hexdigest()


def to_text(value: Fraction) -> str:
    """A rational as "numerator/denominator" in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def from_text(text: object) -> Fraction:
    """The rational of such a text. Raises ValueError for any other text, also for one that is not in lowest terms."""
    match = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("expected numerator/denominator")
    value = Fraction(int(match[1]), int(match[2]))
    if to_text(value) != text:
        raise ValueError("expected lowest terms")
    return value


def amount(name: str, number: str | int | float | Fraction) -> Fraction:
    """An exact epsilon, delta or limit. Raises BudgetError when it is none, or has more than a hundred digits."""
    try:
        return from_text(to_text(exact(number)))
    except ValueError:
        raise BudgetError(f"{name}: expected a number of at least 0 with at most 100 digits, found another.") from None


def summed(statement: Statement) -> Statement:
    """The statement, when its sums can be computed and shown. Raises BudgetError otherwise: of sums of ever new fractions."""
    for amounts in ([entry.epsilon for entry in statement.entries], [entry.delta for entry in statement.entries]):
        total = Fraction(0)
        for amount_of_entry in amounts:
            total += amount_of_entry
            if total.denominator > _LARGEST_DENOMINATOR:
                raise BudgetError(
                    "The sum of all charges would be a fraction of more than a thousand digits: use decimal numbers."
                )
    return statement


def line(name: str, text: str, longest: int) -> str:
    """A text of one printable line. Raises BudgetError otherwise."""
    if not (isinstance(text, str) and 0 < len(text) <= longest and text.isprintable() and text.strip() == text):
        raise BudgetError(f"{name}: expected one line of 1 to {longest} printable characters, found something else.")
    return text


def printable(text: str, longest: int) -> str:
    """A title as `line` takes it: other characters become spaces, and what is too long is cut. May be empty."""
    return "".join(character if character.isprintable() else " " for character in text).strip()[:longest].strip()


def shown(value: Fraction) -> str:
    """An exact rational for reading: as a decimal where that is exact (small ones as 1.5e-12), else as a fraction."""
    texts = (decimal_text(value), f"{float(value):.6g}")
    return next((text for text in texts if Fraction(text) == value), to_text(value))
