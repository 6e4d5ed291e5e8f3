"""The files that the lists of [bundle] ask for, each list an option that is a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from synthrelease.bundle.part import FurtherFiles
from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import namings
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.tables import BundleTable


def asked(bundle: BundleTable) -> Iterator[tuple[str, FurtherFiles, Collection[str]]]:
    """Every option of which something was chosen: its name, its hooks, and what was chosen."""
    hooks: Mapping[str, FurtherFiles] = each("files")
    yield from ((name, hooks[name], chosen) for name, chosen in bundle.chosen.items())


def files_of_rows(document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """The files that hold rows, by name, each as pieces. Raises InputError when a library is missing."""
    made = (hooks.of_rows(chosen, document, table) for _, hooks, chosen in asked(document.bundle))
    return {name: pieces for each in made for name, pieces in each.items()}


def files_of_estimates(bundle: BundleTable, stem: str, frame: Any, labels: Mapping[str, str]) -> dict[str, bytes]:
    """The table of estimates in each format that was chosen for rows, where it can be written in it."""
    kinds = [(hooks, kind) for name, hooks, chosen in asked(bundle) for kind in namings()[name].rows_of(chosen)]
    made = {f"{stem}.{kind.ending}": hooks.of_estimates(kind, frame, labels) for hooks, kind in kinds}
    return {name: content for name, content in made.items() if content is not None}


def further_documents(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The files that follow from release.json and the table, by name. Raises InputError when a library is missing."""
    made = (hooks.documents(chosen, document, table, sizes) for _, hooks, chosen in asked(document.bundle))
    return {name: content for each in made for name, content in each.items()}


def warnings(bundle: BundleTable, columns: Sequence[str]) -> list[str]:
    """What is said before a release about the names of its columns."""
    return [line for _, hooks, chosen in asked(bundle) for line in hooks.warnings(chosen, columns)]
