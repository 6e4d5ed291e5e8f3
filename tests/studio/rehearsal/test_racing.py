"""The race of a rehearsal, on made-up attempts: what it asks for, whom it drops, and how good its shortlist is."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest

from synthrelease.studio.rehearsal.attempts import (
    STAGES,
    AttemptResult,
    Race,
    RaceGoal,
    Standing,
    clopper_pearson,
    pooled_scatter,
    upper_bound,
)

NORMAL = NormalDist()
THRESHOLDS = (1.0, 0.0)
"""Of an error, which is accepted up to 1, and of a count that has to be 0, as in face privacy."""

Results = list[dict[int, AttemptResult]]


def attempt(
    configuration: int, number: int, accepted: bool, figures: tuple[float | None, ...] = (None,), chance: float | None = None
) -> AttemptResult:
    return AttemptResult(
        configuration=configuration,
        number=number,
        generation=Fraction(1),
        accepted=accepted,
        chance=float(accepted) if chance is None else chance,
        seconds=0.0,
        figures=figures,
        sensitivities=(None,) * len(figures),
        passed=(accepted,) * len(figures),
    )


class MadeUp:
    """A space whose acceptance probabilities are known. The first figure is lognormal, so that it stays below its threshold
    with that probability; the second is 0 or missing; both depend on nothing but (seed, configuration, number)."""

    def __init__(self, acceptance: Sequence[float], seed: int, scatter: float = 0.2):
        self.acceptance, self.scatter = acceptance, scatter
        self.draws = np.random.default_rng(seed).standard_normal((len(acceptance), STAGES[-1]))

    def result(self, c: int, number: int) -> AttemptResult:
        p, draw = self.acceptance[c], self.draws[c, number]
        if p == 0:
            figure = math.exp(1 + self.scatter * draw)  # five deviations beyond the threshold
        else:
            figure = math.exp(self.scatter * (draw - NORMAL.inv_cdf(p)))
        return attempt(c, number, figure <= 1, (figure, 0.0 if number % 3 else None))

    def full(self) -> Results:
        return [{number: self.result(c, number) for number in range(STAGES[-1])} for c in range(len(self.acceptance))]


def run(world: MadeUp, goal: RaceGoal, results: Results | None = None) -> tuple[Race, list[tuple[int, int]]]:
    """The finished race, and the attempts it asked for, in the order in which they were run."""
    results = [{} for _ in world.acceptance] if results is None else results
    asked: list[tuple[int, int]] = []
    race = Race.of(results, THRESHOLDS, goal)
    while race.missing:
        asked += race.missing
        for c, number in race.missing:
            results[c][number] = world.result(c, number)
        race = Race.of(results, THRESHOLDS, goal)
    return race, asked


SMALL = MadeUp((0.9, 0.0, 0.4, 0.3, 0.0, 0.1, 0.7, 0.0, 0.02, 0.8), seed=5)
SMALL_GOAL = RaceGoal(keep=3, width=0.3)


@pytest.fixture(scope="module")
def small() -> tuple[Race, list[tuple[int, int]]]:
    return run(SMALL, SMALL_GOAL)


def test_the_interval_has_the_quantiles_of_the_beta_distribution() -> None:
    for successes, trials in ((1, 1), (1, 5), (3, 7), (10, 20), (199, 200)):
        for level in (0.8, 0.95):
            found, tail = clopper_pearson(successes, trials, level), (1 - level) / 2
            assert found.low == pytest.approx(beta.ppf(tail, successes, trials - successes + 1), rel=1e-9)
            if successes < trials:
                assert found.high == pytest.approx(beta.ppf(1 - tail, successes + 1, trials - successes), rel=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(0, 3), (2, 3), (3, 3), (17, 90)])
def test_the_interval_is_that_of_the_exact_binomial_test(successes: int, trials: int) -> None:
    found = clopper_pearson(successes, trials, 0.9)
    reference = binomtest(successes, trials).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), rel=1e-9)
    assert found.share == pytest.approx(successes / trials)


@pytest.mark.parametrize("trials", [1, 6, 24])
def test_the_interval_holds_every_probability_with_its_confidence(trials: int) -> None:
    intervals = [clopper_pearson(successes, trials) for successes in range(trials + 1)]
    for p in np.linspace(0, 1, 401):
        covering = [k for k, interval in enumerate(intervals) if interval.low <= p <= interval.high]
        assert binom.pmf(covering, trials, p).sum() >= 0.95 - 1e-12


def test_without_trials_the_interval_is_everything() -> None:
    found = clopper_pearson(0, 0)
    assert (found.low, found.high, found.share) == (0, 1, 0)


def test_a_race_starts_with_a_pilot_over_the_whole_space() -> None:
    race = Race.of([{} for _ in range(240)], THRESHOLDS, RaceGoal())
    assert race.stage == 0
    assert race.missing == tuple((c, number) for number in range(3) for c in range(0, 240, 4))
    assert race.shortlist() == ()


def test_the_first_stage_asks_each_configuration_for_one_attempt_more_than_the_pilot_made() -> None:
    results: Results = [{} for _ in range(240)]
    for c in range(0, 240, 4):
        results[c] = {number: attempt(c, number, True) for number in range(3)}
    race = Race.of(results, (1.0,), RaceGoal())
    assert race.stage == 1
    assert race.missing == tuple((c, 0) for c in range(240) if c % 4)


def test_no_attempt_is_asked_for_twice(small: tuple[Race, list[tuple[int, int]]]) -> None:
    asked = small[1]
    assert len(asked) == len(set(asked)) > 50


def test_the_race_is_a_function_of_the_results(small: tuple[Race, list[tuple[int, int]]]) -> None:
    """The results that a race did not ask for do not matter either, such as those of an earlier race with other rules."""
    assert Race.of(SMALL.full(), THRESHOLDS, SMALL_GOAL) == small[0]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(order=st.randoms(use_true_random=False))
def test_the_order_in_which_results_arrive_does_not_matter(order: random.Random) -> None:
    there: Results = [{} for _ in SMALL.acceptance]
    attempts = [(c, number) for c in range(len(there)) for number in range(12)]
    ordered: Results = [{} for _ in there]
    for c, number in attempts:
        ordered[c][number] = SMALL.result(c, number)
    order.shuffle(attempts)
    for c, number in attempts:
        there[c][number] = ordered[c][number]
    assert Race.of(there, THRESHOLDS, SMALL_GOAL) == Race.of(ordered, THRESHOLDS, SMALL_GOAL)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(order=st.randoms(use_true_random=False), share=st.floats(0, 1))
def test_an_interrupted_race_goes_on_with_exactly_the_missing_attempts(
    order: random.Random, share: float, small: tuple[Race, list[tuple[int, int]]]
) -> None:
    race, asked = small
    before = set(order.sample(asked, int(share * len(asked))))
    results: Results = [{} for _ in SMALL.acceptance]
    for c, number in before:
        results[c][number] = SMALL.result(c, number)
    resumed, after = run(SMALL, SMALL_GOAL, results)
    assert resumed == race
    assert sorted(after) == sorted(set(asked) - before)


def test_hopeless_configurations_are_dropped_and_the_best_survive(small: tuple[Race, list[tuple[int, int]]]) -> None:
    race, asked = small
    assert race.shortlist() == (0, 6, 9)
    for c, p in enumerate(SMALL.acceptance):
        if p == 0:
            assert race.standings[c] is Standing.DROPPED
            assert sum(chosen == c for chosen, _ in asked) == 3  # those of the pilot, which drops them by their figures


def test_without_figures_the_number_of_accepted_attempts_drops_a_configuration() -> None:
    """Never accepted: the upper end 1 - 0.025^(1/k) is below the target 0.1 from k = 36 on, so after the stage of 48."""
    results: Results = [{number: attempt(c, number, c > 0) for number in range(STAGES[-1])} for c in range(2)]
    race = Race.of(results, (1.0,), RaceGoal(keep=2, width=0.12))
    assert race.standings == (Standing.DROPPED, Standing.SETTLED)
    assert [estimate.trials for estimate in race.estimates] == [48, 48]  # after 24 both are wider: 1 - 0.025^(1/24) = 0.14
    assert race.shortlist() == (1,)


def test_figures_of_zero_and_missing_ones_say_nothing_and_break_nothing() -> None:
    for figures in ((0.0, 0.0), (None, None), (0.0, None)):
        results: Results = [{n: attempt(c, n, n < 7, figures) for n in range(STAGES[-1])} for c in range(3)]
        with np.errstate(all="raise"):
            race = Race.of(results, THRESHOLDS, RaceGoal(keep=2, width=0.9))
        assert race.missing == ()
        assert [estimate.trials for estimate in race.estimates] == [
            3,
            3,
            3,
        ]  # [0.29, 1] is narrower than 0.9; [0.025, 1] is not
        assert race.shortlist() == (0, 1)


def test_a_space_of_one_configuration_is_raced_too() -> None:
    race, asked = run(MadeUp((0.6,), seed=1), RaceGoal(keep=1))
    assert race.shortlist() == (0,)
    assert race.standings == (Standing.SETTLED,)
    assert race.estimates[0].high - race.estimates[0].low <= 0.25
    assert asked == [(0, number) for number in range(len(asked))]


def test_a_shortlist_may_be_longer_than_the_space() -> None:
    race, _ = run(MadeUp((0.9, 0.0, 0.6, 0.0, 0.0), seed=2), RaceGoal(keep=10))
    assert race.shortlist() == (0, 2)
    assert race.standings == tuple(Standing.SETTLED if p else Standing.DROPPED for p in (0.9, 0.0, 0.6, 0.0, 0.0))


def finished(shares: Sequence[Fraction], goal: RaceGoal, trials: int = 48) -> Race:
    """A race in which each configuration had this share of accepted attempts, evenly spread over time."""
    results = [
        {n: attempt(c, n, math.floor((n + 1) * share) > math.floor(n * share)) for n in range(trials)}
        for c, share in enumerate(shares)
    ]
    return Race.of(results, (1.0,), goal)


def test_the_shortlist_takes_who_is_accepted_exactly_at_the_target() -> None:
    shares = [Fraction(1, 4), Fraction(11, 48)]
    goal = RaceGoal(target=0.25, keep=2, width=0.3)
    assert finished(shares, goal).shortlist() == (0,)


def test_the_shortlist_prefers_the_higher_mean_chance_then_the_first() -> None:
    """And not the higher share of accepted attempts, which is more a matter of luck."""
    estimates = [clopper_pearson(*counts) for counts in ((12, 12), (0, 12), (12, 24), (9, 12), (0, 0), (12, 12))]
    standings = (*[Standing.SETTLED] * 3, Standing.RUNNING, Standing.RUNNING, Standing.DROPPED)

    def shortlist(keep: int) -> tuple[int, ...]:
        race = Race(
            goal=RaceGoal(keep=keep),
            estimates=tuple(estimates),
            chances=(0.4, 0.6, 0.6, 0.7, 0.9, 1.0),
            standings=standings,
            stage=24,
            missing=(),
        )
        return race.shortlist()

    assert [shortlist(keep) for keep in (1, 2, 3, 4, 9)] == [(3,), (1, 3), (1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)]


def test_who_was_outrun_is_not_on_the_shortlist() -> None:
    """48 / 3: after three attempts each, 16 run on when one is kept; the others were worse or, as good, came later."""
    results = [{n: attempt(c, n, True, chance=0.9 if c >= 20 else 0.5) for n in range(3)} for c in range(120)]
    race = Race.of(results, (1.0,), RaceGoal(keep=1))
    outrun = [c for c, standing in enumerate(race.standings) if standing is Standing.OUTRUN]
    assert race.stage == 6
    assert sum(standing is Standing.RUNNING for standing in race.standings) == 16
    assert outrun == [*range(20), *range(36, 120)]
    assert race.shortlist() == (20,)


def test_an_interval_of_exactly_the_width_is_settled_and_a_wider_one_goes_on() -> None:
    width = (lambda interval: interval.high - interval.low)(clopper_pearson(6, 12))
    at = Race.of([{n: attempt(0, n, n % 2 == 0) for n in range(12)}], (1.0,), RaceGoal(keep=1, width=width))
    below = Race.of([{n: attempt(0, n, n % 2 == 0) for n in range(12)}], (1.0,), RaceGoal(keep=1, width=width - 1e-9))
    assert (at.standings, at.missing) == ((Standing.SETTLED,), ())
    assert below.standings == (Standing.RUNNING,)
    assert below.missing == tuple((0, number) for number in range(12, 24))


def test_who_reaches_exactly_the_target_is_not_dropped() -> None:
    high = clopper_pearson(0, 12).high
    for target, standing in ((high, Standing.RUNNING), (math.nextafter(high, 1), Standing.DROPPED)):
        results: Results = [{n: attempt(0, n, False) for n in range(12)}]
        race = Race.of(results, (1.0,), RaceGoal(keep=1, target=target, width=0.2))
        assert race.standings == (standing,)


def test_who_cannot_reach_the_last_place_of_the_shortlist_is_dropped() -> None:
    """After 12 attempts (12/12 has the lower end 0.735) the one with 1/12 (upper end 0.385) has no place among the first 2."""
    shares = [Fraction(1), Fraction(1), Fraction(1, 12)]
    by_keep = {keep: finished(shares, RaceGoal(keep=keep, target=0.001, width=0.2), trials=12) for keep in (2, 3)}
    assert by_keep[2].standings == (Standing.RUNNING, Standing.RUNNING, Standing.DROPPED)
    assert by_keep[3].standings == (Standing.RUNNING,) * 3


def test_the_race_ends_when_intervals_stay_wide() -> None:
    race, asked = run(MadeUp((0.5,), seed=3), RaceGoal(keep=1, width=0.01))
    assert (race.standings, len(asked)) == ((Standing.SETTLED,), STAGES[-1])


figure = st.one_of(st.none(), st.just(0.0), st.floats(1e-3, 1e3))
rows = st.lists(st.tuples(figure, figure), min_size=1, max_size=8)


def logs(rows: Sequence[tuple[float | None, ...]], criterion: int) -> list[float]:
    return [math.log(value) for row in rows if (value := row[criterion])]


def attempts_of(rows: Sequence[tuple[float | None, ...]]) -> list[AttemptResult]:
    return [attempt(0, number, False, row) for number, row in enumerate(rows)]


def plain_upper_bound(rows: Sequence[tuple[float | None, ...]], thresholds: Sequence[float], scatter: Sequence[float]) -> float:
    """The docstring of `upper_bound`, word by word."""
    bound = 1.0
    for criterion, (threshold, s) in enumerate(zip(thresholds, scatter, strict=True)):
        seen = logs(rows, criterion)
        if seen and threshold > 0 and s > 0:
            mean = fmean(seen) - 3 * s / math.sqrt(len(seen))
            bound = min(bound, NORMAL.cdf((math.log(threshold) - mean) / s))
    return bound


@pytest.mark.slow
@given(rows=rows, thresholds=st.tuples(st.floats(0.01, 10), st.sampled_from([0.0, 0.5])),
       scatter=st.tuples(st.sampled_from([math.nan, 0.0, 0.1, 1.0]), st.sampled_from([math.nan, 0.3])))  # fmt: skip
def test_the_upper_bound_is_that_of_its_description(
    rows: list[tuple[float | None, ...]], thresholds: tuple[float, float], scatter: tuple[float, float]
) -> None:
    found = upper_bound(attempts_of(rows), thresholds, np.array(scatter))
    assert found == pytest.approx(plain_upper_bound(rows, thresholds, scatter), rel=1e-6, abs=1e-12)


def test_the_upper_bound_by_hand() -> None:
    """s = 0.5 and four figures of e: the mean is at least 1 - 3 * 0.5 / 2 = 0.25; Pr[log figure <= 0] = Phi(-0.5) = 0.3085."""
    assert upper_bound(attempts_of([(math.e,)] * 4), (1.0,), np.array([0.5])) == pytest.approx(0.308538, abs=1e-6)


@pytest.mark.slow
@given(groups=st.lists(rows, min_size=1, max_size=8))
def test_the_scatter_is_the_pooled_deviation_of_logarithms(groups: list[list[tuple[float | None, ...]]]) -> None:
    found = pooled_scatter([attempts_of(rows) for rows in groups])
    for criterion in (0, 1):
        seen = [logs(rows, criterion) for rows in groups]
        freedom = sum(len(values) - 1 for values in seen if values)
        squares = sum((value - fmean(values)) ** 2 for values in seen if values for value in values)
        expected = math.sqrt(squares / freedom) if freedom >= 10 else math.nan
        assert found[criterion] == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def test_the_scatter_by_hand() -> None:
    """Ten pairs (1, e^2): each has the squares 1 + 1 on one degree of freedom. With nine pairs there are too few."""
    pairs = [attempts_of([(1.0, None), (math.e**2, 3.0)])] * 10
    assert pooled_scatter(pairs)[0] == pytest.approx(math.sqrt(2))
    assert math.isnan(pooled_scatter(pairs)[1])
    assert math.isnan(pooled_scatter(pairs[:9])[0])


def spread(good: int, size: int, draw: np.random.Generator) -> list[float]:
    """A space in which few configurations are good, some are mediocre and most are hopeless."""
    mediocre = 30
    shares = [*draw.uniform(0.6, 0.9, good), *draw.uniform(0.02, 0.3, mediocre), *[0.0] * (size - good - mediocre)]
    return [float(share) for share in draw.permutation(shares)]


def grid(world: MadeUp, attempts: int, keep: int) -> list[int]:
    """The best after as many attempts of every configuration."""
    size = len(world.acceptance)
    accepted = [sum(world.result(c, number).accepted for number in range(attempts)) for c in range(size)]
    return sorted(range(size), key=lambda c: -accepted[c])[:keep]


@pytest.mark.slow
def test_the_race_finds_what_a_full_grid_finds_with_a_fifth_of_the_attempts() -> None:
    """Five worlds of 200 configurations with 12 good ones; a grid of the cost of the race would do worse."""
    raced, searched, frugal, costs = [], [], [], []
    for seed in range(5):
        world = MadeUp(spread(12, 200, np.random.default_rng(seed)), seed=seed)
        race, asked = run(world, RaceGoal(keep=10))
        lists = race.shortlist(), grid(world, 60, 10), grid(world, 12, 10)
        for means, chosen in zip((raced, searched, frugal), lists, strict=True):
            assert len(chosen) == 10
            means.append(fmean(world.acceptance[c] for c in chosen))
        costs.append(len(asked))
    assert max(costs) <= 200 * 12
    assert fmean(raced) > fmean(searched) - 0.01
    assert fmean(raced) > fmean(frugal) + 0.01
