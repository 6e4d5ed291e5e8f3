"""Every generator family at equal budgets on one public file: true errors, acceptance, time and memory.

    python tests/benchmarks/generators.py --data FILE --results FILE.jsonl [--epsilon 2 4] [--fits 10] [--only FAMILY ...]
        [--write]

One fit of each family gets the same epsilon: pure families as it is, zero-concentrated ones the largest rho that yields it at
delta = 1e-9, by the exact curve where a family is Gaussian. A fit counts as accepted when the true errors of its projected
table, without noise, are within all thresholds of configs/births.toml. Every family runs in a process of its own; seconds are
the processor's. What was measured is added to the results, one line a family and epsilon; --write puts the newest line of each
into docs/appendix/benchmarks.md and draws docs/appendix/generators.svg.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.criteria.scoring import scores_of
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import RejectedRound
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.candidate import make_candidate
from synthrelease.generators.projections import MinimumCount
from synthrelease.privacy.charges import GENERATION, Charge, Meter, gaussian
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.releasing.attempt import prepare
from synthrelease.spec.load import load_spec
from tests.reproduction.experiments import generation_budget

ROOT = Path(__file__).resolve().parents[2]
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "PrivBayes, theta 20": ("privbayes", {"flavour": "theta", "theta": 20, "epsilon_split": "0.1"}),
    "PrivBayes, degree 2": ("privbayes", {"flavour": "degree", "degree": 2, "epsilon_split": "0.1"}),
    "marginals": (
        "marginals",
        {
            "tables": "gestation_week:birth_sex:birth_weight + mother_age:parity + birth_month + mother_age:birth_weight"
            " + parity:birth_weight + parity:gestation_week + mother_age:gestation_week + 2 parity"
        },
    ),
    "adaptive": ("adaptive", {}),
    "adaptive, pure": ("adaptive_pure", {}),
    "MWEM": ("mwem", {"queries": 4096, "iterations": 500, "inner_updates": 100}),
    "PEP": ("pep", {"queries": 4096, "iterations": 1000, "inner_updates": 25}),
    "MST": ("mst", {}),
    "AIM": ("aim", {"rounds": 16, "degree": 2}),
    "DPGAN": ("dpgan", {}),
    "DPCTGAN": ("dpctgan", {}),
    "PATECTGAN": ("patectgan", {}),
}


def charge_of(generator: Generator, epsilon: Fraction) -> Charge:
    """What a fit of a family is charged: its budget at this epsilon."""
    budget = generation_budget(generator, epsilon)
    return gaussian(GENERATION, budget, "") if generator.gaussian else generator.charge(budget)


def measure(name: str, epsilon: Fraction, fits: int, data: Path) -> dict[str, Any]:
    """Fits of one family: true errors, accepted or not, seconds and peak memory."""
    family, fields = FAMILIES[name]
    generator, spec = GENERATORS[family].model_validate(fields), load_spec(ROOT / "configs/births.toml")
    table = read_public(data, spec.schema, spec.input, spec.raw)
    finer = {"mother_age": "nine", "parity": "five", "gestation_week": "six"}
    transformation = next(
        each
        for each in spec.space.transformations
        if all(each.binning(column).name == wanted for column, wanted in finer.items())
    )
    charge = charge_of(generator, epsilon)
    exact = PrivateCounts(table, Meter(spec.plan.once)).rehearsed(NoNoise())
    fitted = prepare(spec, exact).fitted
    merged_exact = exact.with_plan(spec.plan.per_round).on(transformation)
    background = Background(plausibility=spec.synthetic.merge(transformation), ordered=transformation.ordered)
    configuration = replace(
        spec.space.draw(),
        transformation=transformation,
        generator=generator,
        projection=MinimumCount(minimum_count=2, keep="spread"),
    )
    errors, seconds, rejected = [], [], 0
    for _ in range(fits):
        private = PrivateCounts(table, Meter([charge])).on(transformation)
        start = time.process_time()
        try:
            candidate = make_candidate(configuration, private, background, charge)
        except RejectedRound:
            rejected += 1
            continue
        finally:
            seconds.append(time.process_time() - start)
        asked = merged_exact.with_plan(spec.plan.per_round)
        scores = scores_of(spec.criteria, asked, candidate, spec.setting, fitted)
        errors.append([score.value for score in scores])
    thresholds = [criterion.threshold for criterion in spec.criteria]
    accepted = sum(all(error <= limit for error, limit in zip(row, thresholds, strict=True)) for row in errors)
    return {
        "name": name,
        "epsilon": float(epsilon),
        "guarantee": generator.guarantee,
        "criteria": [criterion.name for criterion in spec.criteria],
        "thresholds": thresholds,
        "errors": np.median(np.array(errors), axis=0).tolist() if errors else [],
        "accepted": accepted,
        "fits": fits,
        "rejected": rejected,
        "seconds": float(np.median(seconds)),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def table(found: list[dict[str, Any]]) -> str:
    """Markdown: one line per family and budget, each error as a share of its threshold where there is one."""
    names = [name for name, limit in zip(found[0]["criteria"], found[0]["thresholds"], strict=True) if limit]
    lines = [
        "| family | guarantee | epsilon | " + " | ".join(names) + " | accepted | seconds | MB |",
        "|---" * (len(names) + 6) + "|",
    ]
    for one in found:
        pairs = zip(one["errors"], one["thresholds"], strict=True) if one["errors"] else []
        shares = [f"{error / limit:.2f}" for error, limit in pairs if limit] or ["-"] * len(names)
        lines.append(
            f"| {one['name']} | {one['guarantee']} | {one['epsilon']:g} | {' | '.join(shares)} "
            f"| {one['accepted']} of {one['fits']} | {one['seconds']:.1f} | {one['megabytes']:.0f} |"
        )
    return "\n".join(lines)


def picture(found: list[dict[str, Any]], path: Path) -> None:
    """Every error as a share of its threshold, a dot for each criterion, a line for each family at the largest budget."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "generators"
    from matplotlib import pyplot

    epsilon = max(one["epsilon"] for one in found)
    shown = [one for one in found if one["epsilon"] == epsilon and one["errors"]]
    figure, axes = pyplot.subplots(figsize=(9, 0.5 * len(shown) + 1.8), layout="constrained")
    places = [i for i, limit in enumerate(shown[0]["thresholds"]) if limit]
    for marker, i in zip("osD^v<>P", places, strict=False):
        shares = [max(one["errors"][i] / one["thresholds"][i], 1e-3) for one in shown]
        axes.plot(shares, range(len(shown)), marker, label=shown[0]["criteria"][i], alpha=0.8)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(
        xscale="log", xlabel=f"true error / threshold (median; one fit at epsilon = {epsilon:g})", ylim=(len(shown) - 0.5, -0.5)
    )
    axes.set_yticks(range(len(shown)), [one["name"] for one in shown])
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside right center", fontsize="small", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(2), Fraction(4)])
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.only[0], options.epsilon[0], options.fits, options.data)))
        return
    for name in options.only:
        for epsilon in options.epsilon:
            command = [sys.executable, __file__, "--one", "--only", name, "--epsilon", str(epsilon)]
            command += ["--fits", str(options.fits), "--data", str(options.data), "--results", str(options.results)]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            line = result.stdout.splitlines()[-1]
            with options.results.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            print(table([json.loads(line)]).splitlines()[-1], flush=True)
    lines = [json.loads(line) for line in options.results.read_text("utf-8").splitlines()]
    newest = {(one["name"], one["epsilon"]): one for one in lines}
    found = sorted(newest.values(), key=lambda one: (list(FAMILIES).index(one["name"]), one["epsilon"]))
    print(f"\n{table(found)}")
    if options.write:
        page = ROOT / "docs" / "appendix" / "benchmarks.md"
        between = r"(<!-- comparison -->\n).*?(<!-- end -->)"
        text = re.sub(between, lambda match: f"{match[1]}\n{table(found)}\n\n{match[2]}", page.read_text("utf-8"), flags=re.S)
        page.write_text(text, encoding="utf-8")
        picture(found, ROOT / "docs" / "appendix" / "generators.svg")


if __name__ == "__main__":
    main()
