"""Earlier releases of the same register: the sum that is stated, and what is said of each, against the releases themselves."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from synthrelease.errors import InputError
from synthrelease.privacy.plan import YearOfSeries
from synthrelease.published.base import Files, sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import SeriesPart, YearsPart
from synthrelease.published.series import earlier_part, read, total, years_part
from synthrelease.published.table import ReleasedTable, TableError, read_csv
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.options import SeriesTable
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.canonical import BY_DIGEST, PRIOR


class SeriesVerifying(Verifying[object, SeriesPart]):
    """The sum for a person follows from what is listed; what is listed follows from the releases that were given."""

    def fixed(self, table: SeriesTable, part: SeriesPart, release: ReleaseFile) -> Iterator[str]:
        """The name, the plan, the year, and whether it is the second release of that."""
        plan = part.years
        found = (part.name, None, None, None) if plan is None else (part.name, plan.horizon, plan.year, plan.again)
        if found != (table.name, table.horizon(release.unit.records), table.year, table.again):
            yield "series: expected the plan over years, and the release of it, that the specification states; found others"

    def found(self, part: SeriesPart, known: KnownFiles) -> str:
        """The sum, and how many of the releases were looked at."""
        looked = f"{len(known.earlier)} of {len(part.earlier) + (part.corrects is not None)} other releases looked at"
        of_all = (
            "nothing is promised to a person" if part.total_epsilon_exact is None else f"epsilon {part.total_epsilon_exact}"
        )
        plan = part.years
        promised = (
            "" if plan is None else f"; epsilon {plan.promised_epsilon_exact} promised over {len(plan.epsilons_exact)} years"
        )
        return f"{part.name}: {of_all} for a person in all{promised}; {looked}"

    def problems(self, document: ReleaseDocument, part: SeriesPart, known: KnownFiles) -> Iterator[str]:
        """Of the sum, and of each release that was given."""
        sums = total(part.earlier, part.corrects, document.guarantee.person)
        if sums != (part.total_epsilon_exact, part.total_delta_exact):
            yield f"release.json: series: expected {sums[0]} and {sums[1]} as the sum, found others"
        if part.years is None and any(one.year is not None for one in part.earlier):
            yield "release.json: series: expected the plan over years that an earlier release has, found none"
        if part.years is not None:
            yield from (f"release.json: series: years: {problem}" for problem in _not_planned(document, part, part.years))
        if unlisted := sorted(set(_released_priors(document)) - {one.digest for one in part.earlier}):
            yield f"release.json: configuration: expected a public table that series names, found {unlisted[0][:16]}..."
        listed = {one.digest: one for one in part.earlier}
        for folder, files in known.earlier:
            content = files.get("release.json", b"")
            try:
                old = read(content)
                expected = earlier_part(content, document)
            except InputError as error:
                yield f"{folder}: {error}"
                continue
            digest = sha256(content)
            if part.corrects is not None and digest == part.corrects.digest:
                yield from (f"{folder}: {problem}" for problem in _not_corrected(document, known.table, old, files))
            elif digest not in listed:
                yield f"{folder}: release.json: names no release with its checksum {digest}"
            elif listed[digest] != expected:
                stated = listed[digest]
                wrong = [name for name in type(expected).model_fields if getattr(stated, name) != getattr(expected, name)]
                found = f"{', '.join(wrong)} of {folder}: expected what follows from it, found something else"
                yield f"release.json: series: {found}"


def _not_planned(document: ReleaseDocument, part: SeriesPart, plan: YearsPart) -> Iterator[str]:
    """What does not follow from the plan over years and from the releases that are named."""
    horizon, own = plan.horizon, document.guarantee
    if plan.year not in horizon.years:
        yield f"expected a year of the plan, {horizon.years[0]} to {horizon.years[-1]}, found {plan.year}"
        return
    if any(one.year == plan.year and one.corrects is None for one in part.earlier if one.year is not None):
        yield f"expected one release of {plan.year}, found an earlier one"
    if any(one.year is None for one in part.earlier):
        yield "expected the year of every earlier release, found one without"
        return
    most = horizon.most(plan.year, plan.again)
    if not (Fraction(own.epsilon_exact) <= most and Fraction(own.delta_exact) <= horizon.delta):
        yield f"expected a release of {plan.year} that costs epsilon {most} at most, as planned, found {own.epsilon_exact}"
    if plan.records_in_year != min(own.person.records, plan.records_in_all):
        yield f"expected {own.person.records} records of a person in a year, as guaranteed, found {plan.records_in_year}"
    if plan != years_part(YearOfSeries(horizon=horizon, year=plan.year, again=plan.again), part.earlier, document):
        yield "expected what is promised, and paid so far, to follow from the plan and the named releases, found others"


def _released_priors(document: ReleaseDocument) -> Iterator[str]:
    """The digests of the earlier releases that the generator started from."""
    prior = document.configuration.get("generator", {}).get(PRIOR)
    if isinstance(prior, dict) and isinstance(prior.get("release"), str):
        yield prior["release"].removeprefix(BY_DIGEST)


def _not_corrected(document: ReleaseDocument, table: ReleasedTable, old: ReleaseDocument, files: Files) -> Iterator[str]:
    """What shows that this is no erratum of a release, but another one, which would have spent."""
    for name in ("specification", "n_rows", "guarantee", "charges", "criteria", "configuration", "columns"):
        if getattr(document, name) != getattr(old, name):
            yield f"expected the same {name} in an erratum, found another"
            return
    try:
        rows = read_csv(files.content(old.csv), old.shape, files.content(old.tables[0][1]))
    except TableError as error:
        yield f"{old.csv}: {error}"
        return
    if not rows.counts.same_as(table.counts):
        yield f"{old.csv}: expected the same rows in an erratum, found others"


VERIFYING = SeriesVerifying()
