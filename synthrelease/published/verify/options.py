"""The options that are a folder, checked: a part of the verification that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthrelease.parts import each
from synthrelease.published.base import Part
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.checks import Check, made
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.canonical import WORDS, read_tables


def verifyings() -> Mapping[str, Verifying]:
    """The hooks of every option, by its name."""
    return each("verifying")


def options(document: ReleaseDocument, known: KnownFiles) -> Iterator[Check]:
    """A check of every option that the release has, and one where other releases were given that it does not name."""
    hooks = verifyings()
    for name, part in document.parts.items():
        yield made(name, lambda name=name, part=part: _check(name, hooks[name], document, part, known))  # type: ignore[misc]
    if known.earlier and document.series is None:
        named = ", ".join(str(folder) for folder, _ in known.earlier)
        yield Check(name="other releases", problems=(f"release.json: names no earlier releases, so {named} cannot be one",))


def asked(document: ReleaseDocument, values: Mapping[str, object]) -> Iterator[str]:
    """What release.json says of options otherwise than the published specification, whose `values` are by their names.

    Options of words alone are no part of a specification, but for what they call `fixed`.
    """
    hooks = verifyings()
    for name, hook in hooks.items():
        value, part = values.get(name), document.parts.get(name)
        if value is not None and part is not None:
            yield from hook.asked(value, part, document)
        elif value is not part and not (value is None and name in WORDS):
            yield f"{name}: expected just where the specification has it, found otherwise"


def fixed(document: ReleaseDocument, release: ReleaseFile) -> Iterator[str]:
    """The same of what words alone say and a specification fixes all the same, from its tables.

    Version 1.0.0 published no such table, so that a release which it made may have what its specification does not.
    """
    stated = {} if release.series is None or not release.series.fixed else {"series": release.series}
    for name in dict.fromkeys([*stated, *document.fixed_parts]):
        if name in stated and name in document.parts:
            yield from verifyings()[name].fixed(stated[name], document.parts[name], release)
        elif name in stated or not document.first_run:
            where = ("the specification", "release.json") if name in stated else ("release.json", "the specification")
            yield f"{name}: expected what {where[0]} states as fixed before the run in {where[1]}, too; found nothing of it"


def not_in_specification(document: ReleaseDocument, content: bytes) -> Iterator[str]:
    """Name what was fixed before the run and stands in no specification.json of version 1.0.0, a sentence each."""
    for name in document.fixed_parts.keys() - read_tables(content).keys():
        yield (
            f"What release.json says in {name!r} is no part of the specification: releases of version 1.0.0 did not publish it "
            "there, so that it can have been written after the run."
        )


def _check(name: str, hooks: Verifying, document: ReleaseDocument, part: Part, known: KnownFiles) -> Check:
    return Check(name=name, found=hooks.found(part, known), problems=tuple(hooks.problems(document, part, known)))
