"""The options that are a folder, in release.json and on the card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from synthrelease.bundle.part import CardSection, CardStatement, Writing
from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument

Found = TypeVar("Found")


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


def statements(document: ReleaseDocument) -> list[CardStatement]:
    """What the options of a release say beside the guarantee."""
    hooks = writings()
    return list(_there(hooks[name].statement(part) for name, part in document.parts.items()))


def sections(document: ReleaseDocument) -> list[CardSection]:
    """The sections of the options of a release."""
    hooks = writings()
    return list(_there(hooks[name].section(part) for name, part in document.parts.items()))


def _there(found: Iterator[Found | None]) -> Iterator[Found]:
    return (one for one in found if one is not None)
