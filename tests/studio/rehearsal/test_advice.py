"""Advice on budgets: against numbers by hand and a simulation of the selection loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.privacy.selection import FiniteLaw, NegativeBinomial, StopCoin
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.advice import (
    BudgetPoint,
    cheapest,
    criterion_advice,
    frontier,
    outlook,
    smallest_epsilon,
    total_epsilon,
)
from synthrelease.studio.rehearsal.attempts import AttemptResult, bounded_mean, clopper_pearson
from tests.helpers.tiny import EPSILON, write_config

ERROR = CRITERIA["absolute_marginal_error"](name="error", kind="absolute_marginal_error", threshold=2.0, epsilon=Fraction(1, 2))
COUNT = CRITERIA["face_privacy"](name="face", kind="face_privacy", minimum_count=2)


def attempt(
    error: float | None,
    passed: tuple[bool, bool] = (True, True),
    *,
    number: int = 0,
    chance: float = 0.5,
    sensitivity: float | None = 0.1,
    generation: Fraction = Fraction(1),
) -> AttemptResult:
    return AttemptResult(
        configuration=0,
        number=number,
        generation=generation,
        accepted=all(passed),
        chance=chance,
        seconds=0.0,
        figures=(error, None if error is None else 0.0),
        sensitivities=(None if error is None else sensitivity, None),
        passed=passed,
    )


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("coins")))


def test_the_smallest_epsilon_by_hand() -> None:
    """exp(-0.4 eps / 0.1) / 2 = 0.05 at eps = ln(10) / 4."""
    assert smallest_epsilon(0.4, 0.1, 0.05) == pytest.approx(math.log(10) / 4)
    assert smallest_epsilon(0.4, 0.1, 0.5) == 0


def test_with_the_smallest_epsilon_noise_crosses_the_gap_as_often_as_wanted() -> None:
    """200 000 draws: by Hoeffding off by more than 0.007 with a probability below 1e-8."""
    epsilon = smallest_epsilon(0.4, 0.1, 0.05)
    noise = np.random.default_rng(1).laplace(scale=0.1 / epsilon, size=200_000)
    assert (noise > 0.4).mean() == pytest.approx(0.05, abs=0.007)


def test_the_advice_on_a_criterion_by_hand() -> None:
    """Threshold 2, epsilon 1/2. Shortlisted figures 1, 1.5 and 2.5, one attempt without a candidate, sensitivity 0.1, 0.1, 0.2.

    The median sensitivity 0.1 has the noise scale 0.2: deviation 0.2 sqrt(2), and a gap of 20% of 2 = 0.4 = two scales is
    crossed with exp(-2)/2.
    """
    shortlisted = [attempt(1.0), attempt(1.5), attempt(2.5, (False, True), sensitivity=0.2), attempt(None, (False, False))]
    advice, face = criterion_advice((ERROR, COUNT), shortlisted, 0.05)
    assert (advice.name, advice.epsilon, advice.threshold) == ("error", Fraction(1, 2), 2.0)
    assert advice.figure == 1.5
    assert advice.fails == 0.5
    assert advice.noise_sd == pytest.approx(0.2 * math.sqrt(2))
    assert advice.false_rejection == pytest.approx(math.exp(-2) / 2)
    assert advice.smallest_epsilon == pytest.approx(math.log(10) * 0.1 / 0.4)
    assert (face.name, face.figure, face.fails) == ("face", 0.0, 0.25)
    assert (face.noise_sd, face.false_rejection) == (None, None)
    assert face.smallest_epsilon is None


def test_without_attempts_there_is_no_advice_and_nothing_breaks() -> None:
    (advice,) = criterion_advice((ERROR,), [], 0.05)
    assert (advice.figure, advice.fails, advice.noise_sd, advice.smallest_epsilon) == (None, 0.0, None, None)


def results(chances: Sequence[Sequence[float]]) -> list[AttemptResult]:
    """Attempts of several configurations by private fit."""
    return [attempt(1.0, number=number, chance=chance) for number, some in enumerate(chances) for chance in some]


def coin(stop_probability: str) -> StopCoin:
    return StopCoin(stop_probability=Fraction(stop_probability))


def test_the_outlook_by_hand() -> None:
    """Fit 0: p = 1/2, so a round ends the search with 1/2 + 1/2 * 1/5 = 3/5. Fit 1: p = 1/4, so with 1/4 + 3/4 * 1/5 = 2/5."""
    found = outlook(results([[0.25, 0.75], [0.25]]), coin("1/5"))
    assert found is not None
    assert found.acceptance == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found.expected_rounds == pytest.approx((5 / 3 + 5 / 2) / 2)
    assert found.nothing == pytest.approx((0.5 * 0.2 / 0.6 + 0.75 * 0.2 / 0.4) / 2)


def test_a_fit_with_too_few_attempts_is_no_unlucky_fit() -> None:
    """One rejected candidate under a fit of its own would otherwise count as a release that is never accepted."""
    found = outlook(results([[0.5, 0.5], [0.0]]), coin("1/1000"), least_per_fit=2)
    pooled = outlook(results([[0.6], [0.0]]), coin("1/1000"), least_per_fit=2)
    assert found is not None
    assert pooled is not None
    assert found.acceptance == 0.5
    assert pooled.acceptance == pytest.approx(0.3)
    assert pooled.expected_rounds == pytest.approx(1 / (0.3 * 0.999 + 0.001))


def test_the_outlook_is_what_the_loop_does() -> None:
    """60 000 releases: fits 0.3 and 0.7 half the time each. The tolerances are ten standard errors."""
    gamma, draw, n = 0.1, np.random.default_rng(2), 60_000
    found = outlook(results([[0.3], [0.7]]), coin("1/10"))
    assert found is not None
    rounds, nothing = np.zeros(n), np.zeros(n, dtype=bool)
    acceptance, going = draw.choice([0.3, 0.7], n), np.arange(n)
    while len(going):
        rounds[going] += 1
        rejected = going[draw.random(len(going)) >= acceptance[going]]
        stopped = draw.random(len(rejected)) < gamma
        nothing[rejected[stopped]] = True
        going = rejected[~stopped]
    assert found.expected_rounds == pytest.approx(rounds.mean(), abs=10 * rounds.std() / math.sqrt(n))
    assert found.nothing == pytest.approx(nothing.mean(), abs=10 * nothing.std() / math.sqrt(n))


def test_a_loop_that_is_never_accepted_ends_by_its_coin_or_not_at_all() -> None:
    stopped, endless = (outlook(results([[0.0]]), law) for law in (coin("1/50"), None))
    assert stopped is not None
    assert endless is not None
    assert (stopped.acceptance, stopped.expected_rounds, stopped.nothing) == (0, pytest.approx(50), pytest.approx(1))
    assert (endless.acceptance, endless.expected_rounds, endless.nothing) == (0, math.inf, 0)


@pytest.mark.parametrize("shape", ["-1/2", "0", "1", "3"])
def test_the_outlook_knows_the_law_of_the_rounds(shape: str) -> None:
    """Pr[nothing] and the mean number of rounds of a truncated negative binomial law against sums over K."""
    eta, stop, k = float(Fraction(shape)), 0.05, np.arange(1, 3000)
    factors = (1 - stop) * (k - 1 + eta) / k
    factors[0] = (1 - stop) * (eta / (stop**-eta - 1) if eta else -1 / np.log(stop))
    law = NegativeBinomial(shape=Fraction(shape), stop_probability=Fraction(1, 20))
    for share in (0.0, 0.01, 0.6, 1.0):
        found = outlook(results([[share]]), law)
        left = np.cumprod(factors) * (1 - share) ** k
        assert found is not None
        assert found.nothing == pytest.approx(left.sum(), abs=1e-9)
        reached = 1 - np.concatenate([[0], np.cumsum(np.cumprod(factors))[:-1]])  # Pr[K >= k]
        assert found.expected_rounds == pytest.approx(np.sum(reached * (1 - share) ** (k - 1)))


def test_of_few_attempts_nobody_knows_that_a_release_is_never_in_vain() -> None:
    """All of 24 accepted: of a law that finds no table in more than 1 - 0.025^(1/24) of all releases that has probability
    below 0.025."""
    once = FiniteLaw.of({1: Fraction(1)})
    shared, alone = (outlook(results([[1.0]] * 24), once, least) for least in (1, None))
    assert shared is not None
    assert alone is not None
    assert shared.nothing == alone.nothing == 0
    assert shared.nothing_high == pytest.approx(1 - 0.025 ** (1 / 24))
    assert alone.nothing_high == pytest.approx(1 - 0.025 ** (1 / 24))
    endless = outlook(results([[1.0]]), None)
    assert endless is not None
    assert endless.nothing_high == 0


def test_rounds_that_share_no_fit_make_up_for_each_other() -> None:
    """Half of 40 attempts are accepted. With two rounds of which each goes right by itself nothing comes of (1 - p)^2 of all
    releases; where they share a fit that accepts all or none, of half, and the interval is about the fits."""
    twice = FiniteLaw.of({2: Fraction(1)})
    attempts = results([[0.0], [1.0]] * 20)
    shared, alone = (outlook(attempts, twice, least) for least in (1, None))
    low, high = bounded_mean([0.0, 1.0] * 20)
    assert shared is not None
    assert alone is not None
    assert alone.nothing == pytest.approx(0.25)
    assert alone.nothing_high == pytest.approx((1 - low) ** 2)
    assert shared.nothing == pytest.approx(0.5)
    assert shared.nothing_high == pytest.approx(high)


def test_without_attempts_there_is_no_outlook() -> None:
    assert outlook([], None) is None


def test_totals_are_those_of_a_plan_with_that_generation_budget(coins: ReleaseSpec, tmp_path: Path) -> None:
    """The price of generation + 0.5; each is compared with the plan of a file that asks for it."""
    assert total_epsilon(coins, coins.budget.generation) == coins.plan.total.epsilon == EPSILON
    for text, generation in (("2.5", Fraction(5, 2)), ("0.1", Fraction(1, 10))):
        planned = load_spec(write_config(tmp_path, {"generation = 10": f"generation = {text}"})).plan.total.epsilon
        assert total_epsilon(coins, generation) == planned == price(generation + Fraction(1, 2))


def price(one_round: Fraction) -> Fraction:
    return StopCoin(stop_probability=Fraction(1, 1000)).price(one_round)


def test_the_frontier_is_sorted_by_cost_and_counts_accepted_attempts(coins: ReleaseSpec) -> None:
    yes, no = attempt(1.0), attempt(3.0, (False, True))
    points = frontier(coins, {Fraction(10): [yes, yes, no], Fraction(5): [yes, no, no], Fraction(1): []}, 0.9)
    assert [(point.generation, point.total) for point in points] == [(5, price(Fraction("5.5"))), (10, EPSILON)]
    assert [point.acceptance for point in points] == [clopper_pearson(1, 3, 0.9), clopper_pearson(2, 3, 0.9)]


def point(total: int, accepted: int) -> BudgetPoint:
    return BudgetPoint(generation=Fraction(total), total=Fraction(total), acceptance=clopper_pearson(accepted, 20))


def test_the_cheapest_budget_reaches_the_target_with_its_whole_interval() -> None:
    points = [point(9, 20), point(3, 5), point(5, 12), point(7, 19)]
    low = points[2].acceptance.low
    assert cheapest(points, low) is points[2]
    assert cheapest(points, math.nextafter(low, 1)) is points[3]
    assert cheapest(points, 0.99) is None
    assert cheapest([], 0.1) is None
