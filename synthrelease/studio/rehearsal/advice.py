"""Recommend budgets and numbers of rounds from attempts on public data, by the heuristics of Hod & Canetti (2024), 4.4.4.

1. For each criterion, the lowest epsilon at which the noise is small compared with the threshold.
2. The lowest budget of the generator at which the shortlist is accepted often enough.
3. The total cost of a release with these budgets and the best distribution of the number of rounds.

A private fit is a result that a release computes once for all rounds, such as measured tables. A search ends with "nothing"
if no round is accepted.
"""

from __future__ import annotations

import math
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
"""Generation budgets to try, as multiples of the planned budget."""

RELATIVE_GAP = 0.2
"""The advice states the probability of a false decision for a value that differs by this share from the threshold."""

UNLUCKY = 0.1
"""A private fit is unlucky if its share of accepted attempts is below this multiple of the average over all fits."""


@dataclass(frozen=True, kw_only=True)
class CriterionAdvice:
    """The noise of one criterion compared with its threshold.

    Attributes
    ----------
    noise_sd : standard deviation of the noise at the median sensitivity of the attempts, or None if the value gets no
        noise.
    figure : median of the values without noise, or None.
    fails : share of the attempts that this criterion rejected, from 0 to 1.
    false_rejection : probability that noise rejects a value 20% (`RELATIVE_GAP`) below the threshold, or accepts one 20% above.
    smallest_epsilon : the smallest epsilon at which this probability is at most the wanted level.
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
    """A generation budget, the total cost of the release and the acceptance probability of its rounds."""

    generation: Fraction
    total: Fraction
    acceptance: ShareEstimate


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What to expect of a release from this shortlist of configurations (generators with settings and bins).

    All values are means over the private fits. With p the probability that a round is accepted, K the hidden number of
    rounds and f(x) = sum_k Pr[K = k] x^k: nothing = f(1 - p) and expected_rounds = (1 - f(1 - p)) / p. With a stop coin of
    probability gamma: nothing = (1 - p) gamma / (p + gamma (1 - p)) and expected_rounds = 1 / (gamma + p (1 - gamma)).

    Attributes
    ----------
    acceptance : mean probability that a round is accepted.
    expected_rounds : the mean number of rounds that a search runs.
    typical_rounds : median over the fits of the mean number of rounds.
    nothing : mean probability that no table is accepted.
    nothing_high : upper end of a 95% interval for `nothing`, or 0 for a search without a limit.
    fits : number of private fits behind these values; 1 if rounds share no fit or no fit has enough attempts.
    unlucky : number of fits whose share of accepted attempts is below a tenth of the average. A few such fits make the mean
        number of rounds large although nearly every release needs few.
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
    """Compare the noise of each acceptance criterion with its threshold, and count how often attempts fail it.

    Parameters
    ----------
    attempts : attempts of the shortlist at the planned budget, or of all configurations if the shortlist is empty.
    level : the largest wanted probability of a false rejection, and of a false acceptance, in (0, 1/2).
    noises : the noise that values share after acceptance, by criterion.
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
    gap = RELATIVE_GAP * criterion.threshold
    return replace(
        advice,
        noise_sd=noise_deviation(scale_for_one, criterion.epsilon, noise),
        false_rejection=math.exp(-gap * float(criterion.epsilon) / scale_for_one) / 2,
        smallest_epsilon=smallest_epsilon(gap, scale_for_one, level),
    )


def typical_sensitivities(attempts: Sequence[AttemptResult], n_criteria: int) -> tuple[float | None, ...]:
    """Return the median sensitivity of each criterion's value, or None without one."""
    seen = [
        [sensitivity for result in attempts if (sensitivity := result.sensitivities[index]) is not None]
        for index in range(n_criteria)
    ]
    return tuple(float(np.median(sensitivities)) if sensitivities else None for sensitivities in seen)


def smallest_epsilon(gap: float, sensitivity: float, level: float) -> float:
    """Return the smallest epsilon at which Laplace noise exceeds `gap` in one direction with probability at most `level`.

    This probability is exp(-gap epsilon / sensitivity) / 2.
    """
    return max(0.0, math.log(1 / (2 * level)) * sensitivity / gap)


def total_epsilon(spec: ReleaseSpec, generation: Fraction) -> Fraction:
    return spec.with_budget(generation=generation).plan.total.epsilon


def frontier(spec: ReleaseSpec, attempts: Mapping[Fraction, Sequence[AttemptResult]], level: float) -> tuple[BudgetPoint, ...]:
    """Return the total epsilon and the acceptance probability at each generation budget, the smallest budget first.

    `attempts` of the shortlist are given by generation budget; `level` is the confidence of the intervals.
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
    """Return the budget with the smallest total epsilon whose whole acceptance interval reaches the target, or None."""
    return next((point for point in sorted(points, key=lambda point: point.total) if point.acceptance.low >= target), None)


def outlook(results: Sequence[AttemptResult], law: StoppingLaw | None, least_per_fit: int | None = 1) -> Outlook | None:
    """Estimate the rounds and the results of a release from attempts of the shortlist; None without attempts.

    Parameters
    ----------
    law : distribution of the hidden number of rounds, or None for a search without a limit.
    least_per_fit : fits with fewer attempts are left out, because one unlucky candidate would look like an unlucky fit. If
        no fit has enough attempts, all attempts count together. None: rounds share no fit, and all attempts count together.
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
        nothing_high=0.0 if law is None else _nothing_high(results, law, shared=least_per_fit is not None),
        fits=len(shares),
        unlucky=int((shares < UNLUCKY * shares.mean()).sum()),
    )


def _nothing_high(results: Sequence[AttemptResult], law: StoppingLaw, *, shared: bool) -> float:
    """Return the upper end of a 95% interval for the probability of "nothing".

    If rounds share a fit, its estimate is, on average, not too small (the probability is convex in the acceptance
    probability).
    """
    if not shared:
        low, _ = bounded_mean([result.chance for result in results])
        return float(law.nothing(1 - low))
    return bounded_mean(np.asarray(law.nothing(1 - chances_by_fit(results)), dtype=float).tolist())[1]


def chances_by_fit(results: Sequence[AttemptResult], least_per_fit: int | None = 1) -> np.ndarray:
    """Return the mean acceptance probability of the attempts with each private fit (equal numbers), as an (n_fits,) array.

    Fits with fewer than `least_per_fit` attempts are left out. If no fit has enough attempts, or with None, the only entry
    is the mean of all attempts. Without attempts, the array is empty.
    """
    by_fit: dict[int, list[float]] = {}
    for result in results:
        by_fit.setdefault(result.number, []).append(result.chance)
    large_enough = [chances for chances in by_fit.values() if least_per_fit is not None and len(chances) >= least_per_fit]
    together = [[chance for chances in by_fit.values() for chance in chances]] if by_fit else []
    return np.array([np.mean(chances) for chances in large_enough or together])


# Find, by linear programming, the distribution of the hidden number of rounds that least often ends with "nothing" at a given
# privacy cost. A search draws a hidden number K of rounds from a public distribution, and publishes the first accepted round,
# or "nothing" if none of the K rounds is accepted. With E = e^epsilon of a round, A the probability that a round is accepted
# and f(x) = sum_k Pr[K=k] x^k, it costs a price P when, for every A in (0, 1/(1+E)] and the largest A' that a neighbouring
# table can have, A' = E A,
#
#     (1 - f(1-A)) / A <= e^(P - epsilon) (1 - f(1-A')) / A'     and     f(1-A) <= e^P f(1-A').
#
# These two conditions are linear in Pr[K=k]. So is the probability of "nothing", also as a mean over private fits that all
# rounds of a release share. Here the constraints are only checked on a mesh of A. So the result is only an **offer**: `privacy`
# computes a certified price, for every A, when the distribution is put into a plan, and only this price is shown.

ONCE = FiniteLaw.of({1: Fraction(1)})
"""Cost of a search with one round, as a multiple of the epsilon of this round."""

_MESH = 80  # Number of values of A', evenly spaced in log(A' / (1-A')). Twice as many values change prices by less than 0.01.

_REACH = 12.0  # The mesh begins at log(A' / (1-A')) = -12, where both ratios are about 1 for the offered distributions

# Possible numbers of rounds: every number up to `_EVERY`, then `_FURTHER` numbers up to `_MOST`, evenly spaced in log K.
_EVERY, _MOST, _FURTHER = 30, MOST_ROUNDS, 50

_LEAST = 1e-6  # Numbers of rounds with a smaller probability are left out of a distribution

_SPARED = 0.005  # A number of rounds is left out if its removal raises the probability of "nothing" by at most this share

_DIGITS = 3  # Significant digits of the smallest probability of a distribution

# The price of the cheapest distribution is searched to within epsilon / `_FINE`, and then raised in at most `_STEPS`
# growing steps until the rounded distribution ends with "nothing" seldom enough.
_FINE, _STEPS = 1_000, 9


def numbers_of_rounds(largest: int = MOST_ROUNDS) -> np.ndarray:
    further = np.geomspace(_EVERY, _MOST, _FURTHER + 1).round()
    values = np.unique(np.concatenate([np.arange(1.0, _EVERY + 1), further, [largest]]))
    return values[values <= largest]


def mean_nothing(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Return the probability of "nothing", as a mean over the private fits with these acceptance probabilities."""
    return math.fsum(chances_of_nothing(law, chances)) / len(chances)


def chances_of_nothing(law: StoppingLaw, chances: Sequence[float]) -> list[float]:
    """Return, for each private fit, the probability E[(1 - a)^K] that none of K rounds is accepted, each with probability a."""
    return np.asarray(law.nothing(1 - np.asarray(chances, dtype=float))).tolist()


def mean_rounds_run(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Return the mean number of rounds that a search runs, averaged over private fits.

    For a fit whose rounds are accepted with probability a: (1 - E[(1-a)^K]) / a, or E[K] for a = 0.
    """
    pairs = zip(chances, chances_of_nothing(law, chances), strict=True)
    return math.fsum((1 - nothing) / chance if chance > 0 else law.mean for chance, nothing in pairs) / len(chances)


def best_law(epsilon: float, price: float, chances: Sequence[float], largest: int = MOST_ROUNDS) -> FiniteLaw | None:
    """Return the distribution of the number of rounds that most often finds a table at a cost of at most `price`.

    The cost is computed on a mesh of acceptance probabilities. Return None if no distribution is cheap enough.

    Parameters
    ----------
    epsilon : epsilon of one round, above 0. The delta of a round is 0.
    price : epsilon of the whole search; K = 1 costs the epsilon of one round.
    chances : for each private fit, the probability that a round is accepted, in [0, 1]; one number if rounds share no fit.

    Returns
    -------
    FiniteLaw | None Few possible numbers of rounds, with probabilities of few digits that sum to 1. Rounding can change the
    price and the probability of "nothing" in the last of these digits.
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
    """Return the distribution over `rounds` that least often ends with "nothing" at this price.

    The result has the numbers with a positive probability, their probabilities, and the probability of "nothing".
    """
    from scipy.optimize import linprog

    table = _constraints(epsilon, price, rounds)
    nothing = np.mean([(1 - chance) ** rounds for chance in chances], axis=0)
    result = linprog(nothing, A_ub=table, b_ub=np.zeros(len(table)), A_eq=np.ones((1, len(rounds))), b_eq=[1.0], method="highs")
    if not result.success:
        return np.array([]), {}, 1.0
    used = result.x > _LEAST
    shares = {int(value): float(share) for value, share in zip(rounds[used], result.x[used], strict=True)}
    return rounds[used], shares, float(result.fun)


def cheapest_law(epsilon: float, nothing: float, chances: Sequence[float], largest: int = MOST_ROUNDS) -> FiniteLaw | None:
    """Return the cheapest distribution of the number of rounds that ends with "nothing" with probability at most `nothing`.

    Return None if every such distribution costs more than 2 epsilon, the cost of a search without a limit.

    Parameters
    ----------
    epsilon, chances, largest : as for `best_law`.
    nothing : bound of the mean probability of "nothing" over private fits, in (0, 1).
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
    """Return about the smallest epsilon of a whole search that ends with "nothing" with probability at most `nothing`.

    Return None if it exceeds 2 epsilon, where `epsilon` is the cost of one round.
    """
    from scipy.optimize import brentq

    def log_ratio(price: float) -> float:
        return math.log(max(_solved(epsilon, price, chances, rounds)[2], 1e-12) / nothing)

    if log_ratio(2 * epsilon) > 0:
        return None
    return float(brentq(log_ratio, epsilon, 2 * epsilon, xtol=epsilon / _FINE))


def rounded(shares: Mapping[int, float]) -> FiniteLaw:
    """Round probabilities (`shares`, up to a common factor) to few digits so that they sum to exactly 1."""
    total = math.fsum(shares.values())
    digits = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(min(shares.values()) / total)))
    units = 10**digits
    whole = {rounds: math.floor(share / total * units) for rounds, share in sorted(shares.items())}
    units_left = units - sum(whole.values())
    for rounds in sorted(whole, key=lambda rounds: whole[rounds] - shares[rounds] / total * units)[:units_left]:
        whole[rounds] += 1
    return FiniteLaw.of({rounds: Fraction(share, units) for rounds, share in whole.items() if share})


def _constraints(epsilon: float, price: float, rounds: np.ndarray) -> np.ndarray:
    """Return the constraints of the linear programme as a (2 mesh, n) array, a column for each number of rounds.

    A distribution Pr[K = k] costs at most `price` on the mesh of acceptance probabilities if no row has a sum above 0,
    weighted by these probabilities.
    """
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
    """Return (1 - (1-A)^k) / A, the mean number of rounds run, and (1-A)^k, the probability of "nothing", as (mesh, n)
    arrays.

    A is the probability that a round is accepted, and k the largest number of rounds.
    """
    logs = np.where(accepted < 0.5, np.log1p(-np.minimum(accepted, 0.5)), np.log(rejected))
    exponents = np.outer(logs, rounds)
    return -np.expm1(exponents) / accepted[:, None], np.exp(exponents)


# The advice of a rehearsal on the number of rounds and the generation budget.


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The cheapest plan with one generation budget (an epsilon or rho) that finds a table often enough.

    Attributes
    ----------
    generation : the generation budget.
    chances : for each private fit (or each attempt, if rounds share no fit), the probability that a round is accepted.
    anew : whether the chances come from attempts that had no influence on the choice of this budget.
    law, total, nothing : distribution of the number of rounds, epsilon of the release, and mean probability of "nothing";
        None if no distribution finds a table often enough.
    """

    generation: Fraction
    chances: tuple[float, ...]
    anew: bool = False
    law: FiniteLaw | None = None
    total: Fraction | None = None
    nothing: float | None = None

    @property
    def acceptance(self) -> float:
        return sum(self.chances) / len(self.chances)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The expected results of the chosen plan, from new attempts that had no influence on the choice.

    Attributes
    ----------
    acceptance, acceptance_low, acceptance_high : probability that a round is accepted, and the ends of its interval.
    nothing, nothing_high : probability of "nothing", and the upper end of its interval. If rounds share no private fit,
        this end is the probability at `acceptance_low`.
    rounds : mean number of rounds that are run.
    fits : number of private fits, or None if rounds share no fit.
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
    """How many rounds a release should run, and with which generation budget.

    Attributes
    ----------
    wanted : the largest probability of "nothing" that the steward accepts.
    offers : one for every tried generation budget, the smallest budget first.
    chosen : the cheapest offer, or None if no offer finds a table often enough.
    judgement : the expected results of the chosen offer, or None without one or without time.
    without_limit : epsilon of a release with the chosen budget and no limit on its rounds, which then cost twice the
        epsilon of one round.
    """

    wanted: float
    offers: tuple[Offer, ...]
    chosen: Offer | None = None
    judgement: Judgement | None = None
    without_limit: Fraction | None = None

    @property
    def confirmed(self) -> bool:
        """Return whether new attempts found a table as often as the steward wants."""
        return self.judgement is not None and self.judgement.nothing <= self.wanted


def cheapest_offer(offers: Iterable[Offer]) -> Offer | None:
    """Return the first offer with the smallest total epsilon, or None if no offer has a distribution of rounds."""
    return min((offer for offer in offers if offer.total is not None), key=lambda offer: offer.total or 0, default=None)


# How many rounds, at which generation budget: the advice that minimises the total epsilon of a release over both.
#
# A cheaper round that is accepted less often may cost less in total. For every tried generation budget, `cheapest_law` finds
# the cheapest distribution of the hidden number of rounds that ends with "nothing" with at most the wanted probability. The
# total is the cost of the plan with this budget and distribution, certified by `privacy`.
#
# **The best of several estimates is too optimistic.** So the acceptance of the budget that looks cheapest is estimated again
# with new attempts. If another budget then looks cheaper, the acceptance of this budget is estimated with new attempts, too.
# The distribution is fitted to these attempts. The report judges the plan by still other attempts, which chose neither the
# budget nor the distribution.

CHOOSING, JUDGING = 1_000, 2_000
"""The first number of the attempts that choose the number of rounds, and the first number of the attempts that test the plan.
The attempts of the race have smaller numbers.
"""

LOOKING_AGAIN = "checking generation budget {} with new attempts"
JUDGING_IT = "testing the proposed plan, generation budget {}, with new attempts"
"""The names of two phases in the progress display. A generation budget takes the place of {}."""

PER_FIT = 4
"""Number of attempts that share a private fit. These attempts have different configurations."""

# Step from the cheapest budget to the neighbouring budgets that are tried, as a share of the planned budget.
_STEP = Fraction(1, 8)

RunAttempts = Callable[[Fraction, Sequence[tuple[int, int]], str], list[AttemptResult]]
"""Function that returns results, stored or new, for a generation budget, attempts (configuration, number) and a phase."""


def shares_luck(spec: ReleaseSpec) -> bool:
    """Return whether all rounds depend on a result that is made once: measurements, a private regression or divided rows."""
    fits_once = any(criterion.once() for criterion in spec.criteria)
    return fits_once or spec.shared_measurements or spec.options.partition is not None


def with_law(spec: ReleaseSpec, generation: Fraction, law: FiniteLaw) -> ReleaseSpec:
    return replace(spec.with_budget(generation=generation), selection_rule=SelectionRule(rounds=law))


def one_round(spec: ReleaseSpec, generation: Fraction) -> Fraction | None:
    """Return the epsilon of one round with this generation budget, or None if a round has a delta above 0.

    With [partition], return the epsilon of the more expensive piece of the file.
    """
    charges = spec.with_budget(generation=generation).plan.per_round
    if not all(charge.pure for charge in charges):
        return None
    parts = [charges] if spec.options.partition is None else [of_piece(charges, piece) for piece in PIECES]
    return max(sum((charge.epsilon for charge in part), Fraction(0)) for part in parts)


def more_budgets(offers: Collection[Offer], planned: Fraction) -> list[Fraction]:
    """Return the untried generation budgets one step below and above the cheapest offer; none without a distribution.

    A step is an eighth of the planned budget.
    """
    best = cheapest_offer(offers)
    if best is None:
        return []
    near = (best.generation - _STEP * planned, best.generation + _STEP * planned)
    tried = {offer.generation for offer in offers}
    return [generation for generation in near if generation > 0 and generation not in tried]


@dataclass(frozen=True, kw_only=True)
class PlanGoal:
    """What a steward requires of a plan.

    Attributes
    ----------
    nothing : largest probability of "nothing", in (0, 1).
    target : smallest mean share of accepted rounds. Below this share no distribution is offered.
    width : wanted width of intervals. A smaller width needs more attempts.
    """

    nothing: float
    target: float
    width: float

    @property
    def most(self) -> int:
        """Return the largest number of rounds to propose: 10 / `target`, but at most `MOST_ROUNDS`."""
        return min(MOST_ROUNDS, math.ceil(10 / self.target))


def offer(spec: ReleaseSpec, generation: Fraction, chances: Sequence[float], aim: PlanGoal, *, anew: bool = False) -> Offer:
    """Return the cheapest distribution of the number of rounds that finds a table often enough, with its certified epsilon.

    If there is none, `law`, `total` and `nothing` of the result are None.

    Parameters
    ----------
    chances : for each private fit, the probability that a round is accepted.
    """
    without_law = Offer(generation=generation, chances=tuple(chances), anew=anew)
    epsilon = one_round(spec, generation)
    if not epsilon or not chances or math.fsum(chances) < aim.target * len(chances):
        return without_law
    law = cheapest_law(float(epsilon), aim.nothing, chances, aim.most)
    if law is None:
        return without_law
    try:
        total = with_law(spec, generation, law).plan.total.epsilon
    except BudgetError:  # the rounding errors of the price have no bound
        return without_law
    return replace(without_law, law=law, total=total, nothing=mean_nothing(law, chances))


def first_offer(
    spec: ReleaseSpec, generation: Fraction, shortlist: Sequence[int], results: Sequence[AttemptResult], aim: PlanGoal
) -> Offer:
    """Return the offer for a generation budget from the first attempts.

    A private fit counts separately only if at least half of the shortlist was tried with it.
    """
    return offer(spec, generation, _chances(results, shares_luck(spec), (len(shortlist) + 1) // 2), aim)


def propose(
    spec: ReleaseSpec, shortlist: Sequence[int], first: Mapping[Fraction, Offer], aim: PlanGoal, tried: RunAttempts
) -> Proposal | None:
    """Advise how many rounds a release should run, and with which generation budget.

    Return None if the shortlist is empty, or if the guarantee of a round is not pure (delta = 0).

    Parameters
    ----------
    first : the first offer of each generation budget.
    tried : a function that runs new attempts of the shortlist.
    """
    if not shortlist or not one_round(spec, spec.budget.generation):
        return None
    shared, offers = shares_luck(spec), dict(first)
    attempts = math.ceil(6 / aim.width**2)  # the interval of a share near 1/2 is then about as wide as that
    looks = Looks(planned=-(-attempts // _together(shortlist, shared)))

    def fresh(generation: Fraction, start: int, phase: str) -> list[AttemptResult]:
        """Run new attempts until the acceptance interval is narrow enough or the planned number is reached.

        Return an empty list if time runs out first.
        """
        pairs, results = fresh_attempts(shortlist, start, attempts), list[AttemptResult]()
        for figures in looks.after:
            enough = min(len(pairs), _whole_passes(figures, shortlist, shared))
            results += tried(generation, pairs[len(results) : enough], phase.format(f"{float(generation):g}"))
            if len(results) < enough:
                return []
            low, high = looks.mean(_units(results, shared))
            if high - low <= aim.width:
                break
        return results

    for _ in range(len(offers) + 1):
        best = cheapest_offer(offers.values())
        results = [] if best is None or best.anew else fresh(best.generation, CHOOSING, LOOKING_AGAIN)
        if best is None or not results:
            break
        offers[best.generation] = offer(spec, best.generation, _chances(results, shared), aim, anew=True)
    chosen = cheapest_offer(candidate for candidate in offers.values() if candidate.anew) or cheapest_offer(offers.values())
    judged = fresh(chosen.generation, JUDGING, JUDGING_IT) if chosen is not None and chosen.anew else []
    ordered = tuple(offers[generation] for generation in sorted(offers))
    if chosen is None or chosen.law is None:
        return Proposal(wanted=aim.nothing, offers=ordered)
    rule = SelectionRule(stop_probability=Fraction(0))
    endless = replace(spec.with_budget(generation=chosen.generation), selection_rule=rule)
    return Proposal(
        wanted=aim.nothing,
        offers=ordered,
        chosen=chosen,
        judgement=judgement(chosen.law, judged, looks, shared) if judged else None,
        without_limit=endless.plan.total.epsilon,
    )


def fresh_attempts(shortlist: Sequence[int], first: int, attempts: int) -> list[tuple[int, int]]:
    """Return at least `attempts` pairs (configuration, number) to run, with numbers from `first` on.

    Attempts with the same number share a private fit. The configurations of the shortlist take turns.
    """
    together = min(PER_FIT, len(shortlist))
    return [
        (shortlist[(fit * together + member) % len(shortlist)], first + fit)
        for fit in range(-(-attempts // together))
        for member in range(together)
    ]


def _together(shortlist: Sequence[int], shared: bool) -> int:
    return min(PER_FIT, len(shortlist)) if shared else 1


def _whole_passes(figures: int, shortlist: Sequence[int], shared: bool) -> int:
    """Return the smallest number of attempts with `figures` independent results, equally many of each configuration.

    A release draws configurations uniformly. If rounds share a fit (`shared`), the attempts with one fit are one result.
    """
    together = _together(shortlist, shared)
    whole = math.lcm(together, len(shortlist))
    return -(-figures * together // whole) * whole


def _units(results: Sequence[AttemptResult], shared: bool) -> tuple[float, ...]:
    """Return independent observations of the acceptance probability: one for each private fit, or for each attempt without."""
    return _chances(results, shared=True) if shared else tuple(result.chance for result in results)


def judgement(law: FiniteLaw, results: Sequence[AttemptResult], looks: Looks, shared: bool) -> Judgement:
    """Return what to expect of a release with this distribution of the number of rounds, from new attempts.

    The intervals hold after each look (`attempts.Looks`). Fits are independent of each other; so are attempts, if rounds
    share no fit. The estimate of `nothing` from a few attempts of a fit is, on average, not too small (convexity).
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
    return tuple(chances_by_fit(results, least_per_fit if shared else None).tolist())
