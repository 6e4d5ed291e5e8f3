"""Who may ask the desk anything: the browser that was given the printed address, from a page of the desk."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthrelease.desk.entrance import leading_on
from synthrelease.privacy.noise import SYSTEM

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
        stated = headers.get("content-length", "0")
        if not (stated.isascii() and stated.isdigit() and len(stated) < 10) or int(stated) > MOST_BYTES:
            return PlainTextResponse("The request is too large.", 413)
        return None

    def _first(self, query: bytes) -> Response:
        if self._used or not _same(query.decode("latin-1"), f"token={self.token}"):
            return PlainTextResponse("This address was used before, or is wrong. Start the desk again for a new one.", 403)
        self._used = True
        answer = HTMLResponse(leading_on("/people"))  # after a redirect from a file the browser would keep the cookie back
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _single(scope: Scope) -> dict[str, str] | None:
    """The headers by name; None where one that decides stands twice."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin", "content-length", "content-type", "cookie"):
            return None
        found[key] = value.decode("latin-1")
    return found


def _cookies(text: str) -> dict[str, str]:
    parts = (each.strip().partition("=") for each in text.split(";"))
    return {name: value for name, _, value in parts}


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too large or broken off."""
    found = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        found += message.get("body", b"")
        if len(found) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return found


def _protected(send: Send) -> Send:
    """Every answer says what a browser may do with it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            has = {name.lower() for name, _ in message["headers"]}
            more = {
                b"content-security-policy": OWN.encode(),
                b"cache-control": b"no-store",
                b"x-content-type-options": b"nosniff",
                b"referrer-policy": b"same-origin",  # without a referrer a browser hides the Origin of forms, too
                b"cross-origin-opener-policy": b"same-origin",
                b"cross-origin-resource-policy": b"same-origin",
            }
            message["headers"] = [*message["headers"], *((name, value) for name, value in more.items() if name not in has)]
        await send(message)

    return sent
