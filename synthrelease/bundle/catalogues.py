"""Write entries for data catalogues: DCAT-AP 3, Croissant 1.0 and DDI-Codebook 2.5."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

from synthrelease.bundle.card.numbers import environment, filled
from synthrelease.bundle.dataset import Dataset, with_something
from synthrelease.data.weights import WEIGHT
from synthrelease.published.base import json_bytes
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable
from synthrelease.resources import library


def catalogue_entries(document: ReleaseDocument, table: ReleasedTable, dataset: Dataset) -> dict[str, bytes]:
    """Return the catalogue entries that `catalogues` in [bundle] requests, by file name.

    Raises
    ------
    InputError : if the library rdflib, which writes dcat.ttl, is not installed.
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


def jsonld_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """Describe the release in DCAT-AP 3, with the fields of HealthDCAT-AP that the publisher has stated."""
    entry = filled("dcat.json", document=document, dataset=dataset)
    return json_bytes(entry | {"@graph": [with_something(node) for node in entry["@graph"]]})


def turtle_bytes(jsonld: bytes) -> bytes:
    """Convert dcat.jsonld to the format Turtle, after a comment.

    Raises
    ------
    InputError : if the library rdflib (extra `catalogue`) is not installed.
    """
    rdflib = library("rdflib", "rdflib", "dcat.ttl, which [bundle] catalogues requests", "catalogue")
    graph = rdflib.Graph(bind_namespaces="none")
    graph.parse(data=jsonld.decode("utf-8"), format="json-ld")
    for prefix, name in json.loads(jsonld)["@context"].items():
        graph.bind(prefix, name)
    return f"# {NOTICE}\n{graph.serialize(format='turtle')}".encode()


def croissant_bytes(dataset: Dataset) -> bytes:
    """Describe the release in Croissant 1.0, for machine learning tools."""
    return json_bytes(with_something(filled("croissant.json", dataset=dataset, cited=_citation(dataset))))


def _citation(dataset: Dataset) -> str:
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


def ddi_bytes(document: ReleaseDocument, table: ReleasedTable, dataset: Dataset) -> bytes:
    """Describe the release in DDI-Codebook 2.5, with the frequency of every category in the released table."""
    tables, files, number = list[dict[str, Any]](), list[dict[str, Any]](), count(1)
    for described, rows in zip(dataset.tables, filter(None, (table.of_roots(), table.of_members())), strict=True):
        numbered = [(f"F{next(number)}", file) for file in described.files]
        numbers = " ".join(name for name, _ in numbered)
        tables.append({"file": described.file, "fields": described.fields, "rows": rows, "numbers": numbers})
        files += [{"number": name, "file": file, "table": tables[-1]} for name, file in numbered]

    def missing_rows(column: ColumnPart, counts: list[int]) -> int:
        return sum(rows for bin_, rows in zip(column.bins, counts, strict=True) if bin_.missing)

    template, constants = environment().get_template("ddi.xml"), {"notice": NOTICE, "weight": WEIGHT}
    constants |= {"design_weight": "", "design_weight_id": ""}
    if document.design is not None and (weight := document.design.weight) is not None:
        place = [column.name for column in document.table_files[0].columns].index(weight) + 1
        constants |= {"design_weight": weight, "design_weight_id": f"V{place}"}
    text = template.render(constants, document=document, dataset=dataset, tables=tables, files=files, missing_rows=missing_rows)
    return f"{text}\n".encode()
