"""What each screen shows, gathered from other rooms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthrelease.accounting.charges import Charge, decimal_text
from synthrelease.accounting.stopping_laws import nothing_where
from synthrelease.bounds.intended import question
from synthrelease.bundle.commitment import commitment
from synthrelease.desk.strips import strip
from synthrelease.drafting.public_file import PublicFile
from synthrelease.errors import InputError, SynthreleaseError
from synthrelease.specification.persons import QUESTION, guarantee_in_words
from synthrelease.specification.release_spec import ReleaseSpec

PASSING = (2, 3, 5, 10)
"""Of how many rounds one is accepted, where the chance of ending with nothing is told."""


def people(spec: ReleaseSpec) -> dict[str, Any]:
    """Whom the guarantee protects, in the words of the plan."""
    unit = spec.unit
    return {
        "unit": unit,
        "records": str(unit.records) if unit.answered else "",
        "question": "" if unit.answered else QUESTION,
        "words": guarantee_in_words(unit, spec.plan.total),
    }


def signoff(spec: ReleaseSpec, path: Path) -> dict[str, Any]:
    """What two people sign: the claim, what is missing, the digest that can be published before, and the command."""
    found: dict[str, Any] = {"words": guarantee_in_words(spec.unit, spec.plan.total), "digest": "", "open": []}
    found["unstated"] = spec.unstated
    for check in (spec.check_unit_answered, spec.check_can_fail, lambda: spec.plan.check_limit(spec.limit)):
        try:
            check()
        except SynthreleaseError as error:
            found["open"].append(str(error))
    if not found["open"]:
        found["digest"] = commitment(spec).digest
    found["epsilon"], found["delta"] = decimal_text(spec.plan.total.epsilon), f"{float(spec.plan.total.delta):g}"
    found["command"] = f"synthrelease release {path.name} --data PRIVATE --out FOLDER --ledger LEDGER"
    return found


def columns(spec: ReleaseSpec, public: PublicFile | None, wanted: str) -> dict[str, Any]:
    """One line for each column whose name or description holds the text."""
    low = wanted.lower()
    lines = []
    for number, column in enumerate(spec.schema.columns):
        if low not in f"{column.name} {column.description}".lower():
            continue
        texts: Mapping[str | None, int] = {} if public is None else public.columns.get(column.source or column.name, {})
        lines.append(
            {
                "name": column.name,
                "kind": column.kind,
                "description": column.description,
                "bounds": None if column.bounds is None else [f"{bound:.15g}" for bound in column.bounds],
                "bins": {name: len(binning.labels) for name, binning in column.alternatives.items()},
                "strip": strip(column, texts, f"strip-{number}"),
            }
        )
    return {"lines": lines, "of": len(spec.schema.columns), "wanted": wanted}


def questions(spec: ReleaseSpec) -> dict[str, Any]:
    """The intended questions in words, and every criterion with its threshold."""
    return {
        "asked": [question(each) for each in spec.intended_queries],
        "criteria": [
            {
                "place": place,
                "name": each.name,
                "threshold": f"{each.threshold:.15g}",
                "unit": each.figure_unit,
                "reason": each.reason,
            }
            for place, each in enumerate(spec.criteria)
        ],
    }


def budget(spec: ReleaseSpec) -> dict[str, Any]:
    """The plan as bars, and how likely it buys nothing."""
    total, law = spec.plan.total, spec.selection_rule.law
    leaves = list(_leaves(total, 0))
    most = max((float(each.epsilon) for each, _ in leaves), default=0.0) or 1.0
    return {
        "epsilon": decimal_text(total.epsilon),
        "delta": f"{float(total.delta):g}",
        "limit": None if spec.limit is None else decimal_text(spec.limit),
        "generation": decimal_text(spec.generation_budget),
        "refused": spec.limit is not None and total.epsilon > spec.limit,
        "bars": [
            {
                "name": each.name,
                "epsilon": decimal_text(each.epsilon) if each.renyi is None else "a curve",
                "because": each.because,
                "depth": depth,
                "width": f"{200 * float(each.epsilon) / most:.1f}",
            }
            for each, depth in leaves
        ],
        "nothing": None if law is None else nothing_where(law, PASSING),
    }


def _leaves(charge: Charge, depth: int) -> list[tuple[Charge, int]]:
    return [pair for part in charge.parts for pair in ((part, depth), *_leaves(part, depth + 1))]


def published(folder: Path | None, asked: Mapping[str, str]) -> dict[str, Any]:
    """What `verify` says of a published folder, and an answer with its bound and estimate."""
    if folder is None:
        return {"folder": None}
    from synthrelease.verification.verify import verify_bundle

    found: dict[str, Any] = {"folder": folder.name, "report": None, "query": asked.get("query", ""), "wrong": ""}
    if asked.get("verify"):
        found["report"] = verify_bundle(folder)
    if found["query"]:
        try:
            found |= _answers(folder, found["query"])
        except InputError as error:
            found["wrong"] = str(error)
    return found


def _answers(folder: Path, query: str) -> dict[str, Any]:
    from synthrelease.bounds import bound
    from synthrelease.estimates import estimate
    from synthrelease.published import load

    release = load(folder)
    bounded = bound(release, query)
    try:
        estimated = str(estimate(release, bounded.question if query == bounded.question else f"share {query}"))
    except InputError as error:
        estimated = f"None: {error}"
    return {"naive": f"{bounded.answer:,.6g}", "bounded": str(bounded), "estimated": estimated}
