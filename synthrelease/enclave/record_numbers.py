"""Record numbers: which piece of a register a row belongs to, and whether the register still has the numbers that it had.

The piece of a number is a function of the number and of the secret key (`split_key`) alone, the same in every year. The column
is read as text; spaces around it do not count.

Privacy
-------
A record number is public and stays with its record: it is no value that the guarantee speaks of. What is found here, also what
is refused, depends on record numbers alone. No message holds one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synthrelease.accounting.ledger_pieces import SplitRule
from synthrelease.connections.source import Source
from synthrelease.domain.schema import Schema
from synthrelease.enclave.counting import CountedRows, count_batches
from synthrelease.enclave.many_files import unwritten
from synthrelease.enclave.marks import NO_MARKS, repeated
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch, Texts
from synthrelease.errors import InputError
from synthrelease.split_key import SplitKey
from synthrelease.toml.columns import InputTable

_MODULUS = 2**256


@dataclass(frozen=True, kw_only=True)
class PieceOfRegister:
    """What a release needs to read its piece: the key, which piece, and the digest of the numbers that the register had."""

    key: SplitKey
    rule: SplitRule
    register: str

    def check(self, numbers: RecordNumbers) -> None:
        """Raises InputError when the register has other numbers than when it was split."""
        if numbers.digest() != self.register:
            raise InputError(
                f"column {self.rule.by!r}: expected the record numbers that the register had when it was split, found others. "
                "Records that came, went or were numbered anew would be in another piece than the one that paid for them. "
                "Read the extract that was split, with its numbers written as they were."
            )


class RecordNumbers:
    """The numbers of a register, a few rows at a time. 16 bytes of memory for each row.

    Parameters
    ----------
    missing : texts that stand for no number.
    """

    def __init__(self, key: SplitKey, by: str, of: int, missing: frozenset[str] = frozenset()):
        self._key, self._by, self._of, self._missing = key, by, of, missing
        self._sum, self._marks = 0, [NO_MARKS]
        self.n_rows = 0

    def add(self, texts: Texts) -> np.ndarray:
        """(n_rows,) the piece of each row, 1 to `of`.

        Raises
        ------
        InputError : when a row has no number.
        """
        used = np.bincount(texts.codes, minlength=len(texts.texts)).astype(bool)
        piece, marks = np.zeros(len(used), dtype=np.int64), np.zeros((len(used), 2), dtype=np.uint64)
        for place, text in enumerate(texts.texts):
            if not used[place]:
                continue
            number = "" if text is None else text.strip()
            if not number or number in self._missing:
                raise InputError(f"column {self._by!r}: expected a record number in every row, found rows without one.")
            mark = self._key.mark(number)
            piece[place] = 1 + int.from_bytes(mark[:16], "big") % self._of
            marks[place] = np.frombuffer(mark[16:], dtype=np.uint64)
            self._sum = (self._sum + int.from_bytes(mark, "big")) % _MODULUS
        self._marks.append(marks[texts.codes])
        self.n_rows += len(texts.codes)
        return piece[texts.codes]

    def digest(self) -> str:
        """Of the set of numbers, in any order, and of the key: two sets have one digest with a probability of 2^-256.

        Raises
        ------
        InputError : when a number occurs twice, or there is none.
        """
        if not self.n_rows:
            raise InputError("expected rows after the header, found none.")
        if len(repeated(np.concatenate(self._marks))):
            raise InputError(
                f"column {self._by!r}: expected every record number once, found some more than once. The rows of one number "
                "would be one record for the split and several for the guarantee."
            )
        return hashlib.sha256(f"record numbers {self.n_rows} {self._sum:064x}".encode()).hexdigest()


def read_numbers(
    source: str | Path | Source, schema: Schema, policy: InputTable, rule: SplitRule, key: SplitKey
) -> RecordNumbers:
    """The record numbers of a private file; no other column is read.

    Raises
    ------
    InputError : when the file cannot be read, has no such column, or a row has no number. The caller adds the name of the file.
    """
    source = Source.of(source)
    numbers = RecordNumbers(key, rule.by, rule.of, frozenset(policy.missing_values))
    problem = ""
    try:
        for _, columns in batches(source, schema, policy, [rule.by], only=True):
            numbers.add(columns[rule.by])
    except InputError as error:
        problem = str(error)
    if problem:  # raised here, so that no frame that saw rows is attached
        raise InputError(problem)
    return numbers


def count_piece(source: Source, schema: Schema, policy: InputTable, piece: PieceOfRegister) -> CountedRows:
    """What the rows of one piece add up to; `n_rows` is the number of rows of the whole file, which is public.

    Values in the rows of other pieces have no effect, whatever they are.

    Raises
    ------
    InputError : as `count_batches`; for numbers that are missing, that occur twice, or that are others than when the register
        was split; for a file that was written meanwhile.
    """
    numbers = RecordNumbers(piece.key, piece.rule.by, piece.rule.of, frozenset(policy.missing_values))

    def own() -> Iterator[Batch]:
        for row, columns in batches(source, schema, policy, [piece.rule.by]):
            mine = numbers.add(columns[piece.rule.by]) == piece.rule.piece
            others = {name: texts for name, texts in columns.items() if name != piece.rule.by}
            yield row, {name: replace(texts, codes=texts.codes[mine]) for name, texts in others.items()}

    with unwritten(lambda: [source.files()]):
        found = count_batches(own(), schema, policy)
        piece.check(numbers)
    return replace(found, n_rows=numbers.n_rows)
