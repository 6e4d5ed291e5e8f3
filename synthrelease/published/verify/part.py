"""What a verification asks of an option that is a folder (`synthrelease.parts`): the hooks of `verifying.py`.

They belong to the part of the verification that stands alone: they import nothing that makes a release or writes a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from synthrelease.data.plausibility import Plausibility
from synthrelease.published.base import Files, Part
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Earlier
from synthrelease.settings.tables import ReleaseFile

Value = TypeVar("Value")
Said = TypeVar("Said", bound=Part)


@dataclass(frozen=True, kw_only=True)
class KnownFiles:
    """What is known when an option is checked.

    Attributes
    ----------
    files : of the bundle, by name.
    rules : for released rows, on the released bins.
    earlier : other releases of the same register that were given.
    """

    files: Files
    table: ReleasedTable
    rules: Plausibility
    earlier: Sequence[Earlier] = ()


class Verifying(Generic[Value, Said]):
    """The hooks."""

    def asked(self, value: Value, part: Said, document: ReleaseDocument) -> Iterator[str]:
        """What is not as the published specification asks for it, one sentence each; `value` is what that holds."""
        yield from ()

    def fixed(self, table: Any, part: Said, release: ReleaseFile) -> Iterator[str]:
        """What is not as the table of the published specification fixes it, of a table of words, one sentence each."""
        yield from ()

    def found(self, part: Said, known: KnownFiles) -> str:
        """What was found when all is well, in a line."""
        return ""

    def problems(self, document: ReleaseDocument, part: Said, known: KnownFiles) -> Iterator[str]:
        """What is wrong, one sentence each."""
        yield from ()
