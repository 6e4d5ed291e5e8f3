"""What a minimum count does to a table, and what one about fewer columns would do instead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import RejectedRound
from synthrelease.generators.projections import FrequentCombinations, MinimumCount, Projection
from synthrelease.rehearsal.judging import PublicJudge

MOST_WORK = 20_000_000
"""Choices of columns times distinct rows beyond which a projection of combinations is not tried: it takes minutes."""

COSTLY = 0.1
"""Share of the rows that a projection replaces from which on another one is offered."""


@dataclass(frozen=True, kw_only=True)
class ProjectionEffect:
    """One projection of a candidate.

    Attributes
    ----------
    words : what it makes of a table, in a few words.
    settings : as they stand in the configuration file.
    drafted : whether it is the one of the configuration.
    changed : share of the rows that it replaced by copies of others; None where it kept nothing.
    repeated : share of the rows afterwards that stand in the table just as often as the least count asks.
    distinct : different rows afterwards.
    added : per criterion, how much it adds to the figure of the very same rows.
    figures : per criterion the figure afterwards.
    """

    words: str
    settings: Mapping[str, object]
    drafted: bool
    changed: float | None
    repeated: float
    distinct: int
    added: tuple[float, ...]
    figures: tuple[float, ...]


def projection_effects(judge: PublicJudge, sample: Counts, random: np.random.Generator) -> tuple[ProjectionEffect, ...]:
    """What the configuration's projection, and others that could stand in its place, make of one table.

    Parameters
    ----------
    sample : rows of a candidate before its projection.
    """
    drafted = judge.configuration.projection
    before = judge.figures(sample)
    return tuple(_effect(judge, sample, before, each, each == drafted, random) for each in _choices(drafted, sample))


def _choices(drafted: Projection, sample: Counts) -> Iterator[Projection]:
    least = max(2, drafted.asked_count)
    width = len(sample.layout.sizes)
    yield drafted
    others = [MinimumCount(minimum_count=least, keep="spread"), MinimumCount(minimum_count=1)]
    combinations = [
        FrequentCombinations(columns=columns, minimum_count=least)
        for columns in (3, 2, 1)
        if columns < width and math.comb(width, columns) * len(sample) <= MOST_WORK
    ]
    drafts_least = isinstance(drafted, MinimumCount)
    for each in (*others, *combinations):
        same = drafts_least and isinstance(each, MinimumCount) and each.asked_count == drafted.asked_count
        if each != drafted and not same:
            yield each


def _effect(
    judge: PublicJudge,
    sample: Counts,
    before: tuple[float, ...],
    projection: Projection,
    drafted: bool,
    random: np.random.Generator,
) -> ProjectionEffect:
    settings = projection.model_dump(mode="json")
    try:
        table = projection.project(sample, random)
    except RejectedRound:
        nothing = (math.nan,) * len(before)
        return ProjectionEffect(
            words=projection.in_short,
            settings=settings,
            drafted=drafted,
            changed=None,
            repeated=0.0,
            distinct=0,
            added=nothing,
            figures=nothing,
        )
    least = max(2, projection.promised_count)
    after = judge.figures(table)
    return ProjectionEffect(
        words=projection.in_short,
        settings=settings,
        drafted=drafted,
        changed=replaced(sample, table) / sample.total,
        repeated=float(table.counts[table.counts == least].sum() / table.total),
        distinct=int((table.counts > 0).sum()),
        added=tuple(late - early for early, late in zip(before, after, strict=True)),
        figures=after,
    )


def replaced(before: Counts, after: Counts) -> int:
    """Rows of a table that others have taken the place of: what its rows have lost."""
    places = after.find(list(before.bins))
    kept = np.where(places >= 0, after.counts[np.maximum(places, 0)], 0) if len(after) else np.zeros(len(before))
    return int(np.maximum(0, before.counts - kept).sum())
