"""Do refits of the model on redrawn noise give analyses of synthetic rows a valid interval? (docs/appendix/benchmarks.md)

    python -m tests.benchmarks.refits births|labour [--runs 60] [--refits 10] [--rows N] [--seed 1] [--minutes M]

Every run draws a file from the public surrogate (the population), measures the tables of the configuration on it, fits the
model and draws as many synthetic rows: the release. Then it refits `--refits` times, in two ways. "Whole": rows are drawn from
the fitted model as if it were the population, measured with new noise, and a model is fitted to these; synthetic rows of it
give the analysis once more (parametric bootstrap). "Noise": new noise is added to the published tables, and the model is fitted
to the sum. The standard deviation of an analysis over refits is its standard error; the interval takes the quantile of t with
one degree of freedom less than refits, around the answer of the released rows. "Moved" takes off the bias that the whole refits
show. Beside them are the textbook's interval of the released rows, and that of `synthrelease estimate` where it answers.

"Small error" are the half of the runs whose synthetic rows are closest to the file in its measured tables, as an acceptance
test would choose. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import parse_condition, parse_question
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError
from synthrelease.generators.base import Background
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published import PublishedRelease
from tests.benchmarks.coverage import QUANTILE, Study, ends, with_tables
from tests.benchmarks.coverage_questions import plain
from tests.benchmarks.noisy_tables import drawn_noise, published_tables

ANALYSES = {
    "births": (
        ("measured", "slope birth_weight on gestation_week, birth_sex"),
        ("measured", "slope birth_weight on mother_age, parity"),
        ("measured", "slope birth_weight on gestation_week, mother_age, parity"),
        ("measured", "logit gestation_week < 37 on mother_age >= 35"),
        ("not measured", "logit birth_weight < 2500 on gestation_week < 37, mother_age >= 35, parity == 1"),
        ("not measured", "slope birth_weight on gestation_week where mother_age < 25"),
        ("not measured", "slope birth_weight on gestation_week where parity == 1"),
    ),
    "labour": (
        ("measured", "slope wage on education"),
        ("measured", "slope wage on hours"),
        ("measured", "slope household_size on age"),
        ("not measured", "slope wage on age"),
        ("not measured", "slope hours on age"),
        ("not measured", "slope hours on education"),
        ("not measured", "logit labour_status == 'Unemployed' on sex == 'Female', education == 'Doctorate'"),
        ("not measured", "logit contract == 'Fixed-term' on sex == 'Female', wage >= 2500"),
    ),
}
"""Whether every pair of the columns of a linear regression, or all columns of another model, are in one measured table."""
WAYS = (
    "rows as real",
    "whole, population",
    "moved, population",
    "noise, the file",
    "estimate, the file",
    "estimate, population",
)


@dataclass(frozen=True)
class Analysis:
    """A regression with an intercept: linear, of numbers of bins, or logistic, of conditions."""

    study: Study
    text: str

    def of(self, rows: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients without the intercept, and the standard errors that real rows would have."""
        if self.text.startswith("slope"):
            found = plain(self.study.empty, parse_question(self.text, self.study.empty), rows)
            return np.array(found[0]), np.array(found[1])
        target, _, others = self.text.removeprefix("logit ").partition(" on ")
        y = self._met(target, rows)
        x = np.column_stack([np.ones(len(y)), *(self._met(one, rows) for one in others.split(", "))])
        return _logit(x, y, rows.counts.astype(float))

    @property
    def names(self) -> list[str]:
        target, _, others = self.text.partition(" on ")
        each = others.partition(" where ")[0].split(", ")
        where = f" where {others.partition(' where ')[2]}" if " where " in others else ""
        return [f"{target} on {others}"] if len(each) == 1 else [f"{target} on {', '.join(each)}{where}: {one}" for one in each]

    def _met(self, text: str, rows: Counts) -> np.ndarray:
        release = self.study.empty
        condition = parse_condition(text, release)
        places = [place for place, column in enumerate(release.schema) if column.name in condition.columns]
        mask = condition.mask(tuple(release.schema[place] for place in places))
        return np.asarray(mask[tuple(rows.bins[place] for place in places)]).astype(float)


def _logit(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood by Newton's steps."""
    theta = np.zeros(x.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-np.clip(x @ theta, -30, 30)))
        information = (x * (counts * p * (1 - p))[:, None]).T @ x + 1e-9 * np.eye(len(theta))
        step = np.linalg.solve(information, x.T @ (counts * (y - p)))
        theta = theta + np.clip(step, -2, 2)
        if abs(step).max() < 1e-9:
            break
    return theta[1:], np.sqrt(np.diag(np.linalg.inv(information)))[1:]


class Refits:
    """A study, and what one run of it does."""

    def __init__(self, study: Study, times: int):
        self.study, self.times = study, times
        self.analyses = [Analysis(study, text) for _, text in ANALYSES[study.name]]
        self.truths = [each.of(self.merged(study.population))[0] for each in self.analyses]
        self.background = Background(
            plausibility=study.spec.synthetic.merge(study.bins), prior=None, ordered=study.bins.ordered
        )

    def merged(self, table: Counts) -> Counts:
        return table.merge(self.study.bins.layout, self.study.maps)

    def measured(self, table: Counts, seed: tuple[int, ...]) -> NoisyMarginals:
        """Noisy tables of a file, on the released bins."""
        study, charge = self.study, self.study.spec.generation_charge
        private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(*seed))
        return study.generator.measure(private, charge).merge(study.bins.layout, study.maps)

    def rows(self, measured: NoisyMarginals, random: np.random.Generator) -> Counts:
        return self.study.generator.model(measured, self.background).sample(self.study.n, random)

    def run(self, number: int, seed: int) -> tuple[float, list[dict[str, list[tuple[bool, float]]]]]:
        """The error of the rows in the measured tables, and of each analysis whether intervals held and their widths."""
        study, random = self.study, np.random.default_rng([seed, number])
        shares = study.population.counts / study.population.total
        file = study.population.with_counts(random.multinomial(study.n, shares))
        measured = self.measured(file, (seed, number))
        released = self.rows(measured, random)
        whole, noise, names = [], [], study.bins.layout.columns
        for _ in range(self.times):
            drawn = self.rows(measured, random)
            whole.append(self.rows(_measured_again(measured, drawn, names, random), random))
            noise.append(self.rows(_measured_again(measured, None, names, random), random))
        quantile, found = float(student.ppf(0.975, self.times - 1)), []
        release = with_tables(study.empty, published_tables(measured, names))
        for analysis, truth in zip(self.analyses, self.truths, strict=True):
            of_file, (answer, plain_error) = analysis.of(self.merged(file))[0], analysis.of(released)
            refits = np.array([analysis.of(rows)[0] for rows in whole])
            redrawn = np.array([analysis.of(rows)[0] for rows in noise])
            half = quantile * refits.std(axis=0, ddof=1)
            intervals = {
                "rows as real": (answer, QUANTILE * plain_error, truth),
                "whole, population": (answer, half, truth),
                "moved, population": (2 * answer - refits.mean(axis=0), half * math.sqrt(1 + 1 / self.times), truth),
                "noise, the file": (answer, quantile * redrawn.std(axis=0, ddof=1), of_file),
            }
            held = {
                way: list(zip(abs(middle - true) <= half, (2 * half).tolist(), strict=True))
                for way, (middle, half, true) in intervals.items()
            }
            found.append(held | self._estimated(release, analysis, of_file, truth))
        merged = self.merged(file)
        error = max(float(abs(merged.marginal(one.columns) - released.marginal(one.columns)).max()) for one in measured.tables)
        return error, found

    def _estimated(
        self, release: PublishedRelease, analysis: Analysis, of_file: np.ndarray, truth: np.ndarray
    ) -> dict[str, list[tuple[bool, float]]]:
        if not analysis.text.startswith("slope"):
            return {}
        try:
            terms = estimate(release, analysis.text).terms
        except InputError:  # no table holds the columns together
            return {}
        made = defaultdict(list)
        for term, exact, whole in zip(terms, of_file, truth, strict=True):
            for way, pairs, true in (
                ("estimate, the file", ((term.binned_low, term.binned_high), (term.low, term.high)), exact),
                (
                    "estimate, population",
                    ((term.population_binned_low, term.population_binned_high), (term.population_low, term.population_high)),
                    whole,
                ),
            ):
                low, high = ends(*(pairs[0] if pairs[0][0] is not None else pairs[1]))
                made[way].append((low <= true <= high, high - low))
        return dict(made)


def _measured_again(
    measured: NoisyMarginals, rows: Counts | None, names: Sequence[str], random: np.random.Generator
) -> NoisyMarginals:
    """The tables of these rows, or the published ones as they are, with new noise of the published law."""
    tables = []
    for table, known in zip(measured.tables, published_tables(measured, names), strict=True):
        counts = table.values if rows is None else rows.marginal(table.columns).reshape(table.values.shape)
        tables.append(replace(table, values=counts + drawn_noise(known, random)))
    return replace(measured, tables=tuple(tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(ANALYSES))
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--refits", type=int, default=10)
    parser.add_argument("--rows", type=int, help="as many as the surrogate has if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no runs after so many")
    options = parser.parse_args()
    refits, start = Refits(Study(options.name, options.rows), options.refits), time.process_time()
    results: list[tuple[float, list[dict[str, list[tuple[bool, float]]]]]] = []
    last = time.monotonic() + 60 * options.minutes
    while len(results) < options.runs and time.monotonic() < last:
        results.append(refits.run(len(results), options.seed))
    print(f"{len(results)} files of {refits.study.n:,} rows, {options.refits} refits; {time.process_time() - start:,.0f} s.\n")
    print(f"| columns | analysis | {' | '.join(WAYS)} | whole, small error |\n|{'---|' * (len(WAYS) + 3)}")
    middle = np.median([error for error, _ in results])
    for place, ((kind, _), analysis) in enumerate(zip(ANALYSES[options.name], refits.analyses, strict=True)):
        for index, name in enumerate(analysis.names):
            cells = []
            for way in WAYS:
                held = [one[place][way][index] for _, one in results if way in one[place]]
                cells.append(f"{np.mean([h for h, _ in held]):.0%} ({np.median([w for _, w in held]):.3g})" if held else "–")
            close = [one[place]["whole, population"][index][0] for error, one in results if error <= middle]
            print(f"| {kind} | {name} | {' | '.join(cells)} | {np.mean(close):.0%} |", flush=True)


if __name__ == "__main__":
    main()
