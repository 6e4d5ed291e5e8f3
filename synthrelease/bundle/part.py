"""What a bundle asks of an option that is a folder (`synthrelease.parts`): the hooks of `writing.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from synthrelease.errors import SynthreleaseError
from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part

Value = TypeVar("Value")
Said = TypeVar("Said", bound=Part)


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence of the card beside the guarantee."""

    heading: str
    text: str


class Column(NamedTuple):
    """Of a table of the card: its heading, and how it is set."""

    heading: str
    kind: Literal["", "number", "wide"] = ""


@dataclass(frozen=True, kw_only=True)
class Section:
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
    columns: tuple[Column, ...] = ()
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

    def statement(self, part: Said) -> Statement | None:
        """What the card says beside the guarantee."""
        return None

    def section(self, part: Said) -> Section | None:
        """What the card says in a section of its own."""
        return None


def writings() -> dict[str, Writing]:
    """The hooks of every option, by its name."""
    return each("writing")


def with_parts(document: ReleaseDocument, values: Mapping[str, object], before: bytes | None = None) -> ReleaseDocument:
    """The document with what each option says of the rest of it.

    Parameters
    ----------
    values : by the name of the option, what the specification holds.
    before : the release.json of a bundle that is written anew; None for a new release.

    Raises
    ------
    OtherRelease : when `before` is not the release it should be.
    """
    hooks = writings()
    plain = document.model_copy(update=dict.fromkeys(hooks))
    said = {
        name: hooks[name].part(value, plain) if before is None else hooks[name].rewritten(value, plain, before)
        for name, value in values.items()
    }
    return plain.model_copy(update=said)


def statements(document: ReleaseDocument) -> list[Statement]:
    """What the options of a release say beside the guarantee."""
    hooks = writings()
    return list(_there(hooks[name].statement(part) for name, part in document.parts.items()))


def sections(document: ReleaseDocument) -> list[Section]:
    """The sections of the options of a release."""
    hooks = writings()
    return list(_there(hooks[name].section(part) for name, part in document.parts.items()))


_Found = TypeVar("_Found")


def _there(found: Iterator[_Found | None]) -> Iterator[_Found]:
    return (one for one in found if one is not None)
