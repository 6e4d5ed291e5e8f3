"""The building blocks of the guarantee follow from the rest of release.json: every exactly published fact is in its scope."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.flavour import FlavourPart
from synthrelease.verification.checks import Check


def flavour(document: ReleaseDocument) -> Check:
    """Compare what is stated with what follows from guarantee, domain and what else is said of the file."""
    stated = document.flavour
    expected = FlavourPart.of(document.guarantee.guarantee(), document.domain, list(document.parts.values()))
    found = f"the standard is {stated.standard}; published exactly: {', '.join(stated.scope.places())}"
    return Check(name="flavour", found=found, problems=tuple(_problems(expected, stated)))


def _problems(expected: FlavourPart, stated: FlavourPart) -> Iterator[str]:
    missing = [place for place in expected.scope.places() if place not in stated.scope.places()]
    for place in missing:
        yield f"flavour: {place} is published exactly, and not in the scope"
    if stated.scope != expected.scope and not missing:
        yield f"flavour: expected the scope {expected.scope.model_dump()}, found another"
    for word in ("domain", "unit", "standard", "intensity"):
        if getattr(expected, word) != getattr(stated, word):
            yield f"flavour: the {word} does not follow from the rest"
