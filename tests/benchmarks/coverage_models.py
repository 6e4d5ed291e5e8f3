"""How often the intervals of named models hold: the share of runs, of the file and of a population, by design.

    python -m tests.benchmarks.coverage_models [--runs 500] [--design A] [--epsilon 0.5] [--quick]

Designs: A, three columns that vary by a sixth of their limits; B, two of them correlated by .8 and an indicator of 3% of rows;
C, a skewed column and an indicator, with a skewed answer; D, the means of six groups of unequal sizes and of all rows, and the
ratio of two totals; E and F, answers that vary more far from the mean of a column (E), and in the tenth of the rows with a mark
(F: twice as much). Rows are drawn anew in every run. Sums are those of the rows, noise is drawn by the law of the mechanism.

`--quick`, of regressions: an interval holds a number if the noise at this number is within its limit; the quantile of this
limit, in standard deviations, is computed in every 40th run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from synthrelease.answers.averages import Sampling
from synthrelease.answers.estimates import estimate
from synthrelease.answers.models import MeasuredModels
from synthrelease.bundle.models import models_part
from synthrelease.data.rules import Domain
from synthrelease.data.schema import Schema, Transformation
from synthrelease.errors import InputError
from synthrelease.generators.models import Measured, read_model
from synthrelease.generators.row_functions import SHARES, STEPS, NoisyModels, RowFunction, Value
from synthrelease.published.columns import ColumnPart
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from tests.helpers.published import published

Rows = Mapping[str, np.ndarray]
BOUND = 1000
"""Values are whole numbers from -BOUND to BOUND: of the designs, 1 is BOUND."""
MARKS = ("no", "yes")
GROUPS = tuple("abcdef")
DOMAINS = {name: Domain(kind="integer", bounds=(-BOUND, BOUND)) for name in ("u", "v", "w", "y")} | {
    "mark": Domain(kind="category", categories=MARKS),
    "g": Domain(kind="category", categories=GROUPS),
}


def _line(y: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(y, -1, 1) * BOUND)


def design_a(random: np.random.Generator, n: int) -> Rows:
    u, v, w = np.clip(random.normal(0, 0.35, (3, n)), -1, 1)
    y = 0.1 + 0.45 * u - 0.2 * v + 0.1 * w + random.normal(0, 0.25, n)
    return {name: _line(values) for name, values in zip("uvwy", (u, v, w, y), strict=True)}


def design_b(random: np.random.Generator, n: int) -> Rows:
    u, other = random.normal(0, 0.35, (2, n))
    v, mark = 0.8 * u + 0.6 * other, random.random(n) < 0.03
    y = 0.3 * u - 0.1 * v + 0.3 * mark + random.normal(0, 0.25, n)
    return {"u": _line(u), "v": _line(v), "mark": mark.astype(float), "y": _line(y)}


def design_c(random: np.random.Generator, n: int) -> Rows:
    u, mark = random.gamma(2, 0.2, n) - 1, random.random(n) < 0.4
    y = 0.5 * u + 0.1 * mark + 0.1 * (random.exponential(1, n) - 1)
    return {"u": _line(u), "mark": mark.astype(float), "y": _line(y)}


def design_d(random: np.random.Generator, n: int) -> Rows:
    g = random.choice(len(GROUPS), n, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    y = random.gamma(2, 0.2, n) - 0.9 + 0.1 * g
    return {"g": g.astype(float), "y": _line(y), "u": _line(0.4 + 0.2 * y + random.normal(0, 0.2, n))}


def design_e(random: np.random.Generator, n: int) -> Rows:
    u, mark = np.clip(random.normal(0, 0.35, n), -1, 1), random.random(n) < 0.1
    y = 0.3 * u + 0.2 * mark + random.normal(0, 1, n) * (0.1 + 0.3 * np.abs(u) + 0.1 * mark)
    return {"u": _line(u), "mark": mark.astype(float), "y": _line(y)}


def design_f(random: np.random.Generator, n: int) -> Rows:
    u, mark = np.clip(random.normal(0, 0.35, n), -1, 1), random.random(n) < 0.1
    y = 0.3 * u + 0.2 * mark + random.normal(0, 0.15, n) * (1 + mark)
    return {"u": _line(u), "mark": mark.astype(float), "y": _line(y)}


Design = tuple[Callable[[np.random.Generator, int], Rows], tuple[str, ...]]
DESIGNS: Mapping[str, Design] = {
    "A": (design_a, ("slope y on u, v, w",)),
    "B": (design_b, ("slope y on u, v, mark == 'yes'",)),
    "C": (design_c, ("slope y on u, mark == 'yes'",)),
    "E": (design_e, ("slope y on u, mark == 'yes'",)),
    "F": (design_f, ("slope y on u, mark == 'yes'",)),
    "D": (design_d, ("mean y", "mean y by g", "ratio y to u", "mean y: g == 'a' against g == 'b'")),
}
SIZES = {"A": (20_000,), "B": (8_000, 40_000), "C": (20_000,), "E": (20_000,), "F": (20_000,), "D": (20_000,)}


def schema() -> Schema:
    """The columns of all designs, each value of its own."""
    columns = []
    for name, domain in DOMAINS.items():
        table = (
            ColumnTable(kind="category", categories=list(domain.categories))
            if domain.kind == "category"
            else ColumnTable(kind="integer", bounds=(-BOUND, BOUND), step=1, alternatives={"one": [f"{-BOUND}-{BOUND}"]})
        )
        columns.append(build_column(name, table, InputTable(), [], None, own_values=domain.kind == "integer"))
    return Schema(columns=tuple(columns))


SCHEMA = schema()
BINS = Transformation(schema=SCHEMA, binnings=tuple(next(iter(column.alternatives.values())) for column in SCHEMA.columns))


def _factors(function: RowFunction, rows: Rows) -> np.ndarray:
    product = np.ones(len(rows["y"]))
    for factor in function.factors:
        values = rows[factor.column] / BOUND if isinstance(factor, Value) else rows["mark"]
        product = product * values
    return product


def noisy(measured: Measured, rows: Rows, random: np.random.Generator) -> NoisyModels:
    """The sums of these rows, with the noise that they get."""
    sums, tables = [], []
    for block, epsilon in measured.blocks:
        exact = [
            float(((_factors(function, rows) - function.ends[0]) / (1 - function.ends[0])).sum()) * STEPS for function in block
        ]
        radius = random.gamma(len(block) + 1, STEPS / float(epsilon))
        sums.append(tuple(int(value) for value in np.rint(exact + random.uniform(-radius, radius, len(block)))))
    for model in measured.tables:
        place = (rows["y"] / BOUND + 1) / 2
        number = len(GROUPS) if model.words.by else 2
        shares = np.array(
            [
                [float((part * (rows["g"] == group)).sum()) for part in ((1 - place) ** 2, 2 * place * (1 - place), place**2)]
                for group in range(number)
            ]
        )
        scale = 2 / float(measured.of_table)
        drawn = np.rint((shares + random.laplace(0, scale, shares.shape)) * SHARES).astype(np.int64)
        tables.append(tuple((int(a), int(b), int(c)) for a, b, c in drawn))
    return NoisyModels(sums=tuple(sums), tables=tuple(tables))


def answers(question: str, rows: Rows) -> list[float]:
    """What it would be of these rows."""
    y = rows["y"]
    if question.startswith("slope"):
        on = [rows["mark"] if "mark" in part else rows[part.strip()] for part in question.partition(" on ")[2].split(",")]
        return np.linalg.lstsq(np.column_stack([*on, np.ones(len(y))]), y, rcond=None)[0].tolist()  # type: ignore[no-any-return]
    if question.startswith("ratio"):
        return [float(y.sum() / rows["u"].sum())]
    means = [float(y[rows["g"] == group].mean()) for group in range(len(GROUPS))] if "g" in question else []
    if "against" in question:
        return [*means[:2], means[0] - means[1]]
    return means or [float(y.mean())]


def covered(name: str, n: int, epsilon: Fraction, runs: int, seed: int = 1) -> dict[str, dict[str, np.ndarray]]:
    """By question: shares of the answers that held ("file", "population"), of runs with one, and the median half widths."""
    draw, questions = DESIGNS[name]
    random = np.random.default_rng(seed)
    whole = {question: answers(question, draw(random, 4_000_000)) for question in questions}
    found: dict[str, list[np.ndarray]] = {question: [] for question in questions}
    for _ in range(runs):
        rows = draw(random, n)
        for question in questions:  # each with the whole epsilon
            measured = Measured(models=(read_model(question, DOMAINS, {}),), epsilon=epsilon)
            part = models_part(measured, noisy(measured, rows, random), BINS)
            columns = [
                ColumnPart.of(column, binning).published()
                for column, binning in zip(SCHEMA.columns, BINS.binnings, strict=True)
            ]
            release = replace(published(columns, np.zeros((n, len(columns)), dtype=np.int8), []), models=part)
            try:
                answer = estimate(release, question)
            except InputError:
                continue
            for_file = answers(question, rows)
            lines = []
            for term, of_file, of_all in zip((*answer.terms, *answer.contrasts), for_file, whole[question], strict=True):
                if term.low is None or term.high is None or term.population_low is None or term.population_high is None:
                    lines.append((np.nan,) * 3)
                    continue
                holds = term.low <= of_file <= term.high, term.population_low <= of_all <= term.population_high
                lines.append((*map(float, holds), (term.high - term.low) / 2))
            found[question].append(np.array(lines))
    return {question: _shares(tries, runs, len(whole[question])) for question, tries in found.items()}


def quickly_covered(name: str, n: int, epsilon: Fraction, runs: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Of each coefficient, the constant last: shares of runs with an answer in which its interval holds, as told above."""
    draw, (question,) = DESIGNS[name]
    random = np.random.default_rng(seed)
    whole = np.mean([answers(question, draw(np.random.default_rng(77 + part), 2_000_000)) for part in range(5)], axis=0)
    measured = Measured(models=(read_model(question, DOMAINS, {}),), epsilon=epsilon)
    columns = [
        ColumnPart.of(column, binning).published() for column, binning in zip(SCHEMA.columns, BINS.binnings, strict=True)
    ]
    survey = Sampling(reasons=(), effect=1.0, not_drawn=1.0)
    quantiles, held = np.zeros(0), []
    for _ in range(runs):
        rows = draw(random, n)
        part = models_part(measured, noisy(measured, rows, random), BINS)
        release = replace(published(columns, np.zeros((n, len(columns)), dtype=np.int8), []), models=part)
        models = MeasuredModels(release, part)
        found = models.model(question)
        assert found is not None
        try:
            averages = [average for *_, average in models.answer(*found, survey).averages]
        except InputError:
            continue
        ratios = [*(average.file for average in averages), *(average.population for average in averages)]
        numbers = [*answers(question, rows), *whole]
        sizes = np.array([math.sqrt(ratio._variance(number)) for ratio, number in zip(ratios, numbers, strict=True)])
        if len(held) % 40 == 0:
            limits = [ratio._half_width(0.95, number) for ratio, number in zip(ratios, numbers, strict=True)]
            quantiles = np.array(limits) / sizes
        off = [abs(ratio.numerator - number * ratio.denominator) for ratio, number in zip(ratios, numbers, strict=True)]
        held.append(np.array(off) <= quantiles * sizes)
    shares = np.mean(held, axis=0) if held else np.full(2 * len(whole), np.nan)
    return {"told": np.array([len(held) / runs]), "file": shares[: len(whole)], "population": shares[len(whole) :]}


def _shares(tries: list[np.ndarray], runs: int, size: int) -> dict[str, np.ndarray]:
    table = np.array(tries).reshape(-1, size, 3)
    told = np.isfinite(table[:, :, 0]).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return {
            "told": told / runs,
            "file": np.nansum(table[:, :, 0], axis=0) / told,
            "population": np.nansum(table[:, :, 1], axis=0) / told,
            "half width": np.nanmedian(table[:, :, 2], axis=0) if len(table) else np.full(size, np.nan),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--design", choices=sorted(DESIGNS), action="append")
    parser.add_argument("--epsilon", type=Fraction, action="append")
    parser.add_argument("--quick", action="store_true")
    request = parser.parse_args()
    for name in request.design or DESIGNS:
        for n in SIZES[name]:
            for epsilon in request.epsilon or (Fraction(1, 10), Fraction(1, 2)):
                quick = request.quick and DESIGNS[name][1][0].startswith("slope")
                found = {"quick": quickly_covered(name, n, epsilon, request.runs)} if quick else None
                for question, shares in (found or covered(name, n, epsilon, request.runs)).items():
                    print(f"{name} n = {n:,} epsilon = {float(epsilon):g}: {question}", flush=True)
                    for what, values in shares.items():
                        print(f"    {what}: {'  '.join(f'{value:.3g}' for value in values)}", flush=True)


if __name__ == "__main__":
    main()
