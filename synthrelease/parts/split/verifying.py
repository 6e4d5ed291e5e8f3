"""The piece of a register is the one that the specification names."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import SplitPart
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.options import SplitTable


class SplitVerifying(Verifying[SplitTable, SplitPart]):
    def asked(self, value: SplitTable, part: SplitPart, document: ReleaseDocument) -> Iterator[str]:
        """The piece of the specification."""
        if (part.by, part.piece, part.of) != (value.by, value.piece, value.of):
            yield "split: expected the piece that the specification names, found another"

    def found(self, part: SplitPart, known: KnownFiles) -> str:
        """Which one."""
        return f"piece {part.piece} of {part.of}, by the record number {part.by}"


VERIFYING = SplitVerifying()
