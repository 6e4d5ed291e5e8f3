"""Serve the desk: check every request, show the pages, and perform the actions of forms and buttons."""

from __future__ import annotations

import hmac
import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl

from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthrelease.errors import InputError, SpecError, SynthreleaseError
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.ledger import Ledger
from synthrelease.privacy.noise import SYSTEM
from synthrelease.resources import templates
from synthrelease.settings.reading import toml_tables
from synthrelease.settings.tables import RANDOM
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import DraftRequest
from synthrelease.spec.tried import leave
from synthrelease.studio.desk.files import (
    BothTexts,
    Changes,
    DeskFiles,
    Moved,
    NoSuchControl,
    Refused,
    Rehearsals,
    Shown,
    Step,
    changes_of,
    number,
)
from synthrelease.studio.desk.screens import (
    SCREENS,
    Account,
    Refusal,
    budget_screen,
    columns_screen,
    folder_screen,
    people_screen,
    questions_screen,
    refusal,
    rehearsal_screen,
    signoff_screen,
    unfinished,
)
from synthrelease.studio.desk.start import Start
from synthrelease.studio.desk.strips import Strips
from synthrelease.studio.drafting.draft import write_draft
from synthrelease.studio.drafting.edits import (
    Guesses,
    Kind,
    LeftOutOf,
    accept_lost,
    adopt_listed,
    bring_back,
    column_as,
    leave_out,
    table_of,
)
from synthrelease.studio.drafting.public_file import PublicFile
from synthrelease.studio.drafting.toml_edit import Edit, Path_, changed, own_acceptance, toml

KEPT = ("description", "unit")
"""The desk keeps these settings of a column when its kind changes, because the steward wrote them."""
NO_PUBLIC = "The kind of a column is read from the public file. Start the desk with --data PUBLIC."


def left_out(path: Path, texts: BothTexts, name: str, *, dry_run: bool) -> LeftOutOf:
    """Remove a column from both files, and return the changes. With `dry_run`, only return them."""
    if name not in texts.file.tables["columns"]:
        raise NoSuchControl
    return leave_out(path, [name], dry_run=dry_run, take_over=True)


def other_kind(start: Shown, name: str, kind: str) -> Changes:
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
    chosen, file = _kind(kind), start.texts.file
    if start.public is None:
        raise InputError(NO_PUBLIC)
    edits, ignoring = bring_back(start.spec, file.tables, start.texts.acceptance_tables, start.public, source, chosen)
    return {"configuration": edits, "acceptance": ignoring}


def _kind(kind: str) -> Kind:
    chosen = next((known_kind for known_kind in get_args(Kind) if known_kind == kind), None)
    if chosen is None:
        raise NoSuchControl
    return chosen


def take_as_key(files: DeskFiles, start: Shown, source: str) -> None:
    """Use a column as the key that identifies persons. A released column is left out first."""
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


WORDS = ("title", "description", "acceptance")


def draft_anew(files: DeskFiles, start: Shown, data: str | None, important: Sequence[str]) -> None:
    """Draft both files again with some columns declared as important, as `init --important` does.

    The released columns, the limit of epsilon, and the steward's texts and rules stay the same. `data` is the path of the
    public file, or None.

    Raises
    ------
    InputError : when there is no public file, when the draft would lose a table of the configuration, or when no draft can
        be made.
    """
    spec, tables = start.spec, start.texts.file.tables
    lost = [name for name in ("extends", "members", "geography", "marks", "series", "split", "population") if name in tables]
    if data is None or lost:
        why = f"The configuration has the table [{lost[0]}]" if lost else "The desk has no public file"
        raise InputError(f"{why}. Draft again in a terminal: `synthrelease init NAME --from PUBLIC --important A,B`.")
    sources = dict.fromkeys(source for column in spec.schema.columns for source in column.sources)
    key, limit = spec.unit.key, spec.budget.limit
    with tempfile.TemporaryDirectory() as folder:
        request = DraftRequest(
            name="draft",
            public=data,
            only=(*sources, *([key] if key else [])),
            unit=f"{key}:{spec.unit.records}" if key else "row",
            epsilon=None if limit is None else decimal_text(limit),
            pure=not spec.plan.total.delta,
            important=tuple(important),
            into=Path(folder),
        )
        *paths, made = write_draft(request)
        configuration, acceptance = (path.read_bytes() for path in paths)
    if made.codelists:
        raise InputError("The draft needs separate files for its lists of codes. Draft again with `synthrelease init`.")
    drafted = toml_tables(configuration, files.path)
    without_rules = with_rules = changed(files.path, configuration, list(_own_words(tables, drafted)))
    for edit in _own_rules(tables, drafted):
        with_rules = changed(files.path, with_rules, [edit])
    texts = files.texts()
    tried = replace(texts, configuration=without_rules, acceptance=acceptance)
    try:
        files.replace(texts, replace(tried, configuration=with_rules))
    except SpecError as error:
        problems = (problem.sentence for problem in error.problems if problem.path)
        raise InputError(
            f"One of your texts or rules does not fit the new draft: {' '.join(problems)} Remove it first."
        ) from None
    leave(files.spec(tried), "draft", made.n_used, made.strengths)  # nobody tried the draft with the steward's rules


def _own_words(tables: Mapping[str, Any], drafted: Mapping[str, Any]) -> Iterator[Edit]:
    words: dict[Path_, object] = {(name,): tables[name] for name in WORDS if name in tables}
    words |= {(name, key): text for name in ("unit", "card") for key, text in tables.get(name, {}).items()}
    words |= {("intended_queries", place): question for place, question in enumerate(tables.get("intended_queries", ()))}
    for name in tables["columns"].keys() & drafted["columns"].keys():
        table = tables["columns"][name]
        words |= {("columns", name, key): table[key] for key in (*KEPT, "bounds_by") if key in table}
    yield from (Edit(path=path, toml=str(text) if isinstance(text, date) else toml(text)) for path, text in words.items())


def _own_rules(tables: Mapping[str, Any], drafted: Mapping[str, Any]) -> Iterator[Edit]:
    """Yield the edits that copy the steward's own rules, which have a reason or apply to the private file, into a draft."""
    rules = [*drafted.get("rules", ())]
    for rule in tables.get("rules", ()):
        if rule.get("why") or "raw" in _applies_to(rule):
            same = (i for i, old in enumerate(rules) if old["never"] == rule["never"] and _applies_to(old) <= _applies_to(rule))
            place = next(same, len(rules))
            rules[place : place + 1] = [rule]
            yield Edit(path=("rules", place), toml=toml(rule))


def _applies_to(rule: Mapping[str, Any]) -> set[str]:
    return {*rule.get("applies_to", ("raw", "synthetic"))}


def copy_acceptance(files: DeskFiles, texts: BothTexts) -> None:
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


# Every user of a machine can read command lines, so no command line contains the token. The browser opens a file that only the
# owner of the desk can read. This file redirects to the address of the desk. Jupyter does the same.

LEADS_ON = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>The desk</title></head>
<body><p><a href="{address}">To the desk</a></p></body></html>
"""
"""A page that redirects the browser to another page. The browser then sends its cookie, because both pages belong to the same
site.
"""


def leading_on(address: str) -> str:
    return LEADS_ON.format(address=escape(address))


@contextmanager
def entrance(address: str) -> Iterator[Path]:
    """Create a file that redirects to the address of the desk, yield its path, and delete it at the end.

    The file has the permissions 0600, in a new folder with 0700. On Windows, it has those of the user's temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="synthrelease-desk-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(leading_on(address))
        yield page


def open_browser(page: Path, failed: Callable[[], None]) -> None:
    """Open a file in the browser from a second thread, because some browsers return only when they are closed.

    `failed` is called if no browser could be opened.
    """

    def opened() -> None:
        try:
            opened_page = webbrowser.open_new_tab(page.as_uri())
        except (webbrowser.Error, OSError):
            opened_page = False
        if not opened_page:
            failed()

    threading.Thread(target=opened, name="browser", daemon=True).start()


MOST_BYTES = 2**20
"""The largest body of a request in bytes, enough for all fields of 200 columns."""
MOST_FIELDS = 5_000
MOST_ADDRESS = 4_096
"""The largest number of characters of a URL, including its query."""
FORM = "application/x-www-form-urlencoded"
OWN = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CARD = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""The content security policy of a card. A card may have styles, but runs no script, sends no form and loads nothing."""


def new_secret() -> str:
    return f"{SYSTEM.pick(2**128):032x}{SYSTEM.pick(2**128):032x}"


class Guard:
    """An ASGI application that passes on only the requests of the steward's browser. Others are refused without reading
    them.

    The token in the printed address is valid once. A cookie that no script and no other site can use replaces the token.

    Parameters
    ----------
    app : the application behind the guard.
    origin : origin of the desk, such as "http://127.0.0.1:8765".
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
        answer = PlainTextResponse("The request repeats a header.", 400) if headers is None else self._refused(scope, headers)
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
        method, query = scope["method"], scope.get("query_string", b"")
        if not _same(headers.get("host", ""), self._host):
            return PlainTextResponse("The desk answers only at the address that it printed.", 400)
        if method not in ("GET", "POST"):
            return PlainTextResponse("The desk accepts only GET and POST.", 405)
        if len(query) + len(scope["path"]) > MOST_ADDRESS:
            return PlainTextResponse("The address is too long.", 414)
        foreign = headers.get("origin", self._origin if method == "GET" else "") != self._origin
        # the request may come from the local file that redirects here
        enters = method == "GET" and scope["path"] == "/" and b"token=" in query
        if foreign or (not enters and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")):
            return PlainTextResponse("The request comes from another page.", 403)
        if enters:
            return self._first(query)
        if not _same(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._session):
            return PlainTextResponse("Start the desk again and open the address that it prints. This address works once.", 403)
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            return PlainTextResponse("The desk accepts only forms.", 415)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > MOST_BYTES:
            return PlainTextResponse("The request is too large.", 413)
        return None

    def _first(self, query: bytes) -> Response:
        if self._used or not _same(query.decode("latin-1"), f"token={self.token}"):
            return PlainTextResponse("This address was used before or is wrong. Start the desk again for a new address.", 403)
        self._used = True
        answer = HTMLResponse(leading_on("/people"))  # with an HTTP redirect after a file, the browser would send no cookie
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer


def _same(secret: str, expected: str) -> bool:
    return hmac.compare_digest(secret.encode("utf-8", "replace"), expected.encode())


def _single(scope: Scope) -> dict[str, str] | None:
    """Return the headers of a request by name, or None if a header that the guard checks occurs twice."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in headers and key in ("host", "origin", "content-length", "content-type", "cookie"):
            return None
        headers[key] = value.decode("latin-1")
    return headers


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, or None if it is too large or incomplete."""
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
    """Return a `send` function that adds security headers to every response."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            has = {name.lower() for name, _ in message["headers"]}
            policies = {
                b"content-security-policy": OWN.encode(),
                b"cache-control": b"no-store",
                b"x-content-type-options": b"nosniff",
                b"referrer-policy": b"same-origin",  # with no-referrer, browsers would also hide the Origin of forms
                b"cross-origin-opener-policy": b"same-origin",
                b"cross-origin-resource-policy": b"same-origin",
            }
            message["headers"] = [*message["headers"], *((name, value) for name, value in policies.items() if name not in has)]
        await send(message)

    return sent


FOLDER = Path(__file__).parent / "templates"
LONGEST_REHEARSAL = 1_440
"""The largest number of minutes of a rehearsal."""
READ_ONLY = ("folder",)
BEFORE_THE_ANSWER = ("people", "folder")
"""Screens that can be opened before the steward has stated how many rows a person can have."""
BY_BUTTON = ("key", "start", "important")
"""Controls whose fields are sent by a separate button and not by Save."""
MOST_PAGES = 500
"""The largest number of shown pages whose field values are remembered."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The files and folders with which a desk was started.

    Attributes
    ----------
    public, members : the public file, and the public file of the second of two linked tables, or None.
    guesses : the kinds that a draft would choose for the columns of the public files.
    folder : a published folder, or None.
    ledger : path of the ledger of the private dataset, or None.
    announced : a message for every page, such as that another desk is open on the files.
    start : screen 0, for a start without a public file.
    """

    files: DeskFiles
    public: PublicFile | None = None
    members: PublicFile | None = None
    guesses: Guesses = field(default_factory=Guesses)
    rehearsals: Rehearsals | None = None
    folder: Path | None = None
    ledger: Path | None = None
    announced: str = ""
    start: Start | None = None


class Entries:
    """The contents of a screen's fields: the unsaved entry if there is one, otherwise the value in the files.

    `typed` has the unsaved entry of each field, by the field's name CONTROL/KEY.
    """

    def __init__(self, typed: dict[str, str]):
        self.typed, self.saved = typed, dict[str, str]()

    def __call__(self, name: str, saved: object) -> str:
        """Return the unsaved entry of a field, or else the value in the files; remember the latter."""
        self.saved[name] = text = one_kind_of_line_ends(str(saved))
        if self.typed.get(name) == text:
            del self.typed[name]
        return self.typed.get(name, text)


def one_kind_of_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Desk:
    """The pages and actions of a desk, the local web application in which a data steward edits a release.

    All fields of a screen belong to one form. Unsaved entries stay in their fields until they are saved or discarded, also
    after an error, a reload or the action of another button.
    """

    def __init__(self, opened: Opened):
        self.opened, self.files = opened, opened.files
        self.rehearsals = opened.rehearsals or Rehearsals(opened.files.path, None)
        self._pages = templates(FOLDER, __file__)
        self._strips = Strips(opened.public, opened.members)
        self._typed: dict[str, dict[str, str]] = {screen: {} for screen in SCREENS}
        self._saved: dict[tuple[str, str], dict[str, str]] = {}
        self._looked_at = set[str]()

    def page(
        self,
        name: str,
        query: dict[str, str],
        status: int = 200,
        message: str = "",
        diff: str = "",
        refusals: Mapping[str, Refusal] | None = None,
    ) -> Response:
        """Return the page of a screen.

        Parameters
        ----------
        message : the reason why nothing was saved.
        diff : changes that another program made to the files.
        refusals : for each control whose entry was not saved, the reasons.
        """
        if self.opened.start is not None and not self.files.path.exists():
            return RedirectResponse("/start", 303)
        context: dict[str, Any] = {"name": name, "message": message, "difference": diff, "refusals": refusals or {}}
        try:
            texts = self.files.texts()
            spec = self.files.spec(texts)
        except (SynthreleaseError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return HTMLResponse(self._pages.get_template("unreadable.html").render(context | {"why": why}), max(status, 409))
        if not spec.unit.answered and name not in BEFORE_THE_ANSWER:
            return self.page("people", {}, status, message, diff) if message or refusals else RedirectResponse("/people", 303)
        self._looked_at.add(name)
        opened, rehearsals, entries = self.opened, self.rehearsals, Entries(self._typed[name])
        account, rehearsed = _statement(opened.ledger), rehearsals.found(spec)
        missing = unfinished(spec, texts.file, account, rehearsed)
        gathered: dict[str, Callable[[], dict[str, Any]]] = {
            "people": lambda: people_screen(spec, opened.public, opened.guesses),
            "columns": lambda: columns_screen(spec, texts.file, self._strips, opened.guesses, query.get("filter", "")[:100]),
            "questions": lambda: questions_screen(spec, texts.file, rehearsed),
            "budget": lambda: budget_screen(spec, self._strips, account, rehearsed, query),
            "rehearsal": lambda: rehearsal_screen(spec, rehearsals),
            "signoff": lambda: signoff_screen(spec, self.files.path, rehearsals, opened.ledger) | self._not_done(missing),
            "folder": lambda: folder_screen(opened.folder, query),
        }
        try:
            around = self._around(texts, spec, missing) | {"last": self.files.last_change(texts), "entry": entries}
            content = self._pages.get_template(f"{name}.html").render(around | context | gathered[name]())
        except (LookupError, TypeError, ValueError, AttributeError, TemplateError):
            if not rehearsals.put_aside(spec):  # results of another version, or damaged results, may have another structure
                raise
            return self.page(name, query, status, message, diff, refusals)
        saved = self._saved.pop((texts.seen, name), {})
        self._saved[texts.seen, name] = saved | entries.saved
        while len(self._saved) > MOST_PAGES:
            del self._saved[next(iter(self._saved))]
        return HTMLResponse(content, status)

    def start(self, query: Mapping[str, str], status: int = 200, message: str = "") -> Response:
        if self.opened.start is None:
            return RedirectResponse("/people", 303)
        shown = self.opened.start.screen(query) | {"screens": SCREENS, "message": message}
        return HTMLResponse(self._pages.get_template("start.html").render(shown), status)

    def draft(self, _: Mapping[str, str]) -> Response:
        """Draft the release from the folder of a scout (noisy tables of single columns)."""
        try:
            if self.opened.start is not None:
                self.opened.start.draft()
        except (SynthreleaseError, OSError) as error:
            return self.start({}, 422, str(error))
        return RedirectResponse("/people", 303)

    def change(self, name: str, form: dict[str, str]) -> Response:
        """Remember the typed values, save them or perform the button's action, and return the next page.

        If an entry is refused, the page shows the reason beside the field.
        """
        button, seen = form.pop("place", ""), form.pop("seen", "")
        control, _, value = button.rpartition("=") if "=" in button else (button, "", "")
        try:
            self._keep(name, seen, form)
            if control == "typed":
                return Response(status_code=204)
            if (answer := self._done(name, control, value, seen)) is not None:
                return answer
        except Moved as error:
            return self.page(name, {}, 409, str(error), error.difference)
        except Refused as error:
            return self._refused(name, error.causes)
        except (SynthreleaseError, ValueError, OSError) as error:
            return self._refused(name, {control: error})
        is_section = control == "save" and value.isascii() and value.replace("-", "_").isidentifier()
        return RedirectResponse(f"/{name}#{value}" if is_section else f"/{name}", 303)

    def _keep(self, name: str, seen: str, form: Mapping[str, str]) -> None:
        if not form:
            return
        if (saved := self._saved.get((seen, name))) is None:
            raise Moved(self.files.moved(seen))
        if not form.keys() <= saved.keys():
            raise NoSuchControl
        for field_name, text in form.items():
            if (plain := one_kind_of_line_ends(text)) == saved[field_name]:
                self._typed[name].pop(field_name, None)
            else:
                self._typed[name][field_name] = plain

    def _done(self, name: str, control: str, value: str, seen: str) -> Response | None:
        """Perform the action of a button. Return a page if it must be confirmed first, otherwise None."""
        typed, saved = self._typed[name], self._saved.get((seen, name), {})
        done, answer = {control}, None
        if control == "forget":
            done = {_control_of(field_name) for field_name in typed}
        elif control == "undo":
            self.files.undo(seen)
        elif control == "save":
            controls = dict.fromkeys(_control_of(field_name) for field_name in saved if field_name in typed)
            done = controls.keys() - set(BY_BUTTON)
            steps = {part: self._step(name, part, self._values(name, part, saved)) for part in controls if part in done}
            self.files.edit(seen, steps)
        elif (action := self._action(name, control, seen, self._values(name, control, saved) | {"value": value})) is not None:
            answer = action()
        else:
            self.files.edit(seen, {control: self._step(name, control, {"value": value})})
        self._typed[name] = {field_name: text for field_name, text in typed.items() if _control_of(field_name) not in done}
        return answer

    def _values(self, name: str, control: str, saved: Mapping[str, str]) -> dict[str, str]:
        """Return the contents of a control's fields, such as "low" and "high" of "bounds:age"; unsaved entries come first."""
        fields_of = [field_name for field_name in saved if _control_of(field_name) == control]
        return {field_name.rpartition("/")[2]: self._typed[name].get(field_name, saved[field_name]) for field_name in fields_of}

    def _step(self, name: str, control: str, values: Mapping[str, str]) -> Step:
        return lambda texts, spec: changes_of(Shown(texts=texts, spec=spec, public=self.opened.public), name, control, values)

    def _refused(self, name: str, causes: Mapping[str, Exception]) -> Response:
        try:
            spec = self.files.spec(self.files.texts())
        except (SynthreleaseError, OSError):  # the page reports the error
            return self.page(name, {}, 422)
        refusals = {control: refusal(error, name, control, spec) for control, error in causes.items()}
        return self.page(name, {}, 422, refusals=refusals)

    def _action(self, name: str, control: str, seen: str, values: dict[str, str]) -> Callable[[], Response | None] | None:
        """Return the action of a button that does more than edit settings, or None."""
        action, _, which = control.partition(":")
        if name == "rehearsal":
            return partial(self._rehearse, control, seen, values)
        if name == "columns" and action in ("kind", "back", "leave", "key"):
            return partial(self._column, action, which, seen, values["value"])
        if (name, control) == ("people", "key"):
            if not values.get("column"):
                raise ValueError("Choose the column that identifies the person to whom a row belongs.")
            return partial(self._column, "key", values["column"], seen, "")
        if (name, control) == ("questions", "important"):
            start, columns = self._shown(), [values[key] for key in ("first", "second", "third") if values.get(key)]
            if not columns:
                raise ValueError("Choose at least one important column.")
            return lambda: self.files.act(seen, lambda: draft_anew(self.files, start, self.rehearsals.data, columns))
        if (name, control) == ("questions", "own"):
            texts = self.files.texts()
            return lambda: self.files.act(seen, lambda: copy_acceptance(self.files, texts))
        return None

    def _shown(self) -> Shown:
        texts = self.files.texts()
        return Shown(texts=texts, spec=self.files.spec(texts), public=self.opened.public)

    def _rehearse(self, control: str, seen: str, values: Mapping[str, str]) -> None:
        texts = self.files.texts()
        spec = self.files.spec(texts)
        if control == "start":
            if seen != texts.seen:
                raise Moved("")
            minutes = number(values.get("minutes", ""))
            if not (minutes.isdigit() and 1 <= int(minutes) <= LONGEST_REHEARSAL):
                raise ValueError(f"Enter whole minutes from 1 to {LONGEST_REHEARSAL:,}, not {minutes}. Nothing was started.")
            self.rehearsals.start(spec, int(minutes))
        elif control in ("stop", "kill"):
            self.rehearsals.stop(at_once=control == "kill")
        elif control in ("adopt", "accept"):
            rehearsed, write = self.rehearsals.found(spec), adopt_listed if control == "adopt" else accept_lost
            if rehearsed is None:
                raise InputError("The desk found no results of a rehearsal. Run a rehearsal first.")
            self.files.act(seen, lambda: write(self.files.path, rehearsed.folder / "shortlist.toml"))
        else:
            raise NoSuchControl

    def _column(self, action: str, which: str, seen: str, value: str) -> Response | None:
        start = self._shown()
        if action == "kind":
            self.files.edit(seen, {f"kind:{which}": lambda texts, spec: other_kind(start, which, value)})
        elif action == "back":
            self.files.edit(seen, {f"back:{which}": lambda texts, spec: bring_column_back(start, which, value)})
        elif action == "key":
            self.files.act(seen, lambda: take_as_key(self.files, start, which))
        elif value == "yes":
            self.files.act(seen, lambda: left_out(self.files.path, start.texts, which, dry_run=False))
        else:
            leaving = left_out(self.files.path, start.texts, which, dry_run=True)
            around = self._around(start.texts, start.spec, {}) | {"entry": Entries({}), "refusals": {}}
            context = around | {"name": "columns", "which": which, "leaving": leaving}
            return HTMLResponse(self._pages.get_template("leaving.html").render(context))
        return None

    def _not_done(self, missing: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        return {
            "not_looked_at": [screen for screen in missing if screen not in self._looked_at],
            "unfinished": {screen: sentences for screen, sentences in missing.items() if sentences and screen != "signoff"},
            "unsaved": [screen for screen, typed in self._typed.items() if typed],
        }

    def _state(self, screen: str, missing: Mapping[str, Sequence[str]]) -> str:
        if self._typed[screen]:
            return "not saved"
        if screen == "folder" and self.opened.folder is None:
            return ""
        if screen not in self._looked_at:
            return "not seen"
        return "done" if screen in missing and not missing[screen] else "seen"

    def _around(self, texts: BothTexts, spec: ReleaseSpec, missing: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        answered = spec.unit.answered
        return {
            "screens": SCREENS,
            "states": {screen: self._state(screen, missing) for screen in SCREENS},
            "message": "",
            "difference": "",
            "last": "",
            "seen": texts.seen,
            "title": spec.title,
            "file": self.files.path.name,
            "announced": [message for message in (self.opened.announced, *self.rehearsals.aside) if message],
            "refresh": 0,
            "start": self.opened.start is not None,
            "closed": () if answered else tuple(screen for screen in SCREENS if screen not in BEFORE_THE_ANSWER),
        }

    def seen(self) -> Response:
        """Return the digest of the present files, by which an open page tells whether they have changed."""
        try:
            return PlainTextResponse(self.files.texts().seen)
        except (SynthreleaseError, OSError):
            return PlainTextResponse("")

    def card(self) -> Response:
        """Return the card of the published folder, with a stricter content security policy."""
        return _framed(self.opened.folder, "README.html", "The folder contains no card, or no folder was opened.")

    def report(self) -> Response:
        """Return the report of the last rehearsal, under the content security policy of a card."""
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
    if ledger is None:
        return Account()
    try:
        return Account(statement=Ledger(path=ledger.absolute()).statement())
    except SynthreleaseError as error:
        return Account(why=str(error))


def _control_of(field_name: str) -> str:
    return field_name.rpartition("/")[0]


UNREADABLE = PlainTextResponse("The desk cannot read this form, or a field occurs twice in it.", 400)


def fields(content: bytes) -> dict[str, str] | None:
    """Return the values of a form or query by name, or None if it cannot be read or has a name twice."""
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        return None
    values = dict(pairs)
    return values if len(values) == len(pairs) else None


def application(desk: Desk, origin: str) -> Guard:
    def endpoint(answer: Callable[[dict[str, str]], Response]) -> Callable[[Request], Any]:
        """Return an endpoint that calls `answer` in a thread with the fields of the form or query."""

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
        "start": desk.start,
        **{name: partial(desk.page, name) for name in SCREENS},
    }
    routes = [Route(f"/{name}", endpoint(page), methods=["GET"]) for name, page in pages.items()]
    changing = (name for name in SCREENS if name not in READ_ONLY)
    routes += [Route(f"/{name}", endpoint(partial(desk.change, name)), methods=["POST"]) for name in changing]
    routes.append(Route("/start", endpoint(desk.draft), methods=["POST"]))
    screens = Starlette(routes=routes)
    screens.router.redirect_slashes = False  # a redirect would decode the address before `fields` does
    return Guard(screens, origin=origin)
