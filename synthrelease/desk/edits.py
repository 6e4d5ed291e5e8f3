"""What each control of the desk writes: lines of the two files."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from synthrelease.data.schema import Column
from synthrelease.desk.files import BothTexts, Changes
from synthrelease.drafting.edited import Edit, Path_
from synthrelease.drafting.moved_limits import limits_of, with_limits
from synthrelease.drafting.one_criterion import criterion_edits
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.toml_text import toml
from synthrelease.settings.tables import list_of_questions
from synthrelease.spec.release_spec import ReleaseSpec

NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
CARD_TEXTS = (
    *("contact", "licence", "licence_url", "region", "url", "version", "justification", "tuning", "access"),
    *("organisation", "source", "purpose", "funding", "ethics", "maintenance", "feedback"),
)
CARD_LISTS = ("uses", "unsuitable", "registry_authors", "signed_by")
"""Texts of [card] of which there are several: one a line."""
PROGRAM = "card:program"
Form = Mapping[str, str]


class NoSuchControl(ValueError):
    """A place that no page has."""

    def __init__(self) -> None:
        super().__init__("The page has no such control. Nothing was saved.")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What an edit starts from.

    Attributes
    ----------
    public : the public file; None where none was given.
    """

    texts: BothTexts
    spec: ReleaseSpec
    public: PublicFile | None = None


def changes_of(shown: Shown, name: str, place: str, form: Form) -> Changes:
    """What a control of a screen writes.

    Raises
    ------
    ValueError : for a place that no page has, and for what is no number or date.
    """
    what, _, which = place.partition(":")
    of_screen: dict[str, Callable[[], Changes]] = {
        "people": lambda: _of_unit(place, form),
        "columns": lambda: _of_column(shown, what, which, form),
        "questions": lambda: _of_questions(shown, what, which, form),
        "budget": lambda: _of_budget(place, form),
        "signoff": lambda: {"configuration": _of_program(shown, form) if place == PROGRAM else _of_card(place, form)},
    }
    if name not in of_screen:
        raise NoSuchControl
    return of_screen[name]()


def _of_unit(place: str, form: Form) -> Changes:
    if place in ("name", "why"):
        return _line(("unit", place), form)
    if place == "records_per_person":
        return _number(("unit", place), form)
    raise NoSuchControl


def _of_budget(place: str, form: Form) -> Changes:
    if place in ("generation", "limit"):
        return _number(("budget", place), form)
    raise NoSuchControl


def table_of(spec: ReleaseSpec, name: str) -> Path_:
    """Where the table of a column of the record stands; the columns of all members have one."""
    linked = spec.schema.linked
    of_slots = (
        {} if linked is None else {each: plain for slot in linked.slots for each, plain in zip(slot, linked.names, strict=True)}
    )
    return ("members", "columns", of_slots[name]) if name in of_slots else ("columns", name)


def _of_column(shown: Shown, what: str, which: str, form: Form) -> Changes:
    name, _, alternative = which.partition(":")
    column = shown.spec.schema.by_name.get(name)
    if column is None:
        raise NoSuchControl
    table = table_of(shown.spec, name)
    if what == "description":
        return _line((*table, "description"), form)
    if column.bounds is None:
        raise NoSuchControl
    if what == "bounds":
        low, high, by = number(form.get("low", "")), number(form.get("high", "")), form.get("by", "").strip()
        edits = [Edit(path=(*table, "bounds"), toml=f"[{low}, {high}]")]
        if by != column.bounds_by:
            edits.append(Edit(path=(*table, "bounds_by"), toml=toml(by) if by else None))
        return {"configuration": edits}
    if what == "weight":
        respondent = Edit(path=("input", "one_row_per"), toml=toml("respondent"))
        return {"configuration": [Edit(path=(*table, "role"), toml=toml("weight")), respondent]}
    if what == "limits" and alternative in column.alternatives:
        return _of_limits(shown, column, alternative, table, form)
    raise NoSuchControl


def _of_limits(shown: Shown, column: Column, alternative: str, table: Path_, form: Form) -> Changes:
    """Other limits between bins, with what follows from them; all numbers of one field, with anything between them."""
    typed = [each for each in re.split(r"[,;\s]+", form.get("limits", "").strip()) if each]
    limits = [float(number(each)) for each in typed]
    if tuple(limits) == limits_of(column)[alternative]:
        raise ValueError("The limits are as they were. Nothing was saved.")
    tables = shown.texts.file.tables
    for step in table:
        tables = tables[str(step)]
    groups = shown.texts.acceptance_tables.get("groups", {}).get(column.name)
    found = with_limits(
        column,
        alternative,
        limits,
        numbers=tables.get("numbers", {}),
        groups=groups if isinstance(groups, list) else None,
        public=shown.public,
        policy=shown.spec.input,
    )
    edits = [Edit(path=(*table, "alternatives", name), toml=toml(texts)) for name, texts in found.alternatives.items()]
    if found.numbers != tables.get("numbers", {}):
        edits.append(Edit(path=(*table, "numbers"), toml=toml(found.numbers) if found.numbers else None))
    if found.groups is None:
        return {"configuration": edits}
    return {"configuration": edits, "acceptance": [Edit(path=("groups", column.name), toml=toml(found.groups))]}


def _of_questions(shown: Shown, what: str, which: str, form: Form) -> Changes:
    questions = list_of_questions()
    if what == "ask":
        given = {key: text for key in ("query", "why") if (text := form.get(key, "").strip())}
        if "query" not in given:
            raise ValueError("Expected a question, found none. Nothing was saved.")
        if questions is None:
            raise NoSuchControl
        place = (questions, len(shown.spec.questions))
        return {"configuration": [Edit(path=place, toml=toml(given))]}
    if what == "unask" and questions is not None and which in _places(shown.spec.questions):
        return {"configuration": [Edit(path=(questions, int(which)))]}
    if what == "criterion":
        edits = criterion_edits(
            shown.spec,
            shown.texts.acceptance_tables,
            form.get("asked", ""),
            [form.get(key, "") for key in ("first", "second", "third")],
            threshold=number(form.get("threshold", "")),
            epsilon=number(form.get("epsilon", "")),
            value=form.get("value", "").strip(),
            reason=form.get("reason", "").strip(),
        )
        return {"acceptance": edits}
    if which not in _places(shown.spec.criteria):
        raise NoSuchControl
    path: Path_ = ("criteria", int(which))
    if what == "drop":
        return {"acceptance": [Edit(path=path)]}
    if what == "threshold":
        return {"acceptance": [Edit(path=(*path, "threshold"), toml=number(form.get("value", "")))]}
    if what == "agreed":
        by, on = form.get("by", "").strip(), form.get("on", "").strip()
        try:
            day = datetime.date.fromisoformat(on).isoformat()
        except ValueError:
            raise ValueError(f"Expected a day such as 2026-11-24, found {on[:40]!r}. Nothing was saved.") from None
        return {"acceptance": [Edit(path=(*path, "agreed"), toml=f"{{ by = {toml(by)}, on = {day} }}")]}
    raise NoSuchControl


def _places(values: tuple[object, ...]) -> set[str]:
    return {str(place) for place in range(len(values))}


def _of_card(place: str, form: Form) -> list[Edit]:
    what, _, which = place.partition(":")
    text = form.get("value", "").replace("\r\n", "\n").strip()
    if place == "description":
        return [Edit(path=("description",), toml=toml(text))]
    if what == "card" and which in CARD_TEXTS:
        return [Edit(path=("card", which), toml=toml(text))]
    if what == "card" and which == "signed_by":
        return [
            Edit(path=("card", which), toml=toml([name for key in ("first", "second") if (name := form.get(key, "").strip())]))
        ]
    if what == "card" and which in CARD_LISTS:
        return [Edit(path=("card", which), toml=toml([line.strip() for line in text.split("\n") if line.strip()]))]
    raise NoSuchControl


def _of_program(shown: Shown, form: Form) -> list[Edit]:
    """Where readers get the program; two empty fields take it out."""
    given = {name: text for name in ("address", "sha256") if (text := form.get(name, "").strip())}
    if not given and shown.spec.card.program is None:
        raise ValueError("Expected the address of the program and its SHA-256, found neither. Nothing was saved.")
    return [Edit(path=("card", "program"), toml=toml(given) if given else None)]


def number(text: str) -> str:
    """A number as it was typed."""
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"Expected a number such as 12 or 0.5, found {text[:40]!r}. Nothing was saved.")
    return text.strip()


def _line(path: Path_, form: Form) -> Changes:
    return {"configuration": [Edit(path=path, toml=toml(form.get("value", "")))]}


def _number(path: Path_, form: Form) -> Changes:
    return {"configuration": [Edit(path=path, toml=number(form.get("value", "")))]}
