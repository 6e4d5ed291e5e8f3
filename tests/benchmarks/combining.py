"""How often 95% intervals of each combining rule hold the truth, by kind of copy. Table of docs/appendix/benchmarks.md.

    python -m tests.benchmarks.combining [--samples 1000]

The population and the copies are those of tests/helpers/copies_of_samples.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from synthrelease.studio.rehearsal.utility import combine
from tests.helpers.copies_of_samples import TRUTH, Copies, Random, Sample, known_noise, nested, partial, simple, twice

N, COPIES = 300, 5
KINDS: dict[str, tuple[Callable[[Sample, int, Random], Copies], float]] = {
    "values replaced by draws from their posterior (DA-MI)": (partial, 1.0),
    "new rows from one fit, as many as the original": (simple(1.0), 1.0),
    "new rows from one fit, a quarter as many": (simple(0.25), 0.25),
    "new rows from one fit, four times as many": (simple(4.0), 4.0),
    "a fit with noise of its own for each copy (rehearsals)": (simple(1.0, "own"), 1.0),
    "one noisy fit for all copies (a release)": (simple(1.0, "one"), 1.0),
    "draws of the true table given one noisy measurement": (known_noise, 1.0),
    "imputed five times, values then replaced five times each": (twice(5), 1.0),
}
RULES = ("partial", "simple", "nested")


def coverage(kind: str, samples: int, random: Random) -> dict[str, tuple[float, float]]:
    """Per rule the share of intervals that hold the truth, and their mean length."""
    make, ratio = KINDS[kind]
    found: dict[str, list[tuple[bool, float]]] = {rule: [] for rule in RULES}
    for _ in range(samples):
        estimates, variances = make(Sample.draw(N, random), COPIES, random)
        if estimates.ndim == 2:
            found["nested"].append(_held(nested(estimates, variances).interval()))
            estimates, variances = estimates.ravel(), variances.ravel()
        for rule in ("partial", "simple"):
            found[rule].append(_held(combine(estimates, variances, rule, ratio).interval()))
    return {
        rule: (float(np.mean([h for h, _ in held])), float(np.mean([w for _, w in held])))
        for rule, held in found.items()
        if held
    }


def _held(interval: object) -> tuple[bool, float]:
    lower, upper = float(interval.lower), float(interval.upper)  # type: ignore[attr-defined]
    return lower <= TRUTH <= upper, upper - lower


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    samples: int = parser.parse_args().samples
    random = np.random.default_rng(20)
    print("| copies | b / M + v | (k/n + 1/M) v | (1 + 1/M) b + v | nested |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        found = coverage(kind, samples, random)
        shown = [f"{found[rule][0]:.1%}" if rule in found else "" for rule in RULES]
        print(f"| {kind} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
