"""release.json: the guarantee, the charges, the released figures and the schema, for people and programs."""

from __future__ import annotations

import math
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from synthrelease.bundle.acceptance import acceptance_table
from synthrelease.criteria import Score
from synthrelease.privacy import Charge, Guarantee, decimal_text
from synthrelease.releasing import Release
from synthrelease.schema import Binning, Column

FORMAT = 1
_PACKAGES = ("synthrelease", "numpy", "pandas", "scipy", "networkx", "joblib", "opendp", "diffprivlib", "pydantic")


def release_document(release: Release, files: dict[str, str]) -> dict[str, Any]:
    """Everything in release.json. `files` are the other files of the bundle with their sha256."""
    candidate = release.candidate
    return {
        "format": FORMAT,
        "title": release.spec.title,
        "description": release.spec.description.strip(),
        "synthetic": True,
        "guarantee": guarantee_table(release.guarantee),
        "charges": charge_tree(release.charges),
        "criteria": [score_table(score) for score in release.scores],
        "acceptance": acceptance_table(release),
        "configuration": candidate.configuration.describe(),
        "schema": [
            column_table(column, binning)
            for column, binning in zip(candidate.transformation.schema.columns, candidate.transformation.binnings, strict=True)
        ],
        "rules": list(release.spec.rules),
        "n_rows": candidate.n,
        "files": files,
        "versions": versions(),
    }


def number(value: float) -> float | int:
    """A JSON number; whole ones without a point."""
    return int(value) if float(value).is_integer() else float(value)


def guarantee_table(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "epsilon": float(decimal_text(guarantee.epsilon)),
        "delta": float(guarantee.delta),
        "neighbours": guarantee.neighbours,
        "unit": guarantee.unit,
        "invariants": list(guarantee.invariants),
    }


def charge_tree(charge: Charge) -> dict[str, Any]:
    """A node of the charge tree; parts are left out where there are none."""
    node: dict[str, Any] = {
        "name": charge.name,
        "epsilon": float(decimal_text(charge.epsilon)),
        "delta": float(charge.delta),
        "because": charge.because,
    }
    return node | ({"parts": [charge_tree(part) for part in charge.parts]} if charge.parts else {})


def score_table(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "kind": score.kind,
        "threshold": number(score.threshold),
        "value": score.value,
        "epsilon": float(decimal_text(score.epsilon)),
        "mechanism": score.mechanism,
        "sensitivity": score.sensitivity,
        "noise_sd": score.noise_sd,
        "passed": score.passed,
    }


def column_table(column: Column, binning: Binning) -> dict[str, Any]:
    """A column of the released table with its bins; null edges are open."""
    bins = []
    for index, label in enumerate(binning.labels):
        bin_table: dict[str, Any] = {"label": label}
        if binning.lower:
            lower, upper = binning.lower[index], binning.upper[index]
            bin_table |= {
                "from": number(lower) if math.isfinite(lower) else None,
                "below": number(upper) if math.isfinite(upper) else None,
            }
        if binning.numbers[index] is not None:
            bin_table["number"] = number(binning.numbers[index] or 0.0)
        bins.append(bin_table)
    return {
        "name": column.name,
        "kind": column.kind,
        "description": column.description,
        "unit": column.unit,
        "binning": binning.name,
        "ordered": column.ordered,
        "bins": bins,
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a release rests on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found
