"""Rows that are no roots: each member of every root, each beside the first one, or every two members, in a table of their own.

A wide record makes as many such rows as its root has members (or others, or ordered pairs), and at most `MemberRows.most`. So
replacing one root takes at most so many rows out of that table and puts at most so many in (theory 3.22, rows of members).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Literal

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.linked import FIRST, OTHER, Linked, slot_name
from synthrelease.data.schema import Binning, Column, PublishedColumn, Schema, Transformation

Of = Literal["members", "others", "pairs"]
Seat = tuple[int, int]
"""The places of a member and of the one beside it, from 1; twice the same where there is none."""

_GAP = re.compile(r"\s*([\w.]+)\s+-\s+([\w.]+)\s*")
_MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class MemberRows:
    """Which rows a root makes, and what their columns are called.

    Attributes
    ----------
    of : "members", all of them; "others", all but the first, whose columns are first.NAME; "pairs", every two in both orders,
        the columns of the second being other.NAME.
    wide : the columns of the wide record; each is a column of all rows of its root.
    names : the columns of the rows: NAME is that of the member; "first.NAME - NAME" is a difference of numbers.
    """

    linked: Linked
    of: Of
    wide: tuple[str, ...]
    names: tuple[str, ...]

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """For every row that a root can make, whose it is."""
        places = range(1, self.linked.most + 1)
        return {
            "members": tuple((place, place) for place in places),
            "others": tuple((place, 1) for place in places[1:]),
            "pairs": tuple(permutations(places, 2)),
        }[self.of]

    @property
    def most(self) -> int:
        """Rows that a root makes, at most; at least 1."""
        return max(1, len(self.seats))

    @property
    def known(self) -> list[str]:
        """The names that a column of these rows can have, without differences."""
        more = {"members": "", "others": FIRST, "pairs": OTHER}[self.of]
        roots = self.linked.of_roots(self.wide)
        names = [name for name in self.linked.names if name not in roots]
        return [*names, *(f"{more}{name}" for name in self.linked.names if more), *roots]

    def unknown(self) -> list[str]:
        """Those of the names that no column has."""
        return [one for name in self.names for one in parts_of(name) if self._column(one, self.seats[0]) is None]

    def columns(self, name: str, seat: Seat) -> list[str]:
        """The columns of the wide record that a column is made of, one or two, in the row of a seat."""
        return [found for one in parts_of(name) if (found := self._column(one, seat)) is not None]

    def _column(self, name: str, seat: Seat) -> str | None:
        if name in self.wide:
            return name
        prefix = next((each for each in (FIRST, OTHER) if name.startswith(each)), "")
        plain, allowed = name.removeprefix(prefix), {"": True, FIRST: self.of == "others", OTHER: self.of == "pairs"}
        if plain not in self.linked.names or not allowed[prefix]:
            return None
        return slot_name(plain, seat[1] if prefix else seat[0])

    def layout(self, sizes: Mapping[str, int], numbers: Mapping[str, Sequence[float | None]]) -> Layout:
        """The layout of these rows, from the numbers of bins of wide columns, and what stands for these bins."""
        found = []
        for name in self.names:
            made = self.columns(name, self.seats[0])
            found.append(sizes[made[0]] if len(made) == 1 else len(gaps(numbers, made)[0]) + 1)
        return Layout(columns=self.names, sizes=tuple(found))

    def published(self, columns: Iterable[PublishedColumn]) -> tuple[PublishedColumn, ...]:
        """The columns of these rows, from those of the wide record."""
        known = {column.name: column for column in columns}
        numbers = {name: column.numbers for name, column in known.items()}
        found = []
        for name in self.names:
            made = self.columns(name, self.seats[0])
            column = replace(known[made[0]], name=name)
            if len(made) == 2:
                labels, values, missing = labelled_gaps(gaps(numbers, made)[0])
                column = replace(column, kind="real", labels=labels, numbers=values, missing=missing)
                column = replace(column, ordered=True, lower=(), upper=(), categories=(), bounds=None, step=None)
            found.append(column)
        return tuple(found)


def parts_of(name: str) -> tuple[str, ...]:
    """The one or two columns that are named."""
    match = _GAP.fullmatch(name)
    return (name,) if match is None else (match[1], match[2])


def gaps(numbers: Mapping[str, Sequence[float | None]], made: Sequence[str]) -> tuple[list[float], np.ndarray]:
    """The different gaps of the numbers of two columns, increasing, and of each two bins the place of theirs; the next place
    where a bin has no number."""
    first, second = (np.array([np.nan if one is None else one for one in numbers[name]], dtype=float) for name in made)
    every = first[:, None] - second[None, :]
    values = np.unique(every[np.isfinite(every)])
    places = np.where(np.isfinite(every), np.searchsorted(values, np.nan_to_num(every)), len(values))
    return values.tolist(), places.astype(np.int64)


def labelled_gaps(values: Sequence[float]) -> tuple[tuple[str, ...], tuple[float | None, ...], int]:
    """The labels of gaps, what stands for each, and the place of the bin without a number."""
    return (*(f"{value:.10g}" for value in values), _MISSING), (*values, None), len(values)


def rows_transformation(rows: MemberRows, wide: Transformation) -> Transformation:
    """Of the rows, from that of the wide record: a column has the bins, and the atomic ones, of its column in the first row."""
    numbers = {name: binning.numbers for name, binning in zip(wide.schema.names, wide.binnings, strict=True)}
    columns, binnings = list[Column](), list[Binning]()
    for name in rows.names:
        made = rows.columns(name, rows.seats[0])
        column, binning = wide.schema[made[0]], wide.binning(made[0])
        if len(made) == 2:
            labels, values, missing = labelled_gaps(gaps(numbers, made)[0])
            of_atom = tuple(range(len(labels)))
            binning = Binning(name=binning.name, labels=labels, numbers=values, of_atom=of_atom, missing=missing)
            column = replace(column, kind="real", ordered=True, edges=(), atoms=binning, alternatives={binning.name: binning})
        columns.append(replace(column, name=name))
        binnings.append(binning)
    return Transformation(schema=Schema(columns=tuple(columns)), binnings=tuple(binnings))
