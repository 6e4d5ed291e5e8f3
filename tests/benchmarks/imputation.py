"""Mean income with gaps, as `make sources` has it, with more runs, and the picture of docs/appendix/baselines.md.

    python -m tests.benchmarks.imputation [--runs 150] [--picture docs/appendix/baselines-imputation.svg]

Incomes are made up, anew in each run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tests.reproduction.experiments import income_errors

PICTURED = {
    "missing values ignored": "gaps ignored\n(epsilon 6 ln 2)",
    "nearest neighbour, add or remove": "nearest neighbour,\nadd or remove (6 ln 2)",
    "nearest neighbour, replace one": "nearest neighbour,\nreplace one (6 ln 2)",
    "a separate bin": "a bin of their own\n(6 ln 2)",
    "a separate bin, epsilon 1": "a bin of their own\n(1)",
}


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
    found = income_errors(chosen.runs)
    print("| method | mean squared error | median squared error |\n|---|---|---|")
    for name, values in found.items():
        print(f"| {name} | {np.mean(values**2):,.1f} | {np.median(values**2):,.1f} |")
    if chosen.picture:
        picture(found, chosen.picture)


if __name__ == "__main__":
    main()
