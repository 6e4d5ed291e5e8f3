"""Read codebooks, which describe columns and codes, and the labels in files of Stata, SAS and SPSS.

`init` and `scout` read a codebook in one of three forms.

JSON: an object with an entry for each column. An entry is an object with `description` and `values`, where `values` maps
codes to meanings, or only the `values` object, or only a string, the description. With `min` and `max`, in the entry or
among its values, the column contains numbers. `kind` ("integer", "number", "code", "text" or "date") states the kind of the
column. `missing` is a list of codes for a missing answer (in a key: for a row without a key). `limits` is a list of
numbers; a bin always begins at each of them. For dates, `min` and `max` are dates such as 2020-01-31. `format`, such as
"%d.%m.%Y", states the date format of the file, if it differs.

CSV: a line for each code, with the columns `column`, `code` and `label`. A line without a code describes the column, and
may have `kind`, `min`, `max` and `format`.

XML: a DDI-Codebook. IPUMS and NCHS publish such codebooks for their fixed-width files, with the position of each column.

Labels in files of Stata, SAS and SPSS are read from public files only. In a private file, somebody may have written labels
about its records, and no public rule says what they may contain.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from synthrelease.data.dates import ISO
from synthrelease.enclave.fixed_width import with_point
from synthrelease.enclave.statistical import object_text, read_package, writer
from synthrelease.errors import InputError, Unexpected, listing
from synthrelease.settings.columns import FixedWidthTable, Position
from synthrelease.sources.formats import Package

MAX_BYTES = 50_000_000
_HEADERS = {
    "column": ("column", "variable", "name", "field", "varname"),
    "code": ("code", "value"),
    "label": ("label", "meaning", "text", "description", "desc"),
    "kind": ("kind", "type"),
    "min": ("min", "low", "minimum"),
    "max": ("max", "high", "maximum"),
    "format": ("format",),
}
# XML declarations with an accepted encoding, in which a byte of ASCII stands only for itself, so that no markup is hidden.
_DECLARED = re.compile(rb"<\?xml[^>]*encoding=[\"'](utf-8|iso-8859-1|windows-1252|us-ascii)[\"']", re.IGNORECASE)
_RANGE = ("min", "max")
_KINDS = ("number", "integer", "code", "text", "date")
MISSING_WORDS = re.compile(
    r"n/?a\b|not? (applicable|available|answered|stated|reported|recorded|known|specified|in universe|response)|"
    r"(missing|unknown|unspecified|refused|blank|suppressed|invalid|niu|dk|nr)\b|"
    r"(don'?t|does not|do not) know|no (answer|response)|"
    r"(no aplica|se ignora|no especificado|desconocido|keine angabe|unbekannt|weiß nicht|non renseign|inconnu)",
    re.IGNORECASE,
)
"""Beginnings of labels that mean a missing answer."""
# Names and labels of identifiers in a DDI-Codebook.
_KEY = re.compile(r"^(?!\w*(?:PAID|COVID|GRID)\b)\w*ID[PHV]?\b|(?i:serial number|\bidentif|\brecord number|\bcase number)")


@dataclass(frozen=True, kw_only=True)
class CodebookEntry:
    """The information that a codebook gives about one column.

    Attributes
    ----------
    description : the meaning of the column; empty if unstated.
    labels : the meaning of each code. The codes are written as in the file.
    number : whether the codebook says that the column contains numbers.
    code : whether the codebook says that the column contains codes or strings.
    low, high : the smallest and the largest number, or None if unstated.
    whole : whether the codebook says that the numbers are integers.
    limits : numbers at which a bin always begins.
    dates : for a column of dates, three strings: the first date, the last date and the date format; otherwise empty.
    """

    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    number: bool = False
    code: bool = False
    low: Fraction | None = None
    high: Fraction | None = None
    whole: bool = False
    limits: tuple[Fraction, ...] = ()
    dates: tuple[str, ...] = ()

    def or_else(self, second: CodebookEntry) -> CodebookEntry:
        """Return this entry, completed with information of `second`, and with the codes for missing answers of both."""
        return CodebookEntry(
            description=self.description or second.description,
            labels=self.labels or second.labels,
            missing=self.missing | second.missing,
            number=self.number or (second.number and not self.code),
            code=self.code or (second.code and not self.number),
            low=self.low if self.low is not None else second.low,
            high=self.high if self.high is not None else second.high,
            whole=self.whole or second.whole,
            limits=self.limits or second.limits,
            dates=self.dates or second.dates,
        )


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """The contents of a codebook.

    Attributes
    ----------
    positions : the positions of the columns in a fixed-width file, or None.
    key : the column that links the two record types of a hierarchical file, such as persons to households, or None.
    """

    entries: Mapping[str, CodebookEntry] = field(default_factory=dict)
    positions: FixedWidthTable | None = None
    key: str | None = None


def read_codebook(path: str | Path) -> Codebook:
    """Read a codebook in JSON, CSV or DDI XML and return its contents.

    Raises
    ------
    InputError : if the file is larger than 50 MB, cannot be read, or has none of the three formats.
    """
    path = Path(path)
    problem = ""
    try:
        if path.stat().st_size > MAX_BYTES:
            problem = f"the codebook is larger than {MAX_BYTES // 10**6} MB, which is the limit"
        else:
            data = path.read_bytes()
            declared = _DECLARED.match(data)
            text = data.decode(declared[1].decode() if declared else "utf-8-sig")
    except OSError as error:
        problem = f"the codebook cannot be read ({error.strerror})"
    except (UnicodeDecodeError, LookupError):
        problem = f"the codebook is not in {'the encoding that it declares' if declared else 'UTF-8'}. Save it in this encoding"
    if problem:
        raise InputError(f"{path}: {problem}.")
    try:
        start = text.lstrip()[:1]
        if start == "<":
            return _of_ddi(text)
        return Codebook(entries=_of_json(json.loads(text)) if start in ("{", "[") else _of_csv(text))
    except json.JSONDecodeError as error:
        problem = f"the codebook is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    except RecursionError:
        problem = "the JSON of the codebook is nested too deeply"
    except ElementTree.ParseError as error:
        problem = "the codebook is not valid XML (line {}, column {})".format(*error.position)
    except (_UnreadableCodebook, Unexpected, ValueError, csv.Error) as error:
        problem = str(error)
    raise InputError(f"{path}: {problem}.")


class _UnreadableCodebook(Exception):
    """Raised if the content of a codebook cannot be used. The message states the reason."""


def _of_ddi(text: str) -> Codebook:
    """Return the contents of a codebook in XML (DDI-Codebook).

    A codebook that defines entities is refused, because an entity may refer to another file or expand without limit.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise _UnreadableCodebook("the codebook has a document type declaration, which is not allowed. Delete it")
    root = ElementTree.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    variables = root.findall(".//dataDscr/var")
    if not variables:
        raise _UnreadableCodebook("the codebook describes no variables (dataDscr/var)")
    groups = {
        group.get("rectype", ""): group
        for group in root.findall(".//fileStrc[@type='hierarchical']/recGrp")
        if group.get("rectype")
    }
    keys = [(group.get("keyvar") or "").split()[-1:] for group in groups.values()]
    key = keys[0][0] if keys and keys[0] else None
    renamed = {names[0]: key for names in keys[1:] if names and key}
    entries = {name: _variable(variable) for variable in variables if (name := variable.get("name"))}
    entries |= {new: entries[old] for old, new in renamed.items() if old in entries and new not in entries}
    positions = {name: at for variable in variables if (name := variable.get("name")) and (at := _position(variable))}
    if not positions:
        return Codebook(entries=entries)
    if not groups:
        if len({location.get("RecSegNo") for location in root.findall(".//dataDscr/var/location")}) > 1:
            raise _UnreadableCodebook("the columns of a row are in several lines (RecSegNo). They must be in one line")
        return Codebook(entries=entries, positions=FixedWidthTable(columns=positions))
    identifier = next(iter(groups.values())).get("recidvar") or "RECTYPE"
    if identifier not in positions:
        raise _UnreadableCodebook(f"the codebook gives no position for {identifier!r}, the variable of the record type")
    records = {
        record: {
            renamed.get(name, name): positions[name]
            for variable in variables
            if (name := variable.get("name", "")) in positions and name != identifier and _is_in(variable, record, group)
        }
        for record, group in groups.items()
    }
    table = FixedWidthTable(record_type=positions[identifier][:2], records=records)
    return Codebook(entries=entries, positions=table, key=key)


def _is_in(variable: Element, record: str, group: Element) -> bool:
    return record in (variable.get("rectype") or "").split() or variable.get("ID") in (group.get("var") or "").split()


def _position(variable: Element) -> Position | None:
    location = variable.find("location")
    if location is None or not (first := location.get("StartPos")):
        return None
    last = location.get("EndPos") or int(first) + int(location.get("width") or 1) - 1
    decimals = int(variable.get("dcml") or 0)
    return (int(first), int(last), decimals) if decimals else (int(first), int(last))


def _variable(variable: Element) -> CodebookEntry:
    """Return the entry for a DDI variable.

    A numeric variable is a column of numbers if most codes are their own labels or, without codes, if it is declared
    continuous. Serial numbers and identifiers are often declared continuous as well, so their entries state no kind.
    """
    codes = [(category.findtext("catValu", "").strip(), category) for category in variable.findall("catgry")]
    labels = {code: _line(category.findtext("labl") or code) for code, category in codes if code}
    declared = {code for code, category in codes if code and (category.get("missing") or "").upper() in ("Y", "YES", "TRUE")}
    declared |= {item.get("VALUE", "") for item in variable.findall("invalrng/item")} - {""}
    numeric = (var_format := variable.find("varFormat")) is None or var_format.get("type") == "numeric"
    with_label = [code for code, label in labels.items() if label.lstrip("0") != code.lstrip("0") and code not in declared]
    continuous = variable.get("intrvl") == "contin" and not _KEY.search(f"{variable.get('name')} {variable.findtext('labl')}")
    is_number = numeric and (2 * len(with_label) < len(labels) if labels else continuous)
    shown_labels = {code: labels[code] for code in with_label} if is_number else labels
    limits = variable.find("valrng/range") if is_number else None
    low, high = _bounds({} if limits is None else limits.attrib)
    return CodebookEntry(
        description=_line(variable.findtext("labl") or variable.findtext("txt") or ""),
        labels=shown_labels | {code: labels.get(code, "missing") for code in declared},
        missing=no_answers(labels) | declared,
        number=is_number,
        code=bool(labels) and not is_number,
        whole=is_number and variable.get("dcml") == "0",
        low=low,
        high=high,
    )


def written_as_in(columns: Mapping[str, Iterable[str | None]], book: Codebook) -> dict[str, CodebookEntry]:
    """Return the entries of a codebook with the codes written as in a fixed-width file: with or without leading zeros.

    Parameters
    ----------
    columns : for each column, the strings that it has in the file.
    """
    entries = dict(book.entries)
    tables = [] if book.positions is None else [book.positions.columns, *book.positions.records.values()]
    for name, (first, last, *decimals) in (item for table in tables for item in table.items() if item[0] in columns):
        texts, entry = {*columns[name]}, entries.get(name, CodebookEntry())
        codes = list(entry.labels)
        forms = [codes, [code.zfill(last - first + 1) for code in codes], [code.lstrip("0") or "0" for code in codes]]
        if decimals and decimals[0]:  # a code has the same implied decimals as a number: 00009998 is 99.98
            forms = [[with_point(code, decimals[0], ".") for code in codes]]
        as_in_file = dict(zip(codes, max(forms, key=lambda form: len(texts & {*form})), strict=True))
        labels = {as_in_file[code]: label for code, label in entry.labels.items()}
        entries[name] = replace(entry, labels=labels, missing=frozenset(as_in_file.get(code, code) for code in entry.missing))
    return entries


def _of_json(parsed: Any) -> dict[str, CodebookEntry]:
    if not isinstance(parsed, dict):
        raise _UnreadableCodebook("the codebook is a JSON list. It must be a JSON object with an entry for each column")
    return {str(name): _entry(str(name), about) for name, about in parsed.items()}


def _entry(name: str, about: Any) -> CodebookEntry:
    if isinstance(about, str):
        return CodebookEntry(description=_line(about))
    if not isinstance(about, dict):
        raise _UnreadableCodebook(f"the entry of the column {name!r} is neither a string nor an object")
    missing = stated if isinstance(stated := about.get("missing"), list) else None
    described = about.keys() & {
        "description",
        "values",
        "details",
        "link",
        "label",
        "labels",
        "codes",
        "kind",
        "limits",
        "format",
    }
    kind = _kind(about.get("kind"))
    values: Mapping[str, Any] = next(
        (about[key] for key in ("values", "labels", "codes") if isinstance(about.get(key), dict)), {}
    )
    if not described:
        values = {code: text for code, text in about.items() if code != "missing" or missing is None}
    limits = [*map(_number, stated if isinstance(stated := about.get("limits", []), list) else [None])]
    if None in limits:
        raise _UnreadableCodebook(f"the limits of the column {name!r} are not a list of numbers")
    labels = {str(code): _line(str(text)) for code, text in values.items() if code not in _RANGE}
    labels = dict.fromkeys(map(str, missing or ()), "missing") | labels
    ends = {**about, **values}
    low, high = _bounds(ends)
    return CodebookEntry(
        description=_line(str(about.get("description") or about.get("label") or "")),
        labels=labels,
        missing=no_answers(labels) | {*map(str, missing or ())},
        number=kind in ("number", "integer") or (not kind and any(end in ends for end in _RANGE)),
        code=kind in ("code", "text"),
        whole=kind == "integer",
        low=low,
        high=high,
        limits=tuple(limit for limit in limits if limit is not None),
        dates=_dates(kind, ends),
    )


def _kind(text: Any) -> str:
    return text if text in _KINDS else ""


def _bounds(values: Mapping[str, Any]) -> tuple[Fraction | None, Fraction | None]:
    return _number(values.get("min")), _number(values.get("max"))


def _dates(kind: str, about: Mapping[str, Any]) -> tuple[str, ...]:
    return (str(about.get("min")), str(about.get("max")), str(about.get("format") or ISO)) if kind == "date" else ()


def _number(text: Any) -> Fraction | None:
    try:
        return Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        return None


def _of_csv(text: str) -> dict[str, CodebookEntry]:
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    header = [name.strip().lower() for name in next(rows, [])]
    indices = {key: next((header.index(name) for name in names if name in header), None) for key, names in _HEADERS.items()}
    if indices["column"] is None or (indices["label"] is None and indices["kind"] is None):
        raise _UnreadableCodebook(
            "a codebook must be a JSON object, or a CSV file with the columns 'column', 'code' and 'label'. The header of this "
            f"file has {listing(header) if header else 'no columns'}"
        )
    entries: dict[str, CodebookEntry] = {}
    for row in rows:
        cells = {key: row[index].strip() if index is not None and index < len(row) else "" for key, index in indices.items()}
        if not cells["column"]:
            continue
        entry = entries.get(cells["column"], CodebookEntry())
        if cells["code"]:
            labels = {**entry.labels, cells["code"]: _line(cells["label"])}
            entry = replace(entry, labels=labels, missing=no_answers(labels))
        else:
            entry = replace(entry, description=entry.description or _line(cells["label"]))
        kind, (low, high) = _kind(cells["kind"].lower()), _bounds(cells)
        if kind or low is not None or high is not None:
            number, code = kind not in ("code", "text", "date"), kind in ("code", "text")
            entry = replace(entry, number=number, code=code, whole=kind == "integer", low=low, high=high)
            entry = replace(entry, dates=_dates(kind, cells))
        entries[cells["column"]] = entry
    return entries


def no_answers(labels: Mapping[str, str]) -> frozenset[str]:
    """Return the codes with a label that means a missing answer, such as "Refused" or "Not applicable"."""
    return frozenset(code for code, label in labels.items() if MISSING_WORDS.match(label.lstrip("(")))


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


@dataclass(frozen=True, kw_only=True)
class ColumnNotes:
    """The information that a file of Stata, SAS or SPSS contains about one column.

    Attributes
    ----------
    value_labels : the meaning of each labelled value of the column.
    missing_ranges : ranges of numbers that the file declares as missing, as (lowest, highest), both included.
    """

    label: str = ""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()

    def means_missing(self, text: str) -> bool:
        """Return whether the file declares a value of the column as missing."""
        if text in self.missing:
            return True
        try:
            value = float(text)
        except ValueError:
            return False
        return any(low <= value <= high for low, high in self.missing_ranges)


def notes_of(package: Package, path: Path, encoding: str) -> dict[str, ColumnNotes]:
    """Return the labels and the declared missing values of every column of a **public** file of Stata, SAS or SPSS.

    Raises
    ------
    InputError : if the file cannot be read, for the same reasons as in `package_batches`.
    """
    facts = read_package(package, path, encoding, metadataonly=True)[1]
    return {name: _notes(package, facts, name) for name in facts.column_names}


def _notes(package: Package, facts: Any, name: str) -> ColumnNotes:
    write = writer(package, facts, name)

    def texts(values: Sequence[Any]) -> list[str]:
        return [text for value in values if (text := object_text(value, write)) is not None]

    labels = facts.variable_value_labels.get(name, {})
    ranges = [(interval["lo"], interval["hi"]) for interval in facts.missing_ranges.get(name, [])]
    single = [low for low, high in ranges if low == high]
    return ColumnNotes(
        label=facts.column_names_to_labels.get(name) or "",
        value_labels={text: str(label) for value, label in labels.items() for text in texts([value])},
        missing=tuple(texts([*single, *(package.letters if write else "")])),
        missing_ranges=tuple((float(low), float(high)) for low, high in ranges if low != high and not isinstance(low, str)),
    )
