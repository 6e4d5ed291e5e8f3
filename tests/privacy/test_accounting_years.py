"""What a person pays over years: against every way to have the records, and against the law of tiny releases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import pytest

from synthrelease.privacy.plan import Horizon, Loss, loss_of_group, over_years


def ways(years: int, in_year: int, in_all: int) -> list[tuple[int, ...]]:
    """Every way in which a person can have the records."""
    return [each for each in product(range(in_year + 1), repeat=years) if sum(each) <= in_all]


@pytest.mark.parametrize("in_year", [1, 2, 3])
@pytest.mark.parametrize("in_all", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("epsilons", [("1", "1", "1"), ("1/2", "2", "3/10"), ("0", "1", "0")])
def test_epsilon_is_that_of_the_worst_way_to_have_the_records(in_year: int, in_all: int, epsilons: tuple[str, ...]) -> None:
    paid = [Loss(Fraction(each), Fraction(0)) for each in epsilons]
    worst = max(
        sum((records * loss.epsilon for records, loss in zip(way, paid, strict=True)), Fraction(0))
        for way in ways(len(paid), in_year, in_all)
    )
    assert over_years(paid, in_year, in_all) == (worst, 0)


@pytest.mark.parametrize(("in_year", "in_all"), [(1, 1), (1, 3), (2, 3), (3, 4)])
@pytest.mark.parametrize("deltas", [("1e-9", "1e-9", "1e-9"), ("1e-9", "0", "1e-8")])
def test_delta_is_at_least_that_of_the_worst_way(in_year: int, in_all: int, deltas: tuple[str, ...]) -> None:
    paid = [Loss(Fraction(epsilon), Fraction(delta)) for epsilon, delta in zip(("1/2", "2", "1"), deltas, strict=True)]
    found = over_years(paid, in_year, in_all)
    assert found is not None
    for way in ways(len(paid), in_year, in_all):
        losses = [loss_of_group(*loss, records) for records, loss in zip(way, paid, strict=True) if records]
        assert sum((loss.delta for loss in losses if loss is not None), Fraction(0)) <= found.delta
    same = over_years([paid[1]] * 3, in_year, in_all)  # as dear as the dearest in all years
    assert same is None or same.delta >= 0
    assert over_years([Loss(Fraction(1), Fraction(1, 2))] * 3, 1, 3) is None


def test_a_delta_that_grows_beyond_all_numbers_promises_nothing() -> None:
    """e^(k - 1) epsilon need not be computed for that; where it is not yet 1 it is exact."""
    large = Fraction(10**199)
    assert over_years([Loss(large, 1 / large)], 2, 2) is None
    once = over_years([Loss(large, 1 / large)] * 2, 1, 2)
    assert once is not None
    assert (once.epsilon, float(once.delta * large)) == (2 * large, pytest.approx(2, rel=1e-5))
    for delta in (Fraction(1, 2**40), Fraction(3, 2**41)):
        for tenths in range(260, 300):
            exponent = Fraction(tenths, 10)
            found = loss_of_group(exponent, delta, 2)
            assert (found is None) == (2 * math.exp(exponent) * delta >= 1)


@pytest.mark.parametrize("fallbacks", [0, 1, 2, 3])
@pytest.mark.parametrize(("in_year", "in_all"), [(1, 1), (1, 2), (2, 3), (2, 6)])
def test_a_promise_covers_second_releases_in_whatever_years_they_come(fallbacks: int, in_year: int, in_all: int) -> None:
    epsilons = tuple(map(Fraction, ("17/20", "1/2", "1/4")))
    plan = Horizon(
        first=2019,
        epsilons=epsilons,
        in_year=in_year,
        in_all=in_all,
        fallbacks=fallbacks,
        fallback_epsilon=Fraction(3, 4) if fallbacks else Fraction(0),
    )
    worst = max(
        sum(
            (k * (e + plan.fallback_epsilon * (t in again)) for t, (k, e) in enumerate(zip(way, epsilons, strict=True))),
            Fraction(0),
        )
        for way in ways(3, in_year, in_all)
        for again in combinations(range(3), fallbacks)
    )
    assert plan.promise == (worst, 0)
    assert list(plan.years) == [2019, 2020, 2021]


@pytest.mark.parametrize(("in_year", "in_all"), [(1, 1), (1, 2), (2, 2), (2, 3), (2, 4)])
def test_no_output_of_tiny_releases_tells_more_of_a_person_than_is_promised(in_year: int, in_all: int) -> None:
    """Two years of two records, each answered by randomised response with odds of e^epsilon; the second year's odds depend on
    what the first one published. Every pair of histories that differ in a person's records, every output, exactly."""
    odds = {0: (Fraction(3), Fraction(3)), 1: (Fraction(2), Fraction(2))}  # e^epsilon of year 2, by the first answer of year 1

    def chance(answer: int, value: int, likely: Fraction) -> Fraction:
        return (likely if answer == value else 1) / (likely + 1)

    def law(history: tuple[int, ...], output: tuple[int, ...]) -> Fraction:
        first = [chance(output[place], history[place], Fraction(4)) for place in (0, 1)]
        later = odds[output[0]]
        second = [chance(output[2 + place], history[2 + place], later[place]) for place in (0, 1)]
        return first[0] * first[1] * second[0] * second[1]

    worst = Fraction(1)
    for way in ways(2, in_year, in_all):
        changed = [0, 1][: way[0]] + [2, 3][: way[1]]
        for history in product((0, 1), repeat=4):
            other = tuple(1 - value if place in changed else value for place, value in enumerate(history))
            for output in product((0, 1), repeat=4):
                worst = max(worst, law(history, output) / law(other, output))
    # with epsilons as exponents of 2 and 3: log 4 in the first year, log 3 in the second at most
    whole = {(1, 1): 4, (1, 2): 4 * 3, (2, 2): 4 * 4, (2, 3): 4 * 4 * 3, (2, 4): 4 * 4 * 3 * 3}[in_year, in_all]
    promised = over_years([Loss(Fraction(4), Fraction(0)), Loss(Fraction(3), Fraction(0))], in_year, in_all)
    assert promised is not None
    assert worst == whole
    assert promised.epsilon == {(1, 1): 4, (1, 2): 7, (2, 2): 8, (2, 3): 11, (2, 4): 14}[in_year, in_all]
