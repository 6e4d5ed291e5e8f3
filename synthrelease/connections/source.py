"""Where a table is: files, or a table of a database. Its text, for messages, shows a path, and of a URI how it begins.

Files are named by a path, a folder, a pattern such as `births/2019-*.parquet`, or the URI of an object store that fsspec reads,
such as `s3://registry/births`; its credentials are where the store's own library looks for them.

A database is named by a file (DuckDB, SQLite) or by a URI: that of SQLAlchemy, such as `postgresql://server/registry`, or that
of an ADBC driver, such as `adbc+postgresql://server/registry`. User and password come from the environment alone
(`USER`, `PASSWORD`), never from a URI, a TOML file or an option: those end in histories of shells, lists of processes, notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from synthrelease.connections import UNKNOWN_FORM, may_hold_secret
from synthrelease.connections.drivers import check_driver
from synthrelease.connections.files import (
    STORES,
    File,
    fitting,
    folder_files,
    is_pattern,
    pattern_files,
    size_of,
    stored_files,
)
from synthrelease.errors import InputError

USER, PASSWORD = "SYNTHRELEASE_DATABASE_USER", "SYNTHRELEASE_DATABASE_PASSWORD"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+(\+[A-Za-z0-9_]+)?:/?/.*", re.DOTALL)  # one letter is a drive of Windows
_FILE = re.compile(r"(adbc\+)?(duckdb|sqlite):///(?P<path>[^?#]+)", re.DOTALL)
_OTHER_DIALECT = (
    f"expected a file, or the URI of a database such as postgresql://server/registry, found {UNKNOWN_FORM} User and password "
    f"of a database belong into the environment variables {USER} and {PASSWORD}."
)
_PASSWORD = re.compile("//[^/]*:[^/]*@")
_SECRET = re.compile(r"[?&;][^=&;]*(pass|pwd|secret|token|key|user|uid)[^=&;]*=", re.IGNORECASE)


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
    def of(cls, data: str | Path | Source, table: str | None = None, members: str | Path | None = None) -> Source:
        """What a steward wrote. `sqlite:///FILE` and `duckdb:///FILE` are files, also behind `adbc+`.

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
            found = cls(path=Path(data), table=table)
            if may_hold_secret(text) and not found.is_there():
                raise InputError(_OTHER_DIALECT)
            return found
        if (protocol := text.partition("://")[0]) in STORES:
            if _PASSWORD.search(text) or _SECRET.search(text) or "::" in text:
                raise InputError(
                    f"expected the URI of an object store ({protocol}) alone, found one that may hold a password, or a chain "
                    "of stores (it is not shown). Credentials are found where the library of the store looks for them."
                )
            return cls(uri=text, table=table)
        if "@" in text or _SECRET.search(text):
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
        """Whether there is a file or folder, or one that a pattern fits; always true for a URI, which is not asked."""
        try:
            if self.path is None or self.path.is_file() or self.path.is_dir():
                return True
            return bool(fitting(self.path))
        except (OSError, ValueError):  # a name that is too long, or behind a folder that may not be entered
            return False

    def holds_files(self) -> bool:
        """Whether it is no single file but a folder, a pattern or an object store, which hold pieces of a table."""
        if self.path is None:
            return not self.is_database
        try:
            return self.path.is_dir() or (is_pattern(str(self.path)) and not self.path.exists())
        except OSError:
            return False

    def files(self) -> list[File]:
        """All files that are read, in the order of their names; none for a database behind a URI. Paths are absolute: a worker
        of a cluster may stand in another folder.

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
        """This table by itself, and that of its members where it is another one."""
        return (self,) if self.members is None else (replace(self, members=None), self.members)

    def size(self) -> int:
        """Bytes of all files that are read; 0 for a database behind a URI."""
        return sum(map(size_of, self.files())) + (0 if self.members is None else self.members.size())
