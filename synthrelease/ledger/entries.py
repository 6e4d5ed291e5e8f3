"""The entries of a ledger as values, with their sums and their chain of hashes. `ledger.storage` keeps them in files.

The first hash covers the format, the dataset and its limits; the hash of an entry covers the hash before it and the entry.
An entry also notes the domain of a charge whose number of rows is published exactly, and what `ledger.notes` has: how a
register is split, the plan over years, and which piece and which year a charge is for.
Rationals are written "numerator/denominator" in lowest terms, never as floats, so that sums and comparisons are exact.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.accounting.charges import decimal_text, exact
from synthrelease.accounting.guarantee import Loss
from synthrelease.accounting.ledger_pieces import Spent, Split
from synthrelease.accounting.years import Horizon, over_years
from synthrelease.errors import BudgetError, so_many
from synthrelease.ledger.notes import NONE, Notes
from synthrelease.ledger.rationals import from_text, to_text

FORMAT = 1
BEFORE = 3
"""The provisional number of what became format 1, which the last versions before 1.0.0 wrote."""
_LARGEST_DENOMINATOR = 10**1000
_BEGINNING = re.compile(r"[0-9a-f]{16,64}")

_DOMAIN = re.compile(r"[0-9a-f]{64}")

Row = tuple[int | str, ...]
"""An entry as it is stored: number, started, what, epsilon, delta, the domain (or ""), the text of its notes, and the hash."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """How far a ledger had come: the number of its charges and the hash of the last one."""

    number: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge: when its run started (UTC), what for, and what it cost. `hash` covers it and all before it.

    `domain` is the digest of the public domain of a release that publishes its number of rows exactly, else None.
    """

    number: int
    started: str
    what: str
    epsilon: Fraction
    delta: Fraction
    hash: str
    domain: str | None = None
    notes: Notes = NONE

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
        notes: Notes = NONE,
    ) -> Entry:
        """The entry that follows the one whose head this is."""
        number = head.number + 1
        digest = _digest([head.hash, number, started, what, to_text(epsilon), to_text(delta), domain or "", notes.text])
        return cls(
            number=number,
            started=started,
            what=what,
            epsilon=epsilon,
            delta=delta,
            hash=digest,
            domain=domain,
            notes=notes,
        )

    @property
    def head(self) -> Head:
        """The head of a ledger that ends with it."""
        return Head(number=self.number, hash=self.hash)

    def row(self) -> Row:
        """The entry as it is stored."""
        noted = (self.domain or "", self.notes.text)
        return self.number, self.started, self.what, to_text(self.epsilon), to_text(self.delta), *noted, self.hash


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A ledger as it was found: the account and its entries in order. `format` is the number that its first hash covers."""

    dataset: str
    epsilon_limit: Fraction
    delta_limit: Fraction
    entries: tuple[Entry, ...] = ()
    format: int = FORMAT

    @property
    def epsilons(self) -> Spent:
        """Epsilon charged so far, by piece."""
        return Spent.of((entry.notes.piece, entry.epsilon) for entry in self.entries)

    @property
    def deltas(self) -> Spent:
        """Delta charged so far, by piece."""
        return Spent.of((entry.notes.piece, entry.delta) for entry in self.entries)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon charged so far: of the piece that paid most, with what all rows paid. Without pieces the sum.

        With a plan over years that of a person, who has as many records in the dearest years as the plan allows.
        """
        return self.epsilons.most if self.horizon is None else self.of_a_person.epsilon

    @property
    def delta(self) -> Fraction:
        """Delta charged so far, in the same way."""
        return self.deltas.most if self.horizon is None else self.of_a_person.delta

    @property
    def of_a_person(self) -> Loss:
        """With a plan over years, what a person paid at most so far; delta is 1 where that promises nothing."""
        plan = self.horizon
        if plan is None:
            return Loss(self.epsilon, self.delta)
        paid = {year: [Fraction(0), Fraction(0)] for year in plan.years}
        for entry in self.entries:
            if entry.notes.year is not None:
                paid[entry.notes.year][0] += entry.epsilon
                paid[entry.notes.year][1] += entry.delta
        losses = [Loss(*both) for both in paid.values()]
        return over_years(losses, plan.in_year, plan.in_all) or Loss(self.epsilons.most * plan.in_all, Fraction(1))

    @property
    def horizon(self) -> Horizon | None:
        """The plan over years; None where there is none."""
        return next((entry.notes.horizon for entry in self.entries if entry.notes.horizon is not None), None)

    @property
    def split(self) -> Split | None:
        """How the register is split; None where it is not."""
        return next((entry.notes.split for entry in self.entries if entry.notes.split is not None), None)

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
        notes: Notes = NONE,
    ) -> Statement:
        """The ledger with one more entry at its end."""
        entry = Entry.after(self.head, started=started, what=what, epsilon=epsilon, delta=delta, domain=domain, notes=notes)
        return replace(self, entries=(*self.entries, entry))

    def logbook_line(self) -> str:
        """What a steward writes down after each run: the sums and the beginning of the last hash."""
        return (
            f"{self.dataset}: {so_many(len(self.entries), 'charge')}, "
            f"epsilon {shown(self.epsilon)} of {shown(self.epsilon_limit)}, "
            f"delta {shown(self.delta)} of {shown(self.delta_limit)}, head {self.head.hash[:16]}"
        )

    def _hash(self, number: int) -> str:
        if number > 0:
            return self.entries[number - 1].hash
        account = [self.dataset, to_text(self.epsilon_limit), to_text(self.delta_limit)]
        return _digest(["synthrelease ledger", self.format, *account])


def domain_of(text: object) -> str | None:
    """The domain that a row holds. Raises ValueError for a text that is none."""
    if text == "":
        return None
    if not (isinstance(text, str) and _DOMAIN.fullmatch(text)):
        raise ValueError("expected the sha256 of a domain, or nothing")
    return text


def _digest(fields: list[str | int]) -> str:
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")).hexdigest()


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
