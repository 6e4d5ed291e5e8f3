"""What a desk was started with, its pages, and what each of its forms does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from synthrelease.desk import actions
from synthrelease.desk.edits import NoSuchControl, Shown, changes_of, number
from synthrelease.desk.files import BothTexts, DeskFiles, Moved
from synthrelease.desk.guard import CARD
from synthrelease.desk.rehearsals import Rehearsals
from synthrelease.desk.screens import budget, columns, people, questions, rehearsal, signoff
from synthrelease.desk.screens import folder as folder_screen
from synthrelease.desk.strips import Strips
from synthrelease.drafting.adopting import adopt_listed
from synthrelease.drafting.other_kind import Guesses
from synthrelease.drafting.public_file import PublicFile
from synthrelease.errors import InputError, SpecError, SynthreleaseError
from synthrelease.privacy.ledger import Ledger
from synthrelease.resources import templates
from synthrelease.spec.release_spec import ReleaseSpec

FOLDER = Path(__file__).parent / "templates"
LONGEST_REHEARSAL = 1_440
"""Minutes."""
SCREENS = {
    "people": "Whom do we protect?",
    "columns": "Columns",
    "questions": "Questions and thresholds",
    "budget": "Budget",
    "rehearsal": "Rehearsal",
    "signoff": "Sign-off",
    "folder": "A published folder",
}
READ_ONLY = ("folder",)
BEFORE_THE_ANSWER = ("people", "folder")
"""Screens that are open before anybody said how many rows a person can have."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What a desk was started with.

    Attributes
    ----------
    files : the two files.
    public, members, guesses : a public table that was read once, one of its members, and what a draft would make of their
        columns.
    rehearsals : of the configuration.
    folder : a published folder.
    ledger : of the private dataset.
    announced : what every page says, as that another desk is open.
    """

    files: DeskFiles
    public: PublicFile | None = None
    members: PublicFile | None = None
    guesses: Guesses = field(default_factory=Guesses)
    rehearsals: Rehearsals | None = None
    folder: Path | None = None
    ledger: Path | None = None
    announced: str = ""


class Desk:
    """Pages and forms over what was opened."""

    def __init__(self, opened: Opened):
        self.opened, self.files = opened, opened.files
        self.rehearsals = opened.rehearsals or Rehearsals(opened.files.path, None)
        self._pages = templates(FOLDER, __file__)
        self._strips = Strips(opened.public, opened.members)

    def page(
        self, name: str, asked: dict[str, str], status: int = 200, told: str = "", place: str = "", diff: str = ""
    ) -> Response:
        """A screen, with what an edit met at its place."""
        shown: dict[str, Any] = {"name": name, "screens": SCREENS, "told": told, "place": place, "difference": diff}
        try:
            texts = self.files.texts()
            spec = self.files.spec(texts)
        except (SynthreleaseError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return HTMLResponse(self._pages.get_template("unreadable.html").render(shown | {"why": why}), max(status, 409))
        if not spec.unit.answered and name not in BEFORE_THE_ANSWER:
            return self.page("people", {}, status, told, "", diff) if told else RedirectResponse("/people", 303)
        shown |= self._around(texts, spec) | {"last": self.files.last_change(texts), "typed": asked}
        opened, rehearsals = self.opened, self.rehearsals
        gathered: dict[str, Callable[[], dict[str, Any]]] = {
            "people": lambda: people.gathered(spec, opened.public, opened.guesses),
            "columns": lambda: columns.gathered(spec, texts.file, self._strips, opened.guesses, asked.get("filter", "")[:100]),
            "questions": lambda: questions.gathered(spec, texts.file, rehearsals.found(spec)),
            "budget": lambda: budget.gathered(spec, self._strips, _statement(opened.ledger), rehearsals.found(spec), asked),
            "rehearsal": lambda: rehearsal.gathered(spec, rehearsals),
            "signoff": lambda: signoff.gathered(spec, self.files.path, rehearsals, opened.ledger),
            "folder": lambda: folder_screen.gathered(opened.folder, asked),
        }
        template = self._pages.get_template(f"{name}.html")
        try:
            return HTMLResponse(template.render(shown | gathered[name]()), status)
        except (LookupError, TypeError, ValueError, AttributeError, TemplateError):
            if not rehearsals.put_aside(spec):  # results of another version, or damaged ones, can have any shape
                raise
            return self.page(name, asked, status, told, place, diff)

    def change(self, name: str, form: dict[str, str]) -> Response:
        """One edit or action: done, or told at its place."""
        place, seen = form.get("place", ""), form.get("seen", "")
        try:
            if place == "undo":
                self.files.undo(seen)
            elif (action := self._action(name, place, form)) is not None:
                if (answer := action()) is not None:
                    return answer
            else:
                self.files.edit(seen, changes_of(self._shown(), name, place, form))
        except Moved as error:
            return self.page(name, form, 409, str(error), place, error.difference)
        except (SynthreleaseError, ValueError, OSError) as error:
            return self.page(name, form, 422, _in_words(error), place)
        at = {"columns": "bounds", "questions": "threshold"}.get(name)
        which = place.split(":")[1] if ":" in place else ""
        return RedirectResponse(
            f"/{name}" + (f"#{at}-{which}" if at and (which.isidentifier() or which.isdigit()) else ""), 303
        )

    def _action(self, name: str, place: str, form: dict[str, str]) -> Callable[[], Response | None] | None:
        """What a control does that is no line; None for one that is."""
        what, _, which = place.partition(":")
        if name == "rehearsal":
            return partial(self._rehearse, place, form)
        if name == "columns" and what in ("kind", "back", "leave", "key"):
            return partial(self._column, what, which, form)
        if (name, place) == ("people", "key"):
            if not form.get("value"):
                raise ValueError("Expected the column that says whose row it is, found none chosen.")
            return partial(self._column, "key", form.get("value", ""), form)
        if (name, place) == ("questions", "own"):
            texts = self.files.texts()
            return lambda: self.files.act(form.get("seen", ""), lambda: actions.copy_acceptance(self.files, texts))
        return None

    def _shown(self) -> Shown:
        texts = self.files.texts()
        return Shown(texts=texts, spec=self.files.spec(texts), public=self.opened.public)

    def _rehearse(self, place: str, form: dict[str, str]) -> None:
        texts = self.files.texts()
        spec = self.files.spec(texts)
        if place == "start":
            if form.get("seen", "") != texts.seen:
                raise Moved("")
            minutes = number(form.get("minutes", ""))
            if not (minutes.isdigit() and 1 <= int(minutes) <= LONGEST_REHEARSAL):
                raise ValueError(f"Expected whole minutes from 1 to {LONGEST_REHEARSAL}, found {minutes}. Nothing was started.")
            self.rehearsals.start(spec, int(minutes))
        elif place in ("stop", "kill"):
            self.rehearsals.stop(at_once=place == "kill")
        elif place == "adopt":
            found = self.rehearsals.found(spec)
            if found is None:
                raise InputError("There is no rehearsal to adopt anything from.")
            self.files.act(form.get("seen", ""), lambda: adopt_listed(self.files.path, found.folder / "shortlist.toml"))
        else:
            raise NoSuchControl

    def _column(self, what: str, which: str, form: dict[str, str]) -> Response | None:
        shown, seen, kind = self._shown(), form.get("seen", ""), form.get("value", "")
        if what == "kind":
            self.files.edit(seen, actions.other_kind(shown, which, kind))
        elif what == "back":
            self.files.edit(seen, actions.bring_column_back(shown, which, kind))
        elif what == "key":
            self.files.act(seen, lambda: actions.take_as_key(self.files, shown, which))
        elif form.get("sure") == "yes":
            self.files.act(seen, lambda: actions.left_out(self.files.path, shown.texts, which, dry_run=False))
        else:
            return self._asked_first(shown.texts, shown.spec, which)
        return None

    def _asked_first(self, texts: BothTexts, spec: ReleaseSpec, which: str) -> Response:
        shown: dict[str, Any] = {"name": "columns", "screens": SCREENS, "told": "", "difference": "", "last": ""}
        shown |= self._around(texts, spec) | {"which": which}
        shown["found"] = actions.left_out(self.files.path, texts, which, dry_run=True)
        return HTMLResponse(self._pages.get_template("leaving.html").render(shown))

    def _around(self, texts: BothTexts, spec: ReleaseSpec) -> dict[str, Any]:
        """What stands around every screen."""
        answered = spec.unit.answered
        return {
            "seen": texts.seen,
            "title": spec.title,
            "file": self.files.path.name,
            "announced": [each for each in (self.opened.announced, *self.rehearsals.aside) if each],
            "refresh": 0,
            "closed": () if answered else tuple(each for each in SCREENS if each not in BEFORE_THE_ANSWER),
        }

    def seen(self) -> Response:
        """What a page that is shown now says of the files, for one that was shown before."""
        try:
            return PlainTextResponse(self.files.texts().seen)
        except (SynthreleaseError, OSError):
            return PlainTextResponse("")

    def card(self) -> Response:
        """The card of the published folder, under a policy of its own."""
        return _framed(self.opened.folder, "README.html", "No card was opened.")

    def report(self) -> Response:
        """The report of the last rehearsal, under the same policy."""
        try:
            found = self.rehearsals.found(self.files.spec(self.files.texts()))
        except (SynthreleaseError, OSError):
            found = None
        return _framed(found.folder if found is not None else None, "report.html", "There is no report.")


def _framed(folder: Path | None, name: str, missing: str) -> Response:
    try:
        if folder is not None:
            return HTMLResponse((folder / name).read_bytes(), headers={"content-security-policy": CARD})
    except OSError:
        pass
    return PlainTextResponse(missing, 404)


def _statement(ledger: Path | None) -> budget.Account:
    """What a ledger says, or why it says nothing."""
    if ledger is None:
        return budget.Account()
    try:
        return budget.Account(statement=Ledger(path=ledger.absolute()).statement())
    except SynthreleaseError as error:
        return budget.Account(why=str(error))


def _in_words(error: Exception) -> str:
    if isinstance(error, SpecError):
        return "\n".join(str(problem) for problem in error.problems)
    if isinstance(error, OSError):
        return f"The file could not be read or written ({error.strerror}). Nothing was saved."
    return str(error)
