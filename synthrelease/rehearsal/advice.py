"""Budget advice: how much is enough, by the three heuristics of the paper (4.4.4), from attempts on public data.

1. The lowest epsilon for a criterion whose noise is still small against the threshold.
2. The lowest epsilon for the generator with which the shortlist is still accepted often enough.
3. What the release then costs in all.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import OneNoise
from synthrelease.privacy.selection import StoppingLaw
from synthrelease.rehearsal.attempts import AttemptResult, passing
from synthrelease.rehearsal.intervals import ShareEstimate, bounded_mean, clopper_pearson
from synthrelease.spec.release_spec import ReleaseSpec

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
    good_rejected, bad_accepted : mean probability, over the candidates seen, that noise rejects one at or below the threshold,
        or accepts one above it; None where no such candidate was seen.
    smallest_epsilon : the least epsilon that keeps false rejection and acceptance at or under the wanted level.
    """

    name: str
    epsilon: Fraction
    threshold: float
    noise_sd: float | None
    figure: float | None
    fails: float
    false_rejection: float | None
    good_rejected: float | None
    bad_accepted: float | None
    smallest_epsilon: float | None


@dataclass(frozen=True, kw_only=True)
class BudgetPoint:
    """A generation budget: what the release would cost in all, and how often its rounds would be accepted."""

    generation: Fraction
    total: Fraction
    acceptance: ShareEstimate


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What to expect of a release that draws from the shortlist.

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
    shortlisted: Sequence[AttemptResult],
    others: Sequence[AttemptResult],
    level: float,
    noises: Mapping[str, OneNoise] = MappingProxyType({}),
) -> tuple[CriterionAdvice, ...]:
    """Advice for every criterion.

    Parameters
    ----------
    shortlisted : attempts of the shortlist at the planned budget.
    others : all other attempts; they show candidates above the thresholds.
    level : wanted bound on false acceptance and rejection, in (0, 1/2).
    noises : by the names of the criteria whose figures share one noise after acceptance, that noise.
    """
    return tuple(
        _one_criterion(criterion, index, shortlisted, [*shortlisted, *others], level, noises.get(criterion.name))
        for index, criterion in enumerate(criteria)
    )


def _one_criterion(
    criterion: Criterion,
    index: int,
    shortlisted: Sequence[AttemptResult],
    everything: Sequence[AttemptResult],
    level: float,
    noise: OneNoise | None,
) -> CriterionAdvice:
    figures = [result.figures[index] for result in shortlisted]
    known = [figure for figure in figures if figure is not None]
    fails = 1 - float(np.mean([result.passed[index] for result in shortlisted])) if shortlisted else 0.0
    advice = CriterionAdvice(
        name=criterion.name,
        epsilon=criterion.epsilon,
        threshold=criterion.threshold,
        noise_sd=None,
        figure=float(np.median(known)) if known else None,
        fails=fails,
        false_rejection=None,
        good_rejected=None,
        bad_accepted=None,
        smallest_epsilon=None,
    )
    sensitivities = [result.sensitivities[index] for result in shortlisted]
    noisy = [sensitivity for sensitivity in sensitivities if sensitivity is not None]
    if not noisy or not criterion.figure_gets_noise:
        return advice
    scale_for_one = float(np.median(noisy))  # noise scale at epsilon = 1
    gap = MARGIN * criterion.threshold
    good: list[float] = []
    bad: list[float] = []
    for result in everything:
        figure, sensitivity = result.figures[index], result.sensitivities[index]
        if figure is not None and sensitivity is not None:
            accepted = passing(figure, criterion.threshold, sensitivity, criterion.epsilon)
            (good if figure <= criterion.threshold else bad).append(accepted)
    return replace(
        advice,
        noise_sd=math.sqrt(2) * scale_for_one / float(criterion.epsilon) if noise is None else noise.deviation(scale_for_one),
        false_rejection=math.exp(-gap * float(criterion.epsilon) / scale_for_one) / 2,
        good_rejected=1 - float(np.mean(good)) if good else None,
        bad_accepted=float(np.mean(bad)) if bad else None,
        smallest_epsilon=smallest_epsilon(gap, scale_for_one, level),
    )


def typical_sensitivities(attempts: Sequence[AttemptResult], n_criteria: int) -> tuple[float | None, ...]:
    """Per criterion the median sensitivity of its figure in these attempts; None where none was seen."""
    seen = [[each for result in attempts if (each := result.sensitivities[place]) is not None] for place in range(n_criteria)]
    return tuple(float(np.median(found)) if found else None for found in seen)


def smallest_epsilon(gap: float, sensitivity: float, level: float) -> float:
    """The least epsilon at which Laplace noise exceeds `gap` in one direction with probability at most `level`.

    Pr = exp(-gap epsilon / sensitivity) / 2 <= level.
    """
    return max(0.0, math.log(1 / (2 * level)) * sensitivity / gap)


def total_epsilon(spec: ReleaseSpec, generation: Fraction) -> Fraction:
    """What the whole release costs with another generation budget."""
    return replace(spec, generation_budget=generation).plan.total.epsilon


def frontier(spec: ReleaseSpec, attempts: Mapping[Fraction, Sequence[AttemptResult]], level: float) -> tuple[BudgetPoint, ...]:
    """Total epsilon against acceptance probability, cheapest first; `attempts` of the shortlist by generation budget."""
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
    """The cheapest budget that is accepted with at least the target probability, by the lower end of its interval."""
    return next((point for point in sorted(points, key=lambda point: point.total) if point.acceptance.low >= target), None)


def outlook(results: Sequence[AttemptResult], law: StoppingLaw | None, least_per_fit: int = 1) -> Outlook | None:
    """What to expect of a release from these attempts of the shortlist; None without attempts.

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
    """The upper end of an interval of the probability of nothing.

    Attempts with different private fits are independent, and all are where rounds share none. Where they do, the probability of
    nothing of a fit is a convex function of its acceptance: by its attempts it is overstated in the mean, never understated.
    """
    if not shared:
        low, _ = bounded_mean([result.chance for result in results])
        return float(law.nothing(1 - low))
    return bounded_mean(np.asarray(law.nothing(1 - chances_by_fit(results)), dtype=float).tolist())[1]


def chances_by_fit(results: Sequence[AttemptResult], least_per_fit: int = 1) -> np.ndarray:
    """(n_fits,) mean chance that an attempt is accepted, per private fit with at least so many attempts; where no fit has as
    many, of all attempts together. Empty without attempts."""
    by_fit: dict[int, list[float]] = {}
    for result in results:
        by_fit.setdefault(result.number, []).append(result.chance)
    told = [chances for chances in by_fit.values() if len(chances) >= least_per_fit]
    together = [[chance for chances in by_fit.values() for chance in chances]] if by_fit else []
    return np.array([np.mean(chances) for chances in told or together])
