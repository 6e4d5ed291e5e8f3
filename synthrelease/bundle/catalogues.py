"""Descriptions of a release for catalogues of data: DCAT-AP 3, Croissant 1.0 and DDI-Codebook 2.5."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

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
from synthrelease.bundle.metadata import describe_file, media_type, slug
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable, TableFile
from synthrelease.resources import library
from synthrelease.settings.card import LICENCES, is_email
from synthrelease.settings.tables import SYNTHETIC


def catalogue_entries(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the descriptions that [bundle] catalogues asks for, by the names of the files.

    Parameters
    ----------
    sizes : lengths of the data files in bytes.

    Raises
    ------
    InputError : when a library is missing.
    """
    chosen, files = document.bundle.catalogues, dict[str, bytes]()
    if "dcat" in chosen:
        files["dcat.jsonld"] = jsonld_bytes(document, sizes)
        files["dcat.ttl"] = turtle_bytes(files["dcat.jsonld"])
    if "croissant" in chosen:
        files["croissant.json"] = croissant_bytes(document, sizes)
    if "ddi" in chosen:
        files["ddi.xml"] = ddi_bytes(document, table, sizes)
    return files


# dcat.jsonld and dcat.ttl: DCAT-AP 3 with the fields of HealthDCAT-AP that the publisher has stated.
#
# Everything has a name, so that both files are the same whenever they are written. Turtle is made of the JSON-LD by rdflib (the
# extra `catalogue`).

Node = dict[str, Any]

_EU = "http://publications.europa.eu/resource/authority"
_DCAT = {
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
    graph = {"@context": _DCAT, "@graph": list(_nodes(document, sizes))}
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
    for prefix, name in _DCAT.items():
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


# croissant.json: the release for tools of machine learning, in the format Croissant 1.0.

_CROISSANT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the format's tools expect."""


def croissant_bytes(document: ReleaseDocument, sizes: Mapping[str, int]) -> bytes:
    """croissant.json. `sizes` are the lengths of the data files in bytes."""
    card = document.card
    found = {
        "@context": _CROISSANT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": slug(document),
        "alternateName": labelled_title(document),
        "description": f"{description(document)}\n\n{provenance(document)}",
        "url": address(document),
        "version": card.version,
        "datePublished": card.published.isoformat(),
        "license": licence_address(document) or card.licence,
        "keywords": keywords(document),
        "creator": {"@type": "Organization", "name": card.organisation} if card.organisation else "",
        "publisher": {"@type": "Organization", "name": card.organisation} if card.organisation else "",
        "citeAs": _citation(document),
        "isLiveDataset": False,
        "distribution": [_file_object(document, name, sizes[name]) for name in sorted(document.files)],
        "recordSet": [
            *(_rows(document, file) for file in document.table_files),
            *(_bins(column, file) for file in document.table_files for column in file.columns),
        ],
    }
    kept = {name: value for name, value in found.items() if value != ""}
    return (json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _citation(document: ReleaseDocument) -> str:
    """A BibTeX entry, which is how the format wants to be cited."""
    card = document.card
    entries = {
        "title": f"{labelled_title(document)}, version {card.version}",
        "author": f"{{{card.organisation}}}" if card.organisation else "",
        "year": str(card.published.year),
        "url": card.url,
    }
    inner = ", ".join(f"{name} = {{{_bibtex(value)}}}" for name, value in entries.items() if value)
    return f"@misc{{{slug(document)}, {inner}}}"


def _bibtex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", " ".join(text.split()))


def _file_object(document: ReleaseDocument, name: str, size: int) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": describe_file(name),
        "contentUrl": name,
        "contentSize": f"{size} B",
        "encodingFormat": media_type(name),
        "sha256": document.files[name],
    }


def _rows(document: ReleaseDocument, file: TableFile) -> dict[str, Any]:
    """A table. Each column names its bins in words alone: of a reference mlcroissant makes a join, which fails where labels
    look like numbers.
    """
    rows, csv = _name(file), file.named("csv")
    fields = []
    if file.key:
        said = "The number of the root that this member belongs to." if file.of_members else "The number of this root."
        fields.append(_field(rows, csv, file.key, "sc:Integer", said))
    for column in file.columns:
        described = f"{_described(column)} Bins: {_of_bins(column, file)}."
        fields.append(_field(rows, csv, column.name, "sc:Text", described))
    if document.weighted and not file.of_members:
        fields.append(_field(rows, csv, WEIGHT, "sc:Float", "For how many a row stands."))
    if document.bundle.synthetic_column:
        fields.append(_field(rows, csv, SYNTHETIC, "sc:Integer", "1 in every row: the row is synthetic."))
    said = "The synthetic members, by the number of their root." if file.of_members else "The synthetic rows."
    return {"@type": "cr:RecordSet", "@id": rows, "name": rows, "description": said, "field": fields}


def _name(file: TableFile) -> str:
    return "members" if file.of_members else "rows"


def _of_bins(column: ColumnPart, file: TableFile) -> str:
    """The name of the bins of a column."""
    return f"{'member_' if file.of_members else ''}{column.name}_bins"


def _field(rows: str, csv: str, name: str, kind: str, description: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{rows}/{name}",
        "name": name,
        "description": description,
        "dataType": kind,
        "source": {"fileObject": {"@id": csv}, "extract": {"column": name}},
    }


def _bins(column: ColumnPart, file: TableFile) -> dict[str, Any]:
    """The bins of a column in their order, as an enumeration."""
    name = _of_bins(column, file)
    fields = [
        {"@type": "cr:Field", "@id": f"{name}/label", "name": "label", "dataType": "sc:Text"},
        {"@type": "cr:Field", "@id": f"{name}/position", "name": "position", "dataType": "sc:Integer"},
        {"@type": "cr:Field", "@id": f"{name}/missing", "name": "missing", "dataType": "sc:Boolean"},
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"What stands in the column {column.name}, {'in this order' if column.ordered else 'in no order'}.",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{name}/label"},
        "field": fields,
        "data": [
            {f"{name}/label": one.label, f"{name}/position": place, f"{name}/missing": bool(one.missing)}
            for place, one in enumerate(column.bins, start=1)
        ],
    }


def _described(column: ColumnPart) -> str:
    text = f"{column.description} Unit: {column.unit}." if column.unit else column.description
    text = text.strip() or column.name
    return text if text.endswith((".", "!", "?")) else f"{text}."


# ddi.xml: a codebook in the format DDI-Codebook 2.5, with the frequencies of all categories in the released table.

_NAMESPACE = "ddi:codebook:2_5"


def ddi_bytes(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> bytes:
    """ddi.xml. `sizes` are the lengths of the data files in bytes."""
    root = Element("codeBook", {"version": "2.5", "xmlns": _NAMESPACE})
    _document(root, document)
    _study(root, document)
    parts = list(zip(document.table_files, filter(None, (table.of_roots(), table.of_members())), strict=True))
    rows = {file.stem: rows_of_file.counts.total for file, rows_of_file in parts}
    for number, (name, file) in enumerate(_tables(document), start=1):
        _file_text(root, document, f"F{number}", name, sizes[name], file, rows[file.stem])
    described = SubElement(root, "dataDscr")
    for file, rows_of_file in parts:
        _variables(described, document, rows_of_file, file)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {NOTICE} -->\n{text}\n'.encode()


def _tables(document: ReleaseDocument) -> list[tuple[str, TableFile]]:
    """The files that hold the released rows, each with its table."""
    return [
        (name, file) for file in document.table_files for name in sorted(document.files) if name.startswith(f"{file.stem}.")
    ]


def _text(parent: Element, tag: str, text: str, attributes: Mapping[str, str] | None = None) -> Element:
    found = SubElement(parent, tag, dict(attributes or {}))
    found.text = text
    return found


def _document(root: Element, document: ReleaseDocument) -> None:
    citation = SubElement(SubElement(root, "docDscr"), "citation")
    titles = SubElement(citation, "titlStmt")
    _text(titles, "titl", f"Codebook of {labelled_title(document)}")
    _text(SubElement(citation, "prodStmt"), "software", f"synthrelease {document.written_by}", {"version": document.written_by})


def _study(root: Element, document: ReleaseDocument) -> None:
    card, study = document.card, SubElement(root, "stdyDscr")
    citation = SubElement(study, "citation")
    titles = SubElement(citation, "titlStmt")
    _text(titles, "titl", labelled_title(document))
    _text(titles, "IDNo", identifier(document), {"agency": "RFC 6920"})
    if card.organisation:
        _text(SubElement(citation, "rspStmt"), "AuthEnty", card.organisation)
        _text(SubElement(citation, "prodStmt"), "producer", card.organisation)
    distributed = SubElement(citation, "distStmt")
    if card.organisation:
        _text(distributed, "distrbtr", card.organisation, {"URI": card.url} if card.url else {})
    if card.contact:
        _text(distributed, "contact", card.contact, {"email" if is_email(card.contact) else "URI": card.contact})
    _text(distributed, "distDate", card.published.isoformat(), {"date": card.published.isoformat()})
    _text(SubElement(citation, "verStmt"), "version", card.version, {"date": card.published.isoformat()})
    _information(SubElement(study, "stdyInfo"), document)
    _method(SubElement(study, "method"), document)
    _access(study, document)


def _information(parent: Element, document: ReleaseDocument) -> None:
    stated = document.card.catalogue
    subject = SubElement(parent, "subject")
    for word in keywords(document):
        _text(subject, "keyword", word)
    _text(parent, "abstract", description(document))
    summary = SubElement(parent, "sumDscr")
    for event, day in (("start", stated.start), ("end", stated.end)):
        if day is not None:
            _text(summary, "timePrd", day.isoformat(), {"event": event, "date": day.isoformat()})
    if document.card.region:
        _text(summary, "geogCover", document.card.region)
    _text(summary, "anlyUnit", document.guarantee.person.unit)
    _text(summary, "universe", stated.population or document.description or document.title)
    _text(summary, "dataKind", "Synthetic microdata")


def _method(parent: Element, document: ReleaseDocument) -> None:
    collected = SubElement(parent, "dataColl")
    if document.card.source:
        sources = SubElement(collected, "sources")
        _text(sources, "dataSrc", document.card.source)
    _text(collected, "collSitu", NOTICE)
    if document.calibration is not None and document.weighted:
        source = document.calibration.source
        _text(collected, "weight", f"The variable {WEIGHT} says for how many a row stands. Raked to: {source}")
    _text(parent, "notes", provenance(document))
    appraised = SubElement(parent, "anlyInfo")
    for one in document.criteria:
        interval = one.interval
        high = "open" if interval is None or interval.high is None else f"{interval.high:g}"
        between = "" if interval is None else f", interval for the exact figure from {interval.low:g} to {high}"
        _text(appraised, "dataAppr", f"{one.name}: released figure {one.value:g}, threshold {one.threshold:g}{between}")


def _access(study: Element, document: ReleaseDocument) -> None:
    card, stated = document.card, document.card.catalogue
    parent = SubElement(study, "dataAccs")
    if card.url:
        _text(SubElement(parent, "setAvail"), "accsPlac", card.url, {"URI": card.url})
    uses = SubElement(parent, "useStmt")
    _text(uses, "restrctn", "Public" if stated.access == "public" else "Restricted")
    if card.contact:
        _text(uses, "contact", card.contact)
    if card.licence:
        title, address = LICENCES.get(card.licence, (card.licence, card.licence_url))
        _text(uses, "conditions", f"{title} {address}".strip())
    if card.unsuitable:
        _text(uses, "disclaimer", f"Not fit for: {'; '.join(card.unsuitable)}")


def _file_text(root: Element, document: ReleaseDocument, number: str, name: str, size: int, file: TableFile, rows: int) -> None:
    text = SubElement(SubElement(root, "fileDscr", {"ID": number}), "fileTxt")
    _text(text, "fileName", name)
    _text(text, "fileCont", f"{describe_file(name)}. {NOTICE} {size} bytes, SHA-256 {document.files[name]}")
    dimensions = SubElement(text, "dimensns")
    _text(dimensions, "caseQnty", str(rows))
    further = len([name for name, _ in _further(document, file)])
    _text(dimensions, "varQnty", str(len(file.columns) + bool(file.key) + further))
    _text(text, "fileType", media_type(name))


def _variables(parent: Element, document: ReleaseDocument, table: ReleasedTable, file: TableFile) -> None:
    """Those of one table; a member has those of its root's number before them, under the same name."""
    weight = {"wgt-var": "weight"} if document.weighted and not file.of_members else {}
    files = " ".join(f"F{number}" for number, (_, one) in enumerate(_tables(document), start=1) if one == file)
    letter, rows = ("M" if file.of_members else "V"), table.counts.total
    if file.key:
        inner = SubElement(parent, "var", {"ID": f"{letter}0", "name": file.key, "files": files, "intrvl": "discrete"})
        _text(inner, "labl", "Number of the root, by which both tables are joined")
        SubElement(inner, "varFormat", {"type": "numeric"})
    for place, column in enumerate(file.columns):
        measure = "ordinal" if column.ordered else "nominal"
        known = {"ID": f"{letter}{place + 1}", "name": column.name, "files": files, "intrvl": "discrete", "nature": measure}
        inner = SubElement(parent, "var", known | weight)
        _text(inner, "labl", document.card.columns.get(column.name) or column.description or column.name)
        counts = table.one_way(place).tolist()
        missing = sum(count for one, count in zip(column.bins, counts, strict=True) if one.missing)
        _text(inner, "universe", "All members" if file.of_members else "All rows")
        _text(inner, "sumStat", str(rows - missing), {"type": "vald"})
        _text(inner, "sumStat", str(missing), {"type": "invd"})
        if column.description or column.unit:
            _text(
                inner, "txt", " ".join(part for part in (column.description, column.unit and f"Unit: {column.unit}.") if part)
            )
        for category in _categories(column, counts, rows):
            inner.append(category)
        SubElement(inner, "varFormat", {"type": "character", "formatname": "text"})
    for name, label in _further(document, file):
        ends = {"wgt": "wgt", "ID": "weight"} if name == WEIGHT else {"ID": "mark_of_members" if file.of_members else "mark"}
        inner = SubElement(parent, "var", {"name": name, "files": files, **ends})
        _text(inner, "labl", label)
        SubElement(inner, "varFormat", {"type": "numeric"})


def _further(document: ReleaseDocument, file: TableFile) -> Iterator[tuple[str, str]]:
    if document.weighted and not file.of_members:
        yield WEIGHT, "For how many a row stands"
    if document.bundle.synthetic_column:
        yield SYNTHETIC, "Synthetic data: 1 in every row"


def _categories(column: ColumnPart, counts: list[int], n_rows: int) -> Iterator[Element]:
    for one, count in zip(column.bins, counts, strict=True):
        found = Element("catgry", {"missing": "Y"} if one.missing else {})
        _text(found, "catValu", one.label)
        _text(found, "labl", one.label)
        _text(found, "catStat", str(count), {"type": "freq"})
        _text(found, "catStat", f"{100 * count / max(n_rows, 1):.2f}", {"type": "percent"})
        yield found
