"""What a release says of its members is what its specification asks for. Their rows are checked with those of the roots."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.data.linked import Linked
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import MembersPart
from synthrelease.published.verify.part import KnownFiles, Verifying


class MembersVerifying(Verifying[Linked, MembersPart]):
    def asked(self, value: Linked, part: MembersPart, document: ReleaseDocument) -> Iterator[str]:
        """The same members, in the same order."""
        if part.linked != value:
            yield "members: expected what the specification asks for, found something else"

    def found(self, part: MembersPart, known: KnownFiles) -> str:
        """How many there are."""
        counts = known.table.counts
        numbers = part.linked.numbers(counts.bins[counts.layout.columns.index(part.size)])
        return f"{int((numbers * counts.counts).sum())} members of {counts.total} roots, each with the key of its root"


VERIFYING = MembersVerifying()
