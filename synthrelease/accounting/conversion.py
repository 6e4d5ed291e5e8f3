"""The epsilon of a curve at a delta; pure parts beside it count the cheaper way (theory 9.17, pure parts beside a curve)."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

from synthrelease.accounting import gaussian
from synthrelease.accounting.charges import SUM, Charge
from synthrelease.accounting.renyi import RenyiCurve, of_pure
from synthrelease.errors import BudgetError


def epsilon_at(charge: Charge, delta: Fraction) -> Fraction:
    """The epsilon of a curve, or of a sum of curves and pure parts, at this delta; rounded up.

    The dearest pure parts add their epsilons to what the rest yields, where the others count as curves: as many of them as
    make the sum least. Where every curve is Gaussian, the conversion is exact (theory 9.14, exact Gaussian curve).
    """
    parts = charge.parts if charge.rule == SUM else (charge,)
    pure = sorted((part.epsilon for part in parts if part.pure), reverse=True)
    curves = [part for part in parts if not part.pure]
    exactly = all(part.gaussian for part in curves)
    added, found = [Fraction(0), *accumulate(pure)], list[Fraction]()
    for apart, epsilon in enumerate(added):
        whole = sum((part.curve() for part in curves), RenyiCurve())
        if exactly:
            rho = whole.rho + sum((gaussian.of_pure(each) for each in pure[apart:]), Fraction(0))
            found.append(epsilon + gaussian.epsilon_of(rho, delta))
        else:
            found.append(epsilon + sum((of_pure(each) for each in pure[apart:]), whole).epsilon(delta))
    return min(found)


def check_above_0(delta: Fraction) -> None:
    """Raises BudgetError for a delta at which no curve can be stated."""
    if not 0 < delta < 1:
        raise BudgetError(
            "Refused: the plan holds zero-concentrated charges, which yield an epsilon only together with a delta above 0. "
            "Set delta in [budget], for example 1e-9; it should be far below one over the number of rows."
        )
