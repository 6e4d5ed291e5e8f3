"""Select the first k of the rows of each person that the rules allow.

A person's rows are sorted by the columns that the configuration states; rows that are equal in these columns are in random
order. Other columns have no influence, except through the rules. The kept rows of a person depend only on this person's rows,
and on a random number (coin) for each row. So replacing all rows of one person changes at most k kept records (theory 1.9,
first rows of a person). The order of the rows in the file does not change the probability of any choice.

Privacy
-------
A key is used only to find the rows of the same person. 12 and 12.0 are the same key (see `texts.key_text`). Only a digest of
the key's text is kept in memory (see `marker`), and it never leaves this module. The number of persons is public, but the
number of rows is not. In a release, the coins come from the operating system, never from a seed, and are discarded after the
file was read. If the coins were known and assigned to rows in the order of the file, one additional row of a person would
change the coins of other persons' rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from synthrelease.data.counts import Counts, EqualRows
from synthrelease.data.dates import ISO, DateFormat
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

# Digests of keys, which show the rows that belong together without the keys themselves.
#
# A digest has 128 bits and is made with a secret that is new in every reading and discarded after it. Equal keys have equal
# digests, and two different keys have different digests with probability 1 - 2^-128. Two keys are equal if their normal forms
# are equal (`key_text`).

NO_MARKS = np.zeros((0, 2), dtype=np.uint64)


def keys_of(texts: Texts, policy: InputTable, missing_keys: Iterable[str] = ()) -> Iterator[tuple[str, str] | None]:
    """Yield, for each text, the key in normal form (12 for 12.0) and as written, or None if it is blank, null, missing, or in
    `missing_keys`.

    Each result depends only on the text of the row, on whether the file stores the text as a number, and on public settings.
    """
    typed = np.broadcast_to(texts.typed, len(texts.texts)).tolist()
    listed = (*policy.missing_values, *missing_keys)
    missing = {*listed, *(key_text(text, policy.decimal) for text in listed)}
    for text, is_typed in zip(texts.texts, typed, strict=True):
        stripped = "" if text is None else text.strip()
        key = key_text(stripped, policy.decimal, typed=is_typed)
        yield None if not key or stripped in missing or key in missing else (key, stripped)


def marker(
    policy: InputTable,
    secret: bytes | None = None,
    form: Callable[[str, str], str] = lambda key, written: key,
    missing_keys: Sequence[str] = (),
) -> Callable[[Texts], tuple[np.ndarray, np.ndarray]]:
    """Return a function that takes the texts of a column of keys, and returns their (n_rows, 2) digests and an (n_rows,) mask
    of the rows that have a key.

    Parameters
    ----------
    secret : the 32 secret bytes on which the digests depend, the same for all files whose digests are compared; by default new.
    form : a function of the normal form of a key and the key as written, which returns the text whose digest is computed.
    missing_keys : texts that mean that a row has no key, besides the missing values of the policy.
    """
    secret = secret or secret_bytes(32)

    def marks(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        digests, has = bytearray(), np.zeros(len(texts.texts), dtype=bool)
        for index, parts in enumerate(keys_of(texts, policy, missing_keys)):
            has[index] = parts is not None
            key = b"" if parts is None else form(*parts).encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(key, digest_size=16, key=secret).digest()
        rows = np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)
        return rows[texts.codes], has[texts.codes]

    return marks


def different(marks: np.ndarray) -> np.ndarray:
    """Return the distinct rows of an (n, 2) array of digests, or of a wider array, sorted."""
    return marks[EqualRows.of([*marks.T]).first]


def repeated(marks: np.ndarray) -> np.ndarray:
    groups = EqualRows.of([*marks.T])
    return marks[groups.first[np.diff(groups.starts, append=len(marks)) > 1]]


_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?", re.ASCII)
_SIGN = np.uint64(2**63)
# Number of values of a row's random number. Two rows of a person have the same number with probability below 2^-62.
_COINS = 2**63 - 1
ROOM = 2**17
"""When at least this number of rows has been collected, rows that cannot be among the first rows of a person are discarded."""


def first_rows(
    rows: Iterable[Batch],
    schema: Schema,
    policy: InputTable,
    raw: Plausibility,
    unit: UnitTable,
    entropy: SystemEntropy = SYSTEM,
    rule: BinRule | None = None,
) -> CountedRows:
    """Count the first rows of each person, at most `unit.records`. `n_rows` is the number of persons times `unit.records`.

    Parameters
    ----------
    rows : batches with the columns of the schema and of `unit`.
    unit : how rows are assigned to persons, by a key. Rows without a key are excluded.
    entropy : the source of the coins; for private files, the operating system.
    rule : the rule that assigns a bin to each text; by default the bins of the schema.

    Raises
    ------
    InputError : as in `count_batches`, and if no row has a key.
    """
    if unit.key is None:
        raise ValueError("without a key, the rows of a person are unknown")
    rule = rule or BinRule(schema, policy)
    persons, mark = Persons(rule, unit.records, len(unit.order)), marker(policy, missing_keys=unit.missing_keys)
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
        persons.add(len(has_key), marks[has_key], marks[allowed], order, [column[allowed] for column in bins])
    n_persons = persons.number()
    if not n_persons:
        raise InputError(
            f"No row has a key in column {unit.key!r}, which [unit] names as the key of persons. Check this column of the "
            "file, and the texts that count as missing keys."
        )
    return rule.counted(persons.cells(), n_persons * unit.records)


class Persons:
    """Collects the keys of all persons, as digests, and the first rows of each among the rows added so far.

    Later rows are discarded, so memory grows with the number of persons and not of rows.

    Parameters
    ----------
    most : k, the largest number of rows of each person.
    n_orders : number of columns by which rows are sorted.
    """

    def __init__(self, rule: BinRule, most: int, n_orders: int):
        self._rule, self._most, sizes = rule, most, rule.layout.sizes
        self._marks = [NO_MARKS]
        kinds = [np.dtype(np.uint64)] * (2 + WORDS * n_orders + 1) + [np.min_scalar_type(max(n - 1, 0)) for n in sizes]
        self._n_before_bins = len(kinds) - len(sizes)
        self._rows = [[np.zeros(0, dtype=kind)] for kind in kinds]
        self._collected = self._left = 0

    def add(
        self, read: int, marks: np.ndarray, of_rows: np.ndarray, order: Sequence[np.ndarray], bins: Sequence[np.ndarray]
    ) -> None:
        """Add a batch of rows.

        Parameters
        ----------
        read : the number of rows read, with or without a key.
        marks : (n, 2) digests of all rows with a key, kept or not.
        of_rows, order, bins : digests, sort keys with the coin last, and bins of the kept rows.
        """
        self._marks.append(different(marks))
        for column, more in zip(self._rows, [of_rows[:, 0], of_rows[:, 1], *order, *bins], strict=True):
            column.append(more.astype(column[0].dtype, copy=False))
        self._collected += read
        if self._collected > 2 * self._left + ROOM:
            self._let_go()
            self._collected = self._left = max(self.number(), len(self._rows[0][0]))

    def number(self) -> int:
        self._marks = [different(np.concatenate(self._marks))]
        return len(self._marks[0])

    def cells(self) -> Counts:
        self._let_go()
        return Counts.of(self._rule.layout, [column[0] for column in self._rows[self._n_before_bins :]])

    def _let_go(self) -> None:
        rows = [np.concatenate(column) for column in self._rows]
        persons = EqualRows.of(rows[:2])
        number, rows_of_each = persons.ranks, np.diff(persons.starts, append=len(rows[0]))
        several = rows_of_each[number] > 1
        among = np.flatnonzero(several)  # only rows of persons with several rows can be discarded
        keys = [number[among], *(word[among] for word in rows[2 : self._n_before_bins])]  # the most significant sort key first
        ordered = among[np.lexsort(keys[::-1])]
        starts = np.diff(number[ordered], prepend=-1) != 0
        positions = np.arange(len(ordered))
        position = positions - np.maximum.accumulate(np.where(starts, positions, 0))
        left = np.sort(np.concatenate([np.flatnonzero(~several), ordered[position < self._most]]))
        rows = [column[left] for column in rows]
        self._rows = [[column] for column in (*rows[: self._n_before_bins], *self._rule.held(rows[self._n_before_bins :]))]


WORDS = 3
"""Number of sort keys for one column: one for the kind of the value, and others for 16 bytes of the value."""


def order_of(dates: DateFormat | None, policy: InputTable) -> Callable[[Texts], list[np.ndarray]]:
    """Return a function that computes sort keys from the texts of a column, each from the text of its row alone.

    Dates are sorted by time, numbers by size, and other texts, such as 2020-01-31, by their first 16 bytes in UTF-8. Rows
    without a value come last.
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
    """Encode a number in 16 bytes, so that the bytes have the order of the numbers."""
    bits = np.array([number + 0.0], dtype=np.float64).view(np.uint64)[0]  # -0 and 0 are the same number
    ordered = ~bits if bits & _SIGN else bits | _SIGN
    return int(ordered).to_bytes(8, "big") + bytes(8)


# The number of keys that a file writes in more than one way (12 and 12.0), or perhaps in more than one way (007 and 7). `check
# --data` reports these numbers.
#
# Private in: the column of keys. Out: three exact numbers for the steward. No release publishes them, and the guarantee does
# not cover them.


def keys_in_two_ways(
    sources: Iterable[Source], schema: Schema, policy: InputTable, name: str, missing_keys: Sequence[str] = ()
) -> tuple[int, int, int]:
    """Return how many keys the files write in more than one way (12 and 12.0), how many are the same number as another key (007
    and 7), and how many there are."""
    secret = secret_bytes(32)
    key, spelling = marker(policy, secret, missing_keys=missing_keys), marker(policy, secret, lambda key, written: written)
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
