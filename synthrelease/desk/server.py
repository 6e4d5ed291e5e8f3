"""The pages of the desk and their forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from synthrelease.desk import actions, rehearsal_screen, screens
from synthrelease.desk.edits import NoSuchControl, edits_of, number
from synthrelease.desk.files import BothTexts, DeskFiles, Moved
from synthrelease.desk.guard import CARD, Guard
from synthrelease.desk.rehearsals import Rehearsals
from synthrelease.drafting.adopting import adopt_listed
from synthrelease.drafting.other_kind import Guesses
from synthrelease.drafting.public_file import PublicFile
from synthrelease.errors import InputError, SpecError, SynthreleaseError
from synthrelease.ledger.account import Ledger
from synthrelease.specification.release_spec import ReleaseSpec

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


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What a desk was started with.

    Attributes
    ----------
    files : the two files.
    public, guesses : a public table that was read once, and what a draft would make of its columns.
    rehearsals : of the configuration.
    folder : a published folder.
    ledger : of the private dataset.
    announced : what every page says, as that another desk is open.
    """

    files: DeskFiles
    public: PublicFile | None = None
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
        self._pages = Environment(
            loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._strips = screens.Strips(opened.public)

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
        shown |= self._around(texts, spec) | {"last": self.files.last_change(texts), "typed": asked}
        opened = self.opened
        gathered: dict[str, Callable[[], dict[str, Any]]] = {
            "people": lambda: screens.people(spec, opened.public, opened.guesses),
            "signoff": lambda: screens.signoff(spec, self.files.path, texts, self.rehearsals),
            "columns": lambda: screens.columns(spec, self._strips, opened.guesses, asked.get("filter", "")[:100]),
            "questions": lambda: screens.questions(spec, self.rehearsals.found(spec)),
            "budget": lambda: screens.budget(spec, self._strips, _statement(opened.ledger), asked),
            "rehearsal": lambda: rehearsal_screen.gathered(spec, self.rehearsals),
            "folder": lambda: screens.published(opened.folder, asked),
        }
        return HTMLResponse(self._pages.get_template(f"{name}.html").render(shown | gathered[name]()), status)

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
                spec = self.files.spec(self.files.texts())
                self.files.edit(seen, *edits_of(spec, name, place, form))
        except Moved as error:
            return self.page(name, form, 409, str(error), place, error.difference)
        except (SynthreleaseError, ValueError, OSError) as error:
            return self.page(name, form, 422, _in_words(error), place)
        at = {"columns": "bounds", "questions": "threshold"}.get(name)
        which = place.partition(":")[2]
        return RedirectResponse(
            f"/{name}" + (f"#{at}-{which}" if at and (which.isidentifier() or which.isdigit()) else ""), 303
        )

    def _action(self, name: str, place: str, form: dict[str, str]) -> Callable[[], Response | None] | None:
        """What a control does that is no line; None for one that is."""
        what, _, which = place.partition(":")
        if name == "rehearsal":
            return partial(self._rehearse, place, form)
        if name == "columns" and what in ("kind", "leave", "key"):
            return partial(self._column, what, which, form)
        return None

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
        texts, path = self.files.texts(), self.files.path
        spec, seen = self.files.spec(texts), form.get("seen", "")
        if what == "kind":
            edits = actions.other_kind(texts, spec, self.opened.public, which, form.get("value", ""))
            self.files.edit(seen, "configuration", edits)
        elif what == "key":
            if self.opened.public is None or which not in self.opened.public.columns:
                raise NoSuchControl
            self.files.act(seen, lambda: actions.take_as_key(path, texts, spec, which))
        elif form.get("sure") == "yes":
            self.files.act(seen, lambda: actions.leave_out(path, [which]))
        else:
            return self._asked_first(texts, spec, which)
        return None

    def _asked_first(self, texts: BothTexts, spec: ReleaseSpec, which: str) -> Response:
        shown: dict[str, Any] = {"name": "columns", "screens": SCREENS, "told": "", "difference": "", "last": ""}
        shown |= self._around(texts, spec) | {"which": which}
        shown["found"] = actions.would_leave_out(self.files.path, spec, which)
        return HTMLResponse(self._pages.get_template("leaving.html").render(shown))

    def _around(self, texts: BothTexts, spec: ReleaseSpec) -> dict[str, Any]:
        """What stands around every screen."""
        title, file = spec.title, self.files.path.name
        return {"seen": texts.seen, "title": title, "file": file, "announced": self.opened.announced, "refresh": 0}

    def card(self, name: str = "README.html") -> Response:
        """The card of the published folder, under a policy of its own."""
        if self.opened.folder is None or not (self.opened.folder / name).is_file():
            return PlainTextResponse("No card was opened.", 404)
        return _framed(self.opened.folder / name)

    def report(self) -> Response:
        """The report of the last rehearsal, under the same policy."""
        found = self.rehearsals.found(self.files.spec(self.files.texts()))
        if found is None or not (found.folder / "report.html").is_file():
            return PlainTextResponse("There is no report.", 404)
        return _framed(found.folder / "report.html")


def _framed(path: Path) -> Response:
    return HTMLResponse(path.read_bytes(), headers={"content-security-policy": CARD})


def _statement(ledger: Path | None) -> screens.Account:
    """What a ledger says, or why it says nothing."""
    if ledger is None:
        return screens.Account()
    try:
        return screens.Account(statement=Ledger(path=ledger.absolute()).statement())
    except SynthreleaseError as error:
        return screens.Account(why=str(error))


def _in_words(error: Exception) -> str:
    if isinstance(error, SpecError):
        return "\n".join(str(problem) for problem in error.problems)
    if isinstance(error, OSError):
        return f"The file could not be read or written ({error.strerror}). Nothing was written."
    return str(error)


def application(desk: Desk, origin: str) -> Guard:
    """The whole desk behind its guard."""

    def shows(name: str) -> Callable[[Request], Any]:
        async def show(request: Request) -> Response:
            return await run_in_threadpool(desk.page, name, dict(request.query_params))

        return show

    def takes(name: str) -> Callable[[Request], Any]:
        async def take(request: Request) -> Response:
            try:
                form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=20))
            except ValueError:
                return PlainTextResponse("The form cannot be read.", 400)
            return await run_in_threadpool(desk.change, name, form)

        return take

    async def style(request: Request) -> Response:
        return Response((FOLDER / "desk.css").read_bytes(), media_type="text/css")

    async def first(request: Request) -> Response:
        return RedirectResponse("/people", 303)

    async def card(request: Request) -> Response:
        return await run_in_threadpool(desk.card)

    async def report(request: Request) -> Response:
        return await run_in_threadpool(desk.report)

    routes = [Route("/", first), Route("/desk.css", style), Route("/card", card), Route("/report", report)]
    routes += [Route(f"/{name}", shows(name), methods=["GET"]) for name in SCREENS]
    routes += [Route(f"/{name}", takes(name), methods=["POST"]) for name in SCREENS if name not in READ_ONLY]
    return Guard(Starlette(routes=routes), origin=origin)
