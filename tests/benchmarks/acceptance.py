"""How often each configuration passes all criteria, on public data, with 95% Clopper-Pearson intervals.

    python tests/benchmarks/acceptance.py --data FILE [--attempts 40] [--jobs 2] [--config configs/births.toml]
        [--sample 30 --seed 1] [--json]

Every attempt has its own private fit of the regression, so the figures average over it. Prints a Markdown table: the share
of attempts that pass, and for each criterion the share that fails.
"""

from __future__ import annotations

import argparse
import json
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.space import Configuration
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson

ROOT = Path(__file__).resolve().parents[2]


def outcomes(spec: ReleaseSpec, configuration: Configuration, private: PrivateCounts, attempts: int) -> np.ndarray:
    """(attempts, n_criteria) whether each criterion passed; none did where no candidate was made."""
    passed = np.zeros((attempts, len(spec.criteria)), dtype=bool)
    for row in passed:
        prepared = prepare(spec, private.with_plan(spec.plan.once))
        with suppress(RejectedRound):
            row[:] = [score.passed for score in attempt(spec, configuration, private, prepared).scores]
    return passed


def label(configuration: Configuration) -> str:
    generator = configuration.generator.model_dump(mode="json", exclude_none=True)
    flavour = (
        f"{generator['flavour']} {generator[generator['flavour']]:g}, split {float(configuration.generator.epsilon_split):g}"
    )
    projection = configuration.projection.model_dump()
    bins = [
        f"{column} {name}" for column, name in configuration.transformation.choice.items() if _varies(configuration, column)
    ]
    return f"{flavour}, {', '.join(bins)}, m = {projection.get('minimum_count', 1)}"


def _varies(configuration: Configuration, column: str) -> bool:
    return len(configuration.transformation.schema[column].alternatives) > 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=ROOT / "configs/births.toml")
    parser.add_argument("--attempts", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, help="only so many configurations, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spec = load_spec(options.config)
    private = read_private(spec, options.data)
    chosen = list(spec.space)
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    results = Parallel(n_jobs=options.jobs)(
        delayed(outcomes)(spec, configuration, private, options.attempts) for configuration in chosen
    )
    rows = []
    for configuration, passed in zip(chosen, results, strict=True):
        found = clopper_pearson(int(passed.all(axis=1).sum()), options.attempts)
        failing = {
            criterion.name: round(float(1 - share), 3)
            for criterion, share in zip(spec.criteria, passed.mean(axis=0), strict=True)
        }
        rows.append(
            {"configuration": label(configuration), "pass": found.share, "low": found.low, "high": found.high, "fails": failing}
        )
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("| configuration | passes | 95% interval | criteria that fail |")
    print("|---|---|---|---|")
    for row in rows:
        fails = ", ".join(f"{name} {share:.0%}" for name, share in row["fails"].items() if share)
        print(f"| {row['configuration']} | {row['pass']:.0%} | {row['low']:.0%} to {row['high']:.0%} | {fails} |")
    print(f"\nMean over the space: {np.mean([row['pass'] for row in rows]):.1%} of {options.attempts} attempts each.")


if __name__ == "__main__":
    main()
