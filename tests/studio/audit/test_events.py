"""The choice of events: near the best one, found where only several numbers together tell, and honest."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.whole.drawn.cases import NOT_A_NUMBER, Case, Event, best_event, lower_bounds, upper_bounds
from tests.whole.drawn.running import Effort, Finding, audit_cases, count, prepare

Generator = np.random.Generator


def laplace(generator: Generator, centre: float, epsilon: float, draws: int) -> np.ndarray:
    stop = -math.expm1(-epsilon)
    return (centre + generator.geometric(stop, draws) - generator.geometric(stop, draws))[:, None].astype(float)


def test_the_event_against_laplace_noise_is_as_good_as_the_best_half_line() -> None:
    """Every half line {output >= t} by its exact probabilities: none promises more than the chosen event delivers, by 2%."""
    generator, epsilon, draws, error = np.random.default_rng(3), 1.0, 40_000, 1e-6
    event = best_event(laplace(generator, 1, epsilon, 20_000), laplace(generator, 0, epsilon, 20_000), ("count",), draws, error)
    a = math.exp(-epsilon)

    def tail(t: np.ndarray) -> np.ndarray:
        """Pr[noise >= t]."""
        return np.where(t > 0, a ** np.maximum(t, 0) / (1 + a), 1 - a ** np.maximum(1 - t, 0) / (1 + a))

    t = np.arange(-30, 30)
    best = np.log(lower_bounds(tail(t - 1) * draws, draws, error / 2) / upper_bounds(tail(t) * draws, draws, error / 2)).max()
    left, right = (event.hits(laplace(generator, centre, epsilon, 400_000)) / 400_000 for centre in (1, 0))
    found = np.log(
        lower_bounds(np.array([left * draws]), draws, error / 2) / upper_bounds(np.array([right * draws]), draws, error / 2)
    )
    assert found[0] > best - 0.02


def test_an_event_is_found_where_only_all_numbers_together_tell() -> None:
    """Twenty numbers, each moved by a fifth of its noise: apart they show epsilon 0.2, together much more."""
    generator = np.random.default_rng(1)
    left, right = (np.hstack([laplace(generator, c, 0.2, 20_000) for _ in range(20)]) for c in (1, 0))
    event = best_event(left, right, tuple("abcdefghijklmnopqrst"), 20_000, 1e-3)
    fresh = [np.hstack([laplace(generator, c, 0.2, 20_000) for _ in range(20)]) for c in (1, 0)]
    hits = [event.hits(side) for side in fresh]
    assert math.log(hits[0] / hits[1]) > 1


def test_an_event_is_found_that_no_number_shows_alone() -> None:
    """Two fair coins: independent on the left, always equal on the right."""
    generator = np.random.default_rng(2)
    left = generator.integers(0, 2, (4_000, 2)).astype(float)
    coin = generator.integers(0, 2, (4_000, 1)).astype(float)
    event = best_event(left, np.hstack([coin, coin]), ("first", "second"), 4_000, 1e-3)
    outcomes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    assert [event.hits(outcome[None]) for outcome in outcomes] == [0, 1, 1, 0]


class Noise:
    """Ten numbers of the same law on both tables, with a stream of their own for each."""

    def __init__(self, seed: int):
        self.generator = np.random.default_rng(seed)

    def __call__(self, draws: int) -> np.ndarray:
        return self.generator.integers(0, 3, (draws, 10)).astype(float)


def drawn(mechanism: Callable[[int], np.ndarray], draws: int) -> np.ndarray:
    return mechanism(draws)


def case(left, right, *, claim: float = 0.0, features: int = 10, draws: int = 300, **more: object) -> Case:
    names = tuple(f"number {i}" for i in range(features))
    return Case(
        family="made up", name="made up", claim=claim, draw=drawn, sides=(left, right), features=names, draws=draws, **more
    )


class Shares:
    """Coins with a probability of heads."""

    def __init__(self, heads: float, seed: int):
        self.heads, self.generator = heads, np.random.default_rng(seed)

    def __call__(self, draws: int) -> np.ndarray:
        return (self.generator.random(draws) < self.heads).astype(float)


def test_a_claim_that_is_just_true_is_exceeded_as_rarely_as_is_said() -> None:
    """Coins of 3/4 and 1/4 realise ln 3 exactly, so every error shows.

    Each of 200 audits errs with probability at most 0.1 in all: more than 40 errors happen once in 10,000 times.
    """
    wrong = 0
    for seed in range(200):
        tight = case(Shares(0.75, 2 * seed), Shares(0.25, 2 * seed + 1), claim=math.log(3), features=1)
        wrong += count(tight, prepare(tight, 300, 0.05), 300, 0.05).exceeded
    assert wrong <= 40


class Counted:
    """Outputs that are numbered, so that a draw that is used twice shows."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, draws: int) -> np.ndarray:
        self.given += draws
        return np.arange(self.given - draws, self.given, dtype=float)[:, None]


def test_events_are_counted_in_draws_that_did_not_choose_them() -> None:
    left, right = Counted(), Counted()
    numbered = case(left, right, features=1)
    ready = prepare(numbered, 300, 0.01)
    assert left.given == right.given == ready.held_out == 150
    fixed = Event(text="a held-out draw", statistic=lambda outputs: -outputs[:, 0], threshold=-149.0)
    held_out = type(ready)(events=(fixed, fixed), held_out=150, seconds_per_draw=0.0)
    finding = count(numbered, held_out, 300, 0.01)
    assert left.given == right.given == 450
    assert [direction.more.hits for direction in finding.directions] == [0, 0]
    assert [direction.more.draws for direction in finding.directions] == [300, 300]


@pytest.mark.parametrize(("left", "right"), [(0.8, 0.2), (0.2, 0.8), (0.999, 0.9)])
def test_both_directions_are_looked_at(left: float, right: float) -> None:
    """Randomised response is ln(max of both ratios)-DP: a claim of half of it is found wrong whichever side is which."""
    epsilon = max(abs(math.log(left / right)), abs(math.log((1 - left) / (1 - right))))
    wrong = case(Shares(left, 1), Shares(right, 2), claim=epsilon / 2, features=1, draws=4_000)
    right_claim = case(Shares(left, 3), Shares(right, 4), claim=epsilon, features=1, draws=4_000)
    found: list[Finding] = audit_cases([wrong, right_claim])
    assert [finding.exceeded for finding in found] == [True, False]


def test_the_error_is_shared_by_all_cases() -> None:
    """One head in eleven draws more than claimed: proven alone, and no longer among a thousand cases."""
    alone = case(Shares(0.75, 1), Shares(0.25, 2), claim=0.8, features=1, draws=1_000)
    among = [case(Shares(0.75, 1), Shares(0.25, 2), claim=0.8, features=1, draws=1_000)] + [
        case(Shares(0.5, 3), Shares(0.5, 4), features=1, draws=50) for _ in range(60)
    ]
    first, second = audit_cases([alone])[0], audit_cases(among)[0]
    assert first.directions[0].more == second.directions[0].more  # the same draws
    assert second.epsilon < first.epsilon - 0.03


def test_a_claim_that_is_not_a_number_is_exceeded() -> None:
    finding = audit_cases([case(Shares(0.5, 1), Shares(0.5, 2), claim=math.nan, features=1)])[0]
    assert finding.exceeded


def test_hours_are_shared_out_in_proportion() -> None:
    """Two cases of the same cost: the one that asks for three times the draws gets three times as many."""
    cases = [case(Noise(1), Noise(2), draws=100), case(Noise(3), Noise(4), draws=300)]
    found = audit_cases(cases, effort=Effort(hours=1e-4))
    draws = [finding.directions[0].more.draws for finding in found]
    assert draws[1] == pytest.approx(3 * draws[0], abs=3)
    assert draws[0] > 100


def test_outputs_must_have_the_promised_numbers_and_nan_counts_as_one() -> None:
    with pytest.raises(ValueError, match="expected 2 numbers for each output, found 10"):
        case(Noise(1), Noise(2), features=2).sample("left", 5)
    absent = case(lambda draws: np.full(draws, np.nan), Shares(0.5, 1), features=1)
    assert absent.sample("left", 3).tolist() == [[NOT_A_NUMBER]] * 3
