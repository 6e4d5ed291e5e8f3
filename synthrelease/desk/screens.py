"""What each screen shows, gathered from other rooms."""

from __future__ import annotations

import datetime
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.accounting.charges import Charge, decimal_text
from synthrelease.accounting.stopping_laws import nothing_where
from synthrelease.bundle.commitment import commitment
from synthrelease.criteria import Criterion
from synthrelease.desk.edits import CARD_LISTS, CARD_TEXTS
from synthrelease.desk.files import BothTexts
from synthrelease.desk.pictures import bin_counts, marks, strip
from synthrelease.desk.rehearsals import Rehearsals, Rehearsed
from synthrelease.domain.schema import Column
from synthrelease.drafting.other_kind import Guesses
from synthrelease.drafting.public_file import PublicFile
from synthrelease.errors import InputError, SpecError, SynthreleaseError
from synthrelease.ledger.entries import Statement
from synthrelease.rehearsal.expected_noise import cheapest_for, expected_answers, measured_tables, off_by_column
from synthrelease.specification.persons import QUESTION, guarantee_in_words
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.shortlist import narrowed

PASSING = (2, 3, 5, 10)
"""Of how many rounds one is accepted, where the chance of ending with nothing is told."""
MOST_STRIPS = 1_000
FREQUENT = 3


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a ledger says, or why it says nothing; neither where none was given."""

    statement: Statement | None = None
    why: str = ""


class Strips:
    """Pictures and counts of the public columns, made once for each column as it stands."""

    def __init__(self, public: PublicFile | None):
        self.public = public
        self._kept: OrderedDict[tuple[object, ...], tuple[Markup, np.ndarray | None]] = OrderedDict()

    def of(self, column: Column) -> tuple[Markup, np.ndarray | None]:
        """The strip, and the public counts of the released bins; None where they cannot be told."""
        alternatives = tuple((name, binning.labels) for name, binning in column.alternatives.items())
        key = (column.name, column.sources, column.bounds, column.edges, alternatives, tuple(column.values.items()))
        if key not in self._kept:
            counts, binning = bin_counts(column, self.texts(column)), next(iter(column.alternatives.values()))
            of_bins = None
            if counts is not None:
                of_bins = np.bincount(binning.of_atom, weights=counts, minlength=len(binning.labels))[: binning.present]
            self._kept[key] = strip(column, self.texts(column)), of_bins
            while len(self._kept) > MOST_STRIPS:
                self._kept.popitem(last=False)
        return self._kept[key]

    def texts(self, column: Column) -> Mapping[str | None, int]:
        return {} if self.public is None else self.public.columns.get(column.source or column.name, {})


def people(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> dict[str, Any]:
    """Whom the guarantee protects, in the words of the plan."""
    unit = spec.unit
    repeated = [each for each in guesses.left_out if each.rows_of_one > 1]
    key = public.columns.get(unit.key) if public is not None and unit.key else None
    return {
        "unit": unit,
        "records": str(unit.records) if unit.answered else "",
        "question": "" if unit.answered else QUESTION,
        "words": guarantee_in_words(unit, spec.plan.total),
        "keys": [] if unit.key else [(each.source, each.rows_of_one) for each in repeated],
        "most": max(key.values(), default=0) if key else None,
        "public_rows": spec.rows.way in ("exact", "whole"),
    }


def signoff(spec: ReleaseSpec, path: Path, texts: BothTexts, rehearsals: Rehearsals) -> dict[str, Any]:
    """What two people sign: the claim, what is missing, the digest that can be published before, and the command."""
    found: dict[str, Any] = {"words": guarantee_in_words(spec.unit, spec.plan.total), "digest": "", "open": []}
    unstated = spec.unstated
    for check in (spec.check_unit_answered, spec.check_can_fail, lambda: spec.plan.check_limit(spec.limit)):
        try:
            check()
        except SynthreleaseError as error:
            found["open"].append(str(error))
    if not found["open"]:
        found["digest"] = commitment(spec).digest
    rehearsed = rehearsals.found(spec)
    listed, refused = _shortlist(spec, rehearsed)
    card = spec.card
    own = {name: getattr(card, name) for name in CARD_TEXTS} | {
        name: "\n".join(getattr(card, name)) for name in CARD_LISTS if name != "signed_by"
    }
    fields = [("description", spec.description.strip()), *((f"card:{name}", text) for name, text in own.items())]
    missing = {each.replace("card.", "card:", 1) for each in unstated}
    return found | {
        "epsilon": decimal_text(spec.plan.total.epsilon),
        "delta": f"{float(spec.plan.total.delta):g}",
        "command": f"synthrelease release {path.name} --data PRIVATE --out FOLDER --ledger LEDGER{listed}",
        "refused": refused,
        "warnings": rehearsed.document["words"]["warnings"] if rehearsed is not None and rehearsed.stands else [],
        "rehearsed": rehearsed,
        "gaps": [each for each in fields if each[0] in missing],
        "stated": [each for each in fields if each[0] not in missing],
        "others": [each for each in unstated if each.replace("card.", "card:", 1) not in dict(fields)],
        "labels": LABELS,
        "lists": {f"card:{name}" for name in CARD_LISTS},
        "signed": (*card.signed_by, "", "")[:2],
    }


def _shortlist(spec: ReleaseSpec, rehearsed: Rehearsed | None) -> tuple[str, str]:
    """The option that names the shortlist of a rehearsal of these files, and why `release` would refuse it."""
    path = None if rehearsed is None or not rehearsed.stands else rehearsed.folder / "shortlist.toml"
    if path is None or not path.is_file():
        return "", ""
    try:
        narrowed(spec, path)
    except SpecError as error:
        return "", "\n".join(f"Expected {each.expected}; found {each.found}." for each in error.problems)
    return f" --shortlist {path.parent.name}/{path.name}", ""


LABELS = {
    "description": "What one row is, and where the data come from",
    "card:contact": "How to reach the publisher",
    "card:licence": "Licence, such as CC-BY-4.0",
    "card:licence_url": "Where the licence can be read",
    "card:region": "Whom or what place the data are about",
    "card:url": "Where the release can be had",
    "card:version": "Version of this release",
    "card:justification": "How epsilon, thresholds and bins were chosen",
    "card:tuning": "What was done with data before the release",
    "card:access": "Who can reach the private data",
    "card:organisation": "Who publishes",
    "card:source": "Where the original records come from",
    "card:purpose": "Why the data are released",
    "card:funding": "With whose means",
    "card:ethics": "Review and consent",
    "card:maintenance": "Updates and errata",
    "card:feedback": "What readers should tell the publisher",
    "card:uses": "What the data are meant for, one a line",
    "card:unsuitable": "What the data are not fit for, one a line",
    "card:registry_authors": "Who answers for the entry in registries, one a line",
}


def columns(spec: ReleaseSpec, strips: Strips, guesses: Guesses, wanted: str) -> dict[str, Any]:
    """One line for each column whose name or description holds the text."""
    low, lines = wanted.lower(), []
    for column in spec.schema.columns:
        if low not in f"{column.name} {column.description}".lower():
            continue
        picture, _ = strips.of(column)
        lines.append(
            {
                "name": column.name,
                "source": column.source,
                "is": _kind(column),
                "description": column.description,
                "bounds": None if column.bounds is None else [f"{bound:.15g}" for bound in column.bounds],
                "bounds_by": column.bounds_by,
                "bins": {name: len(binning.labels) for name, binning in column.alternatives.items()},
                "strip": picture,
                "frequent": _frequent(strips.texts(column)),
                "because": guesses.because.get(column.source, ""),
                "doubtful": guesses.doubtful.get(column.source, ""),
                "date": column.source in guesses.dates,
                "stand_ins": _stand_ins(column),
            }
        )
    return {
        "lines": lines,
        "of": len(spec.schema.columns),
        "wanted": wanted,
        "public": strips.public is not None,
        "left_out": _not_released(spec, strips.public, guesses),
        "readable": strips.public.columns if strips.public is not None else {},
        "key": spec.unit.key,
    }


def _not_released(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> list[tuple[str, str]]:
    """The columns of the public file that no released column is read from, and why a draft leaves them out."""
    read = {source for column in spec.schema.columns for source in column.sources}
    because = {each.source: each.because for each in guesses.left_out}
    names = dict.fromkeys([*(public.columns if public is not None else ()), *because])
    return [(name, because.get(name, "the configuration does not name it")) for name in names if name not in read]


def _kind(column: Column) -> str:
    if column.part is not None or column.minus is not None:
        return "date"
    return "number" if column.bounds is not None else "name"


def _frequent(texts: Mapping[str | None, int]) -> str:
    """The most frequent public values, with their shares."""
    total = sum(texts.values())
    ordered = sorted(texts.items(), key=lambda item: -item[1])[:FREQUENT]
    return ", ".join(f"{'(empty)' if not text else text[:40]} ({times / total:.0%})" for text, times in ordered)


def _stand_ins(column: Column) -> str:
    """The numbers that stand for the first bins of a column of numbers."""
    binning = next(iter(column.alternatives.values()))
    known = [(label, number) for label, number in zip(binning.labels, binning.numbers, strict=True) if number is not None]
    told = ", ".join(f"{label}: {number:.6g}" for label, number in known[:4])
    return told + (", …" if len(known) > 4 else "") if column.bounds is not None else ""


def questions(spec: ReleaseSpec, rehearsed: Rehearsed | None) -> dict[str, Any]:
    """The intended questions in words, and every criterion with its threshold and its three marks."""
    look = None if rehearsed is None else rehearsed.document["look"]
    looks = {each["name"]: each for each in (look["criteria"] if look else ())}
    facts = spec.setting.facts(spec.space[0].transformation)
    return {
        "asked": expected_answers(spec),
        "rehearsed": rehearsed,
        "today": datetime.date.today().isoformat(),
        "criteria": [
            {
                "place": place,
                "name": each.name,
                "threshold": f"{each.threshold:.15g}",
                "unit": each.figure_unit(facts),
                "sentence": each.sentence(facts),
                "reason": each.reason,
                "agreed": each.agreed,
                **_marked(each, looks.get(each.name)),
            }
            for place, each in enumerate(spec.criteria)
        ],
    }


def _marked(criterion: Criterion, look: dict[str, Any] | None) -> dict[str, Any]:
    """The picture of the marks, and the marks in words."""
    if look is None or not criterion.compares:
        return {"marks": "", "told": [], "says_nothing": False}
    known = {
        "the two halves of the public file": look["halves"],
        "this draft": look["typical_figure"],
        "independent columns": look["independent_columns"],
    }
    alone = look["independent_columns"]
    nothing = alone is not None and alone <= criterion.threshold and not criterion.asks_single_columns
    return {
        "marks": marks(criterion.threshold, *known.values(), bad=nothing),
        "told": [
            (kind, name, f"{value:.3g}") for kind, (name, value) in zip(KINDS, known.items(), strict=True) if value is not None
        ],
        "says_nothing": nothing,
    }


KINDS = ("halves", "fit", "alone")
"""The marks, by the names that the style sheet has for them."""


def budget(spec: ReleaseSpec, strips: Strips, account: Account, asked: Mapping[str, str]) -> dict[str, Any]:
    """The plan as bars beside what the ledger has left, noise in persons, and how likely it buys nothing."""
    total, law = spec.plan.total, spec.selection_rule.law
    leaves = list(_leaves(total, 0))
    most = max((float(each.epsilon) for each, _ in leaves), default=0.0) or 1.0
    off = off_by_column(measured_tables(spec))
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
        "noise": [_noise(column, off[column.name], strips) for column in spec.schema.columns if column.name in off],
        "person": spec.unit.name,
        "account": _accounted(account, total),
        "accuracy": _accuracy(spec, asked, off),
    }


def _noise(column: Column, off: float, strips: Strips) -> dict[str, Any]:
    """What noise does to the bins of a column, beside how many public rows are in them."""
    _, counts = strips.of(column)
    found: dict[str, Any] = {"name": column.name, "off": f"{math.ceil(off):,}", "bins": None, "beyond": 0, "smallest": ""}
    if counts is None:
        return found
    return found | {
        "bins": len(counts),
        "beyond": int((counts < off).sum()),
        "smallest": f"{int(counts.min()):,}",
    }


def _accounted(account: Account, total: Charge) -> dict[str, Any] | None:
    """The ledger as a bar: spent, this release, left."""
    if account.statement is None:
        return {"why": account.why} if account.why else None
    found = account.statement
    limit, spent = found.epsilon_limit, found.epsilon
    left = limit - spent - total.epsilon
    scale = 500 / float(max(limit, spent + total.epsilon) or 1)
    return {
        "why": "",
        "dataset": found.dataset,
        "limit": decimal_text(limit),
        "spent": decimal_text(spent),
        "left": decimal_text(max(left, 0 * left)),
        "enough": left >= 0,
        "delta_enough": found.delta + total.delta <= found.delta_limit,
        "widths": [f"{float(part) * scale:.1f}" for part in (spent, total.epsilon)],
        "end": f"{float(limit) * scale:.1f}",
    }


def _accuracy(spec: ReleaseSpec, asked: Mapping[str, str], off: Mapping[str, float]) -> dict[str, Any] | None:
    """Which budget makes the counts of a column so accurate; None where nothing is measured in every fit."""
    if not off:
        return None
    name, rows = asked.get("column", ""), asked.get("rows", "")
    found: dict[str, Any] = {"columns": list(off), "column": name, "rows": rows, "needed": None, "wrong": ""}
    if not rows:
        return found
    if name not in off or not (rows.isascii() and rows.isdigit() and 0 < int(rows) < 10**9):
        return found | {"wrong": f"Expected a column and a whole number of rows, such as 50, found {rows[:40]!r}."}
    needed = cheapest_for(spec, name, float(rows))
    if needed is None:
        return found | {"wrong": "No budget makes it so accurate."}
    cost = needed.plan.total.epsilon
    beyond = spec.limit is not None and cost > spec.limit
    epsilon = decimal_text(cost)
    return found | {"needed": {"generation": decimal_text(needed.generation_budget), "epsilon": epsilon, "beyond": beyond}}


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
