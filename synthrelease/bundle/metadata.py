"""deployment.yaml: an entry for OpenDP's registry of deployments of differential privacy, with all fields of its tier 3.

What the publisher has to say comes from [card]; everything else from the release itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from synthrelease.bundle.card.numbers import cost, labelled_title
from synthrelease.bundle.card.sections import (
    criterion_unit,
    domain_text,
    generator_text,
    interval_text,
    left_out_text,
    parameter_texts,
    person_text,
)
from synthrelease.bundle.options import about_figures
from synthrelease.criteria.facts import figure
from synthrelease.data.weights import WEIGHT
from synthrelease.privacy.charges import SELECTION
from synthrelease.published import associations, measurements
from synthrelease.published import base as checksums
from synthrelease.published import base as signatures
from synthrelease.published.charges import ChargePart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import documents, kind_of, namings
from synthrelease.published.options import IMPUTED
from synthrelease.published.table import NOTICE, TableFile
from synthrelease.settings.card import LICENCES, is_email
from synthrelease.settings.tables import SYNTHETIC
from synthrelease.spec import canonical

# The files of a bundle and what each is for.

FILES = {
    "data.csv": "the released rows: bin labels, UTF-8, one header line",
    "data.parquet": "the same rows for programs: every column a dictionary of all its labels, ordered where the bins are",
    "members.csv": "the members of the rows, with the key of their root: bin labels, UTF-8, one header line",
    "members.parquet": "the same members for programs, as the rows",
    measurements.NAME: "the noisy marginals that the rows were made from, with their noise, where they are published",
    IMPUTED: "complete copies of the rows (.imp), by the row of the table (.id), with the columns that were filled in",
    "estimates.csv": "shares, means, counts and intended questions with intervals, from the published noisy marginals",
    associations.NAME: "which pairs of columns, and which three columns at once, the rows carry the association of, and why",
    "release.json": "the guarantee, the charges, every released figure, the schema, the rules and the publisher's texts",
    canonical.NAME: "what was fixed before the private file was read: the text whose digest is that of the specification",
    "datapackage.json": "the same schema as a Frictionless data package",
    "deployment.yaml": "an entry for OpenDP's registry of deployments",
    "CITATION.cff": "how to cite the data",
    "QUESTIONS.md": "questions in R, Python and, where names allow it, Stata: code for these files, with intervals",
    "SIGN.md": "the claim in a sentence and eight checks with commands and what to expect, for whoever signs the release off",
    "README.html": "this card as a page",
    "README.md": "this card as plain text",
    checksums.NAME: "the SHA-256 checksum of every file",
    signatures.SIGNATURE: "the publisher's signature of the checksums, where the bundle is signed",
    signatures.PUBLIC_KEY: "the key that checks the signature, where the bundle is signed",
}


def data_files(document: ReleaseDocument) -> list[str]:
    """The files whose checksums stand in release.json: the table, and whatever else was released."""
    return sorted(document.files)


def file_lines(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Every file that a bundle can have, with what it is for."""
    signed = [checksums.NAME, signatures.SIGNATURE, signatures.PUBLIC_KEY]
    return [
        (name, describe_file(name))
        for name in [*data_files(document), "release.json", canonical.NAME, *documents(document), *signed]
    ]


def describe_file(name: str) -> str:
    """What a file is for, in a line."""
    if name.startswith("README.") and name not in FILES:
        return "the part of this card for everyone, in another language"
    further = {one: words for naming in namings().values() for one, words in naming.words.items()}
    return {**FILES, **further}.get(name.removeprefix("synthetic-"), "a further file of this release")


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


# datapackage.json: the schema for tools that read Frictionless data packages (version 1; valid as version 2 as well).

MEDIA_TYPES = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
"""By the ending of a file; options have further ones."""


def datapackage_bytes(document: ReleaseDocument, sizes: Mapping[str, int]) -> bytes:
    """datapackage.json. `sizes` are the lengths of the data files in bytes."""
    card = document.card
    package: dict[str, Any] = {
        "name": slug(document),
        "title": labelled_title(document),
        "description": card.summary or document.description,
        "version": card.version,
        "created": f"{card.published.isoformat()}T00:00:00Z",
        "licenses": _licences(document),
        "contributors": _contributors(document),
        "sources": [{"title": "Original records, not published", "description": card.source}] if card.source else [],
        "homepage": card.url,
        "resources": [_resource(document, name, sizes[name]) for name in sorted(document.files)],
    }
    kept = {name: value for name, value in package.items() if value not in ("", [])}
    return (json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def slug(document: ReleaseDocument) -> str:
    """A name out of small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", (document.card.title or document.title).lower()).strip("-")
    return f"{name or 'release'}-{re.sub('[^a-z0-9]+', '-', document.card.version.lower()).strip('-') or '1'}"


def _licences(document: ReleaseDocument) -> list[dict[str, str]]:
    card = document.card
    if card.licence in LICENCES:
        title, address = LICENCES[card.licence]
        return [{"name": card.licence, "title": title, "path": address}]
    return [{"title": card.licence, "path": card.licence_url}] if card.licence and card.licence_url else []


def _contributors(document: ReleaseDocument) -> list[dict[str, str]]:
    card = document.card
    if not card.organisation:
        return []
    reached = {} if not card.contact else {"email" if is_email(card.contact) else "path": card.contact}
    return [{"title": card.organisation, "role": "publisher", **reached}]


def _resource(document: ReleaseDocument, name: str, size: int) -> dict[str, Any]:
    ending = name.rpartition(".")[2]
    resource: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        "path": name,
        "description": describe_file(name),
        "format": ending if (kind := kind_of(name)) is None else kind.format,
        "mediatype": media_type(name),
        "hash": f"sha256:{document.files[name]}",
    }
    table = next((one for one in document.table_files if name in (one.named("csv"), one.named("parquet"))), None)
    schema = None if table is None else _schema(document, table)
    if name == document.bundle.named(IMPUTED):
        schema = {"fields": [*_FIELDS_OF_COPIES, *map(_field, document.columns), *_marks(document)], "missingValues": []}
    if schema is not None:  # without one a reader would guess it from the first rows
        resource |= {"profile": "tabular-data-resource", "schema": schema}
    if schema is not None and name.endswith(".csv"):
        resource |= {
            "bytes": size,  # frictionless 5.21 takes it for a mistake elsewhere: it does not count the bytes of Parquet files
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


def media_type(name: str) -> str:
    """The media type of a file of a bundle."""
    kind = kind_of(name)
    return MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream") if kind is None else kind.media_type


def _marks(document: ReleaseDocument) -> list[dict[str, Any]]:
    return [_MARK] if document.bundle.synthetic_column else []


def _schema(document: ReleaseDocument, table: TableFile) -> dict[str, Any]:
    """Fields and keys: each member has the key of its root."""
    schema: dict[str, Any] = {"fields": _fields(document, table), "missingValues": []}
    if table.of_members:
        roots = re.sub(r"[^a-z0-9]+", "-", document.csv.lower()).strip("-")
        schema["foreignKeys"] = [{"fields": [table.key], "reference": {"resource": roots, "fields": [table.key]}}]
    elif table.key:
        schema["primaryKey"] = [table.key]
    return schema


def _fields(document: ReleaseDocument, table: TableFile) -> list[dict[str, Any]]:
    fields = [_field(column) for column in table.columns]
    if table.key:
        said = "the row that this member belongs to" if table.of_members else "this row, from 1; it is in no other file"
        constraints = {"required": True, "minimum": 1} | ({} if table.of_members else {"unique": True})
        fields = [
            {"name": table.key, "type": "integer", "description": f"Number of {said}.", "constraints": constraints},
            *fields,
        ]
    mark = _marks(document)
    calibration = document.calibration
    if calibration is None or calibration.weights is None or table.of_members:
        return fields + mark
    limits = {"minimum": calibration.weights.smallest, "maximum": calibration.weights.largest}
    described = f"For how many a row stands. Raked to: {calibration.source}"
    return [
        *fields,
        {"name": WEIGHT, "type": "number", "description": described, "constraints": {"required": True, **limits}},
        *mark,
    ]


def _field(column: ColumnPart) -> dict[str, Any]:
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


def deployment_bytes(document: ReleaseDocument) -> bytes:
    """deployment.yaml, in the layout of the registry's schema of 2026."""
    return yaml_bytes(
        {
            "url_slug": slug(document),
            "deployment": {
                "basic": _basic(document),
                "dp_variant": _variant(document),
                "privacy_loss": _privacy_loss(document),
                "deployment_model": _model(document),
                "implementation": _implementation(document),
                "administrative": _administrative(document),
            },
        }
    )


def _basic(document: ReleaseDocument) -> dict[str, Any]:
    card = document.card
    curator = {"data_curator_name": card.organisation or NOT_STATED, "data_curator_type": card.organisation_type}
    return {
        "name": labelled_title(document),
        "data_curators": [curator],
        "description": card.summary or document.description or NOT_STATED,
        "intended_use": _listed(card.uses) if card.uses else NOT_STATED,
        "data_product_type": "Synthetic data",
        "data_product_region": card.region or NOT_STATED,
        "data_product_sector": card.sector,
        "publication_date": card.published.isoformat(),
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


def _administrative(document: ReleaseDocument) -> dict[str, Any]:
    card = document.card
    source = {"title": labelled_title(document), "year": str(card.published.year)}
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
