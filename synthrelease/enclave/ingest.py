"""Read a private file or a table of a database, and count its rows by atomic cells (combinations of the finest bins). No
other part of the program handles private rows.

Public rules in the specification determine how each value is treated: as missing, as outside the bounds, as plausible or not.
By default, no value can stop the program: a text that is not a number counts as a missing value. With "error", the program
refuses a file with such values. The message names their columns, but no value, row or number of rows.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from synthrelease.data.counts import Counts
from synthrelease.data.misfits import (
    ADVICE,
    MANY,
    MEND,
    NO_ROOTS,
    SAME_NUMBER,
    SOME_ROOTS,
    TOGETHER,
    TWO_WAYS,
    WRONG,
    sentences,
)
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import KEYS, READ, count_batches
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.members import count_linked_rows
from synthrelease.enclave.persons import first_rows, keys_in_two_ways
from synthrelease.enclave.reading import batches
from synthrelease.enclave.record_numbers import PieceOfRegister, count_piece
from synthrelease.errors import InputError
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source, check_members, unwritten

ROWS_ALONE = UnitTable()
"""The unit rule for files in which each row is a record."""
_SEED = 19  # Seed for drawing the rows of persons from public files
UNFORESEEN = (
    "The file cannot be read. The cause is not shown, because it may contain private values. Try another format, such as CSV."
)


def ingest(
    path: str | Path | Source,
    schema: Schema,
    policy: InputTable,
    raw: Plausibility,
    piece: PieceOfRegister | None = None,
    unit: UnitTable = ROWS_ALONE,
) -> PrivateRows:
    """Read the private file once, and count the rows that the public rules keep, by atomic cells. The counts are guarded (see
    `Door`).

    Parameters
    ----------
    piece : the piece of a split register whose rows are counted, or None for all rows.
    unit : how rows are assigned to persons. With a key, only the first rows of each are counted (`persons.first_rows`).

    Raises
    ------
    InputError : if the file does not fit the specification. The message names columns and lines that are not valid CSV, but
        never a value or the line of a value. The error has no cause and no stack frame of code that saw values.

    Privacy
    -------
    The number of rows of the file is public. The rules decide about each row separately. Which rows they keep is private, and
    so are the number of kept rows and all counts. Whether a row belongs to a piece of a split register is also such a rule
    (theory 11.12, pieces for ever). With a key, the number of persons is public instead of the number of rows (theory 1.9,
    first rows of a person). With members, the number of roots is public (theory 1.10, roots with their members). If the
    specification says "error", files with values that do not fit are outside the domain of the guarantee.
    """
    rows = _counted(path, lambda source: _read(source, schema, policy, raw, piece, unit))
    return PrivateRows(rows.kept, rows.n_file)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How well a file fits the specification, for the command `check`.

    Attributes
    ----------
    n_file : the public number of rows; with a key, the largest number of records of all persons.
    unread, many : exact facts for the steward. `unread`: columns with texts that are not a number or date, or no member has the
        key of a root. `many`: columns without a fitting value in more than one row in ten, and keys without a root or perhaps
        written in two ways.
    fits : whether, in each column and for each reason, at most one row in ten has no fitting value, and at most one key of
        members in ten has no root.
    """

    n_file: int
    fits: bool
    unread: tuple[str, ...]
    many: tuple[str, ...]


def check_fit(
    path: str | Path | Source, schema: Schema, policy: InputTable, raw: Plausibility, unit: UnitTable = ROWS_ALONE
) -> Fit:
    """Read a private file as a release does, and return how well it fits the specification. No row is kept in memory.

    Raises
    ------
    InputError : as in `ingest`.

    Privacy
    -------
    No privacy guarantee covers these facts, and no release publishes them. A single record may determine whether a column
    contains a text that is not a number, or whether more than a tenth of the rows do not fit. The check finds a wrong decimal
    mark, unit, date format or spelling before the budget is charged.
    """
    noticed = tuple(replace(column, outside="drop") if column.outside == "clip" else column for column in schema.columns)
    noticing = replace(schema, columns=noticed)

    def read(source: Source) -> _KeptRows:
        rows = _read(source, noticing, policy, raw, None, unit)
        return replace(rows, many=(*rows.many, *_spellings(tables_in(source, schema, policy), schema, policy, unit)))

    rows = _counted(path, read)
    return Fit(n_file=rows.n_file, fits=rows.fits, unread=rows.unread, many=rows.many)


def tables_in(source: Source, schema: Schema, policy: InputTable) -> Source:
    """Return the source of the roots and the members in a hierarchical file, and any other source unchanged."""
    return source if schema.linked is None or policy.fixed_width is None else source.divided(policy.fixed_width.records)


def _spellings(source: Source, schema: Schema, policy: InputTable, unit: UnitTable) -> Iterator[str]:
    of_rows = schema.linked or unit
    if of_rows.key is not None:
        sources = [source] if source.members is None else [replace(source, members=None), source.members]
        several, alike, keys = keys_in_two_ways(sources, schema, policy, of_rows.key, of_rows.missing_keys)
        if several:
            yield TWO_WAYS.format(several, keys)
        if alike:
            yield SAME_NUMBER.format(alike, keys)


def read_public(
    path: str | Path | Source, schema: Schema, policy: InputTable, raw: Plausibility, unit: UnitTable = ROWS_ALONE
) -> Counts:
    """Count the rows of a public file that the rules keep. Only the rehearsal may call this function.

    Rows of a person that are equal in the columns of the order are in a random order, the same in every reading.

    Raises
    ------
    InputError : as in `ingest`, and if a text is not a number or date, or the rules exclude all rows.
    """
    rows = _counted(path, lambda source: _read(source, schema, policy, raw, None, unit, SeededEntropy(_SEED)))
    if rows.unread:
        raise InputError("\n  ".join([f"{path}: The public file does not fit the specification.", *rows.unread]) + f"\n{MEND}")
    if not rows.kept.total:
        raise InputError(
            f"{path}: Every row of the file is excluded, by a rule or because a value is missing or outside the bounds or "
            "categories."
        )
    return rows.kept


@dataclass(frozen=True, kw_only=True)
class _KeptRows(Fit):
    """The facts about a file, and the counts of the rows that the rules keep."""

    kept: Counts


def _counted(path: str | Path | Source, read: Callable[[Source], _KeptRows]) -> _KeptRows:
    """Count the rows of a file. InputErrors are raised here, without a cause or stack frame of code that saw values."""
    path, problem = Source.of(path), ""
    try:
        rows = read(path)
        if "pyarrow" in sys.modules:  # an exception would keep the rows in memory
            sys.modules["pyarrow"].default_memory_pool().release_unused()
        return rows
    except InputError as error:
        problem = str(error)
    except Exception:
        problem = UNFORESEEN
    raise InputError(f"{path}: {problem}")


def _read(
    path: Source,
    schema: Schema,
    policy: InputTable,
    raw: Plausibility,
    piece: PieceOfRegister | None,
    unit: UnitTable,
    entropy: SystemEntropy = SYSTEM,
) -> _KeptRows:
    path = tables_in(path, schema, policy)
    check_members(path, asked=schema.linked is not None)
    if schema.linked is not None and (piece is not None or unit.key is not None):
        raise InputError(
            "[members] cannot be combined with a piece of a register ([split]) or with a key in [unit], " + TOGETHER
        )
    if unit.key is not None and piece is not None:
        raise InputError("A key in [unit] cannot be combined with a piece of a register ([split]), " + TOGETHER)
    messages = sentences(schema.columns, policy.decimal)  # before any value is read
    if schema.linked is not None:
        counted = count_linked_rows(path, schema, policy)
    elif unit.key is not None:
        with unwritten(lambda: [path.files()]):
            rows_of_persons = batches(path, schema, policy, [unit.key, *unit.order])
            counted = first_rows(rows_of_persons, schema, policy, raw, unit, entropy)
    elif piece is not None:
        counted = count_piece(path, schema, policy, piece)
    else:
        with unwritten(lambda: [path.files()] if path.holds_files() else []):
            counted = count_batches(batches(path, schema, policy), schema, policy)
    if counted.problems:  # for the whole table, in the order of the columns, so that the order of rows has no effect
        found_in = [messages[misfit] for misfit in sorted(counted.problems)]
        raise InputError("\n  ".join(["The file does not fit the specification.", *found_in]) + f"\n{ADVICE}")
    if not counted.n_rows:
        raise InputError("The table has no rows.")
    unread, many, fits = list[str](), list[str](), True
    for (index, kind), rows in sorted(counted.misfits.items()):
        often = kind != READ and MANY * rows > (read := counted.misfits[index, READ])
        fits = fits and not often
        if index == KEYS and often:
            (unread if rows == read else many).append(NO_ROOTS if rows == read else SOME_ROOTS.format(rows, read))
        elif index != KEYS and (often or kind == WRONG):
            so = f" More than one row in {MANY} has such a value." if often else ""
            (unread if kind == WRONG else many).append(messages[index, kind] + so)
    wrong, of_many = (tuple(dict.fromkeys(texts)) for texts in (unread, many))
    return _KeptRows(kept=raw.filter(counted.cells), n_file=counted.n_rows, fits=fits, unread=wrong, many=of_many)


# A private file that was called public (as a prior, or as the file of a rehearsal) is refused.
#
# Privacy: a generator that starts from the private table, or a shortlist made from it, would publish facts without noise.
# So such a run is refused at two points:
#
# - before the charge, by name and by content. For this comparison, the private file is opened only if it has exactly as many
# bytes as a file that was called public. So only the
#   operator can learn one thing without a charge: that the private file equals, byte for byte, a file that was called public.
# - after reading, by the counts: the same rows in another order or format, or from a database. The refusal is an output outside
# the guarantee, as is the refusal of a file that does not fit; the budget is spent. The guarantee covers other private tables.


@dataclass(frozen=True, kw_only=True)
class CalledPublic:
    """A file that the user declared to be public: its role in messages, size in bytes, SHA-256 checksum and, if known, path."""

    role: str
    size: int
    digest: str
    path: Path | None = None

    @classmethod
    def of(cls, role: str, path: str | Path) -> CalledPublic:
        source = Source.of(path)
        return cls(role=role, size=source.size(), digest=digest_of(source), path=source.path)


def check_not_public(data: str | Path | Source, public: Iterable[CalledPublic]) -> None:
    """Check that a private file is not identical to one of these public files. It is opened only if it has the size of one of
    them. Databases are not checked.

    Raises
    ------
    InputError : if the private file is identical to one of the public files.
    """
    data = Source.of(data)
    if data.is_database:
        return
    size, digest = data.size(), None
    for file in public:
        on_disk = data.path is not None and file.path is not None and data.path.exists() and file.path.exists()
        same = on_disk and os.path.samefile(str(data.path), str(file.path))
        if not same and size == file.size:
            digest = digest or digest_of(data)
            same = digest == file.digest
        if same:
            raise InputError(
                f"{data}: This file was also given as a public file: {file.role}. A release that starts from the private rows "
                "themselves gives no protection. Nothing was spent."
            )


def digest_of(source: Source) -> str:
    """Return the SHA-256 digest of a file; for several files, of their digests in order; for a database with a URI, of an empty
    string."""
    if source.members is not None:
        digests = "".join(map(digest_of, source.tables()))
        return hashlib.sha256(digests.encode()).hexdigest()
    files = source.files()
    if source.path is not None and files == [source.path.absolute()]:
        return _digest_of_file(source.path)
    return hashlib.sha256("".join(map(_digest_of_file, files)).encode()).hexdigest()


def _digest_of_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
