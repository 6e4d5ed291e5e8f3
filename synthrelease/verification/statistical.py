"""The files for statistical packages are written again from release.json and the table, and compared byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.bundle import estimates_files
from synthrelease.bundle.document import package_version
from synthrelease.bundle.statistical import statistical_files
from synthrelease.errors import InputError
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.files import Files
from synthrelease.published.table import ReleasedTable
from synthrelease.verification.checks import Check


def statistical(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Check:
    """Every file for a statistical package holds the rows of the table, the labels of its bins, and nothing else."""
    problems = tuple(_problems(document, table, files))
    return Check(name="statistical files", found="the rows and labels of the table", problems=problems)


def _problems(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Iterator[str]:
    files_of_rows = (name for name in document.files if name not in estimates_files.NAMES)
    names = [name for name in files_of_rows if name.endswith((".dta", ".sav"))]
    try:
        expected = statistical_files(document, table)
    except InputError:
        yield f'{", ".join(names)}: cannot be checked without the library pyreadstat: pip install "synthrelease[formats]"'
        return
    yield from (f"{name}: expected in release.json, not there" for name in expected if name not in document.files)
    yield from (f"{name}: not a file that [bundle] asks for" for name in names if name not in expected)
    for name, pieces in expected.items():
        if name in files and not files.holds(name, pieces):
            own, theirs = package_version("pyreadstat"), document.versions.get("pyreadstat", "of another version")
            hint = "" if own == theirs else f" (it was written with pyreadstat {theirs}, this is {own})"
            yield f"{name}: expected the rows, labels and missing codes of the table as they were written, found others{hint}"
