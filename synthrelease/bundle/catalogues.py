"""Descriptions of a release for catalogues of data: DCAT-AP 3, Croissant 1.0 and DDI-Codebook 2.5."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from synthrelease.bundle.card.numbers import environment, labelled
from synthrelease.bundle.dataset import DataFile, Dataset, DataTable, Field, with_something
from synthrelease.data.weights import WEIGHT
from synthrelease.published.base import json_bytes
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable, TableFile
from synthrelease.resources import library
from synthrelease.settings.card import is_email


def catalogue_entries(document: ReleaseDocument, table: ReleasedTable, dataset: Dataset) -> dict[str, bytes]:
    """Return the descriptions that [bundle] catalogues asks for, by the names of the files.

    Raises
    ------
    InputError : when a library is missing.
    """
    chosen, files = document.bundle.catalogues, dict[str, bytes]()
    if "dcat" in chosen:
        files["dcat.jsonld"] = jsonld_bytes(document, dataset)
        files["dcat.ttl"] = turtle_bytes(files["dcat.jsonld"])
    if "croissant" in chosen:
        files["croissant.json"] = croissant_bytes(dataset)
    if "ddi" in chosen:
        files["ddi.xml"] = ddi_bytes(document, table, dataset)
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


def jsonld_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """Return dcat.jsonld."""
    return json_bytes({"@context": _DCAT, "@graph": list(_nodes(document, dataset))})


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


def _nodes(document: ReleaseDocument, dataset: Dataset) -> Iterator[Node]:
    yield with_something(_dataset(document, dataset))
    for file in dataset.files:
        yield with_something(_distribution(dataset, file))
        yield {
            "@id": dataset.part(f"sha256-{file.name}"),
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@value": file.sha256, "@type": "xsd:hexBinary"},
        }
    yield {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"}
    yield from _agents(dataset)
    yield {
        "@id": dataset.part("provenance"),
        "@type": "dct:ProvenanceStatement",
        "rdfs:label": _said(dataset, dataset.provenance),
    }
    yield from _terms(dataset)


def _dataset(document: ReleaseDocument, dataset: Dataset) -> Node:
    card, catalogue = dataset.card, dataset.card.catalogue
    languages = [(language, card.texts(language)) for language in card.languages]
    titles = [
        {"@value": labelled((texts.title if texts else "") or document.title), "@language": language}
        for language, texts in languages
    ]
    summaries = [
        {"@value": texts.summary, "@language": language} for language, texts in languages if texts is not None and texts.summary
    ]
    return {
        "@id": dataset.address,
        "@type": "dcat:Dataset",
        "dct:title": titles,
        "dct:description": summaries or _said(dataset, dataset.description),
        "dct:identifier": dataset.identifier,
        "dct:type": {"@id": f"{_EU}/dataset-type/SYNTHETIC_DATA"},
        "dct:publisher": _named(dataset, "publisher") if card.organisation else None,
        "dcat:contactPoint": _named(dataset, "contact") if card.contact else None,
        "dct:issued": {"@value": dataset.day, "@type": "xsd:date"},
        "dcat:version": card.version,
        "dcat:keyword": [_said(dataset, word) for word in dataset.keywords],
        "dcat:theme": [{"@id": theme} for theme in catalogue.themes or (_theme(dataset),)],
        "dct:accessRights": {"@id": f"{_EU}/access-right/{catalogue.access.upper()}"},
        "dct:language": {"@id": f"{_EU}/language/{_LANGUAGES[card.language]}"},
        "dcat:landingPage": {"@id": card.url} if card.url else None,
        "dct:spatial": [{"@id": term} for term in catalogue.places],
        "dct:temporal": _named(dataset, "period") if catalogue.start or catalogue.end else None,
        "dct:provenance": _named(dataset, "provenance"),
        "dcatap:applicableLegislation": [{"@id": law} for law in catalogue.legislation],
        "healthdcatap:healthCategory": [{"@id": category} for category in catalogue.health_categories],
        "healthdcatap:healthTheme": [{"@id": theme} for theme in catalogue.health_themes],
        "healthdcatap:hasCodingSystem": [{"@id": system} for system in catalogue.coding_systems],
        "healthdcatap:hdab": _named(dataset, "access-body") if catalogue.access_body else None,
        "healthdcatap:numberOfRecords": _count(document.n_rows),
        "healthdcatap:numberOfUniqueIndividuals": _count(catalogue.individuals),
        "healthdcatap:minTypicalAge": _count(catalogue.minimum_age),
        "healthdcatap:maxTypicalAge": _count(catalogue.maximum_age),
        "healthdcatap:populationCoverage": _said(dataset, catalogue.population) if catalogue.population else None,
        "dcat:distribution": [_named(dataset, file.name) for file in dataset.files],
    }


def _distribution(dataset: Dataset, file: DataFile) -> Node:
    licence = dataset.licence.address
    return {
        "@id": dataset.part(file.name),
        "@type": "dcat:Distribution",
        "dct:title": {"@value": f"{dataset.title}: {file.name}", "@language": dataset.card.language},
        "dct:description": {"@value": file.description, "@language": "en"},
        "dcat:accessURL": {"@id": dataset.address},
        "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{file.media_type}"},
        "dct:format": {"@id": f"{_EU}/file-type/{_FORMATS[file.ending]}"} if file.ending in _FORMATS else None,
        "dcat:byteSize": _count(file.size),
        "dct:license": {"@id": licence} if licence else None,
        "dcatap:applicableLegislation": [{"@id": law} for law in dataset.card.catalogue.legislation],
        "spdx:checksum": _named(dataset, f"sha256-{file.name}"),
    }


def _agents(dataset: Dataset) -> Iterator[Node]:
    card, catalogue = dataset.card, dataset.card.catalogue
    if card.organisation:
        yield with_something(
            {
                "@id": dataset.part("publisher"),
                "@type": "foaf:Agent",
                "foaf:name": _said(dataset, card.organisation),
                "dcat:contactPoint": _named(dataset, "contact") if card.contact else None,
            }
        )
    if card.contact:
        reached = {"vcard:hasEmail": f"mailto:{card.contact}"} if is_email(card.contact) else {"vcard:hasURL": card.contact}
        yield {
            "@id": dataset.part("contact"),
            "@type": "vcard:Kind",
            "vcard:fn": card.organisation or card.contact,
            **{name: {"@id": value} for name, value in reached.items()},
        }
    if catalogue.access_body:
        yield {
            "@id": dataset.part("access-body"),
            "@type": "foaf:Agent",
            "foaf:name": _said(dataset, catalogue.access_body),
            "dcat:contactPoint": _named(dataset, "access-body-contact"),
        }
        yield {
            "@id": dataset.part("access-body-contact"),
            "@type": "vcard:Kind",
            "vcard:fn": catalogue.access_body,
            "vcard:hasURL": {"@id": catalogue.access_body_contact},
        }


def _terms(dataset: Dataset) -> Iterator[Node]:
    """Yield what the terms of vocabularies are: who reads this file alone must not guess."""
    card, catalogue = dataset.card, dataset.card.catalogue
    kind = {"@value": "Synthetic data", "@language": "en"}
    yield {"@id": f"{_EU}/dataset-type/SYNTHETIC_DATA", "@type": "skos:Concept", "skos:prefLabel": kind}
    yield {"@id": f"{_EU}/access-right/{catalogue.access.upper()}", "@type": "dct:RightsStatement"}
    yield {"@id": f"{_EU}/language/{_LANGUAGES[card.language]}", "@type": "dct:LinguisticSystem"}
    if not catalogue.themes:
        label = _THEMES[card.sector][1]
        yield {"@id": _theme(dataset), "@type": "skos:Concept", "skos:prefLabel": {"@value": label, "@language": "en"}}
    if catalogue.start or catalogue.end:
        days = {"dcat:startDate": catalogue.start, "dcat:endDate": catalogue.end}
        yield {
            "@id": dataset.part("period"),
            "@type": "dct:PeriodOfTime",
            **{name: {"@value": day.isoformat(), "@type": "xsd:date"} for name, day in days.items() if day},
        }
    if dataset.licence.address:
        yield {"@id": dataset.licence.address, "@type": "dct:LicenseDocument"}
    yield {"@id": dataset.address, "@type": ["foaf:Document", "rdfs:Resource"]}
    for law in catalogue.legislation:
        yield {"@id": law, "@type": "eli:LegalResource"}
    for term in catalogue.places:
        yield {"@id": term, "@type": "dct:Location"}
    for name in dict.fromkeys(file.media_type for file in dataset.files):
        yield {"@id": f"https://www.iana.org/assignments/media-types/{name}", "@type": "dct:MediaType"}
    for ending in sorted({file.ending for file in dataset.files} & set(_FORMATS)):
        yield {"@id": f"{_EU}/file-type/{_FORMATS[ending]}", "@type": "dct:MediaTypeOrExtent"}


def _theme(dataset: Dataset) -> str:
    return f"{_EU}/data-theme/{_THEMES[dataset.card.sector][0]}"


def _named(dataset: Dataset, name: str) -> Node:
    return {"@id": dataset.part(name)}


def _said(dataset: Dataset, text: str) -> Node:
    return {"@value": text, "@language": dataset.card.language}


def _count(number: int | None) -> Node | None:
    return None if number is None else {"@value": str(number), "@type": "xsd:nonNegativeInteger"}


# croissant.json: the release for tools of machine learning, in the format Croissant 1.0.

_TERMS = (
    "citeAs column conformsTo cr rai data dataType dct equivalentProperty examples extract field fileObject fileProperty "
    "fileSet format includes isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate sc separator source subField transform"
)
_CROISSANT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{name: f"cr:{name}" for name in _TERMS.split()},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
"""The context that the format's tools expect."""


def croissant_bytes(dataset: Dataset) -> bytes:
    """Return croissant.json."""
    organisation = {"@type": "Organization", "name": dataset.card.organisation} if dataset.card.organisation else ""
    entry = {
        "@context": _CROISSANT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": dataset.slug,
        "alternateName": dataset.title,
        "description": f"{dataset.description}\n\n{dataset.provenance}",
        "url": dataset.address,
        "version": dataset.card.version,
        "datePublished": dataset.day,
        "license": dataset.licence.address or dataset.licence.title,
        "keywords": dataset.keywords,
        "creator": organisation,
        "publisher": organisation,
        "citeAs": _citation(dataset),
        "isLiveDataset": False,
        "distribution": [_file_object(file) for file in dataset.files],
        "recordSet": [
            *map(_rows, dataset.tables),
            *(_bins(column, table.file) for table in dataset.tables for column in table.file.columns),
        ],
    }
    return json_bytes(with_something(entry))


def _citation(dataset: Dataset) -> str:
    """A BibTeX entry, which is how the format wants to be cited."""
    entries = {
        "title": f"{dataset.title}, version {dataset.card.version}",
        "author": f"{{{dataset.card.organisation}}}" if dataset.card.organisation else "",
        "year": str(dataset.card.published.year),
        "url": dataset.card.url,
    }
    inner = ", ".join(f"{name} = {{{_bibtex(value)}}}" for name, value in entries.items() if value)
    return f"@misc{{{dataset.slug}, {inner}}}"


def _bibtex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", " ".join(text.split()))


def _file_object(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": file.description,
        "contentUrl": file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": file.media_type,
        "sha256": file.sha256,
    }


def _rows(table: DataTable) -> dict[str, Any]:
    """A table. Each column names its bins in words alone: of a reference mlcroissant makes a join, which fails where labels
    look like numbers.
    """
    rows = _name(table.file)
    description = "The synthetic members, by the number of their root." if table.file.of_members else "The synthetic rows."
    fields = [_field(field, table.file) for field in table.fields]
    return {"@type": "cr:RecordSet", "@id": rows, "name": rows, "description": description, "field": fields}


def _field(field: Field, file: TableFile) -> dict[str, Any]:
    of_root = "The number of the root that this member belongs to." if file.of_members else "The number of this root."
    kind, described = {
        "key": ("sc:Integer", of_root),
        "bins": ("sc:Text", ""),
        "weight": ("sc:Float", f"{field.label}."),
        "mark": ("sc:Integer", "1 in every row: the row is synthetic."),
    }[field.kind]
    if field.column is not None:
        described = f"{_described(field.column)} Bins: {_of_bins(field.column, file)}."
    return {
        "@type": "cr:Field",
        "@id": f"{_name(file)}/{field.name}",
        "name": field.name,
        "description": described,
        "dataType": kind,
        "source": {"fileObject": {"@id": file.named("csv")}, "extract": {"column": field.name}},
    }


def _name(file: TableFile) -> str:
    return "members" if file.of_members else "rows"


def _of_bins(column: ColumnPart, file: TableFile) -> str:
    """The name of the bins of a column."""
    return f"{'member_' if file.of_members else ''}{column.name}_bins"


def _bins(column: ColumnPart, file: TableFile) -> dict[str, Any]:
    """The bins of a column in their order, as an enumeration."""
    name = _of_bins(column, file)
    kinds = {"label": "sc:Text", "position": "sc:Integer", "missing": "sc:Boolean"}
    fields = [
        {"@type": "cr:Field", "@id": f"{name}/{property_}", "name": property_, "dataType": kind}
        for property_, kind in kinds.items()
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
            {f"{name}/label": bin_.label, f"{name}/position": position, f"{name}/missing": bool(bin_.missing)}
            for position, bin_ in enumerate(column.bins, start=1)
        ],
    }


def _described(column: ColumnPart) -> str:
    text = f"{column.description} Unit: {column.unit}." if column.unit else column.description
    text = text.strip() or column.name
    return text if text.endswith((".", "!", "?")) else f"{text}."


# ddi.xml: a codebook in the format DDI-Codebook 2.5, with the frequencies of all categories in the released table.


@dataclass(frozen=True, kw_only=True)
class DescribedTable:
    """A table in the codebook.

    Attributes
    ----------
    rows : how often each bin occurs in it.
    numbers : of the files that hold it, as the codebook counts them.
    weighted : whether it has a column of weights.
    """

    file: TableFile
    fields: tuple[Field, ...]
    rows: ReleasedTable
    numbers: str
    weighted: bool


@dataclass(frozen=True, kw_only=True)
class DescribedFile:
    """A file in the codebook, by its number there."""

    number: str
    file: DataFile
    table: DescribedTable


def ddi_bytes(document: ReleaseDocument, table: ReleasedTable, dataset: Dataset) -> bytes:
    """Return ddi.xml."""
    tables, files, number = list[DescribedTable](), list[DescribedFile](), count(1)
    for described, rows in zip(dataset.tables, filter(None, (table.of_roots(), table.of_members())), strict=True):
        numbered = [(f"F{next(number)}", file) for file in described.files]
        tables.append(
            DescribedTable(
                file=described.file,
                fields=described.fields,
                rows=rows,
                numbers=" ".join(name for name, _ in numbered),
                weighted=any(field.kind == "weight" for field in described.fields),
            )
        )
        files += [DescribedFile(number=name, file=file, table=tables[-1]) for name, file in numbered]

    def missing_rows(column: ColumnPart, counts: list[int]) -> int:
        return sum(rows for bin_, rows in zip(column.bins, counts, strict=True) if bin_.missing)

    template, constants = environment().get_template("ddi.xml"), {"notice": NOTICE, "weight": WEIGHT}
    constants |= {"design_weight": "", "design_weight_id": ""}
    if document.design is not None and (weight := document.design.weight) is not None:
        place = [column.name for column in document.table_files[0].columns].index(weight) + 1
        constants |= {"design_weight": weight, "design_weight_id": f"V{place}"}
    text = template.render(constants, document=document, dataset=dataset, tables=tables, files=files, missing_rows=missing_rows)
    return f"{text}\n".encode()
