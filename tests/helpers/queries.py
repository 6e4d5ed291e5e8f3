"""Random queries on a release, with the answers of the original table: for simulations of coverage on public data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from synthrelease.answers.questions import parse_condition
from synthrelease.data.counts import Counts
from synthrelease.data.schema import PublishedColumn
from synthrelease.published import PublishedRelease


@dataclass(frozen=True, kw_only=True)
class Query:
    """The arguments of `bound`, and the answer in the original table (NaN where a group is empty)."""

    query: str
    given: str
    mean: str | None
    minus: str | None
    truth: float

    @property
    def kind(self) -> str:
        kind = "mean" if self.mean else "share" if self.given else "count"
        return f"difference of two {kind}s" if self.minus is not None else kind

    @property
    def arguments(self) -> dict[str, str | None]:
        return {"query": self.query, "given": self.given, "mean": self.mean, "minus": self.minus}


def random_query(release: PublishedRelease, original: Counts, random: np.random.Generator) -> Query:
    """A count, share, mean or difference over one to three columns, with ranges of neighbouring bins."""
    names = [column.name for column in release.schema]
    numbered = [column.name for column in release.schema if column.kind != "category"]
    kind = random.choice(["count", "share", "mean"], p=[0.5, 0.25, 0.25])
    chosen = [str(name) for name in random.permutation(names)[: random.integers(1, 4)]]
    mean = str(random.choice(numbered)) if kind == "mean" else None
    given, query = ("", chosen)
    if kind == "share":
        given, query = _condition(release, chosen[-1:], random), chosen[:-1] or chosen
    texts = [_condition(release, query, random) for _ in range(2)]
    minus = texts[1] if random.random() < 0.25 else None
    answers = [_answer(release, original, text, given, mean) for text in texts]
    truth = answers[0] - (answers[1] if minus is not None else 0.0)
    return Query(query=texts[0], given=given, mean=mean, minus=minus, truth=truth)


def _condition(release: PublishedRelease, names: list[str], random: np.random.Generator) -> str:
    parts = [_part(release.by_name[name], random) for name in names]
    return (" or " if random.random() < 0.15 else " and ").join(parts)


def _part(column: PublishedColumn, random: np.random.Generator) -> str:
    n_bins = len(column.labels)
    first = int(random.integers(n_bins))
    last = first if random.random() < 0.3 else int(random.integers(first, n_bins))
    if column.kind == "category":
        return f"{column.name} in [" + ", ".join(f"'{label}'" for label in column.labels[first : last + 1]) + "]"
    low, high = column.lower[first], column.upper[last]
    ends = [f"{column.name} >= {low:g}"] if first else []
    ends += [f"{column.name} < {high:g}"] if last < n_bins - 1 else []
    return "(" + " and ".join(ends) + ")" if ends else f"{column.name} >= {column.lower[1]:g}"


def _answer(release: PublishedRelease, original: Counts, text: str, given: str, mean: str | None) -> float:
    """On the distinct rows of the original table, one by one."""
    met, group = (_met(release, original, condition) for condition in (text, given))
    weights = original.counts
    if mean is None:
        share = float(weights[met & group].sum()) / (float(weights[group].sum()) or math.nan)
        return share if given else float(weights[met].sum())
    numbers = np.array(release.by_name[mean].numbers, dtype=float)[original.digits(original.layout.index(mean))]
    return float((numbers * weights)[met & group].sum()) / (float(weights[met & group].sum()) or math.nan)


def _met(release: PublishedRelease, table: Counts, text: str) -> np.ndarray:
    condition = parse_condition(text, release)
    columns = tuple(column for column in release.schema if column.name in condition.columns)
    if not columns:
        return np.ones(len(table.codes), dtype=bool)
    return condition.mask(columns)[tuple(table.digits(table.layout.index(column.name)) for column in columns)]
