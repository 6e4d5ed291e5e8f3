"""Time and memory of one whole attempt of the births release.

    python tests/benchmarks/attempt.py --data FILE [--json] [--repeats 15] [--config configs/births.toml]
    python tests/benchmarks/attempt.py --rows-ratio 10        # simulated births: 160,000 rows against ten times as many

Prints medians in seconds: attempt_s (merge, PrivBayes, filter, projection, all criteria), marginals_s (all 63 tables of the
absolute criterion), faithfulness_s, fit_s (PrivBayes alone), ingest_s, and peak_mb of this process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.base import Background
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Meter, mechanism
from synthrelease.releasing.attempt import Attempt, Prepared, attempt, prepare
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

ROOT = Path(__file__).resolve().parents[2]
WHOLE = mechanism("the whole table", Fraction(1), "simulated rows")


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_megabytes() -> float:
    """Peak resident memory of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20


def measure(spec: ReleaseSpec, data: Path, repeats: int) -> dict[str, float]:
    """Medians over `repeats` attempts, after one that loads the libraries."""
    start = time.perf_counter()
    private = read_private(spec, data)
    ingest_s = time.perf_counter() - start
    prepared = prepare(spec, private)
    first = timed(lambda: attempt(spec, spec.space[0], private, prepared))
    times: dict[str, list[float]] = {name: [] for name in ("attempt_s", "marginals_s", "faithfulness_s", "fit_s")}
    for index in range(repeats):
        for name, seconds in one_configuration(spec, spec.space[index % len(spec.space)], private, prepared).items():
            times[name].append(seconds)
    return {
        **{name: round(statistics.median(values), 4) for name, values in times.items()},
        "first_attempt_s": round(first, 3),
        "ingest_s": round(ingest_s, 3),
        "peak_mb": round(peak_megabytes()),
        "n_rows": private.n,
    }


def one_configuration(
    spec: ReleaseSpec, configuration: Configuration, private: PrivateCounts, prepared: Prepared
) -> dict[str, float]:
    """Seconds of a whole attempt, and of its parts run once more on their own."""
    transformation, generator = configuration.transformation, configuration.generator
    attempts: list[Attempt] = []
    times = {"attempt_s": timed(lambda: attempts.append(attempt(spec, configuration, private, prepared)))}
    merged = private.with_plan(spec.plan.per_round).on(transformation)
    background = Background(plausibility=spec.synthetic.merge(transformation))
    charge = generator.charge(spec.budget.generation)
    times["fit_s"] = timed(lambda: generator.fit(merged, charge, background))
    kinds = {criterion.kind: criterion for criterion in spec.criteria}
    for name, kind in (("marginals_s", "absolute_marginal_error"), ("faithfulness_s", "faithfulness")):
        score = partial(kinds[kind].score, merged, attempts[0].candidate, spec.setting, prepared.fitted)
        times[name] = timed(score)
    return times


def rows_ratio(spec: ReleaseSpec, ratio: int, repeats: int) -> dict[str, float]:
    """Time of an attempt on `ratio` times as many simulated births, relative to 160,000.

    - same_cells: every row that often, and theta times as large, so that PrivBayes measures as many cells: the cost of rows.
    - same_theta: every row that often; theta lets the measured tables grow with the number of rows.
    - new_rows: rows drawn anew, which also fill more distinct cells.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "small.csv.gz", Path(folder) / "large.csv.gz"]
        for rows, out in zip((160_000, 160_000 * ratio), files, strict=True):
            script = [sys.executable, str(ROOT / "public_data/simulate_births.py"), "--rows", str(rows), "--seed", "1"]
            subprocess.run([*script, "--facts", str(ROOT / "public_data/births_facts.toml"), "--out", str(out)], check=True)
        small, new = (read_private(spec, out) for out in files)
    counts = small.with_plan([WHOLE]).spend(WHOLE, lambda counts: counts)  # simulated: nobody's
    repeated = PrivateCounts(Counts(counts.layout, counts.codes, counts.counts * ratio), Meter(spec.plan.once))
    cases = {"small": (small, 1), "same_cells": (repeated, ratio), "same_theta": (repeated, 1), "new_rows": (new, 1)}
    seconds = {name: median_attempt(spec, private, factor, repeats) for name, (private, factor) in cases.items()}
    return {"attempt_s": seconds["small"]} | {
        f"{name}_{ratio}x": round(value / seconds["small"], 2) for name, value in seconds.items() if name != "small"
    }


def median_attempt(spec: ReleaseSpec, private: PrivateCounts, theta_factor: int, repeats: int) -> float:
    """Median seconds of an attempt, with every theta multiplied."""
    prepared = prepare(spec, private.with_plan(spec.plan.once))
    times = []
    for index in range(repeats + 1):
        configuration = spec.space[index % len(spec.space)]
        generator = configuration.generator
        scaled = generator.model_copy(update={"theta": generator.theta * theta_factor})
        times.append(timed(partial(attempt, spec, replace(configuration, generator=scaled), private, prepared)))
    return round(statistics.median(times[1:]), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--config", type=Path, default=ROOT / "configs/births.toml")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--rows-ratio", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spec = load_spec(options.config)
    if options.rows_ratio:
        result = rows_ratio(spec, options.rows_ratio, options.repeats)
    elif options.data:
        result = measure(spec, options.data, options.repeats)
    else:
        parser.error("name --data FILE or --rows-ratio N")
    print(json.dumps(result, indent=2) if options.json else "\n".join(f"{key:18} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
