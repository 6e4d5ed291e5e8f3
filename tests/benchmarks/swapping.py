"""Permutation swapping: epsilons by largest stratum, and the counties of Massachusetts (docs/appendix/baselines.md).

    python -m tests.benchmarks.swapping [--runs 20]

Needs no data: the county table is printed in Bailie, Gong & Meng 2023 (`tests/helpers/massachusetts.py`).
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import numpy as np

from synthrelease.studio.baselines.swapping import (
    PermutationSwapping,
    best_rate,
    least_epsilon,
    nominal_epsilon,
    pairwise_epsilon,
)
from tests.helpers.massachusetts import counties_table, expected_owned, standard_errors
from tests.helpers.percentages import mean_absolute_percentage_error

STRATA = (
    ("state", "county", 13_680_081),
    ("state x household size", "county", 3_653_802),
    ("county", "tract", 3_445_076),
    ("county x household size", "tract", 853_003),
    ("1940 Massachusetts: state x household size", "county", 264_331),
    ("block group", "block", 21_535),
    ("block group x household size", "block", 11_691),
)
RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs: int = parser.parse_args().runs
    print("| key | swapped | largest stratum | nominal at 5% | at 50% | 2 x nominal at 5% | at 50% | least nominal | at rate |")
    print("|---|---|---|---|---|---|---|---|---|")
    for key, swapped, largest in STRATA:
        nominal = " | ".join(f"{nominal_epsilon(rate, largest):.2f}" for rate in (RATES[1], RATES[3]))
        doubled = " | ".join(f"**{pairwise_epsilon(rate, largest):.2f}**" for rate in (RATES[1], RATES[3]))
        least = f"{least_epsilon(largest):.2f} | {best_rate(largest):.4%}"
        print(f"| {key} | {swapped} | {largest:,} | {nominal} | {doubled} | {least} |")
    table = counties_table()
    original, generator = table.marginal([0, 1]), np.random.default_rng(1940)
    print("\n| rate | mean | least | most | expected | largest deviation of a county's mean, in standard errors |")
    print("|---|---|---|---|---|---|")
    for rate in RATES:
        swapping = PermutationSwapping(key=(), variables=(0,), rate=rate)
        after = np.array([swapping.swap(table, generator).marginal([0, 1]) for _ in range(runs)])
        errors = [mean_absolute_percentage_error(original, each) for each in after]
        expected, error = expected_owned(float(rate)), standard_errors(float(rate))
        both = np.stack([expected, original.sum(axis=1) - expected], axis=1)
        off = np.abs(after[:, :, 0].mean(axis=0) - expected) / (error / math.sqrt(runs))
        of_expectation = mean_absolute_percentage_error(original, both)
        shown = f"{np.mean(errors):.2f}% | {min(errors):.2f}% | {max(errors):.2f}% | {of_expectation:.2f}% | {off.max():.1f}"
        print(f"| {float(rate):.0%} | {shown} |")
        spread = (after[:, :, 0].std(axis=0, ddof=1) / error).mean()
        print(
            f"<!-- {float(rate):.0%}: standard deviation over the runs by the formula's, mean of the counties: {spread:.2f} -->"
        )


if __name__ == "__main__":
    main()
