"""The names of the files of a bundle: a function of release.json, whatever version wrote them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from synthrelease.published.base import CHECKSUMS, PUBLIC_KEY, SIGNATURE
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.settings.tables import BundleTable


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A kind of file that holds all rows.

    Attributes
    ----------
    ending : of the name, without its point.
    format : what datapackage.json calls it.
    """

    ending: str
    media_type: str
    format: str


@dataclass(frozen=True, kw_only=True)
class FurtherNames:
    """The files that a list in [bundle] asks for.

    Attributes
    ----------
    words : what each is for, in a line, by the plain name.
    with_rows : by the name in the list, the kind of the files that hold rows. Their checksums stand in release.json.
    documents : by the name in the list, the files that follow from release.json and the table.
    packages : by the name in the list, the library that writes what it asks for.
    extra : of the program, which brings these libraries.
    """

    words: Mapping[str, str]
    with_rows: Mapping[str, FileKind] = field(default_factory=dict)
    documents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def rows_of(self, chosen: Collection[str]) -> list[FileKind]:
        """Return the kinds of files with rows that were chosen."""
        return [kind for name, kind in self.with_rows.items() if name in chosen]


FORMATS = FurtherNames(
    words={
        "members.dta": "the same members for Stata 14 and later, with the key of their root",
        "members.sav": "the same members for SPSS and SAS, with the key of their root",
        "data.dta": "the same rows for Stata 14 and later: numbers of bins with value labels, .a where a value is missing",
        "data.sav": "the same rows for SPSS and SAS: numbers of bins with value labels, -1 where a value is missing",
        "read.R": "a script for R: the rows as factors with their labels, the numbers of bins, and the released figures",
        "read.do": "a script for Stata: adds the numbers of bins to the file for Stata, and the released figures",
        "estimates.dta": "the same estimates for Stata 14 and later",
        "estimates.sav": "the same estimates for SPSS and SAS",
    },
    with_rows={
        "stata": FileKind(ending="dta", media_type="application/x-stata-dta", format="stata"),
        # of a format called "sav" frictionless wants to read the rows itself, with a library of its own
        "spss": FileKind(ending="sav", media_type="application/x-spss-sav", format="spss"),
    },
    documents={"r": ("read.R",), "stata": ("read.do",)},
    packages={"stata": "pyreadstat", "spss": "pyreadstat"},
    extra="formats",
)


CATALOGUES = FurtherNames(
    words={
        "dcat.jsonld": "an entry for catalogues of data: DCAT-AP 3 with the fields of HealthDCAT-AP, as JSON-LD",
        "dcat.ttl": "the same entry as Turtle",
        "croissant.json": "the same schema for tools of machine learning: Croissant 1.0",
        "ddi.xml": "a codebook for archives: DDI-Codebook 2.5, with the frequencies of all categories",
    },
    documents={"dcat": ("dcat.jsonld", "dcat.ttl"), "croissant": ("croissant.json",), "ddi": ("ddi.xml",)},
    packages={"dcat": "rdflib"},
    extra="catalogue",
)


ASSOCIATIONS = "associations.csv"
STEM = "estimates"
"""Names of the files with estimates, without their endings."""


def namings() -> Mapping[str, FurtherNames]:
    """Return the files of each list in [bundle], by its name."""
    return {"formats": FORMATS, "catalogues": CATALOGUES}


def kind_of(name: str) -> FileKind | None:
    """Return the kind of a file with rows that a list in [bundle] asks for; None for another file."""
    kinds = (kind for naming in namings().values() for kind in naming.with_rows.values())
    return next((kind for kind in kinds if name.endswith(f".{kind.ending}")), None)


def kinds_of_rows(bundle: BundleTable) -> list[FileKind]:
    """Return the kinds of files with rows that the lists ask for."""
    return [kind for name, chosen in bundle.chosen.items() for kind in namings()[name].rows_of(chosen)]


def further_names(bundle: BundleTable) -> list[str]:
    """Return the documents that the lists ask for."""
    return [
        document
        for name, chosen in bundle.chosen.items()
        for choice, documents in namings()[name].documents.items()
        if choice in chosen
        for document in documents
    ]


def packages(bundle: BundleTable) -> list[str]:
    """Return the libraries that write the requested formats, each once."""
    choices = [(namings()[name].packages, choice) for name, chosen in bundle.chosen.items() for choice in chosen]
    return list(dict.fromkeys(packages[choice] for packages, choice in choices if choice in packages))


def page_name(document: ReleaseDocument, language: str) -> str:
    """Return README.html for the card's own language, README.he.html and so on for others."""
    return "README.html" if language == document.card.language else f"README.{language}.html"


def ask_name(document: ReleaseDocument, language: str) -> str:
    """Return ask.html for the card's own language, ask.he.html and so on for others: the page that answers questions."""
    return "ask.html" if language == document.card.language else f"ask.{language}.html"


def has_ask_page(document: ReleaseDocument) -> bool:
    """Return whether the folder has a page that answers questions: where noisy tables with a known noise are published."""
    return document.estimates is not None and MEASUREMENTS in document.files


def documents(document: ReleaseDocument) -> list[str]:
    """Return the files that follow from release.json and the table."""
    pages = [page_name(document, language) for language in document.card.languages]
    pages += [ask_name(document, language) for language in document.card.languages] if has_ask_page(document) else []
    sheets = ["QUESTIONS.md"] if f"{STEM}.csv" in document.files else []
    sheets += [] if document.format == BEFORE else ["SIGN.md"]
    cited = ["deployment.yaml", "CITATION.cff", ASSOCIATIONS]
    return ["datapackage.json", *further_names(document.bundle), *cited, *pages, *sheets, "README.md"]


def not_yet_written(document: ReleaseDocument) -> dict[str, str]:
    """Return the files that versions before did not write, so that nobody misses them, each with the sentence that says so."""
    without = {"SIGN.md"} if document.format == BEFORE else set[str]()
    if document.first_documents:
        without |= {ASSOCIATIONS, *(ask_name(document, language) for language in document.card.languages)} & {
            *documents(document)
        }
    return {name: f"There is no {name}: documents of version {document.written_by} have none." for name in sorted(without)}


def promised_tables(document: ReleaseDocument) -> list[str]:
    """Return the files of all rows, of roots and of members, in every format that release.json promises."""
    endings = ["csv", "parquet", *(kind.ending for kind in kinds_of_rows(document.bundle))]
    return [table.named(ending) for table in document.table_files for ending in endings]


def possible_data(document: ReleaseDocument) -> Iterator[str]:
    """Yield the files with rows or numbers that a release of this kind can have."""
    yield from promised_tables(document)
    if document.imputation is not None and not document.imputation.failed:
        yield document.imputation.file(document.bundle)
    if document.estimates is not None:
        yield from (f"{STEM}.{ending}" for ending in ("csv", *(kind.ending for kind in kinds_of_rows(document.bundle))))
    yield MEASUREMENTS


def possible_names(document: ReleaseDocument) -> set[str]:
    """Return every file that its bundle can have, but for the published specification."""
    data = {name for name in possible_data(document) if name in document.files}
    return {*data, "release.json", *documents(document), CHECKSUMS, SIGNATURE, PUBLIC_KEY}
