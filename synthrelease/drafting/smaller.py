"""A smaller draft, where a fit to all columns would be no better than independent columns: coarser bins, then fewer columns.

Every measured table gets its share of one budget, so the noise of each grows with their number, and with few rows it hides how
columns hang together. Coarser bins put more rows into a cell; fewer columns need fewer tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from synthrelease.domain.bins import IntervalBin, parse_bins
from synthrelease.domain.counts import Counts
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.rehearsal.dependence import Pair, tied_pairs

FEW_CATEGORIES = 6
FREQUENT = 0.05
"""Share of the rows of a category that stays by itself in coarser bins."""
_NEXT = 0.7
"""Part of the columns that is tried next."""


def coarser(columns: Sequence[ColumnDraft], table: Counts) -> list[ColumnDraft]:
    """The columns with the bins that their numbers are grouped in, three at most, and with their frequent categories.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    return [_coarser(column, table.marginal((place,))) for place, column in enumerate(columns)]


def _coarser(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
    if column.bins and not column.weight:
        return _fewer_bins(column, rows)
    rare = [text for text in column.common or column.codes if column.codes[text].rows < FREQUENT * rows.sum()]
    spelled = any(code.spellings for code in column.codes.values())
    if column.n_bins <= FEW_CATEGORIES or len(rare) < 2 or spelled:
        return column
    frequent = tuple(text for text in column.common or column.codes if text not in rare)
    if not frequent:
        return column
    remark = f"{column.remark}; in this smaller draft the {len(frequent)} with at least {FREQUENT:.0%} of the rows"
    return replace(column, kind="code", common=frequent, remark=remark)


def _fewer_bins(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
    """The bins of its groups in place of the coarse ones; these in place of the fine ones."""
    bins, facts = column.bins, column.facts
    if bins is None or facts is None or bins.groups == bins.coarse:
        return column
    fewer = replace(bins, coarse=bins.groups, fine=bins.coarse)
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


def in_order(columns: Sequence[ColumnDraft], pairs: Sequence[Pair]) -> list[ColumnDraft]:
    """Columns in the order in which a smaller draft keeps them.

    A design weight first, because nothing can be estimated without it; then the columns of the pairs that hang together most,
    pair by pair; then those that hang together with none, the ones with the fewest bins first.
    """
    by_name = {column.name: column for column in columns}
    names = [column.name for column in columns if column.weight]
    names += [name for pair in tied_pairs(pairs) for name in pair.columns]
    names += sorted(by_name, key=lambda name: by_name[name].n_bins)
    return [by_name[name] for name in dict.fromkeys(names)]


def sizes(n_columns: int, errors: float) -> Iterator[int]:
    """How many columns to try, fewer and fewer: all, what noise that grows with their square suggests, and on down to two.

    Parameters
    ----------
    errors : of a fit to all columns, over those of independent columns.
    """
    yield n_columns
    kept = n_columns * min(_NEXT, math.sqrt(1 / max(errors, 1.0)))
    while kept > 2:
        yield max(2, round(kept))
        kept *= _NEXT
    yield 2


def fewer(columns: Sequence[ColumnDraft], order: Sequence[ColumnDraft], kept: int) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """The first `kept` columns of the order, in their own order, and why the others are left out."""
    stay = {column.name for column in order[:kept]}
    because = (
        "the draft had to become smaller, and it is in no pair that hangs together more than those that stay (--only tries "
        "other columns)"
    )
    gone = [LeftOut(source=column.source, because=because) for column in columns if column.name not in stay]
    return [column for column in columns if column.name in stay], gone
