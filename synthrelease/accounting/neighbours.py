"""From a library that counts in adding or removing one record to neighbours that replace one (theory 1.3, group privacy).

Replacing a record is removing one and adding another: two steps, both through the table without the record. So a guarantee for
one step gives, for replacing (group privacy for two):

    epsilon             ->  2 epsilon
    rho                 ->  4 rho                                       (Bun & Steinke 2016, Proposition 1.9)
    (epsilon, delta)    ->  (2 epsilon, (1 + e^epsilon) delta)

A library is therefore run at half the epsilon, or a quarter of the rho, that a release states.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from synthrelease.accounting.charges import REPLACING, Charge, mechanism, zero_concentrated
from synthrelease.accounting.renyi import exp_up, zcdp
from synthrelease.accounting.selection import tidy_up
from synthrelease.errors import BudgetError


def replacing_one(by_library: Charge) -> Charge:
    """What a mechanism costs when one record is replaced, given what its library states for adding or removing one.

    Parameters
    ----------
    by_library : pure, approximate or zero-concentrated.

    Returns
    -------
    A charge of the same name, with the library's own statement as its part.

    Raises
    ------
    BudgetError : for the curve of a selection, for which this is not known.
    """
    name = by_library.name
    part = replace(by_library, name=f"{name}, for adding or removing a record")
    if by_library.renyi is not None:
        rho = by_library.renyi.rho
        if by_library.renyi != zcdp(rho):
            raise BudgetError(f"The charge {name!r} is not zero-concentrated: no guarantee for two steps is known.")
        whole = zero_concentrated(name, 4 * rho, "4 times the rho for adding or removing a record")
        return Charge(name=name, epsilon=whole.epsilon, renyi=whole.renyi, because=whole.because, rule=REPLACING, parts=(part,))
    return Charge(
        name=name,
        epsilon=2 * by_library.epsilon,
        delta=tidy_up((1 + exp_up(by_library.epsilon)) * by_library.delta),
        because="replacing a record is removing one and adding one: twice the epsilon for adding or removing",
        rule=REPLACING,
        parts=(part,),
    )


def library_charge(name: str, guarantee: str, budget: Fraction, because: str, delta: Fraction = Fraction(0)) -> Charge:
    """What to ask of a library so that the guarantee under replacing one record is the stated budget.

    Parameters
    ----------
    guarantee : of the library: "pure", "approximate" or "zCDP".
    budget : epsilon, or rho for "zCDP", under replacing one record; delta likewise, rounded down for the library.

    Returns
    -------
    The library's own charge, for adding or removing one record; `replacing_one` of it costs no more than the budget and delta.
    """
    if guarantee == "zCDP":
        return zero_concentrated(name, budget / 4, because)
    half = budget / 2
    share = delta / (1 + exp_up(half)) * (1 - Fraction(1, 10**4))  # room for the rounding up of `replacing_one`
    return mechanism(name, half, because, share)
