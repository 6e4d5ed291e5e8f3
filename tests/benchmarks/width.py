"""How time and memory grow with the number of columns, on simulated tables: PrivBayes and the largest difference of all tables.

    python -m tests.benchmarks.width [--rows 100000] [--only NAME ...]

Every line is measured in a process of its own, as CPU seconds and peak memory. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from fractions import Fraction
from math import prod

import numpy as np

from synthrelease.criteria.marginals_mechanism import largest_difference
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.base import Background
from synthrelease.generators.privbayes import PrivBayes, maximal_sets
from synthrelease.privacy.charges import Meter, exact

MIXED = (2, 3, 2, 4, 12, 2, 5, 3, 6, 2)
PRIVBAYES = {
    "PrivBayes, 6 columns": (12, 10, 8, 2, 9, 6),
    "PrivBayes, 30 columns of 2 to 12 bins": MIXED * 3,
    "PrivBayes, 30 columns of 4 bins": (4,) * 30,
    "PrivBayes, 60 columns of 2 bins": (2,) * 60,
}
DIFFERENCES = {
    "all tables of 10 columns of 8 to 12 bins": ((12, 10, 8, 10, 12, 9, 10, 11, 8, 10), 10),
    "all tables of 10 columns of 4 or 5 bins": ((4, 4, 5, 4, 4, 5, 4, 4, 5, 4), 10),
    "tables of at most 3 of 30 columns of 2 to 12 bins": (MIXED * 3, 3),
    "tables of at most 3 of 60 columns of 2 bins": ((2,) * 60, 3),
}
SETS = "maximal parent sets, 18 columns, at most 93 cells"


def simulated(sizes: tuple[int, ...], n: int, seed: int) -> Counts:
    """n rows of columns that depend on four hidden numbers."""
    layout, generator = Layout(columns=tuple(f"c{i}" for i in range(len(sizes))), sizes=sizes), np.random.default_rng(seed)
    hidden, digits = generator.normal(size=(n, 4)), list[np.ndarray]()
    for column, size in enumerate(sizes):
        values = hidden[:, column % 4] + generator.normal(size=n)
        digits.append(np.searchsorted(np.quantile(values, np.arange(1, size) / size), values))
    return Counts.of(layout, digits)


def measured(name: str, n: int) -> dict[str, float | str]:
    """CPU seconds, peak megabytes, and what came out."""
    if name == SETS:
        started = time.process_time()
        for _ in range(100):
            found = list(maximal_sets((2, 3, 4, 5, 6, 7, 8, 9, 10) * 2, range(18), 93, 18))
        return _line(name, (time.process_time() - started) / 100, f"{len(found)} sets")
    if name in PRIVBAYES:
        table = simulated(PRIVBAYES[name], n, 1)
        generator = PrivBayes(flavour="theta", theta=8, epsilon_split=Fraction(1, 10))
        charge = generator.charge(exact(2))
        private = PrivateCounts(table, Meter([charge]))
        started = time.process_time()
        model = generator.fit(private, charge, Background(plausibility=Plausibility(layout=table.layout, masks=())))
        fitted = time.process_time()
        model.sample(n, np.random.default_rng(2))
        return _line(name, fitted - started, f"and {time.process_time() - fitted:.1f} s for the rows")
    sizes, largest = DIFFERENCES[name]
    left, right = simulated(sizes, n, 1), simulated(sizes, n, 2)
    started = time.process_time()
    worst = largest_difference(left, right, largest)
    return _line(name, time.process_time() - started, f"{worst} of {prod(sizes):.1e} cells")


def _line(name: str, seconds: float, found: str) -> dict[str, float | str]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"name": name, "seconds": seconds, "megabytes": peak, "found": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", default=[SETS, *PRIVBAYES, *DIFFERENCES])
    parser.add_argument("--one", help="measure one line in this process, as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one, options.rows)))
        return
    print("| what | CPU seconds | peak MB | |\n|---|---|---|---|")
    for name in options.only:
        command = [sys.executable, "-m", "tests.benchmarks.width", "--rows", str(options.rows), "--one", name]
        line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"| {line['name']} | {line['seconds']:.2g} | {line['megabytes']:,.0f} | {line['found']} |", flush=True)


if __name__ == "__main__":
    main()
