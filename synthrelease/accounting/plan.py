"""The privacy accounting of a release: its charge tree, and the guarantee that the tree amounts to.

Neighbouring tables differ in one record that is replaced by another (bounded differential privacy); n is public.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.accounting.charges import (
    ADDED,
    STATED,
    Charge,
    check_above_0,
    decimal_text,
    epsilon_at,
    in_parallel,
    in_sequence,
    together,
)
from synthrelease.accounting.pieces import PIECES, PartitionRule, of_piece
from synthrelease.accounting.renyi import RenyiCurve, root_down
from synthrelease.accounting.selection import SelectionRule, private_selection
from synthrelease.errors import BudgetError


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole charge tree of a release, computed from the specification alone.

    Attributes
    ----------
    once : charges before the loop (for example the private regression).
    per_round : charges of one round of the selection.
    after : charges after a round was accepted (figures of the accepted candidate); outside the selection, so not multiplied.
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
        partition: PartitionRule | None = None,
        sharing: Collection[str] = (),
    ) -> Plan:
        """Compose: once + selection of rounds + after, stated at `delta`. With a partition: so for each piece, and the largest.

        Theory 1.1, sequential composition; theory 2, selection; theory 4.3, figures afterwards; theory 11.10, release from two
        pieces.

        Parameters
        ----------
        sharing : names of charges after a round that pay for one noise; beside a curve they are one mechanism.

        Raises
        ------
        BudgetError : when two charges share a name, or there is no guarantee.
        """
        names = [charge.name for charge in once + per_round + after]
        if len(set(names)) != len(names):
            raise BudgetError("Two planned charges have the same name; names of criteria must differ.")
        if all(charge.pure for charge in once + per_round):
            sharing = ()  # a sum of epsilons, whoever shares
        if partition is None:
            total = in_sequence("release", *once, *_rounds_and_after(per_round, after, rule, delta, sharing))
        else:
            whole = of_piece(once, None)
            by_piece = [tuple(of_piece(each, piece) for each in (once, per_round, after)) for piece in PIECES]
            alone = [
                _piece(f"piece: {piece}", *charges, rule=rule, delta=delta, sharing=sharing)
                for piece, charges in zip(PIECES, by_piece, strict=True)
            ]
            pieces = [stated_at(each, delta) for each in alone]  # the largest epsilon is less than that of a curve above both
            total = in_sequence("release", *whole, in_parallel("pieces", *pieces))
        return cls(once=once, per_round=per_round, after=after, total=stated_at(total, delta))

    def check_limit(self, limit: Fraction | None) -> None:
        """Raises BudgetError (exit code 4) when the plan costs more than the limit."""
        if limit is not None and self.total.epsilon > limit:
            raise BudgetError(
                f"Refused: the plan costs epsilon = {decimal_text(self.total.epsilon)}, which is more than the limit "
                f"of {decimal_text(limit)} in [budget]. Nothing was read and nothing was spent."
            )


def _rounds_and_after(
    per_round: tuple[Charge, ...],
    after: tuple[Charge, ...],
    rule: SelectionRule | None,
    delta: Fraction,
    sharing: Collection[str],
) -> tuple[Charge, ...]:
    # rounds without charges are post-processing of what was paid for before them
    rounds = (private_selection("selection", in_sequence("one round", *per_round), rule, delta),) if per_round else ()
    if one := [charge for charge in after if charge.name in sharing]:
        after = (together("figures that share one noise", *one), *(charge for charge in after if charge.name not in sharing))
    return (*rounds, *((in_sequence("figures of the accepted dataset", *after),) if after else ()))


def _piece(
    name: str,
    once: tuple[Charge, ...],
    per_round: tuple[Charge, ...],
    after: tuple[Charge, ...],
    *,
    rule: SelectionRule | None,
    delta: Fraction,
    sharing: Collection[str],
) -> Charge:
    """What a release costs a record of one piece: the other piece is the same for both neighbours, and costs it nothing."""
    return in_sequence(name, *once, *_rounds_and_after(per_round, after, rule, delta, sharing))


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

    Where it is less, pure parts add their epsilons, and Gaussian parts are converted exactly (theory 9.17, pure parts beside a
    curve).

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
    curves = stated_as_curves(total, delta)
    if (epsilon := epsilon_at(total, delta)) >= curves.epsilon:
        return curves
    because = (
        f"curves stated at delta = {float(delta):g}, and pure parts added, whichever way is least "
        "(theory 9.17, pure parts beside a curve)"
    )
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=ADDED, parts=total.parts)


def stated_as_curves(total: Charge, delta: Fraction) -> Charge:
    """A curve as (epsilon, delta), everything in it as a curve: all that releases stated before pure parts were added.

    Raises
    ------
    BudgetError : without a delta.
    """
    check_above_0(delta)
    because = f"all curves added, then stated at delta = {float(delta):g} (Canonne, Kamath & Steinke 2020, Proposition 12)"
    epsilon = total.curve().epsilon(delta)
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=STATED, parts=total.parts)
