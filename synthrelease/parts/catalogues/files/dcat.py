"""dcat.jsonld and dcat.ttl: DCAT-AP 3 with the fields of HealthDCAT-AP that the publisher has stated.

Everything has a name, so that both files are the same whenever they are written. Turtle is made of the JSON-LD by rdflib (the
extra `catalogue`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from synthrelease.bundle.card.numbers import (
    address,
    description,
    identifier,
    keywords,
    labelled,
    labelled_title,
    licence_address,
    part,
    provenance,
)
from synthrelease.bundle.metadata import describe_file, media_type
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE
from synthrelease.resources import library
from synthrelease.settings.card import is_email

Node = dict[str, Any]

_EU = "http://publications.europa.eu/resource/authority"
_CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "eli": "http://data.europa.eu/eli/ontology#",
    "healthdcatap": "http://healthdataportal.eu/ns/health#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_THEMES = {
    "Technology": ("TECH", "Science and technology"),
    "Healthcare": ("HEAL", "Health"),
    "Education": ("EDUC", "Education, culture and sport"),
    "Government": ("GOVE", "Government and public sector"),
    "Energy": ("ENER", "Energy"),
    "Finance": ("ECON", "Economy and finance"),
}
"""The EU's data themes by the sectors of the card."""
_LANGUAGES = {"en": "ENG", "he": "HEB"}
_FORMATS = {"csv": "CSV", "parquet": "PARQUET", "json": "JSON"}


def jsonld_bytes(document: ReleaseDocument, sizes: Mapping[str, int]) -> bytes:
    """dcat.jsonld. `sizes` are the lengths of the data files in bytes."""
    graph = {"@context": _CONTEXT, "@graph": list(_nodes(document, sizes))}
    return (json.dumps(graph, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def turtle_bytes(jsonld: bytes) -> bytes:
    """dcat.ttl, the same statements below a comment.

    Raises
    ------
    InputError : when rdflib is missing.
    """
    rdflib = library("rdflib", "rdflib", "dcat.ttl, as [bundle] catalogues asks", "catalogue")
    graph = rdflib.Graph(bind_namespaces="none")
    graph.parse(data=jsonld.decode("utf-8"), format="json-ld")
    for prefix, name in _CONTEXT.items():
        graph.bind(prefix, name)
    return f"# {NOTICE}\n{graph.serialize(format='turtle')}".encode()


def _nodes(document: ReleaseDocument, sizes: Mapping[str, int]) -> Iterator[Node]:
    yield _without_nothing(_dataset(document))
    for name in sorted(document.files):
        yield _without_nothing(_distribution(document, name, sizes[name]))
        yield {
            "@id": part(document, f"sha256-{name}"),
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@value": document.files[name], "@type": "xsd:hexBinary"},
        }
    yield {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"}
    yield from _agents(document)
    yield {
        "@id": part(document, "provenance"),
        "@type": "dct:ProvenanceStatement",
        "rdfs:label": _said(document, provenance(document)),
    }
    yield from _terms(document)


def _dataset(document: ReleaseDocument) -> Node:
    card, stated = document.card, document.card.catalogue
    languages = [(language, card.texts(language)) for language in card.languages]
    titles = [
        {"@value": labelled((texts.title if texts else "") or document.title), "@language": language}
        for language, texts in languages
    ]
    summaries = [
        {"@value": texts.summary, "@language": language} for language, texts in languages if texts is not None and texts.summary
    ]
    return {
        "@id": address(document),
        "@type": "dcat:Dataset",
        "dct:title": titles,
        "dct:description": summaries or _said(document, description(document)),
        "dct:identifier": identifier(document),
        "dct:type": {"@id": f"{_EU}/dataset-type/SYNTHETIC_DATA"},
        "dct:publisher": _named(document, "publisher") if card.organisation else None,
        "dcat:contactPoint": _named(document, "contact") if card.contact else None,
        "dct:issued": {"@value": card.published.isoformat(), "@type": "xsd:date"},
        "dcat:version": card.version,
        "dcat:keyword": [_said(document, word) for word in keywords(document)],
        "dcat:theme": [{"@id": theme} for theme in stated.themes or (_theme(document),)],
        "dct:accessRights": {"@id": f"{_EU}/access-right/{stated.access.upper()}"},
        "dct:language": {"@id": f"{_EU}/language/{_LANGUAGES[card.language]}"},
        "dcat:landingPage": {"@id": card.url} if card.url else None,
        "dct:spatial": [{"@id": place} for place in stated.places],
        "dct:temporal": _named(document, "period") if stated.start or stated.end else None,
        "dct:provenance": _named(document, "provenance"),
        "dcatap:applicableLegislation": [{"@id": law} for law in stated.legislation],
        "healthdcatap:healthCategory": [{"@id": category} for category in stated.health_categories],
        "healthdcatap:healthTheme": [{"@id": theme} for theme in stated.health_themes],
        "healthdcatap:hasCodingSystem": [{"@id": system} for system in stated.coding_systems],
        "healthdcatap:hdab": _named(document, "access-body") if stated.access_body else None,
        "healthdcatap:numberOfRecords": _count(document.n_rows),
        "healthdcatap:numberOfUniqueIndividuals": _count(stated.individuals),
        "healthdcatap:minTypicalAge": _count(stated.minimum_age),
        "healthdcatap:maxTypicalAge": _count(stated.maximum_age),
        "healthdcatap:populationCoverage": _said(document, stated.population) if stated.population else None,
        "dcat:distribution": [_named(document, name) for name in sorted(document.files)],
    }


def _distribution(document: ReleaseDocument, name: str, size: int) -> Node:
    licence = licence_address(document)
    ending = name.rpartition(".")[2]
    return {
        "@id": part(document, name),
        "@type": "dcat:Distribution",
        "dct:title": {"@value": f"{labelled_title(document)}: {name}", "@language": document.card.language},
        "dct:description": {"@value": describe_file(name), "@language": "en"},
        "dcat:accessURL": {"@id": address(document)},
        "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{media_type(name)}"},
        "dct:format": {"@id": f"{_EU}/file-type/{_FORMATS[ending]}"} if ending in _FORMATS else None,
        "dcat:byteSize": _count(size),
        "dct:license": {"@id": licence} if licence else None,
        "dcatap:applicableLegislation": [{"@id": law} for law in document.card.catalogue.legislation],
        "spdx:checksum": _named(document, f"sha256-{name}"),
    }


def _agents(document: ReleaseDocument) -> Iterator[Node]:
    card, stated = document.card, document.card.catalogue
    if card.organisation:
        yield _without_nothing(
            {
                "@id": part(document, "publisher"),
                "@type": "foaf:Agent",
                "foaf:name": _said(document, card.organisation),
                "dcat:contactPoint": _named(document, "contact") if card.contact else None,
            }
        )
    if card.contact:
        reached = {"vcard:hasEmail": f"mailto:{card.contact}"} if is_email(card.contact) else {"vcard:hasURL": card.contact}
        yield {
            "@id": part(document, "contact"),
            "@type": "vcard:Kind",
            "vcard:fn": card.organisation or card.contact,
            **{name: {"@id": value} for name, value in reached.items()},
        }
    if stated.access_body:
        yield {
            "@id": part(document, "access-body"),
            "@type": "foaf:Agent",
            "foaf:name": _said(document, stated.access_body),
            "dcat:contactPoint": _named(document, "access-body-contact"),
        }
        yield {
            "@id": part(document, "access-body-contact"),
            "@type": "vcard:Kind",
            "vcard:fn": stated.access_body,
            "vcard:hasURL": {"@id": stated.access_body_contact},
        }


def _terms(document: ReleaseDocument) -> Iterator[Node]:
    """What the terms of vocabularies are: who reads this file alone must not guess."""
    card, stated = document.card, document.card.catalogue
    kind = {"@value": "Synthetic data", "@language": "en"}
    yield {"@id": f"{_EU}/dataset-type/SYNTHETIC_DATA", "@type": "skos:Concept", "skos:prefLabel": kind}
    yield {"@id": f"{_EU}/access-right/{stated.access.upper()}", "@type": "dct:RightsStatement"}
    yield {"@id": f"{_EU}/language/{_LANGUAGES[card.language]}", "@type": "dct:LinguisticSystem"}
    if not stated.themes:
        label = _THEMES[card.sector][1]
        yield {"@id": _theme(document), "@type": "skos:Concept", "skos:prefLabel": {"@value": label, "@language": "en"}}
    if stated.start or stated.end:
        days = {"dcat:startDate": stated.start, "dcat:endDate": stated.end}
        yield {
            "@id": part(document, "period"),
            "@type": "dct:PeriodOfTime",
            **{name: {"@value": day.isoformat(), "@type": "xsd:date"} for name, day in days.items() if day},
        }
    if licence_address(document):
        yield {"@id": licence_address(document), "@type": "dct:LicenseDocument"}
    yield {"@id": address(document), "@type": ["foaf:Document", "rdfs:Resource"]}
    for law in stated.legislation:
        yield {"@id": law, "@type": "eli:LegalResource"}
    for place in stated.places:
        yield {"@id": place, "@type": "dct:Location"}
    for name in dict.fromkeys(media_type(name) for name in sorted(document.files)):
        yield {"@id": f"https://www.iana.org/assignments/media-types/{name}", "@type": "dct:MediaType"}
    for ending in sorted({name.rpartition(".")[2] for name in document.files} & set(_FORMATS)):
        yield {"@id": f"{_EU}/file-type/{_FORMATS[ending]}", "@type": "dct:MediaTypeOrExtent"}


def _theme(document: ReleaseDocument) -> str:
    return f"{_EU}/data-theme/{_THEMES[document.card.sector][0]}"


def _named(document: ReleaseDocument, name: str) -> Node:
    return {"@id": part(document, name)}


def _said(document: ReleaseDocument, text: str) -> Node:
    return {"@value": text, "@language": document.card.language}


def _count(number: int | None) -> Node | None:
    return None if number is None else {"@value": str(number), "@type": "xsd:nonNegativeInteger"}


def _without_nothing(node: Node) -> Node:
    return {name: value for name, value in node.items() if value not in (None, [], "")}
