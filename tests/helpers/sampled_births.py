"""A survey of the simulated births, every tenth or, of mothers under 25, every twentieth; and four ways to estimate a total.

An analogue of the experiment in Merrill 2021, section 7.7, whose files cannot be shared. Known are the totals of six age
groups and of the two sexes. The question is how many births are below 2,500 g, among all and among some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.weights import raked
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background
from synthrelease.privacy.charges import Meter
from tests.conftest import ROOT
from tests.helpers.margins import calibration, margin
from tests.helpers.noisy_raking import noisy_counts, raked_to
from tests.helpers.running_example import of_counts
from tests.helpers.small import layout_of
from tests.helpers.weighted_counts import choose, weighted_count
from tests.reproduction.imputation import Neighbours
from tests.reproduction.weighting import PostStrata

AGES, SEXES, WEIGHTS = 6, 2, 6
LOW = 2
"""Bins of birth weight below 2,500 g."""
UNDER_25 = 2
"""Age groups of mothers under 25."""
SHAPE = (AGES, SEXES, WEIGHTS)
AGE_STRATA = ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0])
"""Sets of strata of age to choose among."""


@cache
def births() -> np.ndarray:
    """(6, 2, 6) simulated births by the mother's age, sex and weight."""
    read = pd.read_csv(ROOT / "public_data/births_surrogate.csv.gz", usecols=["mother_age", "is_female", "birth_weight"])
    age = np.searchsorted([20, 25, 30, 35, 40], read["mother_age"], side="right")
    weight = np.searchsorted([1500, 2500, 3000, 3500, 4000], read["birth_weight"], side="right")
    sex = (read["is_female"].astype(str) == "True").to_numpy().astype(int)
    return np.bincount(np.ravel_multi_index((age, sex, weight), SHAPE), minlength=np.prod(SHAPE)).reshape(SHAPE)


def sample(generator: np.random.Generator, *, biased: bool) -> np.ndarray:
    """Counts of those who answer."""
    rate = np.full(SHAPE, 0.1)
    if biased:
        rate[:UNDER_25] = 0.05
    return generator.binomial(births(), rate)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """How many births below 2,500 g are in some cells of age and sex."""

    name: str
    cells: np.ndarray

    @property
    def chosen(self) -> np.ndarray:
        chosen = np.zeros(SHAPE, dtype=bool)
        chosen[:, :, :LOW] = self.cells[:, :, None]
        return chosen

    @property
    def truth(self) -> int:
        return int(births()[self.chosen].sum())


def _cells(ages: slice, sexes: slice) -> np.ndarray:
    cells = np.zeros((AGES, SEXES), dtype=bool)
    cells[ages, sexes] = True
    return cells


QUESTIONS = (
    Question(name="all births", cells=_cells(slice(None), slice(None))),
    Question(name="girls of mothers of 30 to 34", cells=_cells(slice(3, 4), slice(1, 2))),
    Question(name="births of mothers under 25", cells=_cells(slice(0, UNDER_25), slice(None))),
)


def by_thesis(
    answered: np.ndarray, question: Question, epsilon: float, neighbours: Neighbours, generator: np.random.Generator
) -> float:
    """A private choice of strata of age (a tenth of epsilon), a raked noisy table (three), a weighted count (the rest)."""
    people, counts = births(), answered.sum(axis=2)
    ages, sexes = people.sum(axis=(1, 2)), people.sum(axis=(0, 2))
    candidates = [PostStrata(into=np.array(into), totals=np.bincount(into, ages)) for into in AGE_STRATA]
    chosen = choose(candidates, of_counts(counts.sum(axis=1)), epsilon / 10, neighbours, generator)
    into = candidates[chosen].into
    grouped = np.stack([counts[into == group].sum(axis=0) for group in range(into.max() + 1)])
    possible = np.ones(grouped.shape, dtype=bool)
    noisy = noisy_counts(grouped, possible, 3 * epsilon / 10, neighbours, generator)
    table = raked_to(noisy, possible, {(0,): candidates[chosen].totals, (1,): sexes})
    stratum = table.stratum.reshape(grouped.shape)[into]
    strata = PostStrata(into=np.repeat(stratum.ravel(), WEIGHTS), totals=table.totals)
    respondents = of_counts(answered.ravel())
    counted = question.chosen.ravel()[respondents.bins]
    return weighted_count(strata, respondents, counted, 6 * epsilon / 10, neighbours, generator).value


def by_calibration(
    answered: np.ndarray, questions: Sequence[Question], epsilon: Fraction, generator: np.random.Generator
) -> list[float]:
    """A synthetic table for all of epsilon (replacing a record), raked to the totals; it answers every question."""
    layout = layout_of(*SHAPE)
    table = Counts(layout, np.arange(answered.size), answered.ravel())
    family = GENERATORS["marginals"].model_validate({"tables": "all 3-way"})
    charge = family.charge(epsilon)
    background = Background(plausibility=Plausibility(layout=layout, masks=()))
    released = family.fit(PrivateCounts(table, Meter([charge])), charge, background).sample(table.total, generator)
    people = births()
    margins = (
        margin(people.sum(axis=(1, 2)), {"c0": list(range(AGES))}),
        margin(people.sum(axis=(0, 2)), {"c1": list(range(SEXES))}),
    )
    weights = raked(released, calibration(*margins), None)
    cells = np.bincount(released.codes, weights.of_cells * released.counts, minlength=answered.size).reshape(SHAPE)
    return [float(cells[question.chosen].sum()) for question in questions]


def by_rate(answered: np.ndarray, question: Question, epsilon: float, generator: np.random.Generator) -> float:
    """Ten times the noisy count of those who answered: replacing a record moves the count by 1."""
    return 10 * (float(answered[question.chosen].sum()) + float(generator.laplace(0, 1 / epsilon)))


def by_known_total(answered: np.ndarray, question: Question, epsilon: float, generator: np.random.Generator) -> float:
    """The known total of the asked group times the share of those who answered; half of epsilon for each noisy count."""
    group = answered[question.cells]
    low = float(answered[question.chosen].sum()) + float(generator.laplace(0, 2 / epsilon))
    everyone = max(1.0, float(group.sum()) + float(generator.laplace(0, 2 / epsilon)))
    return float(births()[question.cells].sum()) * low / everyone
