"""Codelists: what the codes of a column stand for, and the levels of groups that they belong to, from public CSV files.

A codelist is `code,label` in its first line, then one code in each. Further columns are levels: `state` beside municipalities,
or block and chapter beside diagnoses. Levels nest: what is together in a finer level is together in every coarser one. The
file is UTF-8, with commas; a byte-order mark, blank lines and spaces around a cell do not matter.

A configuration names the file, and holds its content from the moment it is read: the digest of the specification, and with it
everything downstream, is that of the content, wherever the file stands and whatever becomes of it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthrelease.data.schema import MAX_BINS
from synthrelease.errors import Problem, SpecError, Unexpected, cut
from synthrelease.settings.base import EXPECTED, is_label
from synthrelease.settings.reading import ConfigurationFile, beside, regular_file

MAX_BYTES = 20_000_000
EACH_CODE = "codes"
"""The alternative in which each code is a bin."""
_HEADER = ["code", "label"]


@dataclass(frozen=True, kw_only=True)
class Codelist:
    """What stands in a codelist.

    Attributes
    ----------
    labels : code -> label, in the order of the file.
    levels : level -> {group: its codes}, in the order of the columns; groups in the order in which they come first.
    """

    labels: Mapping[str, str]
    levels: Mapping[str, Mapping[str, list[str]]]


def with_codelists(file: ConfigurationFile) -> ConfigurationFile:
    """The configuration with the content of each codelist that it names in the place of the name.

    The levels become alternatives of their column, beside those that it lists, or beside the one of each code.

    Raises
    ------
    SpecError : for a codelist that cannot be used, with the line.
    """
    columns = file.tables.get("columns")
    if not isinstance(columns, dict):
        return file
    folder = file.file_of("columns")
    read = {name: _resolved(name, table, folder) if _names_a_codelist(table) else table for name, table in columns.items()}
    return replace(file, tables={**file.tables, "columns": read})


def _names_a_codelist(table: Any) -> bool:
    return isinstance(table, dict) and table.get("kind") == "code" and isinstance(table.get("codes"), str)


def _resolved(name: str, table: dict[str, Any], configuration: Path) -> dict[str, Any]:
    def problem(field: str, expected: str, found: str) -> SpecError:
        return SpecError([Problem(file=str(configuration), path=f"columns.{name}.{field}", expected=expected, found=found)])

    try:
        codelist = read_codelist(beside(configuration, table["codes"]))
    except Unexpected as error:  # of the file as a whole
        raise problem("codes", error.expected, f"{error.found}: {table['codes']!r}") from None
    listed = table.get("alternatives") or {EACH_CODE: {label: [code] for code, label in codelist.labels.items()}}
    if not isinstance(listed, dict):
        return {**table, "codes": dict(codelist.labels)}  # a mistake that is told where tables are checked
    for level in codelist.levels:
        if level in listed:
            raise problem(f"alternatives.{level}", "another name than that of a level of the codelist", repr(level))
    return {**table, "codes": dict(codelist.labels), "alternatives": {**listed, **codelist.levels}}


def read_codelist(path: Path) -> Codelist:
    """A codelist from its file.

    Raises
    ------
    SpecError : for the first mistake, with its line.
    Unexpected : when there is no such file, or it is no UTF-8 text.
    """
    lines = _lines(path)
    number, header = next(lines, (1, []))
    if header[:2] != _HEADER:  # what stands there instead is not shown: it may be quite another file
        raise _problem(path, number, "the header code,label, and the name of each further level", "something else")
    levels = header[2:]
    for level in levels:
        if not _usable(level) or level in (*_HEADER, EACH_CODE) or levels.count(level) > 1:
            raise _problem(path, number, "different names of levels, other than code, label and codes", _shown(level))
    labels: dict[str, str] = {}
    groups: dict[str, dict[str, str]] = {level: {} for level in levels}
    line_of: dict[str, int] = {}
    code_with: dict[str, str] = {}
    for number, cells in lines:
        if len(cells) != len(header):
            raise _problem(path, number, f"{len(header)} cells, as the header has", f"{len(cells)}")
        code, label, *inside = cells
        _check_cells(path, number, code, label, dict(zip(levels, inside, strict=True)))
        if code in labels:
            raise _problem(path, number, "each code once", f"{code!r} also in line {line_of[code]}")
        if label in code_with:
            found = f"{label!r} also for {code_with[label]!r} in line {line_of[code_with[label]]}"
            raise _problem(path, number, "a label of its own for each code (write its group or the code into it)", found)
        labels[code], line_of[code], code_with[label] = label, number, code
        for level, group in zip(levels, inside, strict=True):
            groups[level][code] = group
        if len(labels) > MAX_BINS:
            raise _problem(path, number, f"at most {MAX_BINS} codes", "more")
    if not labels:
        raise _problem(path, number, "at least one code after the header", "none")
    _check_nesting(path, groups, line_of)
    return Codelist(labels=labels, levels={level: _members(of_code) for level, of_code in groups.items()})


def _check_cells(path: Path, number: int, code: str, label: str, groups: Mapping[str, str]) -> None:
    """Raises SpecError for the first cell of a line that cannot be used."""
    if not code or len(code) > 200 or not code.isprintable():
        raise _problem(path, number, "a code of 1 to 200 printable characters", _shown(code))
    if not _usable(label):
        raise _problem(path, number, f"for the code {code!r} {EXPECTED}", _shown(label))
    for level, group in groups.items():
        if not _usable(group):
            raise _problem(path, number, f"the code {code!r} in a group of {level!r}, with {EXPECTED}", _shown(group))


def _check_nesting(path: Path, levels: Mapping[str, Mapping[str, str]], line_of: Mapping[str, int]) -> None:
    """Raises SpecError for the first code whose group in one level is torn apart by the next coarser level."""
    by_size: Sequence[str] = sorted(levels, key=lambda level: -len(set(levels[level].values())))
    for finer, coarser in zip(by_size, by_size[1:], strict=False):
        first: dict[str, str] = {}
        for code, group in levels[finer].items():
            pair = (first.setdefault(group, code), code)
            if len({levels[coarser][each] for each in pair}) > 1:
                expected = f"{finer} {group!r} in one {coarser} (levels must nest; other groups may be listed as alternatives)"
                found = " and ".join(f"{each!r} (line {line_of[each]}) in {levels[coarser][each]!r}" for each in pair)
                raise _problem(path, line_of[code], expected, found)


def _members(of_code: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for code, group in of_code.items():
        found.setdefault(group, []).append(code)
    return found


def _usable(label: str) -> bool:
    return is_label(label) and label.isprintable()


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and stripped cells; blank lines are left out."""
    content = regular_file(path, ".csv", MAX_BYTES, readable="a codelist in a CSV file", named="a codelist in a file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unexpected("a codelist in UTF-8", "other bytes") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error:
        raise _problem(path, reader.line_num, "CSV with commas and closed quotes", "something else") from None


def _shown(cell: str) -> str:
    return repr(cut(cell, 60)) if cell else "an empty cell"


def _problem(path: Path, line: int, expected: str, found: str) -> SpecError:
    return SpecError([Problem(file=str(path), path=f"line {line}", expected=expected, found=found)])
