"""What each control of the desk writes: lines of one of the two files."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

from synthrelease.domain.schema import Column
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.text import toml
from synthrelease.specification.release_spec import ReleaseSpec

NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
CARD_TEXTS = (
    *("contact", "licence", "licence_url", "region", "url", "version", "justification", "tuning", "access"),
    *("organisation", "source", "purpose", "funding", "ethics", "maintenance", "feedback"),
)
CARD_LISTS = ("uses", "unsuitable", "registry_authors", "signed_by")
"""Texts of [card] of which there are several: one a line."""
Form = Mapping[str, str]


class NoSuchControl(ValueError):
    """A place that no page has."""

    def __init__(self) -> None:
        super().__init__("The page has no such control. Nothing was written.")


def edits_of(spec: ReleaseSpec, name: str, place: str, form: Form) -> tuple[str, list[Edit]]:
    """The file, "configuration" or "acceptance", and its changes.

    Raises
    ------
    ValueError : for a place that no page has, and for what is no number or date.
    """
    what, _, which = place.partition(":")
    if name == "columns":
        return "configuration", _of_column(spec.schema.by_name, what, which, form)
    if name == "questions":
        return _of_questions(spec, what, which, form)
    if name == "people" and place in ("name", "why"):
        return "configuration", [Edit(path=("unit", place), toml=_line(form))]
    if name == "people" and place == "records_per_person":
        return "configuration", [Edit(path=("unit", place), toml=number(form.get("value", "")))]
    if name == "budget" and place in ("generation", "limit"):
        return "configuration", [Edit(path=("budget", place), toml=number(form.get("value", "")))]
    if name == "signoff":
        return "configuration", _of_card(place, form)
    raise NoSuchControl


def _of_column(known: Mapping[str, Column], what: str, which: str, form: Form) -> list[Edit]:
    if which in known and what == "description":
        return [Edit(path=("columns", which, "description"), toml=_line(form))]
    if which in known and what == "bounds" and known[which].bounds is not None:
        low, high, by = number(form.get("low", "")), number(form.get("high", "")), form.get("by", "").strip()
        edits = [Edit(path=("columns", which, "bounds"), toml=f"[{low}, {high}]")]
        if by != known[which].bounds_by:
            edits.append(Edit(path=("columns", which, "bounds_by"), toml=toml(by) if by else None))
        return edits
    if which in known and what == "weight" and known[which].bounds is not None:
        respondent = Edit(path=("input", "one_row_per"), toml=toml("respondent"))
        return [Edit(path=("columns", which, "role"), toml=toml("weight")), respondent]
    raise NoSuchControl


def _of_questions(spec: ReleaseSpec, what: str, which: str, form: Form) -> tuple[str, list[Edit]]:
    if which not in {str(place) for place in range(len(spec.criteria))}:
        raise NoSuchControl
    path = ("criteria", int(which))
    if what == "threshold":
        return "acceptance", [Edit(path=(*path, "threshold"), toml=number(form.get("value", "")))]
    if what == "agreed":
        by, on = form.get("by", "").strip(), form.get("on", "").strip()
        try:
            day = datetime.date.fromisoformat(on).isoformat()
        except ValueError:
            raise ValueError(f"Expected a day such as 2026-11-24, found {on[:40]!r}. Nothing was written.") from None
        return "acceptance", [Edit(path=(*path, "agreed"), toml=f"{{ by = {toml(by)}, on = {day} }}")]
    raise NoSuchControl


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


def number(text: str) -> str:
    """A number as it was typed."""
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"Expected a number such as 12 or 0.5, found {text[:40]!r}. Nothing was written.")
    return text.strip()


def _line(form: Form) -> str:
    return toml(form.get("value", ""))
