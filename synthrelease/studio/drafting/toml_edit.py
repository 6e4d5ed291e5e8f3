"""Changes in the text of a TOML file: everything that is not changed stays as it stands, comments and layout too.

Values, and what stands inside of lists and inline tables, are changed by tomlkit. A table with a header of its own goes with
its lines, and with the comment right above its header; comments that stand apart stay, because they are about what follows.
Whether the text then says what it should is checked by reading it, not trusted.
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
"""Where a value stands in the tables: ("criteria", 2, "by", 0)."""

_TEXT_OR_COMMENT = re.compile(r"\"\"\"(?:\\.|[^\\])*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change.

    Attributes
    ----------
    path : where; the place behind the last one of a list of tables adds a table to it.
    toml : the new value as TOML writes it; None takes out what is there.
    remark : a comment behind a key that is new.
    """

    path: Path_
    toml: str | None = None
    remark: str = ""


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return the text of a TOML file with these changes, which do not touch each other.

    Raises
    ------
    ValueError : when the file is written in a way in which they cannot be made.
    """
    old, blocks, document = _tables(text), headed_tables(text), tomlkit.parse(text)
    expected, later = copy.deepcopy(old), list[Edit]()
    # later places of lists first: what is taken out moves those behind it
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
            del value_at(expected, edit.path[:-2])[edit.path[-2]]  # headers of a list without a table are none
        result = _without_table(result, edit.path) if edit.toml is None else _with_key(result, edit)
    if _tables(result) != expected:
        raise ValueError("a layout that cannot be changed line by line")
    return result


def _tables(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def value_at(tables: Any, path: Path_) -> Any:
    """Return the value at a place of the tables. Raises KeyError or IndexError."""
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
    """Change plain tables, or tables of tomlkit, in place."""
    above = tables
    for step, below in itertools.pairwise(edit.path):
        if isinstance(tables, dict) and step not in tables:
            tables[step] = [] if isinstance(below, int) else {}
        above, tables = tables, tables[step]
    key = edit.path[-1]
    if edit.toml is None and isinstance(tables, tomlkit.items.InlineTable):  # written anew: blanks would be left in it
        parts = [(name, item) for name, item in tables.value.body if name is not None and name.key != key]
        inline = ", ".join(f"{name.as_string().strip()} = {item.as_string()}" for name, item in parts)
        above[edit.path[-2]] = tomlkit.value(f"{{ {inline} }}" if parts else "{}")
    elif edit.toml is None:
        del tables[key]
    elif isinstance(tables, tomlkit.container.Container | tomlkit.items.Item):
        tables[key] = tomlkit.value(edit.toml)  # type: ignore[index]
    else:
        value = tomllib.loads(f"value = {edit.toml}", parse_float=Decimal)["value"]
        if isinstance(tables, list) and key == len(tables):
            tables.append(value)
        else:
            tables[key] = value


def _new_table(edit: Edit, old: Mapping[str, Any], blocks: Sequence[HeadedTable]) -> list[Edit]:
    """Write a table more in a list of tables with headers, key by key, for `_with_key` to write.

    Raises
    ------
    ValueError : where the list stands between brackets.
    """
    if _is_there(old, edit.path[:-1]) and not any(block.path[:-1] == edit.path[:-1] for block in blocks):
        raise ValueError("a list of tables between brackets")
    value = tomllib.loads(f"value = {edit.toml}", parse_float=Decimal)["value"]
    parts = tomlkit.parse(f"value = {edit.toml}")["value"]
    return [Edit(path=(*edit.path, name), toml=parts[name].as_string()) for name in value]


@dataclass(frozen=True, kw_only=True)
class HeadedTable:
    """A table with a header, by its lines.

    Attributes
    ----------
    path : of the table; a table in a list of tables has its number.
    first, header, last : the first line of the comment right above it, its header, and its last line with a key.
    """

    path: Path_
    first: int
    header: int
    last: int


def headed_tables(text: str) -> list[HeadedTable]:
    """Return all tables with headers, in their order. A bracket within a text, a comment or a list begins none."""
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
    """Return the names in a header: [columns.age] is ("columns", "age")."""
    table, names = tomllib.loads(header), list[str]()
    while table:
        ((name, inner),) = table.items()
        names.append(name)
        table = inner[0] if isinstance(inner, list) else inner
    return tuple(names)


def _numbered(names: Path_, times: Mapping[Path_, int]) -> Path_:
    """Return a path with the number behind the name of each list of tables on the way."""
    path: list[str | int] = []
    for length, name in enumerate(names, 1):
        path.append(name)
        if names[:length] in times:
            path.append(times[names[:length]])
    return tuple(path)


def _without_table(text: str, path: Path_) -> str:
    """Return the text without a table, and the tables in it: their lines, and what is said right above the header."""
    for block in reversed(headed_tables(text)):
        if block.path[: len(path)] != path:
            continue
        lines = text.split("\n")
        first, last = block.first, block.last
        while last + 1 < len(lines) and not lines[last + 1].strip() and (first == 0 or not lines[first - 1].strip()):
            last += 1  # one empty line between what is left, and not two
        text = "\n".join([*lines[:first], *lines[last + 1 :]])
    return text


def _with_key(text: str, edit: Edit) -> str:
    """Return the text with a new key in a table: behind its last one, not behind the comments about what follows."""
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
    """Return a key in the form a header has it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def changed(path: Path, content: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the content of a file with these changes; a byte order mark and the kind of its line ends stay.

    Raises
    ------
    OutputError : when it is written in a way in which they cannot be made.
    """
    try:
        return written_as(content, edited(text_of(content), edits))
    except ValueError as error:
        raise OutputError(f"{path}: could not be changed ({error}). Nothing was written: make the change by hand.") from None


def text_of(content: bytes) -> str:
    """Return a file without byte order mark, its lines with the ends that Python has."""
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def written_as(old: bytes, text: str) -> bytes:
    """Return a text with the byte order mark and the line ends of the old one."""
    mark = codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in old else text).encode()


NOT_WRITTEN = "the following mistakes, and nothing was written"
"""What is found where changed files cannot be loaded, ahead of the mistakes themselves."""


def loaded_changed(old_spec: ReleaseSpec, path: Path, configuration: bytes, acceptance: bytes | None = None) -> ReleaseSpec:
    """Load the changed specification.

    Files that accept every table as they stand can be changed: `plan` and `release` refuse them, and a change may be the mend.

    Parameters
    ----------
    old_spec : the specification without the change.

    Raises
    ------
    SpecError : where it cannot be loaded, or where it accepts every table because of the change.
    """
    try:
        spec = load_changed(path, configuration, acceptance)
        if not none_can_fail(old_spec.criteria):
            spec.check_can_fail()
        return spec
    except SpecError as error:
        expected = "files that can be loaded after the change"
        raise SpecError([Problem(file=str(path), path="", expected=expected, found=NOT_WRITTEN), *error.problems]) from None


def replace_files(texts: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the contents of files, in this order: all of them, or none.

    Parameters
    ----------
    texts : for each file what it held when it was read, and what it is to hold.

    Raises
    ------
    OutputError : when a file was changed in between, or cannot be written.
    """
    real = {Path(os.path.realpath(path)): contents for path, contents in texts.items()}
    ready: dict[Path, Path] = {}
    replaced: list[Path] = []
    try:
        for path, (old, new_content) in real.items():
            if path.read_bytes() != old:
                raise OutputError(f"{path}: was changed while this command ran. Nothing was written: start it again.")
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
        raise OutputError(f"{error.filename}: could not be written ({error.strerror}). Nothing was changed.") from None
    finally:
        for new in ready.values():
            with suppress(OSError):
                new.unlink(missing_ok=True)


# How a draft writes TOML: values, comments, and the first lines of both files.

WIDTH = 120


def formula(text: str, *, lines: bool = False) -> str:
    """Return a formula as TOML writes it: a long one, or one that stood so, in lines of terms between three quotes."""
    if len(text) < WIDTH - len('tables = ""') and not lines:
        return toml(text)
    return "\n".join(['"""', textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False), '"""'])


def toml(value: object) -> str:
    """Return a value as TOML writes it."""
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
    """Return the text as lines of a comment."""
    return textwrap.indent(textwrap.fill(text, WIDTH - 2, break_long_words=False, break_on_hyphens=False), "# ")


# Tables of a configuration that another one hands down, written out where they are to be changed.
#
# A table is handed down whole, and a line can override one setting of it. What no line can say, as that a column is not
# released,
# needs a table of one's own: the lines of the other file, with their comments, and what was overridden put in its place. The
# other file is never written.


def taken_over(file: ConfigurationFile, content: bytes, names: Collection[str]) -> bytes:
    """Return the content of a configuration that has these tables itself.

    Parameters
    ----------
    content : of the file, which extends another one.
    names : of tables that are handed down, such as "columns".

    Raises
    ------
    OutputError : where the other file has one of them in another layout than under headers.
    """
    if file.base is None:
        return content
    base_text = text_of(file.base.read_bytes())
    lines, blocks = base_text.split("\n"), headed_tables(base_text)
    copied = ["\n".join(lines[block.first : block.last + 1]) for name in names for block in blocks if block.path[0] == name]
    lacking = [name for name in names if not any(block.path[0] == name for block in blocks)]
    if lacking:
        raise OutputError(
            f"{file.base}: expected [{lacking[0]}] under a header, so that its lines can be copied to {file.path.name}; found "
            "another layout. Nothing was written: copy it by hand."
        )
    override = toml_tables(content, file.path).get("override", {})
    overridden = {name: override[name] for name in names if name in override}
    gone = [Edit(path=("override",))] if overridden.keys() == override.keys() and override else []
    gone = gone or [Edit(path=("override", name)) for name in overridden]
    text = text_of(changed(file.path, content, gone))
    remark = f"# As in {file.base.name}, which this file extends; changes of that file do not reach these tables any more."
    whole = "\n".join([text.rstrip("\n"), "", remark, "\n\n".join(copied), ""])
    settings = [Edit(path=steps, toml=toml(value)) for steps, value in all_settings(overridden)]
    return changed(file.path, written_as(content, whole), settings)


def own_acceptance(file: ConfigurationFile, acceptance: Path) -> tuple[Path, Edit]:
    """Return where a copy of the acceptance file for this configuration alone goes, and the line that names it.

    Raises
    ------
    OutputError : where there are files of both names that it could have.
    """
    names = (file.path.name, f"{file.path.stem}-acceptance.toml")
    path = next((path for path in map(acceptance.with_name, names) if not path.exists()), None)
    if path is None:
        raise OutputError(f"{acceptance.parent}: expected room for a copy of {acceptance.name}, found {' and '.join(names)}.")
    relative = Path(os.path.relpath(path, file.path.parent)).as_posix()
    return path, Edit(path=("acceptance",), toml=toml(relative))
