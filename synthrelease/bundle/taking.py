"""The name of what will be written, taken before anything is paid for: of two runs into one name one alone is charged.

A folder `.NAME.partial` beside it belongs to the run that made it, as long as that run lives: what is written is put together
in there and then gets its name, as a whole or not at all. A run that was killed leaves the folder behind, and the next one
removes it, whatever its own name is. It is removed only where its writer is surely dead: it was made by this program, on this
machine, and nobody holds the lock that ends with a process. What is not sure is left, and said.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from synthrelease.errors import OutputError

_fcntl: ModuleType | None
try:
    _fcntl = import_module("fcntl")
except ImportError:  # Windows, where no folder can be locked
    _fcntl = None

ENDING = ".partial"
WRITER = "writer"
"""A file in the folder that says which program made it, on which machine."""
CONTENT = "content"
"""In the folder: what will get the name."""
_SPACE = "space"
"""In the folder: a file that keeps space free."""
_MOST_KEPT = 2**30
"""Bytes: some file systems keep space by writing it."""
_TRIES = 100
MAX_NAME = 200
"""Bytes of the folder's name: file systems allow 255, and the folder gets a longer, temporary name first."""


def check_free(folder: str | Path) -> Path:
    """The folder's path, when nothing is there and its parent can be written to.

    Raises
    ------
    OutputError : otherwise. Called before private data are read, so that no budget is lost on a bad path.
    """
    return check_free_name(Path(folder), "a folder")


def check_free_name(path: Path, kind: str) -> Path:
    """The path of a new file or folder. Raises OutputError as `check_free`."""
    if os.path.lexists(path):
        raise OutputError(f"{path}: expected {kind} that does not exist yet, found one. Nothing was overwritten.")
    parent = path.absolute().parent
    if not os.path.isdir(parent):
        raise OutputError(f"{path}: expected an existing folder {parent} to write into, found none.")
    if len(os.fsencode(path.name)) > MAX_NAME:
        raise OutputError(f"{path.name[:50]}...: expected a name of at most {MAX_NAME} bytes, found a longer one.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: expected a folder {parent} that may be written to, found one that may not.")
    return path


@contextmanager
def taking(path: str | Path, kind: str = "a folder") -> Iterator[Path]:
    """The private folder in which what gets the name `path` is put together. It is gone at the end, however that comes.

    Raises
    ------
    OutputError : when another run has taken the name, something has it already, or it cannot be used.
    """
    path = check_free_name(Path(path), kind)
    place, lock = _take(path)
    try:
        check_free_name(path, kind)  # another run may have ended meanwhile
        for other in place.parent.glob(f".*{ENDING}"):
            if other != place:
                _remove_dead(other)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _take(path: Path) -> tuple[Path, int | None]:
    """The folder, which nobody else has, and its lock (None where folders cannot be locked)."""
    place, problem = path.absolute().parent / f".{path.name}{ENDING}", "another run that writes it"
    for _ in range(_TRIES):
        try:
            os.mkdir(place, 0o700)
        except FileExistsError:
            if _remove_dead(place):
                continue
            break
        except OSError as error:
            problem = f"a place that cannot be written to ({error.strerror})"
            break
        lock, sure = _lock(place)
        if sure and lock is None:  # somebody took it for a dead one before it was locked
            continue
        try:
            with open(place / WRITER, "x", encoding="utf-8", opener=_for_its_owner) as file:
                file.write(_mark())
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            problem = f"a place that cannot be written to ({error.strerror})"
            break
        return place, lock
    advice = f" If no run is under way there, remove {place}." if problem.startswith("another") else ""
    raise OutputError(f"{path}: expected a name that nobody else is writing, found {problem}.{advice} Nothing was spent.")


def _remove_dead(place: Path) -> bool:
    """Whether a folder of a dead run was removed, or is gone; False where its run may live, or it is no such folder."""
    lock, sure = _lock(place)
    try:
        if not sure:
            return False
        if lock is None:
            return not os.path.lexists(place)
        inside = sorted(each.name for each in place.iterdir())
        if inside and not (WRITER in inside and (place / WRITER).read_text(encoding="utf-8") == _mark()):
            return False
        shutil.rmtree(place)
        return True
    except (OSError, ValueError):
        return False
    finally:
        if lock is not None:
            os.close(lock)


def _lock(place: Path) -> tuple[int | None, bool]:
    """(The lock of a folder, whether it is sure who holds it). None and sure: another run does, or the folder is gone."""
    if _fcntl is None:
        return None, False
    try:
        found = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, True
    except OSError:  # no folder of ours
        return None, False
    sure = True
    try:
        _fcntl.flock(found, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(found), os.lstat(place)):  # it may have been removed and made anew
            return found, True
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # a file system without locks
        sure = False
    os.close(found)
    return None, sure


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _mark() -> str:
    """What a folder of this program and this machine holds."""
    return f"synthrelease on {platform.node()}\n"


def keep_space(place: Path, size: int) -> None:
    """Ask for space where the name was taken, and keep what the file system lets keep, until `give_back`.

    Parameters
    ----------
    size : bytes.

    Raises
    ------
    OutputError : when there is less.
    """
    free, problem = shutil.disk_usage(place).free, ""
    try:
        if free < size:
            raise OSError(errno.ENOSPC, "")
        if hasattr(os, "posix_fallocate") and size:
            with open(place / _SPACE, "xb", opener=_for_its_owner) as file:
                os.posix_fallocate(file.fileno(), 0, min(size, _MOST_KEPT))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = f"{free / 1e6:.1f} MB" if free < size else "less than a quota leaves"
    if problem:
        give_back(place)
        raise OutputError(
            f"{place.parent}: expected {size / 1e6:.1f} MB of free space, about what the released files take, found {problem}. "
            "Nothing was spent."
        )


def give_back(place: Path) -> None:
    """Free the space that was kept."""
    (place / _SPACE).unlink(missing_ok=True)
