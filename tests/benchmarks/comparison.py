"""Adaptive generators on wide public tables, beside SWIFT of dpsynth and the AIM of smartnoise-synth and dpmm.

    python -m tests.benchmarks.comparison --table adult --data FILE --results FILE.jsonl [--epsilon 1 4] [--fits 3]
        [--only NAME ...] [--dpmm-python PYTHON] [--dpsynth-python PYTHON]
    python -m tests.benchmarks.comparison --results FILE.jsonl --write

All get the same (epsilon, delta = 1e-9) for replacing one record: the largest rho that yields it, by the exact curve where a
family is Gaussian, and of that a quarter for the libraries, whose neighbours differ by adding or removing one record; pure
families get epsilon. A distance is half the sum of the differences of all cells' shares (total variation), its mean over all
tables of one, two and three columns, or over 500 of them, chosen by a fixed seed. Every fit runs in a process of its own;
seconds are those of its processor, for fit and rows.
What was measured is added to the results, one line a fit; --write puts tables and a picture of them into
docs/appendix/benchmarks.md.
dpmm needs older libraries than ours and dpsynth needs Python 3.12: each runs in an environment of its own. The first has
requirements/peers.txt. For the second, install the repositories google/dpsynth and ryan112358/mbi with `pip install --no-deps`,
because they name others by their addresses, and `pip install "jax[cpu]==0.11.0" dp-accounting absl-py attrs pandas pydantic
pyyaml more-itertools networkx scipy tqdm optax chex "etils[epath]"`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background
from synthrelease.generators.candidate import sample_plausible
from synthrelease.privacy.charges import Meter
from synthrelease.releasing.selection import one_thread
from tests.benchmarks.comparison_pages import write
from tests.benchmarks.generators import charge_of
from tests.benchmarks.public_tables import TABLES, PublicTable
from tests.reproduction.experiments import DELTA, generation_budget

NAMES = (
    "adaptive",
    "adaptive, pure",
    "AIM (smartnoise-synth)",
    "AIM (dpmm)",
    "SWIFT (dpsynth)",
    "MST (smartnoise-synth)",
    "PrivBayes, theta 20",
)
MOST_TABLES = 500


def distances(private: Counts, synthetic: Counts) -> dict[str, float]:
    """Mean total variation of the tables of one, two and three columns."""
    rows = [counts.expand() for counts in (private, synthetic)]
    found = {}
    for ways in (1, 2, 3):
        sets = list(combinations(range(len(private.layout.sizes)), ways))
        if comb(len(private.layout.sizes), ways) > MOST_TABLES:
            kept = np.random.default_rng(ways).choice(len(sets), MOST_TABLES, replace=False)
            sets = [sets[place] for place in kept]
        found[f"{ways}-way"] = float(np.mean([_distance(*rows, columns, private.layout.sizes) for columns in sets]))
    return found


def _distance(left: np.ndarray, right: np.ndarray, columns: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    shape = [sizes[column] for column in columns]
    shares = [
        np.bincount(np.ravel_multi_index(tuple(rows[:, columns].T), shape), minlength=int(np.prod(shape))) / len(rows)
        for rows in (left, right)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def family_of(name: str, columns: int, fields: dict[str, Any]) -> Any:
    """A family of the program by its name in the tables; AIM gets as many rounds as its authors give it."""
    families = {
        "adaptive": ("adaptive", {}),
        "adaptive, pure": ("adaptive_pure", {}),
        "AIM (smartnoise-synth)": ("aim", {"rounds": 16 * columns, "degree": 2, "max_model_size": 32.0}),
        "MST (smartnoise-synth)": ("mst", {}),
        "PrivBayes, theta 20": ("privbayes", {"flavour": "theta", "theta": 20, "epsilon_split": "0.1"}),
    }
    family, usual = families[name]
    return GENERATORS[family].model_validate(usual | fields)


@one_thread
def ours(name: str, table: PublicTable, epsilon: Fraction, fields: dict[str, Any]) -> tuple[Counts, dict[str, float]]:
    """One fit of a family of the program."""
    generator = family_of(name, len(table.counts.layout.sizes), fields)
    generator.load()
    charge = charge_of(generator, epsilon)
    private = PrivateCounts(table.counts, Meter([charge]))
    start = time.process_time()
    model = generator.fit(private, charge, Background(plausibility=table.plausibility, ordered=table.ordered))
    rows = sample_plausible(model, table.counts.total, table.plausibility, np.random.default_rng())
    seconds = time.process_time() - start
    return rows, {"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def peer(
    name: str, table: PublicTable, epsilon: Fraction, python: str, fields: dict[str, Any]
) -> tuple[Counts, dict[str, Any]]:
    """One fit of dpmm's AIM or dpsynth's SWIFT, with its own defaults and a quarter of the rho."""
    rho = generation_budget(GENERATORS["adaptive"].model_validate({}), epsilon) / 4
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.npz"), Path(folder, "made.npz")
        np.savez(given, rows=table.counts.expand(), sizes=np.array(table.counts.layout.sizes))
        settings = [str(fields.get(key, usual)) for key, usual in (("degree", 2), ("rounds", 0), ("max_model_size", 80))]
        command = [python, str(Path(__file__).with_name("peer_fits.py")), name, str(given), str(made), str(float(rho))]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        result = subprocess.run([*command, *settings], stdout=subprocess.PIPE, text=True, check=True, env=environment)
        rows = np.load(made)["rows"]
    return Counts.of(table.counts.layout, list(rows.T)), json.loads(result.stdout.splitlines()[-1])


def one(options: argparse.Namespace) -> dict[str, Any]:
    """One fit, as a line of the results."""
    table, name, fields = TABLES[options.table](options.data), options.only[0], json.loads(options.fields)
    epsilon = options.epsilon[0]
    pythons = {"AIM (dpmm)": ("dpmm", options.dpmm_python), "SWIFT (dpsynth)": ("dpsynth", options.dpsynth_python)}
    if name in pythons:
        made, cost = peer(pythons[name][0], table, epsilon, pythons[name][1], fields)
    else:
        made, cost = ours(name, table, epsilon, fields)
    facts = {"table": options.table, "columns": len(table.ordered), "rows": table.counts.total, "name": name}
    when = {"date": date.today().isoformat(), "machine": platform.machine(), "delta": str(DELTA)}
    return facts | {"epsilon": float(epsilon), "fields": fields} | distances(table.counts, made) | cost | when


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=list(TABLES))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1), Fraction(4)])
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--fields", default="{}", help="JSON: settings other than those of the comparison")
    parser.add_argument("--dpmm-python", default=sys.executable)
    parser.add_argument("--dpsynth-python", default=sys.executable)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options)))
        return
    if options.table:
        for name in options.only:
            for epsilon in options.epsilon:
                for _ in range(options.fits):
                    command = [sys.executable, "-m", "tests.benchmarks.comparison", "--one", "--only", name]
                    command += ["--epsilon", str(epsilon), "--table", options.table, "--data", str(options.data)]
                    command += ["--fields", options.fields, "--dpmm-python", options.dpmm_python]
                    command += ["--dpsynth-python", options.dpsynth_python]
                    result = subprocess.run(
                        [*command, "--results", str(options.results)], stdout=subprocess.PIPE, text=True, check=True
                    )
                    line = result.stdout.splitlines()[-1]
                    print(line, flush=True)
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
    if options.write:
        write([json.loads(line) for line in options.results.read_text("utf-8").splitlines()])


if __name__ == "__main__":
    main()
