"""The privacy accounting of a release: its charge tree, and the guarantee that the tree amounts to.

Neighbouring tables differ in one record that is replaced by another (bounded differential privacy); n is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from synthrelease.charges import STATED, Charge, decimal_text, exact, in_sequence, mechanism, zero_concentrated
from synthrelease.errors import BudgetError
from synthrelease.renyi import RenyiCurve, exp_up, root_down
from synthrelease.selection_accounting import SelectionRule, private_selection, tidy_up

__all__ = [
    "NEIGHBOURS",
    "UNIT",
    "Charge",
    "Guarantee",
    "Plan",
    "SelectionRule",
    "decimal_text",
    "exact",
    "in_sequence",
    "mechanism",
    "private_selection",
    "pure_epsilon",
    "stated_at",
    "zero_concentrated",
]

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
    grown = records * exp_up((records - 1) * epsilon) * delta
    return Loss(records * epsilon, tidy_up(grown)) if grown < 1 else None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What the release promises. delta = 0 is pure differential privacy.

    Attributes
    ----------
    invariants : the facts that are published exactly and are the same for all neighbours (theory 10).
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


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole charge tree of a release, computed from the specification alone.

    Attributes
    ----------
    once : charges before the loop (for example the private regression).
    per_round : charges of one round of the selection.
    after : charges after a round was accepted (figures of the accepted candidate); outside the selection, so not doubled.
    total : the tree.
    """

    once: tuple[Charge, ...]
    per_round: tuple[Charge, ...]
    after: tuple[Charge, ...] = ()
    total: Charge

    @classmethod
    def of(
        cls,
        *,
        once: tuple[Charge, ...],
        per_round: tuple[Charge, ...],
        after: tuple[Charge, ...] = (),
        rule: SelectionRule | None = None,
        delta: Fraction = Fraction(0),
    ) -> Plan:
        """Compose: once + selection of rounds + after (adaptive composition; theory 1, 2, 4), stated at `delta`.

        Raises
        ------
        BudgetError : when two charges share a name, or there is no guarantee.
        """
        names = [charge.name for charge in once + per_round + after]
        if len(set(names)) != len(names):
            raise BudgetError("Two planned charges have the same name; names of criteria must differ.")
        one_round = in_sequence("one round", *per_round)
        figures = (in_sequence("figures of the accepted dataset", *after),) if after else ()
        total = in_sequence("release", *once, private_selection("selection", one_round, rule), *figures)
        return cls(once=once, per_round=per_round, after=after, total=stated_at(total, delta))

    def check_limit(self, limit: Fraction | None) -> None:
        """Raises BudgetError (exit code 4) when the plan costs more than the limit."""
        if limit is not None and self.total.epsilon > limit:
            raise BudgetError(
                f"Refused: the plan costs epsilon = {decimal_text(self.total.epsilon)}, which is more than the limit "
                f"of {decimal_text(limit)} in [budget]. Nothing was read and nothing was spent."
            )


def pure_epsilon(charge: Charge) -> Fraction:
    """The epsilon that a pure mechanism may spend of a charge.

    Where the charge is zero-concentrated with rho: the largest epsilon, rounded down, of epsilon^2 / 2 <= rho (Bun & Steinke
    2016, Proposition 1.4).

    Raises
    ------
    BudgetError : for a curve that is not zero-concentrated, or so little that nothing is left of it.
    """
    epsilon = charge.epsilon if charge.renyi is None else root_down(2 * charge.renyi.rho)
    if epsilon <= 0 or (charge.renyi is not None and charge.renyi != RenyiCurve(rho=charge.renyi.rho)):
        raise BudgetError(f"The charge {charge.name!r} leaves nothing for a mechanism of pure differential privacy.")
    return epsilon


def stated_at(total: Charge, delta: Fraction) -> Charge:
    """The total of a plan as (epsilon, delta): a curve is converted at this delta, anything else must not exceed it.

    Raises
    ------
    BudgetError : when the plan needs a delta and there is none, or a larger one.
    """
    if total.renyi is None:
        if total.delta > delta:
            raise BudgetError(
                f"Refused: the plan costs delta = {float(total.delta):.6g}, which is more than {float(delta):g}, the delta in "
                "[budget]. Nothing was read and nothing was spent."
            )
        return total
    if not 0 < delta < 1:
        raise BudgetError(
            "Refused: the plan holds zero-concentrated charges, which yield an epsilon only together with a delta above 0. "
            "Set delta in [budget], for example 1e-9; it should be far below one over the number of rows."
        )
    because = f"all curves added, then stated at delta = {float(delta):g} (Canonne, Kamath & Steinke 2020, Proposition 12)"
    epsilon = total.renyi.epsilon(delta)
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=STATED, parts=total.parts)
