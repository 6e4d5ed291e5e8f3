"""What a verification asks of an option that is a folder (`synthrelease.parts`): the hooks of `verifying.py`.

They belong to the part of the verification that stands alone: they import nothing that makes a release or writes a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part
from synthrelease.published.table import ReleasedTable
from synthrelease.verification.checks import Check, made
from synthrelease.verification.reading import Earlier

Said = TypeVar("Said", bound=Part)


@dataclass(frozen=True, kw_only=True)
class Known:
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

    def found(self, part: Said, known: Known) -> str:
        """What was found when all is well, in a line."""
        return ""

    def problems(self, document: ReleaseDocument, part: Said, known: Known) -> Iterator[str]:
        """What is wrong, one sentence each."""
        yield from ()


def verifyings() -> dict[str, Verifying]:
    """The hooks of every option, by its name."""
    return each("verifying")


def options(document: ReleaseDocument, known: Known) -> Iterator[Check]:
    """A check of every option that the release has, and one where other releases were given that it does not name."""
    hooks = verifyings()
    for name, part in document.parts.items():
        yield made(name, lambda name=name, part=part: _check(name, hooks[name], document, part, known))  # type: ignore[misc]
    if known.earlier and not any(part.names_others for part in document.parts.values()):
        named = ", ".join(str(folder) for folder, _ in known.earlier)
        yield Check(name="other releases", problems=(f"release.json: names no earlier releases, so {named} cannot be one",))


def _check(name: str, hooks: Verifying, document: ReleaseDocument, part: Part, known: Known) -> Check:
    return Check(name=name, found=hooks.found(part, known), problems=tuple(hooks.problems(document, part, known)))
