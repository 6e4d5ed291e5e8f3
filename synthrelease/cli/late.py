"""The commands by their names. One that is asked for is loaded and built; a list of all needs the first line of each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import getdoc
from typing import Any

import typer
from typer.core import TyperCommand

from synthrelease.cli.quiet import QuietCommand, QuietGroup
from synthrelease.resources import Kinds

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
"""Of each command the function, or the group of commands. In the order in which the help has them."""


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
