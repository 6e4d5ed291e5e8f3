"""The process of every command is first made quiet: it ends as it should, and shows nothing private on the way.

Beside what protects private data (`protection`): what looks like a connection string is not quoted where arguments are wrong
(`sources`); a terminal that cannot show a letter would make the program fail after the
budget is spent, and a closed terminal would leave its worker processes behind.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from synthrelease.privacy.protection import protect
from synthrelease.sources.paths import checked_path, without_secrets


class QuietCommand(TyperCommand):
    """A command. A path that looks like a connection string is refused before anything makes a message of it."""

    def invoke(self, ctx: Any) -> Any:
        """As the library does. Raises InputError for such a path."""
        for parameter in self.params:
            found = ctx.params.get(parameter.name)
            for value in found if isinstance(found, list | tuple) else [found]:
                # the library gives a path, and before version 0.20 its text
                if isinstance(value, Path) or (isinstance(value, str) and _kind(parameter) == "path"):
                    checked_path(value)
        return super().invoke(ctx)


class QuietGroup(TyperGroup):
    """The commands. Where their arguments are wrong, the message quotes none that looks like a connection string."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """As the library does; the arguments of the whole command line are looked at here."""
        with _unquoted():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """As the library does; the arguments of a command are looked at here."""
        with _unquoted():
            return super().invoke(ctx)


def _kind(parameter: Any) -> str:
    return getattr(getattr(parameter, "type", None), "name", "")


@contextmanager
def _unquoted() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = without_secrets(error.message, sys.argv[1:])  # type: ignore[attr-defined]
        raise


def be_quiet() -> None:
    """Set all this up, for this process and those that it starts."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    protect()
    for name in ("SIGTERM", "SIGHUP"):  # a closed terminal or a scheduler stops a run as Ctrl-C does: worker processes end, too
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), signal.default_int_handler)
