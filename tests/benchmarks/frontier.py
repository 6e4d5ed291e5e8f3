"""Epsilon against success on the births, for three ways to a release: points, table, picture (docs/appendix/benchmarks.md).

    python -m tests.benchmarks.frontier --data FILE [--runs 20] [--ways shared public paper] [--epsilons 0.5 1]
        [--population other] [--results FILE] [--draw-only]

Every run is a whole release, judged by its true errors (tests/benchmarks/low_epsilon.py); populations and public tables are
those of tests/benchmarks/frontier_curves.py. Runs are appended to the file of results one by one, and a point that has its runs
is left alone: the command may be stopped and started again. At the end the table and the picture are written.

`--population` runs the configurations as they are on another population than their curve's.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.privacy.charges import decimal_text
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from tests.benchmarks.frontier_curves import POPULATIONS, ROOT, TRUTH, WAYS, populations
from tests.benchmarks.low_epsilon import run_once

RESULTS = ROOT / "tests/benchmarks/frontier_results.jsonl"
PICTURE, PAGE = ROOT / "docs/appendix/frontier.svg", ROOT / "docs/appendix/benchmarks.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--epsilons", nargs="+")
    parser.add_argument("--population", choices=POPULATIONS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--draw-only", action="store_true")
    options = parser.parse_args()
    if not options.draw_only:
        if options.data is None:
            parser.error("--data is needed unless --draw-only is given")
        tables, truth = populations(options.data), load_spec(TRUTH)
        for name in options.ways:
            for epsilon in options.epsilons or WAYS[name].epsilons:
                run_point(name, epsilon, options.population or WAYS[name].population, tables, truth, options)
    results = read(options.results)
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(results)), encoding="utf-8")
    picture(results, PICTURE)


def run_point(
    name: str, epsilon: str, population: str, tables: dict[str, Counts], truth: ReleaseSpec, options: argparse.Namespace
) -> None:
    """The runs that the point still lacks."""
    spec = WAYS[name].spec(Fraction(epsilon))
    total = decimal_text(spec.plan.total.epsilon)
    point = {"way": name, "asked": epsilon, "epsilon": total, "population": population}
    done = sum(all(one[key] == value for key, value in point.items()) for one in read(options.results))
    for _ in range(done, options.runs):
        start = time.process_time()
        outcome = run_once(spec, truth, tables[population], dict.fromkeys(spec.priors, tables["fifth"]), WAYS[name].most_rounds)
        line = point | {
            "errors": outcome.errors,
            "within": outcome.within,
            "rounds": outcome.rounds,
            "seconds": round(time.process_time() - start, 2),
        }
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def points(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for every way, population and epsilon: runs, successes, and what was released above a threshold."""
    found = []
    for way in WAYS:
        for population in POPULATIONS:
            here = [one for one in results if one["way"] == way and one["population"] == population]
            for epsilon in sorted({one["epsilon"] for one in here}, key=float):
                runs = [one for one in here if one["epsilon"] == epsilon]
                released = [one for one in runs if one["errors"] is not None]
                good = sum(all(one["within"]) for one in released)
                found.append(
                    {
                        "way": way,
                        "population": population,
                        "epsilon": float(epsilon),
                        "runs": len(runs),
                        "success": clopper_pearson(good, len(runs)),
                        "false": len(released) - good,
                        "seconds": float(np.median([one["seconds"] for one in runs])),
                    }
                )
    return found


def table(results: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| way | population | epsilon | runs | success | 95% interval | released above a threshold | processor seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in points(results):
        share = one["success"]
        lines.append(
            f"| {one['way']} | {one['population']} | {one['epsilon']:.3g} | {one['runs']} | {share.share:.0%} "
            f"| {share.low:.0%} to {share.high:.0%} | {one['false']} | {one['seconds']:.1f} |"
        )
    return "\n".join(lines)


def with_table(page: str, rows: str) -> str:
    """The page with the table between its two marks."""
    begin, end = "<!-- frontier: begin -->", "<!-- frontier: end -->"
    return re.sub(rf"{begin}.*{end}", lambda _: f"{begin}\n{rows}\n{end}", page, flags=re.DOTALL)


def picture(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Success over epsilon, with 95% intervals: a curve for each way, on the population of its curve."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "frontier"
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4.4), layout="constrained")
    for marker, (name, way) in zip("osD", WAYS.items(), strict=True):
        shown = [one for one in points(results) if one["way"] == name and one["population"] == way.population]
        share = np.array([one["success"].share for one in shown])
        below = share - np.array([one["success"].low for one in shown])
        above = np.array([one["success"].high for one in shown]) - share
        axis.errorbar(
            [one["epsilon"] for one in shown], share, yerr=[below, above], fmt=f"-{marker}", capsize=3, label=way.title
        )
    axis.axhline(0.9, color="0.6", linestyle=":", linewidth=1)
    axis.set(xscale="log", xlabel="epsilon", ylabel="success: released, all true errors allowed", ylim=(-0.03, 1.03))
    axis.set_xticks([0.2, 0.5, 1, 2, 5, 10], labels=["0.2", "0.5", "1", "2", "5", "10"])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize="small", frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
