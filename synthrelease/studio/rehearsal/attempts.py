"""Run attempts of a rehearsal. Estimate how often they are accepted, and select configurations.

An attempt is a round of a release on public data: fit the generator, draw rows, and test the criteria. Attempts with the
same number share a private fit: results that a release computes once for all its rounds, such as measured tables. The
acceptance chance of a candidate is the probability that it passes the criteria, over their noise.
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
from synthrelease.errors import RejectedRound, closest, listing, so_many
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
    """One round of a release on public data, which makes a candidate table and judges it.

    Attributes
    ----------
    configuration, number : index of the configuration in the specification, and number of its attempt, from 0.
    generation : the budget of the generator's fit.
    accepted : whether the noisy test accepted the candidate, as in a release.
    chance : probability that this candidate is accepted, over the noise of the criterion values.
    seconds : the time of the attempt in seconds, in the process that ran it.
    figures : for each criterion, its value before noise, or None.
    sensitivities : for each criterion, the sensitivity of its value, or None if the value has no noise.
    passed : for each criterion, whether its noisy value passes or, under a joint test, whether its slack without noise is
        large enough. False without a candidate.
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
    """A release specification, and the public rows on which it is tried.

    Attributes
    ----------
    counts : the public rows, counted in atomic cells (combinations of the finest bins of all columns).
    priors : public tables that generators start from, by their name.
    """

    spec: ReleaseSpec
    counts: Counts
    priors: Mapping[str, Counts] = field(default_factory=dict)
    seed: int

    @cached_property
    def rows(self) -> PrivateCounts:
        """The public rows in the type of private rows, for the code of a release. No budget is charged."""
        return PrivateCounts(self.counts, Meter(()))

    def candidate(self, configuration: int | Configuration, entropy: SystemEntropy) -> Candidate:
        """Generate one candidate table with a configuration (or its index) at the planned budget.

        Raises RejectedRound if the attempt gives no candidate.
        """
        chosen = self.spec.space[configuration] if isinstance(configuration, int) else configuration
        table = self.rows.with_plan(self.spec.plan.once).rehearsed(entropy)
        return generate(self.spec, chosen, table, prepare(self.spec, table, self.priors))[1]


@one_thread
def run_attempts(trials: Trials, attempts: Sequence[tuple[int, int]], generation: Fraction) -> list[AttemptResult]:
    """Run rounds of a release on public rows with this generation budget, and return their results in the given order.

    The noise of an attempt depends only on the seed, the budget, the configuration and the number.

    Parameters
    ----------
    attempts : pairs (configuration, number). Attempts with the same number share a private fit. They should be neighbours
        in the list, because only the last private fit is stored.
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


def _run(spec: ReleaseSpec, public: PrivateTable, seed: int, index: int, number: int, prepared: Prepared) -> AttemptResult:
    start = time.perf_counter()
    key = (1, index, number, spec.budget.generation.numerator, spec.budget.generation.denominator)
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
        generation=spec.budget.generation,
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
    """Return the exact value of each criterion for a candidate, and its slack. Without a joint test, there are no slacks.

    The slack is the distance of the private table from failing the criterion, in units of the sensitivity: negative if the
    criterion fails, infinite if noise cannot change the result.
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
            # exact: a rehearsal adds no noise to this slack
            slacks.append(spec.joint_test.noisy_slack(of_test, [(criterion, query)]))
    return scores, slacks


def _joint(test: JointTest, slack: float, entropy: SeededEntropy) -> tuple[bool, float]:
    """Run the joint test on a candidate with this smallest slack. Return whether it passes, and with which probability."""
    if not math.isfinite(slack):
        return slack > 0, float(slack > 0)
    noisy = laplace_figure(slack, sensitivity=1.0, epsilon=test.epsilon, entropy=entropy)
    return noisy.value >= test.margin, passing(test.margin, slack, 1.0, test.epsilon)


def _passes(criterion: Criterion, score: Score, n: int, entropy: SeededEntropy) -> bool:
    if not criterion.figure_gets_noise or score.sensitivity is None or not math.isfinite(score.value):
        return score.passed
    noisy = laplace_figure(score.value, sensitivity=score.sensitivity, epsilon=criterion.epsilon, rows=n, entropy=entropy)
    return noisy.value <= criterion.threshold


def chance(criteria: Iterable[Criterion], figures: Sequence[float | None], sensitivities: Sequence[float | None]) -> float:
    """Return the probability that a candidate passes all criteria, over their Laplace noise; 0 without values.

    Parameters
    ----------
    figures, sensitivities : for each criterion, its value before noise and its sensitivity.
    """
    if not figures:
        return 0.0
    product = 1.0
    for criterion, figure, sensitivity in zip(criteria, figures, sensitivities, strict=True):
        product *= passing(figure, criterion.threshold, sensitivity, criterion.epsilon)
    return product


def passing(figure: float | None, threshold: float, sensitivity: float | None, epsilon: Fraction) -> float:
    """Return Pr[value + noise <= threshold] for Laplace noise of scale sensitivity / epsilon.

    The result is 0 without a value. If `sensitivity` is None, there is no noise, and the result is 0 or 1.
    """
    if figure is None or math.isnan(figure):
        return 0.0
    if sensitivity is None:
        return float(figure <= threshold)
    slack = (threshold - figure) * float(epsilon) / sensitivity
    return 1 - math.exp(-slack) / 2 if slack >= 0 else math.exp(slack) / 2


@dataclass(frozen=True, kw_only=True)
class BinnedColumns:
    """The columns that a configuration releases, with their bins and labels, for reading questions.

    Attributes
    ----------
    linked : which columns belong to which linked table, such as households and their persons. None without [members].
    design : the sampling design of the file, for questions that use its weight, or None.
    """

    schema: tuple[PublishedColumn, ...]
    linked: Linked | None = None
    design: DesignPart | None = None

    @classmethod
    def of(cls, configuration: Configuration) -> BinnedColumns:
        transformation = configuration.transformation
        columns = tuple(map(PublishedColumn.of, transformation.schema.columns, transformation.binnings))
        return cls(schema=columns, linked=transformation.schema.linked)

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}


# Confidence intervals for a probability, and for the mean of values in [0, 1], which hold for any number of trials.
#
# With `Looks`, sampling stops early if an interval is narrow enough, and the interval still holds with the stated confidence.

_EARLY = 0.3  # Share of the error probability that is used by the early looks
_STAKES = (1.0, 0.5, 0.25)  # Shares of the capital that are bet on every value (`narrow_mean`)


@dataclass(frozen=True, kw_only=True)
class ShareEstimate:
    """A share of successes with a confidence interval, all in [0, 1]."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.successes / self.trials if self.trials else 0.0


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> ShareEstimate:
    """Return the interval that contains the true probability with at least the given confidence (Clopper & Pearson, 1934).

    Without trials, the interval is [0, 1].
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return ShareEstimate(successes=successes, trials=trials, low=low, high=high)


def bounded_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval for the mean expectation of independent values in [0, 1], with any distributions.

    The confidence is at least `level`. Without values, the interval is [0, 1]. Let m be the mean of n such values, M the
    mean of their expectations, and kl the Kullback-Leibler divergence of two coins. Then Pr[m <= x] <= exp(-n kl(x, M)) for
    x <= M, and Pr[m >= x] has the same bound for x >= M (Hoeffding 1963, Theorem 1). The ends of the interval are the M at
    which this bound is (1 - level) / 2.
    """
    if not values:
        return 0.0, 1.0
    mean = min(1.0, max(0.0, math.fsum(values) / len(values)))
    divergence = math.log(2 / (1 - level)) / len(values)
    return 1 - _further(1 - mean, divergence), _further(mean, divergence)


def narrow_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval for the mean expectation of independent values in [0, 1], narrow if they hardly differ.

    It is wider than the interval of `bounded_mean` for values that are 0 or 1. A capital of 1 is bet on the values x_t,
    with a share b of the capital on each value, as if the mean of the expectations M_t were m. The capital becomes W_b =
    prod_t (1 - b + b x_t / m). If m is this mean, E[W_b] = prod_t (1 - b + b M_t / m) is at most 1, because the product of
    n numbers is at most the n-th power of their mean. W is the mean of W_b over several shares b, so E[W] is at most 1,
    too. By Markov's inequality, W reaches 2 / (1 - level) with a probability of at most (1 - level) / 2. W decreases as m
    increases. The lower end of the interval is the m at which W crosses this value. The upper end is computed in the same
    way from 1 - x_t. After Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2023), with
    fixed stakes.
    """
    if not values:
        return 0.0, 1.0
    times, winnings = sorted(Counter(values).items()), 2 / (1 - level)
    return _lower_by_bets(tuple(times), winnings), 1 - _lower_by_bets(
        tuple((1 - value, times_seen) for value, times_seen in times), winnings
    )


@lru_cache(maxsize=4096)  # a race looks at the same figures in every stage
def _lower_by_bets(times: tuple[tuple[float, int], ...], winnings: float) -> float:
    """Return the lower end of the interval of `narrow_mean`, rounded down: the smallest mean m that the values do not
    refute.

    They refute m if a gambler who bets on values above m ends with at least `winnings`. `times` are pairs of a value and
    its frequency.
    """

    def won(mean: float) -> float:
        logs = (math.fsum(seen * _log(1 - stake + stake * value / mean) for value, seen in times) for stake in _STAKES)
        return math.fsum(math.exp(min(log, 700.0)) for log in logs) / len(_STAKES)

    mean = math.fsum(times_seen * value for value, times_seen in times) / sum(times_seen for _, times_seen in times)
    low, high = 0.0, min(1.0, mean)  # at the mean itself, no bet gains
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and won(middle) >= winnings else (low, middle)
    return low


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Confidence intervals for one mean, after a quarter, a half and all of the `planned` values.

    With probability at least `level`, all of them contain the mean (Boole). So sampling may stop at the first interval that
    is narrow enough.
    """

    planned: int
    level: float = 0.95

    @property
    def after(self) -> tuple[int, ...]:
        return tuple(sorted({-(-self.planned // 4), -(-self.planned // 2), self.planned}))

    def mean(self, values: Sequence[float]) -> tuple[float, float]:
        miss = 1 - self.level
        if len(values) >= self.planned:
            return bounded_mean(values, 1 - (1 - _EARLY) * miss)
        return narrow_mean(values, 1 - _EARLY * miss / 2)


def _further(mean: float, divergence: float) -> float:
    """Return the largest mean whose Kullback-Leibler divergence from the observed mean is at most `divergence`, rounded up."""
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(mean, middle) <= divergence else (low, middle)
    return high


def _divergence(first: float, second: float) -> float:
    from scipy.special import rel_entr

    return float(rel_entr(first, second) + rel_entr(1 - first, 1 - second))


# PublicTable: the only table from which non-private statistics are computed. The table states why its data are public.
#
# Utility and risk statistics compare synthetic rows with the exact original. On private data, these statistics would be a
# release without noise. So the functions of this folder take a `PublicTable`, which cannot be built without the reason why the
# data are public.


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicTable:
    """A public table with its bins and the reason why it is public. Exact statistics are computed only from such tables.

    Attributes
    ----------
    counts : the counts of the rows. `PrivateCounts` are refused.
    transformation : for each column, its bins with their labels and representative values.
    public_because : the reason why the data are public, such as "simulated". The caller is responsible for its truth.

    Raises
    ------
    TypeError : if `counts` are not public counts.
    ValueError : if there is no reason, if there are no rows, or if the bins are not the bins of the transformation.
    """

    counts: Counts
    transformation: Transformation
    public_because: str

    def __post_init__(self) -> None:
        if not isinstance(self.public_because, str) or not self.public_because.strip():
            raise ValueError("public_because is empty. Give the reason why these data are public.")
        self._check(self.counts, "the public table")

    def check_copies(self, copies: Sequence[Counts]) -> None:
        """Check that synthetic copies are not empty and have the same bins as this table.

        Raises
        ------
        TypeError : if a copy is not public counts.
        ValueError : if there is no copy, or if a copy has other bins than this table or no rows.
        """
        if not copies:
            raise ValueError("copies is empty. Give at least one synthetic table.")
        for position, copy in enumerate(copies, start=1):
            self._check(copy, f"synthetic copy {position}")

    def _check(self, counts: object, role: str) -> None:
        if not isinstance(counts, Counts):
            raise TypeError(
                f"{role}: expected the counts of a public table, found {type(counts).__name__}. The statistics have no "
                "noise, so they must not use private data."
            )
        if counts.layout != self.transformation.layout:
            expected, found = (
                ", ".join(f"{name}: {so_many(size, 'bin')}" for name, size in zip(layout.columns, layout.sizes, strict=True))
                for layout in (self.transformation.layout, counts.layout)
            )
            raise ValueError(f"{role}: the bins are not those of the transformation. Expected {expected}, found {found}.")
        if not counts.total:
            raise ValueError(f"{role}: the table has no rows. Give a table with at least one row.")

    @property
    def n(self) -> int:
        return self.counts.total

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def indices(self, role: str, names: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of these columns. Raises ValueError, with the setting's name `role`, for unknown or repeated
        names.
        """
        names = tuple(names)
        for name in names:
            if name not in self.columns:
                meant = closest(name, self.columns)
                hint = f" Did you mean {meant!r}?" if meant else ""
                raise ValueError(f"{role}: the table has no column {name!r}. Its columns are {listing(self.columns)}.{hint}")
        if len(set(names)) != len(names):
            raise ValueError(f"{role}: a column is named twice ({listing(names)}). Name each column once.")
        return tuple(self.columns.index(name) for name in names)

    def has_numbers(self, column: str) -> bool:
        """Return whether every bin except the bin of missing values has a representative value."""
        present = self.transformation.binning(column).present
        return bool(np.isfinite(self.transformation.numbers(column)[:present]).all())

    def numbers(self, role: str, column: str) -> np.ndarray:
        """Return the (n_bins,) representative values of a column; NaN for the bin of missing values.

        Raises
        ------
        ValueError : if another bin has no representative value. The message has the name of the setting, `role`.
        """
        if not self.has_numbers(column):
            raise ValueError(f"{role}: the bins of {column!r} have no representative values. Choose a column of numbers.")
        return self.transformation.numbers(column)


# A race in stages: configurations that are often accepted on public data get more attempts, and the others are dropped.
#
# Before the race, a pilot of three attempts on a few configurations shows how much the criterion values of one configuration
# vary. In each stage, every remaining configuration gets attempts up to the number of the stage. Then a configuration is
#
# - dropped, if an upper bound of its acceptance probability is below the target, or below the lower bound of the last
#   configuration that would be on the shortlist;
# - outrun, if too many other configurations are still in the race and did better (successive halving: the later the stage, the
#   fewer configurations stay);
# - settled, without further attempts, if its interval is narrow enough, or the interval for the mean chance of its candidates.
#   A chance is a probability over the noise of the criteria, and varies less than the outcomes "accepted" and "rejected".
#
# The upper bound is the smaller of two: the exact bound from the number of accepted attempts (Clopper-Pearson), and a bound
# from the criterion values (`upper_bound`), which drops a configuration far beyond a threshold after a single attempt.
#
# The next attempts depend only on the results so far, not on the order in which these were found. So an interrupted race
# continues as if it had not been interrupted.

PILOT_SIZE, PILOT_ATTEMPTS = 60, 3
STAGES = (1, 3, 6, 12, 24, 48, 96, 192, 384)
"""Number of attempts per configuration after each stage. Doubling spends at most twice as many attempts as an ideal rule."""

# After a stage of k attempts, at most keep * 48 / k configurations stay, so that each stage costs about the same.
_LAST_STAGE = 48

# The true mean of a configuration is assumed to be better than the observed mean by at most this number of standard errors.
_DEVIATIONS = 3.0


class Standing(Enum):
    """The state of a configuration in the race for the shortlist: running, or out for one of three reasons."""

    RUNNING = "running"
    DROPPED = "dropped"
    OUTRUN = "outrun"
    SETTLED = "settled"


@dataclass(frozen=True, kw_only=True)
class RaceGoal:
    """The rules of a race of configurations for the shortlist.

    Attributes
    ----------
    target : smallest acceptance probability of a useful configuration, in (0, 1).
    keep : largest size of the shortlist.
    width : the largest width at which an interval is narrow enough, in (0, 1).
    level : confidence of the intervals.
    """

    target: float = 0.1
    keep: int = 10
    width: float = 0.25
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Race:
    """The state of a race for the shortlist, computed from the results so far.

    Attributes
    ----------
    estimates : for each configuration, the acceptance probability with its interval.
    chances : for each configuration, the mean acceptance chance of its candidates, which varies less than the share of
        accepted attempts.
    standings : the state of each configuration.
    stage : number of attempts per running configuration in the present stage, or 0 for the pilot.
    missing : (configuration, number) of the missing attempts of the present stage; empty if the race is over.
    """

    goal: RaceGoal
    estimates: tuple[ShareEstimate, ...]
    chances: tuple[float, ...]
    standings: tuple[Standing, ...]
    stage: int
    missing: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, results: Sequence[Mapping[int, AttemptResult]], thresholds: Sequence[float], goal: RaceGoal) -> Race:
        """Decide which configurations get no further attempts, and which attempts are run next.

        Parameters
        ----------
        results : for each configuration, the results by attempt number. Results of later stages are ignored.
        """
        size = len(results)
        states = [Standing.RUNNING] * size
        shares, chances = [clopper_pearson(0, 0, goal.level)] * size, [0.0] * size
        pilot = range(0, size, max(1, size // PILOT_SIZE))

        def state(stage: int, missing: list[tuple[int, int]]) -> Race:
            order = tuple(sorted(missing, key=lambda attempt: (attempt[1], attempt[0])))
            return cls(
                goal=goal, estimates=tuple(shares), chances=tuple(chances), standings=tuple(states), stage=stage, missing=order
            )

        lacking = [(c, number) for c in pilot for number in range(PILOT_ATTEMPTS) if number not in results[c]]
        if lacking:
            return state(0, lacking)
        scatter = pooled_scatter([[results[c][number] for number in range(PILOT_ATTEMPTS)] for c in pilot])
        for stage in STAGES:
            running = [c for c, standing in enumerate(states) if standing is Standing.RUNNING]
            seen = {c: [results[c][number] for number in range(stage) if number in results[c]] for c in running}
            for c, attempts in seen.items():
                shares[c] = clopper_pearson(sum(result.accepted for result in attempts), len(attempts), goal.level)
                chances[c] = _mean_chance(attempts)
            lacking = [(c, number) for c in running for number in range(stage) if number not in results[c]]
            if lacking:
                return state(stage, lacking)
            bar = max([goal.target, *sorted((estimate.low for estimate in shares), reverse=True)[goal.keep - 1 : goal.keep]])
            for c in running:
                estimate = shares[c]
                if min(estimate.high, upper_bound(seen[c], thresholds, scatter)) < bar:
                    states[c] = Standing.DROPPED
                elif _narrow(estimate, seen[c], goal) or stage == STAGES[-1]:
                    states[c] = Standing.SETTLED
            for c in _outrun(seen, states, max(goal.keep, goal.keep * _LAST_STAGE // stage)):
                states[c] = Standing.OUTRUN
        return state(STAGES[-1], [])

    def shortlist(self) -> tuple[int, ...]:
        """Return the indices of the `keep` configurations with the largest mean acceptance chance, in increasing order.

        Only configurations that are running or settled count, and their mean chance must reach the target.
        """
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
    """Return the running configurations that at least `size` others beat by the mean acceptance chance."""
    running = [c for c in seen if standings[c] is Standing.RUNNING]
    means = {c: _mean_chance(seen[c]) for c in running}
    return sorted(running, key=lambda c: (-means[c], c))[size:]


def pooled_scatter(groups: Sequence[Sequence[AttemptResult]]) -> np.ndarray:
    """Return, for each criterion, how much its values vary between attempts of the same configuration.

    `groups` has the attempts of each configuration.

    Returns
    -------
    np.ndarray
        (n_criteria,) pooled standard deviations of the logarithms of the values, or NaN with fewer than 10 degrees of freedom.
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
    """Return an upper bound for a configuration's acceptance probability from its criterion values, or 1 without a bound.

    For each criterion, the logarithm of the value is assumed to be normal with the pooled standard deviation s
    (`pooled_scatter`), and a mean of at least the average of the k observed values minus 3 s / sqrt(k). The bound is the
    smallest Pr[value <= threshold] over the criteria: a rule of thumb, because of these assumptions.
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
    figures = np.array([[math.nan if value is None else value for value in result.figures] for result in attempts])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(figures > 0, np.log(figures), np.nan)
