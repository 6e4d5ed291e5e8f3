"""Represent privacy costs as immutable values (`Charge`) that can be composed, and track which planned charges may still be
spent.

Epsilons are exact rationals, so that sums and comparisons with a limit are exact. A charge is stated as (epsilon, delta) or as
a Renyi curve (`privacy.curves`). Curves are first added; the root of the plan converts their sum to (epsilon, delta).
Neighbouring tables differ in one record that is replaced by another; n is public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from synthrelease.errors import BudgetError, InputError, Unexpected, so_many
from synthrelease.privacy.curves import RenyiCurve, above, curve_of_pure, zcdp

_MOST_DIGITS = 330  # Largest number of digits of an epsilon, which is enough for the smallest and largest floats

MECHANISM, SUM, SELECTION = "mechanism", "sum", "private selection: 2 x"
HIDDEN_ROUNDS, STATED = "private selection: hidden number of rounds", "sum of curves, stated at delta"
ADDED = "sum of curves and of pure parts, stated at delta"
GENERATION = "generation"
"""The name of the charge of a fit or, if all rounds share measurements, of these measurements. Other code recognises the charge
by this name.
"""
ONE_ROUND = "one round"
"""The name of the charge that adds up all costs of one round."""
MODELS = "models"
"""The name of the charge of all [[models]]."""
JOINT_TEST = "joint test of all criteria"
"""The name of the charge of the test that decides a round by all criteria together."""
PRICED = "private selection: price of the law of the number of rounds"
REPLACING = "replacing a record: removing one and adding one"
IN_PARALLEL = "in parallel: the largest over random pieces"
TOGETHER = "one mechanism at the sum of its parts"
WITHIN_CAP = "within a cap that was fixed before the scout"
"""The composition rule of a node that states a cap for its parts, as a name for programs (`Charge.rule`)."""


def exact(number: str | int | float | Decimal | Fraction) -> Fraction:
    """Return a number of at least 0 as an exact rational. A float is read as the decimal that Python prints: 0.1 becomes 1/10.

    Raises
    ------
    Unexpected : (a ValueError) for negative, infinite or not-a-number values, and for numbers with too many digits.
    """
    if isinstance(number, bool) or not isinstance(number, str | int | float | Decimal | Fraction):
        raise Unexpected("a number", repr(number))
    if isinstance(number, Fraction):
        value = number
    else:
        if isinstance(number, int) and abs(number) > 10**_MOST_DIGITS:
            raise Unexpected(f"The number has more than {_MOST_DIGITS} digits")
        text = str(number).strip()
        exponent = re.search(r"[eE]([+-]?[0-9]+)$", text)
        # a fraction of '1e999999999' would be computed to its last digit
        if len(text) > 3 * _MOST_DIGITS or (exponent and (len(exponent[1]) > 5 or abs(int(exponent[1])) > _MOST_DIGITS)):
            raise Unexpected(f"The number has more than {_MOST_DIGITS} digits, or an exponent beyond {_MOST_DIGITS}")
        try:
            value = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise Unexpected("a finite number", repr(text)) from None
    if value < 0:
        raise Unexpected("a number of at least 0", str(number))
    return value


def decimal_text(value: Fraction) -> str:
    """Return a rational as a decimal string, rounded up in the tenth decimal place, so that no cost is understated."""
    scaled = -((-value * 10**10) // 1)
    whole, digits = divmod(int(scaled), 10**10)
    return f"{whole}.{digits:010d}".rstrip("0").rstrip(".")


def rounded_down(value: Fraction) -> Fraction:
    """Return a positive number, rounded down to three significant digits."""
    step = Fraction(10) ** (math.floor(math.log10(value)) - 2)
    return value // step * step


@dataclass(frozen=True, kw_only=True)
class Charge:
    """The privacy cost of one mechanism, or of several together. The charges of a release form a tree: the cost of a node
    follows from its parts.

    Attributes
    ----------
    name : the name of the node, different for all leaves of a plan.
    epsilon, delta : the total cost of the node; both are 0 if a curve states the cost.
    renyi : the cost as a Renyi curve, or None if it is given as (epsilon, delta).
    gaussian : whether the mechanism is mu-Gaussian with rho = mu^2 / 2, and not only rho-zero-concentrated (`privacy.curves`).
    because : the theorem or mechanism that proves the cost, in words.
    reason : the steward's reason for this budget, or "".
    rule : the composition rule by which the node follows from its parts, for programs that check the composition.
    parts : the charges that the node composes; empty for a single mechanism.
    """

    name: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    renyi: RenyiCurve | None = None
    because: str
    rule: str = MECHANISM
    parts: tuple[Charge, ...] = ()
    reason: str = ""
    gaussian: bool = False

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1:
            raise BudgetError(f"The charge {self.name!r} must have epsilon >= 0 and 0 <= delta < 1.")
        if self.renyi is not None and (self.epsilon or self.delta):
            raise BudgetError(f"The charge {self.name!r} must not have both a Renyi curve and an epsilon or delta.")
        if self.gaussian and (self.renyi is None or self.renyi != zcdp(self.renyi.rho)):
            raise BudgetError(f"The charge {self.name!r} is marked as Gaussian, but no rho describes it.")

    @property
    def price(self) -> tuple[Fraction, Fraction, RenyiCurve | None, bool]:
        """Return epsilon, delta, curve and the flag `gaussian`."""
        return self.epsilon, self.delta, self.renyi, self.gaussian

    @property
    def pure(self) -> bool:
        """Return whether the charge is pure differential privacy: no curve, and delta is 0."""
        return self.renyi is None and self.delta == 0

    def curve(self) -> RenyiCurve:
        """Return the cost as a Renyi curve. A pure epsilon becomes (epsilon^2 / 2)-zCDP; in a sum, each part separately. Raises
        BudgetError if delta > 0, which bounds no Renyi divergence."""
        if self.renyi is not None:
            return self.renyi
        if self.delta:
            raise BudgetError(
                f"The charge {self.name!r} has delta > 0. It cannot be combined with zero-concentrated charges, because no "
                "guarantee is known for their sum."
            )
        if self.rule == SUM:
            return sum((part.curve() for part in self.parts), RenyiCurve())
        return curve_of_pure(self.epsilon)

    @property
    def explained(self) -> str:
        """Return a short explanation of the cost; `because` is the longer text of release.json."""
        if self.parts and all(part.because.startswith("K-norm mechanism") for part in self.parts):
            return "the parts add up; the K-norm mechanism adds one vector of noise to all values"
        if self.rule == PRICED:
            search = self.because.partition("; with rounds of ")[0]
            if search.endswith("(1 with probability 1)"):
                return "the search has one round"
            return f"{search}; because of this search, the cost is higher than for one round"
        return self.because

    def leaves(self) -> Iterator[Charge]:
        """Yield the charges of the single mechanisms below this charge, or this charge if it has no parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def mechanism(name: str, epsilon: Fraction, because: str, delta: Fraction = Fraction(0)) -> Charge:
    """Return the charge of one mechanism that reads private counts once."""
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because)


def zero_concentrated(name: str, rho: Fraction, because: str) -> Charge:
    """Return the charge of one rho-zero-concentrated mechanism that reads private counts once (Bun & Steinke 2016)."""
    return Charge(name=name, epsilon=Fraction(0), renyi=zcdp(rho), because=f"rho = {decimal_text(rho)}: {because}")


def gaussian(name: str, rho: Fraction, because: str) -> Charge:
    """Return the charge of one mechanism that reads private counts once and is mu-Gaussian with mu = sqrt(2 rho), which implies
    rho-zCDP."""
    return replace(zero_concentrated(name, rho, f"Gaussian, {because}"), gaussian=True)


def in_sequence(name: str, *parts: Charge, because: str = "sequential composition: the parts add up") -> Charge:
    """Return the charge of several mechanisms, each of which may depend on earlier results: epsilons and deltas add up.

    If any cost is a Renyi curve, all costs are added as curves. Theory 1.1, sequential composition.
    """
    if any(part.renyi is not None for part in parts):
        curve = sum((part.curve() for part in parts), RenyiCurve())
        return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=SUM, parts=parts)
    epsilon, delta = (sum(losses, Fraction(0)) for losses in _losses(parts))
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because, rule=SUM, parts=parts)


def together(name: str, *parts: Charge) -> Charge:
    """Combine several pure charges into the charge of one pure mechanism, whose epsilon is their sum.

    Theory 4.4, figures that share a noise.

    Raises
    ------
    BudgetError : if a part is not pure.
    """
    if not all(part.pure for part in parts):
        raise BudgetError(
            f"The charge {name!r} combines several charges into one pure mechanism, but not all of them are pure."
        )
    epsilon = sum((part.epsilon for part in parts), Fraction(0))
    return Charge(name=name, epsilon=epsilon, because="one mechanism for all of them", rule=TOGETHER, parts=parts)


def in_parallel(name: str, *parts: Charge, because: str = "each record is in one random piece: the largest part") -> Charge:
    """Compose mechanisms that run on different random pieces of the records, one part for each piece: the largest epsilon and
    the largest delta.

    Theory 11.1, random partition: sizes and assignment must not depend on the values of the records. If any part is a Renyi
    curve, all parts count as curves, and each coefficient of the result is the largest among them.

    Raises
    ------
    BudgetError : if there are no parts, or if one part has a delta and another part is a curve.
    """
    if not parts:
        raise BudgetError(
            f"The charge {name!r} must consist of at least one other charge, because its cost is the largest of them."
        )
    if any(part.renyi is not None for part in parts):
        curve = above(*(part.curve() for part in parts))
        return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=IN_PARALLEL, parts=parts)
    epsilon, delta = map(max, _losses(parts))
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because, rule=IN_PARALLEL, parts=parts)


def _losses(parts: Sequence[Charge]) -> tuple[list[Fraction], list[Fraction]]:
    return [part.epsilon for part in parts], [part.delta for part in parts]


def epsilon_at(charge: Charge, delta: Fraction) -> Fraction:
    """Convert a charge (a Renyi curve, or a sum of curves and pure parts) to its epsilon at this delta, rounded up.

    The pure parts with the largest epsilons are added directly, the others as curves, so that the total is smallest. If every
    curve is Gaussian, the conversion is exact (theory 9.14, exact Gaussian curve).
    """
    from synthrelease.privacy import curves as gaussian  # imported here, because readers of a release convert no curves

    parts = summands(charge)
    pure = sorted((part.epsilon for part in parts if part.pure), reverse=True)
    curves = [part for part in parts if not part.pure]
    exactly = all(part.gaussian for part in curves)
    added, epsilons = [Fraction(0), *accumulate(pure)], list[Fraction]()
    for apart, epsilon in enumerate(added):
        whole = sum((part.curve() for part in curves), RenyiCurve())
        if exactly:
            rho = whole.rho + sum((gaussian.rho_of_pure(moved) for moved in pure[apart:]), Fraction(0))
            epsilons.append(epsilon + gaussian.epsilon_of(rho, delta))
        else:
            epsilons.append(epsilon + sum((curve_of_pure(moved) for moved in pure[apart:]), whole).epsilon(delta))
    return min(epsilons)


def summands(charge: Charge) -> tuple[Charge, ...]:
    """Return the parts of a sum, including the parts of sums inside it. A charge that is no sum is returned alone."""
    return tuple(summand for part in charge.parts for summand in summands(part)) if charge.rule == SUM else (charge,)


def check_above_0(delta: Fraction) -> None:
    """Raise BudgetError unless delta is above 0 and below 1, as the conversion of a curve needs."""
    if not 0 < delta < 1:
        raise BudgetError(
            "Refused: the plan contains zero-concentrated charges, which can be converted to an epsilon only with a delta "
            "above 0. Set delta in [budget], for example to 1e-9. It should be far below 1 divided by the number of rows."
        )


class Meter:
    """Track which planned charges were spent. Each may be spent once, and no other charge may be spent."""

    def __init__(self, planned: Sequence[Charge]):
        self._left = {charge.name: charge for charge in planned}

    def take(self, charge: Charge) -> None:
        """Mark a charge as spent. Raises BudgetError if the charge was not planned or was already spent."""
        planned = self._left.get(charge.name)
        if planned is None or planned.price != charge.price:
            raise BudgetError(
                f"Refused: the charge {charge.name!r} was not planned, or was already spent. No private count was read."
            )
        del self._left[charge.name]

    def take_all(self, charges: Charge | Sequence[Charge]) -> None:
        """Mark all charges for one output as spent. Raises the errors of `take`."""
        for charge in [charges] if isinstance(charges, Charge) else charges:
            self.take(charge)


# `RowsRule` states how the number of rows of a release is determined, and its cost. `enclave.resizing` draws the rows.

NUMBER_OF_ROWS = "number of rows"
"""The name of the charge for the noisy count of the kept rows."""


SHORTFALL = Fraction(1, 1000)
"""Largest probability that the noisy count minus the margin exceeds the number of kept rows. If it does, public filler rows
complete the table.
"""


Way = Literal["whole", "counted", "stated", "exact"]


@dataclass(frozen=True, kw_only=True)
class RowsRule:
    """The rule that determines how many rows m a release uses.

    Attributes
    ----------
    way : "whole": no row can be excluded, and m = N. "counted": m is a noisy count of the kept rows minus `margin`. "stated": m
        is a number in the specification. "exact": m = K, the number of kept rows, is published exactly, and the guarantee does
        not protect whether the rules keep a record.
    epsilon : the epsilon of the noisy count, above 0; None unless `way` is "counted".
    """

    way: Way = "whole"
    epsilon: Fraction | None = None
    stated: int | None = None

    @property
    def charge(self) -> Charge | None:
        if self.epsilon is None:
            return None
        return mechanism(NUMBER_OF_ROWS, self.epsilon, "discrete Laplace noise on the number of kept rows")

    @property
    def margin(self) -> int:
        """Return the margin that is subtracted from the noisy number of rows: the smallest k >= 0 with Pr[noise > k] <=
        SHORTFALL.

        Pr[noise > k] = a^(k+1) / (1 + a) for discrete Laplace noise, a = e^-epsilon.
        """
        if self.epsilon is None:
            return 0
        epsilon = float(self.epsilon)
        tail = -math.log(float(SHORTFALL)) - math.log1p(math.exp(-epsilon))
        return max(0, math.ceil(tail / epsilon) - 1)


def check_stated(rule: RowsRule, n_file: int) -> None:
    """Raise InputError if the specification states more rows than the public number in the file."""
    if rule.stated is not None and rule.stated > n_file:
        raise InputError(f"The file has {so_many(n_file, 'row')}, but [input] rows requires at least {rule.stated:,}.")


NOT_COVERED = "whether a record is complete, in range and plausible is not protected"
"""The text with which documents say what the guarantee does not cover if `rows = "exact"`."""


def invariants(way: str, n_file: int, n: int, persons: int | None = None) -> tuple[str, ...]:
    """Return sentences about what a release publishes exactly. The guarantee compares only files that are equal in these facts
    (theory 10, statement of the guarantee).

    Parameters
    ----------
    way : as in `RowsRule`.
    n_file, n : number of rows of the file, and of rows that the release uses.
    persons : number of persons in the file, if a key identifies persons (the number of rows is then not public), or None.
    """
    schema = "the schema: columns, bounds, bins and categories"
    if way == "exact":
        return (f"the number of kept rows, n = {n}", schema, f"which rows are kept: {NOT_COVERED}")
    if persons is not None:
        return (f"the number of persons of the file (different values of the key), N = {persons}", schema)
    return (f"the number of rows of the file, N = {n_file}", schema)
