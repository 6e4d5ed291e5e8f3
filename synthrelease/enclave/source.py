"""Where a table is: a file, a folder, or a table of a database. Its text, for messages, shows no user and no password.

A database is named by a file (DuckDB, SQLite) or by a URI: that of SQLAlchemy, such as `postgresql://server/registry`, or that
of an ADBC driver, such as `adbc+postgresql://server/registry`. User and password come from the environment alone
(`USER`, `PASSWORD`), never from a URI, a TOML file or an option: those end in histories of shells, lists of processes, notes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from synthrelease.enclave.parquet import parquet_files
from synthrelease.errors import InputError
from synthrelease.resources import file_digest

USER, PASSWORD = "SYNTHRELEASE_DATABASE_USER", "SYNTHRELEASE_DATABASE_PASSWORD"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+(\+[A-Za-z0-9_]+)?:/?/.*", re.DOTALL)  # one letter is a drive of Windows
_FILE = re.compile(r"(duckdb|sqlite):///(?P<path>[^?#]+)", re.DOTALL)
_SECRET = re.compile(r"[?&;][^=&;]*(pass|pwd|secret|token|key|user|uid)[^=&;]*=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table, and how to get to it.

    Attributes
    ----------
    path : of the file or folder; None for a URI.
    uri : of a database without user and password; empty for a file.
    table : of a database, where the steward named one beside the file.
    """

    path: Path | None = None
    uri: str = field(default="", repr=False)
    table: str | None = None

    @classmethod
    def of(cls, data: str | Path | Source, table: str | None = None) -> Source:
        """What a steward wrote. `sqlite:///FILE` and `duckdb:///FILE` are files.

        Raises
        ------
        InputError : for a URI with a user or password; it is not quoted.
        """
        if isinstance(data, Source):
            return data if table is None else replace(data, table=table)
        text = str(data)
        if match := _FILE.fullmatch(text):
            return cls(path=Path(match["path"]), table=table)
        if isinstance(data, Path) or not _URI.fullmatch(text) or text.count("/") == 1:
            return cls(path=Path(data), table=table)
        if "@" in text or _SECRET.search(text):
            raise InputError(
                "expected the URI of a database without user and password, found one that may hold them (it is not shown). Put "
                f"them into the environment variables {USER} and {PASSWORD}."
            )
        return cls(uri=text, table=table)

    def __str__(self) -> str:
        shown = str(self.path) if self.path is not None else re.split(r"[?;#]", self.uri)[0]
        return shown if self.table is None else f"{shown}, table {self.table!r}"

    def is_there(self) -> bool:
        """Whether there is a file or folder; always true for a URI, which is not asked."""
        try:
            return self.path is None or self.path.is_file() or self.path.is_dir()
        except OSError:  # a name that is too long, or behind a folder that may not be entered
            return False

    def size(self) -> int:
        """Bytes of the file or of all files of the folder that are read; 0 for a URI."""
        return sum(each.stat().st_size for each in self._files())

    def digest(self) -> str:
        """SHA-256 of the file; for a folder of those of its files; of nothing for a URI."""
        files = self._files()
        if self.path is not None and files == [self.path]:
            return file_digest(self.path)
        return hashlib.sha256("".join(map(file_digest, files)).encode()).hexdigest()

    def _files(self) -> list[Path]:
        return [] if self.path is None else parquet_files(self.path)
