"""Published releases made by hand, for tests of what is derived from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from synthrelease.criteria.facts import Group, Score
from synthrelease.data.linked import Linked
from synthrelease.data.schema import PublishedColumn
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.plan import Guarantee
from synthrelease.published import DomainPart, PublishedRelease, RulePart
from synthrelease.published.base import Content
from synthrelease.published.measurements import PublishedMeasurement
from synthrelease.published.table import ReleasedTable, TableShape, parquet_rows, table_of

NEARLY_NO_NOISE = 1e-9
HOMES = Linked(
    key="home",
    size="persons",
    names=("age", "work"),
    slots=(("age_1", "work_1"), ("age_2", "work_2")),
    whole=frozenset({"age"}),
)
"""Homes with two persons at most, whose ages are always known."""


def integer_column(name: str, edges: Sequence[float], *, unit: str = "") -> PublishedColumn:
    """Whole numbers in the bins between the edges; the number of a bin is its lowest value."""
    pairs = list(zip(edges, edges[1:], strict=False))
    return PublishedColumn(
        name=name,
        kind="integer",
        description="",
        unit=unit,
        ordered=True,
        binning="",
        labels=tuple(f"{low:g}" if high == low + 1 else f"{low:g}-{high - 1:g}" for low, high in pairs),
        numbers=tuple(float(low) for low, _ in pairs),
        lower=tuple(float(low) for low, _ in pairs),
        upper=tuple(float(high) for _, high in pairs),
    )


def category_column(name: str, held: Mapping[str, Sequence[str]]) -> PublishedColumn:
    return PublishedColumn(
        name=name,
        kind="category",
        description="",
        unit="",
        ordered=False,
        binning="",
        labels=tuple(held),
        numbers=(None,) * len(held),
        categories=tuple(tuple(categories) for categories in held.values()),
    )


def noisy_tables(
    columns: Sequence[PublishedColumn],
    table: np.ndarray,
    measured: Sequence[Sequence[str]],
    epsilon: Fraction,
    random: np.random.Generator | None = None,
) -> tuple[PublishedMeasurement, ...]:
    """The table of every set of columns, each with noise at this epsilon; without a generator with none, as if by chance.

    Parameters
    ----------
    table : (n_rows, n_columns) bins.
    """
    known = [column.name for column in columns]
    found = []
    for names in measured:
        places = [known.index(name) for name in names]
        counts = np.zeros([len(columns[place].labels) for place in places], dtype=np.int64)
        np.add.at(counts, tuple(table[:, place] for place in places), 1)
        if random is not None:
            stop = 1 - math.exp(-float(epsilon) / 2)
            counts += random.geometric(stop, counts.shape) - random.geometric(stop, counts.shape)
        cells = np.ones_like(counts)
        found.append(PublishedMeasurement(columns=tuple(names), values=counts, cells=cells, cost=epsilon))
    return tuple(found)


def score(name: str, kind: str, value: float, threshold: float = 1e6, noise_sd: float = NEARLY_NO_NOISE) -> Score:
    return Score(
        name=name,
        kind=kind,
        threshold=threshold,
        value=value,
        epsilon=Fraction(1),
        mechanism="Laplace",
        sensitivity=noise_sd / 2**0.5,
        noise_sd=noise_sd,
        passed=True,
    )


def never(text: str, *applies_to: Literal["raw", "synthetic"]) -> RulePart:
    """A rule as it is published, for original rows unless it says else."""
    return RulePart(never=text, applies_to=applies_to or ("raw",), why="")


def published(
    columns: Sequence[PublishedColumn],
    codes: np.ndarray,
    criteria: Sequence[tuple[Score, Mapping[str, Any]]],
    *,
    groups: Mapping[str, Sequence[Sequence[str]]] | None = None,
    rules: Sequence[RulePart] = (),
) -> PublishedRelease:
    """A release with these rows (n_rows, n_columns) and figures."""
    return PublishedRelease(
        folder=Path("by hand"),
        title="By hand",
        description="",
        n_rows=len(codes),
        guarantee=Guarantee(epsilon=Fraction(1)),
        domain=DomainPart(way="whole", file_rows=len(codes), margin=None, shortfall=None, missing_values=[]),
        charges=Charge(name="release", epsilon=Fraction(1), because="a test"),
        criteria=tuple(figure for figure, _ in criteria),
        parameters=tuple({**settings} for _, settings in criteria),
        groups={
            column.name: tuple(
                Group(label=", ".join(bins), inside=tuple(label in bins for label in column.labels))
                for bins in (groups or {})[column.name]
            )
            for column in columns
            if column.name in (groups or {})
        },
        schema=tuple(columns),
        rules=tuple(rules),
        configuration={},
        codes=np.asarray(codes, dtype=np.int64),
    )


def read_parquet(content: Content, shape: TableShape, n_rows: int | None = None) -> ReleasedTable:
    """data.parquet as counts. Parameters and errors as of `parquet_rows`."""
    return table_of(parquet_rows(content, shape, n_rows=n_rows), shape)
