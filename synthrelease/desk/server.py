"""The pages of the desk and their forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from synthrelease.desk import screens
from synthrelease.desk.files import DeskFiles, Moved
from synthrelease.desk.guard import CARD, Guard
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.text import toml
from synthrelease.errors import SpecError, SynthreleaseError

FOLDER = Path(__file__).parent / "templates"
NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
SCREENS = {
    "people": "Whom do we protect?",
    "columns": "Columns",
    "questions": "Questions and thresholds",
    "budget": "Budget",
    "signoff": "Sign-off",
    "folder": "A published folder",
}
READ_ONLY = ("signoff", "folder")


class Desk:
    """What the pages need: the two files, a public table that was read once, and a published folder."""

    def __init__(self, files: DeskFiles, public: PublicFile | None = None, folder: Path | None = None):
        self.files, self.public, self.folder = files, public, folder
        self._pages = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)

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
        shown |= {"seen": texts.seen, "title": spec.title, "last": self.files.last_change(texts), "typed": asked}
        shown |= {"file": self.files.path.name}
        gathered: dict[str, Callable[[], dict[str, Any]]] = {
            "people": lambda: screens.people(spec),
            "signoff": lambda: screens.signoff(spec, self.files.path),
            "columns": lambda: screens.columns(spec, self.public, asked.get("filter", "")[:100]),
            "questions": lambda: screens.questions(spec),
            "budget": lambda: screens.budget(spec),
            "folder": lambda: screens.published(self.folder, asked),
        }
        return HTMLResponse(self._pages.get_template(f"{name}.html").render(shown | gathered[name]()), status)

    def change(self, name: str, form: dict[str, str]) -> Response:
        """One edit: written, or told at its place."""
        place, seen = form.get("place", ""), form.get("seen", "")
        try:
            if place == "undo":
                self.files.undo(seen)
            else:
                self.files.edit(seen, *self._edits(name, place, form))
        except Moved as error:
            return self.page(name, form, 409, str(error), place, error.difference)
        except (SynthreleaseError, ValueError, OSError) as error:
            return self.page(name, form, 422, _in_words(error), place)
        return RedirectResponse(f"/{name}", 303)

    def _edits(self, name: str, place: str, form: dict[str, str]) -> tuple[str, list[Edit]]:
        """The file and the lines of an edit. Raises ValueError for a place that no page has."""
        spec = self.files.spec(self.files.texts())
        known = {column.name: column for column in spec.schema.columns}
        what, _, which = place.partition(":")
        if name == "columns" and which in known and what == "description":
            return "configuration", [Edit(path=("columns", which, "description"), toml=toml(form.get("value", "")))]
        if name == "columns" and which in known and what == "bounds" and known[which].bounds is not None:
            low, high = _number(form.get("low", "")), _number(form.get("high", ""))
            return "configuration", [Edit(path=("columns", which, "bounds"), toml=f"[{low}, {high}]")]
        if name == "questions" and what == "threshold" and which in {str(i) for i in range(len(spec.criteria))}:
            return "acceptance", [Edit(path=("criteria", int(which), "threshold"), toml=_number(form.get("value", "")))]
        if name == "people" and place in ("name", "why"):
            return "configuration", [Edit(path=("unit", place), toml=toml(form.get("value", "")))]
        if name == "people" and place == "records_per_person":
            return "configuration", [Edit(path=("unit", place), toml=_number(form.get("value", "")))]
        if name == "budget" and place in ("generation", "limit"):
            return "configuration", [Edit(path=("budget", place), toml=_number(form.get("value", "")))]
        raise ValueError("The page has no such control. Nothing was written.")

    def card(self) -> Response:
        """The card of the published folder, under a policy of its own."""
        if self.folder is None or not (self.folder / "README.html").is_file():
            return PlainTextResponse("No card was opened.", 404)
        return HTMLResponse((self.folder / "README.html").read_bytes(), headers={"content-security-policy": CARD})


def _number(text: str) -> str:
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"Expected a number such as 12 or 0.5, found {text[:40]!r}. Nothing was written.")
    return text.strip()


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

    routes = [Route("/", first), Route("/desk.css", style), Route("/card", card)]
    routes += [Route(f"/{name}", shows(name), methods=["GET"]) for name in SCREENS]
    routes += [Route(f"/{name}", takes(name), methods=["POST"]) for name in SCREENS if name not in READ_ONLY]
    return Guard(Starlette(routes=routes), origin=origin)
