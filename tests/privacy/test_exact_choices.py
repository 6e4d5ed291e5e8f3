"""Private choices have exactly their law: enumerated over every integer that is drawn, and against diffprivlib's.

The reference is the definition: exp(-x) in 60 digits, sums over all orders.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pytest
from scipy import stats

from synthrelease.privacy import noise as exact_choices
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.noise import SYSTEM, SystemEntropy, choose, heads, heads_of_one
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy

MECHANISMS = ("permute_and_flip", "exponential")
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


# --- The stated laws


def powers(scores: Sequence[int], rate: Fraction) -> list[Decimal]:
    """exp(rate (score - best)) with 60 digits."""
    with localcontext(prec=60):
        exponents = [rate * (score - max(scores)) for score in scores]
        return [(Decimal(x.numerator) / Decimal(x.denominator)).exp() for x in exponents]


def law_of(mechanism: str, scores: Sequence[int], rate: Fraction) -> list[Decimal]:
    weights = powers(scores, rate)
    with localcontext(prec=60):
        if mechanism == "exponential":
            total = sum(weights)
            return [weight / total for weight in weights]
        law = [Decimal(0)] * len(scores)
        for order in permutations(range(len(scores))):
            left = Decimal(1) / math.factorial(len(scores))
            for index in order:
                law[index] += left * weights[index]
                left *= 1 - weights[index]
        return law


# --- Every integer that is drawn, enumerated


class Undecided(Exception):
    """The code asks for an integer that the script does not hold; its possible values with their probabilities."""

    def __init__(self, branches: list[tuple[int, Fraction]]):
        self.branches = branches


class NextProposal(Exception):
    """The code has rejected a candidate and proposes another."""


class Scripted(SystemEntropy):
    """Draws what a script says."""

    def __init__(self, script: Sequence[int], proposals: int | None):
        self._script, self._proposals = list(script), proposals

    def pick(self, n_choices: int) -> int:
        if self._script:
            return self._script.pop(0)
        raise Undecided([(value, Fraction(1, n_choices)) for value in range(n_choices)])

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        (bound,) = np.asarray(bounds).tolist()
        if bound == exact_choices._FACTORIAL:
            return np.array([self._script.pop(0)]) if self._script else _first_of_each_interval()
        if self._proposals is not None:
            if not self._proposals:
                raise NextProposal
            self._proposals -= 1
        return np.array([self.pick(bound)])


def _first_of_each_interval() -> np.ndarray:
    """Between two thresholds 20!/k! all integers are treated alike (the test of the coin below says where they change)."""
    ends = [0, *(math.factorial(20) // math.factorial(k) for k in range(20, 0, -1))]
    raise Undecided([(start, Fraction(stop - start, ends[-1])) for start, stop in zip(ends, ends[1:], strict=False)])


def enumerated(
    code: Callable[[Scripted], object], proposals: int | None, smallest: Fraction
) -> tuple[dict[object, Fraction], Fraction]:
    """The exact probability of every outcome of `code`, and of what was not followed: paths rarer than `smallest`."""
    law: dict[object, Fraction] = defaultdict(Fraction)
    unknown, paths = Fraction(0), [((), Fraction(1))]
    while paths:
        script, probability = paths.pop()
        if probability < smallest:
            unknown += probability
            continue
        try:
            law[code(Scripted(script, proposals))] += probability
        except NextProposal:
            law["again"] += probability
        except Undecided as undecided:
            paths += [((*script, value), probability * chance) for value, chance in undecided.branches]
    return dict(law), unknown


def alternating(x: Fraction) -> tuple[Fraction, Fraction]:
    """exp(-x) between two fractions, for 0 <= x <= 1."""
    terms = [(-x) ** k / math.factorial(k) for k in range(26)]
    return min(sum(terms), sum(terms[:-1])), max(sum(terms), sum(terms[:-1]))


@pytest.mark.slow
@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(2, 3), Fraction(1, 7), Fraction(3, 4), Fraction(1)])
def test_a_coin_of_a_fraction_is_exact(x: Fraction) -> None:
    law, unknown = enumerated(lambda entropy: heads(x.numerator, x.denominator, entropy), None, Fraction(1, 10**9))
    low, high = alternating(x)
    assert law[True] <= high
    assert low <= law[True] + unknown
    assert sum(law.values()) + unknown == 1
    assert unknown < Fraction(1, 10**4)


def test_many_coins_of_one_are_decided_at_exactly_the_right_integers() -> None:
    """Pr[heads] = sum (-1)^k / k!: of the integers below 20! exactly those where an odd number of coins were tossed."""
    whole = math.factorial(20)

    class Given(SystemEntropy):
        def picks(self, bounds: np.ndarray) -> np.ndarray:
            assert set(bounds.tolist()) == {whole}
            return np.array(values)

        def pick(self, n_choices: int) -> int:
            asked.append(n_choices)
            return 0 if n_choices < 23 else 5

    asked: list[int] = []
    ends = [whole // math.factorial(k) for k in range(1, 21)]  # below ends[k - 1]: the first k coins show heads
    assert all(whole % math.factorial(k) == 0 for k in range(1, 21))
    values = [value for end in ends for value in (end - 1, end) if value < whole]
    found = dict(zip(values, heads_of_one(len(values), Given()).tolist(), strict=True))
    total = 0
    for k, (start, stop) in enumerate(zip(ends[1:], ends[:-1], strict=True), start=1):  # k shown heads, the next tails
        odd = (k + 1) % 2 == 1
        assert found[start] is odd
        assert found[stop - 1] is odd
        total += odd * (stop - start)
    low, high = alternating(Fraction(1))
    assert Fraction(total, whole) <= high
    assert low <= Fraction(total + 1, whole)
    assert asked == [21, 22, 23]  # only for 0: twice more heads, then tails at the 23rd toss, which is odd
    assert found[0] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ((0, -1), Fraction(1, 2)),
        ((3, 1, 2), Fraction(1, 3)),
        ((0, -3, -1), Fraction(2, 3)),
        ((7, 7), Fraction(5)),
        ((-4, 0), Fraction(1, 2)),
    ],
)
@each_mechanism
def test_a_choice_has_exactly_its_law(
    mechanism: str, scores: tuple[int, ...], rate: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates one at a time; the exponential mechanism starts afresh after a rejection, so one proposal tells its law."""
    monkeypatch.setattr(exact_choices, "_FIRST_BATCH", 1)
    monkeypatch.setattr(exact_choices, "_LARGEST_BATCH", 1)

    def once(entropy: Scripted) -> int:
        return choose(scores, sensitivity=3, epsilon=6 * rate, mechanism=mechanism, entropy=entropy)

    law, unknown = enumerated(once, 1 if mechanism == "exponential" else None, Fraction(1, 10**7))
    again = law.pop("again", Fraction(0))
    assert unknown < Fraction(1, 1000)
    weights = powers(scores, rate)
    for index, stated in enumerate(law_of(mechanism, scores, rate)):
        exact = Fraction(weights[index]) / len(scores) if mechanism == "exponential" else Fraction(stated)
        found = law.get(index, Fraction(0))
        assert found <= exact + Fraction(1, 10**50)
        assert exact <= found + unknown + Fraction(1, 10**50)
    assert sum(law.values()) + again + unknown == 1


@each_mechanism
def test_the_rate_of_a_choice_is_the_exact_fraction(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that no double holds reach the coins as they are."""
    rates: list[Fraction] = []

    class Recorder(exact_choices.Losses):
        def __init__(self, losses: Sequence[int], rate: Fraction):
            rates.append(rate)
            super().__init__(losses, rate)

    monkeypatch.setattr(randomness, "Losses", Recorder)
    given = [Fraction(numerator, 1001) for numerator in range(1, 50)]
    for epsilon in given:
        choose([0, 1], sensitivity=3, epsilon=epsilon, mechanism=mechanism)
    assert rates == [epsilon / 6 for epsilon in given]


# --- Samples of whole batches


CASES = {
    "three": ([0, 3, 5], Fraction(1, 8)),
    "far apart": ([0, -20], Fraction(1, 10)),
    "a tie and a straggler": ([5, 5, 5, -1], Fraction(1, 4)),
    "far from zero, a rate no double holds": ([10**30, 10**30 - 10**18, 10**30 - 3 * 10**18], Fraction(1, 10**18 + 1)),
    "five": ([0, -1, -2, -3, -4], Fraction(1, 2)),
    "many hopeless ones": ([0, -1, *[-100] * 300], Fraction(1)),
}
LEVEL = 1e-6 / (2 * len(CASES) * len(MECHANISMS))
"""Bonferroni: a right sampler fails one of all these tests once in a million runs."""
MISSED = 1e-6


def weights_of(mechanism: str, case: str, factor: Fraction = Fraction(1)) -> np.ndarray:
    """The law among the candidates that are not hopeless, at a rate that is so many times that of the case."""
    scores, rate = CASES[case]
    law = np.array([float(p) for p in law_of(mechanism, [score for score in scores if score != -100], rate * factor)])
    return np.asarray(law / law.sum())


def draws_that_tell(law: np.ndarray, wrong: np.ndarray) -> int:
    """So many that draws of a law are found not to be those of another, but for one time in 1 / MISSED.

    By the noncentral law of the statistic, whose parameter is draws x sum (p - q)^2 / q.
    """
    most, apart = stats.chi2.isf(LEVEL, len(law) - 1), float(((law - wrong) ** 2 / wrong).sum())
    return next(n for n in count(1000, 500) if stats.ncx2.cdf(most, len(law) - 1, n * apart) < MISSED)


def too_large(case: str) -> Fraction:
    """A rate in parts of the right one. That it is the exact fraction of the parameters is tested above, without draws."""
    return Fraction(13, 10) if case == "three" else Fraction(3, 2)


def draws_of(mechanism: str, case: str) -> int:
    """A rate that is `too_large` is found; where most are hopeless, each of them would be by a share of 1 in 100."""
    if len(CASES[case][0]) > 10:
        return math.ceil(math.log(MISSED) / math.log(1 - 1 / 100))
    return draws_that_tell(weights_of(mechanism, case), weights_of(mechanism, case, too_large(case)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "entropy"), [*((case, SYSTEM) for case in CASES), ("five", SeededEntropy(11))], ids=[*CASES, "five, seeded"]
)
@each_mechanism
def test_choices_follow_their_law(mechanism: str, case: str, entropy: SystemEntropy) -> None:
    (scores, rate), draws = CASES[case], draws_of(mechanism, case)
    found = Counter(choose(scores, sensitivity=1, epsilon=2 * rate, mechanism=mechanism, entropy=entropy) for _ in range(draws))
    hopeless = [index for index, score in enumerate(scores) if score == -100]
    assert not any(found[index] for index in hopeless)
    observed = [found[index] for index in range(len(scores)) if index not in hopeless]
    assert stats.chisquare(observed, draws * weights_of(mechanism, case)).pvalue > LEVEL
    if not hopeless:
        assert stats.chisquare(observed, draws * weights_of(mechanism, case, too_large(case))).pvalue < LEVEL


def test_the_two_mechanisms_are_not_the_same() -> None:
    """Their laws differ by more than the test above allows: it would notice one in place of the other."""
    laws = {mechanism: weights_of(mechanism, "three") for mechanism in MECHANISMS}
    for mechanism, other in permutations(MECHANISMS):
        assert draws_that_tell(laws[mechanism], laws[other]) <= draws_of(mechanism, "three")


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case != "many hopeless ones"])
def test_diffprivlib_has_the_same_laws_but_for_rounding(case: str) -> None:
    """An independent implementation: the exponential mechanism's probabilities, and samples of permute-and-flip."""
    library = pytest.importorskip("diffprivlib.mechanisms", reason="needs the extra audit")

    scores, rate = CASES[case]
    utility = [float(score - max(scores)) for score in scores]
    theirs = library.Exponential(epsilon=float(2 * rate), sensitivity=1.0, utility=utility)
    law = [float(p) for p in law_of("exponential", scores, rate)]
    assert np.diff(theirs._probabilities, prepend=0) == pytest.approx(law, rel=1e-12)
    flipper = library.PermuteAndFlip(epsilon=float(2 * rate), sensitivity=1.0, utility=utility)
    found = Counter(int(flipper.randomise()) for _ in range(6000))
    law = [float(p) for p in law_of("permute_and_flip", scores, rate)]
    assert stats.chisquare([found[i] for i in range(len(scores))], 6000 * np.array(law)).pvalue > LEVEL


# --- Why: what doubles do to a choice


def grid_law(scores: Sequence[int], epsilon: float) -> list[int]:
    """How many of the 2^53 doubles that diffprivlib may draw lead to each candidate: the first whose sum is not below it."""
    library = pytest.importorskip("diffprivlib.mechanisms", reason="needs the extra audit")

    best = max(scores)
    theirs = library.Exponential(epsilon=epsilon, sensitivity=1.0, utility=[float(score - best) for score in scores])
    sums = theirs._probabilities
    reached = np.minimum(np.floor(sums * 2.0**53).astype(np.int64) + 1, 2**53)  # doubles j 2^-53 <= sum
    return np.diff(reached, prepend=0).tolist()


@pytest.mark.slow
def test_a_choice_by_doubles_costs_more_than_it_says_and_makes_candidates_impossible() -> None:
    """4,096 candidates, neighbouring scores: a ratio above e^epsilon, and an outcome that the neighbour cannot have at all.

    The exact law of the same choice keeps within e^epsilon, and gives every candidate a probability.
    """
    epsilon, generator = Fraction(1, 10), np.random.default_rng(0)
    left = (-generator.integers(0, 700, 4096)).tolist()
    right = [score + int(step) for score, step in zip(left, generator.choice([-1, 1], 4096), strict=True)]
    with localcontext(prec=60):
        claim = Decimal("0.1").exp()
    laws = grid_law(left, 0.1), grid_law(right, 0.1)
    both = [(a, b) for a, b in zip(*laws, strict=True) if a and b]
    assert max(Decimal(max(a, b)) / Decimal(min(a, b)) for a, b in both) > claim * (1 + Decimal("4e-13"))
    exact = [law_of("exponential", scores, epsilon / 2) for scores in (left, right)]
    assert all(min(a, b) > 0 and max(a, b) <= claim * min(a, b) for a, b in zip(*exact, strict=True))
    far, near = grid_law([0, -735], 0.1), grid_law([0, -734], 0.1)
    assert (far[1] == 0) != (near[1] == 0)


class Lucky(SystemEntropy):
    """Proposes the last candidate, and tosses heads alone."""

    def pick(self, n_choices: int) -> int:
        return n_choices - 1

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        coins = bounds == math.factorial(20)
        return np.where(coins, math.factorial(20) // 6, bounds - 1)  # two heads, then tails: an odd number of tosses


@each_mechanism
def test_no_candidate_is_impossible(mechanism: str) -> None:
    """One of probability e^-2000 is chosen when the integers say so; no double is as small."""
    assert choose([0, -4000], sensitivity=1, epsilon=Fraction(1), mechanism=mechanism, entropy=Lucky()) == 1


# --- Integers


@pytest.mark.parametrize("bound", [1, 3, 2**40, 10**18 + 9, math.factorial(20), 2**63 - 1])
def test_uniform_integers_are_exact(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words beyond the largest multiple of a bound are drawn again; all below it count equally."""
    multiple = 2**64 // bound * bound
    tried = [word for word in (0, bound - 1, bound, multiple - 1, multiple, 2**64 - 1) if word < 2**64]
    words, again = iter([*tried, *range(100)]), iter(range(100))
    monkeypatch.setattr(
        randomness.secrets, "token_bytes", lambda size: b"".join(next(words).to_bytes(8, "little") for _ in range(size // 8))
    )
    found = SystemEntropy().picks(np.full(len(tried), bound, dtype=np.int64)).tolist()
    assert found == [(word if word < multiple else next(again)) % bound for word in tried]


@pytest.mark.parametrize("entropy", [SYSTEM, SeededEntropy(5)], ids=["system", "seeded"])
def test_uniform_integers_are_uniform(entropy: SystemEntropy) -> None:
    drawn = entropy.picks(np.tile(np.array([6, 10]), 20_000)).reshape(-1, 2)
    for column, bound in enumerate((6, 10)):
        assert stats.chisquare(np.bincount(drawn[:, column], minlength=bound)).pvalue > 1e-6
    large = [entropy.pick(3 * 2**70) >> 70 for _ in range(3000)]
    assert stats.chisquare(np.bincount(large, minlength=3)).pvalue > 1e-6


def test_draws_do_not_repeat_and_seeded_ones_do() -> None:
    bounds = np.full(8, 2**62)
    assert SYSTEM.picks(bounds).tolist() != SYSTEM.picks(bounds).tolist()
    assert SeededEntropy(1, 2).picks(bounds).tolist() == SeededEntropy(1, 2).picks(bounds).tolist()
    assert SeededEntropy(1, 2).pick(2**90) == SeededEntropy(1, 2).pick(2**90)
    assert NoNoise().picks(bounds).tolist() != NoNoise().picks(bounds).tolist()


@pytest.mark.parametrize(
    "wrong", [{"scores": []}, {"scores": [0.5, 1]}, {"sensitivity": 0}, {"epsilon": Fraction(0)}, {"epsilon": Fraction(-1)}]
)
def test_what_is_no_choice_is_refused(wrong: dict[str, object]) -> None:
    given = {"scores": [0, 1], "sensitivity": 1, "epsilon": Fraction(1), **wrong}
    with pytest.raises((ValueError, TypeError)):
        choose(given.pop("scores"), mechanism="exponential", **given)  # type: ignore[arg-type]


@each_mechanism
def test_thousands_of_hopeless_candidates_are_soon_rejected(mechanism: str) -> None:
    """One candidate of 4,096 has a chance. Fewer than 20,000 integers are drawn; one by one each takes a microsecond or two."""
    counted = []

    class Counting(SystemEntropy):
        def picks(self, bounds: np.ndarray) -> np.ndarray:
            counted.append(len(bounds))
            return super().picks(bounds)

        def pick(self, n_choices: int) -> int:
            counted.append(1)
            return super().pick(n_choices)

    scores = [-(10**6)] * 4096
    scores[1234] = 0
    sums = []
    for _ in range(20):
        counted.clear()
        assert choose(scores, sensitivity=1, epsilon=Fraction(1), mechanism=mechanism, entropy=Counting()) == 1234
        sums.append(sum(counted))
    assert np.mean(sums) < 30_000
