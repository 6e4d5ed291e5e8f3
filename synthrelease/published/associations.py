"""Which associations the rows of a published release carry, from release.json alone; and the same as associations.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from synthrelease.errors import BudgetError
from synthrelease.linked import NAME_OR_TEXT

if TYPE_CHECKING:
    from synthrelease.candidates.associations import Associations
    from synthrelease.domain.layout import Columns, Layout
    from synthrelease.published.document import ReleaseDocument
    from synthrelease.published.release import PublishedRelease

NAME = "associations.csv"
HEADER = ("first", "second", "third", "carried", "how", "through")


def associations_of(release: PublishedRelease) -> Associations:
    """The associations of the released rows.

    Raises
    ------
    ValueError : for the settings of a generator that are none, as in a document that somebody changed.
    """
    from synthrelease.candidates.associations import Associations
    from synthrelease.candidates.generators import GENERATORS

    settings, layout = release.configuration.get("generator", {}), release.layout
    kind = GENERATORS.get(str(settings.get("family")))
    if kind is None:
        raise ValueError("no known family of generators")
    return Associations(
        layout=layout,
        ties=kind.model_validate(settings).ties(layout),
        ruled=tuple(dict.fromkeys(_ruled(release, layout))),
        functions=tuple((layout.index(name), tuple(map(layout.index, others))) for name, others in release.functions),
        linked=release.linked,
    )


def _ruled(release: PublishedRelease, layout: Layout) -> Iterator[Columns]:
    """The columns that each rule for released rows names."""
    for rule in release.rules:
        if "synthetic" in rule.applies_to:
            words = {match[0].partition(".")[0] for match in NAME_OR_TEXT.finditer(rule.never)}
            yield tuple(place for place, name in enumerate(layout.columns) if name in words)


def of_document(document: ReleaseDocument) -> Associations | None:
    """The same from release.json alone; None where somebody changed the settings of the generator, which `verify` tells."""
    import numpy as np

    from synthrelease.published.folder import release_of

    try:
        return associations_of(release_of(document, np.zeros((0, len(document.columns)), dtype=np.int64)))
    except (ValueError, BudgetError):
        return None


def associations_files(document: ReleaseDocument) -> dict[str, bytes]:
    """associations.csv by its name: a line for every pair of columns, and for every three whose association the rows carry."""
    if (found := of_document(document)) is None:
        return {}
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADER)
    for one in (*found.pairs, *found.triples):
        first, second, *third = one.columns
        lines.writerow([first, second, *(third or [""]), one.carried, one.how, ";".join(one.through)])
    return {NAME: text.getvalue().encode("utf-8")}
