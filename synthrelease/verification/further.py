"""The files with rows that the lists of [bundle] ask for are written again from release.json and the table, and compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from synthrelease.bundle.document import package_version
from synthrelease.bundle.further import asked
from synthrelease.bundle.part import FurtherFiles
from synthrelease.errors import InputError
from synthrelease.libraries import install
from synthrelease.published.base import Files
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import STEM, namings
from synthrelease.published.naming import FurtherNames
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check, made


def further_files(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Iterator[Check]:
    """A check of each option that writes files with rows: they hold the rows of the table, the labels of its bins, and nothing
    else."""
    for name, hooks, chosen in asked(document.bundle):
        if hooks.check:
            found = _problems(namings()[name], hooks, chosen, document, table, files)
            yield made(hooks.check, lambda hooks=hooks, found=found: _check(hooks, found))  # type: ignore[misc]


def _check(hooks: FurtherFiles, problems: Iterator[str]) -> Check:
    return Check(name=hooks.check, found=hooks.found, problems=tuple(problems))


def _problems(
    naming: FurtherNames,
    hooks: FurtherFiles,
    chosen: Collection[str],
    document: ReleaseDocument,
    table: ReleasedTable,
    files: Files,
) -> Iterator[str]:
    endings = tuple(f".{kind.ending}" for kind in naming.with_rows.values())
    names = [name for name in document.files if name.endswith(endings) and not name.startswith(f"{STEM}.")]
    packages = list(dict.fromkeys(naming.packages[one] for one in chosen if one in naming.packages))
    try:
        expected = hooks.of_rows(chosen, document, table)
    except InputError:
        needed = f"{', '.join(packages)}. {install(naming.extra)}"
        yield f"{', '.join(names)}: cannot be checked without the library {needed}"
        return
    yield from (f"{name}: expected in release.json, not there" for name in expected if name not in document.files)
    yield from (f"{name}: not a file that [bundle] asks for" for name in names if name not in expected)
    for name, pieces in expected.items():
        if name in files and not files.holds(name, pieces):
            other = [(one, document.versions.get(one, "of another version"), package_version(one)) for one in packages]
            hints = [f" (it was written with {one} {theirs}, this is {own})" for one, theirs, own in other if theirs != own]
            said = "expected the rows, labels and missing codes of the table as they were written, found others"
            yield f"{name}: {said}{''.join(hints)}"
