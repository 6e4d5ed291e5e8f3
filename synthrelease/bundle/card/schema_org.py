"""The card's head for search engines: a schema.org Dataset as JSON-LD."""

from __future__ import annotations

import json
from typing import Any

from synthrelease.bundle.datapackage import media_type
from synthrelease.bundle.identity import description, identifier, keywords, licence_address, provenance
from synthrelease.bundle.titles import labelled_title
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.card import is_email


def search_engines(document: ReleaseDocument) -> str:
    """The text of a script element: no sign in it can end the element."""
    text = json.dumps(_dataset(document), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _dataset(document: ReleaseDocument) -> dict[str, Any]:
    card, stated = document.card, document.card.catalogue
    days = "/".join("" if day is None else day.isoformat() for day in (stated.start, stated.end))
    found = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": labelled_title(document),
        "description": f"{description(document)}\n\n{provenance(document)}",
        "identifier": identifier(document),
        "url": card.url,
        "version": card.version,
        "datePublished": card.published.isoformat(),
        "inLanguage": card.language,
        "license": licence_address(document) or card.licence,
        "isAccessibleForFree": True if stated.access == "public" else None,
        "keywords": keywords(document),
        "creator": _organisation(document),
        "publisher": _organisation(document),
        "spatialCoverage": list(stated.places),
        "temporalCoverage": days if len(days) > 1 else "",
        "variableMeasured": [_variable(document, column) for file in document.table_files for column in file.columns],
        "distribution": [
            {"@type": "DataDownload", "name": name, "encodingFormat": media_type(name), "sha256": digest}
            | ({"contentUrl": card.url} if card.url else {})
            for name, digest in sorted(document.files.items())
        ],
    }
    return {name: value for name, value in found.items() if value not in ("", [], {}, None)}


def _organisation(document: ReleaseDocument) -> dict[str, Any]:
    card = document.card
    if not card.organisation:
        return {}
    contact = {"@type": "ContactPoint", "email" if is_email(card.contact) else "url": card.contact}
    return {"@type": "Organization", "name": card.organisation} | ({"contactPoint": contact} if card.contact else {})


def _variable(document: ReleaseDocument, column: ColumnPart) -> dict[str, Any]:
    found = {
        "@type": "PropertyValue",
        "name": column.name,
        "alternateName": document.card.columns.get(column.name, ""),
        "description": column.description,
        "unitText": column.unit,
    }
    return {name: value for name, value in found.items() if value}
