"""Run attempts of a rehearsal: rounds of a release on public data, of which the exact criterion values are stored.

Also: the estimated probabilities of acceptance with their intervals, and which configurations stay in the race.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.schema import PublishedColumn, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound, closest, listing
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SystemEntropy, laplace_figure
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.published.options import DesignPart
from synthrelease.releasing.attempt import Prepared, PrivateTable, divided, generate, prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """One attempt on public data.

    Attributes
    ----------
    configuration, number : index in the configuration space, and which attempt of that configuration.
    generation : budget of the generator's fit.
    accepted : whether the candidate was accepted, with noise, as in a release.
    chance : probability that this candidate passes, over the noise of the figures.
    seconds : time of the attempt in the process that ran it.
    figures : per criterion the figure before noise; None where there was no candidate or no figure.
    sensitivities : per criterion the sensitivity of the figure; None where it gets no noise.
    passed : per criterion, with its noise; under a joint test, whether its slack alone is large enough, without noise. All
        False where there was no candidate.
    """

    configuration: int
    number: int
    generation: Fraction
    accepted: bool
    chance: float
    seconds: float
    figures: tuple[float | None, ...]
    sensitivities: tuple[float | None, ...]
    passed: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trials:
    """A specification, and the public rows that it is tried on.

    Attributes
    ----------
    counts : the rows, over atomic cells. They need no protection.
    priors : public tables that generators start from, by their name.
    seed : of all noise and all draws: with the same seed a try is the same.
    """

    spec: ReleaseSpec
    counts: Counts
    priors: Mapping[str, Counts] = field(default_factory=dict)
    seed: int

    @property
    def rows(self) -> PrivateCounts:
        """The rows as the code of a release takes them."""
        return PrivateCounts(self.counts, Meter(()))

    def candidate(self, configuration: int | Configuration, entropy: SystemEntropy) -> Candidate:
        """Make one candidate of a configuration at the planned budget. Raises RejectedRound where the attempt gives none."""
        chosen = self.spec.space[configuration] if isinstance(configuration, int) else configuration
        table = self.rows.with_plan(self.spec.plan.once).rehearsed(entropy)
        return generate(self.spec, chosen, table, prepare(self.spec, table, self.priors))[1]


@one_thread
def run_attempts(trials: Trials, attempts: Sequence[tuple[int, int]], generation: Fraction) -> list[AttemptResult]:
    """Run attempts (configuration, number) of a rehearsal with this generation budget, in this order.

    Every attempt has its own noise from (seed, generation, configuration, number), so the results do not depend on where and
    when they are run. Attempts of the same number share what a release divides, fits and measures once, as its rounds do.
    """
    spec, seed = trials.spec.with_budget(generation=generation), trials.seed
    prepared: dict[int, tuple[PrivateTable, Prepared]] = {}
    results = []
    for configuration, number in attempts:
        if number not in prepared:
            whole = trials.rows.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 0, number))
            table = divided(whole, spec.options.partition, spec.plan.once)
            prepared = {number: (table, prepare(spec, table, trials.priors))}
        table, fitted = prepared[number]
        results.append(_run(spec, table, seed, configuration, number, fitted))
    return results


def attempts_on_public(
    spec: ReleaseSpec, public: Counts, seed: int, attempts: Sequence[tuple[int, int]]
) -> list[AttemptResult]:
    """Return attempts at the planned budget on a public table, whose rows need no protection."""
    return run_attempts(Trials(spec=spec, counts=public, seed=seed), attempts, spec.generation_budget)


def _run(spec: ReleaseSpec, public: PrivateTable, seed: int, index: int, number: int, prepared: Prepared) -> AttemptResult:
    start = time.perf_counter()
    key = (1, index, number, spec.generation_budget.numerator, spec.generation_budget.denominator)
    entropy = SeededEntropy(seed, *key)
    scores: list[Score] = []
    slacks: list[float] = []
    try:
        merged, candidate = generate(spec, spec.space[index], public.rehearsed(entropy), prepared)
        scores, slacks = exact_scores(spec, merged, candidate, prepared)
    except RejectedRound:
        pass
    figures = tuple(score.value if math.isfinite(score.value) else None for score in scores)
    sensitivities = tuple(score.sensitivity for score in scores)
    if not scores:
        passed, accepted, likely = (False,) * len(spec.criteria), False, 0.0
    elif spec.joint_test is None:
        passed = tuple(
            _passes(criterion, score, public.score.n, entropy) for criterion, score in zip(spec.criteria, scores, strict=True)
        )
        accepted, likely = all(passed), chance(spec.criteria, figures, sensitivities)
    else:
        passed = tuple(slack >= spec.joint_test.margin for slack in slacks)
        accepted, likely = _joint(spec.joint_test, min(slacks), entropy)
    return AttemptResult(
        configuration=index,
        number=number,
        generation=spec.generation_budget,
        accepted=accepted,
        chance=likely,
        seconds=time.perf_counter() - start,
        figures=figures or (None,) * len(spec.criteria),
        sensitivities=sensitivities or (None,) * len(spec.criteria),
        passed=passed,
    )


def exact_scores(
    spec: ReleaseSpec, merged: PrivateCounts, candidate: Candidate, prepared: Prepared
) -> tuple[list[Score], list[float]]:
    """Return the scores before noise, and how far each criterion is from failing, in sensitivities (under a joint test
    only).
    """
    fitted = prepared.fitted
    table = merged.with_plan([charge for criterion in spec.criteria for charge in criterion.per_score()])
    exact = table.rehearsed(NoNoise())
    scores, slacks = [], []
    for criterion in spec.criteria:
        scored = exact if criterion.figure_gets_noise else table
        fitted = criterion.refit(scored, candidate, spec.setting, fitted)
        score = criterion.score(scored, candidate, spec.setting, fitted)
        scores.append(score)
        if spec.joint_test is None:
            continue
        query = criterion.asked(merged.n, candidate, spec.setting, fitted)
        if isinstance(query, Score):
            slacks.append(math.inf if query.passed else -math.inf)
        elif query.slack is None:
            slacks.append(-math.inf if query.void else (criterion.threshold - score.value) / query.sensitivity)
        else:
            of_test = exact.with_plan([spec.joint_test.charge])
            slacks.append(spec.joint_test.noisy_slack(of_test, [(criterion, query)]))  # exact: it has no noise here
    return scores, slacks


def _joint(test: JointTest, slack: float, entropy: SeededEntropy) -> tuple[bool, float]:
    """Return whether a candidate whose smallest slack is this one is accepted, and the probability of acceptance."""
    if not math.isfinite(slack):
        return slack > 0, float(slack > 0)
    noisy = laplace_figure(slack, sensitivity=1.0, epsilon=test.epsilon, entropy=entropy)
    return noisy.value >= test.margin, passing(test.margin, slack, 1.0, test.epsilon)


def _passes(criterion: Criterion, score: Score, n: int, entropy: SeededEntropy) -> bool:
    """Return whether the figure passes with its noise: the same draw as in a release, because grid points stay fixed."""
    if not criterion.figure_gets_noise or score.sensitivity is None or not math.isfinite(score.value):
        return score.passed
    noisy = laplace_figure(score.value, sensitivity=score.sensitivity, epsilon=criterion.epsilon, rows=n, entropy=entropy)
    return noisy.value <= criterion.threshold


def chance(criteria: Iterable[Criterion], figures: Sequence[float | None], sensitivities: Sequence[float | None]) -> float:
    """Probability that all criteria pass, over the Laplace noise of their figures; 0 without figures."""
    if not figures:
        return 0.0
    product = 1.0
    for criterion, figure, sensitivity in zip(criteria, figures, sensitivities, strict=True):
        product *= passing(figure, criterion.threshold, sensitivity, criterion.epsilon)
    return product


def passing(figure: float | None, threshold: float, sensitivity: float | None, epsilon: Fraction) -> float:
    """Return Pr[figure + noise <= threshold] with Laplace noise of scale sensitivity / epsilon; without noise 0 or 1."""
    if figure is None or math.isnan(figure):
        return 0.0
    if sensitivity is None:
        return float(figure <= threshold)
    slack = (threshold - figure) * float(epsilon) / sensitivity
    return 1 - math.exp(-slack) / 2 if slack >= 0 else math.exp(slack) / 2


# The columns that a release would have, as questions are read over those of a release.


@dataclass(frozen=True, kw_only=True)
class BinnedColumns:
    """The columns that a release from a configuration would have.

    Attributes
    ----------
    schema : in the order of the table.
    linked : how they are those of roots and members; None where they are not.
    design : how the file was drawn, for questions with its weight.
    """

    schema: tuple[PublishedColumn, ...]
    linked: Linked | None = None
    design: DesignPart | None = None

    @classmethod
    def of(cls, configuration: Configuration) -> BinnedColumns:
        """Return the columns on the bins of a configuration."""
        transformation = configuration.transformation
        columns = tuple(map(PublishedColumn.of, transformation.schema.columns, transformation.binnings))
        return cls(schema=columns, linked=transformation.schema.linked)

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}


# Confidence intervals of a probability, and of a mean of figures in [0, 1], that hold for any number of trials.
#
# `Looks` are intervals that may say themselves, on the way, that enough was tried.

_EARLY = 0.3
"""Share of the probability to miss that is kept for the early looks."""
_STAKES = (1.0, 0.5, 0.25)
"""Shares of the capital that are put on every figure (`narrow_mean`)."""


@dataclass(frozen=True, kw_only=True)
class ShareEstimate:
    """A share of successes with its confidence interval, all in [0, 1]."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.successes / self.trials if self.trials else 0.0


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> ShareEstimate:
    """Return the interval that holds the true probability with at least the given confidence (Clopper & Pearson, 1934).

    Without trials it is [0, 1].
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return ShareEstimate(successes=successes, trials=trials, low=low, high=high)


def bounded_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return an interval that holds the mean of the expectations of independent figures in [0, 1] with at least this
    confidence.

    Hoeffding (1963, Theorem 1): with m the mean of n such figures and M that of their expectations, Pr[m <= x] <= exp(-n kl(x,
    M)) for x <= M, kl the divergence of two coins, and the same upwards. The ends are the M at which this is (1 - level) / 2.
    It asks nothing of the law of the figures, so it is a little wider than Clopper and Pearson's for those that are 0 or 1.
    """
    if not values:
        return 0.0, 1.0
    mean = min(1.0, max(0.0, math.fsum(values) / len(values)))
    divergence = math.log(2 / (1 - level)) / len(values)
    return 1 - _further(1 - mean, divergence), _further(mean, divergence)


def narrow_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return an interval as `bounded_mean`, and much narrower where the figures hardly differ; wider for figures that are 0 or
    1.

    A capital of 1 is put on the figures x_t, a share b of it on each, as if the mean of their expectations M_t were m: it
    becomes W_b = prod_t (1 - b + b x_t / m). Where that is so, E[W_b] = prod_t (1 - b + b M_t / m) is at most 1, since a
    product of numbers is at most the power of their mean. So W, the mean of W_b over some b, is 2 / (1 - level) or more with at
    most half of the probability to miss (Markov). W falls with m: the lower end is where it crosses, and the upper end that of
    1 - x_t. After Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2023), with fixed stakes.
    """
    if not values:
        return 0.0, 1.0
    times, winnings = sorted(Counter(values).items()), 2 / (1 - level)
    return _lower_by_bets(tuple(times), winnings), 1 - _lower_by_bets(
        tuple((1 - value, times_seen) for value, times_seen in times), winnings
    )


@lru_cache(maxsize=4096)  # a race looks at the same figures in every stage
def _lower_by_bets(times: tuple[tuple[float, int], ...], winnings: float) -> float:
    """Return the smallest mean m at which bets win less than this, rounded down; figures, and the count of each."""

    def won(mean: float) -> float:
        logs = (
            math.fsum(times_seen * _log(1 - stake + stake * value / mean) for value, times_seen in times) for stake in _STAKES
        )
        return math.fsum(math.exp(min(log, 700.0)) for log in logs) / len(_STAKES)

    mean = math.fsum(times_seen * value for value, times_seen in times) / sum(times_seen for _, times_seen in times)
    low, high = 0.0, min(1.0, mean)  # at the mean itself nobody wins
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and won(middle) >= winnings else (low, middle)
    return low


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Intervals for a mean that are inspected after a quarter, after half and after all of the planned figures.

    The first that is narrow enough may be the last: any of them misses with at most the probability that the level leaves
    (Boole), so that whichever is stated holds with this confidence.

    Attributes
    ----------
    planned : figures, at most.
    level : of confidence, in (0, 1).
    """

    planned: int
    level: float = 0.95

    @property
    def after(self) -> tuple[int, ...]:
        """Numbers of figures."""
        return tuple(sorted({-(-self.planned // 4), -(-self.planned // 2), self.planned}))

    def mean(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the interval after so many figures."""
        miss = 1 - self.level
        if len(values) >= self.planned:
            return bounded_mean(values, 1 - (1 - _EARLY) * miss)
        return narrow_mean(values, 1 - _EARLY * miss / 2)


def _further(mean: float, divergence: float) -> float:
    """Return the largest M >= mean with kl(mean, M) <= most, rounded up."""
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(mean, middle) <= divergence else (low, middle)
    return high


def _divergence(first: float, second: float) -> float:
    """Return the Kullback-Leibler divergence of two coins; 0 log 0 = 0."""
    if not 0 < second < 1:
        return 0.0 if first == second else math.inf
    heads = first * math.log(first / second) if first > 0 else 0.0
    tails = (1 - first) * math.log((1 - first) / (1 - second)) if first < 1 else 0.0
    return heads + tails


# PublicTable: the only table that non-private figures are computed on, and the statement that it is public.
#
# Utility and risk figures compare synthetic rows with the exact original. On private data that would be a release without
# noise, so the functions of this folder take a `PublicTable`, which nobody can build without saying why the data are public.


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicTable:
    """A table that anybody may see, over the bins of one transformation.

    Attributes
    ----------
    counts : the rows. `PrivateCounts` are refused: there is no way from them to here.
    transformation : the binning of every column, which has the numbers of the bins.
    public_because : who says that the data are public, or why they are ("simulated, see public_data/README.md"). Whoever
        builds the table answers for it.

    Raises
    ------
    TypeError : when `counts` are not public counts.
    ValueError : without a reason, without rows, or when the bins are not those of the transformation.
    """

    counts: Counts
    transformation: Transformation
    public_because: str

    def __post_init__(self) -> None:
        if not isinstance(self.public_because, str) or not self.public_because.strip():
            raise ValueError("public_because: expected why these data are public, found nothing.")
        self._check(self.counts, "the public table")

    def check_copies(self, copies: Sequence[Counts]) -> None:
        """Raise unless `copies` are one or more synthetic tables with rows over the same bins."""
        if not copies:
            raise ValueError("copies: expected at least one synthetic table, found none.")
        for position, copy in enumerate(copies, start=1):
            self._check(copy, f"synthetic copy {position}")

    def _check(self, counts: object, role: str) -> None:
        """Raise TypeError for counts that are not public, and ValueError for other bins or no rows."""
        if not isinstance(counts, Counts):
            raise TypeError(
                f"{role}: expected the counts of a public table, found {type(counts).__name__}. These figures have no noise "
                "and are computed on public data only."
            )
        if counts.layout != self.transformation.layout:
            expected, found = (
                ", ".join(f"{name}: {size} bins" for name, size in zip(layout.columns, layout.sizes, strict=True))
                for layout in (self.transformation.layout, counts.layout)
            )
            raise ValueError(f"{role}: expected the bins of the public table ({expected}), found {found}.")
        if not counts.total:
            raise ValueError(f"{role}: expected at least one row, found none.")

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.counts.total

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def indices(self, role: str, names: Iterable[str]) -> tuple[int, ...]:
        """Positions of columns. Raises ValueError when one is unknown or named twice; `role` is for the message."""
        names = tuple(names)
        for name in names:
            if name not in self.columns:
                meant = closest(name, self.columns)
                hint = f" Did you mean {meant!r}?" if meant else ""
                raise ValueError(f"{role}: expected columns of the table ({listing(self.columns)}), found {name!r}.{hint}")
        if len(set(names)) != len(names):
            raise ValueError(f"{role}: expected every column once, found {listing(names)}.")
        return tuple(self.columns.index(name) for name in names)

    def has_numbers(self, column: str) -> bool:
        """Return whether every bin of the column, apart from that of missing values, has a representative value."""
        present = self.transformation.binning(column).present
        return bool(np.isfinite(self.transformation.numbers(column)[:present]).all())

    def numbers(self, role: str, column: str) -> np.ndarray:
        """Return (n_bins,) finite numbers of the bins of a column, NaN for missing values.

        Raises
        ------
        ValueError : when a bin of values has none.
        """
        if not self.has_numbers(column):
            raise ValueError(f"{role}: expected a column with a number for every bin, found {column!r}, which has none.")
        return self.transformation.numbers(column)


# A race in stages: configurations that pass often on public data get more attempts, the others are dropped.
#
# Before the race a pilot of three attempts on a few configurations shows how much the figures of one configuration scatter. In
# each stage every configuration that is still in the race is brought to that many attempts. Then
#
# - it is dropped when an upper bound of its acceptance probability is below the target, or below the lower bound of the last
#   configuration that would make the shortlist;
# - it is outrun when too many others are still in the race and did better (successive halving: the longer the stage, the fewer
#   may run on);
# - it is settled, and gets no more attempts, when its interval is narrow enough, or that of the chances of its candidates:
#   these are probabilities over the noise of the criteria, and differ less than being accepted or not.
#
# The upper bound is the smaller of two: the exact one from the number of accepted attempts (Clopper-Pearson), and one from the
# figures (`upper_bound`), which drops after a single attempt what is far beyond a threshold.
#
# What is run next depends only on the results so far, not on the order in which they came, so an interrupted race goes on as if
# nothing had happened.

PILOT_SIZE, PILOT_ATTEMPTS = 60, 3
STAGES = (1, 3, 6, 12, 24, 48, 96, 192, 384)
"""Attempts per configuration after each stage: doubling wastes at most half of what an oracle would spend."""

_LAST_STAGE = 48
"""After a stage of k attempts at most keep * 48 / k configurations run on, so that each stage costs about the same."""

_DEVIATIONS = 3.0
"""The mean of a configuration's figures is taken to be at most so many standard errors better than what was seen."""


class Standing(Enum):
    """How far a configuration has come in the race."""

    RUNNING = "running"
    DROPPED = "dropped"
    OUTRUN = "outrun"
    SETTLED = "settled"


@dataclass(frozen=True, kw_only=True)
class RaceGoal:
    """The goal of a race: the configurations it drops, and when it stops.

    Attributes
    ----------
    target : acceptance probability below which a configuration is of no use, in (0, 1).
    keep : size of the shortlist that is sought.
    width : an interval no wider than this is narrow enough, in (0, 1).
    level : confidence of the intervals.
    """

    target: float = 0.1
    keep: int = 10
    width: float = 0.25
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Race:
    """The state of a race, a function of its results.

    Attributes
    ----------
    estimates : per configuration, the acceptance probability with its interval.
    chances : per configuration, the mean chance of its candidates, which differs less by luck than the share accepted.
    standings : per configuration.
    stage : attempts per running configuration that the present stage asks for; 0 for the pilot.
    missing : (configuration, number) of the attempts that the present stage still lacks; empty when the race is over.
    """

    goal: RaceGoal
    estimates: tuple[ShareEstimate, ...]
    chances: tuple[float, ...]
    standings: tuple[Standing, ...]
    stage: int
    missing: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, results: Sequence[Mapping[int, AttemptResult]], thresholds: Sequence[float], goal: RaceGoal) -> Race:
        """Replay the race on the results so far.

        Parameters
        ----------
        results : per configuration, attempt number -> result. Those that the race has not asked for yet are ignored.
        thresholds : of the criteria, in the order of the figures.
        """
        size = len(results)
        standings = [Standing.RUNNING] * size
        estimates, chances = [clopper_pearson(0, 0, goal.level)] * size, [0.0] * size
        pilot = range(0, size, max(1, size // PILOT_SIZE))

        def state(stage: int, missing: list[tuple[int, int]]) -> Race:
            ordered = tuple(sorted(missing, key=lambda attempt: (attempt[1], attempt[0])))
            return cls(
                goal=goal,
                estimates=tuple(estimates),
                chances=tuple(chances),
                standings=tuple(standings),
                stage=stage,
                missing=ordered,
            )

        lacking = [(c, number) for c in pilot for number in range(PILOT_ATTEMPTS) if number not in results[c]]
        if lacking:
            return state(0, lacking)
        scatter = pooled_scatter([[results[c][number] for number in range(PILOT_ATTEMPTS)] for c in pilot])
        for stage in STAGES:
            running = [c for c, standing in enumerate(standings) if standing is Standing.RUNNING]
            seen = {c: [results[c][number] for number in range(stage) if number in results[c]] for c in running}
            for c, attempts in seen.items():
                estimates[c] = clopper_pearson(sum(result.accepted for result in attempts), len(attempts), goal.level)
                chances[c] = _mean_chance(attempts)
            lacking = [(c, number) for c in running for number in range(stage) if number not in results[c]]
            if lacking:
                return state(stage, lacking)
            bar = max([goal.target, *sorted((estimate.low for estimate in estimates), reverse=True)[goal.keep - 1 : goal.keep]])
            for c in running:
                estimate = estimates[c]
                if min(estimate.high, upper_bound(seen[c], thresholds, scatter)) < bar:
                    standings[c] = Standing.DROPPED
                elif _narrow(estimate, seen[c], goal) or stage == STAGES[-1]:
                    standings[c] = Standing.SETTLED
            for c in _outrun(seen, standings, max(goal.keep, goal.keep * _LAST_STAGE // stage)):
                standings[c] = Standing.OUTRUN
        return state(STAGES[-1], [])

    def shortlist(self) -> tuple[int, ...]:
        """Configurations to draw from in a release: the best `keep` that are still in the race or settled, and accepted at the
        target rate or above, by the mean chance of their candidates."""
        useful = [
            c
            for c, (estimate, standing) in enumerate(zip(self.estimates, self.standings, strict=True))
            if standing in (Standing.RUNNING, Standing.SETTLED) and estimate.trials and self.chances[c] >= self.goal.target
        ]
        best = sorted(useful, key=lambda c: (-self.chances[c], c))
        return tuple(sorted(best[: self.goal.keep]))


def _mean_chance(attempts: Sequence[AttemptResult]) -> float:
    return math.fsum(result.chance for result in attempts) / len(attempts) if attempts else 0.0


def _narrow(estimate: ShareEstimate, attempts: Sequence[AttemptResult], goal: RaceGoal) -> bool:
    if estimate.high - estimate.low <= goal.width:
        return True
    low, high = narrow_mean([result.chance for result in attempts], goal.level)
    return high - low <= goal.width


def _outrun(seen: Mapping[int, Sequence[AttemptResult]], standings: Sequence[Standing], size: int) -> list[int]:
    """Return the running configurations beyond the best `size`, by the mean chance of their candidates."""
    running = [c for c in seen if standings[c] is Standing.RUNNING]
    means = {c: _mean_chance(seen[c]) for c in running}
    return sorted(running, key=lambda c: (-means[c], c))[size:]


def pooled_scatter(groups: Sequence[Sequence[AttemptResult]]) -> np.ndarray:
    """Return (n_criteria,) standard deviation of a figure's logarithm among attempts of one configuration, pooled.

    NaN for criteria whose figure is not positive or is there too rarely.
    """
    squares, freedom = 0.0, 0.0
    for attempts in groups:
        logs = _logs(attempts)
        is_known = np.isfinite(logs)
        counts = is_known.sum(axis=0)
        means = np.where(is_known, logs, 0.0).sum(axis=0) / np.maximum(counts, 1)
        squares = squares + np.where(is_known, (logs - means) ** 2, 0.0).sum(axis=0)
        freedom = freedom + np.maximum(counts - 1, 0)
    enough = np.asarray(freedom) >= 10
    return np.sqrt(np.where(enough, squares, np.nan) / np.where(enough, freedom, 1))


def upper_bound(attempts: Sequence[AttemptResult], thresholds: Sequence[float], scatter: np.ndarray) -> float:
    """Return an upper bound of the acceptance probability from the figures, 1 where they say nothing.

    For each criterion the logarithm of the figure is taken to scatter around a mean of its own with the pooled deviation s; the
    mean is at least the average seen minus 3 s / sqrt(k). The bound is the smallest over the criteria of Pr[figure <= T].
    A rule of thumb, not a confidence bound: it rests on the normal law and on equal scatter.
    """
    logs = _logs(attempts)
    is_known = np.isfinite(logs)
    counts = is_known.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.where(is_known, logs, 0.0).sum(axis=0) / counts - _DEVIATIONS * scatter / np.sqrt(counts)
        standard = (np.log(thresholds) - lowest) / scatter
    bounds = [0.5 * math.erfc(-value / math.sqrt(2)) for value in standard if math.isfinite(value)]
    return min(bounds, default=1.0)


def _logs(attempts: Sequence[AttemptResult]) -> np.ndarray:
    """Return (n_attempts, n_criteria) logarithms of the figures; NaN where there is none."""
    figures = np.array([[math.nan if value is None else value for value in result.figures] for result in attempts])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(figures > 0, np.log(figures), np.nan)
