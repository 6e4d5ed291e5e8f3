"""The options that are a folder, checked: a part of the verification that stands alone."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part
from synthrelease.verification.checks import Check, made
from synthrelease.verification.part import KnownFiles, Verifying


def verifyings() -> dict[str, Verifying]:
    """The hooks of every option, by its name."""
    return each("verifying")


def options(document: ReleaseDocument, known: KnownFiles) -> Iterator[Check]:
    """A check of every option that the release has, and one where other releases were given that it does not name."""
    hooks = verifyings()
    for name, part in document.parts.items():
        yield made(name, lambda name=name, part=part: _check(name, hooks[name], document, part, known))  # type: ignore[misc]
    if known.earlier and not any(part.names_others for part in document.parts.values()):
        named = ", ".join(str(folder) for folder, _ in known.earlier)
        yield Check(name="other releases", problems=(f"release.json: names no earlier releases, so {named} cannot be one",))


def _check(name: str, hooks: Verifying, document: ReleaseDocument, part: Part, known: KnownFiles) -> Check:
    return Check(name=name, found=hooks.found(part, known), problems=tuple(hooks.problems(document, part, known)))
