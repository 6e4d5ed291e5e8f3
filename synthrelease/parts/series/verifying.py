"""Earlier releases of the same register: the sum that is stated, and what is said of each, against the releases themselves."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.errors import InputError
from synthrelease.parts.series.published import SeriesPart
from synthrelease.parts.series.summing import earlier_part, read, total
from synthrelease.published.checksums import sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.files import Files
from synthrelease.published.lines import TableError
from synthrelease.published.table import ReleasedTable, read_csv
from synthrelease.verification.part import KnownFiles, Verifying


class SeriesVerifying(Verifying[object, SeriesPart]):
    """The sum for a person follows from what is listed; what is listed follows from the releases that were given."""

    def beyond(self, part: SeriesPart) -> str:
        """Other releases."""
        return "that there are no releases of the same register but those that are named"

    def found(self, part: SeriesPart, known: KnownFiles) -> str:
        """The sum, and how many of the releases were looked at."""
        looked = f"{len(known.earlier)} of {len(part.earlier) + (part.corrects is not None)} other releases looked at"
        of_all = (
            "nothing is promised to a person" if part.total_epsilon_exact is None else f"epsilon {part.total_epsilon_exact}"
        )
        return f"{part.name}: {of_all} for a person in all; {looked}"

    def problems(self, document: ReleaseDocument, part: SeriesPart, known: KnownFiles) -> Iterator[str]:
        """Of the sum, and of each release that was given."""
        sums = total(part.earlier, part.corrects, document.guarantee.person)
        if sums != (part.total_epsilon_exact, part.total_delta_exact):
            yield f"release.json: series: expected {sums[0]} and {sums[1]} as the sum, found others"
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
