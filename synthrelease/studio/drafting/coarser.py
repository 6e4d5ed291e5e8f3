"""A draft in wider bins, or of fewer columns: neighbouring numbers and rare codes join, and the columns least associated go.

Coarser bins put more rows into a cell, and fewer columns need fewer tables, each with a larger share of one budget. So more of
the associations stands out from the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning, IntervalBin, parse_bins
from synthrelease.errors import listing
from synthrelease.studio.drafting.categories import with_levels_joined, with_neighbours_joined
from synthrelease.studio.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.studio.drafting.criteria import OTHERS
from synthrelease.studio.rehearsal.dependence import Pair, tied_pairs

FEW_CATEGORIES = 6
FREQUENT = 0.05
"""Share of the rows of a category that stays by itself in coarser bins."""


@dataclass(frozen=True, kw_only=True)
class Floor:
    """How many rows a bin has at least in a draft with coarser bins.

    Attributes
    ----------
    share : of the rows of the public file; a code below it counts among the others, neighbouring bins of numbers join.
    most : columns of so many bins stay as they are.
    least : how many rows that is, in words.
    """

    share: float
    most: int
    least: str


LEAST_ROWS = 10
"""Of the public file in a bin of a draft, at least, where a neighbour or another rare code can join it."""

FLOORS = tuple(
    Floor(share=share, most=most, least=f"at least {share:.0%} of the rows")
    for share, most in ((0.04, 12), (0.05, FEW_CATEGORIES), (0.1, FEW_CATEGORIES))
)
"""That are tried in turn where too little is kept: first of the columns with very many bins alone."""


def coarser(columns: Sequence[ColumnDraft], table: Counts) -> tuple[ColumnDraft, ...]:
    """Return the columns with the bins that their numbers are grouped in, three at most, and with their frequent categories.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    remark = f"in this smaller draft the {{}} with at least {FREQUENT:.0%} of the rows"

    def wider(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
        if column.bins and not column.weight:
            return _in_bins(column, rows, column.bins.groups)
        return column if column.n_bins <= FEW_CATEGORIES else _frequent(column, rows, FREQUENT, remark)

    return tuple(wider(column, table.marginal((i,))) for i, column in enumerate(columns))


def floored(columns: Sequence[ColumnDraft], table: Counts, floor: Floor) -> tuple[ColumnDraft, ...]:
    """Return the columns with more bins than the floor lets be, in bins that have its share of the rows.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """

    def wider(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
        if column.n_bins <= floor.most:
            return column
        if column.bins and not column.weight:
            return _in_bins(column, rows, _joined(column.bins.coarse, rows[: column.n_bins] / rows.sum(), floor.share))
        return _frequent(column, rows, floor.share, f"in this draft the {{}} with {floor.least}")

    return tuple(wider(column, table.marginal((i,))) for i, column in enumerate(columns))


def _joined(limits: Sequence[float], shares: np.ndarray, least_share: float) -> tuple[float, ...]:
    """Return limits between bins that have at least this share of the rows each; the limit nearest to the middle where there
    are none.

    Parameters
    ----------
    shares : of the rows, in the bins between all limits; what is missing of 1 has no value.
    """
    chosen, held = list[float](), 0.0
    below = np.cumsum(shares)
    for limit, share, reached in zip(limits, shares, below, strict=False):
        held += share
        if held >= least_share and below[-1] - reached >= least_share:
            chosen, held = [*chosen, limit], 0.0
    return tuple(chosen) or (limits[int(np.abs(below[:-1] - below[-1] / 2).argmin())],)


def _frequent(column: ColumnDraft, rows: np.ndarray, least_share: float, remark_text: str) -> ColumnDraft:
    """Return the column in categories with at least this share of the rows: neighbours are joined where there is an order,
    else those of one larger category, else all rare ones; where none is so frequent, the most frequent stay.
    """
    if column.ordered:
        return with_neighbours_joined(column, least_share)
    if column.within:
        return with_levels_joined(column, least_share)
    codes, candidates = column.codes, column.common or tuple(column.codes)
    frequent = tuple(text for text in candidates if codes[text].rows >= least_share * rows.sum())
    if not frequent:
        most_frequent = sorted(candidates, key=lambda text: -codes[text].rows)[: FEW_CATEGORIES - 1]
        frequent = tuple(text for text in candidates if text in most_frequent)
    rare = [text for text in candidates if text not in frequent]
    if len(rare) < 2 or any(code.spellings for code in codes.values()):
        return column
    with_label = [codes[text].label for text in rare if codes[text].label != text]
    question = (
        f"rare codes with a name stand under {OTHERS!r}: {listing(with_label, 5)}. To keep one, list it as a group of its own"
    )
    remark = f"{column.remark}; {remark_text.format(len(frequent))}"
    return replace(column, kind="code", common=frequent, remark=remark).asking(question if with_label else "")


def _in_bins(column: ColumnDraft, rows: np.ndarray, limits: tuple[float, ...]) -> ColumnDraft:
    """Replace the coarse limits by these, a part of them, and the fine limits by the coarse ones."""
    bins, facts = column.bins, column.facts
    if bins is None or facts is None or limits == bins.coarse:
        return column
    groups = bins.groups if set(bins.groups) <= set(limits) else limits[:: max(1, len(limits) // 2)][:2]
    wider = replace(column, bins=replace(bins, coarse=limits, fine=bins.coarse, groups=groups))
    old, new = (parse_bins(draft.texts_of_bins, whole_numbers=column.is_whole) for draft in (column, wider))
    means = np.array([facts.numbers.get(interval.label, interval.number) for interval in old])
    labels = {interval.label for interval in old}
    numbers_of = {label: value for label, value in facts.numbers.items() if label in labels}
    numbers_of |= {interval.label: _mean(interval, old, means, rows, facts.numbers) for interval in new}
    return replace(wider, facts=replace(facts, numbers=numbers_of))


def _mean(
    interval: IntervalBin, old: Sequence[IntervalBin], means: np.ndarray, rows: np.ndarray, numbers_of: Mapping[str, float]
) -> float:
    """Return the mean of the rows of a bin that is made up of others, by the numbers that stand for these."""
    inside = np.array([interval.lower <= part.lower and part.upper <= interval.upper for part in old])
    if interval.label in numbers_of or not rows[: len(old)][inside].sum():
        return numbers_of.get(interval.label, interval.number)
    return float(f"{np.average(means[inside], weights=rows[: len(old)][inside]):.4g}")


def least_floor(table: Counts) -> Floor:
    """Return the floor that every bin of a draft has if possible."""
    return Floor(share=LEAST_ROWS / table.total, most=2, least=f"at least {LEAST_ROWS} rows")


def wider_bin_of_each(wider: tuple[ColumnDraft, Binning], narrower: tuple[ColumnDraft, Binning]) -> np.ndarray:
    """Return (n_narrow,) for each bin of a column the wider bin that contains it, or its first category."""
    wide, narrow = wider[1], narrower[1]
    if narrow.lower:
        bins = (np.searchsorted(wide.lower, narrow.lower, side="right") - 1).tolist()
    else:
        new, old = (_label_of_each(column) for column, _ in (wider, narrower))
        first = {old[text]: new[text] for text in reversed(old)}
        bins = [wide.labels.index(first[label]) for label in narrow.labels[: narrow.present]]
    return np.array([*bins, *([] if wide.missing is None else [wide.missing])])


def _label_of_each(column: ColumnDraft) -> dict[str, str]:
    """Return the label under which each category is released."""
    labels = {text: code.label for text, code in column.codes.items()}
    if column.common:
        labels = {text: label if text in column.common else OTHERS for text, label in labels.items()}
    return labels | {text: label for label, texts in column.groups.items() for text in texts}


# Fewer columns, where a fit is no better than independent columns.

_NEXT = 0.7
"""Part of the columns that is tried next."""


def in_order(columns: Sequence[ColumnDraft], pairs: Sequence[Pair], important: Sequence[str] = ()) -> list[ColumnDraft]:
    """Return the columns in the order in which a smaller draft keeps them.

    A design weight first, because nothing can be estimated without it; then the columns of the pairs most associated,
    pair by pair; then those that are associated with none, the ones with the fewest bins first.
    """
    by_name = {column.name: column for column in columns}
    important = [name for name in important if name in by_name]
    names = [*important, *(column.name for column in columns if column.weight)]
    names += [name for pair in tied_pairs(pairs) for name in pair.columns]
    names += sorted(by_name, key=lambda name: by_name[name].n_bins)
    return [by_name[name] for name in dict.fromkeys(names)]


def sizes(n_columns: int, errors: float) -> Iterator[int]:
    """Yield the numbers of columns to try, in decreasing order: all, the number that the noise suggests if it grows with their
    square, and so on down to two.

    Parameters
    ----------
    errors : of a fit to all columns, over those of independent columns.
    """
    yield n_columns
    size = n_columns * min(_NEXT, math.sqrt(1 / max(errors, 1.0)))
    while size > 2:
        yield max(2, round(size))
        size *= _NEXT
    yield 2


def fewer(
    columns: Sequence[ColumnDraft], order: Sequence[ColumnDraft], size: int
) -> tuple[tuple[ColumnDraft, ...], list[LeftOut]]:
    """Return the first columns of the order, so many, in their own order, and why the others are left out."""
    stay = {column.name for column in order[:size]}
    because = (
        "the draft had to become smaller, and no pair with it is more strongly associated than the pairs that stay (--only "
        "tries other columns)"
    )
    gone = [LeftOut(source=column.source, because=because) for column in columns if column.name not in stay]
    return tuple(column for column in columns if column.name in stay), gone


def what_stays(size: int, columns: int, how: str) -> str:
    """Describe a smaller draft: all columns in coarser bins, or some, chosen as `how` says."""
    return f"{size} of the {columns} columns{how}" if size < columns else "coarser bins"
