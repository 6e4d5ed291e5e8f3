"""The sentence for a member of the population: by enumeration of all samples, exact, and the printed table."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from synthrelease.privacy.plan import Loss, of_the_population
from tests.privacy.test_pieces import clamped
from tests.reproduction.tables import largest_share, printed_bound, tight_bound

TINY = Fraction(1, 10**8)


def law(population: tuple[int, ...], sampled: int, bases: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Noisy counts of ones in one uniform subset, one count with each base: geometric noise, clamped to the sample."""
    found: Counter[tuple[int, ...]] = Counter()
    ways = math.comb(len(population), sampled)
    for subset in combinations(population, sampled):
        answers: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for base in bases:
            noisy = clamped(sum(subset), sampled, base)
            answers = {(*key, a): p * noisy[a] for key, p in answers.items() for a in range(sampled + 1)}
        for answer, probability in answers.items():
            found[answer] += probability / ways
    return found


def worst(size: int, sampled: int, bases: tuple[int, ...]) -> Fraction:
    """The largest e^loss over all neighbouring populations of zeros and ones."""
    laws = [law((1,) * ones + (0,) * (size - ones), sampled, bases) for ones in range(size + 1)]
    pairs = [pair for both in zip(laws, laws[1:], strict=False) for pair in (both, both[::-1])]
    return max(one[answer] / other[answer] for one, other in pairs for answer in one)


@pytest.mark.parametrize(("size", "sampled"), [(4, 1), (4, 2), (5, 2), (6, 3), (5, 4), (4, 4)])
@pytest.mark.parametrize("base", [2, 5])
def test_the_bound_is_attained_by_noisy_counts(size: int, sampled: int, base: int) -> None:
    """e^loss = 1 + beta (E - 1), exactly; what is stated is that, rounded up."""
    assert worst(size, sampled, (base,)) == 1 + Fraction(sampled, size) * (base - 1)
    whole = Fraction(math.log(base)) + Fraction(1, 10**12)
    stated = of_the_population(Loss(whole, Fraction(0)), sampled, size).epsilon
    assert 0 <= stated - Fraction(math.log(1 + sampled / size * (base - 1))) < TINY


def test_the_sum_is_amplified_and_never_each_part() -> None:
    """A known fault: two answers from one secret sample lose more than twice what one loses to a member of the population."""
    both, one = worst(4, 1, (4, 4)), worst(4, 1, (4,))
    assert one**2 < both <= 1 + Fraction(1, 4) * (16 - 1)


def test_strata_whose_sizes_depend_on_values_do_not_amplify() -> None:
    """Why one design alone is allowed: half of a stratum is drawn, rounded up, so a single record decides how many are."""

    def stratified(population: tuple[int, ...]) -> list[Fraction]:
        return clamped(-(-sum(population) // 2), 3, 4)

    left, right = stratified((1, 1, 1, 0)), stratified((1, 1, 0, 0))
    loss = max(one / other for one, other in zip(left, right, strict=True))
    assert loss == 4 > 1 + Fraction(1, 2) * (4 - 1)


@pytest.mark.parametrize("sampled", [0, 11])
def test_a_sample_has_some_records_and_no_more_than_there_are(sampled: int) -> None:
    with pytest.raises(ValueError, match="simple random sample"):
        of_the_population(Loss(Fraction(1), Fraction(0)), sampled, 10)


def test_never_more_than_the_guarantee_and_deltas_shrink() -> None:
    loss = Loss(Fraction(3), Fraction(1, 10**6))
    assert of_the_population(loss, 10, 10) == loss
    tenth = of_the_population(loss, 1, 10)
    assert tenth.delta == Fraction(1, 10**7)
    assert tenth.epsilon < loss.epsilon
    assert of_the_population(Loss(Fraction(2000), Fraction(0)), 1, 10).epsilon == 2000  # stands as it is: never too little
    tiny = of_the_population(Loss(Fraction(1, 10**12), Fraction(0)), 1, 10).epsilon
    assert 0 < tiny <= Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("epsilon", "printed", "tight"),
    [("0.1", 0.1158, 0.0105), ("0.5", 0.17, 0.0629), ("1", 0.26, 0.1586), ("2", 0.60, 0.4940), ("5", 2.86, 2.7563),
     ("10", 7.80, 7.6978)],
)  # fmt: skip
def test_the_printed_table_and_its_tight_values(epsilon: str, printed: float, tight: float) -> None:
    """Merrill 2021, Table 5.1, at a tenth. At 0.1 nothing is printed: the bound there is above epsilon itself."""
    found = printed_bound(Fraction(epsilon), Fraction(1, 10))
    assert found == pytest.approx(printed, abs=0.0051 if printed != 0.1158 else 0.00005)
    share = Fraction(largest_share(Fraction(epsilon)))  # up to which the printed bound is below epsilon
    assert printed_bound(Fraction(epsilon), share) == pytest.approx(float(epsilon))
    assert float(tight_bound(Fraction(epsilon), Fraction(1, 10))) == pytest.approx(tight, abs=0.00005)
