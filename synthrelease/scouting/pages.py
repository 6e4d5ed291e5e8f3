"""Render the pages of a scout from scout.json alone: the card, the page that answers questions, and the sheet to sign."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from markupsafe import Markup

from synthrelease.bundle.ask import json_in_page, policy_digest
from synthrelease.privacy.charges import decimal_text
from synthrelease.resources import templates
from synthrelease.scouting.columns import GAP
from synthrelease.scouting.document import ScoutDocument, lines_of

_KINDS = {"listed": "codes", "texts": "texts without a list of codes", "number": "numbers"}


def pages(document: ScoutDocument) -> dict[str, bytes]:
    """Return the contents of README.html (the card), ask.html (the page that answers questions) and SIGN.md, by file name."""
    folder, names = Path(__file__).parent / "templates", ("README.html", "ask.html", "SIGN.md")
    environment = templates(folder, __file__)
    script, style = ((folder / name).read_text(encoding="utf-8") for name in ("ask.js", "ask.css"))
    sources = {"script": Markup(script), "script_digest": policy_digest(script)}
    sources |= {"style": Markup(style), "style_digest": policy_digest(style)}
    values = _values(document) | sources | {"data": Markup(json_in_page(_answers(document)))}
    return {name: environment.get_template(name).render(values).encode("utf-8") for name in names}


def _answers(document: ScoutDocument) -> dict[str, Any]:
    """Return the data of ask.html: the cells of each column with their noisy counts.

    In a column that has no list of codes, the cell of the other strings has the count None, which the page computes from
    the rest.
    """
    lines, columns = list(lines_of(document)), []
    for part in document.columns:
        cells: list[dict[str, Any]] = [
            {"value": value, "meaning": "" if (meaning := part.codes.get(value, "")) == value else meaning, "count": count}
            for name, value, count, _ in lines
            if name == part.name
        ]
        if part.kind == "texts":
            cells[-1]["count"] = None
        columns.append({"name": part.name, "text": part.description, "cells": cells})
    return {
        "rows": document.rows,
        "things": _things(document),
        "deviation": round(document.noise_sd, 9),
        "quantile": round(document.quantile, 9),
        "columns": columns,
    }


def _values(document: ScoutDocument) -> dict[str, Any]:
    cap, counts = document.cap, dict[str, list[tuple[str, int]]]()
    for name, value, count, _ in lines_of(document):
        counts.setdefault(name, []).append((value, count))
    amounts = {"epsilon": cap.epsilon, "alone": cap.alone, "tests": cap.tests, "cost": cap.cost, "left": cap.rho_left}
    return {
        "document": document,
        "counts": counts,
        "gap": GAP,
        "kinds": _KINDS,
        "things": _things(document),
        "promise": _promise(document),
        "deviation": f"{round(document.noise_sd):,}",
        "distance": f"{100 * document.dependence.value:.2g}",
        "distance_deviation": f"{100 * document.dependence_deviation:.1g}",
        "unlisted": [part.name for part in document.columns if part.kind == "texts"],
        "tables": sum(part.column.queries for part in document.columns),
        "unit": "epsilon" if cap.pure else "rho",
        "delta": f"{float(cap.delta):g}",
        "share": decimal_text(Fraction(document.cost_per_table)),
        **{name: decimal_text(amount) for name, amount in amounts.items()},
    }


def _things(document: ScoutDocument) -> str:
    return "rows" if document.key is None else "persons"


def _promise(document: ScoutDocument) -> str:
    who = f"one {document.unit}" if document.key is None else "all rows of one person"
    cap, delta = document.cap, f"{float(document.cap.delta):g}"
    plus, both = ("", "") if cap.pure else (f", plus {delta}", f" and delta {delta}")
    return (
        f"Take any two private files of {document.rows:,} {_things(document)}, where {who} of the first file is replaced in "
        f"the second. The probability of any set of scout results from one file is at most e^{decimal_text(cap.alone)} times "
        f"its probability from the other file{plus}. This scout and one later release of the same rows together have epsilon "
        f"{decimal_text(cap.epsilon)}{both}. This cap was fixed before the file was read."
    )
