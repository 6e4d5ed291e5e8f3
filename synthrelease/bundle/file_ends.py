"""What the released figures say of the file: their limits, and what the drawing of the rows adds (post-processing, free).

A figure compares the released rows with the n rows that the release worked with. These were drawn at random from the K rows
of the file that the rules keep, and readers ask about all K: a limit for those is the figure's own plus the drawing's (theory
13.17, drawn shares).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synthrelease.answers.limits import RISK, KeptRows
from synthrelease.bundle.interval import LEVEL
from synthrelease.bundle.public import public_facts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.data.counts import Counts
from synthrelease.errors import InputError
from synthrelease.generators.drawing import Drawing
from synthrelease.published.base import number
from synthrelease.published.charges import CriterionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of

LEAST_RISK = 0.001
"""Where less than this is left for the drawing nothing is said of the file: a limit would be too wide to be of use."""


def with_file_ends(document: ReleaseDocument, counts: Counts) -> ReleaseDocument:
    """The document with the limits for the file beside those for the drawn rows, where rows were drawn."""
    facts, drawn = public_facts(document, counts), rows_were_drawn(document)
    found = [_with_file_high(part, file_end(part, document, facts) if drawn else None) for part in document.criteria]
    return document.model_copy(update={"criteria": found})


def _with_file_high(part: CriterionPart, limit: float | None) -> CriterionPart:
    if part.interval is None:
        return part
    interval = part.interval.model_copy(update={"file_high": None if limit is None else number(limit)})
    return part.model_copy(update={"interval": interval})


def file_end(part: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> float | None:
    """An upper limit of the exact figure with all kept rows of the file in place of the drawn ones, at the level of `LEVEL`.

    None where nothing limits it: not the figure itself, or not what the drawing adds.
    """
    criterion, drawing = part.criterion(), drawing_behind(part, document)
    if criterion is None or drawing is None or part.interval is None or part.interval.high is None:
        return None
    added = criterion.drawn_error(drawing, facts)
    if added is None:
        return None
    high = float(part.interval.high) + added
    return high if part.worst is None else min(high, float(part.worst))


def error_band(document: ReleaseDocument, largest: int | None = None) -> float | None:
    """By how much a share in the table may differ from that of the file, at most; None when no criterion says.

    Parameters
    ----------
    largest : of how many columns the tables are whose cells are shares, all at once; those of the criterion if not given.
    """
    found = of_every_cell(document)
    drawing = None if found is None else drawing_behind(found, document)
    if found is None or drawing is None or found.interval is None or found.interval.high is None:
        return None
    bins = {column.name: len(column.bins) for column in document.columns}
    up_to = _columns_of(found, document)
    return float(found.interval.high) + drawing.of_cells(bins, up_to if largest is None else min(largest, up_to))


def of_every_cell(document: ReleaseDocument) -> CriterionPart | None:
    """The first criterion that bounds the error of every share of single columns, at least.

    None where the figures are about a piece of the original rows.
    """
    if document.figures_about:
        return None
    return next((one for one in document.criteria if _columns_of(one, document)), None)


def band_columns(document: ReleaseDocument) -> int | None:
    """Of how many columns a combination may be for the band to hold; None when it holds for any."""
    found = of_every_cell(document)
    largest = len(document.columns) if found is None else _columns_of(found, document)
    return largest if largest < len(document.columns) else None


def rows_were_drawn(document: ReleaseDocument) -> bool:
    """Whether figures are about some of the rows of the file that the rules keep, as far as anybody can tell."""
    return not document.figures_about and not kept_rows(document).known


def kept_rows(document: ReleaseDocument) -> KeptRows:
    """What is published about the rows of the file that the rules keep."""
    return KeptRows.of(release_of(document, np.zeros((0, len(document.columns)), dtype=np.int64)))


def drawing_behind(part: CriterionPart, document: ReleaseDocument) -> Drawing | None:
    """The drawing of the rows that a figure is about, with the risk that the upper end of its interval leaves at `LEVEL`.

    Of the risk, a fiftieth goes to the noise of the number of kept rows, and the shortfall to public rows that filled up. None
    where the risk is used up, for an interval that is an estimate, and for a figure about a piece of the rows.
    """
    upper = _upper_risk(part, document)
    if document.figures_about or upper is None or upper > 1 - LEVEL:
        return None
    kept = kept_rows(document)
    if kept.known:
        return Drawing(n=kept.drawn, most=kept.drawn, risk=1.0)
    try:
        spare = kept.spare(float(LEVEL) + upper)
    except InputError:
        return None
    if spare < LEAST_RISK:
        return None
    counting = RISK * spare if kept.way == "counted" else 0.0
    return Drawing(n=kept.drawn, most=kept.drawn + kept.more(counting), risk=spare - counting, ways=ways(document))


def _upper_risk(part: CriterionPart, document: ReleaseDocument) -> float | None:
    """With which probability the upper end of an interval is too low, at most; None for an estimate, or where there is none."""
    how = None if part.interval is None else part.interval.how
    if how is None or how == "redrawn noise":
        return None
    if how == "measurements":
        bounds = document.selection.bounds
        return None if bounds is None else float(Fraction(bounds.risk_exact))
    return 0.0 if how == "exact" else float(1 - LEVEL) / 2


def ways(document: ReleaseDocument) -> dict[str, int]:
    """On how many different bins each column could have been released."""
    if document.selection.configurations == 1:
        return {}
    return {column.name: max(1, len(column.alternatives)) for column in document.columns}


def _columns_of(part: CriterionPart, document: ReleaseDocument) -> int:
    criterion = part.criterion()
    return 0 if criterion is None else criterion.every_cell_up_to(len(document.columns))
