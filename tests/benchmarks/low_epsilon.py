"""Whole releases of a specification, judged by their true errors: how often a released dataset meets every threshold.

    python tests/benchmarks/low_epsilon.py CONFIG --data FILE [--runs 50] [--jobs 2] [--generation EPS] [--json]
        [--public-table as_is|earlier_year|distorted] [--truth configs/births.toml]

Every run is a whole release on the file: the number of rows, one-off charges, rounds until one is accepted or the coin stops,
with the noise of a release. The true errors of the released table are then computed without noise, against all kept rows, by
the criteria of --truth. Success: something was released, and every true error is at or below its threshold. Prints Markdown.

--public-table changes the public table that the generators start from: `earlier_year` reweights the mother's age to about
the shares of US births five years earlier; `distorted` makes young mothers three times, high parities twice and low birth
weights half as frequent as they are in it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from synthrelease.criteria.scoring import scores_of
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Schema, Transformation
from synthrelease.enclave.door import PrivateCounts, PrivateRows
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.resizing import resize
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Meter, decimal_text
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.releasing.attempt import prepare, read_priors
from synthrelease.releasing.release import one_round
from synthrelease.releasing.selection import select_by
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson

ROOT = Path(__file__).resolve().parents[2]

# shares of births by age in percent, about 2014 over about 2019, from below each age on
_AGE_RATIOS = {20: 6.3 / 4.6, 25: 22.1 / 18.8, 30: 28.7 / 28.8, 35: 27.1 / 29.0, 40: 12.8 / 15.1, 45: 2.8 / 3.2, 99: 0.2 / 0.3}


def reweighted(table: Counts, schema: Schema, factors: dict[str, Callable[[float], float]]) -> Counts:
    """A public table with the frequency of every cell changed by a factor for the lowest value of its bin, per column."""
    weights = table.counts.astype(float)
    for name, factor in factors.items():
        column = schema[name]
        lowest = [column.bounds[0] if column.bounds else 0.0, *column.edges]
        weights *= np.array([factor(value) for value in lowest])[table.digits(schema.names.index(name))]
    return Counts(table.layout, table.codes, np.rint(weights * table.total / weights.sum()).astype(np.int64))


def age_ratio(age: float) -> float:
    return next(ratio for limit, ratio in _AGE_RATIOS.items() if age < limit)


PUBLIC_TABLES: dict[str, dict[str, Callable[[float], float]]] = {
    "as_is": {},
    "earlier_year": {"mother_age": age_ratio},
    "distorted": {
        "mother_age": lambda age: 3.0 if age < 25 else 1.0,
        "parity": lambda parity: 2.0 if parity >= 4 else 1.0,
        "birth_weight": lambda weight: 0.5 if weight < 3000 else 1.0,
    },
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run: the true errors of what was released (None: nothing was) and whether each is within its threshold."""

    errors: list[float] | None
    within: list[bool]
    rounds: int
    seconds: float


def run_once(
    spec: ReleaseSpec, truth: ReleaseSpec, table: Counts, priors: dict[str, Counts], most_rounds: int | None = None
) -> Outcome:
    """One run on a table over the atoms of `truth`.

    Given up as nothing after `most_rounds`, where a number is named (no release has such a limit).
    """
    start, rounds = time.perf_counter(), [0]
    private = resize(PrivateRows(on_atoms_of(spec, truth, table), table.total), spec.rows, spec.raw, spec.plan.once)
    prepared = prepare(spec, private, priors)

    def next_round():
        rounds[0] += 1
        return one_round(spec, private, prepared)

    if most_rounds is None:
        accepted = select_by(spec.selection_rule, next_round)
    else:
        attempts = (next_round() for _ in range(most_rounds))
        accepted = next((each for each in attempts if each is not None and each.accepted), None)
    seconds = time.perf_counter() - start
    if accepted is None:
        return Outcome(errors=None, within=[], rounds=rounds[0], seconds=seconds)
    errors = true_errors(truth, table, accepted.candidate)
    within = [error <= criterion.threshold for error, criterion in zip(errors, truth.criteria, strict=True)]
    return Outcome(errors=errors, within=within, rounds=rounds[0], seconds=seconds)


def on_atoms_of(spec: ReleaseSpec, finer: ReleaseSpec, table: Counts) -> Counts:
    """A table over the atoms of one specification on those of another, whose criteria need fewer own values."""
    maps = [
        np.searchsorted(column.edges, fine.atoms.lower, side="right") if column.edges else np.arange(len(column.atoms))
        for column, fine in zip(spec.schema.columns, finer.schema.columns, strict=True)
    ]
    return table.merge(spec.schema.layout, maps)


def true_errors(truth: ReleaseSpec, table: Counts, candidate: Candidate) -> list[float]:
    """Every figure of the reference criteria without noise, the regression fitted without noise too."""
    exact = PrivateCounts(table, Meter(truth.plan.once)).rehearsed(NoNoise())
    fitted = prepare(truth, exact).fitted
    scored = exact.with_plan([charge for criterion in truth.criteria for charge in criterion.per_score()])
    binnings = [truth.schema[name].alternatives[choice] for name, choice in candidate.transformation.choice.items()]
    transformation = Transformation(schema=truth.schema, binnings=tuple(binnings))
    candidate = replace(candidate, configuration=replace(candidate.configuration, transformation=transformation))
    merged = scored.on(transformation)
    return [score.value for score in scores_of(truth.criteria, merged, candidate, truth.setting, fitted)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--truth", type=Path, default=ROOT / "configs/births.toml")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--public-table", choices=list(PUBLIC_TABLES), default="as_is")
    parser.add_argument("--generation", type=Fraction)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spec, truth = load_spec(options.config), load_spec(options.truth)
    if options.generation:
        spec = spec.with_budget(generation=options.generation)
    table = read_public(options.data, truth.schema, truth.input, truth.raw)
    changes = PUBLIC_TABLES[options.public_table]
    priors = {name: reweighted(prior, spec.schema, changes) for name, prior in read_priors(spec).items()}
    outcomes = Parallel(n_jobs=options.jobs)(delayed(run_once)(spec, truth, table, priors) for _ in range(options.runs))
    released = [outcome for outcome in outcomes if outcome.errors is not None]
    success = clopper_pearson(sum(all(outcome.within) for outcome in released), len(outcomes))
    figures = {
        "epsilon": decimal_text(spec.plan.total.epsilon),
        "runs": len(outcomes),
        "released": len(released),
        "false_acceptances": sum(not all(outcome.within) for outcome in released),
        "success": success.share,
        "interval": [round(success.low, 3), round(success.high, 3)],
        "median_rounds": float(np.median([outcome.rounds for outcome in outcomes])),
        "median_seconds": round(float(np.median([outcome.seconds for outcome in outcomes])), 1),
    }
    if options.json:
        print(json.dumps(figures | {"errors": [outcome.errors for outcome in released]}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in figures.items()) + "\n")
    print("| criterion | threshold | median true error | worst |\n|---|---|---|---|")
    errors = np.array([outcome.errors for outcome in released]).reshape(len(released), len(truth.criteria))
    for criterion, column in zip(truth.criteria, errors.T, strict=True):
        print(f"| {criterion.name} | {criterion.threshold:g} | {np.median(column):.3g} | {column.max():.3g} |")


if __name__ == "__main__":
    main()
