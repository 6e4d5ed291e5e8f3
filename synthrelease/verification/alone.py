"""The part of a verification that stands alone: release.json, the tables and the published specification, and no writer.

It imports nothing that makes a release or writes a bundle, and no generator. Whoever wants to trust `verify` can read it, with
all that it imports (docs/architecture.md has its size).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.errors import Unexpected, so_many
from synthrelease.published.document import BEFORE, FORMAT, ReleaseDocument, read_strictly
from synthrelease.published.files import Content, Files
from synthrelease.published.lines import TableError
from synthrelease.published.names import possible_names
from synthrelease.published.table import ReleasedTable, parquet_rows, read_csv, read_parquet, table_of
from synthrelease.settings.reading import UNPRINTABLE, shown
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.canonical import NAME as SPECIFICATION
from synthrelease.verification.charges import charges
from synthrelease.verification.checks import Check, made
from synthrelease.verification.commitment import Commitment, committed
from synthrelease.verification.flavour import flavour
from synthrelease.verification.noise import noise
from synthrelease.verification.options import options
from synthrelease.verification.parquet_parts import room_problems
from synthrelease.verification.part import KnownFiles
from synthrelease.verification.reading import Earlier, Signature, checksums, signature
from synthrelease.verification.schema import Rebuilt, SchemaProblem, rebuild
from synthrelease.verification.stated import specification
from synthrelease.version import release_number

AsWritten = Callable[[ReleaseDocument, ReleasedTable, Files], bool]
LATER = ("files", "specification", "schema", "table", "plausibility", "privacy charges")
"""Checks that are not made after one that they build on has failed."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """What this part found, for the checks that need more of the program.

    Attributes
    ----------
    read : release.json, the schema that it means, and the table; None where one of them could not be read.
    csv_as_written : whether the CSV files were found to be what the program writes of the table.
    """

    checks: tuple[Check, ...]
    signature: Signature
    commitment: Commitment | None = None
    read: tuple[ReleaseDocument, Rebuilt, ReleasedTable] | None = None
    csv_as_written: bool = False


def verify_alone(
    files: Files,
    public_key: Path | None = None,
    commitment: Commitment | None = None,
    earlier: Sequence[Earlier] = (),
    as_written: AsWritten | None = None,
) -> Alone:
    """Check the files of a bundle against each other, as far as that takes no other part of the program.

    Parameters
    ----------
    as_written : whether the CSV files hold just what the program writes of a table. Where they do, nobody need take them apart,
        which takes most of the time. Without it, and where they do not, their lines are read.

    Raises
    ------
    SigningError : when the key cannot be read.
    """
    signed = signature(files, public_key)
    checks = [checksums(files), signed.check]
    document = _document(files)
    if isinstance(document, Check):
        return _ended(checks, document, signed)
    limits = (
        (f"There is no SIGN.md: documents of version {document.written_by} have none.",) if document.format == BEFORE else ()
    )
    checks.append(Check(name="release.json", found=f"format {document.format}, {document.title!r}", limits=limits))
    checks.append(_names(document, files))
    checks.append(made("specification", lambda: specification(document, files)))
    checks.append(made("noise", lambda: noise(document)))
    rebuilt = _schema(document)
    if isinstance(rebuilt, Check):
        return _ended(checks, rebuilt, signed)
    bins = sum(len(column.bins) for column in document.columns)
    shape = f"{so_many(len(document.columns), 'column')} with {bins} bins, {so_many(len(document.rules), 'rule')}"
    checks.append(Check(name="schema", found=shape))
    written = _as_written(document, files, as_written)
    table = written or _table(document, files)
    if isinstance(table, Check):
        return _ended(checks, table, signed)
    room = tuple(f"{name}: {problem}" for name in filter(None, document.tables[1]) for problem in _room(files, name))
    checks.append(Check(name="table", found=f"{document.n_rows} rows, the same in every file", problems=room))
    checks.append(made("plausibility", lambda: _plausible(rebuilt, table)))
    checks.append(made("privacy charges", lambda: charges(document)))
    checks.append(made("flavour", lambda: flavour(document)))
    checks += options(document, KnownFiles(files=files, table=table, rules=rebuilt.plausibility, earlier=earlier))
    if commitment is not None:
        checks.append(committed(document, commitment))
    read = (document, rebuilt, table)
    return Alone(checks=tuple(checks), signature=signed, commitment=commitment, read=read, csv_as_written=written is not None)


def _ended(checks: list[Check], failed: Check, signed: Signature) -> Alone:
    """What was found before a check on which the others build."""
    names = [check.name for check in checks] + [failed.name]
    left = [Check(name=name, made=False) for name in LATER if name not in names]
    return Alone(checks=(*checks, failed, *left), signature=signed)


def _document(files: Files) -> ReleaseDocument | Check:
    name = "release.json"
    if name not in files:
        return Check(name=name, problems=(f"{name}: expected in the bundle, not there",))
    try:
        document = read_strictly(files[name])
    except Unexpected as error:
        reads = "" if error.place == "format" else f" (this program reads format {FORMAT})"
        return Check(name=name, problems=(f"{name}: {error}{reads}",))
    if (document.format == BEFORE) != document.written_by.startswith("0."):  # it has no sheet that could be compared
        writer = "no published version writes" if document.format == BEFORE else "no version before 1.0.0 writes"
        other = FORMAT if document.format == BEFORE else BEFORE
        return Check(name=name, problems=(f"{name}: format: expected {other}, found {document.format}, which {writer}",))
    run, own = document.run_by, document.written_by
    made_by, written_by = release_number(run), release_number(own)
    if made_by is not None and written_by is not None and written_by < made_by:
        problem = f"{name}: written_by: expected version {run}, which made the run, or a later one, found {own}"
        return Check(name=name, problems=(problem,))
    if document.dumped() != files[name]:
        return Check(name=name, problems=(f"{name}: expected the layout in which it was written, found another",))
    hidden = next((text for text in _texts(document.model_dump(mode="json")) if UNPRINTABLE.search(text)), None)
    if hidden is not None:
        expected = "text without control characters, which could hide what it says"
        return Check(name=name, problems=(f"{name}: expected {expected}, found {shown(hidden)}",))
    return document


def _names(document: ReleaseDocument, files: Files) -> Check:
    """No file is there that a release such as this does not have: whoever opens one takes it for a part of what was checked."""
    strangers = sorted(set(files) - possible_names(document) - {SPECIFICATION})
    problems = (f"{name}: expected the files that follow from release.json alone, found this one" for name in strangers)
    return Check(name="files", found=f"the {len(files)} that follow from release.json", problems=tuple(problems))


def _texts(value: Any) -> Iterator[str]:
    """Every text in it, the names of settings too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _schema(document: ReleaseDocument) -> Rebuilt | Check:
    try:
        return rebuild(document)
    except SchemaProblem as error:
        return Check(name="schema", problems=(str(error),))
    except Exception as error:  # as in `checks.made`
        return Check(name="schema", problems=(f"release.json: holds a schema that cannot be ({type(error).__name__})",))


def _as_written(document: ReleaseDocument, files: Files, as_written: AsWritten | None) -> ReleasedTable | None:
    """The rows of the Parquet files, where all files are the ones of release.json and the CSV files say the same."""
    parquet, members = document.tables[1]
    named = [name for names in document.tables for name in names if name]
    there = all(name in files and files.sha256(name) == stated for name, stated in document.files.items())
    if as_written is None or not there or not all(name in document.files for name in named):
        return None
    try:
        says_synthetic, contents = document.bundle != BundleTable(), [files.content(name) for name in (parquet, members)]
        table = read_parquet(contents[0], document.shape, says_synthetic, document.n_rows, contents[1])
    except TableError:
        return None
    return table if table.counts.total == document.n_rows and as_written(document, table, files) else None


def _table(document: ReleaseDocument, files: Files) -> ReleasedTable | Check:
    problems = [
        f"{name}: its checksum is not the one in release.json"
        for name, stated in document.files.items()
        if name not in files or files.sha256(name) != stated
    ]
    problems += [
        f"{name}: expected in release.json, not there"
        for name in filter(None, (name for names in document.tables for name in names))
        if name not in document.files
    ]
    table = None
    for (name, members), read in zip(document.tables, (_read_csv, _read_parquet), strict=True):
        if name not in files or (members and members not in files):
            continue
        try:
            found = read(document, files.content(name), files.content(members), table)
        except TableError as error:
            problems.append(f"{name}: {error}")
            continue
        if found.counts.total != document.n_rows:
            problems.append(f"{name}: expected {document.n_rows} rows, found {found.counts.total}")
        elif table is not None and not _same(table, found):
            problems.append(f"{name}: expected the rows of data.csv, found others")
        table = table or found
    if problems or table is None:
        return Check(name="table", problems=tuple(problems))
    return table


def _read_csv(document: ReleaseDocument, content: Content, members: Content, table: ReleasedTable | None) -> ReleasedTable:
    return read_csv(content, document.shape, members)


def _read_parquet(document: ReleaseDocument, content: Content, members: Content, table: ReleasedTable | None) -> ReleasedTable:
    """What data.parquet holds; `table` itself where it holds the rows of that in their order, which takes no second table."""
    rows = partial(parquet_rows, content, document.shape, document.bundle != BundleTable(), document.n_rows, members)
    return table if table is not None and table.has(rows()) else table_of(rows(), document.shape)


def _same(left: ReleasedTable, right: ReleasedTable) -> bool:
    if left is right:
        return True
    if left.weights is not None and right.weights is not None and not np.array_equal(left.weights, right.weights):
        return False
    return left.counts.same_as(right.counts)


def _room(files: Files, name: str) -> list[str]:
    """What is wrong with the order of the parts of a Parquet file whose rows were read."""
    try:
        return [*room_problems(files.content(name))]
    except Exception as error:  # as in `checks.made`
        return [f"holds parts that cannot be followed ({type(error).__name__})"]


def _plausible(rebuilt: Rebuilt, table: ReleasedTable) -> Check:
    bad = rebuilt.plausibility.forbidden(table.counts.bins)
    rows = int(table.counts.counts[bad].sum())
    problems = (f"data.csv: {rows} rows break the plausibility rules for released rows",) if rows else ()
    return Check(name="plausibility", found="no row breaks a rule", problems=problems)
