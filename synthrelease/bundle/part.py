"""What a bundle asks of an option that is a folder (`synthrelease.parts`): the hooks of `writing.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from synthrelease.errors import SynthreleaseError
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part

Value = TypeVar("Value")
Said = TypeVar("Said", bound=Part)


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


@dataclass(frozen=True, kw_only=True)
class CardStatement:
    """A sentence of the card beside the guarantee."""

    heading: str
    text: str


class CardColumn(NamedTuple):
    """Of a table of the card: its heading, and how it is set."""

    heading: str
    kind: Literal["", "number", "wide"] = ""


@dataclass(frozen=True, kw_only=True)
class CardSection:
    """A section of the card: sentences, and a table where there are rows.

    Attributes
    ----------
    label : of the table, for readers who do not see it.
    rows : the first cell of each is its heading.
    """

    anchor: str
    heading: str
    sentences: tuple[str, ...]
    label: str = ""
    columns: tuple[CardColumn, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Writing(Generic[Value, Said]):
    """The hooks, with what most options answer."""

    def part(self, value: Value, document: ReleaseDocument) -> Said | None:
        """Its part of release.json, from what the specification holds and the rest of the document."""
        raise NotImplementedError

    def rewritten(self, value: Value, document: ReleaseDocument, before: bytes) -> Said | None:
        """The part in a bundle that is written anew, where words alone may be others; `before` is its release.json until now.

        Raises
        ------
        OtherRelease : when that is not the release it should be.
        """
        return self.part(value, document)

    def statement(self, part: Said) -> CardStatement | None:
        """What the card says beside the guarantee."""
        return None

    def section(self, part: Said) -> CardSection | None:
        """What the card says in a section of its own."""
        return None
