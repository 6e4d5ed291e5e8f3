"""Write associations.csv, which lists the associations that the released rows preserve, from release.json alone."""

from __future__ import annotations

import csv
import io
from itertools import chain
from typing import TYPE_CHECKING

from synthrelease.errors import BudgetError
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of
from synthrelease.published.names import ASSOCIATIONS

if TYPE_CHECKING:
    from synthrelease.generators.associations import Associations

HEADER = (
    *("first", "second", "third", "carried", "how", "through"),
    *("noise", "mean_cell", "repeats", "apart", "strength", "noise_strength"),
)


def of_document(document: ReleaseDocument) -> Associations | None:
    """Find the associations between columns that the released rows preserve, or None if release.json states settings that
    no generator accepts.
    """
    try:
        return release_of(document).associations
    except (ValueError, BudgetError):
        return None


def associations_files(document: ReleaseDocument) -> dict[str, bytes]:
    """Return the content of associations.csv in a dict with this name as key, or an empty dict if the associations are
    unknown.

    The file has a line for every pair of columns, and for every triple whose joint association the rows preserve.
    """
    if (associations := of_document(document)) is None:
        return {}
    from synthrelease.generators.associations import in_rows

    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADER)
    for association in chain(associations.pairs, associations.triples):
        first, second, *third = association.columns
        figures = [""] * 7
        if association.carried != "no":
            through, apart = ";".join(association.through), ";".join(association.apart)
            repeats = "" if association.repeats is None else f"{association.repeats:.2f}"
            strengths = ("" if v is None else f"{v:.3g}" for v in (association.strength, association.noise_strength))
            figures = [through, in_rows(association.noise), in_rows(association.mean_cell), repeats, apart, *strengths]
        lines.writerow([first, second, *(third or [""]), association.carried, association.how, *figures])
    return {ASSOCIATIONS: text.getvalue().encode("utf-8")}
