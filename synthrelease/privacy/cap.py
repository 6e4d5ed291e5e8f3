"""Account for a scout and a release together, under one cap that is fixed before the scout (theory 9.19, one cap).

A release without a public file is planned with noisy tables, which a scout measures. The charges of the release depend on these
tables, so the guarantee is the cap, even if the release costs less. Gaussian parts share one budget, and pure parts a separate
epsilon, also fixed before the scout. With a delta of 0, all parts are pure, and their epsilons add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.errors import BudgetError, Unexpected
from synthrelease.privacy.charges import WITHIN_CAP, Charge, decimal_text, gaussian, mechanism, summands
from synthrelease.privacy.curves import below, epsilon_of, exp_up, rho_within
from synthrelease.privacy.grids import gaussian_scale
from synthrelease.privacy.selection import tidy_up

SCOUT, UNKNOWN = "scout", "texts that no codebook lists"
"""The names of the charges of a scout."""
_BITS = 400


@dataclass(frozen=True, kw_only=True)
class Cap:
    """The largest total cost of a scout (a run that measures noisy tables for planning) and a release of the same rows.

    Attributes
    ----------
    epsilon, delta : the guarantee for the scout and the release together. The delta is 0 if both are pure.
    rho : the cost of the scout, which is mu-Gaussian with rho = mu^2 / 2; 0 for a pure scout. The delta for strings that no
        codebook lists is not included.
    rare : upper bound on the probability that the scout publishes a string of only one row, over all columns whose strings no
        codebook lists.
    tests : the epsilon for pure parts of the release, such as its joint test; with delta 0, of the whole release.

    Raises
    ------
    Unexpected : if values are inconsistent, or if the scout leaves no budget for the release.

    Examples
    --------
    >>> cap = Cap(epsilon=Fraction(2), delta=Fraction(1, 10**9), rho=Fraction(3, 1000), tests=Fraction(1, 5))
    >>> float(cap.rho_left) > 14 * 0.003, float(cap.alone)
    (True, 0.410185187)
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    rare: Fraction = Fraction(0)
    tests: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.pure:
            if self.rho or self.rare or not 0 < self.tests < self.epsilon:
                raise Unexpected("With delta = 0, rho and rare must be 0, and tests must lie above 0 and below epsilon")
            return
        if not (0 <= self.tests < self.epsilon and self.gaussian_delta > 0 and self.delta < 1 and self.rho > 0):
            raise Unexpected(
                "With delta > 0, rho must be above 0 and tests below epsilon. The value of delta must be below 1, and above "
                "(1 + e^epsilon) times the probability that a text of one row is published"
            )
        if self.rho_left <= 0:
            raise Unexpected(f"The scout costs rho = {decimal_text(self.rho)}, which leaves no budget for the release")

    @property
    def pure(self) -> bool:
        return self.delta == 0

    @property
    def rare_delta(self) -> Fraction:
        """Return the part of delta for strings that occur in only one of two neighbouring files: (1 + e^epsilon) times
        `rare`."""
        return tidy_up((1 + exp_up(self.epsilon)) * self.rare)

    @property
    def gaussian_delta(self) -> Fraction:
        """Return the rest of delta, at which all Gaussian noise is converted to an epsilon."""
        return self.delta - self.rare_delta

    @property
    def rho_left(self) -> Fraction:
        """Return the rho that the release may spend on Gaussian noise, rounded down."""
        return Fraction(0) if self.pure else rho_within(self.epsilon - self.tests, self.gaussian_delta) - self.rho

    @property
    def alone(self) -> Fraction:
        """Return the epsilon of the scout without the release.

        With delta 0, it is the total epsilon minus `tests`. Otherwise it is converted from the scout's rho, at
        `gaussian_delta`.
        """
        return self.epsilon - self.tests if self.pure else epsilon_of(self.rho, self.gaussian_delta)

    @property
    def cost(self) -> Fraction:
        """Return the budget of all tables of the scout: an epsilon if pure, otherwise a rho."""
        return self.alone if self.pure else self.rho

    def deviation(self, cost: Fraction, moved: tuple[float, float] = (math.sqrt(2), 2)) -> float:
        """Return the approximate standard deviation of the noise in each number of a table that is measured at this cost.

        Parameters
        ----------
        cost : the part of `Cap.cost` that is spent on the whole table, above 0.
        moved : the largest l2 and l1 distances between the numbers of two neighbouring files; by default those of a table of
            counts.
        """
        return math.sqrt(2) * moved[1] / cost if self.pure else moved[0] / math.sqrt(2 * cost)

    @property
    def charges(self) -> tuple[Charge, ...]:
        if self.pure:
            return (mechanism(SCOUT, self.alone, "noisy tables of single columns, before the release"),)
        because = f"alone {decimal_text(self.alone)} at delta = {float(self.delta):g}"
        scouted = gaussian(SCOUT, self.rho, f"noisy tables of single columns, before the release; {because}")
        if not self.rare:
            return (scouted,)
        because = "(1 + e^epsilon) times the probability that a text of one row is published (theory 9.19, one cap)"
        return scouted, mechanism(UNKNOWN, Fraction(0), because, self.rare_delta)


def within_cap(name: str, cap: Cap, *parts: Charge) -> Charge:
    """Return the joint charge of a scout and the release after it: the whole cap.

    Raises
    ------
    BudgetError : if a part is neither Gaussian nor pure, or if all parts together cost more than the cap.
    """
    rho, tests = _spent(parts)
    if tests > cap.tests or rho > cap.rho_left:
        raise BudgetError(
            "Refused: the release does not fit into the cap of scout and release. Its parts with Gaussian noise would cost rho "
            f"= {decimal_text(rho)}, and its other parts epsilon = {decimal_text(tests)}. The cap leaves only rho = "
            f"{decimal_text(cap.rho_left)} and epsilon = {decimal_text(cap.tests)} for them. Choose smaller budgets in the "
            "configuration and the acceptance file. No data were read and no budget was spent."
        )
    return capped(name, cap.epsilon, cap.delta, (*cap.charges, *parts))


def capped(name: str, epsilon: Fraction, delta: Fraction, parts: tuple[Charge, ...]) -> Charge:
    """Return the charge of several parts that together may cost at most (`epsilon`, `delta`): this whole cap, even if the parts
    cost less. Raises BudgetError if they cost more."""
    rho, tests = _spent([part for part in parts if part.name != UNKNOWN])
    left = delta - sum((part.delta for part in parts if part.name == UNKNOWN), Fraction(0))
    within = left == rho == 0 and tests <= epsilon
    if not within and (not 0 < left < 1 or not tests < epsilon or rho > rho_within(epsilon - tests, left)):
        raise BudgetError(f"The charges within {name!r} cost more than the cap of epsilon = {decimal_text(epsilon)}.")
    because = "a cap that was fixed before the scout, for scout and release together (theory 9.19, one cap)"
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because, rule=WITHIN_CAP, parts=parts)


def _spent(parts: Sequence[Charge]) -> tuple[Fraction, Fraction]:
    """Return the total rho of the Gaussian parts and the total epsilon of the pure parts. Raises BudgetError for any other
    part."""
    apart = [summand for part in parts for summand in summands(part)]
    if not all(part.gaussian or part.pure for part in apart):
        raise BudgetError(
            "Refused: in a release after a scout, every mechanism must be Gaussian or satisfy pure differential privacy. For "
            "other mechanisms, no theorem bounds the cost of scout and release together. Choose another generator. No budget "
            "was spent."
        )
    rho = sum((part.curve().rho for part in apart if part.gaussian), Fraction(0))
    return rho, sum((part.epsilon for part in apart if part.pure), Fraction(0))


def text_threshold(rho: Fraction) -> tuple[int, Fraction]:
    """Return the smallest noisy count at which a string of a column without a codebook is published; the column's counts cost
    `rho`.

    The threshold is 7 standard deviations, rounded up, plus 2. The second result is an upper bound on the probability that a
    string of only one row reaches the threshold.

    Privacy
    -------
    The noise is `noise.rounded_gaussian` with squared sensitivity 2, so 1 + noise >= T if and only if N(0, s^2) >= T - 3/2.
    """
    scale = Fraction(gaussian_scale(1 / rho))
    threshold = -(-(7 * scale) // 1) + 2
    chance = below(-(threshold - Fraction(3, 2)) / scale, _BITS).high
    return int(threshold), tidy_up(Fraction(chance, 1 << _BITS))
