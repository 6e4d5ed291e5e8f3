"""Public tables for comparisons: Adult and the Covid-19 register of Mexico on stated bins, the same for every generator.

Categories are those that occur in the public file; numbers have the bins below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility

COVID = [
    "SEXO",
    "EDAD",
    "TIPO_PACIENTE",
    "INTUBADO",
    "NEUMONIA",
    "RESULTADO",
    "DIABETES",
    "HIPERTENSION",
    "OBESIDAD",
    "ENTIDAD_RES",
    "SECTOR",
    "EMBARAZO",
    "UCI",
    "OTRO_CASO",
    "ORIGEN",
    "ENTIDAD_UM",
    "ENTIDAD_NAC",
    "NACIONALIDAD",
    "HABLA_LENGUA_INDIG",
    "EPOC",
    "ASMA",
    "INMUSUPR",
    "OTRA_COM",
    "CARDIOVASCULAR",
    "RENAL_CRONICA",
    "TABAQUISMO",
    "MIGRANTE",
    "WEEK_OF_ADMISSION",
    "WEEK_OF_SYMPTOMS",
    "DIED",
]


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """Rows as counts, with how many of each column's first bins are in order."""

    counts: Counts
    ordered: tuple[int, ...]

    @property
    def plausibility(self) -> Plausibility:
        return Plausibility(layout=self.counts.layout, masks=())


def adult(path: Path) -> PublicTable:
    """14 columns (years of education repeat education): single years of age, five hours, amounts at 1, 2, 5, 10, 20, ..."""
    frame = pd.read_csv(path, dtype=str, skipinitialspace=True, encoding="utf-8-sig").dropna()
    numbers = {
        "age": lambda texts: (texts.astype(int) - 17, 74),
        "hours-per-week": lambda texts: ((texts.astype(int) - 1) // 5, 20),
        **dict.fromkeys(("fnlwgt", "capital-gain", "capital-loss"), _steps),
    }
    return _table(frame, [name for name in frame if name != "education-num"], numbers)


def covid(path: Path) -> PublicTable:
    """30 columns: five years of age, weeks instead of days, without municipality and the names of countries."""
    frame = pd.read_csv(path, dtype=str, encoding="latin-1")
    for name, source in (("WEEK_OF_ADMISSION", "FECHA_INGRESO"), ("WEEK_OF_SYMPTOMS", "FECHA_SINTOMAS")):
        frame[name] = ((pd.to_datetime(frame[source]) - pd.Timestamp("2020-01-01")).dt.days // 7).astype(str)
    frame["DIED"] = (frame["FECHA_DEF"] != "9999-99-99").astype(str)
    numbers = {
        "EDAD": lambda texts: ((texts.astype(int) // 5).clip(upper=20), 21),
        **dict.fromkeys(("WEEK_OF_ADMISSION", "WEEK_OF_SYMPTOMS"), lambda texts: (texts.astype(int), 18)),
    }
    return _table(frame, COVID, numbers)


TABLES: dict[str, Callable[[Path], PublicTable]] = {"adult": adult, "covid": covid}


def _table(
    frame: pd.DataFrame, names: list[str], numbers: dict[str, Callable[[pd.Series], tuple[pd.Series, int]]]
) -> PublicTable:
    sizes, digits, ordered = [], [], []
    for name in names:
        if name in numbers:
            bins, size = numbers[name](frame[name])
        else:
            labels = sorted(frame[name].unique())
            bins, size = frame[name].map({label: place for place, label in enumerate(labels)}), len(labels)
        sizes.append(size)
        digits.append(np.asarray(bins, dtype=np.int64))
        ordered.append(size if name in numbers else 0)
    return PublicTable(counts=Counts.of(Layout(columns=tuple(names), sizes=tuple(sizes)), digits), ordered=tuple(ordered))


def _steps(texts: pd.Series) -> tuple[pd.Series, int]:
    """Below 1, from 1, 2, 5, 10, 20, ...: up to the largest of the file, which is public."""
    values = texts.astype(float)
    edges = [first * 10**power for power in range(9) for first in (1, 2, 5) if first * 10**power <= values.max()]
    return pd.Series(np.searchsorted(edges, values, side="right")), len(edges) + 1
