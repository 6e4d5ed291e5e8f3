"""Where a table is: files, or a table of a database. Its text, for messages, shows a path, and of a URI how it begins.

Files are named by a path, a folder, a pattern such as `births/2019-*.parquet`, or the URI of an object store that fsspec reads,
such as `s3://registry/births`; its credentials are where the store's own library looks for them.

A database is named by a file (DuckDB, SQLite) or by a URI: that of SQLAlchemy, such as `postgresql://server/registry`, or that
of an ADBC driver, such as `adbc+postgresql://server/registry`. User and password come from the environment alone
(`USER`, `PASSWORD`), never from a URI, a TOML file or an option: those end in histories of shells, lists of processes, notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Literal

from synthrelease.errors import InputError
from synthrelease.sources.paths import UNKNOWN_FORM, may_hold_secret

# Which libraries are asked for a table: only those that take the type of a column from the database, never from its rows.
#
# A library that looks at the first rows to find the type of a column reads the others by them: with the ADBC driver of SQLite
# one 0.5 in a column makes "1.000000e+00" of every 1 below it. Then one record decides the bins of others, and no theorem about
# replacing one record holds (theory 1.8, reading row by row).

ADBC = re.compile(r"adbc\+(?P<driver>[a-z0-9_]+)(?P<rest>:.*)", re.DOTALL | re.IGNORECASE)
TYPED_ADBC = ("bigquery", "duckdb", "flightsql", "postgresql", "snowflake")
"""ADBC drivers whose columns have the types that the database declares."""
_GUESSING = re.compile(r"(shillelagh|gsheets)\b", re.IGNORECASE)
"""Dialects of SQLAlchemy that read spreadsheets and other files without types."""
_WHY = "it may take the type of a column from the first rows, so that one row would change how others are read."


def check_driver(uri: str) -> None:
    """Raise InputError for a library that is not known to read every row by itself. Looks at the URI alone."""
    match = ADBC.fullmatch(uri)
    if match is not None and (driver := match["driver"].lower()) not in TYPED_ADBC:
        raise InputError(
            f"expected an ADBC driver that takes the types of columns from the database ({', '.join(TYPED_ADBC)}), found "
            f"{driver!r}: {_WHY} Give a SQLite file by its path, and other databases by a URI of SQLAlchemy."
        )
    if guessing := _GUESSING.match(uri):
        raise InputError(f"expected a database, found {guessing[1]!r}: {_WHY} Give the file that it reads, as CSV.")


# The files that hold the rows of one table: one, those of a folder, those that a pattern fits, those of an object store.
#
# A folder, a pattern and a store give Parquet and CSV files alone. What a file is, and that it stays as it is while it is read,
# is found out without looking at a row. No name of a file is shown: one such as `year=2019` is a value of a column.

PARQUET = b"PAR1"
CSV_NAMES = (".csv", ".csv.gz")
STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "hdfs", "webhdfs", "memory")
"""Protocols of fsspec that name files which stay where they are. A chain of them (`::`) may copy files and is refused."""
_PATTERN = re.compile(r"[*?\[]")
_STATES = (
    *("size", "mtime", "LastModified", "last_modified", "modified", "updated", "created", "modificationTime"),
    *("ETag", "etag", "e_tag", "generation", "md5Hash", "content_md5", "checksum"),
)
"""What stores tell of a file, each in its own words."""


@dataclass(frozen=True)
class StoredFile:
    """A file of an object store, opened like a path."""

    uri: str

    def open(self, _mode: Literal["rb"] = "rb") -> IO[bytes]:
        files, path = _store_of(self.uri)
        return files.open(path, "rb")

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]


File = Path | StoredFile
State = tuple[str, ...]
"""Size, times and marks of a file: equal as long as nobody writes it."""
Listed = Callable[[], Iterable[Sequence[File]]]
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
    """Return the files whose paths fit a pattern such as `births/2019-*.csv`, in the order of their paths: tables, all of
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


def stored_files(uri: str) -> list[StoredFile]:
    """Return the file of an object store, those of a folder of it, or those that a pattern fits, in the order of their
    names.
    """
    files, path = _store_of(uri)
    protocol, problem = uri.partition("://")[0], ""
    try:
        files.invalidate_cache()
        if is_pattern(path):
            entries = sorted(files.glob(path))
        elif files.isdir(path):
            entries = sorted(name for name in files.find(path) if name.rpartition("/")[2][:1] not in ("", ".", "_"))
        else:
            entries = [path] if files.exists(path) else []
        kinds = ["folders" if files.isdir(name) or "/" in _below(name, path) else "" for name in entries]
    except Exception:  # stores fail in many ways, and may say who asked
        problem = f"expected an object store of {protocol} that answers, found one that does not."
    if problem:
        raise InputError(problem)
    stored = [StoredFile(f"{protocol}://{name.partition('://')[2] or name}") for name in entries]
    if entries != [path]:
        tables = [entry.name.endswith((".parquet", *CSV_NAMES)) for entry in stored]
        kinds = [kind or ("" if table else "other files") for kind, table in zip(kinds, tables, strict=True)]
    _check("a folder or pattern of an object store", kinds or ["none"])
    return stored


def _below(name: str, folder: str) -> str:
    """Return what follows the folder in a name, where it is no pattern."""
    return "" if is_pattern(folder) or name == folder else name[len(folder) :].strip("/")


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
    """Return where something was found, without a name."""
    return f"This was found in file {number} of {n_files}, in the order of their names."


def state_of(file: File) -> State:
    """Return what tells that a file was written. Raises InputError for one that is gone, or a store that tells nothing but
    sizes.
    """
    problem = ""
    try:
        if isinstance(file, Path):
            status = file.stat()
            return (str(status.st_size), str(status.st_mtime_ns), str(status.st_ino))
        files, path = _store_of(file.uri)
        files.invalidate_cache()
        facts = files.info(path)
        state = tuple(f"{name}={facts[name]}" for name in _STATES if facts.get(name) is not None)
        if len(state) < 2:
            problem = "expected an object store that tells when a file was written, found one that does not."
    except InputError:
        raise
    except Exception:
        state, problem = (), "expected files that stay, found one that is gone."
    if problem:
        raise InputError(problem)
    return state


@contextmanager
def unwritten(listed: Listed) -> Iterator[list[tuple[Sequence[File], list[State]]]]:
    """Watch files: gives them with their states. Raises InputError when there are others in the end, or one was written."""

    def now() -> list[tuple[Sequence[File], list[State]]]:
        return [(files, [*map(state_of, files)]) for files in listed()]

    first_listing = now()
    yield first_listing
    if now() != first_listing:
        raise InputError(CHANGED)


def size_of(file: File) -> int:
    """Return the bytes of a file."""
    if isinstance(file, Path):
        return file.stat().st_size
    files, path = _store_of(file.uri)
    return int(files.size(path))


def _store_of(uri: str) -> tuple[Any, str]:
    """Return (file system of fsspec, path in it). Raises InputError where a library is missing."""
    from synthrelease.resources import library

    protocol, problem = uri.partition("://")[0], ""
    core = library("fsspec.core", "fsspec", f"files of {protocol}", "stores")
    try:
        return core.url_to_fs(uri)
    except ImportError:
        problem = f"expected the library that fsspec needs for files of {protocol} (s3fs, gcsfs, adlfs), found none."
    except Exception:  # which may hold who asks
        problem = f"expected an object store of {protocol} that can be opened, found one that cannot."
    raise InputError(problem)


USER, PASSWORD = "SYNTHRELEASE_DATABASE_USER", "SYNTHRELEASE_DATABASE_PASSWORD"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+(\+[A-Za-z0-9_]+)?:/?/.*", re.DOTALL)  # one letter is a drive of Windows
_FILE = re.compile(r"(adbc\+)?(duckdb|sqlite):///(?P<path>[^?#]+)", re.DOTALL)
_OTHER_DIALECT = (
    f"expected a file, or the URI of a database such as postgresql://server/registry, found {UNKNOWN_FORM} User and password "
    f"of a database belong into the environment variables {USER} and {PASSWORD}."
)
_PASSWORD = re.compile("//[^/]*:[^/]*@")
_SECRET_IN_ADDRESS = re.compile(r"[?&;][^=&;]*(pass|pwd|secret|token|key|user|uid)[^=&;]*=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table, and how to get to it.

    Attributes
    ----------
    path : of the file or folder, or a pattern of paths; None for a URI that names no file.
    uri : of a database or an object store, without user and password, or of a file; empty where a path was written.
    table : of a database, where the steward named one beside the file.
    members : the table of the members of these rows, where it is another one.
    """

    path: Path | None = field(default=None, repr=False)
    uri: str = field(default="", repr=False)
    table: str | None = None
    members: Source | None = None

    @classmethod
    def of(cls, data: str | Path | Source, table: str | None = None, members: str | Path | Source | None = None) -> Source:
        """Return the table that a steward wrote. `sqlite:///FILE` and `duckdb:///FILE` are files, also behind `adbc+`.

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
        if (protocol := text.partition("://")[0]) in STORES:
            if _PASSWORD.search(text) or _SECRET_IN_ADDRESS.search(text) or "::" in text:
                raise InputError(
                    f"expected the URI of an object store ({protocol}) alone, found one that may hold a password, or a chain "
                    "of stores (it is not shown). Credentials are found where the library of the store looks for them."
                )
            return cls(uri=text, table=table)
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
        """Whether a URI names it that is no object store's."""
        return self.path is None and self.uri.partition("://")[0] not in STORES

    def is_there(self) -> bool:
        """Return whether there is a file or folder, or one that a pattern fits; always true for a URI, which is not asked."""
        try:
            if self.path is None or self.path.is_file() or self.path.is_dir():
                return True
            return bool(fitting(self.path))
        except (OSError, ValueError):  # a name that is too long, or behind a folder that may not be entered
            return False

    def holds_files(self) -> bool:
        """Return whether it is no single file but a folder, a pattern or an object store, which hold pieces of a table."""
        if self.path is None:
            return not self.is_database
        try:
            return self.path.is_dir() or (is_pattern(str(self.path)) and not self.path.exists())
        except OSError:
            return False

    def files(self) -> list[File]:
        """Return all files that are read, in the order of their names; none for a database behind a URI.

        Raises
        ------
        InputError : where there is none, or something that is no table.
        """
        if self.path is None:
            return [] if self.is_database else list(stored_files(self.uri))
        path = self.path.absolute()
        if not self.holds_files():
            return [path]  # whatever it is: who opens it says so
        return list(folder_files(path) if path.is_dir() else pattern_files(path))

    def tables(self) -> tuple[Source, ...]:
        """Return this table by itself, and that of its members where it is another one."""
        return (self,) if self.members is None else (replace(self, members=None), self.members)

    def divided(self, records: Iterable[str]) -> Source:
        """Return the two tables, roots and members, that a hierarchical file has in lines of its first two record types."""
        roots, members = (*records, None, None)[:2]
        if members is None or self.members is not None:
            return self
        return replace(self, table=roots, members=replace(self, table=members))

    def size(self) -> int:
        """Return bytes of all files that are read; 0 for a database behind a URI."""
        return sum(map(size_of, self.files())) + (0 if self.members is None else self.members.size())


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
