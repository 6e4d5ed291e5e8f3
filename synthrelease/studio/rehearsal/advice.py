"""Budget advice: how much is enough, by the three heuristics of the paper (4.4.4), from attempts on public data.

1. The lowest epsilon for a criterion whose noise is still small against the threshold.
2. The lowest epsilon for the generator with which the shortlist is still accepted often enough.
3. What the release then costs in all.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import OneNoise, noise_deviation
from synthrelease.errors import BudgetError
from synthrelease.privacy.law_prices import MOST_ROUNDS
from synthrelease.privacy.selection import FiniteLaw, SelectionRule, StoppingLaw
from synthrelease.privacy.subsets import PIECES, of_piece
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import AttemptResult, Looks, ShareEstimate, bounded_mean, clopper_pearson

BUDGET_FACTORS = tuple(Fraction(factor) for factor in ("1/4", "1/2", "3/4", "1"))
"""Generation budgets that are tried, as shares of the planned one."""

MARGIN = 0.2
"""False acceptance and rejection are stated for candidates this share of the threshold above and below it."""


UNLUCKY = 0.1
"""A private fit is called unlucky when it accepts less than this share of what fits accept on average."""


@dataclass(frozen=True, kw_only=True)
class CriterionAdvice:
    """One criterion with its noise against its threshold.

    Attributes
    ----------
    epsilon, threshold, noise_sd : as planned; noise_sd with the median sensitivity seen, None without noise on the figure.
    figure : median of the exact figures of the shortlist's candidates; None without.
    fails : share of the shortlist's attempts (of all, when it is empty) that this criterion rejected.
    false_rejection : probability that noise rejects a candidate whose figure is `MARGIN` of the threshold below it; by
        symmetry also that noise accepts one that is as far above it.
    smallest_epsilon : the least epsilon that keeps false rejection and acceptance at or under the wanted level.
    """

    name: str
    epsilon: Fraction
    threshold: float
    figure: float | None
    fails: float
    noise_sd: float | None = None
    false_rejection: float | None = None
    smallest_epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class BudgetPoint:
    """A generation budget: the total cost of the release, and the acceptance probability of its rounds."""

    generation: Fraction
    total: Fraction
    acceptance: ShareEstimate


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Expectations of a release that draws from the shortlist.

    The probability p that a round is accepted depends on the private fit that is made once; the figures are means over the
    fits of the rehearsal. With f(x) = sum_k Pr[K = k] x^k of the hidden number K of rounds, nothing = f(1 - p) and
    expected_rounds = (1 - f(1 - p)) / p; for a stop coin (1 - p) gamma / (p + gamma (1 - p)) and 1 / (p (1 - gamma) + gamma).

    Attributes
    ----------
    nothing_high : the upper end of a 95% interval of `nothing`, by these attempts; 0 for a search that never gives up.
    typical_rounds : median over the fits of the mean number of rounds: what half of all releases need at most, about.
    fits : how many private fits it rests on; 1 where nothing is fitted once, or too little is known of each.
    unlucky : of them, those that accept less than a tenth of what all fits accept on average. A few such fits make the mean
        number of rounds large while nearly every release needs few.
    """

    acceptance: float
    expected_rounds: float
    typical_rounds: float
    nothing: float
    nothing_high: float
    fits: int
    unlucky: int


def criterion_advice(
    criteria: Sequence[Criterion],
    attempts: Sequence[AttemptResult],
    level: float,
    noises: Mapping[str, OneNoise] = MappingProxyType({}),
) -> tuple[CriterionAdvice, ...]:
    """Advice for every criterion.

    Parameters
    ----------
    attempts : of the shortlist at the planned budget; of all configurations where there is none.
    level : wanted bound on false acceptance and rejection, in (0, 1/2).
    noises : by the names of the criteria whose figures share one noise after acceptance, that noise.
    """
    return tuple(
        _one_criterion(criterion, index, attempts, level, noises.get(criterion.name))
        for index, criterion in enumerate(criteria)
    )


def _one_criterion(
    criterion: Criterion, index: int, attempts: Sequence[AttemptResult], level: float, noise: OneNoise | None
) -> CriterionAdvice:
    known_figures = [figure for result in attempts if (figure := result.figures[index]) is not None]
    fails = 1 - float(np.mean([result.passed[index] for result in attempts])) if attempts else 0.0
    advice = CriterionAdvice(
        name=criterion.name,
        epsilon=criterion.epsilon,
        threshold=criterion.threshold,
        figure=float(np.median(known_figures)) if known_figures else None,
        fails=fails,
    )
    noisy = [sensitivity for result in attempts if (sensitivity := result.sensitivities[index]) is not None]
    if not noisy or not criterion.figure_gets_noise:
        return advice
    scale_for_one = float(np.median(noisy))  # noise scale at epsilon = 1
    gap = MARGIN * criterion.threshold
    return replace(
        advice,
        noise_sd=noise_deviation(scale_for_one, criterion.epsilon, noise),
        false_rejection=math.exp(-gap * float(criterion.epsilon) / scale_for_one) / 2,
        smallest_epsilon=smallest_epsilon(gap, scale_for_one, level),
    )


def typical_sensitivities(attempts: Sequence[AttemptResult], n_criteria: int) -> tuple[float | None, ...]:
    """Return per criterion the median sensitivity of its figure in these attempts; None where none was seen."""
    seen = [
        [sensitivity for result in attempts if (sensitivity := result.sensitivities[index]) is not None]
        for index in range(n_criteria)
    ]
    return tuple(float(np.median(sensitivities)) if sensitivities else None for sensitivities in seen)


def smallest_epsilon(gap: float, sensitivity: float, level: float) -> float:
    """Return the least epsilon at which Laplace noise exceeds `gap` in one direction with probability at most `level`.

    Pr = exp(-gap epsilon / sensitivity) / 2 <= level.
    """
    return max(0.0, math.log(1 / (2 * level)) * sensitivity / gap)


def total_epsilon(spec: ReleaseSpec, generation: Fraction) -> Fraction:
    """Compute the cost of the whole release with another generation budget."""
    return spec.with_budget(generation=generation).plan.total.epsilon


def frontier(spec: ReleaseSpec, attempts: Mapping[Fraction, Sequence[AttemptResult]], level: float) -> tuple[BudgetPoint, ...]:
    """Return the total epsilon and acceptance probability of each generation budget, cheapest first; `attempts` has the
    shortlist's attempts by generation budget.
    """
    return tuple(
        BudgetPoint(
            generation=generation,
            total=total_epsilon(spec, generation),
            acceptance=clopper_pearson(sum(result.accepted for result in results), len(results), level),
        )
        for generation, results in sorted(attempts.items())
        if results
    )


def cheapest(points: Sequence[BudgetPoint], target: float) -> BudgetPoint | None:
    """Return the cheapest budget that is accepted with at least the target probability, by the lower end of its interval."""
    return next((point for point in sorted(points, key=lambda point: point.total) if point.acceptance.low >= target), None)


def outlook(results: Sequence[AttemptResult], law: StoppingLaw | None, least_per_fit: int = 1) -> Outlook | None:
    """Compute the expected result of a release from these attempts of the shortlist; None without attempts.

    Parameters
    ----------
    law : of the hidden number of rounds; None for a search that never gives up.
    least_per_fit : fits with fewer attempts say too little by themselves (one unlucky candidate would look like an unlucky
        fit) and are left out; when no fit has as many, all attempts are taken together. sys.maxsize: rounds share no fit.
    """
    shares = chances_by_fit(results, least_per_fit)
    if not len(shares):
        return None
    nothing = np.zeros_like(shares) if law is None else np.asarray(law.nothing(1 - shares), dtype=float)
    longest = np.full_like(shares, math.inf if law is None else law.mean)
    rounds = np.divide(1 - nothing, shares, out=longest, where=shares > 0)
    return Outlook(
        acceptance=float(shares.mean()),
        expected_rounds=float(rounds.mean()),
        typical_rounds=float(np.median(rounds)),
        nothing=float(nothing.mean()),
        nothing_high=0.0 if law is None else _nothing_high(results, law, shared=least_per_fit < sys.maxsize),
        fits=len(shares),
        unlucky=int((shares < UNLUCKY * shares.mean()).sum()),
    )


def _nothing_high(results: Sequence[AttemptResult], law: StoppingLaw, *, shared: bool) -> float:
    """Return the upper end of an interval of the probability of nothing.

    Attempts with different private fits are independent, and all are where rounds share none. Where they do, the probability of
    nothing of a fit is a convex function of its acceptance: by its attempts it is overstated in the mean, never understated.
    """
    if not shared:
        low, _ = bounded_mean([result.chance for result in results])
        return float(law.nothing(1 - low))
    return bounded_mean(np.asarray(law.nothing(1 - chances_by_fit(results)), dtype=float).tolist())[1]


def chances_by_fit(results: Sequence[AttemptResult], least_per_fit: int = 1) -> np.ndarray:
    """Return (n_fits,) mean chance that an attempt is accepted, per private fit with at least so many attempts; where no fit
    has as many, of all attempts together. Empty without attempts."""
    by_fit: dict[int, list[float]] = {}
    for result in results:
        by_fit.setdefault(result.number, []).append(result.chance)
    large_enough = [chances for chances in by_fit.values() if len(chances) >= least_per_fit]
    together = [[chance for chances in by_fit.values() for chance in chances]] if by_fit else []
    return np.array([np.mean(chances) for chances in large_enough or together])


# The law of the hidden number of rounds that ends least often with "nothing" at a price: a linear programme.
#
# A search draws a hidden number K of rounds from a public law and publishes the first accepted round, or "nothing" when none of
# K is. With E = e^epsilon of a round, A the probability that a round is accepted and f(x) = sum_k Pr[K=k] x^k, it costs a price
# P when, for every A in (0, 1/(1+E)] and the largest A' that a neighbouring table can have, A' = E A,
#
#     (1 - f(1-A)) / A <= e^(P - epsilon) (1 - f(1-A')) / A'     and     f(1-A) <= e^P f(1-A').
#
# Both are linear in Pr[K=k], and so is the probability of "nothing", also as a mean over private fits that all rounds of a
# release share. Here the constraints are asked on a mesh of A, so what is found is an **offer**: its price is certified by
# `privacy`, for every A, when it is put into a plan, and no other figure is shown to anybody.

ONCE = FiniteLaw.of({1: Fraction(1)})
"""One round, which costs its own epsilon."""

_MESH = 80
"""Values of A', evenly spaced in log(A' / (1-A')); twice as many move the prices of the offers by less than 0.01."""

_REACH = 12.0
"""The mesh begins at log(A' / (1-A')) = -12, where both ratios are about 1 for the laws that are offered."""

_EVERY, _MOST, _FURTHER = 30, MOST_ROUNDS, 50
"""Numbers of rounds that a law may have: each up to the first, then so many further ones up to the largest, evenly in log K."""

_LEAST = 1e-6
"""What is less likely is left out of a law."""

_SPARED = 0.005
"""A number of rounds is left out where the programme without it ends with "nothing" only by this share more often."""

_DIGITS = 3
"""Significant digits of the smallest probability of a law."""

_FINE, _STEPS = 1_000, 9
"""The price of the cheapest law is looked for within epsilon over the first, and raised in so many growing steps until the
rounded law ends with "nothing" seldom enough."""


def numbers_of_rounds(largest: int = MOST_ROUNDS) -> np.ndarray:
    """Return (n,) the values of K that a law may have, rising, none above `largest`."""
    further = np.geomspace(_EVERY, _MOST, _FURTHER + 1).round()
    values = np.unique(np.concatenate([np.arange(1.0, _EVERY + 1), further, [largest]]))
    return values[values <= largest]


def mean_nothing(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Mean over private fits of Pr["nothing"] = f(1 - a), a the probability that a round with this fit is accepted."""
    return math.fsum(chances_of_nothing(law, chances)) / len(chances)


def chances_of_nothing(law: StoppingLaw, chances: Sequence[float]) -> list[float]:
    """Return per private fit, Pr["nothing"]."""
    return np.asarray(law.nothing(1 - np.asarray(chances, dtype=float))).tolist()


def mean_rounds_run(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Mean over private fits of the number of rounds that are run: (1 - f(1-a)) / a, E[K] where a = 0."""
    pairs = zip(chances, chances_of_nothing(law, chances), strict=True)
    return math.fsum((1 - nothing) / chance if chance > 0 else law.mean for chance, nothing in pairs) / len(chances)


def best_law(epsilon: float, price: float, chances: Sequence[float], largest: int = MOST_ROUNDS) -> FiniteLaw | None:
    """Return the distribution of rounds that most seldom ends without a table, among those that cost at most `price` on the
    mesh; None without one.

    Parameters
    ----------
    epsilon : of one round, above 0; rounds are pure.
    price : epsilon of the whole search; K = 1 costs that of a round.
    chances : per private fit, the probability that a round is accepted, in [0, 1]; one number where fits share nothing.
    largest : the largest number of rounds that a law may have.

    Returns
    -------
    Law
        Few numbers of rounds with probabilities of few digits that sum to 1. Rounding can move price and "nothing" in
        the last of these digits.
    """
    support, shares, nothing = _solved(epsilon, price, chances, numbers_of_rounds(largest))
    if not len(support):
        return None
    for rounds in sorted(support, key=lambda rounds: shares[rounds]):
        remaining = np.array([value for value in support if value != rounds])
        fewer = _solved(epsilon, price, chances, remaining) if rounds != 1 and len(remaining) else None
        if fewer is not None and len(fewer[0]) and fewer[2] <= (1 + _SPARED) * nothing:
            support, shares, _ = fewer
    return rounded(shares)


def _solved(
    epsilon: float, price: float, chances: Sequence[float], rounds: np.ndarray
) -> tuple[np.ndarray, dict[int, float], float]:
    """Solve the linear programme over these numbers of rounds: the used numbers, their probabilities, and the probability
    that no table is accepted.
    """
    from scipy.optimize import linprog

    table = _constraints(epsilon, price, rounds)
    nothing = np.mean([(1 - chance) ** rounds for chance in chances], axis=0)
    programme = linprog(
        nothing, A_ub=table, b_ub=np.zeros(len(table)), A_eq=np.ones((1, len(rounds))), b_eq=[1.0], method="highs"
    )
    if not programme.success:
        return np.array([]), {}, 1.0
    used = programme.x > _LEAST
    shares = {int(value): float(share) for value, share in zip(rounds[used], programme.x[used], strict=True)}
    return rounds[used], shares, float(programme.fun)


def cheapest_law(epsilon: float, nothing: float, chances: Sequence[float], largest: int = MOST_ROUNDS) -> FiniteLaw | None:
    """Return the cheapest law, on the mesh, that ends with "nothing" with at most this probability; None where none does for
    the price of a search that hardly ever gives up, 2 epsilon.

    The logarithm of the smallest probability falls with the price, nearly in a line: false position, with halvings.

    Parameters
    ----------
    epsilon, chances, largest : as for `best_law`.
    nothing : wanted bound of the mean over private fits, in (0, 1).
    """
    if mean_nothing(ONCE, chances) <= nothing:
        return ONCE
    price = _price_of(epsilon, nothing, chances, numbers_of_rounds(largest))
    if price is None:
        return None
    for step in range(_STEPS):
        law = best_law(epsilon, price + epsilon * 2**step / (4 * _FINE), chances, largest)
        if law is not None and mean_nothing(law, chances) <= nothing:
            return law
    return None


def _price_of(epsilon: float, nothing: float, chances: Sequence[float], rounds: np.ndarray) -> float | None:
    """Return about the price at which the programme ends with "nothing" so seldom; None above 2 epsilon."""
    from scipy.optimize import brentq

    def log_ratio(price: float) -> float:
        return math.log(max(_solved(epsilon, price, chances, rounds)[2], 1e-12) / nothing)

    if log_ratio(2 * epsilon) > 0:
        return None
    return float(brentq(log_ratio, epsilon, 2 * epsilon, xtol=epsilon / _FINE))


def rounded(shares: Mapping[int, float]) -> FiniteLaw:
    """Return a distribution with few digits; its probabilities sum to 1 exactly."""
    total = math.fsum(shares.values())
    digits = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(min(shares.values()) / total)))
    units = 10**digits
    whole = {rounds: math.floor(share / total * units) for rounds, share in sorted(shares.items())}
    units_left = units - sum(whole.values())
    for rounds in sorted(whole, key=lambda rounds: whole[rounds] - shares[rounds] / total * units)[:units_left]:
        whole[rounds] += 1
    return FiniteLaw.of({rounds: Fraction(share, units) for rounds, share in whole.items() if share})


def _constraints(epsilon: float, price: float, rounds: np.ndarray) -> np.ndarray:
    """Return (2 mesh, n) coefficients of Pr[K = k] in the terms that must not exceed 0, each row scaled to 1."""
    odds = np.exp(np.linspace(-_REACH, epsilon, _MESH))  # of A'
    factor = math.exp(epsilon)
    accepted = odds / (1 + odds) / factor
    outputs, nothing = _per_round(accepted, 1 - accepted, rounds)
    other_outputs, other_nothing = _per_round(odds / (1 + odds), 1 / (1 + odds), rounds)
    rows = np.vstack(
        [math.exp(epsilon - price) * outputs - other_outputs, math.exp(-price) * nothing - other_nothing]
    )  # fmt: skip
    return rows / np.abs(rows).max(axis=1, keepdims=True)


def _per_round(accepted: np.ndarray, rejected: np.ndarray, rounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (mesh, n) (1 - (1-A)^k) / A, and (1-A)^k."""
    logs = np.where(accepted < 0.5, np.log1p(-np.minimum(accepted, 0.5)), np.log(rejected))
    exponents = np.outer(logs, rounds)
    return -np.expm1(exponents) / accepted[:, None], np.exp(exponents)


# What a rehearsal advises about the number of rounds and the generation budget, as values.


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

    @property
    def acceptance(self) -> float:
        """The mean probability that a round is accepted."""
        return sum(self.chances) / len(self.chances)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Expectations of the chosen law, from attempts that nothing was chosen by.

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
class Proposal:
    """The advice on rounds and generation budget.

    Attributes
    ----------
    wanted : bound of the probability of "nothing" that was asked for.
    offers : one for every generation budget that was tried, the smallest first.
    chosen : the cheapest of them; None where no law ends so seldom with nothing.
    judgement : of the chosen one; None without, or when the time was used up before.
    without_limit : total of the search without a limit on its rounds, at the chosen budget: 2 epsilon of a round.
    """

    wanted: float
    offers: tuple[Offer, ...]
    chosen: Offer | None = None
    judgement: Judgement | None = None
    without_limit: Fraction | None = None

    @property
    def confirmed(self) -> bool:
        """Return whether fresh attempts, too, find no table as seldom as was wanted."""
        return self.judgement is not None and self.judgement.nothing <= self.wanted


def cheapest_offer(offers: Iterable[Offer]) -> Offer | None:
    """Return the offer with the smallest total; of equal ones the first."""
    return min((offer for offer in offers if offer.total is not None), key=lambda offer: offer.total or 0, default=None)


# How many rounds, at which generation budget: the advice that minimises the total epsilon of a release over both.
#
# A cheaper round that passes less often may cost less in all. For every generation budget that was tried the cheapest law of
# the hidden number of rounds (`laws.cheapest_law`) is found that ends with "nothing" with at most the wanted probability, and
# its total is that of the plan with this budget and law, certified by `privacy`.
#
# **The best of several estimates is flattered.** So the acceptance of the budget that looks cheapest is looked at anew, with
# attempts that nothing was chosen by; if another budget then looks cheaper, that one is, too. The law is fitted to these. What
# the report states about it comes from attempts that neither the budget nor the law was chosen by.

CHOOSING, JUDGING = 1_000, 2_000
"""Numbers from which attempts on are kept for choosing a law, and for judging it. A race has none so high."""

LOOKING_AGAIN = "checking generation budget {} with new attempts"
JUDGING_IT = "testing the proposed plan, generation budget {}, with new attempts"
"""The phases, for the progress. They are at most as many attempts as the widest interval needs."""

PER_FIT = 4
"""Attempts with the same private fit, of different configurations."""

_STEP = Fraction(1, 8)
"""Budgets beside the cheapest one are tried in steps of this share of the planned one."""

Tried = Callable[[Fraction, Sequence[tuple[int, int]], str], list[AttemptResult]]
"""Runs attempts (configuration, number) with a generation budget, or finds them; the text names the phase."""


def shares_luck(spec: ReleaseSpec) -> bool:
    """Return whether rounds of a release share chance: measurements, a private fit of a criterion, or how the rows were
    divided."""
    return (
        spec.shared_measurements or spec.options.partition is not None or any(criterion.once() for criterion in spec.criteria)
    )


def with_law(spec: ReleaseSpec, generation: Fraction, law: FiniteLaw) -> ReleaseSpec:
    """Return the specification with another generation budget and a hidden number of rounds of this law."""
    return replace(spec.with_budget(generation=generation), selection_rule=SelectionRule(rounds=law))


def one_round(spec: ReleaseSpec, generation: Fraction) -> Fraction | None:
    """Return epsilon of a round with this generation budget; None where rounds are not pure: there no law is offered.

    With pieces, that of the dearer one.
    """
    charges = spec.with_budget(generation=generation).plan.per_round
    if not all(charge.pure for charge in charges):
        return None
    parts = [charges] if spec.options.partition is None else [of_piece(charges, piece) for piece in PIECES]
    return max(sum((charge.epsilon for charge in part), Fraction(0)) for part in parts)


def more_budgets(offers: Collection[Offer], planned: Fraction) -> list[Fraction]:
    """Generation budgets next to the cheapest one that were not tried yet."""
    best = cheapest_offer(offers)
    if best is None:
        return []
    near = (best.generation - _STEP * planned, best.generation + _STEP * planned)
    tried = {offer.generation for offer in offers}
    return [generation for generation in near if generation > 0 and generation not in tried]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The wishes of a steward that the advice has to meet.

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
        """Return the largest number of rounds of a distribution: ten times the mean number until a round is accepted at the
        target rate.
        """
        return min(MOST_ROUNDS, math.ceil(10 / self.target))


def offer(spec: ReleaseSpec, generation: Fraction, chances: Sequence[float], wish: Wish, *, anew: bool = False) -> Offer:
    """Return the cheapest law at a generation budget, with its certified total."""
    without_law = Offer(generation=generation, chances=tuple(chances), anew=anew)
    epsilon = one_round(spec, generation)
    if not epsilon or not chances or math.fsum(chances) < wish.target * len(chances):
        return without_law
    law = cheapest_law(float(epsilon), wish.nothing, chances, wish.most)
    if law is None:
        return without_law
    try:
        total = with_law(spec, generation, law).plan.total.epsilon
    except BudgetError:  # its rounding errors are not bounded
        return without_law
    return replace(without_law, law=law, total=total, nothing=mean_nothing(law, chances))


def first_offer(
    spec: ReleaseSpec, generation: Fraction, shortlist: Sequence[int], results: Sequence[AttemptResult], wish: Wish
) -> Offer:
    """Return the offer of a generation budget by the attempts that chose shortlist and budget; at half a shortlist for each
    fit.
    """
    return offer(spec, generation, _chances(results, shares_luck(spec), (len(shortlist) + 1) // 2), wish)


def propose(
    spec: ReleaseSpec, shortlist: Sequence[int], first: Mapping[Fraction, Offer], wish: Wish, tried: Tried
) -> Proposal | None:
    """Return the advice, from the first offers by generation budget; further attempts of the shortlist are run through `tried`.

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
        """Run as many attempts as a narrow interval needs; return none where the time was used up before."""
        pairs, results = fresh_attempts(shortlist, start, attempts), list[AttemptResult]()
        for figures in looks.after:
            enough = min(len(pairs), _whole_passes(figures, shortlist, shared))
            results += tried(generation, pairs[len(results) : enough], phase.format(f"{float(generation):g}"))
            if len(results) < enough:
                return []
            low, high = looks.mean(_units(results, shared))
            if high - low <= wish.width:
                break
        return results

    for _ in range(len(offers) + 1):
        best = cheapest_offer(offers.values())
        results = [] if best is None or best.anew else fresh(best.generation, CHOOSING, LOOKING_AGAIN)
        if best is None or not results:
            break
        offers[best.generation] = offer(spec, best.generation, _chances(results, shared), wish, anew=True)
    chosen = cheapest_offer(candidate for candidate in offers.values() if candidate.anew) or cheapest_offer(offers.values())
    judged = fresh(chosen.generation, JUDGING, JUDGING_IT) if chosen is not None and chosen.anew else []
    ordered = tuple(offers[generation] for generation in sorted(offers))
    if chosen is None or chosen.law is None:
        return Proposal(wanted=wish.nothing, offers=ordered)
    endless = replace(
        spec.with_budget(generation=chosen.generation), selection_rule=SelectionRule(stop_probability=Fraction(0))
    )
    return Proposal(
        wanted=wish.nothing,
        offers=ordered,
        chosen=chosen,
        judgement=judgement(chosen.law, judged, looks, shared) if judged else None,
        without_limit=endless.plan.total.epsilon,
    )


def fresh_attempts(shortlist: Sequence[int], first: int, attempts: int) -> list[tuple[int, int]]:
    """Return (configuration, number) of at least so many attempts: different configurations with each private fit, in turn."""
    together = min(PER_FIT, len(shortlist))
    return [
        (shortlist[(fit * together + member) % len(shortlist)], first + fit)
        for fit in range(-(-attempts // together))
        for member in range(together)
    ]


def _together(shortlist: Sequence[int], shared: bool) -> int:
    """Return attempts that make up one figure: those with the same private fit, or one where rounds share none."""
    return min(PER_FIT, len(shortlist)) if shared else 1


def _whole_passes(figures: int, shortlist: Sequence[int], shared: bool) -> int:
    """Return at least as many attempts as so many figures need, the same number of each configuration: a release draws them
    alike."""
    together = _together(shortlist, shared)
    whole = math.lcm(together, len(shortlist))
    return -(-figures * together // whole) * whole


def _units(results: Sequence[AttemptResult], shared: bool) -> tuple[float, ...]:
    """Chances that are independent of each other: of fits, or of attempts where rounds share none."""
    return _chances(results, shared=True) if shared else tuple(result.chance for result in results)


def judgement(law: FiniteLaw, results: Sequence[AttemptResult], looks: Looks, shared: bool) -> Judgement:
    """Compute the expected result of a distribution of rounds that was not chosen from these attempts.

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


def _chances(results: Sequence[AttemptResult], shared: bool, least_per_fit: int = 1) -> tuple[float, ...]:
    """Return per private fit the mean chance of its attempts; of all attempts together, where rounds share no fit."""
    return tuple(chances_by_fit(results, least_per_fit if shared else sys.maxsize).tolist())
