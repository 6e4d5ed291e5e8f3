"""Made-up incomes of which many are missing, more often where incomes are high; and estimates of their mean.

96 cells of the columns that everybody answered (8 ages, 2 sexes, 6 levels of education), incomes from 0 to 5,000 in hundreds.
About 28% do not tell; how likely, depends on the cell alone, and rises with its mean income. It is an analogue of the
experiment in Merrill 2021, section 6.5, whose files cannot be shared.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from synthrelease.studio.baselines.imputation import GappedTable, NearestNeighbours, Neighbours, order_by_distance
from synthrelease.studio.baselines.imputation import ImputedAnswers as Answers

PLACES = np.array([(age, 2 * sex, level) for age, sex, level in product(range(8), range(2), range(6))])
LARGEST, STEP = 5000, 100
SCHEME = NearestNeighbours(order=order_by_distance(PLACES), k=1, default=float(LARGEST / 2))


class Incomes(NamedTuple):
    """A table with gaps, and the mean income of all."""

    table: GappedTable
    mean: float


def incomes(generator: np.random.Generator, n: int = 60_000) -> Incomes:
    age, sex, level = PLACES.T
    size = np.exp(-0.5 * ((age - 3) / 2.5) ** 2) * np.exp(-0.25 * level)
    cells = generator.choice(len(PLACES), n, p=size / size.sum())
    middle = 600 + 900 * np.exp(-0.5 * ((age - 4) / 2) ** 2) + 150 * sex + 220 * level
    steps = generator.gamma(4, middle[cells] / 4) / STEP
    values = np.minimum(np.round(steps) * STEP, LARGEST)
    silent = 0.06 + 0.45 * (middle - middle.min()) / (middle.max() - middle.min())
    observed = np.where(generator.random(n) < silent[cells], np.nan, values)
    table = GappedTable(cells=cells, labels=generator.permutation(n), values=observed)
    return Incomes(table=table, mean=float(values.mean()))


def everybody(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.ones(len(cells), dtype=bool)


def ignoring(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """The mean of those who tell, their number public, with Laplace noise for one replaced record."""
    told = table.values[~table.gaps]
    return float(told.mean() + generator.laplace(0, LARGEST / len(told) / epsilon))


def imputed_exactly(table: GappedTable) -> float:
    return float(SCHEME.imputed(table).mean())


def imputed(
    table: GappedTable, neighbours: Neighbours, epsilon: float, generator: np.random.Generator, *, sharper: bool = False
) -> float:
    """The mean of the imputed table with smooth sensitivity, its size public."""
    of = Answers(scheme=SCHEME, neighbours=neighbours, low=0, high=LARGEST, sharper=sharper)
    return of.mean(table, everybody, len(table.cells), epsilon, generator).value


def imputed_globally(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """The same with Laplace noise for one donor of all who do not tell, as the source has it."""
    moved = LARGEST * (1 + int(table.gaps.sum())) / len(table.cells)
    return imputed_exactly(table) + float(generator.laplace(0, moved / epsilon))


def missing_as_a_bin(table: GappedTable, epsilon: float, generator: np.random.Generator) -> float:
    """One noisy histogram of cell by income, missing a bin of its own; then each cell's mean stands for all of the cell.

    Replacing a record moves two counts by 1: Laplace noise of scale 2 / epsilon on whole numbers. What follows is
    post-processing.
    """
    bins = LARGEST // STEP + 2
    income = np.where(table.gaps, bins - 1, np.nan_to_num(table.values) // STEP).astype(np.int64)
    counts = np.bincount(table.cells * bins + income, minlength=len(PLACES) * bins).reshape(-1, bins)
    stop = 1 - np.exp(-epsilon / 2)
    noisy = counts + generator.geometric(stop, counts.shape) - generator.geometric(stop, counts.shape)
    told, everyone = noisy[:, :-1].sum(axis=1), noisy.sum(axis=1)
    sums = noisy[:, :-1] @ np.arange(0, LARGEST + 1, STEP)
    means = np.clip(sums / np.maximum(told, 1), 0, LARGEST)
    weights = np.maximum(everyone, 0)
    return float((means * weights).sum() / weights.sum())
