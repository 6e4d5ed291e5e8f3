"""CITATION.cff: how to cite the data, in the Citation File Format 1.2."""

from __future__ import annotations

from typing import Any

from synthrelease.bundle.titles import labelled_title
from synthrelease.bundle.yaml_text import yaml_bytes
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.card import LICENCES, is_email


def citation_bytes(document: ReleaseDocument) -> bytes:
    """CITATION.cff, with what the publisher has stated."""
    card = document.card
    author = {"name": card.organisation or "The publisher of this release"}
    if card.contact:
        author["email" if is_email(card.contact) else "website"] = card.contact
    tables: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these synthetic data, please cite them as below.",
        "type": "dataset",
        "title": labelled_title(document),
        "authors": [author],
        "version": card.version,
        "date-released": card.published.isoformat(),
        "abstract": card.summary or document.description,
        "keywords": ["synthetic data", "differential privacy"],
    }
    if card.licence in LICENCES:
        tables["license"] = card.licence
    elif card.licence_url:
        tables["license-url"] = card.licence_url
    if card.url:
        tables["url"] = card.url
    return yaml_bytes({name: value for name, value in tables.items() if value != ""})
