"""Private choices drawn exactly: every probability is the stated one, not a float near it.

A candidate weighs exp(-loss * rate), with an integer loss (how far its score lies below the best) and a rational rate. Its
exponent is a fraction, and a coin that shows heads with probability exp(-p/q) is made of uniform integers alone (Canonne,
Kamath & Steinke 2020, Algorithm 1). So no candidate has probability 0, and no probability is off by a rounding error.

A hopeless candidate costs about two draws: exp(-x) is decided by floor(x) coins of exp(-1), of which the first failure ends it.
These are drawn for many candidates at once. How long a choice takes depends on the scores; times are not published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

_FIRST_BATCH, _LARGEST_BATCH = 16, 2**14
"""Candidates that are looked at together, at first and at most; it doubles between. No bearing on the law."""

_FACTORIAL = math.factorial(20)
"""The largest factorial that 63 bits hold."""

_THRESHOLDS = np.array([_FACTORIAL // math.factorial(k) for k in range(20, 0, -1)], dtype=np.int64)
"""A uniform integer below 20! is below 20!/k! with probability 1/k!, exactly; increasing."""

_MOST = 2**62


class Uniform(Protocol):
    """Where uniform integers come from: `randomness.SystemEntropy`."""

    def pick(self, n_choices: int) -> int:
        """A uniform integer below n_choices, however large that is."""
        ...

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        """(k,) independent uniform integers, each below its bound; bounds (k,) int64, at least 1."""
        ...


class Losses:
    """Candidates with integer losses of at least 0, one of them 0, and the rate at which a loss makes a candidate unlikely.

    Attributes
    ----------
    losses, rate : as given.
    whole : (n_candidates,) floor(loss * rate), or 2^62 where it is more (no coin of exp(-1) shows heads so often).
    """

    def __init__(self, losses: Sequence[int], rate: Fraction):
        self.losses, self.rate = losses, rate
        above, below = rate.numerator, rate.denominator
        if max(losses) * above < _MOST and below < _MOST:
            self.whole = np.asarray(losses, dtype=np.int64) * above // below
        else:
            self.whole = np.array([min(loss * above // below, _MOST) for loss in losses], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.losses)

    def first_taken(self, proposed: np.ndarray, entropy: Uniform) -> int | None:
        """The first of these candidates that is taken, each independently with probability exp(-loss * rate)."""
        for candidate in proposed[all_heads(self.whole[proposed], entropy)].tolist():
            rest = self.losses[candidate] * self.rate.numerator % self.rate.denominator
            if heads(rest, self.rate.denominator, entropy):
                return int(candidate)
        return None


def exponential(losses: Losses, entropy: Uniform) -> int:
    """A candidate with probability proportional to exp(-loss * rate): uniform ones are proposed until one is taken."""
    size = _FIRST_BATCH
    while True:
        taken = losses.first_taken(entropy.picks(np.full(size, len(losses))), entropy)
        if taken is not None:
            return taken
        size = min(2 * size, _LARGEST_BATCH)


def permute_and_flip(losses: Losses, entropy: Uniform) -> int:
    """The first candidate in a uniformly random order (Fisher-Yates, as far as it is needed) that is taken."""
    order, start, size = list(range(len(losses))), 0, _FIRST_BATCH
    while True:
        stop = min(start + size, len(order))
        jumps = entropy.picks(np.arange(len(order) - start, len(order) - stop, -1))
        for place, jump in zip(range(start, stop), jumps.tolist(), strict=True):
            order[place], order[place + jump] = order[place + jump], order[place]
        taken = losses.first_taken(np.array(order[start:stop]), entropy)
        if taken is not None:
            return taken
        if stop == len(order):
            raise ValueError("expected a candidate without a loss, which is always taken, found none")
        start, size = stop, min(2 * size, _LARGEST_BATCH)


def heads(above: int, below: int, entropy: Uniform) -> bool:
    """True with probability exp(-above / below), exactly, for 0 <= above <= below (Algorithm 1 of the paper, first case).

    Coins of probability x, x/2, x/3, ... are tossed until one shows tails: Pr[the first k show heads] = x^k / k!, so an odd one
    is the first with tails with probability 1 - x + x^2/2 - x^3/6 + ... = exp(-x).
    """
    tossed = 1
    while entropy.pick(below * tossed) < above:
        tossed += 1
    return tossed % 2 == 1


def all_heads(times: np.ndarray, entropy: Uniform) -> np.ndarray:
    """(k,) True with probability exp(-times), exactly: so many coins of probability exp(-1), up to the first tails."""
    found = np.ones(len(times), dtype=bool)
    left, tossed = np.flatnonzero(times > 0), 0
    while len(left):
        tossed += 1
        shown = heads_of_one(len(left), entropy)
        found[left[~shown]] = False
        left = left[shown & (times[left] > tossed)]
    return found


def heads_of_one(size: int, entropy: Uniform) -> np.ndarray:
    """(size,) independent coins, each True with probability exp(-1), exactly.

    `heads(1, 1)` from one integer: a uniform one below 20! decides the coins of 1, 1/2, ..., 1/20 at once, since it is below
    20!/k! with probability 1/k!. Only when it is 0 must further coins be tossed.
    """
    drawn = entropy.picks(np.full(size, _FACTORIAL))
    tossed = 21 - np.searchsorted(_THRESHOLDS, drawn, side="right")
    for place in np.flatnonzero(drawn == 0):
        while entropy.pick(int(tossed[place])) == 0:
            tossed[place] += 1
    return tossed % 2 == 1
