"""Read and check record numbers, which determine the piece of a split register to which each row belongs, and count the rows of
one piece.

The piece depends only on the record number and the secret key (`SplitKey`), so it is the same in every year. 12, 12.0 and
1.2e+01 are the same number in every file (see `key_text`).

Privacy
-------
A record number is public and never changes, so the guarantee does not protect it. Whether numbers are missing, repeated or
changed depends only on the numbers. Whether a file can be read at all may depend on any value of a row, so a release reads the
numbers together with the rows, after the budget was charged. No message contains a record number.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import CountedRows, count_batches
from synthrelease.enclave.persons import NO_MARKS, keys_of, repeated
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch, Texts
from synthrelease.errors import InputError, OutputError
from synthrelease.privacy.protection import told_of
from synthrelease.privacy.subsets import SplitRule
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source, unwritten

# The secret key that decides permanently which piece of a register a record number belongs to. This key stays in the enclave.
#
# The operating system draws it before any record number is read. The secret has no other use (no noise is drawn from it), and
# no part of a release contains it: the ledger and release.json contain its SHA-256 checksum.

BYTES = 32
_CONTENT = re.compile(r"synthrelease split key 1\n([0-9a-f]{64})\n")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line ends
_OTHERS = 0o077  # Permission bits of other users


@dataclass(frozen=True)
class SplitKey:
    """The secret key of a split: 256 bits, drawn by `privacy.noise.secret_bytes`. The repr does not show any part of it."""

    secret: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Return the SHA-256 digest of the key, which identifies it without revealing it."""
        return hashlib.sha256(b"synthrelease split key\0" + self.secret).hexdigest()

    def mark(self, number: str) -> bytes:
        """Return the HMAC-SHA256 of a record number (32 bytes), which looks random to anyone without the key."""
        return hmac.digest(self.secret, number.encode("utf-8", "surrogatepass"), "sha256")


def key_beside(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".key")


def write_key(path: Path, key: SplitKey) -> None:
    """Write a key to a new file that only its owner can read, and return when it is safely on the disk.

    Raises
    ------
    OutputError : if the file exists already, or cannot be written.
    """
    problem = ""
    try:
        with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
            file.write(f"synthrelease split key 1\n{key.secret.hex()}\n".encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        problem = "The key file exists already. A key is never overwritten, because another ledger may use it"
    except OSError as error:
        problem = f"Cannot write the key: {(error.strerror or 'unknown error').lower()}"
    if problem:
        raise OutputError(f"{path}: {problem}. Nothing was split.")


def read_key(path: Path) -> SplitKey:
    """Read a key from a file. No error message quotes the content.

    Raises
    ------
    InputError : if there is no key, or other users have permissions for the file (except on Windows).
    """
    content, problem = "", "There is no such file. It should contain the secret key of the split"
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            problem = "The secret key must be a file. This is a folder, pipe or device"
        elif os.name != "nt" and state.st_mode & _OTHERS:
            problem = "Other users have permissions on this file. Run chmod 600, and consider who may have read the key"
        else:
            with path.open("rb") as file:
                content, problem = file.read(1000).decode("latin-1"), "This is not a secret key of `synthrelease ledger split`"
    except FileNotFoundError:
        pass
    except OSError:
        problem = "Cannot read the file"
    match = _CONTENT.fullmatch(content)
    if match is None:
        raise InputError(f"{path}: {problem}. Nothing was spent.")
    return SplitKey(bytes.fromhex(match[1]))


_MODULUS = 2**256
_USUAL = InputTable()


@dataclass(frozen=True, kw_only=True)
class PieceOfRegister:
    """What a release needs to read its piece of a split register: the key, the piece, and the digest of the record numbers at
    the split.

    `as_written` is true for a register that was split with version 1.0.0, if some of its numbers are not in their normal form.
    """

    key: SplitKey
    rule: SplitRule
    register: str
    as_written: bool = False

    def numbers(self, policy: InputTable) -> RecordNumbers:
        return RecordNumbers(self.key, self.rule.by, self.rule.of, policy, as_written=self.as_written)

    @property
    def of_first_version(self) -> PieceOfRegister:
        """Return the same piece, with numbers compared as written."""
        return replace(self, as_written=True)

    def fits(self, numbers: RecordNumbers) -> bool:
        """Return whether the record numbers are the same as in the split, and neither repeated nor missing."""
        try:
            return numbers.digest() == self.register
        except InputError:
            return False

    def check(self, numbers: RecordNumbers) -> None:
        """Raise InputError unless the record numbers are the same as in the split."""
        if numbers.digest() != self.register:
            raise InputError(
                f"column {self.rule.by!r}: The record numbers have changed since the register was split. A new, removed or "
                "renumbered record could be charged to another piece than before. Read the extract that was split, with the "
                "record numbers written in the same way."
            )


class RecordNumbers:
    """Collects the record numbers of a register in batches, in 16 bytes for each row, and computes the piece of each row.

    Parameters
    ----------
    policy : the decimal mark, and the texts that mean that a row has no number.
    as_written : whether 12 and 12.0 are different numbers, as in version 1.0.0.
    """

    def __init__(self, key: SplitKey, by: str, of: int, policy: InputTable = _USUAL, *, as_written: bool = False):
        self._key, self._by, self._of, self._policy, self._as_written = key, by, of, policy, as_written
        self._sum, self._marks = 0, [NO_MARKS]
        self.n_rows = 0

    def add(self, texts: Texts) -> np.ndarray:
        """Add the record numbers of some rows. Return their (n_rows,) pieces, from 1. Raises InputError if a row has no
        number."""
        used = np.bincount(texts.codes, minlength=len(texts.texts)).astype(bool)
        piece, marks = np.zeros(len(used), dtype=np.int64), np.zeros((len(used), 2), dtype=np.uint64)
        for index, key in enumerate(keys_of(texts, self._policy)):
            if not used[index]:
                continue
            if key is None:
                raise InputError(f"column {self._by!r}: Some rows have no record number. Every row needs one.")
            mark = self._key.mark(key[self._as_written])
            piece[index] = 1 + int.from_bytes(mark[:16], "big") % self._of
            marks[index] = np.frombuffer(mark[16:], dtype=np.uint64)
            self._sum = (self._sum + int.from_bytes(mark, "big")) % _MODULUS
        self._marks.append(marks[texts.codes])
        self.n_rows += len(texts.codes)
        return piece[texts.codes]

    def digest(self) -> str:
        """Return a keyed digest of the set of numbers, whatever the order of the rows. Two different sets have the same digest
        with a probability of 2^-256.

        Raises
        ------
        InputError : if a number occurs twice, or if there are no numbers.
        """
        if not self.n_rows:
            raise InputError("The table has no rows.")
        if len(repeated(np.concatenate(self._marks))):
            raise InputError(
                f"column {self._by!r}: Some record numbers occur more than once (12 and 12.0 are equal). Give every row its "
                "own number. The split treats rows with the same number as one record, but the guarantee counts each row."
            )
        return hashlib.sha256(f"record numbers {self.n_rows} {self._sum:064x}".encode()).hexdigest()


def read_numbers(
    source: str | Path | Source, schema: Schema, policy: InputTable, rule: SplitRule, key: SplitKey, *, as_written: bool = False
) -> RecordNumbers:
    """Read the record numbers of a private file, and no other column.

    Raises
    ------
    InputError : if the file cannot be read, or a row has no number. The caller adds the name of the file.
    """
    source = Source.of(source)
    numbers = RecordNumbers(key, rule.by, rule.of, policy, as_written=as_written)

    def read() -> RecordNumbers:
        for _, columns in batches(source, schema, policy, [rule.by], only=True):
            numbers.add(columns[rule.by])
        return numbers

    return told_of(read, "")  # so that no frame that saw rows is attached


def count_piece(source: Source, schema: Schema, policy: InputTable, piece: PieceOfRegister) -> CountedRows:
    """Count the rows of one piece of a split register, whatever the other pieces contain. `n_rows` is the public number of rows
    of the whole file.

    Raises
    ------
    InputError : as in `count_batches`, and if record numbers are missing, repeated, or not those of the split, or a file was
        changed while it was read.
    """

    def counted(piece: PieceOfRegister) -> tuple[CountedRows, RecordNumbers]:
        numbers = piece.numbers(policy)

        def own() -> Iterator[Batch]:
            for row, columns in batches(source, schema, policy, [piece.rule.by]):
                inside = numbers.add(columns[piece.rule.by]) == piece.rule.piece
                columns_of_rows = {name: texts for name, texts in columns.items() if name != piece.rule.by}
                yield row, {name: replace(texts, codes=texts.codes[inside]) for name, texts in columns_of_rows.items()}

        return count_batches(own(), schema, policy), numbers

    with unwritten(lambda: [source.files()]):
        rows, numbers = counted(piece)
        if not piece.fits(numbers):  # the message is about record numbers, which are public
            again = counted(piece.of_first_version)
            rows, numbers = again if piece.fits(again[1]) else (rows, numbers)
        piece.check(numbers)
    return replace(rows, n_rows=numbers.n_rows)
