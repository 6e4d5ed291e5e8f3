"""List the commands of the command line, load each at its first use, and keep private values out of messages.

A command is a function with typed parameters, whose docstring contains the help texts (`requests`). The library typer reads
the arguments.

Three measures supplement the protection of private data (`protection`). Messages about wrong arguments never quote what
looks like a connection string (`sources`). A letter that a terminal cannot show is printed as its code, because an encoding
error could end the run after the budget is spent. If the terminal is closed, the worker processes stop, too.
"""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from synthrelease.privacy.protection import protect
from synthrelease.resources import Kinds
from synthrelease.sources.paths import checked_path, without_secrets
from synthrelease.spec.arguments import Option, flags, help_texts, names_in, shown_options

COMMANDS: Mapping[str, str | Mapping[str, str]] = {
    "demo": "releasing:demo",
    "desk": "drafting:desk",
    "init": "drafting:init",
    "leave-out": "drafting:leave_out",
    "numbers": "drafting:numbers",
    "schema": "specifying:schema",
    "simulate": "rehearsing:simulate",
    "plan": "specifying:plan",
    "rehearse": "rehearsing:rehearse",
    "compare": "rehearsing:compare",
    "allocate": "rehearsing:allocate",
    "ledger": {
        "open": "releasing:open_new",
        "split": "releasing:split",
        "years": "releasing:plan_years",
        "show": "releasing:show",
        "renew": "releasing:renew",
    },
    "scout": "releasing:scout",
    "check": "specifying:check",
    "keygen": "reading:keygen",
    "commit": "specifying:commit",
    "release": "releasing:release",
    "card": "reading:card",
    "verify": "reading:verify",
    "estimate": "reading:estimate",
    "bound": "reading:bound",
    "rows": "reading:rows",
    "audit": "reading:audit",
    "plugin": "reading:plugin",
}
"""The function of each command, or the subcommands of a group, in the order of the help."""

HEADINGS = {
    "demo": "Start",
    "init": "Prepare a release, without private data",
    "ledger": "Release",
    "verify": "Use a release",
    "audit": "Check the program",
}
"""The headings of the help, each by the first command below it."""

GROUPS = {"ledger": "Manage the ledger, which holds the privacy budget of a dataset."}


class QuietCommand(TyperCommand):
    """A command that refuses a path that looks like a connection string before any message can quote it."""

    def invoke(self, ctx: Any) -> Any:
        for parameter in self.params:
            argument = ctx.params.get(parameter.name)
            for value in argument if isinstance(argument, list | tuple) else [argument]:
                # typer passes a path; before its version 0.20, typer passes the text of the path
                if isinstance(value, Path) or (isinstance(value, str) and _kind(parameter) == "path"):
                    checked_path(value)
        return super().invoke(ctx)


class LazyGroup(TyperGroup):
    """A group of commands whose messages about wrong arguments never quote a string that looks like a connection string."""

    def __init__(self, *args: Any, functions: Mapping[str, str | Mapping[str, str]] = COMMANDS, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands: Any = _Built(functions)  # the library only reads this mapping

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _unquoted():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _unquoted():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections = dict[str, list[tuple[str, str]]]()
        width = max(map(len, self.commands))
        for name, command in self.commands.items():
            rows = sections.setdefault(HEADINGS.get(name, next(reversed(sections), "Commands")), [])
            rows.append((name.ljust(width), command.get_short_help_str(limit=formatter.width - width - 6)))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class _Built(Kinds[Any]):
    """A mapping from names to commands, each built at its first use."""

    def __init__(self, functions: Mapping[str, str | Mapping[str, str]]) -> None:
        self._groups = {name: inner for name, inner in functions.items() if isinstance(inner, Mapping)}
        super().__init__("synthrelease.cli", {name: str(function) for name, function in functions.items()})
        self._built = dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = self._group(name) if name in self._groups else built(name, super().__getitem__(name))
        return self._built[name]

    def _group(self, name: str) -> LazyGroup:
        return LazyGroup(
            name=name, help=GROUPS[name], functions=self._groups[name], no_args_is_help=True, rich_markup_mode=None
        )  # fmt: skip


def built(name: str, function: Callable[..., None]) -> Any:
    """Create a typer command for a function, whose options are its parameters or the fields of its only parameter, a
    dataclass.
    """
    (first, *further), hints = inspect.signature(function).parameters.values(), get_type_hints(function)
    source = hints[first.name] if not further and is_dataclass(hints[first.name]) else function
    types, options, texts = get_type_hints(source), shown_options(source), help_texts(source)
    parameters = [argument for argument in inspect.signature(source).parameters.values() if not options[argument.name].hidden]

    def run(**values_by_name: Any) -> None:
        values = {}
        for parameter in parameters:
            value = values_by_name[parameter.name]
            if value is None or value == []:
                value = parameter.default
            elif options[parameter.name].comma:
                value = names_in(value)
            values[parameter.name] = tuple(value) if isinstance(value, list) and source is not function else value
        function(**values) if source is function else function(source(**values))

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_read(parameter, types[parameter.name], options[parameter.name], texts[parameter.name]) for parameter in parameters]
    )
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    words = (inspect.getdoc(function) or "").partition("\n\nParameters\n---")[0]
    alone.command(name, cls=QuietCommand, help=words)(run)
    return typer.main.get_command(alone)


def _read(parameter: inspect.Parameter, kind: Any, option: Option, text: str) -> inspect.Parameter:
    """Describe a parameter to typer: names separated by commas are one string, and an option that may be repeated gives a
    list.
    """
    default: Any = parameter.default
    if option.comma:
        kind, default = str | None, None
    elif str in _alternatives(kind):  # Python may also give a path or a source
        kind = str | None if type(None) in _alternatives(kind) else str
    elif several := [alternative for alternative in _alternatives(kind) if get_origin(alternative) is tuple]:
        kind, default = list[get_args(several[0])[0]] | None, None  # type: ignore[misc]
    about: dict[str, Any] = {"metavar": option.metavar, "help": text or None, "min": option.least, "max": option.most}
    if option.positional:
        info: Any = typer.Argument(show_default=False, **about)
    else:
        name = flags(parameter.name, option)
        info = typer.Option(*([f"{name[0]}/--no{name[0][1:]}"] if default is True else name), **about)
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )  # fmt: skip


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


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
    """Protect the private data in this process and its child processes (`privacy.protection`), until the process ends."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    protect()
    for name in ("SIGTERM", "SIGHUP"):  # a closed terminal or a scheduler acts like Ctrl-C: worker processes end, too
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), signal.default_int_handler)
