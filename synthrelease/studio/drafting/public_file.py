"""Read a public file of any format, and find duplicate columns, missing values and the meaning of whole numbers in it."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice, pairwise, repeat
from pathlib import Path

import numpy as np

from synthrelease.data.misfits import MISSING
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.counting import BinRule
from synthrelease.enclave.csv import open_text
from synthrelease.enclave.fixed_width import is_packed
from synthrelease.enclave.persons import keys_of
from synthrelease.enclave.reading import GZIP, batches, start_of
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError
from synthrelease.privacy.protection import told_of
from synthrelease.releasing.opening import column_names
from synthrelease.scouting.codebook import CodebookEntry, ColumnNotes, notes_of
from synthrelease.settings.columns import Encoding, FixedWidthTable, InputTable
from synthrelease.sources.formats import FileFormat, Package, first_line, format_of, holds_controls
from synthrelease.sources.source import Source
from synthrelease.studio.drafting.bins import round_step, skewed
from synthrelease.studio.drafting.column_draft import (
    ALL,
    LEAST,
    NUMBER,
    SOME,
    Answers,
    AskedFor,
    ColumnDraft,
    LeftOut,
    left_out_as_key,
    missing_texts,
)

_DELIMITERS = (",", ";", "\t", "|")
_ASCII = re.compile(r"[\x00-\x7f]+")
# Bytes that are not valid UTF-8, as Python's error handler "surrogateescape" represents them.
_BYTES = re.compile("[\udc80-\udcff]")
_NO_WINDOWS = frozenset(chr(0xDC00 + byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
_WORDS = re.compile("[A-Za-z\udcc0-\udcff]{2,}")
_HEBREW = re.compile("[\udce0-\udcfa]+")
_BLOCK = 2**22
_HEAD = 12  # The number of lines at the start of a file that are examined to find the header and the delimiter
_POINT, _COMMA = (re.compile(rf"[+-]?\d*[{mark}]\d+", re.ASCII) for mark in ".,")
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_ONE_COLUMN = (
    "The columns of the file are not separated by a comma, semicolon, tab or bar. For a fixed-width file, pass its DDI "
    "codebook (XML) to --codebook, or convert the file to CSV with a header first."
)
MAX_TEXTS = 1_000_000
"""The largest number of different texts of one column. A column with more texts cannot be released."""


@dataclass(frozen=True, kw_only=True)
class PublicFile:
    """A public table, with the frequency of each string in each column.

    Attributes
    ----------
    input : the settings with which the file was read, such as the recognised delimiter, encoding and decimal mark.
    columns : for each column, in the order of the file, how often each string occurs; None stands for a null. Numbers have
        decimal points.
    some : for each column, its strings as written, and the index of the string of each row. Of a file with more than
        `MOST_ROWS` rows or `_MOST_VALUES` values, only every second, fourth, eighth, ... row of each batch.
    notes : labels and missing values that the file itself states for each column; empty for formats without labels.
    unreadable : the reason for each column whose type cannot be read, such as lists or pictures.
    not_wanted : columns that the user excluded, or that the header does not name uniquely.
    """

    name: str
    source: Source
    input: InputTable
    n_rows: int
    columns: dict[str, Counter[str | None]]
    some: dict[str, tuple[list[str | None], np.ndarray]]
    notes: dict[str, ColumnNotes] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    not_wanted: tuple[LeftOut, ...] = ()

    def read_with(self, policy: InputTable) -> PublicFile | None:
        """Return this file with other settings of [input], without reading it again, or None if they would give other
        strings.

        A different delimiter always does, a different encoding or decimal mark only for some files.
        """
        own_policy, texts = self.input, [text.strip() for column in self.columns.values() for text in column if text]
        wide = not all(text.isascii() for text in (*self.columns, *texts))
        differs = own_policy.delimiter != policy.delimiter or (own_policy.encoding != policy.encoding and wide)
        if differs or (own_policy.decimal != policy.decimal and any(_POINT.fullmatch(text) for text in texts)):
            return None
        return replace(self, input=own_policy.model_copy(update={"encoding": policy.encoding, "decimal": policy.decimal}))

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Mapping[str, Texts]]:
        """Return an iterator over batches of rows: for each column, its strings and the index of the string of each row.

        Parameters
        ----------
        names : names of columns of the file, or None for all columns that were read.
        """
        return _texts(self.source, list(self.columns) if names is None else names, self.input)


def read_public_file(
    path: str | Path | Source, table: str | None = None, wanted: AskedFor = ALL, positions: FixedWidthTable | None = None
) -> PublicFile:
    """Read a public table of any format that a release can read.

    Parameters
    ----------
    path : a file, a folder of Parquet or CSV files, or the URI of a database.
    table : name of the table in a database, or record type in a hierarchical file.

    Raises
    ------
    InputError : when the file cannot be read, has no rows, lacks a requested column, or has no column with a unique name.
    """
    source = Source.of(path, table)
    return told_of(lambda: _read_file(source, wanted, positions), f"{source}: ")


def read_public_tables(
    public: str | Path, members: str | Path | None = None, table: str | None = None, positions: FixedWidthTable | None = None
) -> tuple[PublicFile, PublicFile | None]:
    """Return the first public table of a configuration and its table of members, or None in place of the second.

    Parameters
    ----------
    members : path or URI of the second of two linked tables, such as the persons of households.
    """
    source = Source.of(public, table, members)
    source = source if positions is None or table is not None else source.divided(positions.records)
    rows = read_public_file(source.tables()[0], positions=positions)
    return rows, None if source.members is None else read_public_file(source.members, positions=positions)


def names_of(path: str | Path, table: str | None = None, positions: FixedWidthTable | None = None) -> list[str]:
    """Return the names of the columns of a public file from its header alone; empty if no header can be read.

    Raises
    ------
    InputError : when the file or table does not exist, when its first line is no header, or when it has only one column.
    """
    source = Source.of(path, table)
    _, names = told_of(lambda: _layout(source, positions), f"{source}: ")
    if len(names) == 1 and names != ["?"]:
        raise InputError(f"{source}: {_ONE_COLUMN}")
    return [] if names == ["?"] else _distinct_names(names)[0]


def _read_file(source: Source, wanted: AskedFor, positions: FixedWidthTable | None) -> PublicFile:
    policy, header = _layout(source, positions)
    names, misnamed = _distinct_names(header)
    names, not_wanted = wanted.of(names)
    broken = names if _unreadable(source, names, policy) else []
    unreadable = {name: problem for name in broken if (problem := _unreadable(source, [name], policy))}
    names = [name for name in names if name not in unreadable]
    if not names:
        raise InputError(next(iter(unreadable.values())))
    columns, rows, every = {name: Counter[str | None]() for name in names}, 0, 1
    index, codes = {name: dict[str | None, int]() for name in names}, {name: list[np.ndarray]() for name in names}
    for batch in _texts(source, names, policy):
        for name, texts in batch.items():
            # in the order of the rows; a batch may list the same text twice
            n, times = len(texts.codes), np.bincount(texts.codes, minlength=len(texts.texts))
            first_rows = np.full(len(times), n)
            first_rows[texts.codes[::-1]] = np.arange(n)[::-1]
            listed, counted, order = list(texts.texts), columns[name], np.argsort(first_rows)[: np.count_nonzero(times)]
            for code, often in zip(order.tolist(), times[order].tolist(), strict=True):
                counted[listed[code]] = counted.get(listed[code], 0) + often
            of_texts = [index[name].setdefault(text, len(index[name])) for text in listed]
            codes[name].append(np.array(of_texts, dtype=np.min_scalar_type(len(index[name])))[texts.codes[::every]])
            if len(counted) > MAX_TEXTS:
                raise InputError(f"column {name!r} has more than {MAX_TEXTS:,} different values. Leave the column out.")
        rows += len(batch[names[0]].codes)
        while rows > every * MOST_ROWS or rows * len(names) > every * _MOST_VALUES:
            every, codes = 2 * every, {name: [part[::2].copy() for part in parts] for name, parts in codes.items()}
    if not rows:
        raise InputError("The file has no rows below its header.")
    again = [name for name, texts in columns.items() if name in texts and len([*filter(None, texts)]) > 1]
    if 2 * sum(not NUMBER.fullmatch(name) for name in again) > len(names) > 1:
        raise InputError(
            "The rows below the header repeat it. Delete each row that repeats the header. If the file has no header, add one."
        )
    with_comma = _with_comma(columns)
    if with_comma:
        policy = policy.model_copy(update={"decimal": ","})
        for name in with_comma:
            as_written, columns[name] = columns[name], Counter()
            for text, often in as_written.items():
                columns[name][text.replace(",", ".") if text and _COMMA.fullmatch(text.strip()) else text] += often
    notes = dict.fromkeys(names, ColumnNotes())
    first = _first_file(source)
    if isinstance(first, Path) and isinstance(package := format_of(first, start_of(first)), Package):
        notes |= notes_of(package, first, policy.encoding)
    name = source.path.name if source.path is not None else str(source)
    some = {source: (list(index[source]), np.concatenate(codes.pop(source))) for source in names}
    file = PublicFile(name=name, source=source, input=policy, n_rows=rows, columns=columns, some=some)
    return replace(file, notes=notes, unreadable=unreadable, not_wanted=(*misnamed, *not_wanted))


def _distinct_names(header: Sequence[str]) -> tuple[list[str], list[LeftOut]]:
    """Return the column names that occur once in the header, and the columns left out: without a name, or with a repeated
    one.
    """
    times = Counter(header)
    names = [name for name in header if name and times[name] == 1]
    misnamed = [LeftOut(source="", because="the column has no name in the header")] * times[""]
    because = "the header has this name {} times (to draft the columns, rename them in the public and the private file)"
    doubled = {name: because.format(count) for name, count in times.items() if name and count > 1}
    misnamed += [LeftOut(source=name, because=why) for name, why in doubled.items()]
    if not names:
        raise InputError("Every name in the header is empty or occurs more than once. Give each column its own name.")
    return names, misnamed


def _perhaps_codes(file: PublicFile, names: Iterable[str]) -> dict[str, str]:
    """Return a question for each column of two-letter codes in which "NA" may be a code, such as Namibia."""
    doubts = {}
    for name in names:
        texts = {text.strip() for text in file.columns[name] if text and text.strip()} - {"NA"}
        if "NA" in file.columns[name] and len(texts) > 2 and all(re.fullmatch("[A-Z]{2}", text) for text in texts):
            doubts[name] = "NA counts as missing. If NA stands for Namibia or North America, list it as a category"
    return doubts


def _first_file(source: Source) -> Path | None:
    return None if source.is_database else source.files()[0]


def _unreadable(source: Source, names: list[str], policy: InputTable) -> str:
    first = _first_file(source)
    if first is None or format_of(first, start_of(first)) is not FileFormat.PARQUET:
        return ""
    try:
        next(_texts(source, names, policy), None)
    except InputError as error:
        return str(error) if str(error).startswith("column ") else ""
    return ""


def _with_comma(columns: Mapping[str, Mapping[str | None, int]]) -> list[str]:
    """Return the names of the columns with decimal commas; empty if any column has decimal points.

    A column in which every comma may separate thousands is not included.
    """
    names = []
    for name, texts in columns.items():
        values = [text.strip() for text in texts if text]
        with_mark = [text for text in values if "," in text or "." in text]
        if any(_POINT.fullmatch(text) for text in with_mark):
            return []
        n_numbers = sum(bool(_COMMA.fullmatch(text)) for text in with_mark)
        words = sum(not text.lstrip("+-").isdigit() for text in values if not {",", "."} & set(text))
        if n_numbers > 10 * (len(with_mark) - n_numbers + words) and not all(_THOUSANDS.fullmatch(text) for text in with_mark):
            names.append(name)
    return names


def _layout(source: Source, positions: FixedWidthTable | None = None) -> tuple[InputTable, list[str]]:
    """Return the settings with which a file is read, such as its delimiter, and the names of its columns.

    The names are ["?"] if a CSV file cannot be decoded or has no names, so that reading the rows reports the problem.
    """
    path = _first_file(source)
    if positions is not None and path is not None and not _has_header(path, positions):
        policy = InputTable(fixed_width=positions, encoding=_encoding(path, is_packed(path)), table=source.table)
        return policy, column_names(source, policy) or []
    names = column_names(source, InputTable())
    if names is not None or path is None:
        return InputTable(table=source.table), names or []
    compressed = start_of(path).startswith(GZIP)
    encoding = _encoding(path, compressed)
    try:
        with open_text(path, encoding, compressed) as text:
            first, *lines = islice(filter(str.strip, iter(lambda: text.readline(_BLOCK), "")), _HEAD) or [""]
    except (OSError, EOFError, UnicodeError, ValueError):
        return InputTable(encoding=encoding), ["?"]
    delimiter = max(_DELIMITERS, key=lambda mark: len(_fields(first, mark)))
    return InputTable(delimiter=delimiter, encoding=encoding), _header([first, *lines], delimiter) or ["?"]


def _header(lines: Sequence[str], delimiter: str) -> list[str]:
    """Return the names in the first line of a CSV file.

    Raises
    ------
    InputError : when the line is no header. The message never shows the line, because it may be a row.
    """
    header, *others = [_fields(line, delimiter) for line in lines]
    names, rows = [field.strip() for field in header], [row for row in others if len(row) == len(header)]
    if "\n" in "".join(header):
        raise InputError("The header is longer than one line, or a quote in it is not closed. Write names without line breaks.")
    widths = [{len(_fields(line, mark)) for line in lines[-2:]} for mark in _DELIMITERS] if len(lines) > 2 else []
    unnamed = [text for name, text in zip(names, *rows[:1], strict=False) if text and not name] if rows else []
    title = len(names) == 1 and any(min(width) > 1 for width in widths)
    if title or len(unnamed) > 1 or lines[0].lower().startswith("sep=") or holds_controls(lines[0].encode(errors="replace")):
        raise InputError(
            "The first line does not give the name of each column. Delete the lines above the names, and name every column."
        )
    if any("ImportId" in line for line in lines[1:3]):
        raise InputError("The lines below the header are labels of Qualtrics, not rows. Delete the second and the third line.")
    if any(re.search(r"\S {3}", name) for name in names):
        raise InputError(_ONE_COLUMN)
    if _is_row(names, rows):
        raise InputError("The first line seems to be a row of values. Add a header with the names of the columns.")
    return names


def _is_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line is probably a row: its numbers, dates or strings are like those of the next lines.

    A word above numbers or dates is a name. Years, consecutive numbers, and increasing numbers outside the range below may
    be names, too.
    """
    columns = [(name, {*filter(None, texts)}) for name, *texts in zip(names, *rows, strict=True) if name]
    numbers, outside, alike = list[float](), 0, set[str]()
    for name, texts in columns:
        pattern, below = _pattern(name), {*map(_pattern, texts)}
        is_word = re.search(r"[^\W\d_]{2}", name) and not missing_texts({name: 1}, CodebookEntry())
        if is_word and below and not re.search(r"[^\W\d_]", "".join(below)):
            return False
        if not pattern:
            numbers.append(float(name))
            outside += below != {""} or not min(map(float, texts)) <= numbers[-1] <= max(map(float, texts))
        alike |= {pattern} & below if len(below) == 1 and pattern != name else set()
    rise = len(numbers) > 2 and all(a < b for a, b in pairwise(numbers))
    rise = rise and (numbers[-1] - numbers[0] == len(numbers) - 1 or 2 * outside > len(numbers))
    if numbers and len(numbers) == len(columns):
        return not rise
    if rise or numbers in ([0], [1], [0, 1], [1, 2]) or all(1850 <= each <= 2100 for each in numbers):
        alike.discard("")
    return bool(alike) or sum(name in texts and len(texts) > 1 for name, texts in columns if not NUMBER.fullmatch(name)) > 1


def _pattern(text: str) -> str:
    return "" if NUMBER.fullmatch(text) else re.sub(r"\d+", "#", text)


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n"), "\n"], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # the problem is reported when the rows are read
        return []


def _has_header(path: Path, positions: FixedWidthTable) -> bool:
    """Return whether a file has a header or another format, so that positions of a codebook do not apply."""
    names = {name.casefold() for columns in (positions.columns, *positions.records.values()) for name in columns}
    line = first_line(start_of(path)).decode("latin-1")
    in_codebook = [word.strip().casefold() in names for word in re.split("[,;\t|]", line.replace('"', ""))]
    return format_of(path, start_of(path)) is not FileFormat.TEXT or 2 * sum(in_codebook) > len(in_codebook)


def _encoding(path: Path, compressed: bool) -> Encoding:
    """Return the encoding of a text file: "utf-8", "mixed", "windows-1252", "windows-1255" or "latin-1".

    A file is "mixed" if it has stray bytes that are not UTF-8, but more non-ASCII characters in UTF-8. Western words have
    such bytes beside ASCII letters; Hebrew words consist of Hebrew letters of Windows-1255 alone. If the encoding is
    unknown, the result is "utf-8", so that reading reports the problem.
    """
    letters, stray, windows, words = 0, 0, True, Counter[str]()
    try:
        with open_text(path, "utf-8", compressed) as text:
            text.reconfigure(errors="surrogateescape")
            while block := text.read(_BLOCK):
                unusual = "" if block.isascii() else _ASCII.sub("", block)
                bytes_alone = _BYTES.findall(unusual)
                stray, letters = stray + len(bytes_alone), letters + len(unusual) - len(bytes_alone)
                windows = windows and _NO_WINDOWS.isdisjoint(bytes_alone)
                if bytes_alone:
                    words.update(_kind(word) for word in _WORDS.findall(block))
    except (OSError, EOFError, ValueError):
        return "utf-8"
    if letters > stray or not stray:
        return "mixed" if stray else "utf-8"
    if words["Hebrew"] + words["other"] > words["Western"]:
        return "utf-8" if words["other"] else "windows-1255"
    return "windows-1252" if windows else "latin-1"


def _kind(word: str) -> str:
    if _ASCII.search(word):
        return "plain" if word.isascii() else "Western"
    return "Hebrew" if _HEBREW.fullmatch(word) else "other"


def _texts(source: Source, names: Sequence[str], policy: InputTable) -> Iterator[Mapping[str, Texts]]:
    return (batch for _, batch in batches(source, Schema(columns=()), policy, names, only=True))


# A column of a public file in its bins: rows, missing values, the error of representative values, and possible limits.

MOST_PLACES = 120
"""Approximate largest number of possible limits between bins."""
FACTORS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


@dataclass(frozen=True, kw_only=True)
class GroupingError:
    """The errors that arise if each value of a column is replaced by the representative value of its bin.

    Attributes
    ----------
    off : mean absolute difference between a value and the representative value of its bin.
    mean_moved : mean of the representative values minus mean of the values.
    spread : standard deviation of the values, with which the two errors can be compared.
    """

    off: float
    mean_moved: float
    spread: float


@dataclass(frozen=True, kw_only=True)
class PublicBins:
    """The counts of a column of the public file: rows in each bin, rows without a value, and rows that are excluded.

    Attributes
    ----------
    rows : (n_bins,) number of rows in each bin of the first alternative, without the bin of missing values.
    others : number of rows outside the bounds or categories, which are excluded.
    grouping : errors of the representative values, or None for categories and dates.
    places : (n_places,) possible limits of bins, increasing; empty for categories and dates.
    between : (n_places,) number of rows from each possible limit up to the next.
    """

    rows: tuple[int, ...]
    gaps: int
    others: int
    grouping: GroupingError | None = None
    places: tuple[float, ...] = ()
    between: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.rows)


def public_bins(file: PublicFile, column: Column, policy: InputTable) -> PublicBins | None:
    """Count a column of the public file in its bins, by the rules of a release.

    The result is None for columns that are not in the file, and for unreadable strings.
    """
    if column.source not in file.columns or (column.minus or column.source) not in file.columns:
        return None
    try:
        atoms, times, missing = _read(file, column, policy)
    except InputError:
        return None
    binning = next(iter(column.alternatives.values()))
    held = ~missing & (atoms >= 0)
    bins, rows_of = np.array(binning.of_atom)[atoms[held]], times[held]
    counted = PublicBins(
        rows=_sums(bins, rows_of, len(binning))[: binning.present],
        gaps=int(times[missing].sum()),
        others=int(times[~missing & ~held].sum()),
    )
    if column.bounds is None or column.dates is not None or not held.any():
        return counted
    values = _clipped(file, column, held)
    limits = _places(values, rows_of, column)
    between = _sums(np.searchsorted(limits, values, side="right"), rows_of, len(limits) + 1)[1:]
    grouping = _grouping(values, rows_of, binning.known_numbers[bins])
    return replace(counted, grouping=grouping, places=tuple(limits), between=between)


def _sums(indices: np.ndarray, rows: np.ndarray, n: int) -> tuple[int, ...]:
    return tuple(np.bincount(indices, weights=rows, minlength=n).astype(int).tolist())


def own_numbers(file: PublicFile, column: Column, policy: InputTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n_texts,) different numbers of a numeric column, clipped to its bounds, and their (n_texts,) frequencies."""
    atoms, times, missing = _read(file, column, policy)
    held = ~missing & (atoms >= 0)
    return _clipped(file, column, held), times[held]


def _read(file: PublicFile, column: Column, policy: InputTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each string of a column, its finest bin (below 0 for none), its frequency, and whether it means no value.

    The three arrays have shape (n_texts,). For days between two columns of dates, they describe each finest bin.
    """
    rule = BinRule(Schema(columns=(column,)), policy)
    if column.minus is None:
        texts = list(file.columns[column.source])
        distinct = Texts(texts=texts, codes=np.arange(len(texts)), typed=True)  # a public file's numbers have decimal points
        (digits,) = rule.bins({column.source: distinct})
        atoms, times = digits.of_text, np.array(list(file.columns[column.source].values()), dtype=np.int64)
    else:
        of_batches = (rule.bins(batch)[0] for batch in file.batches(column.sources))
        atoms, times = np.unique(np.concatenate([digits.of_text[digits.codes] for digits in of_batches]), return_counts=True)
    return atoms, times, atoms == (MISSING if column.atoms.missing is None else column.atoms.missing)


def _clipped(file: PublicFile, column: Column, held: np.ndarray) -> np.ndarray:
    values = [float(str(text)) for text, is_held in zip(file.columns[column.source], held, strict=True) if is_held]
    low, high = column.bounds or (-math.inf, math.inf)
    return np.clip(np.array(values, dtype=float), low, high)


def _grouping(values: np.ndarray, times: np.ndarray, numbers: np.ndarray) -> GroupingError | None:
    if not np.isfinite(numbers).all():
        return None
    mean = float(np.average(values, weights=times))
    return GroupingError(
        off=float(np.average(np.abs(values - numbers), weights=times)),
        mean_moved=float(np.average(numbers, weights=times)) - mean,
        spread=math.sqrt(float(np.average((values - mean) ** 2, weights=times))),
    )


def _places(values: np.ndarray, times: np.ndarray, column: Column) -> list[float]:
    """Return the increasing numbers that may be limits of bins: the lower bound, round numbers, and the present limits."""
    low, high = column.bounds or (0.0, 0.0)
    whole, order = column.kind == "integer", np.argsort(values)
    limits = {limit for binning in column.alternatives.values() for limit in binning.lower[1:]}
    if skewed(values[order], times[order]) is not None:
        round_numbers = _factors(low, high, whole)
    else:
        step = round_step((high - low) / MOST_PLACES, whole=whole)
        step = step if (high - low) / step <= MOST_PLACES else 2 * step
        first = math.floor(low / step) + 1
        round_numbers = [float(f"{n * step:.12g}") for n in range(first, math.floor(high / step) + 1)]
    return sorted({low, *limits, *(candidate for candidate in round_numbers if low < candidate <= high)})


def _factors(low: float, high: float, whole: bool) -> list[float]:
    power_of_ten = math.floor(math.log10(max(abs(low), abs(high), 1e-12)))
    powers = range(0 if whole else power_of_ten - 4, power_of_ten + 1)
    sizes = {float(f"{factor * 10.0**power:.12g}") for power in powers for factor in FACTORS}
    sizes = {size for size in sizes if not whole or size == int(size)}
    return sorted({0.0, *sizes, *(-size for size in sizes)})


# The rows of a public file, which show how its columns are related: the text of each column in each row.

MOST_ROWS, _MOST_VALUES = 200_000, 30_000_000
"""The largest numbers of rows, and of values in all columns, that are compared (see `PublicFile.some`)."""


@dataclass(frozen=True, kw_only=True)
class PublicRows:
    """Some or all rows of the public file.

    Attributes
    ----------
    texts : for each column, its different strings.
    codes : for each column, (n_rows,) the index of the string of each row, or -1 if the row has no answer.
    """

    texts: Mapping[str, Sequence[str]]
    codes: Mapping[str, np.ndarray]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.codes.values()), ()))

    def batch(self) -> dict[str, Texts]:
        return {source: Texts(texts=[*texts, None], codes=self.codes[source]) for source, texts in self.texts.items()}

    def without(self, sources: Sequence[str]) -> np.ndarray:
        return np.logical_or.reduce([self.codes[source] < 0 for source in sources])


def public_rows(file: PublicFile, answers: Mapping[str, Answers]) -> PublicRows:
    """Return some or all rows of a public file, without surrounding blanks (see `PublicFile.some`)."""
    codes = dict[str, np.ndarray]()
    for source, column in answers.items():
        index, (written, of_rows) = {text: code for code, text in enumerate(column.texts)}, file.some[source]
        texts = ((text or "").strip() for text in written)
        plain = (text.replace(",", ".") if file.input.decimal == "," and text not in index else text for text in texts)
        codes[source] = np.array(list(map(index.get, plain, repeat(-1))), dtype=np.int32)[of_rows]
    return PublicRows(texts={source: list(column.texts) for source, column in answers.items()}, codes=codes)


def every_row(file: PublicFile, names: Sequence[str], key: str | None = None) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return, for each column, its different strings without surrounding blanks, and (n_rows,) the index of the string of
    each row.

    Parameters
    ----------
    key : name of a column of keys, whose strings are normalised as in a release; "" stands for no key.
    """
    index: dict[str, dict[str, int]] = {name: {} for name in names}
    codes: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for batch in file.batches(tuple(names)) if names else ():
        for name, code_of in index.items():
            texts = (pair and pair[0] for pair in keys_of(batch[name], file.input)) if name == key else batch[name].texts
            of_texts = [code_of.setdefault((text or "").strip(), len(code_of)) for text in texts]
            codes[name].append(np.array(of_texts, dtype=np.int32)[batch[name].codes])
    return {name: (list(index[name]), np.concatenate(codes.pop(name))) for name in index}


def row_numbers(file: PublicFile, columns: Sequence[Column], policy: InputTable) -> dict[str, np.ndarray]:
    """Return, for each column, the (n_rows,) numbers of the rows, not clipped to the bounds, or NaN if a row has no number."""
    rows, values = every_row(file, [column.source for column in columns]), {}
    for column in columns:
        atoms, _, missing = _read(file, column, policy)
        held = zip(file.columns[column.source], (atoms >= 0) & ~missing, strict=True)
        numeric = {(text or "").strip() for text, is_number in held if is_number}
        texts, codes = rows[column.source]
        plain = [text.replace(",", ".") if policy.decimal == "," else text for text in texts]
        values[column.name] = np.array([float(text) if text in numeric else math.nan for text in plain])[codes]
    return values


# Columns of a public file whose raw values determine each other: a code and its label, or two columns with the same
# information.

# The most characters of a code of letters, and the least ratio of the mean length of labels to the mean length of codes.
_SHORT, _TIMES = 6, 2


def one_to_one(
    answers: Mapping[str, Answers], rows: PublicRows, file: PublicFile
) -> tuple[dict[str, Answers], list[LeftOut], dict[str, str]]:
    """Find groups of columns that determine each other in every row of the public file, such as a code and its label.

    Return the columns with only one of each group, the columns left out, and questions by the name of a column. Codes stay
    and get the labels; in other groups, the first column stays.
    """
    counts = {source: counted for source, column in answers.items() if (counted := _counts(column, rows)) is not None}
    frequencies = {source: counted.tobytes() for source, counted in counts.items()}  # bytes are compared at once
    alike = [(first, second) for first, second in combinations(counts, 2) if frequencies[first] == frequencies[second]]
    alike = [pair for pair in alike if _determine_each_other(rows.codes[pair[0]], rows.codes[pair[1]])]
    codelists = _codelists(file, alike, answers)
    stay, left_out = dict(answers), list[LeftOut]()
    for source in answers:
        group = [source, *(second for first, second in codelists if first == source and second in stay and source in stay)]
        if len(group) == 1 or source not in stay:
            continue
        code, text = _code_and_text(group, answers)
        if text and not stay[code].entry.labels:
            stay[code] = replace(stay[code], entry=replace(stay[code].entry, labels=codelists[code, text]), named_by=text)
        for name in group:
            if name != code:
                because = f"it holds the labels of {code!r}" if name == text else f"it has the same information as {code!r}"
                left_out.append(LeftOut(source=name, because=f"{because} in every row of the public file"))
                del stay[name]
    return stay, left_out, _perhaps_codes(file, stay)


def _counts(column: Answers, rows: PublicRows) -> np.ndarray | None:
    """Return the descending frequencies of a column's values, with missing answers as a value.

    The result is None for columns that are not compared: keys, numbers with fractions, and nearly constant columns.
    """
    n_texts = len(column.texts)
    if not 2 <= n_texts <= column.rows / 2 or left_out_as_key(column) or (column.are_numbers and not column.are_whole):
        return None
    counts = np.sort(np.bincount(rows.codes[column.source] + 1, minlength=n_texts + 1))[::-1]
    return counts if counts[1] >= LEAST else None


def _determine_each_other(first: np.ndarray, second: np.ndarray) -> bool:
    width = int(second.max()) + 2
    for some in (slice(SOME), slice(None)):  # most pairs of columns already differ in the first rows
        own, other = np.divmod(np.unique((first[some] + 1) * np.int64(width) + second[some] + 1), width)
        if not len(own) == len(np.unique(own)) == len(np.unique(other)) or ((own == 0) != (other == 0)).any():
            return False
    return True


def _codelists(
    file: PublicFile, pairs: Sequence[tuple[str, str]], answers: Mapping[str, Answers]
) -> dict[tuple[str, str], dict[str, str]]:
    rows, codelists = every_row(file, list(dict.fromkeys(chain(*pairs)))), dict[tuple[str, str], dict[str, str]]()
    for first, second in pairs:
        (texts, codes), (labels, of_second) = rows[first], rows[second]
        together = np.unique(codes.astype(np.int64) * len(labels) + of_second).tolist()
        in_words = {(texts[pair // len(labels)], labels[pair % len(labels)]) for pair in together}
        in_words = {(a, b) for a, b in in_words if a in answers[first].texts or b in answers[second].texts}
        forward, back = dict(in_words), {b: a for a, b in in_words}
        if len(forward) == len(back) == len(in_words):
            codelists[first, second], codelists[second, first] = forward, back
    return codelists


def _code_and_text(group: Sequence[str], answers: Mapping[str, Answers]) -> tuple[str, str]:
    """Choose the column that stays in a group with the same information, and the column with its labels (or "")."""

    def length(source: str) -> float:
        return sum(map(len, answers[source].texts)) / len(answers[source].texts)

    numeric = [source for source in group if answers[source].are_numbers]
    worded = sorted((source for source in group if source not in numeric), key=length, reverse=True)
    if numeric:
        # texts that differ only in their number, such as "34 years", are no labels of codes
        name_codes = worded and len({re.sub(r"\d+", "", text) for text in answers[worded[0]].texts}) > 1
        return numeric[0], worded[0] if name_codes and not answers[numeric[0]].entry.number else ""
    short = [source for source in worded if max(map(len, answers[source].texts)) <= _SHORT]
    return (short[-1], worded[0]) if short and length(worded[0]) >= _TIMES * length(short[-1]) else (group[0], "")


# The columns that get a bin of missing values. A row is excluded for a missing value in any column, which adds up over many
# columns.

MOST_LEFT_OUT = 0.01
"""Missing values in all columns together may exclude at most this share of the public rows."""


def with_bins_for_gaps(columns: Sequence[ColumnDraft], rows: PublicRows) -> list[ColumnDraft]:
    """Give columns with many missing values a bin for them.

    Missing values in the other columns then exclude at most 1% of the rows.
    """
    with_few = [column for column in columns if column.missing_rows and not (column.keeps_missing or column.weight)]
    left_out, with_bin = np.zeros(rows.n_rows, dtype=bool), set[str]()
    for column in sorted(with_few, key=lambda column: column.missing_rows):
        together = left_out | rows.without([column.source, *([column.minus] if column.minus else [])])
        if together.mean() > MOST_LEFT_OUT:
            with_bin.add(column.name)
        else:
            left_out = together
    return [replace(column, missing_bin=True) if column.name in with_bin else column for column in columns]


# Whether the order of a column of whole numbers has a meaning, judged by the other columns of a public file.
#
# In a quantity, neighbouring numbers belong to similar rows: persons aged 41 earn, marry and live much like persons aged 42. In
# a column of codes, neighbouring numbers are no more similar than any two numbers. So for each other column the means by value
# are compared between neighbouring values and between any two values, each after subtracting the difference that chance alone
# would cause (as in geostatistics, the variogram minus its nugget).

# The largest number of rows that are used, for up to 100 columns. With more columns, fewer rows are used, but at least the last
# number, because the time grows with rows times columns.
_ROWS, _FEW_COLUMNS, _FEWEST_ROWS = 20_000, 100, 4_000
# Columns of categories with at most this many texts are used. Their most frequent texts become columns of 0 and 1.
_TEXTS = 200
_FREQUENT = 3
_OTHERS = 60  # The largest number of other columns (numbers, or columns of 0 and 1) that are used
# The most different values of numbers with fractions that are tested. Codes of regions, for example, may contain a point.
_FEW_FRACTIONS = 100
_FEW_VALUES = 60  # Up to this number of values, all pairs are compared; with more values, pairs at some distances
_DISTANCES = 30
# The number of standard errors by which differences between values must exceed chance, so that another column counts.
_CLEAR = 5.0
_SAME = 0.5  # From this share of common values on, two columns have the same classification or scale
# Two shares of another column's variance that lies between values. From the first share on, the values nearly determine the
# other column; from the second on, they determine it as a district determines its region.
_TIED, _NESTED = 0.8, 0.98
_TOLD = 0.999  # If at least this share of another column's variance lies between values, the values determine the other column


@dataclass(frozen=True, kw_only=True)
class Order:
    """Evidence from other columns on what a column of numbers is, mostly on whether the order of its values has a meaning.

    Attributes
    ----------
    unlike : difference of neighbouring values in other columns, relative to any two values: near 0 if the order has a
        meaning, about 1 if it has none. None if no column counts.
    witnesses : the number of columns that count in `unlike`.
    of_groups : whether this and another column of numbers nearly determine each other without a common order, such as sizes
        and numbers of schools. Then similar neighbours are no evidence.
    tells : name of a column that has one value for each value of this column, but in no order; otherwise empty.
    part_of : name of a column whose digits begin or end with the digits of this column, or the reverse; otherwise empty.
    body : whether the numbers increase with the heights of persons, as body weights do.
    """

    unlike: float | None = None
    witnesses: int = 0
    of_groups: bool = False
    tells: str = ""
    part_of: str = ""
    body: bool = False


def orders(answers: Mapping[str, Answers], rows: PublicRows) -> dict[str, Order]:
    """Judge, by comparison with other columns, whether the order of a column's values has a meaning (numbers, not codes).

    Return the evidence by column, for whole numbers or few numbers with fractions, with at least three different values.
    """
    sampled = slice(None, None, -(-rows.n_rows // max(_FEWEST_ROWS, min(_ROWS, _ROWS * _FEW_COLUMNS // max(1, len(answers))))))
    values_of = {
        source: np.array([*map(float, rows.texts[source]), np.nan])[rows.codes[source][sampled]]
        for source, column in answers.items()
        if column.are_numbers
    }
    names, figures = _witnesses(answers, values_of, rows, sampled)
    held = {source: {*np.unique(values[~np.isnan(values)]).tolist()} for source, values in values_of.items()}
    whole = {source: values for source, values in values_of.items() if np.array_equal(values, np.rint(values), equal_nan=True)}
    beginnings, result, tied = _beginnings(whole), dict[str, Order](), dict[str, set[str]]()
    for source, values in values_of.items():
        n_values = len(answers[source].texts)
        if n_values < 3 or (source not in whole and n_values > _FEW_FRACTIONS):
            continue
        # regions of birth and of work agree in most rows, so that their order is the same whether or not it has a meaning
        alike = {other for other in held if len(held[source] & held[other]) > _SAME * len(held[source] | held[other])}
        order, tied[source] = _compared(source, values, names, figures, alike)
        result[source] = replace(order, part_of=beginnings.get(source, ""))
    return {
        source: replace(order, of_groups=any(source in tied.get(other, ()) for other in tied[source]))
        for source, order in result.items()
    }


def _witnesses(
    answers: Mapping[str, Answers], values_of: Mapping[str, np.ndarray], rows: PublicRows, sampled: slice
) -> tuple[list[str], np.ndarray]:
    """Return the variables with which all columns are compared: the column of each, and (n_rows, n_witnesses) standardised
    values.

    They are the ranks of a column of numbers, or 0 and 1 for a frequent category; NaN without an answer. Row numbers and
    keys are not used.
    """
    names, columns = [], []
    for source, answer in answers.items():
        figures = []
        if source in values_of:
            if len(answer.texts) < 0.95 * answer.rows or any("." in text for text in answer.texts):
                figures = [_ranks(values_of[source])]
        elif len(answer.texts) <= _TEXTS:
            codes, texts = rows.codes[source][sampled], rows.texts[source]
            frequent = sorted(range(len(texts)), key=lambda code: -answer.texts[texts[code]])
            figures = [np.where(codes < 0, np.nan, codes == code) for code in frequent[: 1 if len(texts) <= 2 else _FREQUENT]]
        for figure in figures:
            valid = ~np.isnan(figure)
            spread = figure[valid].std() if valid.any() else 0
            if spread > 0:
                names.append(source)
                columns.append((figure - figure[valid].mean()) / spread)
    every = -(-len(names) // _OTHERS) or 1
    return names[::every], np.array(columns[::every]).T


def _ranks(values: np.ndarray) -> np.ndarray:
    valid = ~np.isnan(values)
    _, inverse, times = np.unique(values[valid], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[valid] = (np.cumsum(times) - times / 2)[inverse]
    return ranks


def _compared(
    source: str, values: np.ndarray, names: list[str], witnesses: np.ndarray, alike: Collection[str]
) -> tuple[Order, set[str]]:
    """Return the evidence on the order of a column, and the columns that its values nearly determine without a common order.

    Parameters
    ----------
    values : (n_rows,) numbers of the column, or NaN if a row has no number.
    names, witnesses : the result of `_witnesses`.
    alike : columns with the same classification, which do not count.
    """
    is_other = np.array([name != source for name in names], dtype=bool)
    valid = ~np.isnan(values)
    order = np.argsort(values[valid], kind="stable")
    _, starts = np.unique(values[valid][order], return_index=True)
    if not is_other.any() or len(starts) < 3:
        return Order(), set()
    figures = witnesses[valid][order][:, is_other]
    is_answer = ~np.isnan(figures)
    figures = np.where(is_answer, figures, 0.0)
    rows = np.add.reduceat(is_answer.astype(float), starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(rows > 0, np.add.reduceat(figures, starts) / rows, 0.0)
        n_values, n_rows = (rows > 0).sum(axis=0), rows.sum(axis=0)
        total = (figures**2).sum(axis=0) - n_rows * (figures.sum(axis=0) / n_rows) ** 2
        within = np.maximum((figures**2).sum(axis=0) - (rows * means**2).sum(axis=0), 0.0)
        chance = np.maximum(within / (n_rows - n_values), 1e-9)
        excess = total - within - (n_values - 1) * chance
        clear = (n_values > 2) & (n_rows > 2 * n_values) & (excess > _CLEAR * chance * np.sqrt(2 * (n_values - 1)))
    tell = clear & (rows.max(axis=0) < 0.9 * n_rows) & (n_rows > 5 * n_values) & (total - within >= _TOLD * total)
    if not clear.any():
        return Order(), set()
    lags = np.arange(1, len(starts)) if len(starts) <= _FEW_VALUES else np.linspace(1, len(starts) - 1, _DISTANCES).astype(int)
    near, any_two = (_differences(means[:, clear], rows[:, clear], chance[clear], steps) for steps in ([1], lags.tolist()))
    other_names = [name for name in names if name != source]
    tells = (other_names[column] for column in np.flatnonzero(tell) if _has_no_order(means[rows[:, column] > 0, column]))
    # schools are often numbered in the order of their districts: a column that the values determine is no evidence
    explained = (total - within)[clear] / total[clear]
    say = (explained < _NESTED) & [name not in alike for name in np.array(other_names)[clear]]
    say = say if say.any() else np.ones(len(say), dtype=bool)
    ragged = (explained >= _TIED) & (near > any_two / 2)
    tied = {other_names[column] for column in np.flatnonzero(clear)[ragged]}
    unlike = float(near[say].sum() / max(any_two[say].sum(), 1e-12))
    return Order(unlike=unlike, witnesses=len(near), tells=next(tells, "")), tied


def _has_no_order(means: np.ndarray) -> bool:
    """Return whether means, listed by the values of a column, repeat or often change direction."""
    changes = np.diff(np.round(means, 6))
    changes = changes[changes != 0]
    turns = np.count_nonzero(changes[1:] * changes[:-1] < 0)
    levels = len(np.unique(np.round(means, 6)))
    return bool(len(changes) > 2 * (levels - 1) or (len(changes) >= 4 and levels > 2 and turns > 0.4 * (len(changes) - 1)))


def _differences(means: np.ndarray, rows: np.ndarray, chance: np.ndarray, lags: list[int]) -> np.ndarray:
    """Return half the mean squared difference of each variable between values at these distances, without the part due to
    chance.
    """
    total, weights = np.zeros(means.shape[1]), np.zeros(means.shape[1])
    for lag in lags:
        low, high = rows[:-lag], rows[lag:]
        both = (low > 0) & (high > 0)
        weight = np.where(both, low * high / np.maximum(low + high, 1), 0.0)
        total += (weight * (means[lag:] - means[:-lag]) ** 2 - both * chance).sum(axis=0)
        weights += weight.sum(axis=0)
    return total / np.maximum(2 * weights, 1e-12)


def _beginnings(whole: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Find pairs of columns in which one code is part of the other, as a county's code begins the codes of its
    municipalities.

    Return a mapping from each of the two columns to the other. Ages and their decades do not count: codes leave out at
    least half of the numbers in their range.
    """
    part_of: dict[str, str] = {}
    distinct = {source: np.unique(values[~np.isnan(values)]) for source, values in whole.items()}
    for source, values in whole.items():
        different, valid = distinct[source], ~np.isnan(values)
        if len(different) < 10 or different[0] < 10 or len(different) > 0.5 * (different[-1] - different[0] + 1):
            continue
        for power in (10**digits for digits in range(1, len(str(int(different[-1]))))):
            groups = np.unique(np.floor(different / power))
            if len(groups) < 3:
                break
            beginning, ending = np.floor(values / power), values % power
            for parent in (parent for parent in whole if parent != source and np.array_equal(distinct[parent], groups)):
                together = valid & ~np.isnan(whole[parent])
                if together.sum() > 0.9 * valid.sum() and np.array_equal(beginning[together], whole[parent][together]):
                    part_of[source] = parent
                    part_of.setdefault(parent, source)
                    for last in whole:
                        if last not in (source, parent) and np.array_equal(ending[together], whole[last][together]):
                            part_of.setdefault(last, source)
    return part_of
