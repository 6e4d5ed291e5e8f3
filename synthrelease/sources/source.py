"""Where a table is: files, or a table of a database. Its text, for messages, shows a path, and of a URI how it begins.

Files are named by a path, a folder, or a pattern such as `births/2019-*.parquet`.

A database is named by a file (DuckDB, SQLite) or by a URI of SQLAlchemy, such as `postgresql://server/registry`. User and
password come from the environment alone (`USER`, `PASSWORD`), never from a URI, a TOML file or an option: those end in
histories of shells, lists of processes, notes.
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

# Which libraries are asked for a table: only those that take the type of a column from the database, never from its rows.
#
# A library that looks at the first rows to find the type of a column reads the others by them. Then one record decides the bins
# of others, and no theorem about replacing one record holds (theory 1.8, reading row by row).

_GUESSING = re.compile(r"(shillelagh|gsheets)\b", re.IGNORECASE)
"""Dialects of SQLAlchemy that read spreadsheets and other files without types."""
_WHY = "it may take the type of a column from the first rows, so that one row would change how others are read."


def check_driver(uri: str) -> None:
    """Raise InputError for a library that is not known to read every row by itself. Looks at the URI alone."""
    if guessing := _GUESSING.match(uri):
        raise InputError(f"expected a database, found {guessing[1]!r}: {_WHY} Give the file that it reads, as CSV.")


# The files that hold the rows of one table: one, those of a folder, those that a pattern fits.
#
# A folder and a pattern give Parquet and CSV files alone. What a file is, and that it stays as it is while it is read,
# is found out without looking at a row. No name of a file is shown: one such as `year=2019` is a value of a column.

PARQUET = b"PAR1"
CSV_NAMES = (".csv", ".csv.gz")

_PATTERN = re.compile(r"[*?\[]")

State = tuple[str, ...]
"""Size, times and marks of a file: equal as long as nobody writes it."""
Listed = Callable[[], Iterable[Sequence[Path]]]
"""The files of a table as they are now, in order: those that are counted together."""
CHANGED = "expected files that stay as they are while they are read, found one that was written meanwhile."


def is_pattern(text: str) -> bool:
    return bool(_PATTERN.search(text))


def folder_files(path: Path) -> list[Path]:
    """Return the file itself, or the Parquet and CSV files of a folder in the order of their names.

    Names that begin with a dot or an underscore are left out, as other programs do: they are notes of the program that wrote
    the folder. Anything else refuses the folder, because it could hold rows that were left out unseen.
    """
    if not path.is_dir():
        return [path]

    def listed() -> list[Path]:
        return sorted((entry for entry in path.iterdir() if entry.name[0] not in "._"), key=lambda entry: entry.name)

    return _tables("a folder", listed)


def fitting(pattern: Path) -> list[Path]:
    """Whatever fits, in order. Raises OSError or ValueError."""
    fixed = list(takewhile(lambda part: not is_pattern(part), pattern.parts))
    return sorted(Path(*fixed).glob("/".join(pattern.parts[len(fixed) :]))) if len(fixed) < len(pattern.parts) else []


def pattern_files(pattern: Path) -> list[Path]:
    """Return the files whose paths match a pattern such as `births/2019-*.csv`, in the order of their paths: tables, all of
    them.
    """
    return _tables("a pattern that fits", lambda: fitting(pattern))


def _tables(what: str, listed: Callable[[], list[Path]]) -> list[Path]:
    """Return the files of a folder or pattern. Raises InputError where there is none, or something that is no table."""
    try:
        entries = listed()
        kinds = ["folders" if entry.is_dir() else "" if _is_table(entry) else "other files" for entry in entries]
    except (OSError, ValueError):
        entries, kinds = [], ["something that cannot be opened"]
    _check(what, kinds or ["none"])
    return entries


def _check(what: str, kinds: Sequence[str]) -> None:
    if wrong := next(filter(None, kinds), ""):
        advice = " Partitions in folders are not read: write the table without them." if wrong == "folders" else ""
        raise InputError(f"expected {what} with Parquet or CSV files alone, found {wrong} in it.{advice}")


def _is_table(path: Path) -> bool:
    if not path.is_file():  # a pipe may have nobody at its other end
        return False
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET or path.name.endswith(CSV_NAMES)


def which_file(number: int, n_files: int) -> str:
    """Return the position of a file among several, without a name."""
    return f"This was found in file {number} of {n_files}, in the order of their names."


def state_of(file: Path) -> State:
    """Return the state of a file: it changes when the file is written. Raises InputError for a deleted one."""
    try:
        status = file.stat()
    except OSError:
        status = None
    if status is None:
        raise InputError("expected files that stay, found one that is gone.")
    return (str(status.st_size), str(status.st_mtime_ns), str(status.st_ino))


@contextmanager
def unwritten(listed: Listed) -> Iterator[list[tuple[Sequence[Path], list[State]]]]:
    """Watch files: gives them with their states. Raises InputError when there are others in the end, or one was written."""

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
    f"expected a file, or the URI of a database such as postgresql://server/registry, found {UNKNOWN_FORM} User and password "
    f"of a database belong into the environment variables {USER} and {PASSWORD}."
)
_PASSWORD = re.compile("//[^/]*:[^/]*@")
_SECRET_IN_ADDRESS = re.compile(r"[?&;][^=&;]*(pass|pwd|secret|token|key|user|uid)[^=&;]*=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table and the way to reach it.

    Attributes
    ----------
    path : of the file or folder, or a pattern of paths; None for a URI that names no file.
    uri : of a database, without user and password, or of a file; empty where a path was written.
    table : of a database, where the steward named one beside the file.
    members : the table of the members of these rows, where it is another one.
    """

    path: Path | None = field(default=None, repr=False)
    uri: str = field(default="", repr=False)
    table: str | None = None
    members: Source | None = None

    @classmethod
    def of(cls, data: str | Path | Source, table: str | None = None, members: str | Path | Source | None = None) -> Source:
        """Return the table that a steward wrote. `sqlite:///FILE` and `duckdb:///FILE` are files.

        Parameters
        ----------
        members : the file of the members of these rows.

        Raises
        ------
        InputError : for a URI with a user or password, and a connection string of another dialect; they are not quoted.
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
                "expected the URI of a database without user and password, found one that may hold them (it is not shown). Put "
                f"them into the environment variables {USER} and {PASSWORD}."
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
        """Return whether a URI names the table, and not a file."""
        return self.path is None

    def is_there(self) -> bool:
        """Return whether a file or folder, or one that matches a pattern, exists; always true for a URI, which is not
        opened.
        """
        try:
            if self.path is None or self.path.is_file() or self.path.is_dir():
                return True
            return bool(fitting(self.path))
        except (OSError, ValueError):  # a name that is too long, or behind a folder that may not be entered
            return False

    def holds_files(self) -> bool:
        """Return whether it is a folder, a pattern or an object store with several pieces of a table, and not a single file."""
        if self.path is None:
            return not self.is_database
        try:
            return self.path.is_dir() or (is_pattern(str(self.path)) and not self.path.exists())
        except OSError:
            return False

    def files(self) -> list[Path]:
        """Return all files that are read, in the order of their names; none for a database behind a URI.

        Raises
        ------
        InputError : where there is none, or something that is no table.
        """
        if self.path is None:
            return []
        path = self.path.absolute()
        if not self.holds_files():
            return [path]  # whatever it is: who opens it says so
        return list(folder_files(path) if path.is_dir() else pattern_files(path))

    def tables(self) -> tuple[Source, ...]:
        """Return this table by itself, and the table of its members where that is another one."""
        return (self,) if self.members is None else (replace(self, members=None), self.members)

    def divided(self, records: Iterable[str]) -> Source:
        """Return the two tables, roots and members, that a hierarchical file has in lines of its first two record types."""
        roots, members = (*records, None, None)[:2]
        if members is None or self.members is not None:
            return self
        return replace(self, table=roots, members=replace(self, table=members))

    def size(self) -> int:
        """Return bytes of all files that are read; 0 for a database behind a URI."""
        return sum(file.stat().st_size for file in self.files()) + (0 if self.members is None else self.members.size())


def check_members(source: Source, *, asked: bool) -> None:
    """Raise InputError for a file of members that is not there, or that nothing asks for.

    Parameters
    ----------
    asked : whether the configuration has [members].
    """
    if source.members is None:
        return
    if not asked:
        raise InputError(
            "expected no file of members, because the configuration has no [members]; found one. Nothing was spent."
        )
    if not source.members.is_there():
        raise InputError(f"{source.members}: expected a file of members, found no such file. Nothing was spent.")
    if (source.path, source.uri, source.table) == (source.members.path, source.members.uri, source.members.table):
        raise InputError(
            f"{source.members}: expected another file of members, found the file of the roots once more, in which a root would "
            "stand as often as it has members. Where one file has both, leave --members out. Nothing was spent."
        )
