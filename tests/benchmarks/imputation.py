"""Mean income with gaps: ignored, imputed, or a bin of their own. Table and picture of docs/appendix/baselines.md.

    python -m tests.benchmarks.imputation [--runs 150] [--picture docs/appendix/baselines-imputation.svg]

Incomes are made up (tests/helpers/incomes.py), anew in each run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.helpers.incomes import (
    SCHEME,
    GappedTable,
    ignoring,
    imputed,
    imputed_exactly,
    imputed_globally,
    incomes,
    missing_as_a_bin,
)

EPSILON = 6 * math.log(2)
Method = Callable[[GappedTable, np.random.Generator], float]
METHODS: dict[str, Method] = {
    "gaps ignored, 6 ln 2": lambda table, generator: ignoring(table, EPSILON, generator),
    "nearest neighbour, exact": lambda table, generator: imputed_exactly(table),
    "nearest neighbour, add or remove, 6 ln 2": lambda table, g: imputed(table, "add or remove", EPSILON, g),
    "nearest neighbour, add or remove, smaller scale": lambda table, g: imputed(
        table, "add or remove", EPSILON, g, sharper=True
    ),
    "nearest neighbour, replace one, 6 ln 2": lambda table, g: imputed(table, "replace one", EPSILON, g),
    "nearest neighbour, replace one, smaller scale": lambda table, g: imputed(table, "replace one", EPSILON, g, sharper=True),
    "nearest neighbour, global Laplace, 6 ln 2": lambda table, g: imputed_globally(table, EPSILON, g),
    "a bin of their own, 6 ln 2": lambda table, g: missing_as_a_bin(table, EPSILON, g),
    "a bin of their own, 1": lambda table, g: missing_as_a_bin(table, 1.0, g),
    "a bin of their own, 0.3": lambda table, g: missing_as_a_bin(table, 0.3, g),
}
PICTURED = {
    "gaps ignored, 6 ln 2": "gaps ignored\n(epsilon 6 ln 2)",
    "nearest neighbour, add or remove, 6 ln 2": "nearest neighbour,\nadd or remove (6 ln 2)",
    "nearest neighbour, replace one, 6 ln 2": "nearest neighbour,\nreplace one (6 ln 2)",
    "a bin of their own, 6 ln 2": "a bin of their own\n(6 ln 2)",
    "a bin of their own, 1": "a bin of their own\n(1)",
}


def errors(runs: int, seed: int = 6) -> tuple[dict[str, np.ndarray], list[int], float]:
    """Errors of every method in every run, L_1 of every run, and the share of gaps."""
    generator = np.random.default_rng(seed)
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    largest, gaps = [], []
    for _ in range(runs):
        table, mean = incomes(generator)
        for name, method in METHODS.items():
            found[name].append(method(table, generator) - mean)
        largest.append(SCHEME.largest_change(table))
        gaps.append(float(table.gaps.mean()))
    return {name: np.array(values) for name, values in found.items()}, largest, float(np.mean(gaps))


def picture(found: dict[str, np.ndarray], path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(
        [found[name] for name in reversed(PICTURED)], orientation="horizontal", whis=(5, 95), sym="", widths=0.5,
        medianprops={"color": "#9a3b2f"},
    )  # fmt: skip
    axes.set_yticks(range(1, len(PICTURED) + 1), list(reversed(PICTURED.values())))
    axes.axvline(0, color="#8b95a3", linewidth=1)
    axes.set_xlabel("estimated minus true mean income")
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "imputation", "font.family": "sans-serif"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": "Error of the mean income by method"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args()
    found, largest, gaps = errors(chosen.runs)
    print("| method | mean squared error | median squared error |\n|---|---|---|")
    for name, values in found.items():
        print(f"| {name} | {np.mean(values**2):,.1f} | {np.median(values**2):,.1f} |")
    print(f"\n{gaps:.1%} missing; L_1: median {np.median(largest):.0f}, {min(largest)} to {max(largest)}; {chosen.runs} runs")
    if chosen.picture:
        picture(found, chosen.picture)


if __name__ == "__main__":
    main()
