"""The guarantee of a release: epsilon and delta, neighbours, what is published exactly, and what a person is promised."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from synthrelease.accounting.charges import Charge, decimal_text
from synthrelease.accounting.renyi import exp_up
from synthrelease.accounting.selection import tidy_up
from synthrelease.errors import BudgetError

NEIGHBOURS = "replace one record"


UNIT = "one record"


def loss_text(total: Charge) -> str:
    """epsilon, with delta where there is one."""
    return f"epsilon = {decimal_text(total.epsilon)}" + (f", delta = {float(total.delta):g}" if total.delta else "")


def check_delta(delta: Fraction, n: int, *, spent: bool = False) -> None:
    """Raises BudgetError for a delta at which a tenth of a record could be published as it is, whatever epsilon.

    Parameters
    ----------
    n : the public number of rows; 1 where it is not known yet, which refuses what no number of rows would allow.
    spent : whether the budget was reserved, so that the message says so.
    """
    if not delta * n <= Fraction(1, 10):
        rows = f"the {n} rows" if n > 1 else "the number of rows"
        raise BudgetError(
            f"Refused: expected a delta far below one over {rows}, {1 / (1000 * n):.0e} or less; found {float(delta):g}. "
            "With so large a delta, publishing whole records would keep the promise. "
            + ("The whole planned budget counts as spent: nothing was published." if spent else "Nothing was spent.")
        )


def loss_of_groups(delta: Fraction) -> str:
    """What protects somebody who is in k records (k steps of group privacy), in words."""
    return "k times the epsilon" + (", with k e^((k - 1) epsilon) times the delta" if delta else "")


class Loss(NamedTuple):
    """An (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction


def loss_of_group(epsilon: Fraction, delta: Fraction, records: int) -> Loss | None:
    """(k epsilon, k e^((k - 1) epsilon) delta) for k records that may all be replaced: k steps of group privacy.

    Rounded up; None where that delta is 1 or more, which promises nothing (theory 1.3, group privacy).
    """
    if not delta:
        return Loss(records * epsilon, Fraction(0))
    exponent = (records - 1) * epsilon
    if exponent > delta.denominator.bit_length():  # e^exponent is more than 1 / delta, and may be too large to be computed
        return None
    grown = records * exp_up(exponent) * delta
    return Loss(records * epsilon, tidy_up(grown)) if grown < 1 else None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What the release promises. delta = 0 is pure differential privacy.

    Attributes
    ----------
    invariants : the facts that are published exactly and are the same for all neighbours (theory 10, statement of the
        guarantee).
    unit_name : what a record is, in the steward's words.
    records_per_person, why : in how many records of the file one person can stand at most, and where that is known from.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: str = NEIGHBOURS
    unit: str = UNIT
    invariants: tuple[str, ...] = ()
    unit_name: str = "record"
    records_per_person: int = 1
    why: str = ""

    @property
    def of_a_person(self) -> Loss | None:
        """What protects a person who stands in `records_per_person` records; None where nothing does."""
        return loss_of_group(self.epsilon, self.delta, self.records_per_person)
