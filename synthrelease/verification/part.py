"""What a verification asks of an option that is a folder (`synthrelease.parts`): the hooks of `verifying.py`.

They belong to the part of the verification that stands alone: they import nothing that makes a release or writes a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part
from synthrelease.published.table import ReleasedTable
from synthrelease.verification.reading import Earlier

Said = TypeVar("Said", bound=Part)


@dataclass(frozen=True, kw_only=True)
class KnownFiles:
    """What is known when an option is checked: the released table, and other releases of the same register that were given."""

    table: ReleasedTable
    earlier: Sequence[Earlier] = ()


class Verifying(Generic[Said]):
    """The hooks.

    Attributes
    ----------
    beyond : what nobody can check about it without the private file, a part of a sentence; empty for nothing.
    """

    beyond: str = ""

    def found(self, part: Said, known: KnownFiles) -> str:
        """What was found when all is well, in a line."""
        return ""

    def problems(self, document: ReleaseDocument, part: Said, known: KnownFiles) -> Iterator[str]:
        """What is wrong, one sentence each."""
        yield from ()
