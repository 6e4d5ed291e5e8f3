"""datapackage.json: the schema for tools that read Frictionless data packages (version 1; valid as version 2 as well)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from synthrelease.bundle.names import describe_file
from synthrelease.bundle.options import resource as resource_of_an_option
from synthrelease.bundle.titles import labelled_title
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import kind_of
from synthrelease.published.table import TableFile
from synthrelease.settings.card import LICENCES, is_email
from synthrelease.settings.tables import SYNTHETIC

MEDIA_TYPES = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
"""By the ending of a file; options have further ones."""


def datapackage_bytes(document: ReleaseDocument, sizes: Mapping[str, int]) -> bytes:
    """datapackage.json. `sizes` are the lengths of the data files in bytes."""
    card = document.card
    package: dict[str, Any] = {
        "name": slug(document),
        "title": labelled_title(document),
        "description": card.summary or document.description,
        "version": card.version,
        "created": f"{card.published.isoformat()}T00:00:00Z",
        "licenses": _licences(document),
        "contributors": _contributors(document),
        "sources": [{"title": "Original records, not published", "description": card.source}] if card.source else [],
        "homepage": card.url,
        "resources": [_resource(document, name, sizes[name]) for name in sorted(document.files)],
    }
    kept = {name: value for name, value in package.items() if value not in ("", [])}
    return (json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def slug(document: ReleaseDocument) -> str:
    """A name out of small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", (document.card.title or document.title).lower()).strip("-")
    return f"{name or 'release'}-{re.sub('[^a-z0-9]+', '-', document.card.version.lower()).strip('-') or '1'}"


def _licences(document: ReleaseDocument) -> list[dict[str, str]]:
    card = document.card
    if card.licence in LICENCES:
        title, address = LICENCES[card.licence]
        return [{"name": card.licence, "title": title, "path": address}]
    return [{"title": card.licence, "path": card.licence_url}] if card.licence and card.licence_url else []


def _contributors(document: ReleaseDocument) -> list[dict[str, str]]:
    card = document.card
    if not card.organisation:
        return []
    reached = {} if not card.contact else {"email" if is_email(card.contact) else "path": card.contact}
    return [{"title": card.organisation, "role": "publisher", **reached}]


def _resource(document: ReleaseDocument, name: str, size: int) -> dict[str, Any]:
    ending = name.rpartition(".")[2]
    resource: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        "path": name,
        "description": describe_file(name),
        "format": ending if (kind := kind_of(name)) is None else kind.format,
        "mediatype": media_type(name),
        "hash": f"sha256:{document.files[name]}",
    }
    table = next((one for one in document.table_files if name in (one.named("csv"), one.named("parquet"))), None)
    if table is not None:  # without a schema a reader would guess it from the first rows
        resource |= {"profile": "tabular-data-resource", "schema": _schema(document, table)}
    resource |= resource_of_an_option(
        document,
        name,
        {
            "profile": "tabular-data-resource",
            "schema": {"fields": [*map(_field, document.columns), *_marks(document)], "missingValues": []},
            "bytes": size,
            "encoding": "utf-8",
            "dialect": {"delimiter": ",", "lineTerminator": "\n", "header": True},
        },
    )
    if table is not None and name.endswith(".csv"):
        resource |= {
            "bytes": size,  # frictionless 5.21 takes it for a mistake elsewhere: it does not count the bytes of Parquet files
            "encoding": "utf-8",
            "dialect": {"delimiter": ",", "lineTerminator": "\n", "header": True},
        }
    return resource


_MARK = {
    "name": SYNTHETIC,
    "type": "integer",
    "description": "1 in every row: the row is synthetic.",
    "constraints": {"required": True, "enum": [1]},
}


def media_type(name: str) -> str:
    """The media type of a file of a bundle."""
    kind = kind_of(name)
    return MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream") if kind is None else kind.media_type


def _marks(document: ReleaseDocument) -> list[dict[str, Any]]:
    return [_MARK] if document.bundle.synthetic_column else []


def _schema(document: ReleaseDocument, table: TableFile) -> dict[str, Any]:
    """Fields and keys: each member has the key of its root."""
    schema: dict[str, Any] = {"fields": _fields(document, table), "missingValues": []}
    if table.of_members:
        roots = re.sub(r"[^a-z0-9]+", "-", document.csv.lower()).strip("-")
        schema["foreignKeys"] = [{"fields": [table.key], "reference": {"resource": roots, "fields": [table.key]}}]
    elif table.key:
        schema["primaryKey"] = [table.key]
    return schema


def _fields(document: ReleaseDocument, table: TableFile) -> list[dict[str, Any]]:
    fields = [_field(column) for column in table.columns]
    if table.key:
        said = "the row that this member belongs to" if table.of_members else "this row, from 1; it is in no other file"
        constraints = {"required": True, "minimum": 1} | ({} if table.of_members else {"unique": True})
        fields = [
            {"name": table.key, "type": "integer", "description": f"Number of {said}.", "constraints": constraints},
            *fields,
        ]
    mark = _marks(document)
    if (found := document.weights_column) is None or table.of_members:
        return fields + mark
    limits = {"minimum": found.smallest, "maximum": found.largest}
    described = f"For how many a row stands. Raked to: {found.source}"
    return [
        *fields,
        {"name": WEIGHT, "type": "number", "description": described, "constraints": {"required": True, **limits}},
        *mark,
    ]


def _field(column: ColumnPart) -> dict[str, Any]:
    described = f"{column.description} Unit: {column.unit}." if column.unit else column.description
    missing = [one.label for one in column.bins if one.missing]
    described += "".join(f" {label!r} stands for a missing value." for label in missing)
    field = {
        "name": column.name,
        "type": "string",
        "description": described.strip(),
        "constraints": {"required": not missing, "enum": list(column.labels)},  # version 1 knows no missing values of a field
        "categories": [one.label for one in column.bins if not one.missing],
        "categoriesOrdered": column.ordered,
        "missingValues": missing,
    }
    return {name: value for name, value in field.items() if value not in ("", [])}
