"""croissant.json: the release for tools of machine learning, in the format Croissant 1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from synthrelease.bundle.card.numbers import address, description, keywords, labelled_title, licence_address, provenance
from synthrelease.bundle.metadata import describe_file, media_type, slug
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import TableFile
from synthrelease.settings.tables import SYNTHETIC

_CONTEXT: dict[str, Any] = {
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
        "@context": _CONTEXT,
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
        "distribution": [_file(document, name, sizes[name]) for name in sorted(document.files)],
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


def _file(document: ReleaseDocument, name: str, size: int) -> dict[str, Any]:
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
