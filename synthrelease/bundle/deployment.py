"""deployment.yaml: an entry for OpenDP's registry of deployments of differential privacy, with all fields of its tier 3.

What the publisher has to say comes from [card]; everything else from the release itself.
"""

from __future__ import annotations

from typing import Any

from synthrelease.bundle.card.explanations import criterion_unit, generator_text, interval_text, parameter_texts
from synthrelease.bundle.card.numbers import cost, figure
from synthrelease.bundle.card.protection import domain_text, left_out_text, person_text
from synthrelease.bundle.datapackage import slug
from synthrelease.bundle.options import about_figures
from synthrelease.bundle.titles import labelled_title
from synthrelease.bundle.yaml_text import yaml_bytes
from synthrelease.privacy.charges import SELECTION
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument

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
    if (found := document.weights_column) is None:
        return ""
    return f" A column of weights was raked from the released rows to published totals (source: {found.source.rstrip('.')})."


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
