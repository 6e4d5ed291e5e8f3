"""What a member of a population is promised by a simple random sample: the printed bound beside the tight one.

`python tests/benchmarks/amplification.py` prints the table of docs/theory.md.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from synthrelease.privacy.plan import Loss, of_the_population

EPSILONS = tuple(map(Fraction, ("0.1", "0.5", "1", "2", "5", "10")))
TENTH = Fraction(1, 10)


def printed_bound(epsilon: Fraction, share: Fraction) -> float:
    """ln((e^epsilon beta + 1 - beta) / (1 - beta)) (Merrill 2021, Theorem 5.5.1)."""
    beta = float(share)
    return math.log((math.exp(epsilon) * beta + 1 - beta) / (1 - beta))


def largest_share(epsilon: Fraction) -> float:
    """The share of records up to which the printed bound is below epsilon itself: (E - 1) / (2 E - 1), E = e^epsilon."""
    ratio = math.exp(epsilon)
    return (ratio - 1) / (2 * ratio - 1)


def tight_bound(epsilon: Fraction, share: Fraction) -> Fraction:
    """What the documents of a release state."""
    return of_the_population(Loss(epsilon, Fraction(0)), share.numerator, share.denominator).epsilon


def table() -> str:
    """The table as Markdown."""
    lines = ["| epsilon | printed bound helps up to | printed, at a tenth | tight, at a tenth |", "|---|---|---|---|"]
    for epsilon in EPSILONS:
        printed = printed_bound(epsilon, TENTH)
        useless = f"none ({printed:.4f})" if printed > epsilon else f"{printed:.2f}"
        share = math.floor(largest_share(epsilon) * 10**4) / 10**4
        lines.append(f"| {float(epsilon):g} | {share:.4f} | {useless} | {float(tight_bound(epsilon, TENTH)):.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
