"""CITATION.cff, datapackage.json, and deployment.yaml, an entry for OpenDP's registry of deployments with all fields of tier 3.

What the publisher has to say comes from [card]; everything else from the release itself.
"""

from __future__ import annotations

import tomllib
from typing import Any

import yaml

from synthrelease.bundle.card import numbers, sections
from synthrelease.bundle.card.numbers import FOLDER, cost, environment
from synthrelease.bundle.card.sections import parameter_texts
from synthrelease.bundle.dataset import KEYWORDS, DataFile, Dataset, DataTable, Field, Licence, plain_name, with_something
from synthrelease.bundle.options import about_figures
from synthrelease.privacy.charges import SELECTION
from synthrelease.published.base import json_bytes
from synthrelease.published.charges import ChargePart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import IMPUTED
from synthrelease.published.table import NOTICE, TableFile
from synthrelease.settings.tables import SYNTHETIC

# Tables as YAML: keys in their order, texts of several lines as blocks.


class _Dumper(yaml.SafeDumper):
    """The writer in pure Python, whose bytes do not depend on whether libyaml is there."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_bytes(tables: dict[str, Any]) -> bytes:
    """The tables, below a comment that says that the data are synthetic."""
    text: str = yaml.dump(tables, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"# {NOTICE}\n{text}".encode()


# CITATION.cff: how to cite the data, in the Citation File Format 1.2.


def citation_bytes(dataset: Dataset) -> bytes:
    """Return CITATION.cff, with what the publisher has stated."""
    author = {"name": dataset.card.organisation or "The publisher of this release", **dataset.reached("email", "website")}
    tables: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these synthetic data, please cite them as below.",
        "type": "dataset",
        "title": dataset.title,
        "authors": [author],
        "version": dataset.card.version,
        "date-released": dataset.day,
        "abstract": dataset.summary,
        "keywords": list(KEYWORDS),
        "license": dataset.licence.name,
        "license-url": "" if dataset.licence.name else dataset.licence.address,
        "url": dataset.card.url,
    }
    return yaml_bytes(with_something(tables))


# datapackage.json: the schema for tools that read Frictionless data packages (version 1; valid as version 2 as well).


def datapackage_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """Return datapackage.json."""
    source = dataset.card.source
    package: dict[str, Any] = {
        "name": dataset.slug,
        "title": dataset.title,
        "description": dataset.summary,
        "version": dataset.card.version,
        "created": f"{dataset.day}T00:00:00Z",
        "licenses": _licences(dataset.licence),
        "contributors": _contributors(dataset),
        "sources": [{"title": "Original records, not published", "description": source}] if source else [],
        "homepage": dataset.card.url,
        "resources": [_resource(document, dataset, file) for file in dataset.files],
    }
    return json_bytes(with_something(package))


def _licences(licence: Licence) -> list[dict[str, str]]:
    licence_ = {"name": licence.name, "title": licence.title, "path": licence.address}
    return [with_something(licence_)] if licence.title and licence.address else []


def _contributors(dataset: Dataset) -> list[dict[str, str]]:
    contributor = {"title": dataset.card.organisation, "role": "publisher", **dataset.reached("email", "path")}
    return [contributor] if dataset.card.organisation else []


def _resource(document: ReleaseDocument, dataset: Dataset, file: DataFile) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": plain_name(file.name),
        "path": file.name,
        "description": file.description,
        "format": file.format,
        "mediatype": file.media_type,
        "hash": f"sha256:{file.sha256}",
    }
    held = (table for table in dataset.tables if file in table.files and file.ending in ("csv", "parquet"))
    table = next(held, None)
    schema = None if table is None else _schema(document, table)
    if file.name == document.bundle.named(IMPUTED):
        marks = [_MARK] if document.bundle.synthetic_column else []
        schema = {"fields": [*_FIELDS_OF_COPIES, *map(_field_of_bins, document.columns), *marks], "missingValues": []}
    if schema is not None:  # without one a reader would guess it from the first rows
        resource |= {"profile": "tabular-data-resource", "schema": schema}
    if schema is not None and file.ending == "csv":
        resource |= {
            # frictionless 5.21 takes it for a mistake elsewhere: it does not count the bytes of Parquet files
            "bytes": file.size,
            "encoding": "utf-8",
            "dialect": {"delimiter": ",", "lineTerminator": "\n", "header": True},
        }
    return resource


_FIELDS_OF_COPIES = (
    {"name": ".imp", "type": "integer", "description": "Number of the complete copy, from 1."},
    {"name": ".id", "type": "integer", "description": "Row of data.csv, from 1."},
    {"name": ".imputed", "type": "string", "description": "Columns that were filled in, with a space between two."},
)
_MARK = {
    "name": SYNTHETIC,
    "type": "integer",
    "description": "1 in every row: the row is synthetic.",
    "constraints": {"required": True, "enum": [1]},
}


def _schema(document: ReleaseDocument, table: DataTable) -> dict[str, Any]:
    """Fields and keys: each member has the key of its root."""
    key = table.file.key
    schema: dict[str, Any] = {"fields": [_field(document, table.file, field) for field in table.fields], "missingValues": []}
    if table.file.of_members:
        schema["foreignKeys"] = [{"fields": [key], "reference": {"resource": plain_name(document.csv), "fields": [key]}}]
    elif key:
        schema["primaryKey"] = [key]
    return schema


def _field(document: ReleaseDocument, file: TableFile, field: Field) -> dict[str, Any]:
    if field.column is not None:
        role = document.role_of(field.column)
        return _field_of_bins(field.column) | ({} if role == "answer" else {"role": role})
    if field.kind == "key":
        what_it_counts = (
            "the row that this member belongs to" if file.of_members else "this row, from 1; it is in no other file"
        )
        constraints = {"required": True, "minimum": 1} | ({} if file.of_members else {"unique": True})
        return {
            "name": field.name,
            "type": "integer",
            "description": f"Number of {what_it_counts}.",
            "constraints": constraints,
        }
    calibration = document.calibration
    if field.kind == "weight" and calibration is not None and calibration.weights is not None:
        limits = {"required": True, "minimum": calibration.weights.smallest, "maximum": calibration.weights.largest}
        described = f"{field.label}. Raked to: {calibration.source}"
        return {"name": field.name, "type": "number", "description": described, "constraints": limits}
    return _MARK


def _field_of_bins(column: ColumnPart) -> dict[str, Any]:
    described = f"{column.description} Unit: {column.unit}." if column.unit else column.description
    missing = [bin_.label for bin_ in column.bins if bin_.missing]
    described += "".join(f" {label!r} stands for a missing value." for label in missing)
    field = {
        "name": column.name,
        "type": "string",
        "description": described.strip(),
        "constraints": {"required": not missing, "enum": list(column.labels)},  # version 1 knows no missing values of a field
        "categories": [bin_.label for bin_ in column.bins if not bin_.missing],
        "categoriesOrdered": column.ordered,
        "missingValues": missing,
    }
    return with_something(field)


# deployment.yaml: an entry for OpenDP's registry of deployments.

NOT_STATED = "Not stated by the publisher."


def deployment_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """Return deployment.yaml, in the layout of the registry's schema of 2026."""
    card, guarantee, domain = dataset.card, document.guarantee, document.domain
    settings = (f"{name}: {value}" for part in document.configuration.values() for name, value in parameter_texts(part))
    values = {
        "document": document,
        "dataset": dataset,
        "card": card,
        "guarantee": guarantee,
        "pure": guarantee.delta_exact == "0",
        "publisher": card.organisation or "The publisher",
        "not_stated": NOT_STATED,
        "family": str(document.configuration.get("generator", {}).get("family", "")),
        "drawn": "; ".join(settings),
        "mechanisms": list(dict.fromkeys(leaf.because for leaf in document.charges.leaves())),
        "doubled": SELECTION in document.charges.rules,
        "about_figures": about_figures(document),
        "tree": _tree,
        "explain": sections,
        "n": numbers,
    }
    entry = _filled(tomllib.loads((FOLDER / "deployment.toml").read_text(encoding="utf-8")), values)
    loss = entry["deployment"]["privacy_loss"]
    loss["number_of_privacy_units"] = domain.persons or domain.file_rows or document.rows_worked_with
    delta = {} if guarantee.delta_exact == "0" else {"delta": float(guarantee.delta)}
    loss["privacy_parameters"] = {"epsilon": float(guarantee.epsilon), **delta}
    administrative = entry["deployment"]["administrative"]
    source = {"title": dataset.title, "year": str(card.published.year), "author": card.organisation, "url": card.url}
    administrative["evidence_sources"]["data_card"]["misc"] = with_something(source)
    administrative["registry_authors"] = list(card.registry_authors) or [card.organisation or NOT_STATED]
    return yaml_bytes(entry)


def _filled(value: Any, values: dict[str, Any]) -> Any:
    """Fill in each text of a table: it is a template of its own, in which a line end is a space."""
    if isinstance(value, dict):
        return {name: _filled(inner, values) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values) for inner in value]
    return environment().from_string(" ".join(value.split())).render(values) if isinstance(value, str) else value


def _tree(node: ChargePart, depth: int = 0) -> str:
    """A charge and its parts, each a line."""
    line = f"{'  ' * depth}- {node.name}: {cost(node)} ({node.because})" + (f" Reason: {node.reason}" if node.reason else "")
    return "\n".join([line, *(_tree(part, depth + 1) for part in node.parts)])
