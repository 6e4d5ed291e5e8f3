"""A smaller draft: fewer columns where a fit is no better than independent columns.

Every measured table gets its share of one budget, so the noise of each grows with their number, and with few rows it hides how
columns hang together. Fewer columns need fewer tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.criteria import MOST_OFF, DraftStanding
from synthrelease.drafting.tried_draft import Drafting, Tried
from synthrelease.drafting.wider_bins import coarser
from synthrelease.errors import InputError
from synthrelease.rehearsal.dependence import Pair, tied_pairs

_NEXT = 0.7
"""Part of the columns that is tried next."""

_KEPT = ": those of the pairs that hang together most, then those with the fewest bins"
_KEPT_IN_COARSER = f"{_KEPT}, in coarser bins"


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


def what_stays(kept: int, columns: int, how: str) -> str:
    """What a smaller draft has: all columns in coarser bins, or some, chosen as `how` says."""
    return f"{kept} of the {columns} columns{how}" if kept < columns else "coarser bins"


def smaller_draft(drafting: Drafting, whole: Tried) -> Tried:
    """The draft of as many columns as stand beside independent columns; in its drafted bins where it can.

    Raises
    ------
    InputError : when no two columns do.
    """
    columns, order = whole.drafting.columns, in_order(whole.drafting.columns, whole.pairs)
    in_coarse_bins = coarser(columns, whole.table)
    most = whole.choices.limit
    why = _too_many(len(columns), drafting.file.n_rows, whole.standing, most)

    def tried(drafted: Sequence[ColumnDraft], kept: int, how: str) -> Tried:
        drafting.progress(f"too many columns for so few rows: trying {kept} of {len(columns)} columns")
        stay, gone = fewer(drafted, order, kept)
        left_out = [*whole.drafting.left_out, *gone]
        one = drafting.of(stay, left_out, lambda doing: None).tried(most, above=most, only_pairs=True)
        stays = what_stays(len(one.drafting.columns), len(columns), how)
        reached = f" In fits to it {_off(one.standing)}." if one.standing.tied else ""
        smaller = f"{why} So this draft has {stays}.{reached}"
        return replace(one, choices=replace(one.choices, smaller=smaller))

    if whole.standing.near and (one := tried(in_coarse_bins, len(columns), "")).standing.good:
        return one
    steps = pairwise(sizes(len(columns), whole.standing.errors))
    good = ((wide, n, one) for wide, n in steps if (one := tried(in_coarse_bins, n, _KEPT_IN_COARSER)).standing.good)
    if (first := next(good, None)) is None:
        raise InputError(f"{why} Nor is a draft of the two columns that hang together most better. No draft was written.")
    wider, kept, found = first
    if (between := (kept + wider) // 2) not in (kept, wider):
        one = tried(in_coarse_bins, between, _KEPT_IN_COARSER)
        kept, found = (between, one) if one.standing.good else (kept, found)
    in_drafted_bins = tried(columns, kept, _KEPT)
    return in_drafted_bins if in_drafted_bins.standing.good else found


def _too_many(n_columns: int, n_rows: int, standing: DraftStanding, total: Fraction) -> str:
    """Why a draft of all columns is none."""
    found = []
    if standing.bins > MOST_OFF:
        found.append(f"the worst bin of a column is off by {standing.bins:.0%} of all rows")
    if standing.tied and not (standing.judged and standing.errors <= 1):
        found.append(_off(standing))
    return (
        f"Too many columns for so few rows at this epsilon: in fits to all {n_columns} columns ({n_rows:,} rows, epsilon "
        f"{float(total):g} in all) {'; '.join(found)}."
    )


def _off(standing: DraftStanding) -> str:
    """How far off tables of two columns are in fits, beside independent columns."""
    strongest, independent = standing.of_strongest
    return (
        f"{standing.fits:.1%} of the rows are in a wrong cell of a table of two columns, on average, where independent "
        f"columns have {standing.independent:.1%}; in the pairs that hang together most {strongest:.1%} are, where these "
        f"have {independent:.1%}"
    )
