"""Which files a bundle has, by their names: a function of release.json, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthrelease.parts import each
from synthrelease.published import associations
from synthrelease.published import base as checksums
from synthrelease.published import base as signatures
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.published.naming import FileKind, FurtherNames
from synthrelease.settings.tables import BundleTable

STEM = "estimates"
"""What the files with estimates are called before their ending."""


def namings() -> Mapping[str, FurtherNames]:
    """The files of each option that is a list in [bundle], by its name."""
    return each("naming")


def kind_of(name: str) -> FileKind | None:
    """Of a file with rows that a list in [bundle] asks for, its kind; None for another file."""
    kinds = (kind for naming in namings().values() for kind in naming.with_rows.values())
    return next((kind for kind in kinds if name.endswith(f".{kind.ending}")), None)


def kinds_of_rows(bundle: BundleTable) -> list[FileKind]:
    """The kinds of files with rows that the lists ask for."""
    return [kind for name, chosen in bundle.chosen.items() for kind in namings()[name].rows_of(chosen)]


def further_names(bundle: BundleTable) -> list[str]:
    """The documents that the lists ask for."""
    return [
        document
        for name, chosen in bundle.chosen.items()
        for one, documents in namings()[name].documents.items()
        if one in chosen
        for document in documents
    ]


def page_name(document: ReleaseDocument, language: str) -> str:
    """README.html in the card's own language, README.he.html and so on in others."""
    return "README.html" if language == document.card.language else f"README.{language}.html"


def documents(document: ReleaseDocument) -> list[str]:
    """The files that follow from release.json and the table."""
    pages = [page_name(document, language) for language in document.card.languages]
    sheets = ["QUESTIONS.md"] if f"{STEM}.csv" in document.files else []
    sheets += [] if document.format == BEFORE else ["SIGN.md"]
    further = further_names(document.bundle)
    cited = ["deployment.yaml", "CITATION.cff", associations.NAME]
    return ["datapackage.json", *further, *cited, *pages, *sheets, "README.md"]


def possible_data(document: ReleaseDocument) -> Iterator[str]:
    """The files with rows or numbers that a release of this kind can have."""
    kinds = [kind.ending for kind in kinds_of_rows(document.bundle)]
    for table in document.table_files:
        yield from (table.named(ending) for ending in ("csv", "parquet", *kinds))
    for part in document.parts.values():
        yield from part.file_names(document.bundle)
    if document.estimates is not None:
        yield from (f"{STEM}.{ending}" for ending in ("csv", *kinds))
    yield MEASUREMENTS


def possible_names(document: ReleaseDocument) -> set[str]:
    """Every file that its bundle can have, but for the published specification."""
    sealed = (checksums.NAME, signatures.SIGNATURE, signatures.PUBLIC_KEY)
    data = {name for name in possible_data(document) if name in document.files}
    return {*data, "release.json", *documents(document), *sealed}
