"""Prices of laws of the hidden number of rounds, against all pairs of rounds on grids and against random laws.

    python tests/benchmarks/law_prices.py [--parts 160] [--laws 40]

1. All pairs of rounds with two accepted outputs and a rejection whose probabilities are multiples of 1/parts and that are
   eps1-DP: for every law the largest ratio of the two output laws must not be above its price. 10^8 pairs and more.
2. Random laws with up to six values from 1 to 1,000 and random epsilons: the price against the largest ratio on a fine grid of
   acceptance probabilities; it must not be below, and not above by 1e-6 or more.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import numpy as np

from synthrelease.privacy.selection import FiniteLaw, NegativeBinomial, StopCoin, StoppingLaw
from synthrelease.studio.audit.selection_law import HIDDEN, FinitePairs, allowed

RATIOS = (Fraction(5, 4), Fraction(2), Fraction(4), Fraction(16))


def random_law(random: np.random.Generator, most: int) -> FiniteLaw:
    numbers = sorted(
        {int(most ** random.random() + 0.5) for _ in range(random.integers(1, 7))} | ({1} if random.random() < 0.8 else set())
    )
    weights = (random.random(len(numbers)) ** 4 * 10**6).astype(int) + 1
    return FiniteLaw.of({number: Fraction(int(w), int(weights.sum())) for number, w in zip(numbers, weights, strict=True)})


def log_ratios(law: StoppingLaw, accepted: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ln of the ratios of g, per accepted output, and of f, "nothing"; for finite laws to the last digits."""
    if isinstance(law, FiniteLaw):
        numbers, shares = np.array([[k, float(q)] for k, q in law.atoms]).T
        logs, logs_there = (np.log1p(-each)[:, None] * numbers for each in (accepted, others))
        least = numbers.min() * (np.log1p(-accepted) - np.log1p(-others))
        none = [np.exp(each - each.max(axis=1, keepdims=True)) @ shares for each in (logs, logs_there)]
        some = -np.expm1(logs) @ shares, -np.expm1(logs_there) @ shares
        return np.log(some[0] / accepted / (some[1] / others)), least + np.log(none[0] / none[1])
    none_here, none_there = law.nothing(1 - accepted), law.nothing(1 - others)
    return np.log((1 - none_here) / accepted / ((1 - none_there) / others)), np.log(none_here / none_there)


def enumerate_pairs(parts: int, laws: list[StoppingLaw]) -> None:
    print("| e^eps1 | pairs of rounds | laws | above the price | largest epsilon, share of the price: least, largest |")
    print("|---|---|---|---|---|")
    for ratio in RATIOS:
        pairs = FinitePairs.of(parts, 2, ratio)
        keys = np.array(list(pairs.largest)) / parts
        outputs = np.array([float(found) for found in pairs.largest.values()])
        shares, above = [], 0
        for law in laws:
            accepted, nothing = log_ratios(law, keys[:, 0], keys[:, 1])
            worst, most = float(max((np.log(outputs) + accepted).max(), nothing.max())), math.log(allowed(law, ratio))
            above += worst > most + 1e-10
            shares.append(worst / most)
        print(f"| {ratio} | {pairs.pairs:,} | {len(laws)} | {above} | {min(shares):.4f}, {max(shares):.7f} |", flush=True)


def search_random_laws(number: int) -> None:
    random, below, gaps, slowest = np.random.default_rng(2), 0, [], 0.0
    for _ in range(number):
        law, epsilon = random_law(random, 1000), Fraction(int(1000 * math.exp(random.uniform(-3, 2.3))), 1000)
        start = time.process_time()
        price = float(law.price(epsilon))
        slowest = max(slowest, time.process_time() - start)
        odds, best = np.exp(np.linspace(-14, float(epsilon), 400_001)), 0.0
        for _ in range(2):
            other = odds / (1 + odds)
            accepted, nothing = log_ratios(law, other / math.exp(epsilon), other)
            value = np.maximum(float(epsilon) + accepted, nothing)
            best, at = max(best, float(value.max())), float(np.log(odds[value.argmax()]))
            odds = np.exp(np.linspace(at - 1e-4, min(at + 1e-4, float(epsilon)), 100_001))
        below, gaps = below + (price < best - 1e-9), [*gaps, price - best]
    print(f"\nRandom laws: {number}; prices below what was found: {below}; largest price above it: {max(gaps):.2g}; "
          f"slowest price: {slowest:.2f} s")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=160)
    parser.add_argument("--laws", type=int, default=40)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    laws: list[StoppingLaw] = [*HIDDEN, *(random_law(random, 60) for _ in range(options.laws))]
    laws += [StopCoin(stop_probability=Fraction(1, k)) for k in (1, 2, 10, 50, 1000)]
    laws += [NegativeBinomial(shape=Fraction(s), stop_probability=Fraction(1, 50)) for s in ("-1/2", "0", "1/2", "3")]
    enumerate_pairs(options.parts, laws)
    search_random_laws(10 * options.laws)


if __name__ == "__main__":
    main()
