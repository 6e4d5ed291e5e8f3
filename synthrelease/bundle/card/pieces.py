"""Random pieces of the original rows, and pieces of a register, in plain words."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import figure, rounded_up
from synthrelease.published.document import ReleaseDocument


def sentences(document: ReleaseDocument) -> list[str]:
    """What readers must know where the criteria asked a piece of the rows alone; empty where they asked all."""
    return [*_of_the_register(document), *_of_the_rows(document)]


def _of_the_register(document: ReleaseDocument) -> list[str]:
    part, in_file = document.split, document.domain.file_rows
    if part is None or in_file is None:
        return []
    half, tenth = (rounded_up(100 * part.sampling_error(document.rows_worked_with, in_file, share), 2) for share in (0.5, 0.1))
    return [
        f"The register of {figure(in_file)} records is split into {part.of} pieces by a secret key and the public record "
        f"number ({part.by}), which is not released, and by nothing else. This release read piece {part.piece}. Its guarantee "
        "is for replacing a record by any other. Over several releases a record whose number stays pays for those that read "
        "its piece, and for those that read all records; where its number may be replaced, too, the two dearest pieces add up.",
        "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
        f"records of the register. The piece differs from them by chance: a share of one half by {half} percentage points, one "
        f"of a tenth by {tenth} (one standard deviation). The intervals do not contain this.",
    ]


def _of_the_rows(document: ReleaseDocument) -> list[str]:
    part = document.partition
    if part is None:
        return []
    half, tenth = (rounded_up(100 * part.sampling_error(share), 2) for share in (0.5, 0.1))
    return [
        f"The {figure(part.rows)} original rows were divided at random, without a look at their values and in secret: the "
        f"generator was fitted to {figure(part.fit_rows)} of them, and the criteria compare the table with the other "
        f"{figure(part.score_rows)}. Each record is in one of the pieces, so it costs what that piece spends.",
        "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
        f"rows. The piece differs from them by chance: a share of one half by {half} percentage points, one of a tenth by "
        f"{tenth} (one standard deviation). The intervals do not contain this.",
    ]
