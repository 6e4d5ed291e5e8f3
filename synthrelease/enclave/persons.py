"""Keep the first rows of each person: of the rows that one key has, the first k that the rules keep.

The order is that of the stated columns; rows that agree in them, or all where none is stated, come in a random order. A row is
never chosen by what is released of it. Which rows are kept is a function of that person's rows and of coins of each row, so
replacing all rows of one person changes at most k kept records (theory 1.9, first rows of a person), and the order of the file
has no effect on how likely each choice is.

Privacy
-------
A key says which rows belong together and is used for nothing else; 12 and 12.0 are one key (`texts.key_text`). Of its
text a mark is held in memory (`marker`); nothing of it leaves this module. How many persons there are is public, the number of
rows is not. The coins come from the operating system in a release, are forgotten with the reading, and are nobody's seed: were
they known and given to rows as they stand in the file, rows of others would get other coins when a person has more rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from synthrelease.data.counts import Counts, EqualRows
from synthrelease.data.dates import ISO, DateFormat
from synthrelease.data.layout import Layout
from synthrelease.data.misfits import dates_in
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import BinRule, CountedRows, rows_with_bins
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch, Texts, key_number, key_text
from synthrelease.errors import InputError
from synthrelease.privacy.noise import SYSTEM, SystemEntropy, secret_bytes
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source

# Marks of keys: which rows belong together, without the keys themselves.
#
# A mark is 128 bits of a key, made with a secret that is new in every reading and forgotten with it: equal for equal keys,
# and of other keys different with a probability of 1 - 2^-128 for each two. Keys are equal when their normal forms are
# (`key_text`).

NO_MARKS = np.zeros((0, 2), dtype=np.uint64)


def keys_of(texts: Texts, policy: InputTable) -> Iterator[tuple[str, str] | None]:
    """Yield, for each text, the normal form of the key and the key as written; None for no key: a blank, a null, a missing
    value.

    Each follows from the text of the row alone, and from whether the file knows it as a number.
    """
    typed = np.broadcast_to(texts.typed, len(texts.texts)).tolist()
    missing = {*policy.missing_values, *(key_text(text, policy.decimal) for text in policy.missing_values)}
    for text, is_typed in zip(texts.texts, typed, strict=True):
        stripped = "" if text is None else text.strip()
        key = key_text(stripped, policy.decimal, typed=is_typed)
        yield None if not key or stripped in missing or key in missing else (key, stripped)


def marker(
    policy: InputTable, secret: bytes | None = None, form: Callable[[str, str], str] = lambda key, written: key
) -> Callable[[Texts], tuple[np.ndarray, np.ndarray]]:
    """Return a function that gives (n_rows, 2) the digests of keys, and (n_rows,) whether each row has a key; spaces around a
    key are ignored.

    Parameters
    ----------
    secret : of 32 bytes, where the marks of several readers are compared; a new one otherwise.
    form : what is marked, from the normal form of a key and the key as it is written.
    """
    secret = secret or secret_bytes(32)

    def marks(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        digests, has = bytearray(), np.zeros(len(texts.texts), dtype=bool)
        for index, parts in enumerate(keys_of(texts, policy)):
            has[index] = parts is not None
            key = b"" if parts is None else form(*parts).encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(key, digest_size=16, key=secret).digest()
        rows = np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)
        return rows[texts.codes], has[texts.codes]

    return marks


def different(marks: np.ndarray) -> np.ndarray:
    """Return (n, 2) each mark once, in order; of wider rows, each row once."""
    return marks[EqualRows.of([*marks.T]).first]


def repeated(marks: np.ndarray) -> np.ndarray:
    """Return (n, 2) each mark once that occurs more than once."""
    groups = EqualRows.of([*marks.T])
    return marks[groups.first[np.diff(groups.starts, append=len(marks)) > 1]]


_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?", re.ASCII)
_SIGN = np.uint64(2**63)
_COINS = 2**63 - 1
"""Values of the coin of a row: two of a person's rows agree in it with a probability below 2^-62."""
_ROOM = 2**20
"""Rows that are collected, at least, before those that cannot be the first ones are let go."""


def first_rows(
    rows: Iterable[Batch],
    schema: Schema,
    policy: InputTable,
    raw: Plausibility,
    unit: UnitTable,
    entropy: SystemEntropy = SYSTEM,
) -> CountedRows:
    """Count the first rows of all persons; `n_rows` is the number of persons times the rows that each can have.

    Parameters
    ----------
    rows : batches with the columns of the schema and those of `unit`.
    unit : with a key. Rows without one are left out.
    entropy : of the coins that decide between rows of a person that come at the same place; another one of public files alone.

    Raises
    ------
    InputError : as `count_batches`; when no row has a key.
    """
    if unit.key is None:
        raise ValueError("without a key nobody knows the rows of a person")
    rule, persons = BinRule(schema, policy), Persons(schema.layout, unit.records, len(unit.order))
    mark = marker(policy)
    orders = [order_of(dates_in(schema, name), policy) for name in unit.order]
    for _, columns in rows:
        digits = rule.bins(columns)
        marks, has_key = mark(columns[unit.key])
        whole = rows_with_bins(digits)
        complete = has_key if whole is None else has_key & whole
        bins = [digit.rows() for digit in digits]
        allowed = np.flatnonzero(complete)
        if raw.masks:
            allowed = allowed[~raw.forbidden([column[allowed] for column in bins])]
        order = [word[allowed] for name, words in zip(unit.order, orders, strict=True) for word in words(columns[name])]
        order.append(entropy.picks(np.full(len(allowed), _COINS)))
        persons.add(marks[has_key], marks[allowed], order, [column[allowed] for column in bins])
    n_persons = persons.number()
    if not n_persons:
        raise InputError(f"column {unit.key!r}: expected the key of a person, as [unit] says, found no row that has one.")
    return rule.counted(persons.cells(), n_persons * unit.records)


class Persons:
    """The digests of all persons, and the first rows of each so far.

    A row of a person that k other ones come before cannot become one of the first k. Such rows are let go from time to time, so
    that the memory grows with the persons and not with the rows.

    Parameters
    ----------
    most : rows of each, k.
    n_orders : columns by which rows are ordered.
    """

    def __init__(self, layout: Layout, most: int, n_orders: int):
        self._layout, self._most = layout, most
        self._marks = [NO_MARKS]
        kinds = [np.dtype(np.uint64)] * (2 + WORDS * n_orders + 1) + [np.min_scalar_type(max(n - 1, 0)) for n in layout.sizes]
        self._n_before_bins = len(kinds) - len(layout.sizes)
        self._rows = [[np.zeros(0, dtype=kind)] for kind in kinds]
        self._collected, self._left = [0, 0], [0, 0]

    def add(self, marks: np.ndarray, of_rows: np.ndarray, order: Sequence[np.ndarray], bins: Sequence[np.ndarray]) -> None:
        """Add some more rows.

        Parameters
        ----------
        marks : (n, 2) of all rows with a key, kept or not.
        of_rows, order, bins : of the kept rows: their marks, the words that order them, a coin last, and for each column their
            bins.
        """
        self._marks.append(different(marks))
        for column, more in zip(self._rows, [of_rows[:, 0], of_rows[:, 1], *order, *bins], strict=True):
            column.append(more.astype(column[0].dtype, copy=False))
        self._collected[0] += len(self._marks[-1])
        self._collected[1] += len(of_rows)
        if self._collected[0] > 2 * self._left[0] + _ROOM:
            self.number()
        if self._collected[1] > 2 * self._left[1] + _ROOM:
            self._let_go()

    def number(self) -> int:
        """Return how many different keys there were."""
        self._marks = [different(np.concatenate(self._marks))]
        self._collected[0] = self._left[0] = len(self._marks[0])
        return self._left[0]

    def cells(self) -> Counts:
        """Return the first rows of each person."""
        self._let_go()
        return Counts.of(self._layout, [column[0] for column in self._rows[self._n_before_bins :]])

    def _let_go(self) -> None:
        """Keep of each person the first rows alone."""
        rows = [np.concatenate(column) for column in self._rows]
        persons = EqualRows.of(rows[:2])
        number, rows_of_each = persons.ranks, np.diff(persons.starts, append=len(rows[0]))
        several = rows_of_each[number] > 1
        among = np.flatnonzero(several)  # the rows of persons with several; all others stay
        keys = [number[among], *(word[among] for word in rows[2 : self._n_before_bins])]  # the most telling one first
        ordered = among[np.lexsort(keys[::-1])]
        starts = np.diff(number[ordered], prepend=-1) != 0
        positions = np.arange(len(ordered))
        position = positions - np.maximum.accumulate(np.where(starts, positions, 0))
        left = np.sort(np.concatenate([np.flatnonzero(~several), ordered[position < self._most]]))
        self._rows = [[column[left]] for column in rows]
        self._collected[1] = self._left[1] = len(left)


WORDS = 3
"""Words that order the rows by one column: what kind of value it is, and 16 bytes of it."""


def order_of(dates: DateFormat | None, policy: InputTable) -> Callable[[Texts], list[np.ndarray]]:
    """Return a function that gives, for a column, the words by which its rows are ordered; each word depends on its own row's
    text alone.

    Dates come by time, numbers by size, other texts by the first 16 bytes of their UTF-8, and rows without a value last. Dates
    as 2020-01-31, with a time behind them or not, are in order as texts.
    """
    missing = frozenset(policy.missing_values)

    def of_text(text: str | None, typed: bool) -> tuple[int, bytes]:
        plain = "" if text is None else text.strip()
        if not plain or plain in missing:
            return 2, bytes(16)
        if dates is not None and dates.text != ISO and (day := dates.read(plain)) is not None:
            return 0, _of_number(day.toordinal())
        number = plain if typed or policy.decimal == "." else plain.replace(".", "?").replace(policy.decimal, ".")
        if _NUMBER.fullmatch(number):
            return 0, _of_number(float(number))
        return 1, plain.encode("utf-8", "surrogatepass")[:16].ljust(16, b"\0")

    def words(texts: Texts) -> list[np.ndarray]:
        typed = np.broadcast_to(np.asarray(texts.typed, dtype=bool), len(texts.texts)).tolist()
        ranked = [of_text(text, is_typed) for text, is_typed in zip(texts.texts, typed, strict=True)]
        kinds = np.array([kind for kind, _ in ranked], dtype=np.uint64)
        halves = np.frombuffer(b"".join(value for _, value in ranked), dtype=">u8").astype(np.uint64).reshape(-1, 2)
        return [kinds[texts.codes], halves[texts.codes, 0], halves[texts.codes, 1]]

    return words


def _of_number(number: float) -> bytes:
    """Return 16 bytes that are in order as the numbers are."""
    bits = np.array([number + 0.0], dtype=np.float64).view(np.uint64)[0]  # -0 and 0 are one
    ordered = ~bits if bits & _SIGN else bits | _SIGN
    return int(ordered).to_bytes(8, "big") + bytes(8)


# How many keys a file writes in more than one way, such as 12 and 12.0, or may do so, such as 007 and 7, for `check --data`.
#
# Private in: the column of keys. Out: three exact numbers, for the steward; no release says them, and the guarantee is not
# about them.


def keys_in_two_ways(sources: Iterable[Source], schema: Schema, policy: InputTable, name: str) -> tuple[int, int, int]:
    """Return the numbers of keys that these files write in more than one way, of keys that are one number with others, and of
    all.
    """
    secret = secret_bytes(32)
    key, spelling = marker(policy, secret), marker(policy, secret, lambda key, written: written)
    number = marker(policy, secret, lambda key, written: key_number(key, policy.decimal))
    spellings = np.column_stack([NO_MARKS] * 3)
    for source in sources:
        for _, columns in batches(source, schema, policy, [name], only=True):
            marks, has_key = key(columns[name])
            rows = np.column_stack([marks, number(columns[name])[0], spelling(columns[name])[0]])[has_key]
            spellings = different(np.concatenate([spellings, different(rows)]))
    keys = different(spellings[:, :4])
    alike = len(keys) - len(different(keys[:, 2:])) + len(repeated(keys[:, 2:]))
    return len(repeated(spellings[:, :2])), alike, len(keys)
