"""What `coverage` asks, and the plain answers: of rows that are taken as they are, with the textbook's standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthrelease.bounds.conditions import parse_condition
from synthrelease.domain.counts import Counts
from synthrelease.published import PublishedRelease


@dataclass(frozen=True, kw_only=True)
class Question:
    """Arguments of `synthrelease.estimate`, and a name for each number of the answer."""

    arguments: Mapping[str, Any]
    names: tuple[str, ...]

    @property
    def percent(self) -> bool:
        return "mean_of" not in self.arguments and "slopes_of" not in self.arguments


def share(query: str, given: str = "") -> Question:
    return Question(
        arguments={"query": query, "given": given}, names=(f"share {query}" + (f", given {given}" if given else ""),)
    )


def mean(column: str, given: str = "") -> Question:
    return Question(
        arguments={"mean_of": column, "given": given}, names=(f"mean {column}" + (f", given {given}" if given else ""),)
    )


def slopes(target: str, *on: str, given: str = "") -> Question:
    where = f", given {given}" if given else ""
    together = f" (with {', '.join(on)})" if len(on) > 1 else ""
    return Question(
        arguments={"slopes_of": target, "on": on, "given": given},
        names=tuple(f"slope of {target} on {name}{together}{where}" for name in on),
    )


QUESTIONS = {
    "births": (
        share("gestation_week < 37"),
        share("gestation_week < 37", "mother_age >= 35"),
        share("birth_weight < 2500", "gestation_week < 32"),
        share("parity == 1", "mother_age < 20"),
        mean("birth_weight"),
        mean("birth_weight", "mother_age < 18"),
        mean("birth_weight", "gestation_week < 34 and birth_sex == 'F'"),
        slopes("birth_weight", "gestation_week", "birth_sex"),
        slopes("birth_weight", "mother_age", "parity"),
    ),
    "labour": (
        share("labour_status == 'Unemployed'"),
        share("labour_status == 'Unemployed'", "labour_status != 'Outside the labour force' and age < 25"),
        share("labour_status == 'Unemployed'", "education == 'Doctorate'"),
        share("wage >= 2500", "sex == 'Female' and wage is not missing"),
        mean("wage"),
        mean("wage", "sex == 'Female'"),
        mean("hours", "contract == 'Fixed-term'"),
        slopes("wage", "education"),
        slopes("wage", "hours"),
        slopes("household_size", "age"),
    ),
}


def plain(release: PublishedRelease, question: Question, rows: Counts) -> tuple[list[float], list[float]]:
    """Estimates of the rows as they are, and the standard errors that a table of real rows would have."""
    asked = question.arguments
    columns = release.schema
    bins, counts = rows.bins, rows.counts.astype(float)

    def numbers(name: str) -> np.ndarray:
        place = release.layout.index(name)
        values = np.array([math.nan if number is None else number for number in columns[place].numbers])
        return values[bins[place]]

    def met(text: str) -> np.ndarray:
        condition = parse_condition(text, release)
        places = [place for place, column in enumerate(columns) if column.name in condition.columns]
        if not places:
            return np.ones(len(counts), dtype=bool)
        mask = condition.mask(tuple(columns[place] for place in places))
        return np.asarray(mask[tuple(bins[place] for place in places)])

    inside = met(asked.get("given", ""))
    if "slopes_of" in asked:
        x = np.column_stack([np.ones(len(counts)), *(numbers(name) for name in asked["on"])])
        y = numbers(asked["slopes_of"])
        used = inside & np.isfinite(y) & np.isfinite(x).all(axis=1)
        x, y, w = x[used], y[used], counts[used]
        a = (x * w[:, None]).T @ x
        theta = np.linalg.solve(a, (x * w[:, None]).T @ y)
        around = float((w * (y - x @ theta) ** 2).sum()) / (w.sum() - len(theta))
        return theta[1:].tolist(), np.sqrt(around * np.diag(np.linalg.inv(a)))[1:].tolist()
    values = numbers(asked["mean_of"]) if "mean_of" in asked else met(asked["query"]).astype(float)
    used = inside & np.isfinite(values)
    w = counts[used]
    if not w.sum() > 1:
        return [math.nan], [math.nan]
    middle = float((w * values[used]).sum() / w.sum())
    spread = float((w * (values[used] - middle) ** 2).sum() / (w.sum() - 1))
    return [middle], [math.sqrt(spread / w.sum())]
