"""What each step of PrivBayes's post-processing buys: the steps are switched on one after the other.

    python -m tests.benchmarks.postprocessing --data FILE [--attempts 40] [--configuration 8]

Prints a Markdown table: the share of attempts that meet all criteria, with its 95% interval, and medians of the released
figures. All variants see the same charges; only what happens after the noise differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import bayesian_network, privbayes
from synthrelease.generators.space import Configuration
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from tests.benchmarks.acceptance import label

ROOT = Path(__file__).resolve().parents[2]


def independent_draws(expected: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """The paper's sampling: rows drawn one by one."""
    return generator.multinomial(n, expected / expected.sum())


def clipped(values: np.ndarray, row_totals: np.ndarray, column_totals: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The paper's answer to negative counts: zero. Rows are normalised later."""
    return np.where(allowed, np.maximum(values, 0.0), 0.0)


def as_measured(tables: Sequence, free: Sequence, n: int) -> Sequence:
    """Tables that need not agree."""
    return tables


def without_rules(tables: Sequence, n: int, layout: object, plausibility: Plausibility, generator: object) -> object:
    """A network that gives mass to implausible cells; the filter drops such rows later."""
    return _build(tables, n, layout, Plausibility(layout=plausibility.layout, masks=()), generator)


_build = bayesian_network.build_network
STEPS = (
    ("rounding instead of independent draws", bayesian_network, "systematic_rounding", independent_draws),
    ("no negative counts by projection", bayesian_network, "nearest_with_margins", clipped),
    ("tables agree on shared columns", bayesian_network, "agree", as_measured),
    ("structural zeros from the rules", privbayes, "build_network", without_rules),
)


@contextmanager
def only_first(n_steps: int) -> Iterator[None]:
    """The first steps on, the others as in the paper."""
    with ExitStack() as stack:
        for _, module, name, replacement in STEPS[n_steps:]:
            stack.enter_context(patch.object(module, name, replacement))
        yield


def figures(spec: ReleaseSpec, configuration: Configuration, private: PrivateCounts, attempts: int) -> np.ndarray:
    """(attempts, n_criteria, 2): released value, and whether it passed."""
    return np.array(
        [
            [(score.value, score.passed) for score in attempt(spec, configuration, private, prepared).scores]
            for prepared in (prepare(spec, private.with_plan(spec.plan.once)) for _ in range(attempts))
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=ROOT / "configs/births.toml")
    parser.add_argument("--configuration", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=40)
    options = parser.parse_args()
    spec = load_spec(options.config)
    private = read_private(spec, options.data)
    configuration = spec.space[options.configuration]
    names = [criterion.name for criterion in spec.criteria if criterion.epsilon]
    print(f"{label(configuration)}; {options.attempts} attempts each\n")
    print("| post-processing | passes | 95% interval | " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|")
    for n_steps in range(len(STEPS) + 1):
        with only_first(n_steps):
            found = figures(spec, configuration, private, options.attempts)
        passed = int(found[:, :, 1].all(axis=1).sum())
        interval = clopper_pearson(passed, options.attempts)
        title = "clip, normalise, draw (paper)" if n_steps == 0 else f"+ {STEPS[n_steps - 1][0]}"
        medians = " | ".join(f"{value:.3g}" for value in np.median(found[:, : len(names), 0], axis=0))
        print(f"| {title} | {interval.share:.0%} | {interval.low:.0%} to {interval.high:.0%} | {medians} |", flush=True)


if __name__ == "__main__":
    main()
