"""Define tables made from wide records: a row for each member, for each member except the first, or for each ordered pair.

Each root makes at most `MemberRows.most` rows. So replacing one root removes at most `most` rows from the table of members, and
adds at most `most` rows (theory 3.22, rows of members).
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
"""The positions, from 1, of the first and of the second member in a row. If the row has only one member, both positions are
equal.
"""

_GAP = re.compile(r"\s*([\w.]+)\s+-\s+([\w.]+)\s*")
_MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class MemberRows:
    """Which rows each root makes in a table of members, and the columns of these rows.

    Attributes
    ----------
    linked : the arrangement of the wide record.
    of : "members": a row for each member. "others": for each member except the first; first.NAME is a column of the first.
        "pairs": for each ordered pair; other.NAME is a column of the second member.
    wide : the columns of the wide record. A row has all columns of its root.
    names : the columns of the rows. NAME is a column of the member, and "first.NAME - NAME" is the difference of two columns of
        numbers.
    """

    linked: Linked
    of: Of
    wide: tuple[str, ...]
    names: tuple[str, ...]

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """Return, for each possible row, the positions of its two members: (3, 1) means the third beside the first. A single
        member has its position twice."""
        slots = range(1, self.linked.most + 1)
        return {
            "members": tuple((slot, slot) for slot in slots),
            "others": tuple((slot, 1) for slot in slots[1:]),
            "pairs": tuple(permutations(slots, 2)),
        }[self.of]

    @property
    def most(self) -> int:
        """Return the largest number of rows that a root can make, but at least 1."""
        return max(1, len(self.seats))

    @property
    def known(self) -> list[str]:
        """Return all columns that these rows can have, such as "age" or "first.age", without differences."""
        prefixes = {"members": "", "others": FIRST, "pairs": OTHER}[self.of]
        roots = self.linked.of_roots(self.wide)
        names = [name for name in self.linked.names if name not in roots]
        return [*names, *(f"{prefixes}{name}" for name in self.linked.names if prefixes), *roots]

    def unknown(self) -> list[str]:
        return [part for name in self.names for part in parts_of(name) if self._column(part, self.seats[0]) is None]

    def columns(self, name: str, seat: Seat) -> list[str]:
        """Return the columns of the wide record, such as `age_2`, from which a column is computed: two for a difference,
        otherwise one."""
        return [column for part in parts_of(name) if (column := self._column(part, seat)) is not None]

    def _column(self, name: str, seat: Seat) -> str | None:
        if name in self.wide:
            return name
        prefix = next((start for start in (FIRST, OTHER) if name.startswith(start)), "")
        plain, allowed = name.removeprefix(prefix), {"": True, FIRST: self.of == "others", OTHER: self.of == "pairs"}
        if plain not in self.linked.names or not allowed[prefix]:
            return None
        return slot_name(plain, seat[1] if prefix else seat[0])

    def layout(self, sizes: Mapping[str, int], numbers: Mapping[str, Sequence[float | None]]) -> Layout:
        """Return the layout of these rows, given the numbers of bins and the representative values of the wide record."""
        sizes_ = []
        for name in self.names:
            sources = self.columns(name, self.seats[0])
            sizes_.append(sizes[sources[0]] if len(sources) == 1 else len(gaps(numbers, sources)[0]) + 1)
        return Layout(columns=self.names, sizes=tuple(sizes_))

    def published(self, columns: Iterable[PublishedColumn]) -> tuple[PublishedColumn, ...]:
        """Return the columns of these rows as published."""
        by_name = {column.name: column for column in columns}
        numbers = {name: column.numbers for name, column in by_name.items()}
        columns_ = []
        for name in self.names:
            sources = self.columns(name, self.seats[0])
            column = replace(by_name[sources[0]], name=name)
            if len(sources) == 2:
                labels, values, missing = labelled_gaps(gaps(numbers, sources)[0])
                column = replace(column, kind="real", labels=labels, numbers=values, missing=missing)
                column = replace(column, ordered=True, lower=(), upper=(), categories=(), bounds=None, step=None)
            columns_.append(column)
        return tuple(columns_)


def parts_of(name: str) -> tuple[str, ...]:
    """Return the columns that a name combines: one for "age", two for a difference such as "first.age - age"."""
    match = _GAP.fullmatch(name)
    return (name,) if match is None else (match[1], match[2])


def gaps(numbers: Mapping[str, Sequence[float | None]], sources: Sequence[str]) -> tuple[list[float], np.ndarray]:
    """Return the distinct differences between the representative values of two columns, in increasing order, and a matrix with
    the index of the difference for each pair of bins.

    If a bin has no representative value, the index is the number of differences.
    """
    first, second = (np.array([np.nan if value is None else value for value in numbers[name]], dtype=float) for name in sources)
    every = first[:, None] - second[None, :]
    values = np.unique(every[np.isfinite(every)])
    bins = np.where(np.isfinite(every), np.searchsorted(values, np.nan_to_num(every)), len(values))
    return values.tolist(), bins.astype(np.int64)


def labelled_gaps(values: Sequence[float]) -> tuple[tuple[str, ...], tuple[float | None, ...], int]:
    """Return the labels and values of the bins of differences, and the index of the bin for missing values."""
    return (*(f"{value:.10g}" for value in values), _MISSING), (*values, None), len(values)


def rows_transformation(rows: MemberRows, wide: Transformation) -> Transformation:
    """Return the bins of each column in the table of members, given those of the wide record.

    A column has the bins of its first slot, and a difference of two columns has a bin for each possible difference.
    """
    numbers = {name: binning.numbers for name, binning in zip(wide.schema.names, wide.binnings, strict=True)}
    columns, binnings = list[Column](), list[Binning]()
    for name in rows.names:
        sources = rows.columns(name, rows.seats[0])
        column, binning = wide.schema[sources[0]], wide.binning(sources[0])
        if len(sources) == 2:
            labels, values, missing = labelled_gaps(gaps(numbers, sources)[0])
            of_atom = tuple(range(len(labels)))
            binning = Binning(name=binning.name, labels=labels, numbers=values, of_atom=of_atom, missing=missing)
            column = replace(column, kind="real", ordered=True, edges=(), atoms=binning, alternatives={binning.name: binning})
        columns.append(replace(column, name=name))
        binnings.append(binning)
    return Transformation(schema=Schema(columns=tuple(columns)), binnings=tuple(binnings))
