"""Three surveys answered from noisy tables as a new analyst would, beside R's package survey on the files themselves.

    Rscript tests/benchmarks/analysts.R public_data/labour_surrogate.csv.gz FOLDER
    python -m tests.benchmarks.analysts FOLDER [--runs 200] [--seed 1] [--survey labour]

The labour survey of `demo` (rows drawn one by one), and two surveys that come with R's package: NHANES (31 clusters, in 6
random groups) and the Youth Risk Behavior Survey (54 clusters, in 10). Each run draws the noise of all tables, at epsilon 1.
Counted is how often the interval for the file, and the one for the population, holds R's estimate. The width is that of the
population's interval, its median over that of R's. Bins of hours and weights are intervals: "bin numbers" is the one by their
representative values alone. Prints Markdown.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from synthrelease.answers.estimates import estimate
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.options import DesignPart
from tests.helpers.published import integer_column, noisy_tables, published

EDGES: Mapping[str, Mapping[str, Sequence[float]]] = {
    "nhanes": {
        "y": [0, 1, 2, 3],
        "sex": [1, 2, 3],
        "age": [1, 2, 3, 4, 5],
        "weight": [4000, 8000, 12000, 16000, 20000, 30000, 40000, 60000, 80000, 100000, 120000, 160000],
    },
    "yrbs": {"y": [1, 2, 3, 4], "weight": [0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 11]},
    "labour": {
        "y": [1, 2, 3, 4],
        "sex": [1, 2, 3],
        "hours": [-1, 0, 10, 20, 30, 35, 38, 40, 41, 45, 50, 60, 100],
        "weight": [17, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80],
    },
}
"""Bins; the last one of y, and the first one of hours, are missing values."""
MISSING = {"nhanes": {"y": 2}, "yrbs": {"y": 3}, "labour": {"hours": -1}}
GROUPS = {"nhanes": 6, "yrbs": 10, "labour": 0}
TABLES = {
    "nhanes": ["y weight g", "y sex weight g", "y age weight g"],
    "yrbs": ["y weight g"],
    "labour": ["y weight", "y sex weight", "hours weight", "hours sex weight"],
}


def column(name: str, edges: Sequence[float]) -> PublishedColumn:
    """Return a column whose representative values are the middles of what its bins can hold."""
    made = integer_column(name, edges)
    if name not in ("weight", "hours"):
        return made
    whole = int(name == "hours")
    upper = tuple(float(high - whole) for high in edges[1:])
    numbers = tuple((low + high) / 2 for low, high in zip(edges, upper, strict=False))
    return replace(made, kind="integer" if whole else "real", numbers=numbers, lower=tuple(map(float, edges[:-1])), upper=upper)


def table_of(folder: Path, survey: str) -> tuple[list[PublishedColumn], np.ndarray]:
    """Return the columns of a survey, and the (n_rows, n_columns) bins of its file; clusters fall into groups by a digest."""
    rows = pd.read_csv(folder / f"{survey}.csv").fillna(MISSING[survey])
    columns = [column(name, edges) for name, edges in EDGES[survey].items()]
    bins = [np.searchsorted(edges, rows[name], side="right") - 1 for name, edges in EDGES[survey].items()]
    if n_groups := GROUPS[survey]:
        digests = [hashlib.sha256(cluster.encode()).digest() for cluster in rows["cluster"]]
        columns.append(integer_column("g", list(range(n_groups + 1))))
        bins.append(np.array([int.from_bytes(digest[:8]) % n_groups for digest in digests]))
    return columns, np.column_stack(bins)


def release_of(columns: list[PublishedColumn], bins: np.ndarray, survey: str, random: np.random.Generator) -> PublishedRelease:
    """Return a release of noisy tables."""
    tables = noisy_tables(columns, bins, [text.split() for text in TABLES[survey]], Fraction(1), random)
    groups = "g" if GROUPS[survey] else None
    stated = DesignPart(weight="weight", strata=[], clusters=groups and "cluster", groups=groups, effect=None, source="")
    made = published(columns, np.zeros_like(bins), ())
    measured = Measurements(tables=tables, times=1.0)
    return replace(made, measurements=measured, design=stated, not_a_sample=("design weights",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--survey", choices=list(GROUPS), action="append")
    arguments = parser.parse_args()
    print("| survey | question | R: estimate | R: interval | held, file | held, population | width | bin numbers: held, file |")
    print("|---|---|---|---|---|---|---|---|")
    with (arguments.folder / "answers.tsv").open() as opened:
        answers = list(csv.reader(opened, delimiter="\t"))
    for survey in arguments.survey or GROUPS:
        columns, bins = table_of(arguments.folder, survey)
        random = np.random.default_rng(arguments.seed)
        releases = [release_of(columns, bins, survey, random) for _ in range(arguments.runs)]
        for _, question, *numbers in (answer for answer in answers if answer[0] == survey):
            truth, low, high = map(float, numbers)
            cells = [survey, question, f"{truth:.4g}", f"{low:.4g} to {high:.4g}"]
            try:
                terms = [estimate(release, question).terms[0] for release in releases]
            except InputError as error:
                print(f"| {' | '.join(cells)} | refused: {str(error).partition(': ')[2]} | | | |")
                continue
            ends = np.array([[end if end is not None else np.nan for end in term_ends(term)] for term in terms])
            held = [np.mean((ends[:, side] <= truth) & (truth <= ends[:, side + 1])) for side in (0, 2, 4)]
            none = [bool(np.isnan(ends[:, side]).all()) for side in (0, 2, 4)]
            told = ["none" if is_none else f"{share:.1%}" for share, is_none in zip(held, none, strict=True)]
            width = "–" if none[1] else f"{np.median(ends[:, 3] - ends[:, 2]) / (high - low):.2f}"
            print(f"| {' | '.join([*cells, told[0], told[1], width, told[2]])} |", flush=True)


def term_ends(term: object) -> list[float | None]:
    """Return the ends for the file, for the population, and of bin numbers for the file."""
    names = ("low", "high", "population_low", "population_high", "binned_low", "binned_high")
    return [getattr(term, name) for name in names]


if __name__ == "__main__":
    main()
