"""The files of a bundle and what each is for."""

from __future__ import annotations

from synthrelease.bundle.options import file_words
from synthrelease.published import associations, measurements
from synthrelease.published import base as checksums
from synthrelease.published import base as signatures
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import documents
from synthrelease.spec import canonical

FILES = {
    "data.csv": "the released rows: bin labels, UTF-8, one header line",
    "data.parquet": "the same rows for programs: every column a dictionary of all its labels, ordered where the bins are",
    "members.csv": "the members of the rows, with the key of their root: bin labels, UTF-8, one header line",
    "members.parquet": "the same members for programs, as the rows",
    measurements.NAME: "the noisy marginals that the rows were made from, with their noise, where they are published",
    "estimates.csv": "shares, means, counts and intended questions with intervals, from the published noisy marginals",
    associations.NAME: "which pairs of columns, and which three columns at once, the rows carry the association of, and why",
    "release.json": "the guarantee, the charges, every released figure, the schema, the rules and the publisher's texts",
    canonical.NAME: "what was fixed before the private file was read: the text whose digest is that of the specification",
    "datapackage.json": "the same schema as a Frictionless data package",
    "deployment.yaml": "an entry for OpenDP's registry of deployments",
    "CITATION.cff": "how to cite the data",
    "QUESTIONS.md": "questions in R, Python and, where names allow it, Stata: code for these files, with intervals",
    "SIGN.md": "the claim in a sentence and eight checks with commands and what to expect, for whoever signs the release off",
    "README.html": "this card as a page",
    "README.md": "this card as plain text",
    checksums.NAME: "the SHA-256 checksum of every file",
    signatures.SIGNATURE: "the publisher's signature of the checksums, where the bundle is signed",
    signatures.PUBLIC_KEY: "the key that checks the signature, where the bundle is signed",
}


def data_files(document: ReleaseDocument) -> list[str]:
    """The files whose checksums stand in release.json: the table, and whatever else was released."""
    return sorted(document.files)


def file_lines(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Every file that a bundle can have, with what it is for."""
    signed = [checksums.NAME, signatures.SIGNATURE, signatures.PUBLIC_KEY]
    return [
        (name, describe_file(name))
        for name in [*data_files(document), "release.json", canonical.NAME, *documents(document), *signed]
    ]


def describe_file(name: str) -> str:
    """What a file is for, in a line."""
    if name.startswith("README.") and name not in FILES:
        return "the part of this card for everyone, in another language"
    return {**FILES, **file_words()}.get(name.removeprefix("synthetic-"), "a further file of this release")
