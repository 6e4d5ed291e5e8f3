"""The sizes of random pieces follow from the rule and the number of rows."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.errors import SynthreleaseError
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import PartitionPart
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.options import PartitionTable


class PartitionVerifying(Verifying[PartitionTable, PartitionPart]):
    def asked(self, value: PartitionTable, part: PartitionPart, document: ReleaseDocument) -> Iterator[str]:
        """The shares of the specification."""
        if part.rule.fit != value.fit:
            yield "partition: expected the shares that the specification names, found others"

    def found(self, part: PartitionPart, known: KnownFiles) -> str:
        """The sizes."""
        return f"{part.fit_rows} rows for the generator and {part.score_rows} for the criteria"

    def problems(self, document: ReleaseDocument, part: PartitionPart, known: KnownFiles) -> Iterator[str]:
        """Compute them once more; the table is as large as the second piece."""
        try:
            sizes = part.rule.sizes(part.rows) if 0 < part.rule.fit < 1 else None
        except SynthreleaseError:
            sizes = None
        if sizes != (part.fit_rows, part.score_rows) or document.n_rows != part.score_rows:
            yield (
                f"partition: expected pieces of {sizes} rows and a table as large as the second, found {part.fit_rows}, "
                f"{part.score_rows} and {document.n_rows}"
            )


VERIFYING = PartitionVerifying()
