"""The commands by their names, each loaded when it is asked for, in a process that shows nothing private.

Beside what protects private data (`protection`): what looks like a connection string is not quoted where arguments are wrong
(`sources`); a terminal that cannot show a letter would make the program fail after the
budget is spent, and a closed terminal would leave its worker processes behind.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import getdoc
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from synthrelease.privacy.protection import protect
from synthrelease.resources import Kinds
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


COMMANDS: Kinds[Any] = Kinds(
    "synthrelease.cli",
    {
        "init": "drafting:init",
        "leave-out": "drafting:leave_out",
        "numbers": "drafting:numbers",
        "schema": "specifying:schema",
        "plan": "specifying:plan",
        "check": "specifying:check",
        "simulate": "rehearsing:simulate",
        "rehearse": "rehearsing:rehearse",
        "compare": "rehearsing:compare",
        "allocate": "rehearsing:allocate",
        "commit": "specifying:commit",
        "release": "releasing:release",
        "demo": "releasing:demo",
        "bound": "reading:bound",
        "estimate": "reading:estimate",
        "verify": "reading:verify",
        "card": "reading:card",
        "keygen": "reading:keygen",
        "audit": "reading:audit",
        "desk": "drafting:desk",
        "ledger": "releasing:app",
    },
)
"""Of each command the function, or the group of commands, in the order of the help. One that is asked for is loaded and
built; the list of all needs the first line of each alone."""


class LateCommands(QuietGroup):
    """All commands of the program."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands: Any = _Built()  # which the library only reads

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """As the library does, with what it says of a command, and without the settings of each."""
        built, self.commands = self.commands, {name: TyperCommand(name, help=_help(name)) for name in COMMANDS}
        try:
            super().format_commands(ctx, formatter)
        finally:
            self.commands = built


def _help(name: str) -> str | None:
    found = COMMANDS[name]
    return str(found.info.help) if isinstance(found, typer.Typer) else getdoc(found)


def _built(name: str) -> Any:
    found: Any = COMMANDS[name]
    if isinstance(found, typer.Typer):
        group = typer.main.get_command(found)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, cls=QuietCommand)(found)
    return typer.main.get_command(alone)


class _Built(Mapping[str, Any]):
    """The commands that were asked for, each built once."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _built(name)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)
