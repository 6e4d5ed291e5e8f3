"""How often the intervals of contrasts hold the numbers of the file, and those of a population, small cells included.

    python -m tests.benchmarks.contrasts [--runs 1000] [--seed 1] [--processes 2]

Every design has an exposed and an unexposed group of stated sizes, with stated shares of an outcome, and a number with five
bins whose mean depends on the group. A run draws the file from the population, noisy tables of exposure by outcome and of
exposure by number from the file, and asks `estimate`. Nothing is selected. Where a ratio is not estimable it holds, as its
interval is everything; beside it stands how often it was told, and how often it held where it was. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.answers.estimates import estimate
from synthrelease.answers.words import Term
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement
from tests.helpers.published import integer_column, published

COLUMNS = (
    integer_column("outcome", [0, 1, 2]),
    integer_column("exposed", [0, 1, 2]),
    integer_column("dose", [0, 1, 2, 3, 4, 5]),
)
TABLES = ((0, 1), (1, 2))
DOSES = np.array([[0.4, 0.3, 0.2, 0.07, 0.03], [0.3, 0.25, 0.2, 0.15, 0.1]])
"""Of the unexposed and the exposed."""
QUESTIONS = ("share outcome == 1: exposed == 1 against == 0", "mean dose: exposed == 1 against == 0")


@dataclass(frozen=True, kw_only=True)
class Design:
    """Group sizes and shares, exposed first, and the epsilon of each noisy table."""

    sizes: tuple[int, int]
    shares: tuple[float, float]
    epsilon: Fraction


DESIGNS = (
    Design(sizes=(30_000, 120_000), shares=(0.12, 0.10), epsilon=Fraction(3, 10)),
    Design(sizes=(2_000, 20_000), shares=(0.01, 0.004), epsilon=Fraction(1, 5)),
    Design(sizes=(300, 3_000), shares=(0.05, 0.02), epsilon=Fraction(1, 5)),
    Design(sizes=(300, 300), shares=(0.3, 0.1), epsilon=Fraction(1, 2)),
    Design(sizes=(100, 1_000), shares=(0.2, 0.1), epsilon=Fraction(1, 10)),
    Design(sizes=(30, 1_000), shares=(0.5, 0.2), epsilon=Fraction(1, 10)),
    Design(sizes=(500, 500), shares=(0.1, 0.0), epsilon=Fraction(1, 5)),
    Design(sizes=(40, 40), shares=(0.5, 0.25), epsilon=Fraction(1)),
)


@dataclass
class Held:
    """How many intervals there were, how many were told, and how many of these held."""

    runs: int = 0
    told: int = 0
    held: int = 0

    @property
    def coverage(self) -> float:
        return 1 - (self.told - self.held) / self.runs


def drawn(design: Design, random: np.random.Generator) -> list[np.ndarray]:
    """The tables of a file: (outcome, exposed) and (exposed, dose), groups of fixed sizes."""
    outcome, dose = np.zeros((2, 2), dtype=np.int64), np.zeros((2, 5), dtype=np.int64)
    for group, size, share in ((1, design.sizes[0], design.shares[0]), (0, design.sizes[1], design.shares[1])):
        cases = random.binomial(size, share)
        outcome[:, group] = size - cases, cases
        dose[group] = random.multinomial(size, DOSES[group])
    return [outcome, dose]


def measured(tables: list[np.ndarray], epsilon: Fraction, random: np.random.Generator) -> PublishedRelease:
    """A release of these noisy tables."""
    stop, found = 1 - math.exp(-float(epsilon) / 2), []
    for places, table in zip(TABLES, tables, strict=True):
        noise = random.geometric(stop, table.shape) - random.geometric(stop, table.shape)
        names = tuple(COLUMNS[place].name for place in places)
        found.append(PublishedMeasurement(columns=names, values=table + noise, cells=np.ones_like(table), cost=epsilon))
    made = published(COLUMNS, np.zeros((int(tables[0].sum()), len(COLUMNS)), dtype=int), ())
    return replace(made, measurements=Measurements(tables=tuple(found), times=1.0))


def truths(shares: tuple[float, float], means: tuple[float, float]) -> dict[str, float]:
    """Of the exposed against the unexposed."""
    (exposed, other), odds = shares, [share / (1 - share) for share in shares]
    ratios = (exposed / other, odds[0] / odds[1]) if other else (math.inf, math.inf)
    return {
        "risk difference": exposed - other,
        "risk ratio": ratios[0],
        "odds ratio": ratios[1],
        "difference of means": means[0] - means[1],
    }


def of_file(tables: list[np.ndarray]) -> dict[str, float]:
    outcome, dose = tables
    shares, means = outcome[1] / outcome.sum(axis=0), dose @ np.arange(5) / dose.sum(axis=1)
    return truths((shares[1], shares[0]), (means[1], means[0]))


def asked(release: PublishedRelease) -> Iterator[Term]:
    for question in QUESTIONS:
        yield from estimate(release, question).contrasts


def study(design: Design, runs: int, seed: int) -> dict[tuple[str, str], Held]:
    """By contrast, and "file" or "population"."""
    random, found = np.random.default_rng(seed), defaultdict[tuple[str, str], Held](Held)
    population = truths(design.shares, tuple(DOSES[[1, 0]] @ np.arange(5)))
    for _ in range(runs):
        tables = drawn(design, random)
        true = of_file(tables)
        for term in asked(measured(tables, design.epsilon, random)):
            ends = {"file": (term.low, term.high, true), "population": (term.population_low, term.population_high, population)}
            for about, (low, high, numbers) in ends.items():
                held = found[term.name, about]
                held.runs += 1
                if low is not None and high is not None:
                    held.told += 1
                    held.held += low - 1e-9 <= numbers[term.name] <= high + 1e-9
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    settings = parser.parse_args()
    with ProcessPoolExecutor(settings.processes) as pool:
        jobs = [pool.submit(study, design, settings.runs, settings.seed) for design in DESIGNS]
        print("| groups | shares | epsilon of a table | contrast | the file: held | told | population: held | told |")
        print("|---|---|---|---|---|---|---|---|")
        for design, job in zip(DESIGNS, jobs, strict=True):
            found = job.result()
            sizes, shares = (f"{size:,}" for size in design.sizes), (f"{share:.1%}" for share in design.shares)
            groups = f"{' / '.join(sizes)} | {' / '.join(shares)} | {float(design.epsilon):g}"
            for name in truths((0.5, 0.5), (0, 0)):
                both = (found[name, "file"], found[name, "population"])
                parts = [f"{one.coverage:.1%} | {one.told / one.runs:.0%}" for one in both]
                print(f"| {groups} | {name} | {' | '.join(parts)} |")


if __name__ == "__main__":
    main()
