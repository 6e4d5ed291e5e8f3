"""The addresses of the desk: its pages and their forms, two files of its own, the card and the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from synthrelease.desk.guard import Guard
from synthrelease.desk.pages import FOLDER, READ_ONLY, SCREENS, Desk

UNREADABLE = PlainTextResponse("The form cannot be read, or has a field twice.", 400)


def fields(content: bytes) -> dict[str, str] | None:
    """The values of a form or of an address by their names; None where it cannot be read, or has one name twice."""
    try:
        found = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError:
        return None
    values = dict(found)
    return values if len(values) == len(found) else None


def application(desk: Desk, origin: str) -> Guard:
    """The whole desk behind its guard."""

    def shows(name: str) -> Callable[[Request], Any]:
        async def show(request: Request) -> Response:
            asked = fields(request.scope["query_string"])
            return UNREADABLE if asked is None else await run_in_threadpool(desk.page, name, asked)

        return show

    def takes(name: str) -> Callable[[Request], Any]:
        async def take(request: Request) -> Response:
            form = fields(await request.body())
            return UNREADABLE if form is None else await run_in_threadpool(desk.change, name, form)

        return take

    def static(name: str, kind: str) -> Route:
        async def sent(request: Request) -> Response:
            return Response((FOLDER / name).read_bytes(), media_type=kind)

        return Route(f"/{name}", sent)

    async def seen(request: Request) -> Response:
        return await run_in_threadpool(desk.seen)

    async def first(request: Request) -> Response:
        return RedirectResponse("/people", 303)

    async def card(request: Request) -> Response:
        return await run_in_threadpool(desk.card)

    async def report(request: Request) -> Response:
        return await run_in_threadpool(desk.report)

    routes = [static("desk.css", "text/css"), static("desk.js", "text/javascript"), Route("/seen", seen)]
    routes += [Route("/", first), Route("/card", card), Route("/report", report)]
    routes += [Route(f"/{name}", shows(name), methods=["GET"]) for name in SCREENS]
    routes += [Route(f"/{name}", takes(name), methods=["POST"]) for name in SCREENS if name not in READ_ONLY]
    screens = Starlette(routes=routes)
    screens.router.redirect_slashes = False  # it would decode the address before `fields` does
    return Guard(screens, origin=origin)
