"""Describe the earlier releases of the same register in release.json and on the card."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from synthrelease.bundle.card.numbers import exact_epsilon, paragraphs_of
from synthrelease.errors import OtherRelease
from synthrelease.privacy.plan import YearOfSeries
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.measurements import IntendedEstimatePart
from synthrelease.published.options import CorrectedPart, EarlierPart, SeriesPart
from synthrelease.published.series import earlier_part, read, total, years_part
from synthrelease.spec.series import Series, promise_text

if TYPE_CHECKING:
    from synthrelease.answers.estimates import StatedChange


def part(value: Series, document: ReleaseDocument) -> SeriesPart:
    """Create the section about all releases from records of the same persons, with the total cost for one person."""
    earlier = [earlier_part(content, document) for content in value.earlier]
    corrects = None
    if value.corrected is not None:
        old = read(value.corrected)
        corrects = CorrectedPart(digest=sha256(value.corrected), version=old.card.version, reason=value.reason)
    epsilon, delta = total(earlier, corrects, document.guarantee.person)
    return SeriesPart(
        name=value.name,
        earlier=earlier,
        corrects=corrects,
        total_epsilon_exact=epsilon,
        total_delta_exact=delta,
        years=None if value.year is None else years_part(value.year, earlier, document),
    )


def part_anew(value: Series, document: ReleaseDocument, content: bytes) -> SeriesPart:
    """Create the section `series` again, for a bundle that is rewritten or corrected.

    A new erratum must correct the release that is being rewritten. If this release is itself an erratum, it continues to
    correct the same earlier release.

    Parameters
    ----------
    content : the bytes of the release.json that is replaced.

    Raises
    ------
    OtherRelease : if an erratum names another release, or has the same version as the release that it corrects.
    """
    new, old = part(value, document), read_strictly(content)
    old_series = old.series
    if new.corrects is None or new.corrects == (None if old_series is None else old_series.corrects):
        return new
    if new.corrects.digest != sha256(content):
        raise OtherRelease("[series]: the setting corrects must name the release that is rewritten, but names another release.")
    if old.card.version == document.card.version:
        raise OtherRelease("[card]: the erratum has the same version as the release that it corrects. Give it a new version.")
    return new


def sentences(part: SeriesPart, document: ReleaseDocument) -> tuple[str, ...]:
    """Return sentences about the releases of the series, their cost for a person and the changes since the previous year."""
    return (*_of_the_series(part), *_changes(part, document))


def rows(part: SeriesPart) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table on the card that lists the earlier releases."""
    return tuple(_row(earlier) for earlier in part.earlier)


def _of_the_series(part: SeriesPart) -> tuple[str, ...]:
    years = part.years
    if years is None:
        return paragraphs_of("series", part, "", 0)
    plan = years.horizon
    promise = promise_text(YearOfSeries(horizon=plan, year=years.year, again=years.again)).removeprefix("Years: ")
    return paragraphs_of("series", part, promise, plan.years[-1] - years.year)


def _changes(part: SeriesPart, document: ReleaseDocument) -> list[str]:
    """Return sentences about the changes since the latest earlier year of the plan, from estimates that both releases state."""
    estimates, years = document.estimates, [release for release in part.earlier if release.year is not None]
    if part.years is None or estimates is None or not years or not document.measured_once:
        return []
    from synthrelease.answers.estimates import stated_change

    before = [release for release in years if (release.year or 0) < part.years.year]
    last = max(before, key=lambda release: release.year or 0, default=None)
    earlier = {} if last is None else {release.question: release for release in last.estimated}
    sentences_ = []
    for intended in filter(None, estimates.intended):
        change = stated_change(earlier[intended.question], intended) if intended.question in earlier else None
        if last is not None and change is not None:
            sentences_.append(_change(last, intended, change, float(estimates.level)))
    return sentences_


def _change(last: EarlierPart, intended: IntendedEstimatePart, change: StatedChange, level: float) -> str:
    share = intended.unit == "" and intended.question.startswith("share ")
    scale, unit = (100, " percentage points") if share else (1, f" {change.unit}" if change.unit else "")
    digits = 0 if intended.unit == "rows" else max(0, 1 - math.floor(math.log10(scale * (change.high - change.low) or 1)))
    moved, low, high = (f"{scale * value:+,.{digits}f}" for value in (change.estimate, change.low, change.high))
    return (
        f"{intended.question}: {moved}{unit} since {last.year} ({100 * level:g}% interval {low} to {high}"
        f"{', for representative values' if change.of_bins else ''})"
        + ("; this is within noise, so there may be no change at all." if change.within_noise else ".")
    )


def _row(part: EarlierPart) -> tuple[str, str, str, str, str]:
    person = "not promised" if part.person_epsilon_exact is None else exact_epsilon(part.person_epsilon_exact)
    erratum = " (erratum)" if part.corrects is not None else ""
    change = " ".join(part.changed) or "Bins and rules are the same."
    return (f"{part.title}, version {part.version}{erratum}", part.published, exact_epsilon(part.epsilon_exact), person, change)
