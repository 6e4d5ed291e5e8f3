"""What a rehearsal advises about the number of rounds and the generation budget, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.privacy.selection import FiniteLaw, StoppingLaw


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The cheapest law for a generation budget.

    Attributes
    ----------
    chances : per private fit (per attempt, where rounds share none), the probability that a round is accepted.
    anew : whether the chances are of attempts that this budget was not chosen by.
    law, total, nothing : the law, epsilon of the whole release with it, and the mean probability that nothing is released; all
        None where no law ends so seldom with nothing.
    """

    generation: Fraction
    chances: tuple[float, ...]
    anew: bool = False
    law: FiniteLaw | None = None
    total: Fraction | None = None
    nothing: float | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What to expect of the chosen law, from attempts that nothing was chosen by.

    Attributes
    ----------
    acceptance, acceptance_low, acceptance_high : probability that a round is accepted, with its interval.
    nothing, nothing_high : probability that nothing is released, and the upper end of its interval. Where rounds share no
        private fit this is the probability at `acceptance_low`.
    rounds : mean number of rounds that are run.
    attempts, fits : what it rests on; `fits` is None where rounds share none.
    """

    acceptance: float
    acceptance_low: float
    acceptance_high: float
    nothing: float
    nothing_high: float
    rounds: float
    attempts: int
    fits: int | None


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """A law at a generation budget: the total epsilon of the release with it, and how often it ends with nothing."""

    generation: Fraction
    law: StoppingLaw
    total: Fraction
    nothing: float


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The advice on rounds and generation budget.

    Attributes
    ----------
    wanted : bound of the probability of "nothing" that was asked for.
    offers : one for every generation budget that was tried, the smallest first.
    chosen : the cheapest of them; None where no law ends so seldom with nothing.
    judgement : of the chosen one; None without, or when the time was used up before.
    frontier, coins : laws of the chosen generation budget at rising prices; and stop coins, at rising stop probabilities.
    coin : the stop coin that ends as seldom with nothing, at the chosen budget; None where none does.
    doubled : total of the search that never gives up, at the chosen budget: 2 epsilon of a round.
    """

    wanted: float
    offers: tuple[Offer, ...]
    chosen: Offer | None
    judgement: Judgement | None
    frontier: tuple[FrontierPoint, ...]
    coins: tuple[FrontierPoint, ...]
    coin: FrontierPoint | None
    doubled: Fraction | None


def cheapest_offer(offers: Iterable[Offer]) -> Offer | None:
    """The offer with the smallest total; of equal ones the first."""
    return min((offer for offer in offers if offer.total is not None), key=lambda offer: offer.total or 0, default=None)
