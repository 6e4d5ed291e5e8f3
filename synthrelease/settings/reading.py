"""Read TOML files with exact decimals, configurations that extend another configuration, and public CSV files that they name.

The files may come from another person. So only regular files with the expected suffix are opened, and texts that could block
the parser or manipulate the terminal are refused.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any

from synthrelease.errors import Problem, SpecError, Unexpected, mistake

MAX_SPEC_BYTES = 1_000_000
MAX_DEPTH = 30
"""The maximum depth of nested tables, lists and dotted keys. The running time of the parser is quadratic in this depth."""
MAX_DIGITS = 100
"""The maximum number of digits of a number. Exact sums of longer numbers would take too long."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}){{{MAX_DEPTH}}}")
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""A regular expression for characters that move the cursor, end a path or reverse the writing direction. Such characters could
hide other text."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file as a dict, with `Decimal` for numbers with a decimal point.

    Raises
    ------
    SpecError : if there is no such regular .toml file, or it is too large, is not valid TOML in UTF-8, or contains "inf",
        "nan", a number with more than 100 digits, tables nested more than 30 levels deep, or a control character.
    """
    try:
        content = regular_file(path, ".toml", MAX_SPEC_BYTES)
    except Unexpected as error:
        raise SpecError.at(path, "", error.message) from None
    return toml_tables(content, path)


def toml_tables(content: bytes, path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, given as bytes, as a dict. Raises the errors of `read_toml`, about `path`."""
    try:
        text = content.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise RecursionError
        tables = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError:
        raise SpecError.at(path, "", "The file is not UTF-8 text") from None
    except RecursionError:
        raise SpecError.at(path, "", f"The file nests tables or lists more than {MAX_DEPTH} levels deep") from None
    except (ValueError, ArithmeticError) as error:  # Python refuses to read numbers of thousands of digits
        why = str(error)[:200] if isinstance(error, tomllib.TOMLDecodeError) else "it contains a number that is too long"
        again = re.search(r"immutable namespace \('(\w+)',\)", why)  # such as [[rules]] below `rules = [...]`
        advice = f". Add the entry to `{again[1]}` above instead of [[{again[1]}]]" if again else ""
        raise SpecError.at(path, "", f"The file is not valid TOML: {why}{advice}") from None
    problems = [
        Problem(str(path), dotted(steps), fault) for steps, value in _values(tables) if (fault := _unusable(steps, value))
    ]
    if problems:
        raise SpecError(problems)
    return tables


def regular_file(path: Path, suffix: str, most_bytes: int) -> bytes:
    """Return the bytes of a regular file. Pipes and devices, from which reading might never end, are not opened.

    Raises
    ------
    Unexpected : if the file does not exist, cannot be read, has more than `most_bytes` bytes or another suffix, or is not a
        regular file.
    """
    try:
        mode = path.stat().st_mode
        if not Path(os.path.realpath(path)).name.endswith(suffix):
            fault = f"The name of the file must end in {suffix}"
        elif not stat.S_ISREG(mode):
            fault = f"This is {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}, not a file"
        else:
            with path.open("rb") as file:
                content = file.read(most_bytes + 1)
            if len(content) <= most_bytes:
                return content
            fault = f"The file has more than {most_bytes // 10**6} MB"
    except FileNotFoundError:
        fault = "There is no such file"
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        fault = f"Cannot read the file: {(getattr(error, 'strerror', None) or 'no file can have this name').lower()}"
    raise Unexpected(fault)


def csv_lines(path: Path, most_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells, without outer spaces, of each line of a public CSV file that is not blank.

    The file must be UTF-8 text, perhaps with a byte-order mark, and commas between the cells.

    Raises
    ------
    Unexpected : if the file does not exist or is not UTF-8 text, or if a quotation mark is not closed.
    """
    content = regular_file(path, ".csv", most_bytes)
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    except UnicodeDecodeError:
        raise Unexpected("The file is not UTF-8 text") from None
    try:
        for row in reader:
            if any(cells := [cell.strip() for cell in row]):
                yield reader.line_num, cells
    except csv.Error:
        fault = "The file is not valid CSV. Use commas, and close all quotes"
        raise Unexpected(fault, place=f"line {reader.line_num}") from None


def _values(tables: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every value in nested tables and lists, including these, with its path, without recursion, which deep nesting would
    exhaust."""
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), tables)]
    while pending:
        steps, value = pending.pop()
        if steps:
            yield steps, value
        if len(steps) > MAX_DEPTH or not isinstance(value, Mapping | list):
            continue
        inner = list(value.items() if isinstance(value, Mapping) else enumerate(value))
        pending += [((*steps, step), part) for step, part in reversed(inner)]


def _unusable(steps: tuple[str | int, ...], value: Any) -> str:
    """Return the error message for a value that the program cannot use, or ""."""
    if len(steps) > MAX_DEPTH:
        return f"The file nests tables or lists more than {MAX_DEPTH} levels deep"
    if any(isinstance(text, str) and UNPRINTABLE.search(text) for text in (steps[-1], value)):
        return "The text contains a control character"
    if isinstance(value, Decimal) and not value.is_finite():
        return mistake("a finite number", value_text(value))
    if isinstance(value, Decimal):
        long = len(value.as_tuple().digits) > MAX_DIGITS or (value and abs(value.adjusted()) > MAX_DIGITS)
    else:
        long = isinstance(value, int) and abs(value) > 10**MAX_DIGITS
    return f"The number has more than {MAX_DIGITS} digits" if long else ""


def value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        inner = [value_text(part) for part in value]
        text = "a list of tables" if "a table" in inner else f"[{', '.join(inner)}]" if inner else "an empty list"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Decimal) and not value.is_finite():
        text = str(value).lower().replace("infinity", "inf")
    elif isinstance(value, int) and abs(value) > 10**MAX_DIGITS:
        text = "a number that is too long"  # Python refuses to write down a number of more than 4300 digits
    else:
        text = str(value) if isinstance(value, Decimal | Fraction) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def dotted(steps: Iterable[str | int]) -> str:
    """Return a TOML path as text: "criteria[2].by" for ["criteria", 2, "by"]. List items are counted from 0."""
    text = ""
    for step in steps:
        name = step if isinstance(step, int) or step.isprintable() else repr(step)
        text += f"[{name}]" if isinstance(step, int) else f".{name}" if text else str(name)
    return text


OF_ONE_RELEASE = ("justification", "tuning", "version", "published", "url", "signed_by")
"""The settings of [card] that describe a single release. An extending configuration does not inherit them."""


@dataclass(frozen=True, kw_only=True)
class ConfigurationFile:
    """The tables of a configuration file, including the tables that it inherits from another configuration.

    Attributes
    ----------
    tables : all tables, both from this file and inherited.
    inherited : the names of the inherited tables and of the inherited texts of [card].
    base : the path of the configuration that this file extends, or None.
    """

    path: Path
    tables: dict[str, Any]
    inherited: frozenset[str]
    base: Path | None
    overridden: tuple[str, ...] = ()
    """The TOML paths of the inherited settings that this file overrides."""

    def file_of(self, path: str) -> Path:
        """Return the path of the file that contains a setting: this file or the one that it extends."""
        if any(path == setting or path.startswith((f"{setting}.", f"{setting}[")) for setting in self.overridden):
            return self.path
        top, _, rest = path.partition(".")
        names = (top.partition("[")[0], f"{top}.{rest.partition('.')[0].partition('[')[0]}")
        return self.base if self.base and not self.inherited.isdisjoint(names) else self.path


def beside(file: Path, name: str) -> Path:
    """Return the path of a file whose name is given relative to another file. Both / and \\ separate folders."""
    return file.parent / PureWindowsPath(name).as_posix()


def read_configuration(path: Path, content: bytes | None = None) -> ConfigurationFile:
    """Read a configuration, including the tables that it inherits.

    With `extends = "births.toml"`, the configuration inherits from births.toml all top-level keys and tables that it does not
    contain itself. Tables are inherited as a whole; only in [card], single texts are inherited, except the texts about one
    release (`OF_ONE_RELEASE`). births.toml itself must not extend another file. `[override.columns.age] bounds = [12, 60]`
    changes a single setting of an inherited table.

    Parameters
    ----------
    content : the content of the file, or None to read it.

    Raises
    ------
    SpecError : as in `read_toml`, and if the extended file itself extends another, or [override] contains a setting that is not
        in an inherited table.
    """
    tables = read_toml(path) if content is None else toml_tables(content, path)
    extended, instead = tables.get("extends"), tables.pop("override", {})
    if not isinstance(extended, str):
        if instead != {}:
            needed = "[override] changes settings of an inherited configuration, so the file also needs `extends`"
            raise SpecError.at(path, "override", needed)
        return ConfigurationFile(path=path, tables=tables, inherited=frozenset(), base=None)
    base = beside(path, extended)
    inherited = read_toml(base)
    if "extends" in inherited:
        raise SpecError.at(path, "extends", f"{extended!r} itself extends another configuration, which is not allowed")
    inherited_names = frozenset(inherited.keys() - tables.keys())
    if isinstance(texts := inherited.get("card"), dict) and isinstance(card := tables.get("card", {}), dict):
        texts = {name: text for name, text in texts.items() if name not in OF_ONE_RELEASE}
        if "card" in tables:
            inherited_names |= {f"card.{name}" for name in texts.keys() - card.keys()}
        inherited, tables = inherited | {"card": texts}, tables | ({"card": texts | card} if "card" in tables else {})
    merged = inherited | tables
    settings = dict(all_settings(instead)) if isinstance(instead, Mapping) else {(): instead}
    for steps, value in settings.items():
        if not steps or steps[0] not in inherited_names or not _overridden(merged, steps, value):
            fault = f"[override] can change only a setting of a table that is inherited from {extended}"
            raise SpecError.at(path, dotted(("override", *steps)), f"{fault}. Write other settings in their own table")
    overridden = tuple(dotted(steps) for steps in settings)
    return ConfigurationFile(path=path, tables=merged, inherited=inherited_names, base=base, overridden=overridden)


def all_settings(tables: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of every setting in nested tables. Empty tables are yielded like values."""
    for name, value in tables.items():
        if isinstance(value, Mapping) and value:
            yield from all_settings(value, (*above, name))
        else:
            yield (*above, name), value


def _overridden(tables: dict[str, Any], steps: Sequence[str], value: Any) -> bool:
    """Set the value at a path inside `tables`. Return False if the path does not lead into an existing nested table."""
    for step in steps[:-1]:
        if not isinstance(tables.get(step), dict):
            return False
        tables = tables[step]
    tables[steps[-1]] = value
    return len(steps) > 1
