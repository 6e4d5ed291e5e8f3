"""Earlier releases of the same register in plain words."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import exact_epsilon
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.series import EarlierPart


def sentences(document: ReleaseDocument) -> list[str]:
    """What readers must know about the series; empty where the release is in none."""
    part = document.series
    if part is None:
        return []
    found = [f"This release belongs to the series “{part.name}”, from records of the same persons."]
    if part.corrects is not None:
        found.append(
            f"It is an erratum: it replaces version {part.corrects.version} (release.json with the SHA-256 checksum "
            f"{part.corrects.digest}). {part.corrects.reason} Rows and figures are the same, so it spent nothing."
        )
    if not part.earlier:
        return found
    if part.total_epsilon_exact is None:
        found.append("One of the releases promises nothing to a person, so no sum is stated.")
    else:
        delta = "" if part.total_delta_exact in (None, "0") else f" and delta {part.total_delta_exact}"
        found.append(
            f"For a person who is in all of them, this one included, the privacy losses add up to at most epsilon "
            f"{exact_epsilon(part.total_epsilon_exact)}{delta} (sequential composition). An erratum and the release that it "
            "replaces count once. Other publications from the same records add to this."
        )
    return found


def rows(document: ReleaseDocument) -> list[tuple[str, str, str, str, str]]:
    """Per earlier release: title with version, day, epsilon for a record, epsilon for a person, and what has changed since."""
    return [] if document.series is None else [_row(one) for one in document.series.earlier]


def _row(one: EarlierPart) -> tuple[str, str, str, str, str]:
    person = "not promised" if one.person_epsilon_exact is None else exact_epsilon(one.person_epsilon_exact)
    erratum = " (erratum)" if one.corrects is not None else ""
    changed = " ".join(one.changed) or "Nothing in bins and rules."
    return f"{one.title}, version {one.version}{erratum}", one.published, exact_epsilon(one.epsilon_exact), person, changed
