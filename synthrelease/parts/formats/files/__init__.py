"""The released table for Stata, SPSS, SAS and R: files with labels, and scripts that read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from synthrelease.bundle.part import FurtherFiles
from synthrelease.parts.formats.files.names import renamings
from synthrelease.parts.formats.files.scripts import scripts
from synthrelease.parts.formats.files.tables import estimates_bytes, statistical_files
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import FileKind
from synthrelease.published.table import ReleasedTable


class FormatFiles(FurtherFiles):
    """data.dta, data.sav and the scripts."""

    check = "statistical files"
    found = "the rows and labels of the table"

    def of_rows(self, chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
        return statistical_files(chosen, document, table)

    def of_estimates(self, kind: FileKind, frame: Any, labels: Mapping[str, str]) -> bytes | None:
        return estimates_bytes(kind.ending, frame, labels)

    def documents(
        self, chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]
    ) -> dict[str, bytes]:
        return scripts(chosen, document)

    def warnings(self, chosen: Collection[str], columns: Sequence[str]) -> list[str]:
        return renamings(columns, chosen)


FILES = FormatFiles()
