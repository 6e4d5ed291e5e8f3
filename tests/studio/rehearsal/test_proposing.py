"""The advice on rounds and generation budget, in made-up worlds whose acceptance probabilities are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.advice import (
    CHOOSING,
    JUDGING,
    PER_FIT,
    Offer,
    PlanGoal,
    Proposal,
    cheapest_law,
    cheapest_offer,
    first_offer,
    fresh_attempts,
    judgement,
    more_budgets,
    one_round,
    propose,
    shares_luck,
    with_law,
)
from synthrelease.studio.rehearsal.attempts import AttemptResult, Looks, bounded_mean
from tests.helpers.tiny import write_config

AIM = PlanGoal(nothing=0.05, target=0.1, width=0.5)
SHORTLIST = (0, 3, 4, 7, 8, 9)
SHARED = {"stop_probability = 0.001": 'stop_probability = 0.001\nmeasurements = "shared"\ntest = "joint"\ntest_epsilon = 0.5'}
MODEL = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "marginals"\ntables = "face:year"'
}

World = Callable[[Fraction, int, int], float]
"""Generation budget, configuration and number to the chance of an attempt."""


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("coins"), {"generation = 10": "generation = 4"}))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("shared"), SHARED | MODEL | {"generation = 10": "generation = 4"}))


class Runs:
    """Attempts of a world, with a log of what was asked for."""

    def __init__(self, world: World, most: float = math.inf):
        self.world, self.most = world, most
        self.asked: list[tuple[Fraction, int, int]] = []

    def __call__(self, generation: Fraction, wanted: Sequence[tuple[int, int]], phase: str) -> list[AttemptResult]:
        assert phase
        found = []
        for configuration, number in wanted:
            if len(self.asked) >= self.most:
                break  # the time is used up
            self.asked.append((generation, configuration, number))
            found.append(result(generation, configuration, number, self.world(generation, configuration, number)))
        return found


def result(generation: Fraction, configuration: int, number: int, chance: float) -> AttemptResult:
    return AttemptResult(
        configuration=configuration, number=number, generation=generation, accepted=chance > 0.5, chance=chance,
        seconds=0.0, figures=(), sensitivities=(), passed=(),
    )  # fmt: skip


def advised(spec: ReleaseSpec, runs: Runs, factors: Sequence[str], aim: PlanGoal = AIM) -> Proposal:
    """As a rehearsal does it: some budgets first, then those beside the best, then the advice."""
    tried = [(c, number) for number in range(6) for c in SHORTLIST]
    offers: dict[Fraction, Offer] = {}
    for factor in factors:
        generation = Fraction(factor) * spec.budget.generation
        offers[generation] = first_offer(spec, generation, SHORTLIST, runs(generation, tried, "first"), aim)
    for generation in more_budgets(offers.values(), spec.budget.generation):
        offers[generation] = first_offer(spec, generation, SHORTLIST, runs(generation, tried, "more"), aim)
    found = propose(spec, SHORTLIST, offers, aim, runs)
    assert found is not None
    return found


def rising(generation: Fraction) -> float:
    return 1 - math.exp(-float(generation) / 2)


@pytest.mark.slow
def test_the_advice_minimises_the_total_over_budgets_and_laws(coins: ReleaseSpec) -> None:
    """Against the total of every eighth of the planned budget; a round costs generation + 0.5."""
    found = advised(coins, Runs(lambda generation, c, number: rising(generation)), ("1/4", "1/2", "3/4", "1"))
    totals = {}
    for eighth in range(1, 10):
        generation = Fraction(eighth, 2)
        law = cheapest_law(float(generation) + 0.5, 0.05, [rising(generation)], AIM.most)
        if law is not None and rising(generation) >= AIM.target:
            totals[generation] = law.price(generation + Fraction(1, 2))
    best = min(totals, key=lambda generation: totals[generation])
    assert found.chosen is not None
    assert 0 < best < 4
    assert (found.chosen.generation, found.chosen.total) == (best, totals[best])
    assert found.chosen.law is not None
    assert with_law(coins, best, found.chosen.law).plan.total.epsilon == found.chosen.total
    assert found.chosen.anew
    assert found.without_limit == 2 * (best + Fraction(1, 2))
    assert found.chosen.total < found.without_limit
    assert found.confirmed


@pytest.mark.slow
def test_a_flattered_budget_is_left_and_what_is_stated_rests_on_attempts_that_nothing_was_chosen_by(coins: ReleaseSpec) -> None:
    """The first attempts at half the budget were lucky; fresh ones are hardly ever accepted. Those that judge have a chance of
    their own: the law is that of the others, the statement is about these."""

    def world(generation: Fraction, c: int, number: int) -> float:
        if generation == 2:
            return 0.9 if number < CHOOSING else 0.02
        return 0.05 if generation < 3 else 0.5 if number >= JUDGING else 0.8

    runs = Runs(world)
    found = advised(coins, runs, ("1/2", "3/4"))
    offers = {each.generation: each for each in found.offers}
    assert found.chosen is not None
    assert found.chosen.generation == 3
    assert offers[Fraction(2)].anew
    assert offers[Fraction(2)].chances == (pytest.approx(0.02),)
    assert found.chosen.law == cheapest_law(3.5, 0.05, [0.8], 100)
    assert found.judgement is not None
    assert found.judgement.acceptance == pytest.approx(0.5)
    assert found.judgement.nothing == pytest.approx(float(found.chosen.law.nothing(0.5)))
    assert found.judgement.nothing > 0.05
    assert not found.confirmed
    judging = [asked for asked in runs.asked if asked[2] >= JUDGING]
    assert {generation for generation, _, _ in judging} == {Fraction(3)}
    assert found.judgement.attempts == len(judging) == 12  # half of 6 / 0.5^2: the chances do not differ
    assert len(set(runs.asked)) == len(runs.asked)  # no attempt counts twice


@pytest.mark.slow
def test_chances_that_differ_need_all_attempts_and_looks_are_after_whole_passes(coins: ReleaseSpec) -> None:
    """Candidates that pass for sure or not at all tell as little as coins: the widest interval is planned for them. Six
    configurations are drawn alike in a release, so a quarter of 96 attempts is four passes, and a half eight."""
    aim = replace(AIM, width=0.25)
    for world, wanted in (((lambda generation, c, number: float((c + number) % 2 == 0)), 96), ((lambda *_: 0.6), 24)):
        found = advised(coins, Runs(world), ["1"], aim)
        assert found.judgement is not None
        assert found.judgement.attempts == wanted
        assert found.judgement.acceptance_low < found.judgement.acceptance < found.judgement.acceptance_high


def test_nothing_at_the_lower_end_of_the_interval_where_rounds_share_nothing() -> None:
    law = FiniteLaw.of({1: Fraction(1, 5), 6: Fraction(4, 5)})
    chances = [0.9, 0.7, 0.8, 0.4]
    results = [result(Fraction(1), c, c, chance) for c, chance in enumerate(chances)]
    found, (low, high) = judgement(law, results, Looks(planned=4), shared=False), bounded_mean(chances, 0.965)
    assert (found.acceptance, found.acceptance_low, found.acceptance_high) == (pytest.approx(0.7), low, high)
    assert found.nothing == pytest.approx(0.2 * 0.3 + 0.8 * 0.3**6)
    assert found.nothing_high == pytest.approx(0.2 * (1 - low) + 0.8 * (1 - low) ** 6)
    assert found.rounds == pytest.approx((1 - found.nothing) / 0.7)
    assert (found.attempts, found.fits) == (4, None)


def test_with_a_shared_fit_the_luck_of_fits_is_what_counts() -> None:
    """Two fits, 0.8 and 0.2, two attempts each: the mean over fits of Pr[nothing], an interval over fits."""
    law = FiniteLaw.of({1: Fraction(1, 5), 6: Fraction(4, 5)})
    results = [result(Fraction(1), c, fit, chance) for fit, chances in enumerate([(0.9, 0.7), (0.1, 0.3)])
               for c, chance in enumerate(chances)]  # fmt: skip
    found = judgement(law, results, Looks(planned=2), shared=True)
    ends = [0.2 * 0.2 + 0.8 * 0.2**6, 0.2 * 0.8 + 0.8 * 0.8**6]
    assert found.nothing == pytest.approx(sum(ends) / 2)
    assert found.nothing_high == pytest.approx(bounded_mean(ends, 0.965)[1])
    assert found.acceptance == pytest.approx(0.5)
    assert (found.attempts, found.fits) == (4, 2)


@pytest.mark.slow
def test_unlucky_fits_are_a_part_of_nothing_that_no_law_removes(shared: ReleaseSpec) -> None:
    """With shared measurements: at small budgets a quarter of the fits pass nothing, so more has to be measured."""
    assert shares_luck(shared)

    def world(generation: Fraction, c: int, number: int) -> float:
        return 0.0 if number % 4 == 0 and generation < 3 else 0.9

    found = advised(shared, Runs(world), ("1/4", "1/2", "3/4"))
    offers = {each.generation: each for each in found.offers}
    assert offers[Fraction(1)].law is None
    assert offers[Fraction(2)].law is None
    assert found.chosen is not None
    assert found.chosen.generation == 3
    assert found.judgement is not None
    assert found.judgement.fits == 6  # 24 attempts, four with each fit
    assert found.chosen.law is not None
    after = sum(charge.epsilon for charge in shared.plan.after)
    assert found.chosen.total == 3 + found.chosen.law.price(Fraction(1, 2)) + after


@pytest.mark.slow
def test_without_time_the_advice_says_that_it_is_not_confirmed(coins: ReleaseSpec) -> None:
    found = advised(coins, Runs(lambda generation, c, number: rising(generation), most=3 * 36 + 10), ["1/2"])
    assert found.chosen is not None
    assert not found.chosen.anew
    assert found.judgement is None


def test_no_law_is_offered_where_rounds_pass_too_seldom(coins: ReleaseSpec) -> None:
    found = advised(coins, Runs(lambda generation, c, number: 0.09), ["1/2", "1"])
    assert found.chosen is None
    assert {each.total for each in found.offers} == {None}
    assert cheapest_offer(found.offers) is None


def test_nothing_is_advised_without_a_shortlist_or_without_a_pure_guarantee(coins: ReleaseSpec) -> None:
    runs = Runs(lambda generation, c, number: 0.9)
    assert propose(coins, (), {}, AIM, runs) is None
    approximate = replace(
        coins.with_budget(generation_delta=Fraction(1, 10**9), delta=Fraction(1, 10**3)),
        selection_rule=SelectionRule(stop_probability=Fraction(1, 2)),
    )
    assert one_round(approximate, Fraction(4)) is None
    assert propose(approximate, SHORTLIST, {}, AIM, runs) is None
    assert not runs.asked


def test_fresh_attempts_are_of_different_configurations_with_each_fit_and_of_all_in_turn() -> None:
    pairs = fresh_attempts(SHORTLIST, CHOOSING, 24)
    assert len(pairs) == len(set(pairs)) == 24
    fits = [{c for c, number in pairs if number == CHOOSING + fit} for fit in range(6)]
    assert {len(fit) for fit in fits} == {PER_FIT}
    assert {sum(c == wanted for c, _ in pairs) for wanted in SHORTLIST} == {4}
    assert fresh_attempts((5,), JUDGING, 3) == [(5, JUDGING), (5, JUDGING + 1), (5, JUDGING + 2)]
