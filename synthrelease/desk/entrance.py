"""How a browser gets the address of the desk. Every user of a machine can read command lines, so the token stands on none.

The browser is given a file that its owner alone can read, which leads on to the address; Jupyter does the same.
"""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

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
            there = webbrowser.open_new_tab(page.as_uri())
        except (webbrowser.Error, OSError):
            there = False
        if not there:
            failed()

    threading.Thread(target=opened, name="browser", daemon=True).start()
