"""CITATION.cff, datapackage.json, and deployment.yaml, an entry for OpenDP's registry of deployments with all fields of tier 3.

What the publisher has to say comes from [card]; everything else from the release itself.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from synthrelease.bundle.card.numbers import cost
from synthrelease.bundle.card.sections import (
    criterion_unit,
    domain_text,
    generator_text,
    interval_text,
    left_out_text,
    parameter_texts,
    person_text,
)
from synthrelease.bundle.dataset import KEYWORDS, DataFile, Dataset, DataTable, Field, Licence, plain_name
from synthrelease.bundle.options import about_figures
from synthrelease.criteria.facts import figure
from synthrelease.privacy.charges import SELECTION
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
    return yaml_bytes({name: value for name, value in tables.items() if value != ""})


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
    kept = {name: value for name, value in package.items() if value not in ("", [])}
    return (json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _licences(licence: Licence) -> list[dict[str, str]]:
    stated = {"name": licence.name, "title": licence.title, "path": licence.address}
    return [{name: text for name, text in stated.items() if text}] if licence.title and licence.address else []


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
        return _field_of_bins(field.column)
    if field.kind == "key":
        said = "the row that this member belongs to" if file.of_members else "this row, from 1; it is in no other file"
        constraints = {"required": True, "minimum": 1} | ({} if file.of_members else {"unique": True})
        return {"name": field.name, "type": "integer", "description": f"Number of {said}.", "constraints": constraints}
    calibration = document.calibration
    if field.kind == "weight" and calibration is not None and calibration.weights is not None:
        limits = {"required": True, "minimum": calibration.weights.smallest, "maximum": calibration.weights.largest}
        described = f"{field.label}. Raked to: {calibration.source}"
        return {"name": field.name, "type": "number", "description": described, "constraints": limits}
    return _MARK


def _field_of_bins(column: ColumnPart) -> dict[str, Any]:
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


NOT_STATED = "Not stated by the publisher."


def deployment_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """deployment.yaml, in the layout of the registry's schema of 2026."""
    return yaml_bytes(
        {
            "url_slug": dataset.slug,
            "deployment": {
                "basic": _basic(dataset),
                "dp_variant": _variant(document),
                "privacy_loss": _privacy_loss(document),
                "deployment_model": _model(document),
                "implementation": _implementation(document),
                "administrative": _administrative(dataset),
            },
        }
    )


def _basic(dataset: Dataset) -> dict[str, Any]:
    card = dataset.card
    curator = {"data_curator_name": card.organisation or NOT_STATED, "data_curator_type": card.organisation_type}
    return {
        "name": dataset.title,
        "data_curators": [curator],
        "description": dataset.summary or NOT_STATED,
        "intended_use": _listed(card.uses) if card.uses else NOT_STATED,
        "data_product_type": "Synthetic data",
        "data_product_region": card.region or NOT_STATED,
        "data_product_sector": card.sector,
        "publication_date": dataset.day,
    }


def _variant(document: ReleaseDocument) -> dict[str, Any]:
    names = ", ".join(column.name for column in document.columns)
    return {
        "variant_name": "Pure DP" if document.guarantee.delta_exact == "0" else "Approximate DP",
        "data_domain": f"Columns: {names}, with public bounds and categories (release.json). {domain_text(document)} "
        f"{left_out_text(document)}",
        "unprotected_quantities": _listed(document.guarantee.invariants),
    }


def _privacy_loss(document: ReleaseDocument) -> dict[str, Any]:
    guarantee = document.guarantee
    parameters = {"epsilon": float(guarantee.epsilon)}
    persons = document.domain.persons
    counted = "rows" if persons is None else "persons"
    if guarantee.delta_exact != "0":
        parameters["delta"] = float(guarantee.delta)
    return {
        "privacy_unit": guarantee.unit[:1].upper() + guarantee.unit[1:],
        "privacy_unit_details": f"{person_text(document)} Adjacent files have the same, public number of {counted} (bounded "
        "differential privacy); the bound on the input distance is one replaced record.",
        "number_of_privacy_units": persons or document.domain.file_rows or document.rows_worked_with,
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"Exactly {guarantee.epsilon_exact}; rounded up where a decimal cannot be exact. It "
        f"covers every file of the release together. The charges:\n{_tree(document.charges)}",
    }


def _model(document: ReleaseDocument) -> dict[str, Any]:
    card = document.card
    publisher = card.organisation or "The publisher"
    return {
        "model_name": "Central",
        "model_name_details": f"{publisher} holds the original records and runs the release in its protected environment; "
        "only the files of the release leave it.",
        "trust_assumptions": "Data subjects trust the curator and the administrators of its environment, who can read the "
        "original records. Nobody else needs to be trusted: readers of the release may know anything and may compute without "
        "bounds.",
        "actors": _listed(
            (
                f"Curator: {publisher}.",
                "Data subjects: the persons behind the original records.",
                "Data users and the public, who see the files; among them adversaries with any side information.",
            )
        ),
        "release_type": "One release",
        "release_type_details": card.maintenance or NOT_STATED,
        "data_source_type": "Static",
        "data_source_type_details": card.source or NOT_STATED,
        "access_type": "Non-interactive",
        "access_type_details": "Files are published; nobody can query the original records.",
    }


def _implementation(document: ReleaseDocument) -> dict[str, Any]:
    card, configuration = document.card, document.configuration
    minimum = f" no row occurs fewer than {document.minimum_count} times;" if document.minimum_count > 1 else ""
    family = str(configuration.get("generator", {}).get("family", ""))
    drawn = "; ".join(f"{name}: {value}" for part in configuration.values() for name, value in parameter_texts(part))
    ending = "passes one noisy test of all criteria together" if document.selection.joint_test else "meets all criteria"
    short = ", with OpenDP for the noise of fewer than 200 numbers" if "opendp" in document.versions else ""
    mechanisms = dict.fromkeys(leaf.because for leaf in document.charges.leaves())
    return {
        "preprocessing_and_hyperparameter_tuning": "Values were put into public bins; values outside the public bounds, "
        "missing ones and records against the plausibility rules were treated by public rules. Configurations were drawn at "
        f"random from {document.selection.configurations} within the accounted selection.\n{card.tuning or NOT_STATED}",
        "mechanisms": _listed(
            (
                f"{generator_text(family)} Drawn configuration: {drawn}.".strip(),
                *mechanisms,
                f"Private selection ({_theorem(document)}): rounds are run until one {ending}.",
                f"Software: synthrelease{short}; noise is drawn by exact inversion of random bits, private choices exactly "
                "from whole numbers; " + ", ".join(f"{name} {version}" for name, version in document.versions.items()) + ".",
                "Side channels. Floating point: noise is drawn as whole numbers on public grids, epsilons are exact fractions. "
                "Timing and number of rounds: neither is published; every criterion is scored in every round. Randomness: the "
                "operating system's generator, no seed. Errors: one opaque message for everything that sees original records.",
                f"Access to the original records: {card.access or NOT_STATED}",
            )
        ),
        "composition": " ".join(
            [
                f"Sequential composition; {_selected(document)}; what was measured once is charged once.",
                *about_figures(document),
            ]
        ),
        "post_processing": f"Consistency of the noisy tables, sampling of rows, exclusion of implausible rows;{minimum} rows "
        f"are published sorted.{_weights(document)} The documents are written from the released table and figures alone.",
        "justification": card.justification or NOT_STATED,
        "utility": _listed(
            f"{one.name}: released figure {figure(one.value)} {criterion_unit(one, document)}".rstrip()
            + f", threshold {figure(one.threshold)}, interval for the exact figure: {interval_text(one.interval)}"
            for one in document.criteria
        ),
        "additional_information": f"All figures are in release.json; `synthrelease verify` checks them. {card.url}".strip(),
    }


def _weights(document: ReleaseDocument) -> str:
    if document.calibration is None or document.calibration.weights is None:
        return ""
    source = document.calibration.source.rstrip(".")
    return f" A column of weights was raked from the released rows to published totals (source: {source})."


def _administrative(dataset: Dataset) -> dict[str, Any]:
    card = dataset.card
    source = {"title": dataset.title, "year": str(dataset.card.published.year)}
    source |= {"author": card.organisation} if card.organisation else {}
    source |= {"url": card.url} if card.url else {}
    return {
        "evidence_sources": {
            "data_card": {"evidence_source_type": "Formal publication by the deploying organization", "misc": source}
        },
        "status": "Draft",
        "registry_authors": list(card.registry_authors) or [card.organisation or NOT_STATED],
        "tier": 3,
    }


def _listed(texts: Any) -> str:
    lines = [" ".join(str(text).split()) for text in texts]
    return "\n".join(f"- {line}" for line in lines) + "\n" if lines else NOT_STATED


def _tree(node: ChargePart, depth: int = 0) -> str:
    own = f"{'  ' * depth}- {node.name}: {cost(node)} ({node.because})" + (f" Reason: {node.reason}" if node.reason else "")
    return "\n".join([own, *(_tree(part, depth + 1) for part in node.parts)])


def _selected(document: ReleaseDocument) -> str:
    """What the selection makes of the charge of one round."""
    if SELECTION not in document.charges.rules:
        return "what a selection makes of the charge of one round follows from the law of their number, as the charges say"
    return "the charge of one round of the selection is doubled (pure differential privacy, any number of rounds)"


def _theorem(document: ReleaseDocument) -> str:
    if document.selection.rounds is not None:
        return "a hidden number of rounds; synthrelease, docs/theory.md 2b"
    if document.selection.shape is not None:
        return "a hidden, truncated negative binomial number of rounds; Papernot and Steinke 2022"
    return "with a known threshold; Liu and Talwar 2019"
