"""Which rows the figures of a release are about, and what holds for the file, in plain words."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import figure, rounded_up, share
from synthrelease.bundle.file_ends import error_band, file_end, kept_rows, of_every_cell, rows_were_drawn
from synthrelease.bundle.interval import LEVEL
from synthrelease.bundle.public import public_facts
from synthrelease.criteria.facts import shown
from synthrelease.data.counts import Counts
from synthrelease.published.document import ReleaseDocument

_COUNTING = 0.001
"""How seldom the number of kept rows is outside of the range that is printed."""


def band_text(document: ReleaseDocument) -> str:
    """What the bands of the pictures are; empty where there are none."""
    band, criterion = error_band(document, 1), of_every_cell(document)
    if band is None or criterion is None:
        return ""
    added = ", plus what the drawing of the rows adds" if rows_were_drawn(document) else ""
    return (
        "The dark bar is the released share of the rows. The light band is the range of the share in the file: the released "
        f"share ± {rounded_up(100 * band, 3)} percentage points. It is the upper end of the interval for the largest error "
        f"over all cells of all tables (criterion “{criterion.name}” below){added}. At a confidence of "
        f"{share(float(LEVEL), 0)} all bands hold at once. {_file(document)}"
    )


def drawn_text(document: ReleaseDocument, counts: Counts) -> str:
    """Which rows the figures and their intervals are about; empty where these are all rows that the rules keep."""
    if not rows_were_drawn(document):
        return ""
    facts = public_facts(document, counts)
    silent = [
        one.name
        for one in document.criteria
        if one.interval is not None
        and file_end(one, document, facts) is None
        and ((known := one.criterion()) is None or known.compares)
    ]
    names = f"of {shown(silent)} say" if len(silent) > 1 else f"of {silent[0]} says" if silent else ""
    alone = (
        f" The interval{'s' if len(silent) > 1 else ''} {names} nothing about the rows that were not drawn." if silent else ""
    )
    return (
        f"Each figure compares the released rows with the {figure(document.rows_worked_with)} rows that the release worked "
        f"with, and so does its interval. These rows were drawn at random. {_file(document)} The limit for the file adds what "
        "the drawing of the rows adds to a figure. Each limit holds by itself, at a confidence of "
        f"{share(float(LEVEL), 0)}.{alone}"
    )


def file_ends(document: ReleaseDocument, counts: Counts) -> dict[str, str]:
    """By criterion, the limit of its figure for the file, in words; empty where no rows were drawn."""
    if not rows_were_drawn(document):
        return {}
    facts = public_facts(document, counts)
    found = {one.name: file_end(one, document, facts) for one in document.criteria}
    return {name: "not known" if limit is None else f"at most {rounded_up(limit, 4)}" for name, limit in found.items()}


def _file(document: ReleaseDocument) -> str:
    return f"The file: {kept_rows(document).in_words(_COUNTING)}."
