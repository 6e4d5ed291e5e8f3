"""Privacy accounting as small frozen values: charges, their composition, and the private-selection theorem.

All epsilons are exact rationals (`Fraction`), so that sums and comparisons with a limit are exact. Neighbouring
tables differ in one record that is replaced by another (bounded differential privacy); n is public.

This module is the only place where a selection doubles a charge (theory 2; Liu & Talwar, STOC 2019, Theorem 3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from synthrelease.errors import BudgetError

_MOST_DIGITS = 330
"""Digits of an epsilon: those of the smallest and largest floats, and more than anybody means."""
NEIGHBOURS = "replace one record"
UNIT = "one record"
MECHANISM, SUM, SELECTION = "mechanism", "sum", "private selection: 2 x"
"""How a node of the charge tree follows from its parts, for programs (`Charge.rule`)."""


def exact(number: str | int | float | Decimal | Fraction) -> Fraction:
    """An epsilon as an exact rational. Floats are read as they are printed (0.1 is 1/10).

    Raises
    ------
    ValueError : for negative, infinite or not-a-number values.
    """
    if isinstance(number, bool) or not isinstance(number, str | int | float | Decimal | Fraction):
        raise ValueError(f"expected a number, found {number!r}")
    if isinstance(number, Fraction):
        value = number
    else:
        if isinstance(number, int) and abs(number) > 10**_MOST_DIGITS:
            raise ValueError(f"expected a number of at most {_MOST_DIGITS} digits, found a longer one")
        text = str(number).strip()
        exponent = re.search(r"[eE]([+-]?[0-9]+)$", text)
        # a fraction of '1e999999999' would be computed to its last digit
        if len(text) > 3 * _MOST_DIGITS or (exponent and (len(exponent[1]) > 5 or abs(int(exponent[1])) > _MOST_DIGITS)):
            raise ValueError(f"expected a number of at most {_MOST_DIGITS} digits, found a longer one")
        try:
            value = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"expected a finite number, found {text!r}") from None
    if value < 0:
        raise ValueError(f"expected a number of at least 0, found {number}")
    return value


def decimal_text(value: Fraction) -> str:
    """An exact rational as a decimal text, rounded up in the tenth place where it is not exact: never understated."""
    scaled = -((-value * 10**10) // 1)
    whole, digits = divmod(int(scaled), 10**10)
    return f"{whole}.{digits:010d}".rstrip("0").rstrip(".")


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What the release promises. delta = 0 is pure differential privacy.

    `invariants` are the facts that are published exactly and are the same for all neighbours (theory 10).
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: str = NEIGHBOURS
    unit: str = UNIT
    invariants: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A node of the charge tree.

    Attributes
    ----------
    name : unique among the leaves of a plan.
    epsilon, delta : what the node costs in total.
    because : the theorem or mechanism behind it, in words.
    rule : how epsilon and delta follow from the parts, for programs that check the sum.
    parts : the charges it is made of; empty for a single mechanism.
    """

    name: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    because: str
    rule: str = MECHANISM
    parts: tuple[Charge, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1:
            raise BudgetError(f"The charge {self.name!r} needs epsilon >= 0 and 0 <= delta < 1.")

    def leaves(self) -> Iterator[Charge]:
        """The single mechanisms below this node (the node itself when it has no parts)."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def mechanism(name: str, epsilon: Fraction, because: str, delta: Fraction = Fraction(0)) -> Charge:
    """One mechanism that reads private counts once."""
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because)


def in_sequence(name: str, *parts: Charge, because: str = "sequential composition: the parts add up") -> Charge:
    """Adaptive sequential composition: epsilons and deltas add (theory 1)."""
    return Charge(
        name=name,
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=sum((part.delta for part in parts), Fraction(0)),
        because=because,
        rule=SUM,
        parts=parts,
    )


def private_selection(name: str, one_round: Charge) -> Charge:
    """Rounds until one is accepted, or until a coin of the stop probability says "nothing".

    Pure eps1-DP rounds with no cap on their number give 2 eps1 for any stop probability in [0, 1]: with A = Pr[accept]
    and B = A + gamma (1 - A), every output has probability p_o / B, and p_o and B each move by at most e^eps1
    (theory 2; Liu & Talwar, STOC 2019, Theorem 3.1). Only the accepted output may be published.

    Raises
    ------
    BudgetError : for a round with delta > 0, which this theorem does not cover.
    """
    if one_round.delta != 0:
        raise BudgetError(
            "Private selection with a known threshold is only implemented for pure differential privacy; the round "
            f"{one_round.name!r} has delta > 0."
        )
    return Charge(
        name=name,
        epsilon=2 * one_round.epsilon,
        because="selection with a known threshold doubles the charge of one round (Liu & Talwar 2019, Theorem 3.1)",
        rule=SELECTION,
        parts=(one_round,),
    )


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
    def of(cls, *, once: tuple[Charge, ...], per_round: tuple[Charge, ...], after: tuple[Charge, ...] = ()) -> Plan:
        """Compose: once + 2 x (sum per round) + after (adaptive composition; theory 1, 4).

        Raises BudgetError when two charges share a name.
        """
        names = [charge.name for charge in once + per_round + after]
        if len(set(names)) != len(names):
            raise BudgetError("Two planned charges have the same name; names of criteria must differ.")
        one_round = in_sequence("one round", *per_round)
        figures = (in_sequence("figures of the accepted dataset", *after),) if after else ()
        total = in_sequence("release", *once, private_selection("selection", one_round), *figures)
        return cls(once=once, per_round=per_round, after=after, total=total)

    def check_limit(self, limit: Fraction | None) -> None:
        """Raises BudgetError (exit code 4) when the plan costs more than the limit."""
        if limit is not None and self.total.epsilon > limit:
            raise BudgetError(
                f"Refused: the plan costs epsilon = {decimal_text(self.total.epsilon)}, which is more than the limit "
                f"of {decimal_text(limit)} in [budget]. Nothing was read and nothing was spent."
            )
