"""Join roots (such as households) with their members, from two files with a key or from one file, into wide records (see
`data.linked`).

Privacy
-------
The wide record of a key depends only on the rows with this key. So replacing a root and any number of its members replaces one
record (theory 1.10, roots with their members). The order of rows has no effect, and nothing is drawn at random. The output
contains the counts of wide records, at most one for each key, and the number of different keys in both files, which is public;
the number of members is not. A key is kept if it has exactly one root and an allowed number of members, and every member up to
the maximum number has a bin in every column. In a single file, all rows of a key must have the same values in the columns of
the root. Only a digest of each key is kept in memory (see `persons.marker`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from synthrelease.data.counts import Counts, EqualRows
from synthrelease.data.linked import Linked
from synthrelease.data.misfits import MISSING, ReadColumns, dates_in
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.counting import KEYS, READ, BinRule, CountedRows, check_number_of_rows
from synthrelease.enclave.persons import NO_MARKS, WORDS, keys_of, marker, order_of
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Texts, key_text
from synthrelease.errors import InputError
from synthrelease.privacy.protection import told_of
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source, check_members, unwritten


def count_linked_rows(source: Source, schema: Schema, policy: InputTable) -> CountedRows:
    """Count how often each wide record occurs. Every key of a root or member has one, and `n_rows` is the number of keys.

    Parameters
    ----------
    source : the files of the roots and of their members, or a single file of members with the columns of their roots.

    Raises
    ------
    InputError : as in `count_batches`, and if no row has a key, or a file was changed while it was read.
    """
    linked = schema.linked
    if linked is None:
        raise ValueError("a schema without members has no linked rows")
    reading = _Reading(schema, linked, policy)
    check_members(source, asked=True)
    sources = source.tables()
    with unwritten(lambda: [of_keys.files() for of_keys in sources]):
        roots = reading.rows(sources[0], of_roots=True, of_members=source.members is None)
        context = f"in the file of members, {sources[-1]}: "
        of_members_file = partial(reading.rows, sources[-1], of_roots=False, of_members=True)
        members = roots if source.members is None else told_of(of_members_file, context)
    if not len(roots.marks) and not len(members.marks):
        raise InputError(
            f"No row has a key in column {linked.key!r}, which [members] names as the key. Check this column of the files, and "
            "the texts that count as missing keys."
        )
    one_file = source.members is None
    keys, of_roots, of_members = _numbered(roots.marks, roots.marks[:0] if one_file else members.marks)
    check_number_of_rows(keys)
    of_members = of_roots if one_file else of_members
    complete, of_columns = _roots(keys, of_roots, roots, one_file)
    wide = dict(zip(reading.read.of_roots.names, of_columns, strict=True))
    complete &= _members(keys, of_members, members, reading, wide)
    has_members, has_root = (np.bincount(of_keys, minlength=keys) > 0 for of_keys in (of_members, of_roots))
    reading.misfits.update({(KEYS, READ): int(has_members.sum()), (KEYS, MISSING): int((has_members & ~has_root).sum())})
    return CountedRows(
        cells=Counts.of(schema.layout, [wide[name][complete] for name in schema.layout.columns]),
        n_rows=keys,
        problems=frozenset(reading.problems),
        misfits=reading.misfits,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class _Rows:
    """The rows of a file that have a key. They are private: the repr shows no value.

    Attributes
    ----------
    marks : (n_rows, 2) digests of the keys.
    of_root : for each column of the roots, the (n_rows,) bins; negative if a row has no bin.
    of_member : for each column of the members, the (n_rows,) bins, in several arrays if slots have different bins.
    order : the sort keys of the members, the most significant first.
    """

    marks: np.ndarray
    of_root: list[np.ndarray]
    of_member: list[np.ndarray]
    order: list[np.ndarray]


class _Reading:
    """Reads the rows of roots and members, and records values without a bin.

    Attributes
    ----------
    read : the columns to read.
    problems, misfits : as in `CountedRows`, for all rows so far.
    """

    def __init__(self, schema: Schema, linked: Linked, policy: InputTable):
        self.schema, self.linked, self._policy = schema, linked, policy
        self.read = ReadColumns.of(schema, linked)
        self._mark = marker(policy, missing_keys=linked.missing_keys)
        self.problems, self.misfits = set[tuple[int, int]](), Counter[tuple[int, int]]()

    def rows(self, source: Source, *, of_roots: bool, of_members: bool) -> _Rows:
        """Return the rows of a file that have a key, with the columns of the roots, of the members, or of both."""
        linked, policy = self.linked, self._policy
        parts = [
            schema_part
            for schema_part, wanted_columns in ((self.read.of_roots, of_roots), (self.read.of_members, of_members))
            if wanted_columns
        ]
        rules = [BinRule(schema_part, policy) for schema_part in parts]
        words = self._order() if of_members else []
        wanted_columns = Schema(columns=tuple(column for schema_part in parts for column in schema_part.columns))
        needed = [linked.key, *(name for name, _, _ in words)]
        marked = [NO_MARKS]
        bins = [[[np.zeros(0, dtype=_kind(column))] for column in part.columns] for part in parts]
        orders: list[list[np.ndarray]] = [[np.zeros(0, dtype=np.uint64)] for _, _, n_words in words for _ in range(n_words)]
        for _, columns in batches(source, wanted_columns, policy, needed):
            marks, has_key = self._mark(columns[linked.key])
            marked.append(marks[has_key])
            for rule, part, so_far in zip(rules, parts, bins, strict=True):
                for digits, column, collected in zip(rule.bins(columns), part.columns, so_far, strict=True):
                    collected.append(digits.rows()[has_key].astype(_kind(column)))
            new_words = [word for name, make, _ in words for word in make(columns[name])]
            for collected, word in zip(orders, new_words, strict=True):
                collected.append(word[has_key])
        for rule, part in zip(rules, parts, strict=True):
            indices = [self.schema.names.index(column.name) for column in part.columns]
            self.problems |= {(indices[index], kind) for index, kind in rule.problems}
            self.misfits.update({(indices[index], kind): many for (index, kind), many in rule.misfits.items()})
        whole = [[np.concatenate(schema_part) for schema_part in so_far] for so_far in bins]
        return _Rows(
            marks=np.concatenate(marked),
            of_root=whole[0] if of_roots else [],
            of_member=whole[-1] if of_members else [],
            order=[np.concatenate(schema_part) for schema_part in orders],
        )

    def _order(self) -> list[tuple[str, Callable[[Texts], list[np.ndarray]], int]]:
        """Return the sort keys of members: the name of a column, a function that computes sort keys from its texts, and their
        number."""
        order: list[tuple[str, Callable[[Texts], list[np.ndarray]], int]] = []
        if self.linked.reference is not None:
            name, text = self.linked.reference
            order.append((name, lambda texts: [_others(texts, text, self._policy)], 1))
        for name in self.linked.order:
            order.append((name, order_of(dates_in(self.read.of_members, name), self._policy), WORDS))
        return order


def _others(texts: Texts, text: str, policy: InputTable) -> np.ndarray:
    """Return (n_rows,) sort keys: 0 for rows with this text, compared like keys, and 1 for all others."""
    reference = key_text(text, policy.decimal)
    same = [key is not None and key[0] == reference for key in keys_of(texts, policy)]
    return np.where(np.array(same, dtype=bool)[texts.codes], 0, 1).astype(np.uint64)


def _kind(column: Column) -> np.dtype:
    """Return the integer type for a column's bins and negative codes."""
    return np.dtype(np.int16 if len(column.atoms) < 2**15 else np.int32)


def _numbered(first: np.ndarray, second: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Number the different keys from 0, given two (n_rows, 2) arrays of digests. Return how many there are, and the (n_rows,)
    numbers for each array."""
    groups = EqualRows.of([*np.concatenate([first, second]).T])
    return len(groups.starts), groups.ranks[: len(first)], groups.ranks[len(first) :]


def _roots(keys: int, of_rows: np.ndarray, rows: _Rows, one_file: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return an (n_keys,) mask of the keys with exactly one root that has a bin in every column, and the (n_keys,) bins of each
    column. In a single file, the rows of a key must agree."""
    times = np.bincount(of_rows, minlength=keys)
    complete, columns = (times > 0) if one_file else (times == 1), list[np.ndarray]()
    for bins in rows.of_root:
        column = np.zeros(keys, dtype=bins.dtype)
        column[of_rows] = bins
        complete[of_rows[bins != column[of_rows]]] = False  # in one file: a row of the key has another root
        complete &= column >= 0
        columns.append(column)
    return complete, columns


def _members(keys: int, of_rows: np.ndarray, rows: _Rows, reading: _Reading, wide: dict[str, np.ndarray]) -> np.ndarray:
    """Write the members of every key and their number into the wide records. Return an (n_keys,) mask: True if the number is
    allowed and every member in the record has a bin in every column."""
    linked, schema = reading.linked, reading.schema
    ordered = np.lexsort([*rows.of_member[::-1], *rows.order[::-1], of_rows])
    keys_in_order = of_rows[ordered]
    number = np.bincount(of_rows, minlength=keys)
    starts = np.cumsum(number) - number
    position = np.arange(len(ordered)) - starts[keys_in_order]
    size = schema[linked.size]
    low = 0.0 if size.bounds is None else size.bounds[0]
    complete: np.ndarray = number >= low
    if linked.more == "drop":
        complete &= number <= linked.most
    capped = np.minimum(number, linked.most)
    wide[linked.size] = np.searchsorted(np.array(size.edges), capped, side="right").astype(_kind(size))
    for slot, names in enumerate(linked.slots):
        in_slot = position == slot
        at, chosen = keys_in_order[in_slot], ordered[in_slot]
        for name, which in zip(names, reading.read.places[slot], strict=True):
            absent = len(schema[name].atoms) - 1
            column = np.full(keys, absent, dtype=rows.of_member[which].dtype)
            column[at] = rows.of_member[which][chosen]
            complete &= column >= 0
            if name in linked.needed:
                complete[at[column[at] == absent]] = False
            wide[name] = column
    return complete
