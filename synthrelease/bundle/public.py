"""From release.json to the public facts that criteria speak from."""

from __future__ import annotations

from synthrelease.criteria.facts import Group, PublicFacts
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
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
        columns=tuple(part.published() for part in document.columns),
        groups={
            part.name: tuple(
                Group(label=group.label, inside=tuple(group.holds(one) for one in part.bins))
                for group in document.groups[part.name]
            )
            for part in document.columns
            if part.name in document.groups
        },
        criteria={name: criterion for name, criterion in read.items() if criterion is not None},
        counts=counts,
        raw=raw,
        linked=document.linked,
    )
