"""How a release and its parts are called in catalogues."""

from __future__ import annotations

import base64
import hashlib

from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.card import LICENCES

KEYWORDS = ("synthetic data", "differential privacy")


def identifier(document: ReleaseDocument) -> str:
    """The digest of release.json as a name (RFC 6920), the same wherever the release can be had."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(document.dumped()).digest()).decode("ascii").rstrip("=")
    return f"ni:///sha-256;{digest}"


def address(document: ReleaseDocument) -> str:
    """Where the release can be had, or its name where nobody says so."""
    return document.card.url or identifier(document)


def part(document: ReleaseDocument, name: str) -> str:
    """The name of something that the description speaks of."""
    return f"{address(document).partition('#')[0]}#{name}"


def keywords(document: ReleaseDocument) -> list[str]:
    """The publisher's, and what every release is about."""
    return list(dict.fromkeys([*document.card.catalogue.keywords, *KEYWORDS]))


def licence_address(document: ReleaseDocument) -> str:
    """Where the licence can be read; empty where it is not stated."""
    card = document.card
    return LICENCES[card.licence][1] if card.licence in LICENCES else card.licence_url


def description(document: ReleaseDocument) -> str:
    """The publisher's summary, or what stands in its place."""
    return document.card.summary or document.description or document.title


def program(document: ReleaseDocument) -> str:
    """The program that reads the release, with where the publisher says that readers get it; no index is named, which
    anybody could fill.
    """
    stated = document.card.program
    source = "" if stated is None else f", from {stated.address} (SHA-256 {stated.sha256})"
    return f"synthrelease {document.written_by}{source}"


def provenance(document: ReleaseDocument) -> str:
    """Where the original records come from, and what was made of them."""
    guarantee = document.guarantee
    delta = "" if guarantee.delta_exact == "0" else f", delta = {guarantee.delta:g}"
    made = (
        f"Synthetic rows, made with differential privacy (epsilon = {guarantee.epsilon:g}{delta}, neighbouring files differ in "
        f"one {guarantee.person.unit} that is replaced) by synthrelease {document.written_by}. No row is a person."
    )
    return f"{document.card.source} {made}".strip()
