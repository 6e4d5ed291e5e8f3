"""Compute the distribution of the selection's output exactly, for all pairs of small finite rounds (theory 2.1, known
threshold, pure).

A round gives one of a few outputs, or is rejected, with probabilities that are multiples of 1/N. A pair of rounds is
eps1-DP if all these probabilities differ by at most a factor e^eps1. For every such pair and every stop probability gamma,
the largest ratio of the two distributions of the output is compared with the claim:

- for any gamma, the claim is 2 eps1;
- for gamma above 0, and for a hidden number of rounds with finitely many values, the claim is the cost that
  `privacy.selection` charges for this distribution of the number of rounds (theory 2b.1, price).

tests/studio/audit/test_selection_law.py compares this distribution with the code of `selection.select`, path by path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.privacy.curves import exp_up
from synthrelease.privacy.selection import FiniteLaw, StopCoin, StoppingLaw

STOPS = (Fraction(0), Fraction(1, 1000), Fraction(1, 50), Fraction(1, 10), Fraction(1, 2), Fraction(1))
RATIOS = (Fraction(5, 4), Fraction(2), Fraction(4))
"""Values of e^eps1 for rounds that are eps1-DP."""

HIDDEN = tuple(
    FiniteLaw.of({rounds: Fraction(share) for rounds, share in law.items()})
    for law in (
        {1: "1"},
        {3: "1"},
        {1: "0.182", 6: "0.47", 7: "0.348"},
        {1: "0.5", 2: "0.5"},
        {1: "0.1", 10: "0.4", 11: "0.5"},
        {1: "0.9", 30: "0.1"},
        {2: "0.3", 5: "0.7"},
        {1: "0.25", 2: "0.25", 3: "0.25", 4: "0.25"},
    )
)
"""Distributions of a hidden number of rounds: the distribution in configs/births.toml, and other distributions."""


@dataclass(frozen=True, kw_only=True)
class LoopLaw:
    """The distribution of the result of a search for an accepted table.

    Attributes
    ----------
    nothing : the probability that the search ended with "nothing".
    undecided : the probability that the search has not ended after the last round.
    """

    outputs: tuple[Fraction, ...]
    nothing: Fraction
    undecided: Fraction


def loop_law(accepted: Sequence[Fraction], stop_probability: Fraction, rounds: int | None) -> LoopLaw:
    """Return the distribution of the result of a search that, after every rejected round, ends with the stop probability.

    Parameters
    ----------
    accepted : the probability that a round gives each output. Otherwise the round is rejected.
    rounds : largest number of rounds, or None for no limit, for which acceptance or the stop coin must have a positive
        probability.
    """
    acceptance = sum(accepted, Fraction(0))
    again = (1 - acceptance) * (1 - stop_probability)
    undecided = Fraction(0) if rounds is None else again**rounds
    if again == 1 and rounds is None:
        raise ValueError("a loop that can neither accept a table nor stop has no distribution of results")
    visits = Fraction(rounds or 0) if again == 1 else (1 - undecided) / (1 - again)
    return LoopLaw(
        outputs=tuple(probability * visits for probability in accepted),
        nothing=(1 - acceptance) * stop_probability * visits,
        undecided=undecided,
    )


def hidden_law(accepted: Sequence[Fraction], law: FiniteLaw) -> LoopLaw:
    """Return the distribution of the first accepted table, or "nothing", with a hidden random number of rounds."""
    acceptance = sum(accepted, Fraction(0))
    nothing = law.nothing(1 - acceptance)
    visits = (1 - nothing) / acceptance if acceptance else Fraction(0)
    return LoopLaw(outputs=tuple(probability * visits for probability in accepted), nothing=nothing, undecided=Fraction(0))


@dataclass(frozen=True, kw_only=True)
class FinitePairs:
    """All pairs of eps1-DP rounds on two neighbouring tables in which every output has probabilities that are multiples of
    1/parts.

    `largest[A, B]` is the largest ratio of an output's probabilities among pairs that accept with probabilities A/parts and
    B/parts.
    """

    parts: int
    outputs: int
    ratio: Fraction
    pairs: int
    largest: dict[tuple[int, int], Fraction]

    @classmethod
    def of(cls, parts: int, outputs: int, ratio: Fraction) -> FinitePairs:
        cuts = np.array(list(combinations(range(1, parts), outputs)))
        bounds = np.hstack([np.zeros((len(cuts), 1), int), cuts, np.full((len(cuts), 1), parts)])
        weights = np.diff(bounds, axis=1)  # the last column is the probability of rejection
        above, below = ratio.numerator, ratio.denominator
        worst = np.zeros((parts + 1, parts + 1))
        pairs = 0
        for of_one in weights:
            close = (of_one * below <= weights * above).all(axis=1) & (weights * below <= of_one * above).all(axis=1)
            neighbours = weights[close]
            pairs += len(neighbours)
            ratios = (of_one[:-1] / neighbours[:, :-1]).max(axis=1)
            np.maximum.at(worst, (parts - of_one[-1], parts - neighbours[:, -1]), ratios)
        # fractions with denominators up to `parts` are so far apart that a double determines its fraction
        largest = {(int(a), int(b)): Fraction(worst[a, b]).limit_denominator(parts) for a, b in np.argwhere(worst > 0)}
        return cls(parts=parts, outputs=outputs, ratio=ratio, pairs=pairs, largest=largest)


@dataclass(frozen=True, kw_only=True)
class LawCheck:
    """Whether a search with one rule for repeating its rounds costs at most the claimed epsilon, for one epsilon of a
    round, eps1.

    Attributes
    ----------
    ratio : e^eps1 of a round.
    stop_probability, rounds : the stop probability, or the distribution of a hidden number of rounds. The other one is None.
    claim : the claimed bound, "2 eps1" or "price".
    largest : the largest ratio of the probabilities of a result, over all pairs of rounds.
    pairs, exceeded : the number of pairs of rounds, and the number of groups of pairs above the claim.
    """

    ratio: Fraction
    stop_probability: Fraction | None
    rounds: FiniteLaw | None = None
    claim: str
    allowed: Fraction
    largest: Fraction
    pairs: int
    exceeded: int

    @property
    def share(self) -> float:
        return math.log(self.largest) / math.log(self.allowed)


def check_laws(parts: int, outputs: int) -> Iterator[LawCheck]:
    """Check the claimed cost of every rule for repeating rounds, over all pairs of rounds with `outputs` possible tables.

    The probabilities of a round are multiples of 1/parts.
    """
    for ratio in RATIOS:
        pairs = FinitePairs.of(parts, outputs, ratio)
        for stop in STOPS:
            yield _checked(pairs, stop, "2 eps1", ratio**2)
            if stop:
                yield _checked(pairs, stop, "price", allowed(StopCoin(stop_probability=stop), ratio))
        for law in HIDDEN:
            yield _checked(pairs, law, "price", allowed(law, ratio))


def allowed(law: StoppingLaw, ratio: Fraction) -> Fraction:
    """Return the largest claimed ratio of the probabilities of a result between neighbouring tables: e^price, rounded down.

    For one round, it is e^eps1 = `ratio`; eps1 is rounded up by less than 1e-30.
    """
    with localcontext(Context(prec=50)):
        epsilon = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()) + Fraction(1, 10**32)
    return exp_up(law.price(epsilon)) * (1 - Fraction(1, 10**39))


def _checked(pairs: FinitePairs, rule: Fraction | FiniteLaw, claim: str, allowed: Fraction) -> LawCheck:
    """Check the claimed cost over these pairs; `rule` is a stop probability, or the distribution of a hidden number of
    rounds.
    """
    parts = pairs.parts
    accepted = {a: [Fraction(a, parts)] for a in {key[0] for key in pairs.largest}}
    laws = {
        a: hidden_law(shares, rule) if isinstance(rule, FiniteLaw) else loop_law(shares, rule, None)
        for a, shares in accepted.items()
    }
    worst, exceeded = Fraction(0), 0
    for (a, b), ratio in pairs.largest.items():
        law, neighbour = laws[a], laws[b]
        # the probability of an output is its share of the accepted tables, times one factor for all outputs
        largest = ratio * Fraction(b, a) * law.outputs[0] / neighbour.outputs[0]
        none, none_there = law.nothing + law.undecided, neighbour.nothing + neighbour.undecided
        if none_there:
            largest = max(largest, none / none_there)
        worst = max(worst, largest)
        exceeded += largest > allowed
    return LawCheck(
        ratio=pairs.ratio,
        stop_probability=None if isinstance(rule, FiniteLaw) else rule,
        rounds=rule if isinstance(rule, FiniteLaw) else None,
        claim=claim,
        allowed=allowed,
        largest=worst,
        pairs=pairs.pairs,
        exceeded=exceeded,
    )
