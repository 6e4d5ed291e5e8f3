"""The documents are written again from release.json and the table, and compared with the ones in the bundle."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.bundle.contents import written
from synthrelease.bundle.document import own_version, package_version, processor
from synthrelease.bundle.table_files import csv_pieces, members_csv_pieces, members_parquet_pieces, parquet_pieces
from synthrelease.published import associations
from synthrelease.published.base import Files
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check
from synthrelease.settings.tables import BundleTable

_SHOWN = 60


def documents(document: ReleaseDocument, table: ReleasedTable, files: Files, *, csv_as_written: bool = False) -> Check:
    """Every document is what release.json and the table give, byte for byte.

    Parameters
    ----------
    csv_as_written : whether that was found of the CSV files before.
    """
    sizes = {name: files.size(name) for name in document.files}
    expected = written(document, table, sizes)
    missing = [name for name in expected if name not in files]
    limits = list[str]()
    if document.first_documents and associations.NAME in missing:
        missing.remove(associations.NAME)
        limits.append(f"{associations.NAME} is not there: documents of version {document.written_by} have no such list.")
    problems = [f"{name}: expected in the bundle, not there" for name in missing]
    for name in () if csv_as_written else other_csv(document, table, files):
        problems.append(f"{name}: expected sorted rows in the layout in which they were written, found another")
    of_parquet = _of_other_writer(document)
    if of_parquet:
        sizes_of = [(name, files.size(name), sum(map(len, pieces))) for name, pieces in _parquet(document, table)]
        told = ", ".join(f"{name} has {theirs} bytes, and {own} written here" for name, theirs, own in sizes_of)
        of_parquet = f"{of_parquet}; {told}"
    for name in () if of_parquet else _other_parquet(document, table, files):
        how = f"pyarrow {document.versions['pyarrow']} writes on a processor of the kind {processor()}"
        problems.append(f"{name}: expected the bytes that {how}, found others")
    for name, content in expected.items():
        if name in files and files[name] != content:
            problems.append(f"{name}: {first_difference(content, files[name])}")
    own, theirs = own_version(), document.written_by
    if problems and own != theirs:
        problems.append(f"the documents were written by synthrelease {theirs}, this is {own}: check them with that version")
    found = f"{len(expected)} documents say what release.json says"
    if of_parquet:
        found, limits = f"{found}; {of_parquet}", [*limits, f"Not all was compared: {of_parquet}."]
    return Check(name="documents", found=found, problems=tuple(problems), limits=tuple(limits))


def other_csv(document: ReleaseDocument, table: ReleasedTable, files: Files) -> list[str]:
    """The CSV files that are not what is written of the table."""
    (csv, members), _ = document.tables
    expected = [(csv, csv_pieces(table)), *([(members, members_csv_pieces(table))] if members else [])]
    return [name for name, pieces in expected if not files.holds(name, pieces)]


def _other_parquet(document: ReleaseDocument, table: ReleasedTable, files: Files) -> list[str]:
    """The same of the Parquet files. Rows alone do not tell: between and in pages there is room that no reader looks at."""
    return [name for name, pieces in _parquet(document, table) if not files.holds(name, pieces)]


def _parquet(document: ReleaseDocument, table: ReleasedTable) -> list[tuple[str, Iterator[bytes]]]:
    """The Parquet files by name, as this program writes them."""
    says_synthetic, (_, (parquet, members)) = document.bundle != BundleTable(), document.tables
    expected = [(parquet, parquet_pieces(table, says_synthetic))]
    return expected + ([(members, members_parquet_pieces(table, says_synthetic))] if members else [])


def _of_other_writer(document: ReleaseDocument) -> str:
    """What is said where the bytes of Parquet cannot be compared, because this machine would write others."""
    own = {"synthrelease": own_version(), "pyarrow": package_version("pyarrow"), "processor": processor()}
    before = {"processor": "x86_64"}  # version 1.0.0 did not say it
    stated = before | dict(document.versions) | {"synthrelease": document.written_by}
    for name, here in own.items():
        theirs = stated.get(name, "")
        if theirs != here:
            compared = "rows and the order of its parts alone"
            return (
                f"bytes of {document.parquet} not compared, {compared} ({name} {theirs or 'unknown'} wrote it, this is {here})"
            )
    return ""


def first_difference(expected: bytes, found: bytes) -> str:
    """Where two texts differ first, with what stands there in each."""
    left, right = (content.decode("utf-8", errors="replace").split("\n") for content in (expected, found))
    line = next((index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = (lines[line] if line < len(lines) else "" for lines in (left, right))
    place = next((index for index, (c, d) in enumerate(zip(a, b, strict=False)) if c != d), min(len(a), len(b)))
    start = max(0, place - _SHOWN // 2)
    return f"line {line + 1}: expected {_around(a, start)}, found {_around(b, start)}"


def _around(line: str, start: int) -> str:
    part = line[start : start + _SHOWN]
    return f"'{'…' if start else ''}{part}{'…' if start + _SHOWN < len(line) else ''}'" if part else "nothing"
