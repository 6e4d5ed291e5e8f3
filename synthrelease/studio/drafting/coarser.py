"""Make a draft smaller: merge bins of numbers and rare codes, and choose the columns to leave out.

Coarser bins have more rows in each cell, and fewer columns leave each table more budget: the noise hides fewer associations.
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
_KEEPS = "; this draft keeps the "
_RARE = "rare codes with a label are in"


@dataclass(frozen=True, kw_only=True)
class Floor:
    """The smallest share of the rows that a bin of a draft may have, such as 5%. Smaller bins are merged.

    Attributes
    ----------
    share : smallest share of the public rows in a bin of numbers or codes.
    most : columns with at most this number of bins are unchanged.
    """

    share: float
    most: int
    least: str


LEAST_ROWS = 10
"""A bin of a draft has at least this number of public rows, if bins can be merged."""

*FLOORS, COARSEST = (
    Floor(share=share, most=most, least=f"at least {share:.0%} of the rows")
    for share, most in ((0.04, 12), (0.05, FEW_CATEGORIES), (0.1, FEW_CATEGORIES), (0.2, 3))
)
"""Minimum shares of the rows in a bin, tried in this order. The first is only for columns with more than 12 bins. `COARSEST` is
only for files in which narrower bins preserve little.
"""


def coarser(columns: Sequence[ColumnDraft], table: Counts) -> tuple[ColumnDraft, ...]:
    """Return the columns in coarser bins: at most three bins for numbers, and one bin for each frequent category.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins of these columns.
    """

    def wider(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
        if column.bins and not column.weight:
            return _in_bins(column, rows, column.bins.groups)
        return column if column.n_bins <= FEW_CATEGORIES else _frequent(column, rows, FLOORS[1])

    return tuple(wider(column, table.marginal((i,))) for i, column in enumerate(columns))


def floored(columns: Sequence[ColumnDraft], table: Counts, floor: Floor) -> tuple[ColumnDraft, ...]:
    """Merge small bins, so that each has at least the minimum share of the rows; columns with few bins are unchanged."""

    def wider(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
        if column.n_bins <= floor.most:
            return column
        if column.bins and not column.weight:
            shares, adult = rows[: column.n_bins] / rows.sum(), ADULT if column.bins.ages else -math.inf
            return _in_bins(column, rows, _joined(column.bins.coarse, shares, floor.share, adult))
        return _frequent(column, rows, floor)

    return tuple(wider(column, table.marginal((i,))) for i, column in enumerate(columns))


ADULT = 20
"""Largest age that may separate the young from older persons. Bins of ages keep their last limit up to this age, such as 15, 18
or 20 years, so that the young have their own bins.
"""


def _joined(limits: Sequence[float], shares: np.ndarray, least_share: float, adult: float = -math.inf) -> tuple[float, ...]:
    """Choose limits between bins so that each bin has at least a minimum share of the rows.

    If this is impossible, the limit nearest to the median is returned.

    Parameters
    ----------
    shares : share of the rows in each bin between these limits. The shares add up to less than 1 if values are missing.
    adult : the largest limit up to this age stays if the rows below it have at least a quarter of `least_share`.
    """
    n_young = sum(limit <= adult for limit in limits)
    if n_young and shares[:n_young].sum() >= least_share / 4:
        young = _at_least(limits[: n_young - 1], shares[:n_young], least_share)
        return (*young, limits[n_young - 1], *_at_least(limits[n_young:], shares[n_young:], least_share))
    below = np.cumsum(shares)
    return _at_least(limits, shares, least_share) or (limits[int(np.abs(below[:-1] - below[-1] / 2).argmin())],)


def _at_least(limits: Sequence[float], shares: np.ndarray, least_share: float) -> tuple[float, ...]:
    chosen, held = list[float](), 0.0
    below = np.cumsum(shares)
    for limit, share, reached in zip(limits, shares, below, strict=False):
        held += share
        if held >= least_share and below[-1] - reached >= least_share:
            chosen, held = [*chosen, limit], 0.0
    return tuple(chosen)


def _frequent(column: ColumnDraft, rows: np.ndarray, floor: Floor) -> ColumnDraft:
    """Merge the rare categories of a column, so that each released category has at least the minimum share of the rows.

    Ordered categories are merged with neighbours, categories with a larger category within it, and others into one bin. If
    none is frequent enough, the five most frequent keep their bins. The column is unchanged with fewer than two rare
    categories, or if codes have several spellings.
    """
    if column.ordered:
        return with_neighbours_joined(column, floor.share)
    if column.within:
        return with_levels_joined(column, floor.share)
    codes, candidates = column.codes, column.common or tuple(column.codes)
    total = max(rows.sum(), sum(code.rows for code in codes.values()))  # codes count all rows of a person
    frequent = tuple(text for text in candidates if codes[text].rows >= floor.share * total)
    which = f"{len(frequent)} with {floor.least}"
    if not frequent:
        which = f"{FEW_CATEGORIES - 1} most frequent"
        most_frequent = sorted(candidates, key=lambda text: -codes[text].rows)[: FEW_CATEGORIES - 1]
        frequent = tuple(text for text in candidates if text in most_frequent)
    rare = [text for text in candidates if text not in frequent]
    if len(rare) < 2 or any(code.spellings for code in codes.values()):
        return column
    with_label = [code.label for text, code in codes.items() if text not in frequent and code.label != text]
    question = f"{_RARE} {OTHERS!r}: {listing(with_label, 5)}. To keep a code, list it as a separate group"
    remark = f"{column.remark.partition(_KEEPS)[0]}{_KEEPS}{which}"
    # wider bins ask again, about all rare codes
    doubts = "; ".join(doubt for doubt in column.doubt.split("; ") if not doubt.startswith(_RARE))
    return replace(column, kind="code", common=frequent, remark=remark, doubt=doubts).asking(question if with_label else "")


def _in_bins(column: ColumnDraft, rows: np.ndarray, limits: tuple[float, ...]) -> ColumnDraft:
    """Return a column of numbers with wider bins and their representative values.

    Parameters
    ----------
    limits : the coarse limits to keep. The old coarse limits become the fine limits.
    """
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
    """Return the value that represents a merged bin: the mean of the values of its parts, weighted by their rows."""
    inside = np.array([interval.lower <= part.lower and part.upper <= interval.upper for part in old])
    if interval.label in numbers_of or not rows[: len(old)][inside].sum():
        return numbers_of.get(interval.label, interval.number)
    return float(f"{np.average(means[inside], weights=rows[: len(old)][inside]):.4g}")


def least_floor(table: Counts) -> Floor:
    """Return the minimum size of bins in every draft: ten public rows, as far as bins can be merged."""
    return Floor(share=LEAST_ROWS / table.total, most=2, least=f"at least {LEAST_ROWS} rows")


def wider_bin_of_each(wider: tuple[ColumnDraft, Binning], narrower: tuple[ColumnDraft, Binning]) -> np.ndarray:
    """Return the (n_narrow,) index of the wider bin that contains each narrower bin of a column.

    A narrower bin of several categories belongs to the wider bin of its first category.
    """
    wide, narrow = wider[1], narrower[1]
    if narrow.lower:
        bins = (np.searchsorted(wide.lower, narrow.lower, side="right") - 1).tolist()
    else:
        new, old = (_label_of_each(column) for column, _ in (wider, narrower))
        first = {old[text]: new[text] for text in reversed(old)}
        bins = [wide.labels.index(first[label]) for label in narrow.labels[: narrow.present]]
    return np.array([*bins, *([] if wide.missing is None else [wide.missing])])


def are_inside(wider: tuple[ColumnDraft, Binning], narrower: tuple[ColumnDraft, Binning]) -> bool:
    if narrower[1].lower:
        return {*wider[1].lower} <= {*narrower[1].lower}
    new, old = (_label_of_each(column) for column, _ in (wider, narrower))
    return len({(old[text], new[text]) for text in old}) == len({*old.values()})


def _label_of_each(column: ColumnDraft) -> dict[str, str]:
    labels = {text: code.label for text, code in column.codes.items()}
    if column.common:
        labels = {text: label if text in column.common else OTHERS for text, label in labels.items()}
    return labels | {text: label for label, texts in column.groups.items() for text in texts}


# Fewer columns, where a fit is no better than independent columns.

_NEXT = 0.7  # The ratio of the numbers of columns in two successive trials


def in_order(columns: Sequence[ColumnDraft], pairs: Sequence[Pair], important: Sequence[str] = ()) -> list[ColumnDraft]:
    """Order columns by priority: a draft that cannot keep all columns keeps the first of them.

    Columns that the steward called important come first, then a design weight, without which nothing can be estimated, then
    the columns of associated pairs, the strongest first, and then those with the fewest bins.
    """
    by_name = {column.name: column for column in columns}
    important = [name for name in important if name in by_name]
    names = [*important, *(column.name for column in columns if column.weight)]
    names += [name for pair in tied_pairs(pairs) for name in pair.columns]
    names += sorted(by_name, key=lambda name: by_name[name].n_bins)
    return [by_name[name] for name in dict.fromkeys(names)]


def sizes(n_columns: int, errors: float) -> Iterator[int]:
    """Yield numbers of columns for ever smaller drafts, such as 20, 14, 10, 7, 5, 3 and 2: each is 70% of the one before.

    The second is smaller if the errors are large, because errors grow with the square of the number of columns.

    Parameters
    ----------
    errors : the share of the associations that a draft of all columns loses, divided by the largest share that a good draft
        may lose.
    """
    yield n_columns
    size = n_columns * min(_NEXT, math.sqrt(1 / max(errors, 1.0)))
    while round(size) > 2:
        yield round(size)
        size *= _NEXT
    yield 2


def fewer(
    columns: Sequence[ColumnDraft], order: Sequence[ColumnDraft], size: int
) -> tuple[tuple[ColumnDraft, ...], list[LeftOut]]:
    """Return the first `size` columns of `order`, in the order of the file, and the others with the reason for leaving them
    out.
    """
    stay = {column.name for column in order[:size]}
    because = (
        "there are too few rows for all columns, and its associations are not stronger than those of the other columns "
        "(--only tries other columns)"
    )
    gone = [LeftOut(source=column.source, because=because) for column in columns if column.name not in stay]
    return tuple(column for column in columns if column.name in stay), gone


def what_stays(size: int, columns: int, how: str) -> str:
    return f"{size} of the {columns} columns{how}" if size < columns else "coarser bins"
