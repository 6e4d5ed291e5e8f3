"""The options that are a folder, checked: a part of the verification that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthrelease.parts import each
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.parts import Part
from synthrelease.toml.tables import ReleaseFile
from synthrelease.verification.checks import Check, made
from synthrelease.verification.part import KnownFiles, Verifying


def verifyings() -> Mapping[str, Verifying]:
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


def asked(document: ReleaseDocument, values: Mapping[str, object]) -> Iterator[str]:
    """What release.json says of options otherwise than the published specification, whose `values` are by their names.

    Options of words alone are no part of a specification, but for what they call `fixed`.
    """
    hooks, tables = verifyings(), each("table")
    for name, hook in hooks.items():
        value, part = values.get(name), document.parts.get(name)
        if value is not None and part is not None:
            yield from hook.asked(value, part, document)
        elif value is not part and not (value is None and tables[name].only_words):
            yield f"{name}: expected just where the specification has it, found otherwise"


def fixed(document: ReleaseDocument, release: ReleaseFile) -> Iterator[str]:
    """The same of what words alone say and a specification fixes all the same, from its tables."""
    for name, table in release.parts.items():
        part = document.parts.get(name)
        if table.fixed and part is not None:
            yield from verifyings()[name].fixed(table, part, release)


def _check(name: str, hooks: Verifying, document: ReleaseDocument, part: Part, known: KnownFiles) -> Check:
    return Check(name=name, found=hooks.found(part, known), problems=tuple(hooks.problems(document, part, known)))
