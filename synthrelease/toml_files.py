"""Reading TOML: exact decimals, clear mistakes, and one configuration that builds on another."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any

from synthrelease.errors import Problem, SpecError

MAX_SPEC_BYTES = 1_000_000


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, numbers with a point as exact decimals.

    Raises
    ------
    SpecError : when the file is missing, too large, not UTF-8 or not TOML, or holds "inf" or "nan", which nothing means.
    """
    try:
        if path.stat().st_size > MAX_SPEC_BYTES:
            raise SpecError([Problem(file=str(path), path="", expected="a file of at most 1 MB", found="a larger one")])
        tables = tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
        found = "a folder" if path.is_dir() else found
        raise SpecError([Problem(file=str(path), path="", expected="a readable TOML file", found=found)]) from None
    except UnicodeDecodeError:
        raise SpecError([Problem(file=str(path), path="", expected="UTF-8 text", found="other bytes")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError([Problem(file=str(path), path="", expected="valid TOML", found=str(error)[:200])]) from None
    endless = [
        Problem(file=str(path), path=dotted(steps), expected="a finite number", found=shown(value))
        for steps, value in _leaves(tables)
        if isinstance(value, Decimal) and not value.is_finite()
    ]
    if endless:
        raise SpecError(endless)
    return tables


def _leaves(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value that is neither a table nor a list, with its place."""
    if isinstance(value, Mapping | list):
        for step, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(inner, (*steps, step))
    else:
        yield steps, value


def shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        inner = [shown(part) for part in value]
        text = "a list of tables" if "a table" in inner else f"[{', '.join(inner)}]" if inner else "an empty list"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Decimal) and not value.is_finite():
        text = str(value).lower().replace("infinity", "inf")
    else:
        text = str(value) if isinstance(value, Decimal | Fraction) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def dotted(steps: Iterable[str | int]) -> str:
    """A TOML path: ["criteria", 2, "by"] is criteria[2].by, counting from 0."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


@dataclass(frozen=True, kw_only=True)
class ConfigurationFile:
    """The tables of a configuration file, and of the one it extends where it does not have its own."""

    path: Path
    tables: dict[str, Any]
    inherited: frozenset[str]
    base: Path | None

    def file_of(self, path: str) -> Path:
        """The file that holds a TOML path."""
        top = path.partition(".")[0].partition("[")[0]
        return self.base if self.base and top in self.inherited else self.path


def beside(file: Path, named: str) -> Path:
    """The path of a file that another one names, relative to it; with / or \\ between folders, on every system."""
    return file.parent / PureWindowsPath(named).as_posix()


def read_configuration(path: Path) -> ConfigurationFile:
    """A configuration with what it inherits.

    `extends = "births.toml"` takes every top-level key and table that is not in this file from that one, whole; it may not
    extend a third.

    Raises
    ------
    SpecError : as `read_toml`, or when the other file extends a third.
    """
    tables = read_toml(path)
    named = tables.get("extends")
    if not isinstance(named, str):
        return ConfigurationFile(path=path, tables=tables, inherited=frozenset(), base=None)
    base = beside(path, named)
    inherited = read_toml(base)
    if "extends" in inherited:
        expected = "a configuration that does not itself extend another"
        raise SpecError([Problem(file=str(path), path="extends", expected=expected, found=repr(named))])
    return ConfigurationFile(
        path=path, tables=inherited | tables, inherited=frozenset(inherited.keys() - tables.keys()), base=base
    )
