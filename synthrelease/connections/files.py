"""The files that hold the rows of one table: one, those of a folder, those that a pattern fits, those of an object store.

A folder, a pattern and a store give Parquet and CSV files alone. What a file is, and that it stays as it is while it is read,
is found out without looking at a row. No name of a file is shown: one such as `year=2019` is a value of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Literal

from synthrelease.errors import InputError

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
    """The file itself, or the Parquet and CSV files of a folder in the order of their names.

    Names that begin with a dot or an underscore are left out, as other programs do: they are notes of the program that wrote
    the folder. Anything else refuses the folder, because it could hold rows that were left out unseen.
    """
    if not path.is_dir():
        return [path]
    try:
        inside = sorted((each for each in path.iterdir() if each.name[0] not in "._"), key=lambda each: each.name)
        kinds = [("folders" if each.is_dir() else "" if _is_table(each) else "other files") for each in inside]
    except OSError:
        inside, kinds = [], ["something that cannot be opened"]
    _check("a folder", kinds if inside or kinds else ["none"])
    return inside


def fitting(pattern: Path) -> list[Path]:
    """Whatever fits, in order. Raises OSError or ValueError."""
    fixed = list(takewhile(lambda part: not is_pattern(part), pattern.parts))
    return sorted(Path(*fixed).glob("/".join(pattern.parts[len(fixed) :]))) if len(fixed) < len(pattern.parts) else []


def pattern_files(pattern: Path) -> list[Path]:
    """The files whose paths fit a pattern such as `births/2019-*.csv`, in the order of their paths: tables, all of them."""
    try:
        found = fitting(pattern)
        kinds = [("folders" if each.is_dir() else "" if _is_table(each) else "other files") for each in found]
    except (OSError, ValueError):
        found, kinds = [], ["something that cannot be opened"]
    _check("a pattern that fits", kinds if found or kinds else ["none"])
    return found


def stored_files(uri: str) -> list[StoredFile]:
    """The file of an object store, those of a folder of it, or those that a pattern fits, in the order of their names."""
    files, path = _store_of(uri)
    protocol, problem = uri.partition("://")[0], ""
    try:
        files.invalidate_cache()
        if is_pattern(path):
            found = sorted(files.glob(path))
        elif files.isdir(path):
            found = sorted(name for name in files.find(path) if name.rpartition("/")[2][:1] not in ("", ".", "_"))
        else:
            found = [path] if files.exists(path) else []
        kinds = ["folders" if files.isdir(name) or "/" in _below(name, path) else "" for name in found]
    except Exception:  # stores fail in many ways, and may say who asked
        problem = f"expected an object store of {protocol} that answers, found one that does not."
    if problem:
        raise InputError(problem)
    stored = [StoredFile(f"{protocol}://{name.partition('://')[2] or name}") for name in found]
    if found != [path]:
        tables = [each.name.endswith((".parquet", *CSV_NAMES)) for each in stored]
        kinds = [kind or ("" if table else "other files") for kind, table in zip(kinds, tables, strict=True)]
    _check("a folder or pattern of an object store", kinds or ["none"])
    return stored


def _below(name: str, folder: str) -> str:
    """What follows the folder in a name, where it is no pattern."""
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
    """Where something was found, without a name."""
    return f"This was found in file {number} of {n_files}, in the order of their names."


def state_of(file: File) -> State:
    """What tells that a file was written. Raises InputError for one that is gone, or a store that tells nothing but sizes."""
    problem = ""
    try:
        if isinstance(file, Path):
            found = file.stat()
            return (str(found.st_size), str(found.st_mtime_ns), str(found.st_ino))
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
    """The files and their states. Raises InputError when there are others in the end, or one was written."""

    def now() -> list[tuple[Sequence[File], list[State]]]:
        return [(files, [*map(state_of, files)]) for files in listed()]

    before = now()
    yield before
    if now() != before:
        raise InputError(CHANGED)


def size_of(file: File) -> int:
    """Bytes."""
    if isinstance(file, Path):
        return file.stat().st_size
    files, path = _store_of(file.uri)
    return int(files.size(path))


def _store_of(uri: str) -> tuple[Any, str]:
    """(file system of fsspec, path in it). Raises InputError where a library is missing."""
    from synthrelease.libraries import library

    protocol, problem = uri.partition("://")[0], ""
    core = library("fsspec.core", "fsspec", f"files of {protocol}", "stores")
    try:
        return core.url_to_fs(uri)
    except ImportError:
        problem = f"expected the library that fsspec needs for files of {protocol} (s3fs, gcsfs, adlfs), found none."
    except Exception:  # which may hold who asks
        problem = f"expected an object store of {protocol} that can be opened, found one that cannot."
    raise InputError(problem)
