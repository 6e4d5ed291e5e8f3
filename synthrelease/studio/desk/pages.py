"""What a desk was started with, its pages, and what each of its forms does."""

from __future__ import annotations

import hmac
import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl

from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthrelease.errors import InputError, SpecError, SynthreleaseError
from synthrelease.privacy.ledger import Ledger
from synthrelease.privacy.noise import SYSTEM
from synthrelease.resources import templates
from synthrelease.settings.tables import RANDOM
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.desk.files import (
    BothTexts,
    Changes,
    DeskFiles,
    Moved,
    NoSuchControl,
    Rehearsals,
    Shown,
    changes_of,
    number,
    table_of,
)
from synthrelease.studio.desk.screens import (
    Account,
    budget_screen,
    columns_screen,
    folder_screen,
    people_screen,
    questions_screen,
    rehearsal_screen,
    signoff_screen,
)
from synthrelease.studio.desk.strips import Strips
from synthrelease.studio.drafting.edits import Guesses, Kind, LeftOutOf, adopt_listed, bring_back, column_as, leave_out
from synthrelease.studio.drafting.public_file import PublicFile
from synthrelease.studio.drafting.toml_edit import Edit, own_acceptance, toml

# What the desk has done by other rooms, where a line is not enough: columns of another kind, left out, back, or the key.

KEPT = ("description", "unit")
"""The steward's words on a column stay, whatever it is taken for."""
NO_PUBLIC = "What a column can be is read from the public file. Start the desk with --data PUBLIC."


def left_out(path: Path, texts: BothTexts, name: str, *, dry_run: bool) -> LeftOutOf:
    """What goes with a column, which has a table of its own; with it, unless this is a `dry_run`."""
    if name not in texts.file.tables["columns"]:
        raise NoSuchControl
    return leave_out(path, [name], dry_run=dry_run, take_over=True)


def other_kind(start: Shown, name: str, kind: str) -> Changes:
    """The lines of a column that is taken for another kind."""
    column, public = start.spec.schema.by_name.get(name), start.public
    if column is None or table_of(start.spec, name)[0] != "columns":
        raise NoSuchControl
    chosen = _kind(kind)
    if public is None or column.source not in public.columns:
        raise InputError(NO_PUBLIC)
    old = start.texts.file.tables["columns"][name]
    new = column_as(public, column.source, chosen)
    new |= {key: old[key] for key in KEPT if old.get(key)}
    if name == column.source:
        del new["source"]
    gone = [Edit(path=("columns", name, key)) for key in old if key not in new]
    edits = gone + [Edit(path=("columns", name, key), toml=toml(value)) for key, value in new.items() if old.get(key) != value]
    return {"configuration": edits}


def bring_column_back(start: Shown, source: str, kind: str) -> Changes:
    """The lines of a column of the public file that is released again, or for the first time."""
    chosen, file = _kind(kind), start.texts.file
    if start.public is None:
        raise InputError(NO_PUBLIC)
    edits, ignoring = bring_back(start.spec, file.tables, start.texts.acceptance_tables, start.public, source, chosen)
    return {"configuration": edits, "acceptance": ignoring}


def _kind(kind: str) -> Kind:
    chosen = next((known_kind for known_kind in get_args(Kind) if known_kind == kind), None)
    if chosen is None:
        raise NoSuchControl
    return chosen  # type: ignore[no-any-return]


def take_as_key(files: DeskFiles, start: Shown, source: str) -> None:
    """Let a column of the file say whose row it is; where it is released, it is left out."""
    if start.public is None or source not in start.public.columns:
        raise NoSuchControl
    released = [column.name for column in start.spec.schema.columns if source in column.sources]
    if released:
        leave_out(files.path, released, take_over=True)
    edits = [Edit(path=("unit", "key"), toml=toml(source))]
    if not start.spec.unit.answered:
        edits.append(Edit(path=("unit", "records_per_person"), toml="1"))
    if not start.spec.unit.first_by:
        edits.append(Edit(path=("unit", "first_by"), toml=toml(RANDOM)))
    files.write(files.texts(), {"configuration": edits})


def copy_acceptance(files: DeskFiles, texts: BothTexts) -> None:
    """Give the configuration an acceptance file of its own, which says the same as the one that another one hands down."""
    if "acceptance" not in texts.file.inherited:
        raise NoSuchControl
    path, edit = own_acceptance(texts.file, texts.acceptance_path)
    with path.open("xb") as file:
        file.write(texts.acceptance)
    try:
        files.write(texts, {"configuration": [edit]})
    except SynthreleaseError:
        path.unlink()
        raise


# How a browser gets the address of the desk. Every user of a machine can read command lines, so the token stands on none.
#
# The browser is given a file that its owner alone can read, which leads on to the address; Jupyter does the same.

LEADS_ON = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>The desk</title></head>
<body><p><a href="{address}">To the desk</a></p></body></html>
"""
"""A page that goes on to an address by itself. A new request of the page's own site then carries the cookie."""


def leading_on(address: str) -> str:
    """A page that goes on to an address by itself."""
    return LEADS_ON.format(address=escape(address))


@contextmanager
def entrance(address: str) -> Iterator[Path]:
    """While the desk runs, a file that leads to its address: 0600, in a new folder that is 0700.

    On Windows both inherit what may be done in the user's own folder for temporary files.

    Raises
    ------
    OSError : where no such file can be made.
    """
    with tempfile.TemporaryDirectory(prefix="synthrelease-desk-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(leading_on(address))
        yield page


def open_browser(page: Path, failed: Callable[[], None]) -> None:
    """Open a file in the browser while the desk answers: some browsers return when they are closed, and not before."""

    def opened() -> None:
        try:
            opened_page = webbrowser.open_new_tab(page.as_uri())
        except (webbrowser.Error, OSError):
            opened_page = False
        if not opened_page:
            failed()

    threading.Thread(target=opened, name="browser", daemon=True).start()


# Who may ask the desk anything: the browser that was given the printed address, from a page of the desk.

MOST_BYTES = 65_536
"""The largest body of a request."""
MOST_ADDRESS = 4_096
"""The longest address, with its question mark."""
FORM = "application/x-www-form-urlencoded"
OWN = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CARD = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""The policy of a card, which has styles of its own: it runs no script, sends no form and loads nothing."""


def new_secret() -> str:
    """256 bits from the system, as hexadecimal digits."""
    return f"{SYSTEM.pick(2**128):032x}{SYSTEM.pick(2**128):032x}"


class Guard:
    """Hands on what the steward's browser asks, and refuses everything else before it is read.

    The token in the printed address counts once. It becomes a cookie that no script and no other site can use.

    Parameters
    ----------
    origin : of the desk, such as "http://127.0.0.1:8765".
    """

    def __init__(self, app: ASGIApp, *, origin: str):
        self._app, self._origin, self._host = app, origin, origin.removeprefix("http://")
        self.token = new_secret()
        self._session = new_secret()
        self._used = False
        self._cookie = f"desk-{self._host.rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = _single(scope)
        answer = PlainTextResponse("A header stands twice.", 400) if headers is None else self._refused(scope, headers)
        if answer is not None:
            await answer(scope, receive, _protected(send))
            return
        body = await _body(receive)
        if body is None:
            await PlainTextResponse("The request is too large.", 413)(scope, receive, _protected(send))
            return

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, _protected(send))

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """The answer to what is not handed on; None for what is."""
        method, query = scope["method"], scope.get("query_string", b"")
        if not _same(headers.get("host", ""), self._host):
            return PlainTextResponse("The desk answers under its printed address alone.", 400)
        if method not in ("GET", "POST"):
            return PlainTextResponse("The desk knows GET and POST.", 405)
        if len(query) + len(scope["path"]) > MOST_ADDRESS:
            return PlainTextResponse("The address is too long.", 414)
        foreign = headers.get("origin", self._origin if method == "GET" else "") != self._origin
        enters = method == "GET" and scope["path"] == "/" and b"token=" in query  # it may come from a file
        if foreign or (not enters and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")):
            return PlainTextResponse("The request comes from another page.", 403)
        if enters:
            return self._first(query)
        if not _same(_cookies(headers.get("cookie", "")).get(self._cookie, ""), self._session):
            return PlainTextResponse("Open the address that the command printed. It works once; start the desk again.", 403)
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            return PlainTextResponse("The desk takes forms.", 415)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > MOST_BYTES:
            return PlainTextResponse("The request is too large.", 413)
        return None

    def _first(self, query: bytes) -> Response:
        if self._used or not _same(query.decode("latin-1"), f"token={self.token}"):
            return PlainTextResponse("This address was used before, or is wrong. Start the desk again for a new one.", 403)
        self._used = True
        answer = HTMLResponse(leading_on("/people"))  # after a redirect from a file the browser would keep the cookie back
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer


def _same(secret: str, expected: str) -> bool:
    return hmac.compare_digest(secret.encode("utf-8", "replace"), expected.encode())


def _single(scope: Scope) -> dict[str, str] | None:
    """The headers by name; None where one that decides stands twice."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in headers and key in ("host", "origin", "content-length", "content-type", "cookie"):
            return None
        headers[key] = value.decode("latin-1")
    return headers


def _cookies(text: str) -> dict[str, str]:
    return {name.strip(): value for name, _, value in (part.partition("=") for part in text.split(";"))}


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too large or broken off."""
    content = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        content += message.get("body", b"")
        if len(content) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return content


def _protected(send: Send) -> Send:
    """Every answer says what a browser may do with it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            has = {name.lower() for name, _ in message["headers"]}
            policies = {
                b"content-security-policy": OWN.encode(),
                b"cache-control": b"no-store",
                b"x-content-type-options": b"nosniff",
                b"referrer-policy": b"same-origin",  # without a referrer a browser hides the Origin of forms, too
                b"cross-origin-opener-policy": b"same-origin",
                b"cross-origin-resource-policy": b"same-origin",
            }
            message["headers"] = [*message["headers"], *((name, value) for name, value in policies.items() if name not in has)]
        await send(message)

    return sent


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
        self, name: str, query: dict[str, str], status: int = 200, message: str = "", control: str = "", diff: str = ""
    ) -> Response:
        """A screen, with what an edit met at its place."""
        context: dict[str, Any] = {"name": name, "told": message, "place": control, "difference": diff}
        try:
            texts = self.files.texts()
            spec = self.files.spec(texts)
        except (SynthreleaseError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return HTMLResponse(self._pages.get_template("unreadable.html").render(context | {"why": why}), max(status, 409))
        if not spec.unit.answered and name not in BEFORE_THE_ANSWER:
            return self.page("people", {}, status, message, "", diff) if message else RedirectResponse("/people", 303)
        context = self._around(texts, spec) | context | {"last": self.files.last_change(texts), "typed": query}
        opened, rehearsals = self.opened, self.rehearsals
        gathered: dict[str, Callable[[], dict[str, Any]]] = {
            "people": lambda: people_screen(spec, opened.public, opened.guesses),
            "columns": lambda: columns_screen(spec, texts.file, self._strips, opened.guesses, query.get("filter", "")[:100]),
            "questions": lambda: questions_screen(spec, texts.file, rehearsals.found(spec)),
            "budget": lambda: budget_screen(spec, self._strips, _statement(opened.ledger), rehearsals.found(spec), query),
            "rehearsal": lambda: rehearsal_screen(spec, rehearsals),
            "signoff": lambda: signoff_screen(spec, self.files.path, rehearsals, opened.ledger),
            "folder": lambda: folder_screen(opened.folder, query),
        }
        template = self._pages.get_template(f"{name}.html")
        try:
            return HTMLResponse(template.render(context | gathered[name]()), status)
        except (LookupError, TypeError, ValueError, AttributeError, TemplateError):
            if not rehearsals.put_aside(spec):  # results of another version, or damaged ones, can have any shape
                raise
            return self.page(name, query, status, message, control, diff)

    def change(self, name: str, form: dict[str, str]) -> Response:
        """One edit or action: done, or told at its place."""
        control, seen = form.get("place", ""), form.get("seen", "")
        try:
            if control == "undo":
                self.files.undo(seen)
            elif (action := self._action(name, control, form)) is not None:
                if (answer := action()) is not None:
                    return answer
            else:
                self.files.edit(seen, changes_of(self._shown(), name, control, form))
        except Moved as error:
            return self.page(name, form, 409, str(error), control, error.difference)
        except (SynthreleaseError, ValueError, OSError) as error:
            return self.page(name, form, 422, _in_words(error), control)
        at = {"columns": "bounds", "questions": "threshold"}.get(name)
        which = control.split(":")[1] if ":" in control else ""
        return RedirectResponse(
            f"/{name}" + (f"#{at}-{which}" if at and (which.isidentifier() or which.isdigit()) else ""), 303
        )

    def _action(self, name: str, control: str, form: dict[str, str]) -> Callable[[], Response | None] | None:
        """What a control does that is no line; None for one that is."""
        action, _, which = control.partition(":")
        if name == "rehearsal":
            return partial(self._rehearse, control, form)
        if name == "columns" and action in ("kind", "back", "leave", "key"):
            return partial(self._column, action, which, form)
        if (name, control) == ("people", "key"):
            if not form.get("value"):
                raise ValueError("Expected the column that says whose row it is, found none chosen.")
            return partial(self._column, "key", form.get("value", ""), form)
        if (name, control) == ("questions", "own"):
            texts = self.files.texts()
            return lambda: self.files.act(form.get("seen", ""), lambda: copy_acceptance(self.files, texts))
        return None

    def _shown(self) -> Shown:
        texts = self.files.texts()
        return Shown(texts=texts, spec=self.files.spec(texts), public=self.opened.public)

    def _rehearse(self, control: str, form: dict[str, str]) -> None:
        texts = self.files.texts()
        spec = self.files.spec(texts)
        if control == "start":
            if form.get("seen", "") != texts.seen:
                raise Moved("")
            minutes = number(form.get("minutes", ""))
            if not (minutes.isdigit() and 1 <= int(minutes) <= LONGEST_REHEARSAL):
                raise ValueError(f"Expected whole minutes from 1 to {LONGEST_REHEARSAL}, found {minutes}. Nothing was started.")
            self.rehearsals.start(spec, int(minutes))
        elif control in ("stop", "kill"):
            self.rehearsals.stop(at_once=control == "kill")
        elif control == "adopt":
            rehearsed = self.rehearsals.found(spec)
            if rehearsed is None:
                raise InputError("There is no rehearsal to adopt anything from.")
            self.files.act(form.get("seen", ""), lambda: adopt_listed(self.files.path, rehearsed.folder / "shortlist.toml"))
        else:
            raise NoSuchControl

    def _column(self, action: str, which: str, form: dict[str, str]) -> Response | None:
        start, seen, kind = self._shown(), form.get("seen", ""), form.get("value", "")
        if action == "kind":
            self.files.edit(seen, other_kind(start, which, kind))
        elif action == "back":
            self.files.edit(seen, bring_column_back(start, which, kind))
        elif action == "key":
            self.files.act(seen, lambda: take_as_key(self.files, start, which))
        elif form.get("sure") == "yes":
            self.files.act(seen, lambda: left_out(self.files.path, start.texts, which, dry_run=False))
        else:
            return self._asked_first(start.texts, start.spec, which)
        return None

    def _asked_first(self, texts: BothTexts, spec: ReleaseSpec, which: str) -> Response:
        context = {"name": "columns", "which": which, "found": left_out(self.files.path, texts, which, dry_run=True)}
        return HTMLResponse(self._pages.get_template("leaving.html").render(self._around(texts, spec) | context))

    def _around(self, texts: BothTexts, spec: ReleaseSpec) -> dict[str, Any]:
        """What stands around every screen."""
        answered = spec.unit.answered
        return {
            "screens": SCREENS,
            "told": "",
            "difference": "",
            "last": "",
            "seen": texts.seen,
            "title": spec.title,
            "file": self.files.path.name,
            "announced": [message for message in (self.opened.announced, *self.rehearsals.aside) if message],
            "refresh": 0,
            "closed": () if answered else tuple(screen for screen in SCREENS if screen not in BEFORE_THE_ANSWER),
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
            rehearsed = self.rehearsals.found(self.files.spec(self.files.texts()))
        except (SynthreleaseError, OSError):
            rehearsed = None
        return _framed(rehearsed.folder if rehearsed is not None else None, "report.html", "There is no report.")


def _framed(folder: Path | None, name: str, missing: str) -> Response:
    try:
        if folder is not None:
            return HTMLResponse((folder / name).read_bytes(), headers={"content-security-policy": CARD})
    except OSError:
        pass
    return PlainTextResponse(missing, 404)


def _statement(ledger: Path | None) -> Account:
    """What a ledger says, or why it says nothing."""
    if ledger is None:
        return Account()
    try:
        return Account(statement=Ledger(path=ledger.absolute()).statement())
    except SynthreleaseError as error:
        return Account(why=str(error))


def _in_words(error: Exception) -> str:
    if isinstance(error, SpecError):
        return "\n".join(str(problem) for problem in error.problems)
    if isinstance(error, OSError):
        return f"The file could not be read or written ({error.strerror}). Nothing was saved."
    return str(error)


# The addresses of the desk: its pages and their forms, two files of its own, the card and the report.

UNREADABLE = PlainTextResponse("The form cannot be read, or has a field twice.", 400)


def fields(content: bytes) -> dict[str, str] | None:
    """The values of a form or of an address by their names; None where it cannot be read, or has one name twice."""
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError:
        return None
    values = dict(pairs)
    return values if len(values) == len(pairs) else None


def application(desk: Desk, origin: str) -> Guard:
    """The whole desk behind its guard."""

    def endpoint(answer: Callable[[dict[str, str]], Response]) -> Callable[[Request], Any]:
        """Answer with the fields of a form, or of an address, apart from the loop of requests."""

        async def respond(request: Request) -> Response:
            content = await request.body() if request.method == "POST" else request.scope["query_string"]
            values = fields(content)
            return UNREADABLE if values is None else await run_in_threadpool(answer, values)

        return respond

    def static(name: str, kind: str) -> Callable[[dict[str, str]], Response]:
        return lambda _: Response((FOLDER / name).read_bytes(), media_type=kind)

    pages: dict[str, Callable[[dict[str, str]], Response]] = {
        "": lambda _: RedirectResponse("/people", 303),
        "desk.css": static("desk.css", "text/css"),
        "desk.js": static("desk.js", "text/javascript"),
        "seen": lambda _: desk.seen(),
        "card": lambda _: desk.card(),
        "report": lambda _: desk.report(),
        **{name: partial(desk.page, name) for name in SCREENS},
    }
    routes = [Route(f"/{name}", endpoint(page), methods=["GET"]) for name, page in pages.items()]
    routes += [
        Route(f"/{name}", endpoint(partial(desk.change, name)), methods=["POST"]) for name in SCREENS if name not in READ_ONLY
    ]
    screens = Starlette(routes=routes)
    screens.router.redirect_slashes = False  # it would decode the address before `fields` does
    return Guard(screens, origin=origin)
