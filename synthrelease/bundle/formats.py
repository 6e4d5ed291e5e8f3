"""The released table for statistical packages: data.dta and data.sav, written by pyreadstat (the extra `formats`).

A bin is its number from 1 on, with its label as value label; a missing value is .a in Stata and -1, declared missing, in SPSS.
Both formats hold the time at which they were written. When a run ended tells how long it took, so it is replaced.

pyreadstat takes a whole table in memory.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.bundle.card.numbers import labelled_title
from synthrelease.bundle.tables import RowsOfFile, files_of_rows
from synthrelease.criteria.facts import words
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import STEM
from synthrelease.published.table import NOTICE, ReleasedTable, RowsBatch, TableFile, TableShape
from synthrelease.resources import library
from synthrelease.settings.tables import SYNTHETIC, BundleTable

_STATA_WORDS = "_all _b _coef _cons _n _N _pi _pred _rc _skip byte double float if in int long strL using with"
STATA_WORDS = frozenset([*_STATA_WORDS.split(), *(f"str{number}" for number in range(1, 2046))])
"""They mean something else in Stata than the name of a variable."""
_SPSS_WORDS = frozenset(["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"])


@dataclass(frozen=True, kw_only=True)
class Package:
    """The limits of a statistical package.

    Attributes
    ----------
    ending : of its files.
    missing : the code of a missing value.
    length, longest : measures a name, and the most that it may come to: characters for Stata, bytes of UTF-8 for SPSS.
    variable_label, file_label : the most that these labels may come to, measured so.
    same : two names are one where this gives the same for both.
    reserved : whether a name means something else.
    """

    name: str
    ending: str
    missing: str | int
    length: Callable[[str], int]
    longest: int
    variable_label: int
    file_label: int
    same: Callable[[str], str]
    reserved: Callable[[str], bool]


STATA = Package(
    name="Stata",
    ending="dta",
    missing="a",
    length=len,
    longest=32,
    variable_label=80,
    file_label=80,
    same=str,
    reserved=STATA_WORDS.__contains__,
)
SPSS = Package(
    name="SPSS",
    ending="sav",
    missing=-1,
    length=lambda name: len(name.encode("utf-8")),
    longest=64,
    variable_label=256,
    file_label=64,
    same=str.casefold,
    reserved=lambda name: name.casefold() in _SPSS_WORDS,
)
PACKAGES = {"stata": STATA, "spss": SPSS}
"""Limits of statistical packages, by their names in [bundle] formats."""

# Names that a package can hold: a public function of the column names, the same for every release of a configuration.


def renamed(names: Sequence[str], package: Package, taken: Sequence[str] = (WEIGHT, SYNTHETIC)) -> dict[str, str]:
    """Return for every column its name in the package, all different; names that can be held stay as they are.

    Others get "_" for every sign that is no letter, digit or underscore, "v_" before what cannot begin a name or means
    something else, and are cut; the first number from 2 on that makes a name new stands at its end.

    Parameters
    ----------
    taken : names of further columns of the file, which no other may have.
    """
    used = {package.same(name) for name in taken}
    chosen: dict[str, str] = {}
    for name in names:
        if _fitting(name, package) == name and package.same(name) not in used:
            chosen[name] = name
            used.add(package.same(name))
    for name in names:
        if name in chosen:
            continue
        base, number = _fitting(name, package), 1
        new = base
        while package.same(new) in used:
            number += 1
            new = f"{_cut(base, package, len(str(number)) + 1)}_{number}"
        chosen[name] = new
        used.add(package.same(new))
    return {name: chosen[name] for name in names}


def _fitting(name: str, package: Package) -> str:
    plain = "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
    starts = plain[:1].isalpha() or (plain[:1] == "_" and package is STATA)
    if not starts or package.reserved(plain):
        plain = f"v_{plain}"
    return _cut(plain, package)


def _cut(name: str, package: Package, reserve: int = 0) -> str:
    while package.length(name) > package.longest - reserve:
        name = name[:-1]
    return name


def renamings(names: Sequence[str], chosen: Collection[str]) -> list[str]:
    """Return which names the chosen packages must change, a line for each package."""
    lines = []
    for package in (package for name, package in PACKAGES.items() if name in chosen):
        changed = [f"{old} is {new}" for old, new in renamed(names, package).items() if old != new]
        if changed:
            lines.append(f"{package.name} cannot hold some names. There {', '.join(changed)}, with the own name in the label.")
    return lines


# The columns of a released table as variables of a package: numbers from 1 with value labels.


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A column in a package.

    Attributes
    ----------
    column : the released column; its bins are the values 1, 2, ... in their order, without the bin of missing values.
    name, label : in the package.
    missing : which bin is that of missing values, counted from 0; None where there is none.
    """

    column: ColumnPart
    name: str
    label: str
    missing: int | None


def variables(document: ReleaseDocument, package: Package, file: TableFile) -> tuple[Variable, ...]:
    """Return the columns of a table in their order; one with another name in the package has its own first in its label."""
    taken = [WEIGHT, SYNTHETIC, *([key_name(file.key, package)] if file.key else [])]
    names = renamed([column.name for column in file.columns], package, taken)
    listed = []
    for column in file.columns:
        name = names[column.name]
        text = document.card.columns.get(column.name) or column.description or words(column.name)
        text += f" ({column.unit})" if column.unit else ""
        label = cut_label(text if name == column.name else f"{column.name}: {text}", package, package.variable_label)
        missing = next((index for index, bin_ in enumerate(column.bins) if bin_.missing), None)
        listed.append(Variable(column=column, name=name, label=label, missing=missing))
    return tuple(listed)


def key_name(key: str, package: Package) -> str:
    """Return the name that the key of a table has in a package."""
    return renamed([key], package)[key]


def further_labels(document: ReleaseDocument) -> dict[str, str]:
    """Return the labels of the columns without bins: the weight, and the column that marks the table as synthetic."""
    labels = {WEIGHT: "Weight: number of records that a row represents"} if document.weighted else {}
    return labels | ({SYNTHETIC: "Synthetic data: 1 in every row"} if document.bundle.synthetic_column else {})


def cut_label(text: str, package: Package, limit: int) -> str:
    """Return a label, cut to the length a package can hold and ended with "..." where it was longer."""
    text = " ".join(text.split())
    if package.length(text) <= limit:
        return text
    while package.length(text) > limit - 3:
        text = text[:-1]
    return f"{text}..."


KEY_LABEL = "Number of the root, which joins the two tables"
_STATA_14 = 14
_DTA_TIME = re.compile(rb"<timestamp>\x11.{17}</timestamp>", re.DOTALL)
_NO_DTA_TIME = b"<timestamp>\x11%b %d 00:00</timestamp>" % (b"01 Jan", 1980)
_SAV_TIME = slice(92, 109)
_NO_SAV_TIME = b"01 Jan 8000:00:00"


def statistical_files(document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """Return the table in the formats that [bundle] asks for, by the names of the files, each as pieces.

    Raises
    ------
    InputError : when the library is missing.
    """
    files: dict[str, Iterable[bytes]] = {}
    for package in (package for name, package in PACKAGES.items() if name in document.bundle.formats):
        _library(package)
        for file, rows in zip(document.table_files, files_of_rows(table), strict=True):
            files[file.named(package.ending)] = map(_table_bytes, [package], [document], [file], [rows])
    return files


def estimates_tables(bundle: BundleTable, frame: Any, labels: Mapping[str, str]) -> dict[str, bytes]:
    """Return the table of estimates in the same formats: texts and numbers as they are, missing ones as a package has them.

    Parameters
    ----------
    labels : of its columns.
    """
    packages = [package for name, package in PACKAGES.items() if name in bundle.formats]
    return {f"{STEM}.{package.ending}": _estimates_bytes(package, frame, labels) for package in packages}


def _frame(rows: RowsBatch, shape: TableShape, columns: Sequence[Variable], package: Package) -> Any:
    """Return rows as numbers of bins from 1 on, missing values as the code of the package."""
    import pandas as pd

    values: dict[str, Any] = {}
    if shape.key:
        values[key_name(shape.key, package)] = rows.keys.astype(np.int32)
    for variable, bins in zip(columns, rows.bins, strict=True):
        codes: Any = (np.arange(len(variable.column.bins)) + 1).astype(np.int32)
        if variable.missing is not None:
            codes = codes.astype(object) if isinstance(package.missing, str) else codes
            codes[variable.missing] = package.missing
        values[variable.name] = codes[bins]
    values |= {} if rows.weights is None else {WEIGHT: rows.weights}
    values |= {SYNTHETIC: np.ones(len(rows), dtype=np.int32)} if shape.marked else {}
    return pd.DataFrame(values)


def _table_bytes(package: Package, document: ReleaseDocument, file: TableFile, rows: RowsOfFile) -> bytes:
    """Return the file of a table, with all labels."""
    columns = variables(document, package, file)
    frame = _frame(RowsBatch.joined(rows.batches, rows.shape), rows.shape, columns, package)
    of_a_key = {key_name(file.key, package): KEY_LABEL} if file.key else {}
    of_others = {name: label for name, label in further_labels(document).items() if name in frame}
    suffix = "" if not file.key else ", members" if file.of_members else ", roots"
    gaps = {variable.name: [package.missing] for variable in columns if variable.missing is not None}
    settings: dict[str, Any] = {
        "file_label": cut_label(f"Synthetic data{suffix}: {labelled_title(document)}", package, package.file_label),
        "column_labels": of_a_key | {variable.name: variable.label for variable in columns} | of_others,
        "variable_value_labels": {variable.name: _value_labels(variable, package) for variable in columns},
    }
    if package is STATA:
        content = _written(package, frame, version=_STATA_14, missing_user_values=gaps, **settings)
        return _timeless_dta(with_note(content, NOTICE))
    measures = {variable.name: "ordinal" if variable.column.ordered else "nominal" for variable in columns}
    if file.key:
        measures |= dict.fromkeys(of_a_key, "nominal")
    else:
        measures |= {WEIGHT: "scale"} if document.weighted else {}
        settings["variable_format"] = {
            variable.name: f"F{max(2, len(str(len(variable.column.bins))))}.0" for variable in columns
        }
    content = _written(
        package, frame, row_compress=True, note=NOTICE, missing_ranges=gaps, variable_measure=measures, **settings
    )
    return _timeless_sav(content)


def _value_labels(variable: Variable, package: Package) -> dict[Any, str]:
    return {package.missing if bin_.missing else code: bin_.label for code, bin_ in enumerate(variable.column.bins, start=1)}


def _estimates_bytes(package: Package, frame: Any, labels: Mapping[str, str]) -> bytes:
    texts = {name: cut_label(text, package, package.file_label) for name, text in labels.items()}
    settings: dict[str, Any] = {"file_label": "Estimates with intervals", "column_labels": texts}
    if package is STATA:
        return _timeless_dta(_written(package, frame, version=_STATA_14, **settings))
    return _timeless_sav(_written(package, frame, row_compress=True, **settings))


def _timeless_dta(content: bytes) -> bytes:
    content, times = _DTA_TIME.subn(_NO_DTA_TIME, content, count=1)
    if not times:
        raise ValueError("a file of Stata without its time")
    return content


def _timeless_sav(content: bytes) -> bytes:
    if not re.fullmatch(rb"\d\d \w{3} \d\d\d\d:\d\d:\d\d", content[_SAV_TIME]):
        raise ValueError("a file of SPSS without its time")
    return content[: _SAV_TIME.start] + _NO_SAV_TIME + content[_SAV_TIME.stop :]


def _library(package: Package) -> Any:
    """Return pyreadstat. Raises InputError where pyreadstat or pandas (it writes pandas frames) is missing."""
    library("pandas", "pandas", f".{package.ending} files, as [bundle] formats asks", "formats")
    return library("pyreadstat", "pyreadstat", f".{package.ending} files, as [bundle] formats asks", "formats")


def _written(package: Package, frame: Any, **settings: Any) -> bytes:
    """Return the bytes that pyreadstat writes. It writes to a temporary folder that only its owner can read."""
    pyreadstat = _library(package)
    write: Mapping[str, Any] = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{package.ending}"
        write[package.ending](frame, str(path), **settings)
        return path.read_bytes()


# A note in a file of Stata, which `notes` shows there: pyreadstat writes none.
#
# Notes are characteristics of the dataset: `note0` of `_dta` is their number, `note1` the first (Stata, help dta, section
# 5.10). They stand in the section <characteristics>; the places of the sections behind it, in <map>, move by as many bytes.

_EMPTY = b"<characteristics></characteristics>"
_MAP = b"<map>"
_NAME = 129
"""Bytes of a name in Stata 14 and later, filled up with zeros."""
_SECTIONS, _BEHIND = 14, 9
"""Places in <map>, and how many of them are not behind the characteristics."""


def with_note(content: bytes, note: str) -> bytes:
    """Return the file with one note of the dataset.

    Raises
    ------
    ValueError : for a file that has characteristics, or that is none of Stata 14 and later.
    """
    start = content.find(_MAP) + len(_MAP)
    offsets = list(struct.unpack_from(f"<{_SECTIONS}Q", content, start)) if start >= len(_MAP) else []
    if b"<byteorder>LSF</byteorder>" not in content[:start] or content[offsets[8] : offsets[9]] != _EMPTY:
        raise ValueError("expected a file of Stata 14 or later, little-endian, without characteristics")
    section = b"<characteristics>" + _characteristic("note0", "1") + _characteristic("note1", note) + b"</characteristics>"
    moved = len(section) - len(_EMPTY)
    shifted = [offset + moved * (number >= _BEHIND) for number, offset in enumerate(offsets)]
    head = content[:start] + struct.pack(f"<{_SECTIONS}Q", *shifted) + content[start + 8 * _SECTIONS : offsets[8]]
    return head + section + content[offsets[9] :]


def _characteristic(name: str, text: str) -> bytes:
    names = b"".join(text_.encode().ljust(_NAME, b"\0") for text_ in ("_dta", name))
    value = text.encode() + b"\0"
    return b"<ch>" + struct.pack("<I", len(names) + len(value)) + names + value + b"</ch>"
