"""Tuning curves of data-augmented imputation on the simulated births: error and risk by noise (docs/appendix/baselines.md).

    python -m tests.benchmarks.tuning [--picture docs/appendix/baselines-tuning.svg]

Two columns are drawn anew: parity, by randomised response that keeps a value with probability pi, or mother's age, by W with
Gaussian noise of sigma bins; everybody has the same mask. The error is the root mean squared error, over the cells of the
table of the column with birth weight, of its shares; the risk is that of an intruder who knows mother's age,
parity, week of gestation, sex and month, and how often a random match has the right birth weight.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.studio.baselines.base import MatrixMask, NoiseMask, OrderedMask
from synthrelease.studio.baselines.data_augmented import DataAugmented
from synthrelease.studio.rehearsal.attempts import PublicTable
from synthrelease.studio.rehearsal.closer_look import merged
from synthrelease.studio.rehearsal.risk import risk_report
from tests.conftest import ROOT

SHARES = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
SPREADS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 2.0, 4.0)
KNOWN = ("birth_month", "mother_age", "parity", "gestation_week", "birth_sex")
COPIES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path)
    picture: Path | None = parser.parse_args().picture
    spec = load_spec(ROOT / "configs" / "births.toml")
    counts = read_public(ROOT / "public_data" / "births_surrogate.csv.gz", spec.schema, spec.input, spec.raw)
    configuration = spec.space[0]
    public = PublicTable(
        counts=merged(counts, configuration), transformation=configuration.transformation, public_because="simulated"
    )
    names, sizes = public.columns, public.counts.layout.sizes
    age, parity, weight = (names.index(name) for name in ("mother_age", "parity", "birth_weight"))
    curves = {
        "pi": [(x, *_measure(public, parity, weight, MatrixMask.keeping(sizes[parity], x))) for x in SHARES],
        "sigma": [(x, *_measure(public, age, weight, OrderedMask(sizes[age], False, x))) for x in SPREADS],
    }
    for name, points in curves.items():
        print(f"\n| {name} | root mean squared error of shares | mean match risk | right birth weight of a match |")
        print("|---|---|---|---|")
        for x, error, risk, right in points:
            print(f"| {x:g} | {error:.2e} | {risk:.5f} | {right:.4f} |")
    if picture is not None:
        draw(curves, picture)


def _measure(public: PublicTable, column: int, other: int, mask: NoiseMask) -> tuple[float, float, float]:
    others = [c for c in range(len(public.columns)) if c != column]
    order = [other, *(c for c in others if c != other)]
    method = DataAugmented(table=public.counts, predictors={column: order}, masks=[{column: mask}])
    random = np.random.default_rng(4)
    masked = method.masked(random)
    copies: list[Counts] = [method.copy(masked, random) for _ in range(COPIES)]
    truth = public.counts.marginal((column, other)) / public.n
    off = [copy.marginal((column, other)) / public.n - truth for copy in copies]
    risk = risk_report(public, copies, quasi_identifiers=KNOWN)
    return float(np.sqrt(np.mean(np.square(off)))), risk["mean_risk"], risk["correct_attribution"]


def draw(curves: dict[str, list[tuple[float, float, float, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "synthrelease", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.2, 3.2), layout="constrained")
    labels = {"pi": "probability that W is the value (parity)", "sigma": "standard deviation of W in bins (mother's age)"}
    for axis, (name, points) in zip(axes, curves.items(), strict=True):
        x, error, _, right = zip(*points, strict=True)
        axis.plot(x, np.array(error) * 1e4, "o-", color="#1f5fa8", label="error of shares (left, in 1/10,000)")
        axis.set_xlabel(labels[name])
        axis.set_ylim(0, 1.1e4 * max(error))
        twin = axis.twinx()
        twin.plot(x, np.array(right) * 100, "s--", color="#b5501b", label="right birth weight of a match (right, %)")
        twin.set_ylim(0, 110 * max(right))
        if name == "sigma":
            axis.set_xscale("log")
        lines = [*axis.get_lines(), *twin.get_lines()]
        axis.spines["top"].set_visible(False)
        twin.spines["top"].set_visible(False)
    figure.legend(lines, [str(line.get_label()) for line in lines], loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
