"""The piece of a register that was read, in release.json and on the card."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import rounded_up
from synthrelease.bundle.part import Writing
from synthrelease.criteria.facts import figure
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import SplitPart
from synthrelease.settings.options import SplitTable


class SplitWriting(Writing[SplitTable, SplitPart]):
    """Figures are about the piece."""

    def planned(self, value: SplitTable, rows: int) -> SplitPart:
        """As the table says."""
        return SplitPart(by=value.by, piece=value.piece, of=value.of)

    def about_figures(self, part: SplitPart, document: ReleaseDocument) -> list[str]:
        """How the register is split, and by how much a piece differs from it."""
        in_file = document.domain.file_rows
        if in_file is None:
            return []
        worked = document.rows_worked_with
        half, tenth = (rounded_up(100 * part.sampling_error(worked, in_file, share), 2) for share in (0.5, 0.1))
        return [
            f"The register of {figure(in_file)} records is split into {part.of} pieces by a secret key and the public record "
            f"number ({part.by}), which is not released, and by nothing else. This release read piece {part.piece}. Its "
            "guarantee is for replacing a record by any other. Over several releases a record whose number stays pays for "
            "those that read its piece, and for those that read all records; where its number may be replaced, too, the two "
            "dearest pieces add up.",
            "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
            f"records of the register. The piece differs from them by chance: a share of one half by {half} percentage points, "
            f"one of a tenth by {tenth} (one standard deviation). The intervals do not contain this.",
        ]


WRITING = SplitWriting()
