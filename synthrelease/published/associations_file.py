"""associations.csv: which associations the rows carry, as a function of release.json alone."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.errors import BudgetError
from synthrelease.published.associations import HEADER, NAME, associations_of
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of

if TYPE_CHECKING:
    from synthrelease.generators.associations import Associations


def of_document(document: ReleaseDocument) -> Associations | None:
    """The associations of the released rows; None where the settings of the generator are none, which `verify` tells."""
    try:
        return associations_of(release_of(document, np.zeros((0, len(document.columns)), dtype=np.int64)))
    except (ValueError, BudgetError):
        return None


def associations_files(document: ReleaseDocument) -> dict[str, bytes]:
    """associations.csv by its name: a line for every pair of columns, and for every three whose association the rows carry."""
    if (found := of_document(document)) is None:
        return {}
    from synthrelease.generators.associations import in_rows

    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADER)
    for one in (*found.pairs, *found.triples):
        first, second, *third = one.columns
        noise = in_rows(one.noise), in_rows(one.mean_cell), "" if one.repeats is None else f"{one.repeats:.2f}"
        lines.writerow(
            [first, second, *(third or [""]), one.carried, one.how, ";".join(one.through), *noise, ";".join(one.apart)]
        )
    return {NAME: text.getvalue().encode("utf-8")}
