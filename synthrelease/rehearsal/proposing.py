"""How many rounds, at which generation budget: the advice that minimises the total epsilon of a release over both.

A cheaper round that passes less often may cost less in all. For every generation budget that was tried the cheapest law of the
hidden number of rounds (`laws.cheapest_law`) is found that ends with "nothing" with at most the wanted probability, and its
total is that of the plan with this budget and law, certified by `accounting`.

**The best of several estimates is flattered.** So the acceptance of the budget that looks cheapest is looked at anew, with
attempts that nothing was chosen by; if another budget then looks cheaper, that one is, too. The law is fitted to these. What
the report states about it comes from attempts that neither the budget nor the law was chosen by.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.errors import BudgetError
from synthrelease.privacy.law_prices import MOST_ROUNDS
from synthrelease.privacy.selection import FiniteLaw, StopCoin
from synthrelease.privacy.subsets import PIECES, of_piece
from synthrelease.rehearsal.advice import chances_by_fit
from synthrelease.rehearsal.attempts import AttemptResult
from synthrelease.rehearsal.intervals import Looks
from synthrelease.rehearsal.laws import (
    ONCE,
    best_law,
    chances_of_nothing,
    cheapest_law,
    mean_nothing,
    mean_rounds_run,
    stop_probability,
)
from synthrelease.rehearsal.proposal import FrontierPoint, Judgement, Offer, Proposal, cheapest_offer
from synthrelease.spec.release_spec import ReleaseSpec

CHOOSING, JUDGING = 1_000, 2_000
"""Numbers from which attempts on are kept for choosing a law, and for judging it. A race has none so high."""

LOOKING_AGAIN = "generation budget {} again, by fresh attempts: those that made it look cheapest flatter it"
JUDGING_IT = "judging generation budget {} by fresh attempts: those that chose the rounds flatter them"
"""The phases, for the progress. They are at most as many attempts as the widest interval needs."""

PER_FIT = 4
"""Attempts with the same private fit, of different configurations."""

_STEP = Fraction(1, 8)
"""Budgets beside the cheapest one are tried in steps of this share of the planned one."""

_FRONTIER = 8

Tried = Callable[[Fraction, Sequence[tuple[int, int]], str], list[AttemptResult]]
"""Runs attempts (configuration, number) with a generation budget, or finds them; the text names the phase."""


def shares_luck(spec: ReleaseSpec) -> bool:
    """Whether rounds of a release share chance: measurements, a private fit of a criterion, or how the rows were divided."""
    return spec.shared_measurements or spec.partition is not None or any(criterion.once() for criterion in spec.criteria)


def with_law(spec: ReleaseSpec, generation: Fraction, law: FiniteLaw) -> ReleaseSpec:
    """The specification with another generation budget and a hidden number of rounds of this law."""
    return replace(spec, generation_budget=generation, stop_probability=Fraction(0), shape=None, rounds=law)


def one_round(spec: ReleaseSpec, generation: Fraction) -> Fraction | None:
    """Epsilon of a round with this generation budget; None where rounds are not pure: there no law is offered.

    With pieces, that of the dearer one.
    """
    charges = replace(spec, generation_budget=generation).plan.per_round
    if not all(charge.pure for charge in charges):
        return None
    parts = [charges] if spec.partition is None else [of_piece(charges, piece) for piece in PIECES]
    return max(sum((charge.epsilon for charge in part), Fraction(0)) for part in parts)


def more_budgets(offers: Collection[Offer], planned: Fraction) -> list[Fraction]:
    """Generation budgets next to the cheapest one that were not tried yet."""
    best = cheapest_offer(offers)
    if best is None:
        return []
    near = (best.generation - _STEP * planned, best.generation + _STEP * planned)
    known = {offer.generation for offer in offers}
    return [generation for generation in near if generation > 0 and generation not in known]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the advice is for.

    Attributes
    ----------
    nothing : bound of the probability that nothing is released, in (0, 1).
    target, width : as of the race's goal: no law is offered where fewer rounds are accepted, because searches would get long;
        and the narrower, the more attempts choose and judge.
    """

    nothing: float
    target: float
    width: float

    @property
    def most(self) -> int:
        """The largest number of rounds of a law: ten times those until a round is accepted at the target rate."""
        return min(MOST_ROUNDS, math.ceil(10 / self.target))


def offer(spec: ReleaseSpec, generation: Fraction, chances: Sequence[float], wish: Wish, *, anew: bool = False) -> Offer:
    """The cheapest law at a generation budget, with its certified total."""
    found = Offer(generation=generation, chances=tuple(chances), anew=anew)
    epsilon = one_round(spec, generation)
    if not epsilon or not chances or math.fsum(chances) < wish.target * len(chances):
        return found
    law = cheapest_law(float(epsilon), wish.nothing, chances, wish.most)
    if law is None:
        return found
    total = _total(spec, generation, law)
    return found if total is None else replace(found, law=law, total=total, nothing=mean_nothing(law, chances))


def first_offer(
    spec: ReleaseSpec, generation: Fraction, shortlist: Sequence[int], results: Sequence[AttemptResult], wish: Wish
) -> Offer:
    """The offer of a generation budget by the attempts that chose shortlist and budget; at half a shortlist for each fit."""
    return offer(spec, generation, _chances(results, shares_luck(spec), (len(shortlist) + 1) // 2), wish)


def propose(
    spec: ReleaseSpec,
    shortlist: Sequence[int],
    first: Mapping[Fraction, Offer],
    wish: Wish,
    tried: Tried,
) -> Proposal | None:
    """The advice, from the first offers by generation budget; further attempts of the shortlist are run through `tried`.

    Returns
    -------
    Proposal | None
        None where there is no shortlist, or rounds are not pure.
    """
    if not shortlist or not one_round(spec, spec.generation_budget):
        return None
    shared, offers = shares_luck(spec), dict(first)
    attempts = math.ceil(6 / wish.width**2)  # the interval of a share near 1/2 is then about as wide as that
    looks = Looks(planned=-(-attempts // _together(shortlist, shared)))

    def fresh(generation: Fraction, start: int, phase: str) -> list[AttemptResult]:
        """As many as a narrow interval needs; none where the time was used up before."""
        pairs, found = fresh_attempts(shortlist, start, attempts), list[AttemptResult]()
        for figures in looks.after:
            enough = min(len(pairs), _whole_passes(figures, shortlist, shared))
            found += tried(generation, pairs[len(found) : enough], phase.format(f"{float(generation):g}"))
            if len(found) < enough:
                return []
            low, high = looks.mean(_units(found, shared))
            if high - low <= wish.width:
                break
        return found

    for _ in range(len(offers) + 1):
        best = cheapest_offer(offers.values())
        results = [] if best is None or best.anew else fresh(best.generation, CHOOSING, LOOKING_AGAIN)
        if best is None or not results:
            break
        offers[best.generation] = offer(spec, best.generation, _chances(results, shared), wish, anew=True)
    chosen = cheapest_offer(each for each in offers.values() if each.anew) or cheapest_offer(offers.values())
    judged = fresh(chosen.generation, JUDGING, JUDGING_IT) if chosen is not None and chosen.anew else []
    ordered = tuple(offers[generation] for generation in sorted(offers))
    if chosen is None or chosen.law is None:
        return Proposal(
            wanted=wish.nothing, offers=ordered, chosen=None, judgement=None, frontier=(), coins=(), coin=None, doubled=None
        )
    gamma = stop_probability(wish.nothing, chosen.chances)
    return Proposal(
        wanted=wish.nothing,
        offers=ordered,
        chosen=chosen,
        judgement=judgement(chosen.law, judged, looks, shared) if judged else None,
        frontier=frontier(spec, chosen, wish.most),
        coins=coins(spec, chosen),
        coin=None if gamma is None else _coin_point(spec, chosen, gamma),
        doubled=_known_threshold(spec, chosen.generation, Fraction(0)),
    )


def fresh_attempts(shortlist: Sequence[int], first: int, attempts: int) -> list[tuple[int, int]]:
    """(configuration, number) of at least so many attempts: different configurations with each private fit, in turn."""
    together = min(PER_FIT, len(shortlist))
    return [
        (shortlist[(fit * together + place) % len(shortlist)], first + fit)
        for fit in range(-(-attempts // together))
        for place in range(together)
    ]


def _together(shortlist: Sequence[int], shared: bool) -> int:
    """Attempts that make up one figure: those with the same private fit, or one where rounds share none."""
    return min(PER_FIT, len(shortlist)) if shared else 1


def _whole_passes(figures: int, shortlist: Sequence[int], shared: bool) -> int:
    """At least as many attempts as so many figures need, the same number of each configuration: a release draws them alike."""
    together = _together(shortlist, shared)
    whole = math.lcm(together, len(shortlist))
    return -(-figures * together // whole) * whole


def _units(results: Sequence[AttemptResult], shared: bool) -> tuple[float, ...]:
    """Chances that are independent of each other: of fits, or of attempts where rounds share none."""
    return _chances(results, shared=True) if shared else tuple(result.chance for result in results)


def judgement(law: FiniteLaw, results: Sequence[AttemptResult], looks: Looks, shared: bool) -> Judgement:
    """What to expect of a law that was not chosen by these attempts.

    Fits are independent of each other, and where rounds share none attempts are: intervals hold whenever the looks ended
    (`intervals.Looks`). The probability of "nothing" of a fit is a convex function of its acceptance: from a few attempts
    with it, it is overstated in the mean, never understated.
    """
    units = _units(results, shared)
    low, high = looks.mean(units)
    fits = _chances(results, shared)
    ends = chances_of_nothing(law, fits)
    return Judgement(
        acceptance=math.fsum(units) / len(units),
        acceptance_low=low,
        acceptance_high=high,
        nothing=math.fsum(ends) / len(ends),
        nothing_high=looks.mean(ends)[1] if shared else mean_nothing(law, [low]),
        rounds=mean_rounds_run(law, fits),
        attempts=len(results),
        fits=len(fits) if shared else None,
    )


def frontier(spec: ReleaseSpec, one: Offer, most: int) -> tuple[FrontierPoint, ...]:
    """Laws at the generation budget of an offer, at rising prices; the first is one round."""
    epsilon = float(one_round(spec, one.generation) or 0)
    laws = [best_law(epsilon, epsilon * (1 + step / _FRONTIER), one.chances, most) for step in range(1, _FRONTIER)]
    points = (_point(spec, one, law) for law in (ONCE, *laws) if law is not None)
    return tuple(point for point in points if point is not None)


def coins(spec: ReleaseSpec, one: Offer) -> tuple[FrontierPoint, ...]:
    """Stop coins at the generation budget of an offer; the last, with stop probability 1, is one round."""
    grid = [Fraction(step, 1000) for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
    return tuple(_coin_point(spec, one, gamma) for gamma in grid)


def _point(spec: ReleaseSpec, one: Offer, law: FiniteLaw) -> FrontierPoint | None:
    total = _total(spec, one.generation, law)
    if total is None:
        return None
    return FrontierPoint(generation=one.generation, law=law, total=total, nothing=mean_nothing(law, one.chances))


def _coin_point(spec: ReleaseSpec, one: Offer, gamma: Fraction) -> FrontierPoint:
    law, total = StopCoin(stop_probability=gamma), _known_threshold(spec, one.generation, gamma)
    return FrontierPoint(generation=one.generation, law=law, total=total, nothing=mean_nothing(law, one.chances))


def _chances(results: Sequence[AttemptResult], shared: bool, least_per_fit: int = 1) -> tuple[float, ...]:
    """Per private fit the mean chance of its attempts; of all attempts together, where rounds share no fit."""
    return tuple(chances_by_fit(results, least_per_fit if shared else sys.maxsize).tolist())


def _known_threshold(spec: ReleaseSpec, generation: Fraction, gamma: Fraction) -> Fraction:
    coin = replace(spec, generation_budget=generation, stop_probability=gamma, shape=None, rounds=None)
    return coin.plan.total.epsilon


def _total(spec: ReleaseSpec, generation: Fraction, law: FiniteLaw) -> Fraction | None:
    """The certified total of the plan with this budget and law; None where its rounding errors are not bounded."""
    try:
        return with_law(spec, generation, law).plan.total.epsilon
    except BudgetError:
        return None
