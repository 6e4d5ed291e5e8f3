"""The files of a bundle and what each is for."""

from __future__ import annotations

from synthrelease.bundle import checksums, imputing, measurements, signing
from synthrelease.published.document import ReleaseDocument

FILES = {
    "data.csv": "the released rows: bin labels, UTF-8, one header line",
    "data.parquet": "the same rows for programs: every column a dictionary of all its labels, ordered where the bins are",
    imputing.NAME: "complete copies of the rows (.imp), by the row of data.csv (.id), with the columns that were filled in",
    measurements.NAME: "the noisy marginals that the rows were made from, with their noise, where they are published",
    "release.json": "the guarantee, the charges, every released figure, the schema, the rules and the publisher's texts",
    "datapackage.json": "the same schema as a Frictionless data package",
    "deployment.yaml": "an entry for OpenDP's registry of deployments",
    "CITATION.cff": "how to cite the data",
    "README.html": "this card as a page",
    "README.md": "this card as plain text",
    checksums.NAME: "the SHA-256 checksum of every file",
    signing.SIGNATURE: "the publisher's signature of the checksums, where the bundle is signed",
    signing.PUBLIC_KEY: "the key that checks the signature, where the bundle is signed",
}


def page_name(document: ReleaseDocument, language: str) -> str:
    """README.html in the card's own language, README.he.html and so on in others."""
    return "README.html" if language == document.card.language else f"README.{language}.html"


def data_files(document: ReleaseDocument) -> list[str]:
    """The files whose checksums stand in release.json: the table, and whatever else was released."""
    return sorted(document.files)


def documents(document: ReleaseDocument) -> list[str]:
    """The files that follow from release.json and the table."""
    pages = [page_name(document, language) for language in document.card.languages]
    return ["datapackage.json", "deployment.yaml", "CITATION.cff", *pages, "README.md"]


def file_lines(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Every file that a bundle can have, with what it is for."""
    signed = [checksums.NAME, signing.SIGNATURE, signing.PUBLIC_KEY]
    return [(name, describe_file(name)) for name in [*data_files(document), "release.json", *documents(document), *signed]]


def describe_file(name: str) -> str:
    """What a file is for, in a line."""
    if name.startswith("README.") and name not in FILES:
        return "the part of this card for everyone, in another language"
    return FILES.get(name, "a further file of this release")
