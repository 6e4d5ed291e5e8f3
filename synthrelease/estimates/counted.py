"""What a question counts in the cells of a table: rows, or for one about members the member in a slot of each root.

The members that meet a condition are, added up over slots, the roots whose member there meets it; so whatever is a sum over
rows is one over members as well, with noise of the same kind (theory 13.14, figures of members). Roots are what is drawn, and
how alike the members of one root are tells how far off the drawing may be: tables that hold two slots tell it, and where none
does, members are taken to be as alike as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.bounds.conditions import over_cells
from synthrelease.bounds.questions import Question
from synthrelease.data.axes import spread_out
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.estimates.ratios import possible
from synthrelease.estimates.tables import NoisyTables


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """The cells in which a question counts rows, or the members of one slot.

    Attributes
    ----------
    asked : the question; about members that of the slot, in the columns of wide rows.
    columns : of the cells, in the order of the release.
    counts : (n_cells,) whether what is in them counts.
    """

    asked: Question
    columns: tuple[PublishedColumn, ...]
    counts: np.ndarray

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [column.name for column in self.columns]

    @property
    def shape(self) -> list[int]:
        """Numbers of bins of the columns."""
        return [len(column.labels) for column in self.columns]


def parts_of(tables: NoisyTables, asked: Question) -> list[Counted]:
    """What a share, mean or median is added up over: the rows, or the members of each slot.

    Raises
    ------
    InputError : where no table tells which members are there.
    """
    slots = range(len(asked.slots)) if asked.slots else (None,)
    return [
        counted(tables, part, part.columns, [part.column] if part.column else [], place)
        for part, place in zip(asked.parts, slots, strict=True)
    ]


def counted(tables: NoisyTables, asked: Question, names: Iterable[str], valued: Iterable[str], place: int | None) -> Counted:
    """The cells of some columns in which a row counts, or the member in a slot.

    Parameters
    ----------
    names : columns that the cells have; for members one more where it takes that to tell whether the member is there.
    valued : those of them in which what counts has a value.
    place : the slot, from 0; None for rows.
    """
    wanted, linked = set(names), tables.release.linked
    if linked is None or place is None:
        return _cells(tables, asked, wanted, valued)
    own = [name for name in linked.slots[place] if name in linked.needed]
    for more in (set[str](), {linked.size}, *({name} for name in own)):
        if not (wanted | more) or (more and not tables.number(wanted | more)):
            continue
        found = _cells(tables, asked, wanted | more, valued)
        low, high = (each.ravel() for each in linked.between(found.names, found.shape))
        there = low > place
        if not (found.counts & ~there & (high > place)).any():
            return Counted(asked=asked, columns=found.columns, counts=found.counts & there & (low <= high))
    told = " and ".join(map(repr, sorted(wanted)))
    raise InputError(
        f"{asked.text!r}: expected a published noisy table that tells which members are there, with {told} and "
        f"{linked.size!r}; found none."
    )


def _cells(tables: NoisyTables, asked: Question, names: Iterable[str], valued: Iterable[str]) -> Counted:
    columns = tables.columns(names)
    counts = asked.where.mask(columns).ravel()
    for name in valued:
        column = tables.release.by_name[name]
        counts = counts & over_cells(columns, name, np.arange(len(column.labels)) < column.present)
    return Counted(asked=asked, columns=columns, counts=counts)


def of_roots(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray], own: np.ndarray) -> np.ndarray:
    """(m, m) the sum over roots of v v', where v are m figures, added up over the members of a root; an upper estimate.

    With one part it is its own. The products of two slots are those of a table that holds both; otherwise, for any c > 0,
    v w' + w v' is at most c v v' + w w' / c.

    Parameters
    ----------
    figures : of each part (m, n_cells) what counts in its cells.
    own : (n_parts, m, m) the same sum over the members of each slot alone.
    """
    own = np.array([possible(each) for each in own])
    found: np.ndarray = own.sum(axis=0)
    for one, other in combinations(range(len(parts)), 2):
        if not (figures[one].any() and figures[other].any()):
            continue
        both = _of_both(tables, [parts[place] for place in (one, other)], [figures[place] for place in (one, other)])
        if both is None:
            times = float(np.sqrt(max(own[other].trace(), 1.0) / max(own[one].trace(), 1.0)))
            both = times * own[one] + own[other] / times
        found = found + both
    return possible(found)


def _of_both(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray]) -> np.ndarray | None:
    """(m, m) the sum over roots of v w' + w v', v and w the figures of two slots; None where no table holds both."""
    names = {name for part in parts for name in part.names}
    if not tables.number(names):
        return None
    columns = tables.columns(names)
    ordered, shape = [column.name for column in columns], [len(column.labels) for column in columns]
    first, second = (
        spread_out(each.reshape(len(each), *part.shape), part.names, ordered, shape).reshape(len(each), -1)
        for part, each in zip(parts, figures, strict=True)
    )
    products = (first[:, None] * second[None]).reshape(len(first) ** 2, -1)
    found = tables.sums(names, products).values.reshape(len(first), len(first))
    return np.asarray(found + found.T)
