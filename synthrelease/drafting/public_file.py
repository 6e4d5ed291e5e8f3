"""Reading a public file of unknown layout, of any format: its columns, how often each text occurs, what it says of them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from synthrelease.data.schema import Binning, Column, Schema
from synthrelease.drafting.choosing import ALL, AskedFor
from synthrelease.drafting.column_draft import LeftOut
from synthrelease.drafting.labels import ColumnNotes, notes_of
from synthrelease.enclave.csv import open_text
from synthrelease.enclave.reading import GZIP, UTF_16, batches, start_of
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError
from synthrelease.releasing.opening import column_names
from synthrelease.settings.columns import Encoding, InputTable
from synthrelease.sources.flat_tables import Package
from synthrelease.sources.formats import Kind, format_of
from synthrelease.sources.source import File, Source

_DELIMITERS = (",", ";", "\t", "|")
_ASCII = re.compile(r"[\x00-\x7f]+")
_BYTES = re.compile("[\udc80-\udcff]")
"""Bytes that are no UTF-8, as Python hands them on when it is told to."""
_NO_WINDOWS = frozenset(chr(0xDC00 + byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
_WORDS = re.compile("[A-Za-z\udcc0-\udcff]{2,}")
_HEBREW = re.compile("[\udce0-\udcfa]+")
_BLOCK = 2**22
_POINT, _COMMA = (re.compile(rf"[+-]?\d*[{mark}]\d+", re.ASCII) for mark in ".,")
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
MAX_TEXTS = 1_000_000
"""Different texts of one column that are told apart; a column with more is no column for a release."""


@dataclass(frozen=True, kw_only=True)
class PublicFile:
    """A public table, column by column.

    Attributes
    ----------
    input : how it was read: the delimiter, encoding and decimal mark of a CSV file, found by looking at it.
    columns : for each column, in the order of the file, how often each text occurs; None stands for a null. Numbers have
        decimal points.
    notes : for each column what the file says about it; empty notes for formats that say nothing.
    unreadable : columns of lists, pictures and the like, which no release can have, and why.
    unnamed : how many columns have no name in the header, as the row numbers that R and pandas write.
    not_wanted : the columns that were not read, because the user said so.
    """

    name: str
    source: Source
    input: InputTable
    n_rows: int
    columns: dict[str, Counter[str | None]]
    notes: dict[str, ColumnNotes] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    unnamed: int = 0
    not_wanted: tuple[LeftOut, ...] = ()

    @property
    def delimiter(self) -> str:
        return self.input.delimiter

    @property
    def encoding(self) -> str:
        return self.input.encoding

    def read_with(self, other: InputTable) -> PublicFile | None:
        """This file as the settings of another read it, which is the same where its letters are plain and its numbers whole;
        None where it is not."""
        mine, texts = self.input, [text.strip() for column in self.columns.values() for text in column if text]
        wide = "utf-16" in (mine.encoding, other.encoding) or not all(text.isascii() for text in (*self.columns, *texts))
        if mine.delimiter != other.delimiter or (mine.encoding != other.encoding and wide):
            return None
        if mine.decimal != other.decimal and any(_POINT.fullmatch(text) for text in texts):
            return None
        policy = mine.model_copy(update={"encoding": other.encoding, "decimal": other.decimal})
        return replace(self, input=policy)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Mapping[str, Texts]]:
        """The rows once more, in batches: for each column its texts, and which of them each row holds; of these columns of the
        file, or of those that were read.
        """
        columns = tuple(map(_column, self.columns if names is None else names))
        for _, batch in batches(self.source, Schema(columns=columns), self.input):
            yield batch


def read_public_file(path: str | Path, table: str | None = None, wanted: AskedFor = ALL) -> PublicFile:
    """Read a public table of any format that a release can read.

    Parameters
    ----------
    path : a file, a folder of Parquet files, or the URI of a database.
    table : of a database.
    wanted : the columns to read.

    Raises
    ------
    InputError : when it cannot be read, has no rows, or names a column twice; or has not a column that is wanted.
    """
    source = Source.of(path, table)
    problem = ""
    try:
        return _read(source, wanted)
    except InputError as error:
        problem = str(error)
    raise InputError(f"{source}: {problem}")


def names_of(path: str | Path, table: str | None = None) -> list[str]:
    """The columns of a public file, before its rows are read; empty where nothing of a header can be read.

    Raises
    ------
    InputError : when there is no such file or table.
    """
    source = Source.of(path, table)
    problem = ""
    try:
        _, names = _layout(source)
        return [] if names == ["?"] else [name for name in names if name]
    except InputError as error:
        problem = str(error)
    raise InputError(f"{source}: {problem}")


def _read(source: Source, wanted: AskedFor) -> PublicFile:
    policy, names = _layout(source)
    unnamed, names = names.count(""), [name for name in names if name]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated or not names:
        found = f"{repeated[0]!r} twice" if repeated else "columns without a name"
        raise InputError(f"expected a header with different names, found {found}.")
    names, not_wanted = wanted.of(names)
    unreadable = {}
    if _unreadable(source, names, policy):
        unreadable = {name: problem for name in names if (problem := _unreadable(source, [name], policy))}
    names = [name for name in names if name not in unreadable]
    if not names:
        raise InputError(next(iter(unreadable.values())))
    columns: dict[str, Counter[str | None]] = {name: Counter() for name in names}
    rows = 0
    for _, batch in batches(source, Schema(columns=tuple(map(_column, names))), policy):
        for name, texts in batch.items():
            used = Counter(texts.codes.tolist())
            for code, times in used.items():  # a text may stand there twice
                columns[name][texts.texts[code]] += times
            if len(columns[name]) > MAX_TEXTS:
                raise InputError(f"column {name!r}: expected at most {MAX_TEXTS} different texts, found more. Leave it out.")
            rows += len(texts.codes) if name == names[0] else 0
    if not rows:
        raise InputError("expected a header and rows, found no rows.")
    with_comma = _with_comma(columns)
    if with_comma:
        policy = policy.model_copy(update={"decimal": ","})
        columns |= {name: _with_points(columns[name]) for name in with_comma}
    notes = dict.fromkeys(names, ColumnNotes())
    first = _first_file(source)
    if isinstance(first, Path) and isinstance(package := format_of(first, start_of(first)), Package):
        notes |= notes_of(package, first, policy.encoding)
    name = source.path.name if source.path is not None else str(source)
    return PublicFile(
        name=name,
        source=source,
        input=policy,
        n_rows=rows,
        columns=columns,
        notes=notes,
        unreadable=unreadable,
        unnamed=unnamed,
        not_wanted=tuple(not_wanted),
    )


def _first_file(source: Source) -> File | None:
    return None if source.is_database else source.files()[0]


def _unreadable(source: Source, names: list[str], policy: InputTable) -> str:
    """Why one of these columns of a file that knows types cannot be read; empty for columns of CSV and databases."""
    first = _first_file(source)
    if first is None or format_of(first, start_of(first)) not in (Kind.PARQUET, Kind.ARROW):
        return ""
    problem = ""
    try:
        next(iter(batches(source, Schema(columns=tuple(map(_column, names))), policy)), None)
    except InputError as error:
        problem = str(error)
    return problem if problem.startswith("column ") else ""


def _with_comma(columns: Mapping[str, Mapping[str | None, int]]) -> list[str]:
    """The columns of numbers with decimal commas; none where another column has points, or commas may part thousands."""
    found = []
    for name, texts in columns.items():
        given = [text.strip() for text in texts if text]
        with_mark = [text for text in given if "," in text or "." in text]
        if any(_POINT.fullmatch(text) for text in with_mark):
            return []
        numbers = sum(bool(_COMMA.fullmatch(text)) for text in with_mark)
        others = sum(not text.lstrip("+-").isdigit() for text in given if not {",", "."} & set(text))
        if numbers > 10 * (len(with_mark) - numbers + others) and not all(_THOUSANDS.fullmatch(text) for text in with_mark):
            found.append(name)
    return found


def _with_points(texts: Mapping[str | None, int]) -> Counter[str | None]:
    found: Counter[str | None] = Counter()
    for text, times in texts.items():
        found[text.replace(",", ".") if text and _COMMA.fullmatch(text.strip()) else text] += times
    return found


def _layout(source: Source) -> tuple[InputTable, list[str]]:
    """How the file is to be read, and its columns; anything wrong with a CSV file is left for `batches` to explain."""
    path = _first_file(source)
    encoding: Encoding = "utf-16" if path is not None and start_of(path).startswith(UTF_16) else "utf-8"
    names = column_names(source, InputTable(encoding=encoding))
    if names is not None or path is None:
        return InputTable(table=source.table), names or []
    compressed = start_of(path).startswith(GZIP)
    encoding = encoding if encoding == "utf-16" else _encoding(path, compressed)
    try:
        with open_text(path, encoding, compressed) as text:
            first = next(filter(str.strip, iter(lambda: text.readline(_BLOCK), "")), "")
    except (OSError, EOFError, UnicodeError, ValueError):
        return InputTable(encoding=encoding), ["?"]
    delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    lines = csv.reader([first, "the next line"], delimiter=delimiter, skipinitialspace=True)
    fields = next(lines, [])
    if lines.line_num > 1:
        raise InputError(
            "expected the names of all columns in one line, found a quote in the header that its line does not close. "
            "Write the names without line breaks."
        )
    return InputTable(delimiter=delimiter, encoding=encoding), [field.strip() for field in fields] or ["?"]


def _encoding(path: File, compressed: bool) -> Encoding:
    """UTF-8; a mixture, where more letters than other bytes are UTF-8; Windows-1252, which is Latin-1 for most; Latin-1.

    Western words mix such bytes with plain letters. Where most consist of them alone the letters are others: Hebrew, where all
    are in its place of Windows-1255, or unknown, which reading the file as UTF-8 then tells.
    """
    letters = stray = 0
    words: Counter[str] = Counter()
    windows = True
    try:
        with open_text(path, "utf-8", compressed) as text:
            text.reconfigure(errors="surrogateescape")
            while block := text.read(_BLOCK):
                other = "" if block.isascii() else _ASCII.sub("", block)
                bytes_alone = _BYTES.findall(other)
                stray, letters = stray + len(bytes_alone), letters + len(other) - len(bytes_alone)
                windows = windows and _NO_WINDOWS.isdisjoint(bytes_alone)
                if bytes_alone:
                    words.update(_kind(word) for word in _WORDS.findall(block))
    except (OSError, EOFError, ValueError):
        return "utf-8"
    if not stray:
        return "utf-8"
    if letters > stray:
        return "mixed"
    if words["Hebrew"] + words["other"] > words["Western"]:
        return "utf-8" if words["other"] else "windows-1255"
    return "windows-1252" if windows else "latin-1"


def _kind(word: str) -> str:
    """Of which letters a word may be; of plain ones alone it tells nothing."""
    if word.isascii():
        return "plain"
    if _ASCII.search(word):
        return "Western"
    return "Hebrew" if _HEBREW.fullmatch(word) else "other"


def _column(name: str) -> Column:
    """A column of which only the name in the file matters."""
    nothing = Binning(name="", labels=(), numbers=(), of_atom=())
    return Column(
        name=name,
        kind="category",
        description="",
        unit="",
        source=name,
        part=None,
        bounds=None,
        edges=(),
        values={},
        missing="drop",
        outside="drop",
        ordered=False,
        atoms=nothing,
        alternatives={},
    )
