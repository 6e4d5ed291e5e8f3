"""What `coverage` asks, and the plain answers: of rows that are taken as they are, with the textbook's standard errors."""

from __future__ import annotations

import math

import numpy as np

from synthrelease.bounds.conditions import Condition
from synthrelease.domain.counts import Counts
from synthrelease.estimates.questions import Question
from synthrelease.published import PublishedRelease

QUESTIONS = {
    "births": (
        "share gestation_week < 37",
        "share gestation_week < 37 where mother_age >= 35",
        "share birth_weight < 2500 where gestation_week < 32",
        "share parity == 1 where mother_age < 20",
        "mean birth_weight",
        "mean birth_weight where mother_age < 18",
        "mean birth_weight where gestation_week < 34 and birth_sex == 'F'",
        "slope birth_weight on gestation_week, birth_sex",
        "slope birth_weight on mother_age, parity",
    ),
    "labour": (
        "share labour_status == 'Unemployed'",
        "share labour_status == 'Unemployed' where labour_status != 'Outside the labour force' and age < 25",
        "share labour_status == 'Unemployed' where education == 'Doctorate'",
        "share wage >= 2500 where sex == 'Female' and wage is not missing",
        "mean wage",
        "mean wage where sex == 'Female'",
        "mean hours where contract == 'Fixed-term'",
        "slope wage on education",
        "slope wage on hours",
        "slope household_size on age",
    ),
}


def plain(release: PublishedRelease, question: Question, rows: Counts) -> tuple[list[float], list[float]]:
    """Estimates of the rows as they are, and the standard errors that a table of real rows would have."""
    columns = release.schema
    bins, counts = rows.bins, rows.counts.astype(float)

    def numbers(name: str) -> np.ndarray:
        place = release.layout.index(name)
        values = np.array([math.nan if number is None else number for number in columns[place].numbers])
        return values[bins[place]]

    def met(condition: Condition) -> np.ndarray:
        places = [place for place, column in enumerate(columns) if column.name in condition.columns]
        if not places:
            return np.ones(len(counts), dtype=bool)
        mask = condition.mask(tuple(columns[place] for place in places))
        return np.asarray(mask[tuple(bins[place] for place in places)])

    inside = met(question.where)
    if question.kind == "slope":
        x = np.column_stack([np.ones(len(counts)), *(numbers(name) for name in question.on)])
        y = numbers(question.column)
        used = inside & np.isfinite(y) & np.isfinite(x).all(axis=1)
        x, y, w = x[used], y[used], counts[used]
        a = (x * w[:, None]).T @ x
        theta = np.linalg.solve(a, (x * w[:, None]).T @ y)
        around = float((w * (y - x @ theta) ** 2).sum()) / (w.sum() - len(theta))
        return theta[1:].tolist(), np.sqrt(around * np.diag(np.linalg.inv(a)))[1:].tolist()
    values = numbers(question.column) if question.kind == "mean" else met(question.met).astype(float)
    used = inside & np.isfinite(values)
    w = counts[used]
    if not w.sum() > 1:
        return [math.nan], [math.nan]
    middle = float((w * values[used]).sum() / w.sum())
    spread = float((w * (values[used] - middle) ** 2).sum() / (w.sum() - 1))
    return [middle], [math.sqrt(spread / w.sum())]
