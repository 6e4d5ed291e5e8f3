"""Write CITATION.cff, datapackage.json and deployment.yaml, an entry (tier 3) for OpenDP's registry of deployments.

The publisher's texts come from the table [card] of the configuration, all other content from release.json.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

import yaml
from jinja2 import DictLoader, Environment, Template

from synthrelease.bundle.card import numbers, sections
from synthrelease.bundle.card.numbers import FOLDER, cost, environment, filled
from synthrelease.bundle.card.sections import parameter_texts
from synthrelease.bundle.dataset import KEYWORDS, Dataset, plain_name, with_something
from synthrelease.bundle.options import about_figures
from synthrelease.privacy.charges import SELECTION
from synthrelease.published.base import json_bytes, sha256
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import IMPUTED
from synthrelease.published.table import NOTICE
from synthrelease.settings.tables import SYNTHETIC

# Tables as YAML: keys in their order, texts of several lines as blocks.


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """A YAML writer in pure Python, whose bytes do not depend on libyaml."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_bytes(tables: dict[str, Any]) -> bytes:
    """Encode tables as YAML, after a comment that the data are synthetic."""
    text: str = yaml.dump(tables, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"# {NOTICE}\n{text}".encode()


# CITATION.cff: how to cite the data, in the Citation File Format 1.2.


def citation_bytes(dataset: Dataset) -> bytes:
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


def datapackage_bytes(document: ReleaseDocument, dataset: Dataset) -> bytes:
    """Return datapackage.json, the schema for tools that read Frictionless data packages."""
    names = {"plain_name": plain_name, "copies": document.bundle.named(IMPUTED), "synthetic": SYNTHETIC}
    return json_bytes(with_something(filled("datapackage.json", document=document, dataset=dataset, **names)))


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
    """Insert the values into all templates of a nested table, each string on one line."""
    if isinstance(value, dict):
        return {name: _filled(inner, values) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values) for inner in value]
    return _text_template(" ".join(value.split())).render(values) if isinstance(value, str) else value


_texts: dict[str, str] = {}


def _text_template(text: str) -> Template:
    name = sha256(text.encode())
    _texts[name] = text
    return _environment_of_texts().get_template(name)


@cache
def _environment_of_texts() -> Environment:
    return environment().overlay(loader=DictLoader(_texts))


def _tree(node: ChargePart, depth: int = 0) -> str:
    line = f"{'  ' * depth}- {node.name}: {cost(node)} ({node.because})" + (f" Reason: {node.reason}" if node.reason else "")
    return "\n".join([line, *(_tree(part, depth + 1) for part in node.parts)])
