"""A draft in wider bins: of neighbouring numbers and of rare codes, where a fit in the drafted ones keeps too little.

Coarser bins put more rows into a cell, and so more of how columns hang together stands out from the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import IntervalBin, parse_bins
from synthrelease.drafting.column_draft import ColumnDraft
from synthrelease.drafting.text import TEST
from synthrelease.drafting.tried_draft import FIGURES, Drafting, Tried
from synthrelease.errors import listing
from synthrelease.rehearsal.plan_race import PROMISED

FEW_CATEGORIES = 6
FREQUENT = 0.05
"""Share of the rows of a category that stays by itself in coarser bins."""

_NEARLY = PROMISED - 0.03
"""What tables have to keep before it is known that figures cost less, as they mostly do."""


@dataclass(frozen=True, kw_only=True)
class Floor:
    """How many rows a bin has at least in a draft with coarser bins.

    Attributes
    ----------
    share : of the rows of the public file; a code below it counts among the others, neighbouring bins of numbers join.
    most : columns of so many bins stay as they are.
    """

    share: float
    most: int

    def __str__(self) -> str:
        return f"of at least {self.share:.0%} of the rows"


FLOORS = (Floor(share=0.04, most=12), Floor(share=0.05, most=FEW_CATEGORIES), Floor(share=0.1, most=FEW_CATEGORIES))
"""That are tried in turn where too little is kept: first of the columns with very many bins alone."""


def coarser(columns: Sequence[ColumnDraft], table: Counts) -> list[ColumnDraft]:
    """The columns with the bins that their numbers are grouped in, three at most, and with their frequent categories.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    return [_coarser(column, table.marginal((place,))) for place, column in enumerate(columns)]


def floored(columns: Sequence[ColumnDraft], table: Counts, floor: Floor) -> list[ColumnDraft]:
    """The columns with more bins than the floor lets be, in bins that have its share of the rows.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    found = []
    for place, column in enumerate(columns):
        rows = table.marginal((place,))
        if column.n_bins <= floor.most:
            found.append(column)
        elif column.bins and not column.weight:
            limits = _joined(column.bins.coarse, rows[: column.n_bins] / rows.sum(), floor.share)
            found.append(_in_bins(column, rows, limits))
        else:
            found.append(_frequent(column, rows, floor.share, f"in this draft the {{}} with at least {floor.share:.0%}"))
    return found


def _joined(limits: Sequence[float], shares: np.ndarray, least: float) -> tuple[float, ...]:
    """The limits between bins that have so large a share of the rows each; the one nearest to the middle where none are.

    Parameters
    ----------
    shares : of the rows, in the bins between all limits; what is missing of 1 has no value.
    """
    kept, held = list[float](), 0.0
    below = np.cumsum(shares)
    for limit, share, reached in zip(limits, shares, below, strict=False):
        held += share
        if held >= least and below[-1] - reached >= least:
            kept, held = [*kept, limit], 0.0
    return tuple(kept) or (limits[int(np.abs(below[:-1] - below[-1] / 2).argmin())],)


def _coarser(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
    if column.bins and not column.weight:
        return _in_bins(column, rows, column.bins.groups)
    if column.n_bins <= FEW_CATEGORIES:
        return column
    return _frequent(column, rows, FREQUENT, f"in this smaller draft the {{}} with at least {FREQUENT:.0%}")


def _frequent(column: ColumnDraft, rows: np.ndarray, least: float, told: str) -> ColumnDraft:
    """Its categories that have so large a share of the rows, and all others together."""
    rare = [text for text in column.common or column.codes if column.codes[text].rows < least * rows.sum()]
    spelled = any(code.spellings for code in column.codes.values())
    frequent = tuple(text for text in column.common or column.codes if text not in rare)
    if not column.codes or not frequent or len(rare) < 2 or spelled:
        return column
    return replace(column, kind="code", common=frequent, remark=f"{column.remark}; {told.format(len(frequent))} of the rows")


def _in_bins(column: ColumnDraft, rows: np.ndarray, limits: tuple[float, ...]) -> ColumnDraft:
    """These limits in place of the coarse ones, of which they are some; the coarse ones in place of the fine ones."""
    bins, facts = column.bins, column.facts
    if bins is None or facts is None or limits == bins.coarse:
        return column
    groups = bins.groups if set(bins.groups) <= set(limits) else limits[:: max(1, len(limits) // 2)][:2]
    fewer = replace(bins, coarse=limits, fine=bins.coarse, groups=groups)
    whole = column.kind == "integer"
    old, new = (parse_bins(each.texts(whole=whole, weight=False)["coarse"], whole_numbers=whole) for each in (bins, fewer))
    stands = np.array([facts.numbers.get(one.label, one.number) for one in old])
    numbers = {one.label: _mean(one, old, stands, rows, facts.numbers) for one in new}
    kept = {label: number for label, number in facts.numbers.items() if label in {one.label for one in old}}
    return replace(column, bins=fewer, facts=replace(facts, numbers={**kept, **numbers}))


def _mean(
    one: IntervalBin, old: Sequence[IntervalBin], stands: np.ndarray, rows: np.ndarray, known: Mapping[str, float]
) -> float:
    """The mean of the rows of a bin that is made up of others, by the numbers that stand for these."""
    inside = np.array([one.lower <= each.lower and each.upper <= one.upper for each in old])
    if one.label in known or not rows[: len(old)][inside].sum():
        return known.get(one.label, one.number)
    return float(f"{np.average(stands[inside], weights=rows[: len(old)][inside]):.4g}")


def in_wider_bins(drafting: Drafting, total: Fraction) -> Tried | None:
    """The draft of these columns in wider bins, where at this epsilon they keep what a draft aims at and those that were
    drafted do not; None elsewhere."""
    if drafting.members is not None or drafting.areas is not None:
        return None
    choices, race, table, _ = drafting.begun
    others = choices.rows + TEST + min(FIGURES, total / 5)
    narrow = race.keeps(total, others)
    if narrow is None or narrow >= _NEARLY:
        return None
    best: tuple[float, Floor, Drafting] | None = None
    for floor in FLOORS:
        columns = floored(drafting.columns, table, floor)
        if columns == (best[2].columns if best else drafting.columns):
            continue
        drafting.progress(f"in these bins too little is kept: trying some {floor}")
        other = drafting.of(columns, drafting.left_out)
        kept = other.begun[1].keeps(total, others)
        if kept is not None and (best is None or kept > best[0]):
            best = kept, floor, other
        if kept is not None and kept >= PROMISED:
            break
    if best is None:
        return None
    kept, floor, other = best
    drafting.wider = f"In bins {floor} {max(0.0, kept):.0%} would be kept at epsilon {float(total):g}."
    if kept < _NEARLY:
        return None
    one = other.tried(total)
    if not one.standing.good:
        return None
    before = {column.name: column.n_bins for column in drafting.columns}
    wider = listing(column.name for column in other.columns if column.n_bins < before[column.name])
    smaller = (
        f"In narrower bins fits keep {max(0.0, narrow):.0%} of how columns hang together at epsilon "
        f"{float(total):g}. So in this draft {wider} have wider ones, {floor} each. The narrower ones are there, too, for "
        "[transformations]: `codes` of codes, `fine` of numbers."
    )
    return replace(one, choices=replace(one.choices, smaller=smaller))
