"""Agreements of pairs against tables and adaptive choices, on columns of two bins: how far off pairs are, strong pairs lost.

    python tests/benchmarks/agreements.py --data FILE --columns adult|covid [--rows N] [--epsilon 1] [--seeds 5]

FILE is the UCI file adult.data with a header, or Mexico's open COVID file of 2020-04-30. One line for each way: the mean total
variation of all pairs between drawn rows and the file; how many strong pairs (Cramer's V of 0.1 or more) keep less than half of
it; processor seconds and megabytes of a fit, its rows included.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import resource
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.generators.associations import cramers_v
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from tests.benchmarks.generators import charge_of

COVID = [
    *("SEXO", "TIPO_PACIENTE", "INTUBADO", "NEUMONIA", "EMBARAZO", "DIABETES", "EPOC", "ASMA", "INMUSUPR", "HIPERTENSION"),
    *("OTRA_COM", "CARDIOVASCULAR", "OBESIDAD", "RENAL_CRONICA", "TABAQUISMO", "RESULTADO"),
]
ADULT: Mapping[str, Callable[[dict[str, str]], bool]] = {
    "older": lambda row: int(row["age"]) > 37,
    "private": lambda row: row["workclass"] == "Private",
    "college": lambda row: int(row["education-num"]) > 9,
    "degree": lambda row: int(row["education-num"]) > 12,
    "married": lambda row: row["marital-status"].startswith("Married"),
    "never_married": lambda row: row["marital-status"] == "Never-married",
    "professional": lambda row: row["occupation"] in ("Exec-managerial", "Prof-specialty"),
    "husband": lambda row: row["relationship"] == "Husband",
    "white": lambda row: row["race"] == "White",
    "male": lambda row: row["sex"] == "Male",
    "gain": lambda row: int(row["capital-gain"]) > 0,
    "loss": lambda row: int(row["capital-loss"]) > 0,
    "overtime": lambda row: int(row["hours-per-week"]) > 40,
    "american": lambda row: row["native-country"] == "United-States",
    "rich": lambda row: row["salary"].startswith(">50K"),
}
WAYS: Mapping[str, Generator] = {
    "agreements": GaussianMarginals(tables="all 2-way", pairs="agreements", prior_weight=30, draw="evenly"),
    "tables": GaussianMarginals(tables="all 2-way", prior_weight=30, draw="evenly"),
    "adaptive": Adaptive(tables="all 2-way", draw="evenly"),
    "agreements, pure": Marginals(tables="all 2-way", pairs="agreements", prior_weight=30, draw="evenly"),
    "tables, pure": Marginals(tables="all 2-way", prior_weight=30, draw="evenly"),
    "adaptive, pure": AdaptivePure(draw="evenly"),
}


def columns_of(path: Path, kind: str) -> Counts:
    """Return the columns of two bins of one of the two files, as counts of cells."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        rows.fieldnames = [name.strip() for name in rows.fieldnames or []]
        if kind == "covid":
            names, marks = COVID, [[row[name] == "1" for name in COVID] for row in rows]
        else:
            stripped = [{name: (value or "").strip() for name, value in row.items()} for row in rows]
            names, marks = list(ADULT), [[mark(row) for mark in ADULT.values()] for row in stripped if row["age"]]
    layout = Layout(columns=tuple(names), sizes=(2,) * len(names))
    return Counts.of(layout, list(np.array(marks, dtype=np.int64).T))


def pair_tables(counts: Counts) -> list[np.ndarray]:
    """Return the shares of the cells of every pair."""
    bins, weights = [column.astype(np.int64) for column in counts.bins], counts.counts / counts.total
    pairs = combinations(range(len(bins)), 2)
    return [np.bincount(2 * bins[i] + bins[j], weights=weights, minlength=4).reshape(2, 2) for i, j in pairs]


def measure(counts: Counts, generator: Generator, epsilon: Fraction, seed: int) -> tuple[float, int, int, float]:
    """Return the mean total variation of pairs, strong pairs lost, how many there are, and processor seconds."""
    charge, entropy = charge_of(generator, epsilon), SeededEntropy(seed, 63)
    background = Background(plausibility=Plausibility(layout=counts.layout, masks=()))
    start = time.process_time()
    model = generator.fit(PrivateCounts(counts, Meter([charge])).rehearsed(entropy), charge, background)
    rows = model.sample(counts.total, entropy.generator())
    seconds = time.process_time() - start
    exact, drawn = pair_tables(counts), pair_tables(rows)
    off = float(np.mean([np.abs(one - other).sum() / 2 for one, other in zip(exact, drawn, strict=True)]))
    before, after = (np.array([cramers_v(table * counts.total) for table in tables]) for tables in (exact, drawn))
    strong = (after < before / 2)[before >= 0.1]
    return off, int(strong.sum()), len(strong), seconds


def main() -> None:
    """Measure every way and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--columns", choices=("adult", "covid"), required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(WAYS))
    arguments = parser.parse_args()
    counts = columns_of(arguments.data, arguments.columns)
    if arguments.rows:
        chosen = np.random.default_rng(1).multivariate_hypergeometric(counts.counts, arguments.rows)
        counts = Counts.of(counts.layout, list(counts.bins), chosen)
    for name in arguments.only:
        found = [measure(counts, WAYS[name], arguments.epsilon, seed) for seed in range(arguments.seeds)]
        off, lost, strong, seconds = np.mean(found, axis=0)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {arguments.columns} {counts.total:,} x {len(counts.layout.sizes)}, {float(arguments.epsilon):g} | {name} "
            f"| {off:.4f} | {lost:.1f} of {strong:.0f} | {seconds:.1f} | {megabytes:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
