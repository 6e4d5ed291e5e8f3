"""Compute the contents of each screen of the desk, the reasons of refusals, and the list of unfinished points."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthrelease.bundle.write import commitment
from synthrelease.criteria import explain
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.drafts import ASKED_FOR
from synthrelease.criteria.scoring import none_can_fail
from synthrelease.data.schema import Column
from synthrelease.data.texts import program, quoted_path
from synthrelease.errors import BudgetError, InputError, Problem, SpecError, SynthreleaseError, listing, percent, so_many
from synthrelease.privacy.charges import Charge, decimal_text, epsilon_at
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.selection import nothing_where
from synthrelease.settings.reading import ConfigurationFile
from synthrelease.spec.arguments import with_commas
from synthrelease.spec.members import members_in_words
from synthrelease.spec.record import guarantee_in_words
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import cheaper_plan, narrowed, unnamed_pairs
from synthrelease.spec.tried import Changed, standing
from synthrelease.studio.desk.files import CARD_LISTS, CARD_TEXTS, Rehearsals, Rehearsed, Running, is_written, without_source
from synthrelease.studio.desk.strips import Strips, pictures
from synthrelease.studio.drafting.edits import Guesses, limits_of, table_of
from synthrelease.studio.drafting.public_file import GroupingError, PublicBins, PublicFile
from synthrelease.studio.drafting.toml_edit import NOT_WRITTEN, Path_
from synthrelease.studio.rehearsal.expected_noise import accuracies, cheapest_for, expected_answers, off_by_column
from synthrelease.studio.rehearsal.measured_tables import askable_in_words, measured_tables

SCREENS = {
    "people": "Whom do we protect?",
    "columns": "Columns",
    "questions": "Questions and thresholds",
    "budget": "Budget",
    "rehearsal": "Rehearsal",
    "signoff": "Sign-off",
    "folder": "A published folder",
}


# For each refusal, say whether the entry itself is wrong, and on which screen the cause can be corrected.

ON_SCREEN = {
    **{"unit": "people", "columns": "columns", "members": "columns", "criteria": "questions", "groups": "questions"},
    **{"intended_queries": "questions", "budget": "budget", "card": "signoff", "description": "signoff"},
}
"""Screen on which the steward can change each table of the two files."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A reason why an entry was not saved, and where it can be corrected.

    Attributes
    ----------
    where : the screen on which the mistake can be corrected, or the setting and its file.
    address : address of the screen, or an empty string if the setting can be changed only in an editor.
    """

    text: str
    where: str = ""
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The reasons why the entry in a control was not saved; `lead` says whether the entry itself is wrong."""

    lead: str
    causes: tuple[Cause, ...]


def refusal(error: Exception, screen: str, control: str, spec: ReleaseSpec) -> Refusal:
    """Explain why the entry in a control was not saved: it is wrong, or it conflicts with another setting.

    `spec` is the specification before the change.
    """
    lead = "The entry cannot be saved."
    if isinstance(error, SpecError):
        about = [control.split(":")[1]] if ":" in control else []
        own = any(_place(problem, spec)[: 1 + len(about)] == [screen, *about] for problem in error.problems)
        lead = "The entry is not valid." if own else "The entry is valid, but it conflicts with another setting:"
    return Refusal(lead=lead, causes=causes_of(error, spec))


def causes_of(error: Exception, spec: ReleaseSpec) -> tuple[Cause, ...]:
    if isinstance(error, OSError):
        return (Cause(text=f"The file could not be read or written ({error.strerror})."),)
    if isinstance(error, BudgetError):
        return (Cause(text=str(error), where=SCREENS["budget"], address="/budget"),)
    if not isinstance(error, SpecError):
        return (Cause(text=str(error)),)
    return tuple(_cause(problem, spec) for problem in error.problems if problem.message != NOT_WRITTEN)


def _cause(problem: Problem, spec: ReleaseSpec) -> Cause:
    text, (screen, *about) = problem.sentence, _place(problem, spec)
    if not screen:
        return Cause(text=text, where=f"an editor: {problem.path or 'the whole file'} in {Path(problem.file).name}")
    names = [criterion.name for criterion in spec.criteria]
    anchor = "".join(f"#threshold-{names.index(name)}" if screen == "questions" else f"#bounds-{name}" for name in about)
    return Cause(text=text, where=": ".join([SCREENS[screen], *about]), address=f"/{screen}{anchor}")


def _place(problem: Problem, spec: ReleaseSpec) -> list[str]:
    """Return the screen on which a problem can be corrected, or "", and the column or criterion with the problem, if any."""
    first, second, *_ = [*re.findall(r"[^.\[\]]+", problem.path), "", ""]
    names = [criterion.name for criterion in spec.criteria]
    if first == "criteria":
        second = names[int(second)] if second.isdigit() and int(second) < len(names) else ""
    elif first != "columns":
        second = ""
    return [ON_SCREEN.get(first, ""), *([second] if second else [])]


def unfinished(
    spec: ReleaseSpec, file: ConfigurationFile, account: Account, rehearsed: Rehearsed | None
) -> dict[str, list[str]]:
    """Return, for each screen except the published folder, sentences on what the steward still has to do there."""
    unnamed = without_source(spec, file)
    open_thresholds = [criterion.name for criterion in spec.criteria if criterion.agreed is None]
    limit, left = spec.budget.limit, _accounted(account, spec.plan.total) or {}
    missing: dict[str, dict[str, object]] = {
        "people": {"Nobody has said how many rows one person can have.": not spec.unit.answered},
        "columns": {f"The file does not say who set the limits of {listing(unnamed)}.": unnamed},
        "questions": {
            "The criteria would accept every table. Lower a threshold.": none_can_fail(spec.criteria),
            f"Nobody has agreed to the thresholds of {listing(open_thresholds)}.": open_thresholds,
        },
        "budget": {
            "No limit for the epsilon of the release is set.": limit is None,
            "The plan costs more epsilon than its limit.": limit is not None and spec.plan.total.epsilon > limit,
            "The ledger has too little epsilon or delta left.": not (
                left.get("enough", True) and left.get("delta_enough", True)
            ),
        },
        "rehearsal": {}
        if spec.options.scout is not None
        else {
            "The draft has not been rehearsed.": rehearsed is None,
            "Columns, models or criteria have changed since the rehearsal.": rehearsed is not None and not rehearsed.stands,
            "The rehearsal has not finished.": rehearsed is not None and not rehearsed.document.get("complete"),
        },
        "signoff": {"The data card has gaps.": spec.unstated, "Two signatories must be named.": len(spec.card.signed_by) < 2},
    }
    return {screen: [sentence for sentence, is_open in sentences.items() if is_open] for screen, sentences in missing.items()}


# The screen of columns: a line for each column with its public counts, and the columns that are not released.

FREQUENT = 3


def columns_screen(spec: ReleaseSpec, file: ConfigurationFile, strips: Strips, guesses: Guesses, text: str) -> dict[str, Any]:
    """Return the contents of the screen of columns, with a line for each column whose name or description contains `text`.

    Columns of members that share their settings have one line in common.
    """
    low, lines = text.lower(), {}
    for column in spec.schema.columns:
        table = table_of(spec, column.name)
        if low in f"{column.name} {column.description}".lower() and table not in lines:
            lines[table] = _line(spec, column, table, file, strips, guesses)
    return {
        "lines": list(lines.values()),
        "of": len({table_of(spec, column.name) for column in spec.schema.columns}),
        "wanted": text,
        "unnamed": len(without_source(spec, file)),
        "public": strips.public is not None,
        "base": file.base.name if file.base is not None and "columns" in file.inherited else "",
        "left_out": _not_released(spec, strips.public, guesses),
        "readable": strips.public.columns if strips.public is not None else {},
        "dates": guesses.dates,
        "key": spec.unit.key if spec.schema.linked is None else spec.schema.linked.key,
    }


def _line(
    spec: ReleaseSpec, column: Column, table: Path_, file: ConfigurationFile, strips: Strips, guesses: Guesses
) -> dict[str, Any]:
    public, pictures = strips.of(column, spec.input, spec.schema.linked)
    name = str(table[-1])
    return {
        "name": column.name,
        "title": name,
        "of_members": table[0] == "members",
        "written": is_written(file, table),
        "source": column.source,
        "is": _kind(column),
        "description": column.description,
        "bounds": None if column.bounds is None else [f"{bound:.15g}" for bound in column.bounds],
        "bounds_by": column.bounds_by,
        "ways": [
            {
                "name": key,
                "bins": len(column.alternatives[key]),
                "picture": pictures[key],
                "limits": ", ".join(f"{limit:.12g}" for limit in limits_of(column).get(key, ())),
            }
            for position, key in enumerate(column.alternatives)
            if position == 0 or column.bounds is not None
        ],
        "frequent": _frequent(strips.texts(column, spec.schema.linked)),
        "gaps": _gaps(column, public),
        "grouping": None if public is None or public.grouping is None else _off(public.grouping),
        "because": guesses.because.get(column.source, ""),
        "doubtful": guesses.doubtful.get(column.source, ""),
        "date": column.source in guesses.dates,
        "stand_ins": _stand_ins(column),
    }


def _gaps(column: Column, public: PublicBins | None) -> list[str]:
    if public is None:
        return []
    rows = public.total + public.gaps + public.others
    treatment = f"are in the bin {column.missing_label!r}" if column.missing == "bin" else "are excluded"
    sentences = [f"{public.gaps / rows:.1%} of the public rows have no value and {treatment}."] if public.gaps else []
    beyond = "beyond the limits" if column.bounds is not None else "in no category"
    if public.others:
        sentences.append(f"{public.others / rows:.1%} of the public rows are {beyond} and are excluded.")
    return sentences


def _off(grouping: GroupingError) -> str:
    off, moved = (float(f"{value:.2g}") for value in (grouping.off, grouping.mean_moved))
    return (
        f"If each value is replaced by the representative value of its bin, it changes by {off:.10g} on average (standard "
        f"deviation of the column: {grouping.spread:.3g}), and the mean of the column changes by {moved:+.10g}"
    )


def _not_released(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> list[tuple[str, str]]:
    read = {source for column in spec.schema.columns for source in column.sources}
    because = {column_left.source: column_left.because for column_left in guesses.left_out}
    names = dict.fromkeys([*(public.columns if public is not None else ()), *because])
    return [(name, because.get(name, "the configuration does not name it")) for name in names if name not in read]


def _kind(column: Column) -> str:
    if column.part is not None or column.minus is not None:
        return "date"
    return "number" if column.bounds is not None else "name"


def _frequent(texts: Mapping[str | None, int]) -> str:
    """Return up to three most frequent public values of at least half a percent, with their shares."""
    total = sum(texts.values())
    ordered = sorted((item for item in texts.items() if item[1] >= total / 200), key=lambda item: -item[1])[:FREQUENT]
    return ", ".join(f"{'(empty)' if not text else text[:40]} ({times / total:.0%})" for text, times in ordered)


def _stand_ins(column: Column) -> str:
    """Return the representative values of the first four bins of a numeric column, such as "0-9: 4.5", otherwise ""."""
    binning = next(iter(column.alternatives.values()))
    numbers = zip(binning.labels, binning.numbers, strict=True)
    texts = [f"{label}: {number:.6g}" for label, number in numbers if number is not None]
    return ", ".join(texts[:4]) + (", …" if len(texts) > 4 else "") if column.bounds is not None else ""


# The screen of a published folder: the report of `verify`, and the card.


def folder_screen(folder: Path | None, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the contents of the screen of a published folder, with the report of `verify` once its button was pressed."""
    from synthrelease.bundle.verify import verify_bundle

    context: dict[str, Any] = {"folder": folder and folder.name, "report": None, "wrong": ""}
    try:
        if folder is not None and query.get("verify"):
            context["report"] = verify_bundle(folder)
    except InputError as error:
        context["wrong"] = str(error)
    return context


# The screen of persons: whom the guarantee protects, and how many rows a person has.


def people_screen(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> dict[str, Any]:
    """Return the contents of the screen of persons: the guarantee in words, and the columns that may identify persons.

    Linked tables have their key in [members] and no key in [unit].
    """
    unit, linked = spec.unit, spec.schema.linked
    words = guarantee_in_words(unit, spec.plan.total)
    if linked is not None:
        words.append(members_in_words(spec.schema, linked))
    repeated = [column_left for column_left in guesses.left_out if column_left.rows_of_one > 1]
    key = public.columns.get(unit.key) if public is not None and unit.key else None
    return {
        "unit": unit,
        "records": str(unit.records) if unit.answered else "",
        "order": with_commas(unit.order),
        "missing_keys": with_commas(unit.missing_keys),
        "unanswered": not unit.answered and not unit.key,
        "words": words,
        "members": linked,
        "keys": [] if unit.key else [(column_left.source, column_left.rows_of_one) for column_left in repeated],
        "sources": [] if public is None or unit.key else [(name, name) for name in public.columns],
        "most": max(key.values(), default=0) if key else None,
        "public_rows": spec.rows.way in ("exact", "whole"),
    }


# The screen of questions: the intended questions, and every criterion with its threshold and its three marks.

KINDS = ("halves", "fit", "alone")
"""The names that the style sheet uses for the three marks on the line of a threshold."""


def questions_screen(spec: ReleaseSpec, file: ConfigurationFile, rehearsed: Rehearsed | None) -> dict[str, Any]:
    """Return the contents of the screen of questions: intended questions, and every criterion with its threshold."""
    look = None if rehearsed is None else rehearsed.document["look"]
    looks = {criterion["name"]: criterion for criterion in (look["criteria"] if look else ())}
    facts = spec.setting.facts(spec.space[0].transformation)
    return {
        "answers": expected_answers(spec),
        "none_can_fail": none_can_fail(spec.criteria),
        "examples": _examples(spec),
        "inherited": file.base.name if file.base is not None and "acceptance" in file.inherited else "",
        "kinds": ASKED_FOR,
        "columns": [(name, name) for name in spec.schema.names],
        "sources": list(dict.fromkeys((source, source) for column in spec.schema.columns for source in column.sources)),
        "open": sum(criterion.agreed is None for criterion in spec.criteria),
        "rehearsed": rehearsed,
        "today": datetime.date.today().isoformat(),
        "criteria": [
            {
                "name": criterion.name,
                "threshold": f"{criterion.threshold:.15g}",
                "unit": explain(criterion).figure_unit(facts),
                "sentence": explain(criterion).sentence(facts),
                "reason": criterion.reason,
                "agreed": criterion.agreed,
                **_marked(criterion, looks.get(criterion.name)),
            }
            for criterion in spec.criteria
        ],
    }


def _marked(criterion: Criterion, look: dict[str, Any] | None) -> dict[str, Any]:
    """Return a picture, values, and whether even independent columns would meet the threshold of a criterion.

    The values (marks) are up to three criterion values from a rehearsal: of two halves of the public file, of this draft,
    and of independent columns. There are none without a rehearsal, and for a criterion that does not compare with the
    original rows.
    """
    if look is None or not criterion.compares:
        return {"marks": "", "values": [], "says_nothing": False}
    stick = look["yardstick"]
    alone = stick["independent"]
    values = {"the two halves of the public file": stick["perfect"], "this draft": look["figure"], "independent columns": alone}
    nothing = alone is not None and alone <= criterion.threshold and not explain(criterion).asks_single_columns
    return {
        "marks": pictures().marks(criterion.threshold, *values.values(), bad=nothing),
        "values": [
            (kind, name, f"{value:.3g}") for kind, (name, value) in zip(KINDS, values.items(), strict=True) if value is not None
        ],
        "says_nothing": nothing,
    }


def _examples(spec: ReleaseSpec) -> list[str]:
    numeric = [column for column in spec.schema.columns if column.bounds is not None and column.dates is None]
    names = [column for column in spec.schema.columns if column.bounds is None]
    examples = []
    conditions = [f"{column.name} == '{column.atoms.labels[0]}'" for column in names if "'" not in column.atoms.labels[0]]
    for column in numeric[:1]:
        limits = next(iter(limits_of(column).values()))
        conditions.insert(0, f"{column.name} >= {limits[len(limits) // 2]:.12g}")
    examples += [conditions[0]] if conditions else []
    examples += [f"share {conditions[0]} where {conditions[1]}"] if len(conditions) > 1 else []
    examples += [f"mean {numeric[-1].name} where {conditions[0]}"] if len(numeric) > 1 and conditions else []
    return examples


# The screen of the rehearsal, from the documents that a rehearsal writes.

AGAIN = 5
"""While a rehearsal runs, the browser reloads the page after this number of seconds."""


def rehearsal_screen(spec: ReleaseSpec, rehearsals: Rehearsals) -> dict[str, Any]:
    """Return the contents of the screen of the rehearsal: its progress, its results, and a proposal to adopt."""
    running, rehearsed = rehearsals.running(), rehearsals.found(spec)
    context: dict[str, Any] = {
        "running": running,
        "progress": "" if running is None else progress_words(running),
        "share": _share(running),
        "data": rehearsals.data,
        "scouted": spec.options.scout is not None,
        "begun": rehearsals.folder(spec).is_dir(),
        "lines": rehearsals.last_lines(),
        "rehearsed": rehearsed,
        "refresh": AGAIN if running is not None else 0,
        "look": None,
        "cheaper": None,
        "unnamed": (),
    }
    if rehearsed is None:
        return context
    document = rehearsed.document
    context |= {"document": document, "words": document["words"], "look": document["look"], "cheaper": cheaper(spec, rehearsed)}
    context["unnamed"] = unnamed_pairs(spec, rehearsed.shortlist) if rehearsed.shortlist is not None else ()
    configurations = document.get("configurations", [])
    context["shortlisted"] = [configuration for configuration in configurations if configuration.get("shortlisted")]
    return context


def cheaper(spec: ReleaseSpec, rehearsed: Rehearsed | None) -> dict[str, Any] | None:
    """Return a plan with a smaller epsilon that a rehearsal of these files proposed and confirmed, or None."""
    shortlist = None if rehearsed is None else rehearsed.shortlist
    try:
        plan = None if shortlist is None else cheaper_plan(spec, shortlist)
    except SynthreleaseError:
        plan = None
    if plan is None or plan.nothing_high is None:
        return None
    return {"epsilon": decimal_text(plan.epsilon), "nothing": percent(plan.nothing), "lines": plan.lines}


def progress_words(running: Running) -> str:
    progress = running.standing
    if progress is None or not progress.phase:
        return "The rehearsal is reading the public file."
    counted = f": {progress.done:,} of {progress.total:,}" if progress.total else ""
    return f"Current phase: {progress.phase}{counted}. The rehearsal has made {so_many(progress.attempts, 'attempt')} so far."


def _share(running: Running | None) -> int | None:
    progress = None if running is None else running.standing
    return None if progress is None or not progress.total else round(100 * progress.done / progress.total)


# The sign-off: the claim, open points, the digest that can be published before the release, and the command.


def signoff_screen(spec: ReleaseSpec, path: Path, rehearsals: Rehearsals, ledger: Path | None) -> dict[str, Any]:
    """Return the contents of the sign-off screen: the guarantee, open points, the digest of the commitment, and the
    command.

    The commands are written for the folder in which the desk was started, where the paths were typed.
    """
    still_open, unstated = list[Cause](), spec.unstated
    for check in (spec.check_unit_answered, spec.check_can_fail, spec.check_limit):
        try:
            check()
        except SynthreleaseError as error:
            still_open += causes_of(error, spec)
    still_open += [Cause(text=text, where=SCREENS["rehearsal"], address="/rehearsal") for text in _untried(spec)]
    rehearsed = rehearsals.found(spec)
    listed, refused = _shortlist(spec, rehearsed) if spec.options.scout is None else (" --unrehearsed", "")
    card, config = spec.card, quoted_path(path)
    charged = f"--ledger {'LEDGER' if ledger is None else quoted_path(ledger)}"
    private = "--data PRIVATE" if spec.schema.linked is None else "--data PRIVATE --members PRIVATE_MEMBERS"
    texts = [(f"card:{name}", getattr(card, name)) for name in CARD_TEXTS]
    lists = [(f"card:{name}", "\n".join(getattr(card, name))) for name in CARD_LISTS]
    fields = [("description", spec.description.strip()), *texts, *lists]
    missing = {setting.replace("card.", "card:", 1) for setting in unstated}
    return {
        "words": guarantee_in_words(spec.unit, spec.plan.total),
        "open": still_open,
        "digest": "" if still_open else commitment(spec).digest,
        "epsilon": _epsilon(spec.plan.total.epsilon),
        "delta": f"{float(spec.plan.total.delta):g}",
        "commit": f"{program()} commit {config} --out commitment.json",
        "command": f"{program()} release {config} {private} --out FOLDER {charged}{listed}",
        "refused": refused,
        "warnings": rehearsed.document["words"]["warnings"] if rehearsed is not None and rehearsed.stands else [],
        "rehearsed": rehearsed,
        "gaps": [field for field in fields if field[0] in missing],
        "stated": [field for field in fields if field[0] not in missing],
        "others": [setting for setting in unstated if setting.replace("card.", "card:", 1) not in dict(fields)],
        "labels": {"description": "Meaning of one row, and origin of the data"}
        | {f"card:{name}": label for name, label in (CARD_TEXTS | CARD_LISTS).items()},
        "lists": dict(lists),
        "program": card.program,
        "signed": (*card.signed_by, "", "")[:2],
    }


def _untried(spec: ReleaseSpec) -> list[str]:
    try:
        state = standing(spec)
    except SpecError as error:
        return [f"{Path(problem.file).name}: {problem.sentence} Run a rehearsal again." for problem in error.problems]
    if not isinstance(state, Changed):
        return []
    return [f"The two files have changed since {state.by}: {state.parts}. Run a rehearsal of the files as they are now."]


def _shortlist(spec: ReleaseSpec, rehearsed: Rehearsed | None) -> tuple[str, str]:
    """Return the option `--shortlist` for the release command, and the reason why `release` would refuse it.

    At least one of the two texts is empty. Both are empty if there is no shortlist for these files.
    """
    path = None if rehearsed is None or not rehearsed.stands else rehearsed.shortlist
    if path is None:
        return "", ""
    try:
        narrowed(spec, path)
    except SpecError as error:
        return "", "\n".join(problem.sentence for problem in error.problems)
    return f" --shortlist {quoted_path(path)}", ""


PASSING = (2, 3, 5, 10)
"""The screen states the probability of accepting no table if one round in 2, 3, 5 or 10 is accepted."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """The contents of a ledger, or None, and the reason why it cannot be read."""

    statement: Statement | None = None
    why: str = ""


def budget_screen(
    spec: ReleaseSpec, strips: Strips, account: Account, rehearsed: Rehearsed | None, query: Mapping[str, str]
) -> dict[str, Any]:
    """Return the contents of the screen of the budget: parts of the cost, the ledger, the noise, and the probability of no
    table.
    """
    total, law = spec.plan.total, spec.selection_rule.law
    parts = list(_parts(total, 0))
    costs = [_cost(charge, total) for charge, _ in parts]
    largest = max(costs, default=0.0) or 1.0
    off = off_by_column(measured_tables(spec))
    return {
        "epsilon": _epsilon(total.epsilon),
        "delta": f"{float(total.delta):g}",
        "limit": None if spec.budget.limit is None else decimal_text(spec.budget.limit),
        "generation": decimal_text(spec.budget.generation),
        "unit": spec.generation_unit,
        "of_one_fit": f"{_cost(spec.generation_charge, total):.4g}",
        "refused": spec.budget.limit is not None and total.epsilon > spec.budget.limit,
        "of_limit": None if spec.budget.limit is None else _bar(spec.budget.limit, total.epsilon),
        "bars": [
            {
                "name": charge.name,
                "epsilon": _epsilon(charge.epsilon) if charge.renyi is None else f"{cost:.4g} alone, at this delta",
                "because": charge.explained,
                "depth": depth,
                "width": f"{max(200 * cost / largest, 1.0 if cost else 0.0):.1f}",
            }
            for (charge, depth), cost in zip(parts, costs, strict=True)
        ],
        "nothing": None if law is None else nothing_where(law, PASSING),
        "asked": askable_in_words(spec),
        "noise": [_noise(spec, column, off[column.name], strips) for column in spec.schema.columns if column.name in off],
        "person": spec.unit.name,
        "account": _accounted(account, total),
        "accuracy": _accuracy(spec, query),
        "cheaper": cheaper(spec, rehearsed),
    }


def _epsilon(epsilon: Fraction) -> str:
    """Return an epsilon rounded up, so that a page never understates it."""
    return decimal_text(Fraction(math.ceil(epsilon * 10_000), 10_000))


def _cost(charge: Charge, total: Charge) -> float:
    """Return the epsilon of one part of the cost, converted at the delta of the release if needed."""
    return float(charge.epsilon if charge.renyi is None else epsilon_at(charge, total.delta))


def _noise(spec: ReleaseSpec, column: Column, off: float, strips: Strips) -> dict[str, Any]:
    """Return the noise in the bins of a column, in rows, beside the public rows of its bins."""
    linked = spec.schema.linked
    of_one_member = linked is not None and linked.place_of(column.name) is not None
    held = None if of_one_member else strips.of(column, spec.input, linked)[0]  # the file counts all members together
    context: dict[str, Any] = {"name": column.name, "off": f"{math.ceil(off):,}", "bins": None, "beyond": 0, "smallest": ""}
    if held is None:
        return context
    return context | {"bins": len(held.rows), "beyond": sum(n < off for n in held.rows), "smallest": f"{min(held.rows):,}"}


def _accounted(account: Account, total: Charge) -> dict[str, Any] | None:
    """Return the spent budget, the cost of this release, and the remaining budget of the ledger, or None without a ledger."""
    if account.statement is None:
        return {"why": account.why} if account.why else None
    statement = account.statement
    limit, spent = statement.epsilon_limit, statement.epsilon
    context = {"why": "", "dataset": statement.dataset, "limit": decimal_text(limit), "spent": decimal_text(spent)}
    if statement.horizon is not None or statement.split is not None:
        return context | {"left": None}  # the cost of a release then depends on its year or piece
    charged = statement.with_charge(started="", what="", epsilon=total.epsilon, delta=total.delta)
    epsilon_left = limit - charged.epsilon
    return context | {
        "left": decimal_text(max(epsilon_left, 0 * epsilon_left)),
        "enough": epsilon_left >= 0,
        "delta_enough": charged.delta <= statement.delta_limit,
        "bar": _bar(limit, total.epsilon, spent),
    }


def _bar(limit: Fraction, cost: Fraction, spent: Fraction = Fraction(0)) -> dict[str, str]:
    scale = 500 / float(max(limit, spent + cost) or 1)
    return {key: f"{float(part) * scale:.1f}" for key, part in (("spent", spent), ("cost", cost), ("limit", limit))}


def _accuracy(spec: ReleaseSpec, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the contents of the form that computes the budget for the accuracy of a count, such as 50 rows.

    Return None if the generator chooses its tables, so that the accuracy is unknown.
    """
    off = accuracies(spec)
    if not off:
        return None
    name, rows = query.get("count", ""), query.get("rows", "")
    words = {count: f"one bin of {count}" if count in spec.schema.by_name else count for count in off}
    counts = [(count, words[count], f"{math.ceil(rows_off):,}") for count, rows_off in off.items()]
    context: dict[str, Any] = {"counts": counts, "count": name, "rows": rows, "needed": None, "wrong": ""}
    if not rows:
        return context
    if name not in off or not (rows.isascii() and rows.isdigit() and 0 < int(rows) < 10**9):
        wrong = "Choose a count and enter a whole number of rows, such as 50."
        return context | {"wrong": wrong}
    needed = cheapest_for(spec, name, float(rows))
    if needed is None:
        return context | {"wrong": "No budget gives a count with so small an error. Enter a larger number of rows."}
    cost = needed.plan.total.epsilon
    beyond = spec.budget.limit is not None and cost > spec.budget.limit
    epsilon = decimal_text(cost)
    return context | {"needed": {"generation": decimal_text(needed.budget.generation), "epsilon": epsilon, "beyond": beyond}}


def _parts(charge: Charge, depth: int) -> list[tuple[Charge, int]]:
    return [pair for part in charge.parts for pair in ((part, depth), *_parts(part, depth + 1))]
