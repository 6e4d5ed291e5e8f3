"""The files of a ledger: made whole or not at all, opened only when they can be, and the head file beside them.

A ledger is one SQLite file in write-ahead mode. Beside it stands `<ledger>.head`: how many charges the ledger held when the
last one was confirmed, and the hash of that one. A ledger that holds fewer charges, or others, is not the newest one.
SQLite keeps `-wal` and `-shm` files beside it while it works; what is left of them after a crash belongs to the ledger.
"""

from __future__ import annotations

import glob
import os
import re
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from synthrelease.errors import BudgetError, OutputError
from synthrelease.ledger.entries import Head

WAIT_SECONDS = 30.0
"""How long to wait for another process that writes to the same ledger."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line ends
_HEAD = re.compile(r"synthrelease ledger head 1\n(0|[1-9][0-9]{0,8}) ([0-9a-f]{64})\n")


class LedgerError(BudgetError):
    """The ledger cannot be relied on, or not be written to: refused before any private data are read (exit code 4)."""


def refusal(path: Path, expected: str, found: str, advice: str) -> LedgerError:
    """An error that says what was expected, what was found and what to do."""
    return LedgerError(f"{path}: expected {expected}; found {found}. No private data were read. {advice}.")


def restore(ledger: Path) -> str:
    """What to do about a ledger that is not whole, or not the newest."""
    return (
        f"Restore the newest copy of it together with {head_path(ledger).name}; where there is none, open a new ledger whose "
        "limit is what the steward's logbook leaves of the old one"
    )


def head_path(ledger: Path) -> Path:
    """Where the head file of a ledger is."""
    return ledger.with_name(ledger.name + ".head")


def read_head(ledger: Path) -> Head:
    """The head file. Raises LedgerError when there is none, or one that cannot be read as such."""
    path = head_path(ledger)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise refusal(path, "a head file that can be read", "a folder, pipe or device", _renewal(ledger))
        with path.open("rb") as file:
            content = file.read(1000)
    except FileNotFoundError:
        raise refusal(path, "the head file that belongs to the ledger beside it", "none", _renewal(ledger)) from None
    except OSError as error:
        raise refusal(path, "a head file that can be read", cause(error), _renewal(ledger)) from None
    match = _HEAD.fullmatch(content.decode("latin-1"))
    if match is None:
        raise refusal(path, "the number and the hash of the last charge", "something else", _renewal(ledger))
    return Head(number=int(match[1]), hash=match[2])


def _renewal(ledger: Path) -> str:
    return (
        f"{restore(ledger)}. If only the head file is lost and the steward's logbook has the last head, "
        "`synthrelease ledger renew` makes it again from the two"
    )


def write_head(ledger: Path, head: Head) -> None:
    """Replace the head file as a whole and wait until it is on the disk. Raises OSError."""
    path = head_path(ledger)
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    _write_head(os.open(temporary, _NEW, 0o600), head)
    os.replace(temporary, path)
    sync_folder(path.parent)


def _write_head(descriptor: int, head: Head) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(f"synthrelease ledger head 1\n{head.number} {head.hash}\n".encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def create(path: Path, head: Head, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a ledger file of mode 0600 that appears under its name when it is complete and on the disk.

    The head file comes first: a crash between the two leaves a head of no charges, which the next attempt takes over.
    Needs a file system with hard links, which never replace a file as a rename would (Windows renames without replacing).

    Raises
    ------
    OutputError : when something is there already, or it cannot be written.
    """
    check_free(path)
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            _durable(database)
            database.execute("PRAGMA page_size = 1024")
            database.execute("PRAGMA journal_mode = WAL")
            fill(database)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _create_head(path, head)
        sync_folder(path.parent)
        _appear(temporary, path)
        sync_folder(path.parent)
    except FileExistsError:
        raise _taken(path) from None
    except (OSError, sqlite3.Error) as error:
        raise OutputError(f"{path}: the ledger could not be created ({cause(error)}). Nothing was charged.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_free(path: Path) -> None:
    """Raises OutputError when a ledger, or anything left of one, is at `path`, or there is no folder for it."""
    if not os.path.isdir(path.parent):
        raise OutputError(f"{path}: expected an existing folder {path.parent} to write into, found none.")
    for name in (path, *_companions(path)):
        if os.path.lexists(name):
            raise _taken(name)
    if os.path.lexists(head_path(path)) and read_head(path).number > 0:
        raise OutputError(
            f"{head_path(path)}: belongs to a ledger with charges that is no longer there. Restore the ledger: a new one "
            "would forget what was spent."
        )


def _taken(path: Path) -> OutputError:
    return OutputError(f"{path}: expected no file, found one. A ledger is never overwritten: use it, or choose another name.")


def _create_head(path: Path, head: Head) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.head.", dir=path.parent)
    try:
        _write_head(descriptor, head)
        _appear(Path(temporary), head_path(path))
    except FileExistsError:
        if read_head(path) != head:
            raise OutputError(
                f"{head_path(path)}: another ledger is being opened here, or was when the machine stopped. If no other "
                "process is opening it, delete this file (it holds no charge) and try again."
            ) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _appear(temporary: Path, path: Path) -> None:
    """Give a complete file its name, without ever replacing another. Raises FileExistsError."""
    if os.name == "nt":
        os.rename(temporary, path)  # refuses to replace
    else:
        os.link(temporary, path)
        temporary.unlink(missing_ok=True)  # another process may have tidied up


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Windows has no such call; its file system logs names itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cause(error: Exception) -> str:
    """An error in a word or two that cannot quote a file: the system's text, or SQLite's name of it."""
    return getattr(error, "strerror", None) or getattr(error, "sqlite_errorname", None) or type(error).__name__


@contextmanager
def connected(path: Path, *, writable: bool) -> Iterator[sqlite3.Connection]:
    """A connection for one operation. What SQLite cannot do becomes a LedgerError; an open transaction is undone.

    The file is never opened in another way: closing it would drop the locks of SQLite in this process (POSIX).
    """
    _check_names(path)
    fixed = not writable and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    if fixed and any(os.path.lexists(name) and os.path.getsize(name) > 0 for name in _companions(path)):
        raise refusal(path, "a complete ledger", "an unfinished one that may not be written to", "Show it as its owner")
    address = f"{path.as_uri()}?{'mode=ro&immutable=1' if fixed else 'mode=rw'}"  # fixed: SQLite can make no companions
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=WAIT_SECONDS)) as opened:
            _durable(opened)
            if not writable:
                opened.execute("PRAGMA query_only = ON")
            if not fixed and opened.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                raise refusal(path, "a ledger with a write-ahead file", "another SQLite file", restore(path))
            yield opened
    except (sqlite3.Error, UnicodeError, OverflowError) as error:  # the latter two: damaged text and sizes
        raise refusal(path, *_explain(path, error)) from None
    except OSError as error:
        raise refusal(path, "a ledger that can be used", cause(error), "Repair the disk or its rights") from None


def _durable(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA fullfsync = ON")  # for macOS, whose plain fsync does not reach the disk
    database.execute("PRAGMA checkpoint_fullfsync = ON")
    database.execute("PRAGMA trusted_schema = OFF")


def settle(database: sqlite3.Connection) -> bool:
    """Move everything from the write-ahead file into the ledger itself, on the disk. False when another process hinders."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        blocked, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not blocked:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal")]


def _check_names(path: Path) -> None:
    """One file, one name: a second name would have a write-ahead file and a head of its own."""
    try:
        if not path.is_file():
            raise refusal(path, "a ledger", "no such file", "Open one with `synthrelease ledger open`, or correct the name")
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
            if left.samefile(path):
                left.unlink()  # the process that made the ledger was stopped before it could do this
        names = path.stat().st_nlink
    except OSError as error:
        raise refusal(path, "a ledger that can be read", cause(error), "Repair the disk or its rights") from None
    if names != 1:
        raise refusal(path, "one name for the file", f"{names} (hard links)", "Delete the others; make backups as copies")
    for name in _companions(path):
        if _is_odd(name):
            advice = f"It is not of this program. {restore(path)}"
            raise refusal(name, "a file that SQLite made", "a link or something else", advice)
    if os.path.lexists(path.with_name(path.name + "-journal")):
        raise refusal(path, "no -journal file beside it", "one", f"It is not of this program. {restore(path)}")


def _is_odd(path: Path) -> bool:
    """Whether something other than a regular file is there. It may vanish at any time: SQLite tidies up."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _explain(path: Path, error: Exception) -> tuple[str, str, str]:
    """Expected, found, what to do, for an error of SQLite. Its own text is left out where it could quote the file."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "a ledger that is free", f"another process writing to it for {WAIT_SECONDS:g} seconds", "Try again later"
    if name.startswith("SQLITE_FULL"):
        return "space on the disk", "none", "Free some; `synthrelease ledger show` tells whether a charge was recorded"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return "a ledger and a folder that may be written to", "ones that may not", "Repair the rights or choose another disk"
    if name.startswith("SQLITE_IOERR"):
        advice = "Check the disk; `synthrelease ledger show` tells whether a charge was recorded"
        return "a disk that can be read and written", "an error of the disk, or a full one", advice
    return "a ledger", "another file, or a damaged one", restore(path)
