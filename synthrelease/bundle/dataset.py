"""Describe a released dataset with its publisher, files and columns, for all catalogue entries."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from synthrelease.bundle.card.numbers import labelled_title
from synthrelease.data.weights import WEIGHT
from synthrelease.published.base import CHECKSUMS, PUBLIC_KEY, SIGNATURE
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import documents, kind_of, namings
from synthrelease.published.table import TableFile
from synthrelease.settings.card import LICENCES, CardTable, is_email
from synthrelease.settings.tables import SYNTHETIC
from synthrelease.spec import canonical

KEYWORDS = ("synthetic data", "differential privacy")


def with_something(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the entries that are empty or None."""
    return {name: value for name, value in entries.items() if value not in (None, "", [], {})}


@dataclass(frozen=True, kw_only=True)
class Licence:
    """The licence of the data.

    Attributes
    ----------
    name : SPDX identifier of the licence, or empty if the publisher describes it in words.
    title, address : the name and the web address of the licence, or empty.
    """

    name: str
    title: str
    address: str

    @classmethod
    def of(cls, card: CardTable) -> Licence:
        if card.licence in LICENCES:
            title, address = LICENCES[card.licence]
            return cls(name=card.licence, title=title, address=address)
        return cls(name="", title=card.licence, address=card.licence_url)


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file with rows or numbers, whose checksum is in release.json.

    Attributes
    ----------
    format : the name of the format in datapackage.json.
    size : the size of the file in bytes.
    """

    name: str
    description: str
    ending: str
    format: str
    media_type: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column of a table.

    Attributes
    ----------
    kind : "bins" for a column of the schema, or "key" (of a root), "weight" (of a row) or "mark" (the column `synthetic`).
    label : a short description.
    column : the column of the schema, or None for the other kinds.
    """

    name: str
    kind: Literal["key", "bins", "weight", "mark"]
    label: str
    column: ColumnPart | None = None


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table as data catalogues describe it: all rows, only the roots, or only the members of linked tables.

    Attributes
    ----------
    files : the files that contain the table.
    fields : the columns of the table in order.
    """

    file: TableFile
    files: tuple[DataFile, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The description of a release for data catalogues.

    Attributes
    ----------
    title : the publisher's title, which says that the data are synthetic.
    slug : a name of lower-case letters, digits and hyphens.
    identifier : the digest of release.json, written as a name (RFC 6920), which does not change with the address.
    address : the web address of the release or, if the publisher states none, the identifier.
    summary : the publisher's summary, or the description in the configuration; may be empty.
    provenance : where the original records come from, and how the synthetic rows were made.
    card : the table [card] of the configuration, with all texts of the publisher.
    """

    title: str
    slug: str
    identifier: str
    address: str
    summary: str
    description: str
    provenance: str
    keywords: tuple[str, ...]
    licence: Licence
    card: CardTable
    files: tuple[DataFile, ...]
    tables: tuple[DataTable, ...]

    @classmethod
    def of(cls, document: ReleaseDocument, sizes: Mapping[str, int] | None = None) -> Dataset:
        """Collect the facts for data catalogues from release.json.

        Parameters
        ----------
        sizes : the sizes of the data files in bytes, by file name, if the catalogue entry states sizes.
        """
        card, checksums = document.card, sorted(document.files.items())
        files = tuple(_data_file(name, digest, (sizes or {}).get(name, 0)) for name, digest in checksums)
        digest = base64.urlsafe_b64encode(hashlib.sha256(document.dumped()).digest()).decode("ascii").rstrip("=")
        summary = card.summary or document.description
        return cls(
            title=labelled_title(document),
            slug=slug(document),
            identifier=f"ni:///sha-256;{digest}",
            address=card.url or f"ni:///sha-256;{digest}",
            summary=summary,
            description=summary or document.title,
            provenance=_provenance(document),
            keywords=tuple(dict.fromkeys([*card.catalogue.keywords, *KEYWORDS])),
            licence=Licence.of(card),
            card=card,
            files=files,
            tables=tuple(
                DataTable(
                    file=file,
                    files=tuple(held for held in files if held.name.startswith(f"{file.stem}.")),
                    fields=tuple(_fields(document, file)),
                )
                for file in document.table_files
            ),
        )

    @property
    def day(self) -> str:
        return self.card.published.isoformat()

    def reached(self, by_email: str, otherwise: str) -> dict[str, str]:
        """Return the publisher's contact under the key `by_email` (an e-mail address) or `otherwise` (a web address), or an
        empty dict.
        """
        contact = self.card.contact
        return {by_email if is_email(contact) else otherwise: contact} if contact else {}

    def part(self, name: str) -> str:
        return f"{self.address.partition('#')[0]}#{name}"


def slug(document: ReleaseDocument) -> str:
    name = plain_name(document.card.title or document.title)
    return f"{name or 'release'}-{plain_name(document.card.version) or '1'}"


def plain_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _provenance(document: ReleaseDocument) -> str:
    guarantee = document.guarantee
    delta = "" if guarantee.delta_exact == "0" else f", delta = {guarantee.delta:g}"
    sentence = (
        f"synthrelease {document.written_by} made these synthetic rows with differential privacy (epsilon = "
        f"{guarantee.epsilon:g}{delta}; neighbouring files differ in one {guarantee.person.unit}). No row is a person."
    )
    return f"{document.card.source} {sentence}".strip()


def _fields(document: ReleaseDocument, file: TableFile) -> Iterator[Field]:
    if file.key:
        yield Field(name=file.key, kind="key", label="Number of the root, which links the two tables")
    for column in file.columns:
        label = document.card.columns.get(column.name) or column.description or column.name
        yield Field(name=column.name, kind="bins", label=label, column=column)
    if document.weighted and not file.of_members:
        yield Field(name=WEIGHT, kind="weight", label="Weight: number of records that a row represents")
    if document.bundle.synthetic_column:
        yield Field(name=SYNTHETIC, kind="mark", label="Synthetic data: 1 in every row")


# The files of a bundle, and the purpose of each file.

# Media types by the endings of files. The formats of [bundle] have further media types.
_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}


def _data_file(name: str, sha256: str, size: int) -> DataFile:
    ending, kind = name.rpartition(".")[2], kind_of(name)
    return DataFile(
        name=name,
        description=describe_file(name),
        ending=ending,
        format=ending if kind is None else kind.format,
        media_type=_MEDIA_TYPES.get(ending, "application/octet-stream") if kind is None else kind.media_type,
        size=size,
        sha256=sha256,
    )


WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
"""The purpose of each file, and the labels of the columns of estimates.csv."""


def file_lines(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Return the name and purpose of every file that a bundle of this release may contain."""
    fixed, signed = ("release.json", canonical.NAME), (CHECKSUMS, SIGNATURE, PUBLIC_KEY)
    return [(name, describe_file(name)) for name in (*sorted(document.files), *fixed, *documents(document), *signed)]


def describe_file(name: str) -> str:
    for page, words in (("README.", "this data card as a web page"), ("ask.", "the page that answers questions")):
        if name.startswith(page) and name not in WORDS["files"]:
            return f"{words}, in another language"
    further = {plain: words for naming in namings().values() for plain, words in naming.words.items()}
    return {**WORDS["files"], **further}.get(name.removeprefix("synthetic-"), "a further file of this release")
