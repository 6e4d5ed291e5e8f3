"""datapackage.json: the schema for tools that read Frictionless data packages (version 1; valid as version 2 as well)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from synthrelease.bundle.names import describe_file
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.toml.card import LICENCES, is_email


def datapackage_bytes(document: ReleaseDocument, sizes: Mapping[str, int]) -> bytes:
    """datapackage.json. `sizes` are the lengths of the data files in bytes."""
    card = document.card
    package: dict[str, Any] = {
        "name": slug(document),
        "title": card.title or document.title,
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
    stem, _, ending = name.rpartition(".")
    resource: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        "path": name,
        "description": describe_file(name),
        "format": ending,
        "mediatype": {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}.get(
            ending, "application/octet-stream"
        ),
        "hash": f"sha256:{document.files[name]}",
    }
    if name in ("data.csv", "data.parquet"):  # without a schema a reader would guess it from the first rows
        resource |= {
            "profile": "tabular-data-resource",
            "schema": {"fields": [_field(column) for column in document.columns], "missingValues": []},
        }
    if name == "data.csv":
        resource |= {
            "bytes": size,  # frictionless 5.21 takes it for a mistake elsewhere: it does not count the bytes of Parquet files
            "encoding": "utf-8",
            "dialect": {"delimiter": ",", "lineTerminator": "\n", "header": True},
        }
    return resource


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
