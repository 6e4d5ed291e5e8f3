"""How often intervals hold the population's numbers in samples of strata and clusters, and what a private design effect costs.

    python -m tests.benchmarks.surveys [--runs 500] [--seed 1] [--part stated|groups|squares] [--correlation 0.1]

A population of four strata, each with 400 clusters of 20 to 180 persons whose answers agree within clusters (beta-binomial). A
sample draws 30 clusters of each stratum and a stated part of the persons of each, so that weights differ by 3 between strata
and sizes of clusters by 9 within. A run measures one noisy table, of the answer, a group and the weight, at epsilon 1, and asks
three questions: about everybody, about a group that is in every cluster, and about a stratum. Coverage of intervals of 95%:

- simple: as if the rows were a simple random sample (unweighted);
- by weights: with the weights, as if rows were drawn one by one;
- stated: with the design effect of everybody's share, from many other samples, as a published report would have it;
- last year's: with the design effect that one earlier sample estimates, by the formula for ratios from clusters in strata.

Then random groups (theory 13.20, random groups of clusters): 120 clusters in 20 groups, and 40 in 8. Three tables at epsilon 1
each hold the columns of one question, the weight and the groups. The width is that of the interval over 2 * 1.96 standard
deviations of the weighted share in these samples.

Then the private design effect that is not built: squares of clipped sums of clusters with noise (docs/appendix/benchmarks.md).
Prints Markdown.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.answers.estimates import estimate
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.options import DesignPart
from tests.helpers.published import integer_column, noisy_tables, published

STRATA, CLUSTERS, SAMPLED = 4, 400, 30
PARTS = np.array([0.6, 0.4, 0.3, 0.2])
"""Of the persons of a drawn cluster, by stratum: weights of 1, 1.5, 2 and 3."""
COLUMNS = (integer_column("y", [0, 1, 2]), integer_column("group", [0, 1, 2]), integer_column("stratum", [0, 1, 2, 3, 4]))
WEIGHT = replace(integer_column("w", [0, 1, 2, 3, 4]), kind="category", numbers=tuple((PARTS[0] / PARTS).tolist()))
OF_GROUPS = (("y", "w", "g"), ("y", "group", "w", "g"), ("y", "stratum", "w", "g"))
QUESTIONS = ("share y == 1", "share y == 1 where group == 1", "share y == 1 where stratum == 3")
CLIPPED, EACH = 40.0, Fraction(1, 10)
"""A cluster's sum of residuals is cut off here; epsilon of the private design effect of one question."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Persons: their answer, group, stratum and cluster, each (n,)."""

    y: np.ndarray
    group: np.ndarray
    stratum: np.ndarray
    cluster: np.ndarray

    @classmethod
    def of(cls, correlation: float, random: np.random.Generator) -> Population:
        sizes = random.integers(20, 181, STRATA * CLUSTERS)
        spread = (1 - correlation) / correlation
        levels = np.repeat([0.2, 0.3, 0.4, 0.5], CLUSTERS)
        shares = random.beta(levels * spread, (1 - levels) * spread)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        n = len(cluster)
        return cls(
            y=(random.random(n) < shares[cluster]).astype(np.int64),
            group=random.integers(0, 2, n),
            stratum=cluster // CLUSTERS,
            cluster=cluster,
        )

    def sample(self, random: np.random.Generator, sampled: int = SAMPLED) -> np.ndarray:
        """The persons of a sample."""
        drawn = [random.choice(CLUSTERS, sampled, replace=False) + stratum * CLUSTERS for stratum in range(STRATA)]
        inside = np.isin(self.cluster, np.concatenate(drawn))
        return np.flatnonzero(inside & (random.random(len(self.y)) < PARTS[self.stratum]))

    def residual_sums(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The weighted residuals of each drawn cluster, its stratum, and the sum of weights."""
        weights = PARTS[0] / PARTS[self.stratum[rows]]
        share = (weights * self.y[rows]).sum() / weights.sum()
        clusters, first, of_row = np.unique(self.cluster[rows], return_index=True, return_inverse=True)
        sums = np.bincount(of_row, weights=weights * (self.y[rows] - share), minlength=len(clusters))
        return sums, self.stratum[rows][first], float(weights.sum())

    def design_effect(self, rows: np.ndarray) -> float:
        """By the linearised variance of a ratio from clusters in strata (Woodruff 1971)."""
        sums, strata, whole = self.residual_sums(rows)
        variance = sum(
            len(part) / (len(part) - 1) * ((part - part.mean()) ** 2).sum()
            for part in (sums[strata == stratum] for stratum in range(STRATA))
        )
        weights = PARTS[0] / PARTS[self.stratum[rows]]
        share = (weights * self.y[rows]).sum() / whole
        return float(variance / whole**2 / (share * (1 - share) / len(rows)))


def measured(people: Population, rows: np.ndarray, random: np.random.Generator) -> PublishedRelease:
    """A release with the noisy table of a sample."""
    bins = np.column_stack([people.y, people.group, people.stratum, people.stratum])[rows]
    columns = (*COLUMNS, WEIGHT)
    tables = noisy_tables(columns, bins, [tuple(column.name for column in columns)], Fraction(1), random)
    made = published(columns, np.zeros_like(bins), ())
    return replace(made, measurements=Measurements(tables=tables, times=1.0))


def design(effect: float | None) -> DesignPart:
    clusters = None if effect is None else "cluster"
    stated = None if effect is None else max(1.0, effect)
    return DesignPart(weight="w", strata=["stratum"], clusters=clusters, effect=stated, source="x" if effect else "")


def coverage(correlation: float, runs: int, seed: int) -> list[str]:
    """The cells of a row of the table, for each question."""
    random = np.random.default_rng(seed)
    people = Population.of(correlation, random)
    kept = [people.y >= 0, people.group == 1, people.stratum == 3]
    truths = [people.y[inside].mean() for inside in kept]
    others = [people.sample(random) for _ in range(300)]
    effect = float(np.mean([people.design_effect(rows) for rows in others]))
    held = np.zeros((len(QUESTIONS), 4))
    for _ in range(runs):
        release = measured(people, people.sample(random), random)
        last_year = people.design_effect(people.sample(random))
        ways = [(None, ""), (design(None), " weighted"), (design(effect), " weighted"), (design(last_year), " weighted")]
        for way, (stated, weighted) in enumerate(ways):
            for place, (question, truth) in enumerate(zip(QUESTIONS, truths, strict=True)):
                [term] = estimate(replace(release, design=stated), question + weighted).terms
                if term.population_low is not None and term.population_high is not None:
                    held[place, way] += term.population_low <= truth <= term.population_high
    return [
        f"| {correlation} | {question.removeprefix('share y == 1').strip() or 'everybody'} | {effect:.2f} | "
        + " | ".join(f"{part:.1%}" for part in held[place] / runs)
        + " |"
        for place, question in enumerate(QUESTIONS)
    ]


def grouped(correlation: float, sampled: int, n_groups: int, runs: int, seed: int) -> list[str]:
    """The cells of a row about random groups of clusters, for each question."""
    random = np.random.default_rng(seed)
    people = Population.of(correlation, random)
    kept = [people.y >= 0, people.group == 1, people.stratum == 3]
    truths = [people.y[inside].mean() for inside in kept]
    columns = (*COLUMNS, WEIGHT, integer_column("g", list(range(n_groups + 1))))
    stated = DesignPart(weight="w", strata=["stratum"], clusters="cluster", groups="g", effect=None, source="")
    held, widths, shares = np.zeros(len(QUESTIONS)), np.zeros(len(QUESTIONS)), np.zeros((len(QUESTIONS), runs))
    for run in range(runs):
        rows = people.sample(random, sampled)
        group = random.integers(0, n_groups, int(people.cluster.max()) + 1)[people.cluster[rows]]
        bins = np.column_stack([people.y[rows], people.group[rows], people.stratum[rows], people.stratum[rows], group])
        tables = noisy_tables(columns, bins, OF_GROUPS, Fraction(1), random)
        made = replace(published(columns, np.zeros_like(bins), ()), measurements=Measurements(tables=tables, times=1.0))
        for place, (question, truth) in enumerate(zip(QUESTIONS, truths, strict=True)):
            [term] = estimate(replace(made, design=stated), f"{question} weighted").terms
            if term.population_low is not None and term.population_high is not None:
                held[place] += term.population_low <= truth <= term.population_high
                widths[place] += term.population_high - term.population_low
            inside = kept[place][rows]
            shares[place, run] = np.average(people.y[rows][inside], weights=1 / PARTS[people.stratum[rows][inside]])
    widths = widths / runs / (2 * 1.96 * shares.std(axis=1))
    return [
        f"| {correlation} | {4 * sampled} | {n_groups} | {question.removeprefix('share y == 1').strip() or 'everybody'} | "
        f"{held[place] / runs:.1%} | {widths[place]:.2f} |"
        for place, question in enumerate(QUESTIONS)
    ]


def private(correlation: float, questions: int, runs: int, seed: int) -> str:
    """A row about the private design effect, of a record as unit; questions share one noise (theory 9.18, one noise
    for many numbers).

    Sum of squares of the clusters' residuals, each cut off at C: a replaced record moves two clusters' sums by at most 1 each,
    or one by 2, in units of the largest weight; so each of J sums of squares moves by at most 4 C, and all share noise for J.
    """
    random = np.random.default_rng(seed)
    people = Population.of(correlation, random)
    truth, largest = people.y.mean(), float((PARTS[0] / PARTS).max())
    epsilon, inside, errors = float(EACH) * questions, 0, []
    of_one = np.sqrt((questions + 1) * (questions + 2) / 3) if questions > 1 else np.sqrt(2)
    deviation = of_one * 4 * CLIPPED / epsilon
    for _ in range(runs):
        rows = people.sample(random)
        sums, _, whole = people.residual_sums(rows)
        squares = (np.clip(sums / largest, -CLIPPED, CLIPPED) ** 2).sum()
        scale = 4 * CLIPPED / epsilon
        radius = random.gamma(questions + 1, scale)  # the continuous law of one noise for J numbers
        noise = random.uniform(-radius, radius) if questions > 1 else random.laplace(0, scale)
        variance = max(0.0, squares + noise + deviation) * (largest / whole) ** 2
        weights = PARTS[0] / PARTS[people.stratum[rows]]
        share = (weights * people.y[rows]).sum() / whole
        inside += abs(share - truth) <= 1.96 * np.sqrt(variance)
        errors.append(deviation / squares)
    return f"| {correlation} | {questions} | {epsilon:.1f} | {np.mean(errors):.0%} | {inside / runs:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=["stated", "groups", "squares"], action="append")
    parser.add_argument("--correlation", type=float, action="append")
    arguments = parser.parse_args()
    parts, correlations = arguments.part or ["stated", "groups", "squares"], arguments.correlation or [0.02, 0.05, 0.1, 0.2]
    if "stated" in parts:
        print_stated(correlations, arguments.runs, arguments.seed)
    if "groups" in parts:
        print("\n| correlation | clusters | groups | question | held | width |\n|---|---|---|---|---|---|", flush=True)
        for correlation in correlations:
            for sampled, n_groups in ((SAMPLED, 20), (10, 8)):
                print("\n".join(grouped(correlation, sampled, n_groups, arguments.runs, arguments.seed)), flush=True)
    if "squares" in parts:
        print("\n| correlation | questions | epsilon | noise of the variance | held |\n|---|---|---|---|---|")
        for correlation in (0.02, 0.2):
            for questions in (1, 5, 20):
                print(private(correlation, questions, 4 * arguments.runs, arguments.seed))


def print_stated(correlations: list[float], runs: int, seed: int) -> None:
    print(
        "| correlation | question | design effect | simple | by weights | stated | last year's |\n|---|---|---|---|---|---|---|"
    )
    for correlation in correlations:
        print("\n".join(coverage(correlation, runs, seed)), flush=True)


if __name__ == "__main__":
    main()
