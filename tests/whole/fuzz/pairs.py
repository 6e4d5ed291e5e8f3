"""Two tables that differ in one row; their random subsets drawn together (theory 1.6, coupling of resized tables)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from synthrelease.data.counts import Counts

Row = tuple[int, ...]
Rows = list[Row]
"""Bins of every row, in the order of the cells."""


class Leak(BaseException):
    """The two worlds differ where they must not. No `except Exception` of a release takes it for a failure."""


def rows_of(table: Counts) -> Rows:
    return [tuple(row) for row in table.expand().tolist()]


def table_of(rows: Rows, like: Counts) -> Counts:
    digits = np.array(rows, dtype=np.int64).reshape(len(rows), len(like.layout.sizes))
    return Counts.of(like.layout, list(digits.T))


def replaced(one: Rows, other: Rows) -> tuple[Row | None, Row | None] | None:
    """The row that only the first table has and the one that only the second has, None where there is none.

    None for tables that differ in more than one row, replaced, added or taken away.
    """
    gone, came = (list((Counter(a) - Counter(b)).elements()) for a, b in ((one, other), (other, one)))
    if len(gone) > 1 or len(came) > 1:
        return None
    return (gone[0] if gone else None), (came[0] if came else None)


def coupled_subset(kept: tuple[Rows, Rows], chosen: Rows, draw: np.random.Generator) -> Rows:
    """A uniform subset of the second table that differs from `chosen`, one of the first, in at most one row.

    Parameters
    ----------
    kept : the rows that both files keep; all but one of them are the same.
    """
    one, other = kept
    change = replaced(one, other)
    if change is None:
        raise Leak(f"the kept rows of the files differ in more than one row: {one} and {other}")
    gone, came = change
    if gone is None and came is None:
        return list(chosen)
    if gone is None:  # the second table has a row more, which takes a random place
        return chosen if draw.random() * len(other) >= len(chosen) else [*without_one(chosen, draw), came]  # type: ignore[list-item]
    if draw.random() * one.count(gone) >= chosen.count(gone):  # the row that is only here was not drawn
        return list(chosen)
    rest = list(chosen)
    rest.remove(gone)
    if came is not None:
        return [*rest, came]
    left = list((Counter(other) - Counter(rest)).elements())
    return [*rest, left[draw.integers(len(left))]]


def coupled_pieces(tables: tuple[Rows, Rows], pieces: list[Rows], draw: np.random.Generator) -> list[Rows]:
    """The second table in pieces that are those of the first, but for the replaced row, which stays in its piece."""
    change = replaced(*tables)
    if change is None:
        raise Leak(f"the tables differ in more than one row: {tables[0]} and {tables[1]}")
    gone, came = change
    if gone is None or came is None:
        return pieces
    owners = [place for place, piece in enumerate(pieces) for row in piece if row == gone]
    place = owners[draw.integers(len(owners))]
    found = [list(piece) for piece in pieces]
    found[place].remove(gone)
    found[place].append(came)
    return found


def without_one(rows: Rows, draw: np.random.Generator) -> Rows:
    place = int(draw.integers(len(rows)))
    return rows[:place] + rows[place + 1 :]
