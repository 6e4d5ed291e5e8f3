"""Locate the table that a steward named: a file, a folder or pattern of several files, or a table of a database.

A database is a file (DuckDB, SQLite) or a SQLAlchemy URI, such as `postgresql://server/registry`. The user and the password are
read only from the environment variables SYNTHRELEASE_DATABASE_USER and SYNTHRELEASE_DATABASE_PASSWORD, because shell histories,
lists of processes and notes may show URIs and options. Messages show the path of a source, or only the scheme of its URI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from synthrelease.errors import InputError
from synthrelease.sources.paths import UNKNOWN_FORM, may_hold_secret

# A table is only read by libraries that take the type of a column from the database, never from its rows.
#
# A library that infers the type of a column from the first rows reads all other rows by that type. Then one record decides the
# bins of other records, and no theorem about replacing one record holds (theory 1.8, reading row by row).

# Dialects of SQLAlchemy that read spreadsheets and other files without column types.
_GUESSING = re.compile(r"(shillelagh|gsheets)\b", re.IGNORECASE)
_WHY = "it may infer the type of a column from the first rows. Then one row would change how other rows are read."


def check_driver(uri: str) -> None:
    """Raise InputError if the URI names a SQLAlchemy dialect that may infer the types of columns from the first rows."""
    if guessing := _GUESSING.match(uri):
        raise InputError(f"{guessing[1]!r} cannot be used as a database: {_WHY} Give the file itself, as CSV.")


# The rows of one table are in one file, in all files of a folder, or in all files that match a pattern.
#
# A folder or a pattern may hold only Parquet and CSV files. The format of a file, and whether it changes while it is read, are
# found without reading a row. No file name is shown, because a name such as `year=2019` is a value of a column.

PARQUET = b"PAR1"
CSV_NAMES = (".csv", ".csv.gz")
_OTHER = "a file that is neither a Parquet nor a CSV file"

_PATTERN = re.compile(r"[*?\[]")

State = tuple[str, ...]
"""The size, the time of the last change and the inode number of a file. They stay the same as long as no program writes to the
file.
"""
Listed = Callable[[], Iterable[Sequence[Path]]]
"""A function that lists the current files of a table. Each item contains the files that are counted together."""
CHANGED = "A file changed while it was read. Read the files again when no program is writing to them."


def is_pattern(text: str) -> bool:
    return bool(_PATTERN.search(text))


def folder_files(path: Path) -> list[Path]:
    """Return the Parquet and CSV files of a folder in the order of their names, or the path itself if it is not a folder.

    Files whose names begin with a dot or an underscore are ignored: notes of the program that wrote the folder.

    Raises
    ------
    InputError : if the folder contains no Parquet or CSV file, or anything else, whose rows could be missed without notice.
    """
    if not path.is_dir():
        return [path]

    def listed() -> list[Path]:
        return sorted((entry for entry in path.iterdir() if entry.name[0] not in "._"), key=lambda entry: entry.name)

    return _tables("The folder contains", listed)


def fitting(pattern: Path) -> list[Path]:
    """Return the sorted paths that match a pattern, none for a path without wildcards. Raises OSError or ValueError if the
    pattern cannot be evaluated."""
    fixed = list(takewhile(lambda part: not is_pattern(part), pattern.parts))
    return sorted(Path(*fixed).glob("/".join(pattern.parts[len(fixed) :]))) if len(fixed) < len(pattern.parts) else []


def pattern_files(pattern: Path) -> list[Path]:
    """Return the files that match a pattern such as `births/2019-*.csv`, sorted by path.

    Raises
    ------
    InputError : if no path matches, or one is not a Parquet or CSV file.
    """
    return _tables("The pattern matches", lambda: fitting(pattern))


def _tables(beginning: str, listed: Callable[[], list[Path]]) -> list[Path]:
    """Return the files of a folder or pattern. Raises InputError, with a message that starts with `beginning`, if there is
    none, or one is not Parquet or CSV."""
    try:
        entries = listed()
        kinds = ["a folder" if entry.is_dir() else "" if _is_table(entry) else _OTHER for entry in entries]
    except (OSError, ValueError):
        entries, kinds = [], ["something that cannot be opened"]
    if wrong := next(filter(None, kinds or ["no file"]), ""):
        advice = (
            " A table that is divided into folders by the values of a column cannot be read." if wrong == "a folder" else ""
        )
        raise InputError(f"{beginning} {wrong}. Only Parquet and CSV files (.csv or .csv.gz) may be there.{advice}")
    return entries


def _is_table(path: Path) -> bool:
    if not path.is_file():  # reading a pipe would wait forever if no program writes to it
        return False
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET or path.name.endswith(CSV_NAMES)


def which_file(number: int, n_files: int) -> str:
    """Return a sentence that identifies a file by its position, without its name."""
    return f"The problem is in file {number} of {n_files}, in the order of their names."


def state_of(file: Path) -> State:
    """Return the state of a file. Raises InputError if it does not exist."""
    try:
        status = file.stat()
    except OSError:
        status = None
    if status is None:
        raise InputError("A file was removed before it was read.")
    return (str(status.st_size), str(status.st_mtime_ns), str(status.st_ino))


@contextmanager
def unwritten(listed: Listed) -> Iterator[list[tuple[Sequence[Path], list[State]]]]:
    """Yield the files of a table with their states, and check at the end that no file has changed meanwhile.

    Raises
    ------
    InputError : at the end, if a file was added, removed or written in the meantime.
    """

    def now() -> list[tuple[Sequence[Path], list[State]]]:
        return [(files, [*map(state_of, files)]) for files in listed()]

    first_listing = now()
    yield first_listing
    if now() != first_listing:
        raise InputError(CHANGED)


USER, PASSWORD = "SYNTHRELEASE_DATABASE_USER", "SYNTHRELEASE_DATABASE_PASSWORD"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+(\+[A-Za-z0-9_]+)?:/?/.*", re.DOTALL)  # one letter is a drive of Windows
_FILE = re.compile(r"(duckdb|sqlite):///(?P<path>[^?#]+)", re.DOTALL)
_OTHER_DIALECT = (
    f"Give a file, or the URI of a database such as postgresql://server/registry. {UNKNOWN_FORM} Put the user and the password "
    f"of a database into the environment variables {USER} and {PASSWORD}."
)
_SECRET_IN_ADDRESS = re.compile(r"[?&;][^=&;]*(pass|pwd|secret|token|key|user|uid)[^=&;]*=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The location of a table: its files, or its database.

    Attributes
    ----------
    path : the path of the file or folder, or a pattern; None for a URI that names no file.
    uri : the URI of a database (without user and password) or of a SQLite or DuckDB file; "" for a path.
    table : the name of the table in the database, or None.
    members : the second of two linked tables, such as the persons of households; None if there is none or it is in the same
        place.
    """

    path: Path | None = field(default=None, repr=False)
    uri: str = field(default="", repr=False)
    table: str | None = None
    members: Source | None = None

    @classmethod
    def of(cls, data: str | Path | Source, table: str | None = None, members: str | Path | Source | None = None) -> Source:
        """Return the source for a path or URI. `sqlite:///FILE` and `duckdb:///FILE` name files.

        Parameters
        ----------
        data : the path, pattern or URI of the table, or a `Source`.
        members : the second of two linked tables.

        Raises
        ------
        InputError : if a URI contains a user or a password, the text is another kind of connection string (neither is quoted),
            or the dialect infers types from rows.
        """
        if members is not None:
            return replace(cls.of(data, table), members=cls.of(members))
        if isinstance(data, Source):
            return data if table is None else replace(data, table=table)
        text = str(data)
        if match := _FILE.fullmatch(text):
            return cls(path=Path(match["path"]), uri=text, table=table)
        if isinstance(data, Path) or not _URI.fullmatch(text) or text.count("/") == 1:
            source = cls(path=Path(data), table=table)
            if may_hold_secret(text) and not source.is_there():
                raise InputError(_OTHER_DIALECT)
            return source
        if "@" in text or _SECRET_IN_ADDRESS.search(text):
            raise InputError(
                "The URI of the database seems to contain a user or a password, so it is not shown. Put them into the "
                f"environment variables {USER} and {PASSWORD}."
            )
        check_driver(text)
        return cls(uri=text, table=table)

    def __str__(self) -> str:
        shown = str(self.path)
        if self.path is None or (self.uri and not self.is_there()):
            shown = self.uri.partition(":")[0] + "://..."
        return shown if self.table is None else f"{shown}, table {self.table!r}"

    @property
    def is_database(self) -> bool:
        """Whether a URI, and not a file, gives the database."""
        return self.path is None

    def is_there(self) -> bool:
        """Return whether the file or folder exists, or any file matches the pattern. A database with a URI is assumed to
        exist."""
        try:
            if self.path is None or self.path.is_file() or self.path.is_dir():
                return True
            return bool(fitting(self.path))
        except (OSError, ValueError):  # the name is too long, or a folder may not be entered
            return False

    def holds_files(self) -> bool:
        """Return whether the source is a folder or a pattern, and not one file or a database."""
        if self.path is None:
            return not self.is_database
        try:
            return self.path.is_dir() or (is_pattern(str(self.path)) and not self.path.exists())
        except OSError:
            return False

    def files(self) -> list[Path]:
        """Return the absolute paths of all files of the table, in the order of their names; none for a database with a URI.

        Raises
        ------
        InputError : if a folder or pattern has no file, or one that is not Parquet or CSV.
        """
        if self.path is None:
            return []
        path = self.path.absolute()
        if not self.holds_files():
            return [path]  # the reader checks its format and reports the problem
        return list(folder_files(path) if path.is_dir() else pattern_files(path))

    def tables(self) -> tuple[Source, ...]:
        return (self,) if self.members is None else (replace(self, members=None), self.members)

    def divided(self, records: Iterable[str]) -> Source:
        """Return a source of two linked tables: the lines of two record types in one hierarchical file.

        Parameters
        ----------
        records : the record types of the file, those of the first and of the second table first. With fewer than two types, or
            with a second file, the source is returned unchanged.
        """
        roots, members = (*records, None, None)[:2]
        if members is None or self.members is not None:
            return self
        return replace(self, table=roots, members=replace(self, table=members))

    def size(self) -> int:
        """Return the total size in bytes of all files of the table and of its members, 0 for a database with a URI."""
        return sum(file.stat().st_size for file in self.files()) + (0 if self.members is None else self.members.size())


def check_members(source: Source, *, asked: bool) -> None:
    """Raise InputError if the file of members does not exist, is the same as the first file, or is not expected.

    Parameters
    ----------
    asked : whether the configuration has [members].
    """
    if source.members is None:
        return
    if not asked:
        raise InputError("--members needs [members] in the configuration, which is missing. Nothing was spent.")
    if not source.members.is_there():
        raise InputError(f"{source.members}: There is no such file of members. Nothing was spent.")
    if (source.path, source.uri, source.table) == (source.members.path, source.members.uri, source.members.table):
        raise InputError("--members names the same file as --data. Omit --members. Nothing was spent.")
