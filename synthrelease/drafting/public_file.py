"""Reading a public file of unknown layout, of any format: its columns, how often each text occurs, what it says of them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synthrelease.domain.schema import Binning, Column, Schema
from synthrelease.drafting.labels import ColumnNotes, notes_of
from synthrelease.enclave.csv_files import open_text
from synthrelease.enclave.reading import GZIP, UTF_16, column_names, pieces, start_of
from synthrelease.enclave.statistical import package_of
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError
from synthrelease.toml.tables import Encoding, InputTable

_DELIMITERS = (",", ";", "\t", "|")
_ENCODINGS: tuple[Encoding, ...] = ("utf-8", "windows-1252", "latin-1")
_BLOCK = 2**22
MAX_TEXTS = 1_000_000
"""Different texts of one column that are told apart; a column with more is no column for a release."""


@dataclass(frozen=True, kw_only=True)
class PublicFile:
    """A public table, column by column.

    Attributes
    ----------
    input : how it was read: the delimiter and encoding of a CSV file, found by looking at it.
    columns : for each column, in the order of the file, how often each text occurs; None stands for a null.
    notes : for each column what the file says about it; empty notes for formats that say nothing.
    """

    name: str
    path: Path
    input: InputTable
    n_rows: int
    columns: dict[str, Counter[str | None]]
    notes: dict[str, ColumnNotes] = field(default_factory=dict)

    @property
    def delimiter(self) -> str:
        return self.input.delimiter

    @property
    def encoding(self) -> str:
        return self.input.encoding

    def pieces(self) -> Iterator[Mapping[str, Texts]]:
        """The rows once more, in pieces: for each column its texts, and which of them each row holds."""
        for _, piece in pieces(self.path, Schema(columns=tuple(map(_column, self.columns))), self.input):
            yield piece


def read_public_file(path: str | Path) -> PublicFile:
    """Read a public table of any format that a release can read.

    Raises
    ------
    InputError : when it cannot be read, has no rows, or names a column twice.
    """
    path = Path(path)
    problem = ""
    try:
        return _read(path)
    except InputError as error:
        problem = str(error)
    raise InputError(f"{path}: {problem}")


def _read(path: Path) -> PublicFile:
    policy, names = _layout(path)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated or not names or "" in names:
        found = f"{repeated[0]!r} twice" if repeated else "a column without a name"
        raise InputError(f"expected a header with different names, found {found}.")
    columns: dict[str, Counter[str | None]] = {name: Counter() for name in names}
    rows = 0
    for _, piece in pieces(path, Schema(columns=tuple(map(_column, names))), policy):
        for name, texts in piece.items():
            used = Counter(texts.codes.tolist())
            for code, times in used.items():  # a text may stand there twice
                columns[name][texts.texts[code]] += times
            if len(columns[name]) > MAX_TEXTS:
                raise InputError(f"column {name!r}: expected at most {MAX_TEXTS} different texts, found more.")
            rows += len(texts.codes) if name == names[0] else 0
    if not rows:
        raise InputError("expected a header and rows, found no rows.")
    package = package_of(start_of(path))
    notes = dict.fromkeys(names, ColumnNotes()) | (notes_of(package, path, policy.encoding) if package else {})
    return PublicFile(name=path.name, path=path, input=policy, n_rows=rows, columns=columns, notes=notes)


def _layout(path: Path) -> tuple[InputTable, list[str]]:
    """How the file is to be read, and its columns; anything wrong with a CSV file is left for `pieces` to explain."""
    encoding: Encoding = "utf-16" if start_of(path).startswith(UTF_16) else "utf-8"
    names = column_names(path, InputTable(encoding=encoding))
    if names is not None:
        return InputTable(), names
    compressed = start_of(path).startswith(GZIP)
    encoding = encoding if encoding == "utf-16" else _encoding(path, compressed)
    try:
        with open_text(path, encoding, compressed) as text:
            first = next(filter(str.strip, iter(lambda: text.readline(_BLOCK), "")), "")
    except (OSError, EOFError, UnicodeError, ValueError):
        return InputTable(encoding=encoding), ["?"]
    delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    fields = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
    return InputTable(delimiter=delimiter, encoding=encoding), [field.strip() for field in fields] or ["?"]


def _encoding(path: Path, compressed: bool) -> Encoding:
    """The first encoding in which the whole file is text: UTF-8; Windows-1252, which is Latin-1 for most letters; Latin-1."""
    for encoding in _ENCODINGS:
        try:
            with open_text(path, encoding, compressed) as text:
                while text.read(_BLOCK):
                    pass
        except UnicodeError:
            continue
        except (OSError, EOFError, ValueError):
            break
        return encoding
    return "utf-8"


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
