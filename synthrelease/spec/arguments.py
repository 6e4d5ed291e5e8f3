"""Define how the command line displays the arguments of a command.

The help texts of options are in the section "Attributes" of a request (`spec.requests`). If a command has no request, they are
in the section "Parameters" of its function. An `Option` in the annotation of a parameter adds information that the name and the
type do not contain, such as limits or another name. Parameters that several commands share are described here:

Parameters
----------
config : Configuration of the release (TOML).
table : Read this table of the database. Overrides table in [input].
members : Read the members from this file (only with [members]). By default the --data file contains the members, too.
quasi_identifiers : Assume that an intruder knows these columns. By default no column.
jobs : Run this number of processes in parallel.
unrehearsed : Accept a configuration and an acceptance file that were not rehearsed in their present form. By default they are
    refused.
trust : Run the code of these packages of [[plugins]] on the private file. By default no package.
expect_head : Refuse a ledger that does not contain this head from your logbook (16 digits or more). By default heads are not
    compared.
sign : Sign the files with this private key (see keygen). By default the files are not signed.
password_file : Read the password of the key from the first line of this file. By default the key has no password.
folder : Released folder.
as_json : Print JSON for programs. By default text is printed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from synthrelease.data.texts import entries
from synthrelease.sources.source import Source


@dataclass(frozen=True, kw_only=True)
class Option:
    """How the command line displays a parameter.

    Attributes
    ----------
    metavar : the placeholder for the value in the help text, such as FILE.
    flags : the names of the option; by default the name of the parameter, with dashes instead of underscores.
    least, most : the smallest and the largest allowed number.
    positional : whether the parameter is a positional argument.
    comma : whether the value is a list of names that are separated by commas.
    hidden : whether the parameter exists only in Python and not on the command line.
    """

    metavar: str | None = None
    flags: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    positional: bool = False
    comma: bool = False
    hidden: bool = False


Text = Annotated[str, Option(metavar="TEXT")]
File = Annotated[Path, Option(metavar="FILE")]
Folder = Annotated[Path, Option(metavar="DIR")]
Key = Annotated[Path, Option(metavar="KEY")]
TableName = Annotated[str, Option(metavar="NAME")]
Data = Annotated[str | Path | Source, Option(metavar="DATA")]
Public = Annotated[str | Path | Source, Option(metavar="FILE")]
From = Annotated[str, Option(metavar="FILE", flags=("--from",))]
Beside = Annotated[str, Option(metavar="FILE")]
Names = Annotated[tuple[str, ...], Option(metavar="A,B,...", comma=True)]
Number = Annotated[int, Option(least=1)]
Minutes = Annotated[float, Option(least=0.01)]
Seed = Annotated[int, Option(least=0)]
Epsilon = Annotated[str, Option(metavar="EPS")]
Delta = Annotated[str, Option(metavar="DELTA")]
Config = Annotated[Path, Option(metavar="CONFIG", positional=True)]
ConfigOption = Annotated[Path, Option(metavar="CONFIG")]
ReleasedFolder = Annotated[Path, Option(metavar="DIR", positional=True)]
Json = Annotated[bool, Option(flags=("--json",))]


def help_texts(command: Callable[..., Any]) -> dict[str, str]:
    """Return the help text of each parameter of a command, from the docstrings of the command, its base classes and this
    module.
    """
    owners = reversed(command.__mro__) if isinstance(command, type) else [command]
    texts = entries(__doc__ or "", "Parameters")
    for owner in owners:
        text = owner.__doc__ or ""
        texts |= {**entries(text, "Attributes"), **entries(text, "Parameters")}
    return texts


def shown_options(command: Callable[..., Any]) -> dict[str, Option]:
    hints = get_type_hints(command, include_extras=True)
    return {name: next(_options(hint), Option()) for name, hint in hints.items() if name != "return"}


def _options(hint: object) -> Iterator[Option]:
    for argument in getattr(hint, "__metadata__", ()):
        if isinstance(argument, Option):
            yield argument
    for argument in get_args(hint):
        yield from _options(argument)


def flags(name: str, option: Option) -> tuple[str, ...]:
    return option.flags or (f"--{name.replace('_', '-')}",)


def command_words(request: object) -> list[str]:
    """Return the command-line arguments that correspond to this request, without default values."""
    options, words, arguments = shown_options(type(request)), list[str](), list[str]()
    for field in fields(request):  # type: ignore[arg-type]
        value, option = getattr(request, field.name), options[field.name]
        if value == field.default or option.hidden:
            continue
        if option.positional:
            arguments.append(str(value))
        elif value is True:
            words.append(flags(field.name, option)[-1])
        else:
            values = [with_commas(value)] if option.comma else value if isinstance(value, tuple) else [value]
            words += [word for value in values for word in (flags(field.name, option)[-1], str(value))]
    return [*arguments, *words]


def names_in(text: str) -> tuple[str, ...]:
    """Split a text into names that are separated by commas. A name that contains a comma must be in double quotes."""
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip())


def with_commas(names: Sequence[str]) -> str:
    """Join names with commas. `names_in` splits the result into the same names."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
