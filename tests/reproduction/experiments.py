"""Run the experiments of the source papers again: on simulated births, on printed tables and on made-up incomes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomlkit

from synthrelease.criteria.facts import figure, noise_deviation
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.enclave.ingest import read_public
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Generator
from synthrelease.privacy.curves import rho_within, zcdp
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.baselines.swapping import PermutationSwapping
from synthrelease.studio.rehearsal.attempts import AttemptResult, Trials, run_attempts
from tests.reproduction.imputation import GappedTable, ImputedAnswers, NearestNeighbours, Neighbours, order_by_distance
from tests.reproduction.tables import FORMULAS, Rows, markdown, printed

SEED = 2014
ATTEMPTS, RUNS = 10, 20
EPSILON, DELTA = Fraction(4), Fraction(1, 10**9)


def table_2() -> Rows:
    """Return Table 2 of Hod & Canetti (2024) for simulated births: medians of exact criterion values, with sensitivity and
    noise.
    """
    spec, rows = load_spec(resource("configs/births-paper.toml")), []
    attempts = _on_births(spec, [(index % len(spec.space), index) for index in range(ATTEMPTS)])
    for number, (kind, name, threshold, result, epsilon, _, limits, *noise) in enumerate(printed()["births"]["criteria"]):
        value = float(np.median([attempt.figures[number] for attempt in attempts]))
        ours = f"{100 * value:.3f}%" if result.endswith("%") else ("x " if result.startswith("x") else "") + figure(value, 4)
        rows.append([kind, name, threshold, result, ours, epsilon, limits, noise[0], "", noise[1], ""])
        if noise[0]:
            step = float(np.median([attempt.sensitivities[number] for attempt in attempts]))
            rows[-1][8], rows[-1][10] = figure(step, 3), figure(noise_deviation(step, Fraction(epsilon)), 3)
    return rows


def families() -> Rows:
    """Return the errors of one fit of each family of generators at epsilon 4. The errors are shares of the thresholds."""
    criteria, rows = load_spec(resource("configs/births.toml")).criteria, []
    for name, settings in printed()["families"].items():
        generator = GENERATORS[settings["family"]].model_validate(settings)
        (attempt,) = _on_births(_with_family(generator, settings), [(0, 0)])
        shares = [
            math.inf if value is None else value / criterion.threshold
            for criterion, value in zip(criteria, attempt.figures, strict=True)
            if criterion.threshold
        ]
        met = sum(share <= 1 for share in shares)
        rows.append([name, generator.guarantee, *(f"{share:.2f}" for share in shares), f"{met} of {len(shares)}"])
    return rows


def _with_family(generator: Generator, settings: Mapping[str, Any]) -> ReleaseSpec:
    """Return the specification of the shipped births with one configuration of one family, which gets epsilon 4 (at delta
    1e-9).
    """
    tables = {
        "extends": str(resource("configs/births.toml")),
        **printed()["fits"],
        "generators": [dict(settings)],
        "budget": {"generation": str(generation_budget(generator, EPSILON)), "limit": 100}
        | ({} if generator.guarantee == "pure" else {"delta": str(DELTA)}),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.toml"
        path.write_text(tomlkit.dumps(tables), encoding="utf-8")
        return load_spec(path)


def generation_budget(generator: Generator, epsilon: Fraction) -> Fraction:
    """Return epsilon for a pure family. For other families, return the largest rho that costs at most epsilon at `DELTA`.

    A Gaussian family uses the exact curve; other families use the general conversion, to 1e-6.
    """
    if generator.guarantee == "pure":
        return epsilon
    if generator.gaussian:
        return rho_within(epsilon, DELTA)
    low, high = Fraction(0), epsilon
    while high - low > Fraction(1, 10**6):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp(middle).epsilon(DELTA) <= epsilon else (low, middle)
    return low


def _on_births(spec: ReleaseSpec, attempts: list[tuple[int, int]]) -> list[AttemptResult]:
    """Run attempts on the simulated births with seeded noise, which protects nobody. Return their results."""
    table = read_public(resource("public_data/births_surrogate.csv.gz"), spec.schema, spec.input, spec.raw)
    return run_attempts(Trials(spec=spec, counts=table, seed=SEED), attempts, spec.budget.generation)


def counties() -> Counts:
    """Return the printed dwellings of Massachusetts in 1940 by county, and owned (0) or rented (1)."""
    counts = np.array([row[1:3] for row in printed()["swapping"]["counties"]])
    layout = Layout(columns=("county", "dwelling"), sizes=counts.shape)
    return Counts(layout, np.arange(counts.size), counts.ravel())


def percentage_error(original: np.ndarray, other: np.ndarray) -> float:
    """Return the mean over cells of |other - original| / original, in percent, without cells that are 0 in the original."""
    there = original > 0
    return float(100 * np.mean(np.abs(other[there] - original[there]) / original[there]))


def counties_swapped() -> Rows:
    """Return the percentage errors of owned and rented dwellings by county after swapping. The paper prints one run at a rate
    of 50%.
    """
    table, generator, rows = counties(), SeededEntropy(1940).generator(), []
    original = table.marginal([0, 1])
    owned = np.array([row[3] for row in printed()["swapping"]["counties"]])
    once = percentage_error(original, np.stack([owned, original.sum(axis=1) - owned], axis=1))
    for rate in printed()["swapping"]["rates"]:
        swap = PermutationSwapping(key=(), variables=(0,), rate=Fraction(rate)).swap
        errors = [percentage_error(original, swap(table, generator).marginal([0, 1])) for _ in range(RUNS)]
        text = f"{once:.2f}%" if rate == "0.50" else ""
        rows.append([f"{float(rate):.0%}", text, f"{np.mean(errors):.2f}%", f"{min(errors):.2f}% to {max(errors):.2f}%"])
    return rows


# Made-up incomes with many missing values, more often for high incomes; and estimates of the mean income.
#
# The table has 96 cells of columns without missing values (8 ages, 2 sexes, 6 levels of education), and incomes from 0 to 5,000
# in steps of 100. About 28% of the incomes are missing. The probability depends only on the cell, and rises with its mean.
# The experiment imitates Merrill 2021, section 6.5, whose files cannot be shared.

CELLS = np.array([(age, 2 * sex, level) for age, sex, level in product(range(8), range(2), range(6))])
LARGEST, STEP = 5000, 100
SCHEME = NearestNeighbours(order=order_by_distance(CELLS), k=1, default=float(LARGEST / 2))
INCOME_EPSILON = 6 * math.log(2)


class Incomes(NamedTuple):
    """A table with missing incomes, and the mean of all incomes before some incomes were removed."""

    table: GappedTable
    mean: float


def incomes(generator: np.random.Generator, n: int = 60_000) -> Incomes:
    """Draw a table of incomes and remove some of them. Return the table with the true mean."""
    age, sex, level = CELLS.T
    size = np.exp(-0.5 * ((age - 3) / 2.5) ** 2) * np.exp(-0.25 * level)
    cells = generator.choice(len(CELLS), n, p=size / size.sum())
    middle = 600 + 900 * np.exp(-0.5 * ((age - 4) / 2) ** 2) + 150 * sex + 220 * level
    steps = generator.gamma(4, middle[cells] / 4) / STEP
    values = np.minimum(np.round(steps) * STEP, LARGEST)
    silent = 0.06 + 0.45 * (middle - middle.min()) / (middle.max() - middle.min())
    observed = np.where(generator.random(n) < silent[cells], np.nan, values)
    table = GappedTable(cells=cells, labels=generator.permutation(n), values=observed)
    return Incomes(table=table, mean=float(values.mean()))


def ignoring(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """Return the mean of the known incomes with Laplace noise for a replaced record. The number of known incomes is public."""
    answered = table.values[~table.gaps]
    return float(answered.mean() + generator.laplace(0, LARGEST / len(answered) / epsilon))


def imputed_exactly(table: GappedTable) -> float:
    """Return the mean of the imputed table, without noise."""
    return float(SCHEME.imputed(table).mean())


def imputed(table: GappedTable, neighbours: Neighbours, generator: np.random.Generator) -> float:
    """Return the mean of the imputed table, with noise by smooth sensitivity. The size of the table is public."""
    answers = ImputedAnswers(scheme=SCHEME, neighbours=neighbours, low=0, high=LARGEST)
    everybody, size = lambda cells, _: np.ones(len(cells), dtype=bool), len(table.cells)
    return answers.mean(table, everybody, size, INCOME_EPSILON, generator).value


def imputed_globally(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """Return the mean of the imputed table with Laplace noise. As in the paper, the scale assumes the worst case: one record is
    the donor of all missing values.
    """
    moved = LARGEST * (1 + int(table.gaps.sum())) / len(table.cells)
    return imputed_exactly(table) + float(generator.laplace(0, moved / epsilon))


def missing_as_a_bin(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """Return a mean income from one noisy histogram of cell by income, with a bin for missing incomes. All records of a cell
    get the mean of the known incomes of the cell.

    Replacing a record changes two counts by 1, so each count gets discrete Laplace noise of scale 2 / epsilon. All computation
    after the noise is post-processing.
    """
    bins = LARGEST // STEP + 2
    income = np.where(table.gaps, bins - 1, np.nan_to_num(table.values) // STEP).astype(np.int64)
    counts = np.bincount(table.cells * bins + income, minlength=len(CELLS) * bins).reshape(-1, bins)
    stop = 1 - np.exp(-epsilon / 2)
    noisy = counts + generator.geometric(stop, counts.shape) - generator.geometric(stop, counts.shape)
    answered, everyone = noisy[:, :-1].sum(axis=1), noisy.sum(axis=1)
    sums = noisy[:, :-1] @ np.arange(0, LARGEST + 1, STEP)
    means = np.clip(sums / np.maximum(answered, 1), 0, LARGEST)
    weights = np.maximum(everyone, 0)
    return float((means * weights).sum() / weights.sum())


METHODS: dict[str, Callable[[GappedTable, np.random.Generator], float]] = {
    "missing values ignored": lambda table, g: ignoring(table, INCOME_EPSILON, g),
    "nearest neighbour, exact": lambda table, g: imputed_exactly(table),
    "nearest neighbour, add or remove": lambda table, g: imputed(table, "add or remove", g),
    "nearest neighbour, replace one": lambda table, g: imputed(table, "replace one", g),
    "nearest neighbour, global Laplace": lambda table, g: imputed_globally(table, INCOME_EPSILON, g),
    "a separate bin": lambda table, g: missing_as_a_bin(table, INCOME_EPSILON, g),
    "a separate bin, epsilon 1": lambda table, g: missing_as_a_bin(table, 1.0, g),
    "a separate bin, epsilon 0.3": lambda table, g: missing_as_a_bin(table, 0.3, g),
}
"""Estimators of the mean income. Their epsilon is 6 ln 2 unless the name states another epsilon."""


def income_errors(runs: int, seed: int = 6) -> dict[str, np.ndarray]:
    """Return the (runs,) errors of every method. Each run draws new incomes."""
    generator = SeededEntropy(seed).generator()
    errors = {name: np.empty(runs) for name in METHODS}
    for run in range(runs):
        table, mean = incomes(generator)
        for name, method in METHODS.items():
            errors[name][run] = method(table, generator) - mean
    return errors


def imputation() -> Rows:
    """Return the squared errors of the estimators of a mean income with missing values: as printed, and the mean and median
    over runs."""
    texts, errors = dict(printed()["imputation"]["rows"]), income_errors(RUNS)
    squared = {name: values**2 for name, values in errors.items()}
    return [[name, texts.get(name, ""), f"{np.mean(mse):,.1f}", f"{np.median(mse):,.1f}"] for name, mse in squared.items()]


EXPERIMENTS = {"table-2": table_2, "families": families, "counties": counties_swapped, "imputation": imputation}
"""Tables in the source papers whose numbers need experiments."""
TABLES = {**FORMULAS, **EXPERIMENTS}


def page(names: Sequence[str] = ()) -> str:
    """Return the page "The sources, reproduced" as Markdown, or only the tables with these names."""
    texts = printed()["tables"]
    tables = [
        f"## {texts[name]['source']}\n\n`python -m tests.reproduction --only {name}`\n\n"
        f"{markdown(texts[name]['columns'], TABLES[name]())}\n\n{texts[name]['finding']}\n"
        for name in names or TABLES
    ]
    if names:
        return "\n".join(tables)
    errors = markdown(printed()["errors"]["columns"], printed()["errors"]["rows"])
    sources = "\n".join(f"- {source}" for source in printed()["sources"])
    return "\n".join([printed()["head"], f"{sources}\n", *tables, f"## Errors found in the sources\n\n{errors}\n"])
