"""How often intervals of `synthrelease estimate` hold the true numbers, beside those that take synthetic rows for real ones.

    python -m tests.benchmarks.coverage births|labour [--runs 1000] [--naive 200] [--seed 1] [--rows N] [--minutes M]

Every run draws a confidential table as a simple random sample (with replacement) of n rows from the public surrogate, which is
the population, measures the tables of the configuration on it with the noise of a release, and asks for estimates. Nothing is
released: the noisy tables are all that the estimates use. In the first --naive runs the model is fitted to them as well, n
synthetic rows are drawn from it (no rejection, no projection), and the usual 95% interval is computed as if they were real.
Both kinds are held against the number of the confidential table and that of the population. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import Question, parse_question
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.base import Background, MeasuringGenerator
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published import PublishedRelease, RulePart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from tests.benchmarks.coverage_questions import QUESTIONS, plain
from tests.helpers.published import published

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = {"births": "births-low-epsilon", "labour": "labour"}
QUANTILE = 1.959964


@dataclass(kw_only=True)
class Found:
    """Of one estimated number, over the runs: whether intervals held its two truths, and how wide they were."""

    held: list[tuple[bool, bool]] = field(default_factory=list)
    widths: list[tuple[float, float]] = field(default_factory=list)
    naive_held: list[tuple[bool, bool]] = field(default_factory=list)
    naive_widths: list[float] = field(default_factory=list)


class Study:
    """Everything that stays the same from run to run."""

    def __init__(self, name: str, n_rows: int | None):
        self.name = name
        self.spec: ReleaseSpec = load_spec(ROOT / "configs" / f"{CONFIGS[name]}.toml")
        data = ROOT / "public_data" / f"{name}_surrogate.csv.gz"
        self.public = read_public(data, self.spec.schema, self.spec.input, self.spec.raw)
        self.n = n_rows or self.public.total
        generator = self.spec.space.generators[0]
        if not isinstance(generator, MeasuringGenerator):
            raise TypeError(f"{generator.family} does not measure")
        self.generator = generator
        self.common: Transformation = self.spec.space.common
        self.bins: Transformation = self.spec.space.draw().transformation
        self.population = self.public.merge(self.common.layout, self.common.maps)
        pairs = zip(self.common.binnings, self.bins.binnings, strict=True)
        self.maps = [finer.map_to(coarser) for finer, coarser in pairs]
        columns = zip(self.spec.schema.columns, self.bins.binnings, strict=True)
        rules = [RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in self.spec.rules]
        self.empty = published(
            [ColumnPart.of(column, binning).published() for column, binning in columns],
            np.zeros((self.n, len(self.bins.layout.sizes)), dtype=np.int64),
            (),
            rules=rules,
        )
        self.questions = [parse_question(text, self.empty) for text in QUESTIONS[name]]
        self.truths = [self.true(question, self.population) for question in self.questions]

    def true(self, question: Question, table: Counts) -> list[float]:
        merged = table.merge(self.bins.layout, self.maps)
        return plain(self.empty, question, merged)[0]

    def run(self, number: int, seed: int, naive: bool, found: dict[tuple[int, int], Found]) -> None:
        random = np.random.default_rng([seed, number])
        shares = self.population.counts / self.population.total
        drawn = self.population.with_counts(random.multinomial(self.n, shares))
        charge = self.spec.generation_charge
        private = PrivateCounts(drawn, Meter([charge])).rehearsed(SeededEntropy(seed, number))
        measured = self.generator.measure(private, charge).merge(self.bins.layout, self.maps)
        names = self.bins.layout.columns
        tables = tuple(
            PublishedMeasurement(
                columns=tuple(names[column] for column in table.columns),
                values=table.values,
                cells=table.cells,
                cost=table.cost,
            )
            for table in measured.tables
        )
        release = with_tables(self.empty, tables)
        rows = None
        if naive:
            background = Background(plausibility=self.spec.synthetic.merge(self.bins), prior=None, ordered=self.bins.ordered)
            rows = self.generator.model(measured, background).sample(self.n, random)
        for place, question in enumerate(self.questions):
            truth, answer = self.true(question, drawn), estimate(release, question.text)
            usual = plain(self.empty, question, rows) if rows is not None else None
            for index, term in enumerate(answer.terms):
                one = found.setdefault((place, index), Found())
                exact, whole = truth[index], self.truths[place][index]
                low, high = ends(term.low, term.high)
                population_low, population_high = ends(term.population_low, term.population_high)
                if term.binned_low is not None:  # the confidential tables have no values but the numbers of their bins
                    low, high = ends(term.binned_low, term.binned_high)
                    population_low, population_high = ends(term.population_binned_low, term.population_binned_high)
                one.held.append((low <= exact <= high, population_low <= whole <= population_high))
                one.widths.append((high - low, population_high - population_low))
                if usual is not None:
                    half = QUANTILE * usual[1][index]
                    one.naive_held.append((abs(usual[0][index] - exact) <= half, abs(usual[0][index] - whole) <= half))
                    one.naive_widths.append(2 * half)


def ends(low: float | None, high: float | None) -> tuple[float, float]:
    """Of an interval; infinite where it has none."""
    return -math.inf if low is None else low, math.inf if high is None else high


def with_tables(release: PublishedRelease, tables: Sequence[PublishedMeasurement]) -> PublishedRelease:
    return replace(release, measurements=Measurements(tables=tuple(tables), times=1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(CONFIGS))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--naive", type=int, default=200, help="in how many runs synthetic rows are drawn as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, help="of each confidential table; as many as the surrogate has if not given")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no runs after so many")
    options = parser.parse_args()
    study, found = Study(options.name, options.rows), dict[tuple[int, int], Found]()
    start = time.process_time()
    last = time.monotonic() + 60 * options.minutes
    runs = 0
    while runs < options.runs and time.monotonic() < last:
        study.run(runs, options.seed, runs < options.naive, found)
        runs += 1
    seconds = time.process_time() - start
    chance = clopper_pearson(round(0.95 * runs), runs)
    naive = min(runs, options.naive)
    print(f"{runs} tables of {study.n:,} rows, {naive} of them with synthetic rows; {seconds:,.0f} processor seconds.")
    print(f"Of 95% in so many runs, {100 * chance.low:.1f}% to {100 * chance.high:.1f}% is what chance does.\n")
    print("| estimate | table: held | width | population: held | width | rows as real: table held | population held | width |")
    print("|---|---|---|---|---|---|---|---|")
    for (place, index), one in found.items():
        question = study.questions[place]
        name = question.text if len(question.on) < 2 else f"{question.text}: {question.on[index]}"
        print(f"| {name} | " + " | ".join(cells(one, question.kind == "share")) + " |")


def cells(one: Found, percent: bool) -> list[str]:
    def width(value: float) -> str:
        return f"{100 * value:.3g} points" if percent else f"{value:.3g}"

    held, widths = np.mean(one.held, axis=0), np.mean(one.widths, axis=0)
    shown = [f"{100 * held[0]:.1f}%", width(widths[0]), f"{100 * held[1]:.1f}%", width(widths[1])]
    if not one.naive_held:
        return [*shown, "", "", ""]
    naive = np.mean(one.naive_held, axis=0)
    return [*shown, f"{100 * naive[0]:.1f}%", f"{100 * naive[1]:.1f}%", width(float(np.mean(one.naive_widths)))]


if __name__ == "__main__":
    main()
