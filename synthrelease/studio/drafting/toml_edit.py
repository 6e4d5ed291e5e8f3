"""Edit the text of TOML files and keep comments and layout; write values, formulas and comments as TOML.

A removed table takes its lines and the comment directly above its header with it, and a removed column of [columns] its
question. Other comments stay, because they belong to the following lines. After every change, the text is parsed and
compared with the expected contents.
"""

from __future__ import annotations

import codecs
import copy
import itertools
import json
import math
import os
import re
import shutil
import textwrap
import tomllib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomlkit

from synthrelease.criteria.scoring import none_can_fail
from synthrelease.data.texts import with_codes
from synthrelease.errors import OutputError, Problem, SpecError
from synthrelease.settings.reading import ConfigurationFile, all_settings, toml_tables
from synthrelease.spec.load import load_changed
from synthrelease.spec.release_spec import ReleaseSpec

Path_ = tuple[str | int, ...]
"""Path of a value in nested tables and lists, such as ("criteria", 2, "by", 0)."""

_TEXT_OR_COMMENT = re.compile(r"\"\"\"(?:\\.|[^\\])*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change to a TOML file.

    Attributes
    ----------
    path : path of the value. The index after the last table of a list of tables adds a table.
    toml : the new value as TOML, or None to remove the value.
    remark : the comment after a new key, on the same line.
    """

    path: Path_
    toml: str | None = None
    remark: str = ""


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return the text of a TOML file after some changes, none of which lies within another.

    Raises
    ------
    ValueError : when the layout of the file does not allow the changes.
    """
    for name in (str(edit.path[-1]) for edit in edits if edit.toml is None and edit.path[-2:-1] == ("columns",)):
        text = re.sub(rf"^# DOUBTFUL:.*\n(#.*\n)*(?={re.escape(name)}\s*[.=])", "", text, flags=re.MULTILINE)
    old, blocks, document = _tables(text), headed_tables(text), tomlkit.parse(text)
    expected, later = copy.deepcopy(old), list[Edit]()
    # later elements of lists are changed first, because a removal shifts the indices of the elements behind it
    for edit in sorted(edits, key=lambda edit: [-step if isinstance(step, int) else 0 for step in edit.path]):
        _change(expected, edit)
        under_header = edit.toml is None and any(block.path[: len(edit.path)] == edit.path for block in blocks)
        if isinstance(edit.path[-1], int) and edit.toml is not None and not _is_there(old, edit.path):
            later += _new_table(edit, old, blocks)
            continue
        if under_header or not _is_there(old, edit.path):
            later.append(edit)
        else:
            _change(document, edit)
    result = tomlkit.dumps(document)
    for edit in later:
        if isinstance(edit.path[-1], int) and value_at(expected, edit.path[:-2]).get(edit.path[-2]) == []:
            del value_at(expected, edit.path[:-2])[edit.path[-2]]  # a list of tables without a table has no header left
        result = _without_table(result, edit.path) if edit.toml is None else _with_key(result, edit)
    if _tables(result) != expected:
        raise ValueError("the file cannot be edited line by line")
    return result


def _tables(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def value_at(tables: Any, path: Path_) -> Any:
    for step in path:
        tables = tables[step]
    return tables


def _is_there(tables: Any, path: Path_) -> bool:
    try:
        value_at(tables, path)
    except (KeyError, IndexError):
        return False
    return True


def _change(tables: Any, edit: Edit) -> None:
    above = tables
    for step, below in itertools.pairwise(edit.path):
        if isinstance(tables, dict) and step not in tables:
            tables[step] = [] if isinstance(below, int) else {}
        above, tables = tables, tables[step]
    key = edit.path[-1]
    if edit.toml is None and isinstance(tables, tomlkit.items.InlineTable):  # rebuilt, because tomlkit would leave blanks
        parts = [(name, item) for name, item in tables.value.body if name is not None and name.key != key]
        inline = ", ".join(f"{name.as_string().strip()} = {item.as_string()}" for name, item in parts)
        above[edit.path[-2]] = tomlkit.value(f"{{ {inline} }}" if parts else "{}")
    elif edit.toml is None:
        del tables[key]
    else:
        of_tomlkit = type(tables) not in (dict, list)
        value = tomlkit.value(edit.toml) if of_tomlkit else _tables(f"value = {edit.toml}")["value"]
        if isinstance(tables, list) and key == len(tables):
            tables.append(value)
        else:
            tables[key] = value


def _new_table(edit: Edit, old: Mapping[str, Any], blocks: Sequence[HeadedTable]) -> list[Edit]:
    """Return the changes that add a table such as [[criteria]]: one for each key, or one for a list between brackets."""
    if _is_there(old, edit.path[:-1]) and not any(block.path[:-1] == edit.path[:-1] for block in blocks):
        return [edit]
    value = tomllib.loads(f"value = {edit.toml}", parse_float=Decimal)["value"]
    parts = tomlkit.parse(f"value = {edit.toml}")["value"]
    return [Edit(path=(*edit.path, name), toml=parts[name].as_string()) for name in value]


@dataclass(frozen=True, kw_only=True)
class HeadedTable:
    """The lines of a table that has a header.

    Attributes
    ----------
    path : path of the table, with the index of a table in a list of tables.
    first, header, last : indices of the first line of the comment directly above the header (or of the header), of the
        header, and of the last line with a key.
    """

    path: Path_
    first: int
    header: int
    last: int


def headed_tables(text: str) -> list[HeadedTable]:
    """Find all tables with headers such as [columns.age], in the order of the file."""
    lines = text.split("\n")
    bare = _TEXT_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " " if match[0][0] == "#" else "x", match[0]), text).split("\n")
    headers, depth = [], 0
    for line_number, line in enumerate(bare):
        if depth == 0 and line.lstrip().startswith("["):
            headers.append(line_number)
        else:
            depth += sum(line.count(mark) for mark in "[{") - sum(line.count(mark) for mark in "]}")
    blocks, times = list[HeadedTable](), dict[Path_, int]()
    for line_number, following in zip(headers, [*headers, len(lines)][1:], strict=True):
        first, last = line_number, following - 1
        while first > 0 and lines[first - 1].lstrip().startswith("#") and not bare[first - 1].strip():
            first -= 1
        while last > line_number and not bare[last].strip():
            last -= 1
        names = _names(lines[line_number])
        if bare[line_number].lstrip().startswith("[["):
            times[names] = times.get(names, -1) + 1
        path = _numbered(names, times)
        blocks.append(HeadedTable(path=path, first=first, header=line_number, last=last))
    return blocks


def _names(header: str) -> Path_:
    table, names = tomllib.loads(header), list[str]()
    while table:
        ((name, inner),) = table.items()
        names.append(name)
        table = inner[0] if isinstance(inner, list) else inner
    return tuple(names)


def _numbered(names: Path_, times: Mapping[Path_, int]) -> Path_:
    """Return the path of a table from its header, such as ("criteria", 2) for the third [[criteria]]."""
    path: list[str | int] = []
    for length, name in enumerate(names, 1):
        path.append(name)
        if names[:length] in times:
            path.append(times[names[:length]])
    return tuple(path)


def _without_table(text: str, path: Path_) -> str:
    for block in reversed(headed_tables(text)):
        if block.path[: len(path)] != path:
            continue
        lines = text.split("\n")
        first, last = block.first, block.last
        while last + 1 < len(lines) and not lines[last + 1].strip() and (first == 0 or not lines[first - 1].strip()):
            last += 1  # leave one empty line between the remaining tables
        text = "\n".join([*lines[:first], *lines[last + 1 :]])
    return text


def _with_key(text: str, edit: Edit) -> str:
    """Add a key after the last key of a table, before any comments about the next table."""
    table, key = edit.path[:-1], str(edit.path[-1])
    line = f"{key} = {edit.toml}" + (f"  # {edit.remark}" if edit.remark else "")
    lines = text.split("\n")
    for block in headed_tables(text):
        if block.path == table:
            return "\n".join([*lines[: block.last + 1], line, *lines[block.last + 1 :]])
    if _is_there(_tables(text), table):
        document = tomlkit.parse(text)
        _change(document, edit)
        return tomlkit.dumps(document)
    name = ".".join(_plain(step) for step in table if isinstance(step, str))
    header = f"[[{name}]]" if isinstance(table[-1], int) else f"[{name}]"
    beside = [block.last for block in headed_tables(text) if len(table) > 1 and block.path[: len(table) - 1] == table[:-1]]
    if beside:
        return "\n".join([*lines[: beside[-1] + 1], "", header, line, *lines[beside[-1] + 1 :]])
    return "\n".join([text.rstrip("\n"), "", header, line, ""])


def _plain(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def changed(path: Path, content: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the content of a TOML file after some changes, with the same byte order mark and line ends.

    Raises
    ------
    OutputError : when the layout of the file does not allow the changes.
    """
    try:
        return written_as(content, edited(text_of(content), edits))
    except ValueError as error:
        raise OutputError(f"Cannot edit {path} ({error}). Nothing was written. Make the change by hand.") from None


def text_of(content: bytes) -> str:
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def written_as(old: bytes, text: str) -> bytes:
    mark = codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in old else text).encode()


NOT_WRITTEN = "Nothing was written. With the change, the files have the following mistakes"
"""The beginning of the message when changed files cannot be loaded. The list of mistakes follows it."""


def loaded_changed(old_spec: ReleaseSpec, path: Path, configuration: bytes, acceptance: bytes | None = None) -> ReleaseSpec:
    """Load changed files before they are written, and return their specification.

    Files whose criteria no table can fail may be changed, because the change may correct them.

    Parameters
    ----------
    configuration, acceptance : changed contents of the two files, or None for an unchanged acceptance file.

    Raises
    ------
    SpecError : when the changed files cannot be loaded, or when no table can fail the criteria because of the change.
    """
    try:
        spec = load_changed(path, configuration, acceptance)
        if not none_can_fail(old_spec.criteria):
            spec.check_can_fail()
        return spec
    except SpecError as error:
        raise SpecError([Problem(str(path), "", NOT_WRITTEN), *error.problems]) from None


def replace_files(texts: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the contents of several files in the given order: all files or none.

    Parameters
    ----------
    texts : for each path, the content that was read and the new content.

    Raises
    ------
    OutputError : when a file has changed since it was read, or cannot be written.
    """
    real = {Path(os.path.realpath(path)): contents for path, contents in texts.items()}
    ready: dict[Path, Path] = {}
    replaced: list[Path] = []
    try:
        for path, (old, new_content) in real.items():
            if path.read_bytes() != old:
                raise OutputError(f"{path} changed while the command was running. Nothing was written. Run the command again.")
            ready[path] = path.with_name(f".{path.name}.new")
            with ready[path].open("wb") as file:
                file.write(new_content)
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(path, ready[path])
        for path, new in ready.items():
            os.replace(new, path)
            replaced.append(path)
    except OSError as error:
        for path in replaced:
            path.write_bytes(real[path][0])
        raise OutputError(f"Cannot write {error.filename} ({error.strerror}). Nothing was changed.") from None
    finally:
        for new in ready.values():
            with suppress(OSError):
                new.unlink(missing_ok=True)


# Values, formulas and comments as TOML.

WIDTH = 120


def formula(text: str, *, lines: bool = False) -> str:
    if len(text) < WIDTH - len('tables = ""') and not lines:
        return toml(text)
    return "\n".join(['"""', textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False), '"""'])


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int | float | Fraction):
        return number_text(float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    return with_codes(json.dumps(str(value), ensure_ascii=False))


def number_text(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.12f}".rstrip("0")


def comment(text: str) -> str:
    return textwrap.indent(textwrap.fill(text, WIDTH - 2, break_long_words=False, break_on_hyphens=False), "# ")


# Inherited tables of a configuration are copied into it so that they can be changed.
#
# A table is inherited as a whole, and [override] can replace single settings. Other changes, such as the removal of a column,
# need a copy of the table: its lines in the other file, with their comments and with the overridden settings. The other file is
# never written.


def taken_over(file: ConfigurationFile, content: bytes, names: Collection[str]) -> bytes:
    """Copy inherited tables, such as [columns], into a configuration, so that they can be changed there.

    Return its new content. A list of tables between brackets becomes one line.

    Parameters
    ----------
    names : names of inherited tables, such as "columns".
    """
    if file.base is None:
        return content
    base_text = text_of(file.base.read_bytes())
    lines, blocks = base_text.split("\n"), headed_tables(base_text)
    copied = ["\n".join(lines[block.first : block.last + 1]) for name in names for block in blocks if block.path[0] == name]
    between_brackets = [name for name in names if not any(block.path[0] == name for block in blocks)]
    override = toml_tables(content, file.path).get("override", {})
    overridden = {name: override[name] for name in names if name in override}
    gone = [Edit(path=("override",))] if overridden.keys() == override.keys() and override else []
    gone = gone or [Edit(path=("override", name)) for name in overridden]
    text = text_of(changed(file.path, content, gone))
    remark = f"# These tables were copied from {file.base.name}. Later changes of that file do not affect them."
    whole = "\n".join([text.rstrip("\n"), "", remark, "\n\n".join(copied), ""])
    under_header = {name: table for name, table in overridden.items() if name not in between_brackets}
    settings = [Edit(path=steps, toml=toml(value)) for steps, value in all_settings(under_header)]
    settings += [Edit(path=(name,), toml=toml(file.tables[name])) for name in between_brackets]
    return changed(file.path, written_as(content, whole), settings)


def own_acceptance(file: ConfigurationFile, acceptance: Path) -> tuple[Path, Edit]:
    """Choose a path for a copy of the acceptance file, and return it with the change that names the copy.

    Raises
    ------
    OutputError : when files with both possible names exist.
    """
    names = (file.path.name, f"{file.path.stem}-acceptance.toml")
    path = next((path for path in map(acceptance.with_name, names) if not path.exists()), None)
    if path is None:
        raise OutputError(
            f"A copy of the criteria has no free name: {acceptance.parent} contains {' and '.join(names)}. Rename one of them."
        )
    relative = Path(os.path.relpath(path, file.path.parent)).as_posix()
    return path, Edit(path=("acceptance",), toml=toml(relative))
