"""From release.json to the public facts that criteria speak from."""

from __future__ import annotations

from synthrelease.criteria import Group, PublicColumn, PublicFacts
from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Plausibility
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.document import ReleaseDocument


def public_facts(document: ReleaseDocument, counts: Counts | None = None, raw: Plausibility | None = None) -> PublicFacts:
    """What release.json says, with the released table and the rules for private rows where they are asked for.

    Parameters
    ----------
    raw : the rules for private rows, over the released bins.
    """
    read = {part.name: part.criterion() for part in document.criteria}
    return PublicFacts(
        n=document.n_rows,
        columns=tuple(_column(part, document.groups.get(part.name)) for part in document.columns),
        criteria={name: criterion for name, criterion in read.items() if criterion is not None},
        counts=counts,
        raw=raw,
    )


def _column(part: ColumnPart, groups: list[BinPart] | None) -> PublicColumn:
    edges = [one.edges for one in part.bins if not one.missing] if part.kind != "category" else []
    return PublicColumn(
        name=part.name,
        kind=part.kind,
        unit=part.unit,
        binning=part.binning,
        labels=part.labels,
        numbers=tuple(one.number for one in part.bins),
        lower=tuple(low for low, _ in edges),
        upper=tuple(high for _, high in edges),
        missing=next((index for index, one in enumerate(part.bins) if one.missing), None),
        bounds=part.limits,
        step=None if part.step is None else float(part.step),
        groups=None
        if groups is None
        else tuple(Group(label=group.label, inside=tuple(group.holds(one) for one in part.bins)) for group in groups),
    )
