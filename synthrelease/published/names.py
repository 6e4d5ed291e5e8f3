"""Name the files of a bundle, for a release of any version, from release.json alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from synthrelease.published.base import CHECKSUMS, PUBLIC_KEY, SIGNATURE
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.settings.tables import BundleTable


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A file format in which a release can publish all its rows, such as the format of Stata.

    Attributes
    ----------
    ending : the extension of the file name, without the dot.
    format : the name of the format in datapackage.json.
    """

    ending: str
    media_type: str
    format: str


@dataclass(frozen=True, kw_only=True)
class FurtherNames:
    """The additional files that one list of [bundle], such as `formats`, can request. An entry of the list is, for example,
    "stata".

    Attributes
    ----------
    words : the purpose of each file in one line, by the name of the file.
    with_rows : for some entries, the format of the files with rows. Their checksums are in release.json.
    documents : for some entries, the names of the files that can be computed from release.json and the table.
    packages : for each entry of the list, the library that writes the files.
    extra : the optional dependency group ("extra") of synthrelease that installs these libraries.
    """

    words: Mapping[str, str]
    with_rows: Mapping[str, FileKind] = field(default_factory=dict)
    documents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def rows_of(self, chosen: Collection[str]) -> list[FileKind]:
        return [kind for name, kind in self.with_rows.items() if name in chosen]


FORMATS = FurtherNames(
    words={
        "members.dta": "the same members for Stata 14 and later, with the key of their root",
        "members.sav": "the same members for SPSS and SAS, with the key of their root",
        "data.dta": "the same rows for Stata 14 and later: bins are numbered and have value labels; .a is a missing value",
        "data.sav": "the same rows for SPSS and SAS: bins are numbered and have value labels; -1 is a missing value",
        "read.R": "a script for R: reads the rows as factors, the representative values of bins, and the criterion values",
        "read.do": "a script for Stata: adds the representative values of bins to data.dta, and shows the criterion values",
        "estimates.dta": "the same estimates for Stata 14 and later",
        "estimates.sav": "the same estimates for SPSS and SAS",
    },
    with_rows={
        "stata": FileKind(ending="dta", media_type="application/x-stata-dta", format="stata"),
        # frictionless would read the rows of a file in the format "sav" itself, with another library
        "spss": FileKind(ending="sav", media_type="application/x-spss-sav", format="spss"),
    },
    documents={"r": ("read.R",), "stata": ("read.do",)},
    packages={"stata": "pyreadstat", "spss": "pyreadstat"},
    extra="formats",
)


CATALOGUES = FurtherNames(
    words={
        "dcat.jsonld": "an entry for data catalogues (DCAT-AP 3 with the fields of HealthDCAT-AP, as JSON-LD)",
        "dcat.ttl": "the same entry as Turtle",
        "croissant.json": "the schema of the columns for machine learning tools (Croissant 1.0)",
        "ddi.xml": "a codebook for archives, with the frequencies of all categories (DDI-Codebook 2.5)",
    },
    documents={"dcat": ("dcat.jsonld", "dcat.ttl"), "croissant": ("croissant.json",), "ddi": ("ddi.xml",)},
    packages={"dcat": "rdflib"},
    extra="catalogue",
)


ASSOCIATIONS = "associations.csv"
STEM = "estimates"
"""The file name of the estimates, without its ending."""


def namings() -> Mapping[str, FurtherNames]:
    """Return the additional files for the two lists "formats" and "catalogues" of [bundle]."""
    return {"formats": FORMATS, "catalogues": CATALOGUES}


def kind_of(name: str) -> FileKind | None:
    """Return the additional format (Stata or SPSS) of a file by the ending of its name, or None."""
    kinds = (kind for naming in namings().values() for kind in naming.with_rows.values())
    return next((kind for kind in kinds if name.endswith(f".{kind.ending}")), None)


def kinds_of_rows(bundle: BundleTable) -> list[FileKind]:
    return [kind for name, chosen in bundle.chosen.items() for kind in namings()[name].rows_of(chosen)]


def further_names(bundle: BundleTable) -> list[str]:
    return [
        document
        for name, chosen in bundle.chosen.items()
        for choice, documents in namings()[name].documents.items()
        if choice in chosen
        for document in documents
    ]


def packages(bundle: BundleTable) -> list[str]:
    choices = [(namings()[name].packages, choice) for name, chosen in bundle.chosen.items() for choice in chosen]
    return list(dict.fromkeys(packages[choice] for packages, choice in choices if choice in packages))


def page_name(document: ReleaseDocument, language: str) -> str:
    """Return the file name of the card: README.html in its main language, README.he.html and so on in others."""
    return "README.html" if language == document.card.language else f"README.{language}.html"


def ask_name(document: ReleaseDocument, language: str) -> str:
    """Return the file name of the page that answers questions: ask.html in the card's main language, ask.he.html and so on
    in others.
    """
    return "ask.html" if language == document.card.language else f"ask.{language}.html"


def has_ask_page(document: ReleaseDocument) -> bool:
    return document.estimates is not None and MEASUREMENTS in document.files


def documents(document: ReleaseDocument) -> list[str]:
    """Return the names of the documents that can be computed from release.json and the table."""
    pages = [page_name(document, language) for language in document.card.languages]
    pages += [ask_name(document, language) for language in document.card.languages] if has_ask_page(document) else []
    sheets = ["QUESTIONS.md"] if f"{STEM}.csv" in document.files else []
    sheets += [] if document.format == BEFORE else ["SIGN.md"]
    cited = ["deployment.yaml", "CITATION.cff", ASSOCIATIONS]
    return ["datapackage.json", *further_names(document.bundle), *cited, *pages, *sheets, "README.md"]


def not_yet_written(document: ReleaseDocument) -> dict[str, str]:
    """Return the files that are missing only because an older version wrote this release, each with a sentence that says so."""
    without = {"SIGN.md"} if document.format == BEFORE else set[str]()
    if document.first_documents:
        later = {ASSOCIATIONS, *(ask_name(document, language) for language in document.card.languages)}
        without |= later.intersection(documents(document))
    return {name: f"There is no {name}, because version {document.written_by} did not write it." for name in sorted(without)}


def promised_tables(document: ReleaseDocument) -> list[str]:
    """Return the files that contain all rows, in every format that release.json lists."""
    endings = ["csv", "parquet", *(kind.ending for kind in kinds_of_rows(document.bundle))]
    return [table.named(ending) for table in document.table_files for ending in endings]


def possible_data(document: ReleaseDocument) -> Iterator[str]:
    """Yield the names of all files with rows or numbers that this release may have."""
    yield from promised_tables(document)
    if document.imputation is not None and not document.imputation.failed:
        yield document.imputation.file(document.bundle)
    if document.estimates is not None:
        yield from (f"{STEM}.{ending}" for ending in ("csv", *(kind.ending for kind in kinds_of_rows(document.bundle))))
    yield MEASUREMENTS


def possible_names(document: ReleaseDocument) -> set[str]:
    data = {name for name in possible_data(document) if name in document.files}
    return {*data, "release.json", *documents(document), CHECKSUMS, SIGNATURE, PUBLIC_KEY}
