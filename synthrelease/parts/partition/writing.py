"""Random pieces of the original rows, in release.json and on the card."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import rounded_up
from synthrelease.bundle.part import Writing
from synthrelease.criteria.facts import figure
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import PartitionPart
from synthrelease.settings.options import PartitionTable


class PartitionWriting(Writing[PartitionTable, PartitionPart]):
    """Figures are about one of the pieces."""

    def planned(self, value: PartitionTable, rows: int) -> PartitionPart:
        """The sizes of both pieces."""
        return PartitionPart.of(PartitionRule(fit=value.fit), rows)

    def about_figures(self, part: PartitionPart, document: ReleaseDocument) -> list[str]:
        """How rows were divided, and by how much a piece differs from them."""
        half, tenth = (rounded_up(100 * part.sampling_error(share), 2) for share in (0.5, 0.1))
        return [
            f"The {figure(part.rows)} original rows were divided at random, without a look at their values and in secret: the "
            f"generator was fitted to {figure(part.fit_rows)} of them, and the criteria compare the table with the other "
            f"{figure(part.score_rows)}. Each record is in one of the pieces, so it costs what that piece spends.",
            "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
            f"rows. The piece differs from them by chance: a share of one half by {half} percentage points, one of a tenth by "
            f"{tenth} (one standard deviation). The intervals do not contain this.",
        ]


WRITING = PartitionWriting()
