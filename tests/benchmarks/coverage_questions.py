"""What `coverage` asks, and the plain answers: of rows that are taken as they are, with the textbook's standard errors."""

from __future__ import annotations

import math

import numpy as np

from synthrelease.answers.questions import Condition, Question
from synthrelease.data.counts import Counts
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

OF_FILES = {
    "births": (
        "share gestation_week < 37",
        "share birth_weight < 2500 by birth_sex",
        "share gestation_week < 37 where mother_age > 44",
        "share parity > 10",
        "mean birth_weight",
        "mean birth_weight where gestation_week < 29",
        "mean parity",
        "mean mother_age where parity == 1",
        "median birth_weight by birth_sex",
        "median mother_age",
        "slope birth_weight on gestation_week, birth_sex",
        "slope birth_weight on mother_age, parity",
    ),
    "labour": (
        "share labour_status == 'Unemployed'",
        "share labour_status == 'Unemployed' where education == 'Doctorate'",
        "share wage >= 2500 where sex == 'Female' and wage is not missing",
        "mean wage by sex",
        "mean hours where contract == 'Fixed-term'",
        "mean household_size",
        "median wage",
        "median age",
        "slope wage on education",
        "slope household_size on age",
    ),
    "adult": (
        "share salary == '>50K' where relationship == 'Wife'",
        "share salary == '>50K' where education == 'Preschool'",
        "share workclass == 'Never-worked'",
        "share capital_gain >= 10000 where salary == '>50K'",
        "mean age",
        "mean hours_per_week by salary",
        "mean capital_gain where salary == '<=50K'",
        "median age where education == 'Doctorate'",
        "median hours_per_week",
        "slope hours_per_week on age",
    ),
    "covid": (
        "share RESULTADO == '1' by TIPO_PACIENTE",
        "share UCI == '1' where INTUBADO == '1'",
        "share PAIS_ORIGEN == 'Cuba'",
        "share DIABETES == '1' where EDAD >= 80",
        "mean EDAD",
        "mean EDAD where UCI == '1'",
        "mean FECHA_INGRESO_days_after_FECHA_SINTOMAS by RESULTADO",
        "mean FECHA_DEF_days_after_FECHA_SINTOMAS",
        "median EDAD by RESULTADO",
        "median FECHA_DEF_days_after_FECHA_SINTOMAS where TIPO_PACIENTE == '2'",
        "slope FECHA_INGRESO_days_after_FECHA_SINTOMAS on FECHA_SINTOMAS_week",
    ),
    "nist": (
        "share OWN_RENT == '2' by HISP",
        "share RAC1P == '4'",
        "share DREM == '1' where DPHY == '1'",
        "mean AGEP where MSP == '1'",
        "mean NPF where OWN_RENT == '1'",
        "mean DENSITY where PUMA == '06-07502'",
        "mean PINCP where EDU == '9'",
        "median PINCP",
        "median PINCP where EDU == '12'",
        "median POVPIP where OWN_RENT == '2'",
        "slope PINCP on POVPIP",
    ),
}
"""Of real files and their drafts: common and rare answers, and columns with open bins."""


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
