"""Read and write the files of a privacy ledger: an SQLite file of entries with a chain of hashes, and a head file.

The ledger is in write-ahead mode. The file `<ledger>.head` beside it records the number of charges when the last charge was
confirmed, and the hash of that charge; a ledger with fewer or different charges is not the newest copy. `-wal` and `-shm` files
that remain after a crash belong to the ledger.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from synthrelease.errors import BudgetError, OutputError, so_many
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.charges import decimal_text, exact
from synthrelease.privacy.plan import MOST_YEARS, Horizon, Loss, over_years
from synthrelease.privacy.subsets import MOST_PIECES, Spent, Split

Value = TypeVar("Value")

# A ledger stores exact rationals as strings: "numerator/denominator" in lowest terms.

_RATIONAL = re.compile(r"(0|[1-9][0-9]{0,99})/([1-9][0-9]{0,99})")


def to_text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def from_text(text: object) -> Fraction:
    """Parse "numerator/denominator" in lowest terms. Raises ValueError for any other text."""
    match = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("The text is not of the form numerator/denominator")
    value = Fraction(int(match[1]), int(match[2]))
    if to_text(value) != text:
        raise ValueError("The fraction is not in lowest terms")
    return value


# An entry has notes in addition to its charge, stored as one text: a piece, a split, a year, a multi-year plan, a scout or its
# release.

_PIECE = re.compile(r"[1-9][0-9]{0,3}")
_YEAR = re.compile(r"year (-?[0-9]{1,4})( again)?")
_SPLIT = re.compile(r"split ([1-9][0-9]{0,3}) ([0-9a-f]{64}) ([0-9a-f]{64})")
_CAP = re.compile(r"scout ([0-9/]+) ([0-9/]+) ([0-9/]+) ([0-9/]+) ([0-9/]+)(?: ([0-9a-f]{64}))?")
_SCOUTED = re.compile(r"release of scout ([1-9][0-9]{0,5})")
_HORIZON = re.compile(r"years (-?[0-9]{1,4}) ([0-9,/]+) ([0-9/]+) ([1-9][0-9]{0,3}) ([1-9][0-9]{0,5}) ([0-9]{1,3}) ([0-9/]+)")


@dataclass(frozen=True, kw_only=True)
class Notes:
    """Public facts about a run that a ledger entry records besides the charge.

    Attributes
    ----------
    piece : the piece of the register that the release reads, or None for all rows.
    split : the split, if the entry records one, at no cost.
    year, again : the year of the release, or None without a multi-year plan, and whether the release is the second of this
        year.
    horizon : the multi-year plan, if the entry records one, at no cost.
    cap : for a scout, the cap on the scout and a release after it.
    persons : for a scout, the SHA-256 digest of the name of the column that identifies the person, or "" if each row is a
        record.
    scouted : for a release after a scout, the number of the scout's entry. The two entries add up to the cap.
    """

    piece: int | None = None
    split: Split | None = None
    year: int | None = None
    again: bool = False
    horizon: Horizon | None = None
    cap: Cap | None = None
    persons: str = ""
    scouted: int | None = None

    @property
    def once(self) -> bool:
        """Return whether the entry records a split or a multi-year plan, of which a ledger has at most one each."""
        return self.split is not None or self.horizon is not None

    @property
    def text(self) -> str:
        """Return the stored and hashed text of the notes."""
        if self.split is not None:
            return f"split {self.split.pieces} {self.split.key} {self.split.register}"
        if (plan := self.horizon) is not None:
            epsilons = ",".join(map(to_text, plan.epsilons))
            second = f"{plan.fallbacks} {to_text(plan.fallback_epsilon)}"
            return f"years {plan.first} {epsilons} {to_text(plan.delta)} {plan.in_year} {plan.in_all} {second}"
        if self.cap is not None:
            amounts = self.cap.epsilon, self.cap.delta, self.cap.rho, self.cap.rare, self.cap.tests
            return f"scout {' '.join([*map(to_text, amounts), *filter(None, [self.persons])])}"
        if self.scouted is not None:
            return f"release of scout {self.scouted}"
        if self.year is not None:
            return f"year {self.year}{' again' if self.again else ''}"
        return "" if self.piece is None else str(self.piece)


NONE = Notes()
"""Empty notes, as most entries have them."""


def _only(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def notes_of(text: object, earlier: Sequence[Notes]) -> Notes:
    """Parse the stored text of the notes of an entry.

    Raises
    ------
    ValueError : if the text is not valid or contradicts `earlier`, the notes with a split or a multi-year plan.
    """
    split, horizon = _only(notes.split for notes in earlier), _only(notes.horizon for notes in earlier)
    result = _read(text) if isinstance(text, str) else None
    if result is None or result.text != text:
        raise ValueError("The notes of an entry are malformed")
    second = (result.split is not None and split is not None) or (result.horizon is not None and horizon is not None)
    no_piece = result.piece is not None and (split is None or result.piece > split.pieces)
    no_year = result.year is not None and (horizon is None or result.year not in horizon.years)
    if second or no_piece or no_year:
        raise ValueError("The notes of an entry contradict the notes of earlier entries")
    return result


def _read(text: str) -> Notes | None:
    if match := _SPLIT.fullmatch(text):
        split = Split(pieces=int(match[1]), key=match[2], register=match[3])
        return Notes(split=split) if 2 <= split.pieces <= MOST_PIECES else None
    if match := _HORIZON.fullmatch(text):
        epsilons = tuple(from_text(amount_text) for amount_text in match[2].split(","))
        plan = Horizon(
            first=int(match[1]),
            epsilons=epsilons,
            delta=from_text(match[3]),
            in_year=int(match[4]),
            in_all=int(match[5]),
            fallbacks=int(match[6]),
            fallback_epsilon=from_text(match[7]),
        )
        return Notes(horizon=plan) if len(epsilons) <= MOST_YEARS else None
    if match := _CAP.fullmatch(text):
        epsilon, delta, rho, rare, tests = map(from_text, match.groups()[:5])
        return Notes(cap=Cap(epsilon=epsilon, delta=delta, rho=rho, rare=rare, tests=tests), persons=match[6] or "")
    if match := _SCOUTED.fullmatch(text):
        return Notes(scouted=int(match[1]))
    if match := _YEAR.fullmatch(text):
        return Notes(year=int(match[1]), again=match[2] is not None)
    if _PIECE.fullmatch(text):
        return Notes(piece=int(text))
    return None if text else Notes()


# `Statement` and `Entry` are the content of a ledger, with its sums and its chain of hashes.
#
# The first hash covers the format, the dataset and its limits; the hash of an entry covers the hash before it and the entry.
# An entry also has the domain of a release that publishes its number of rows exactly, and the entry's notes (`Notes`).
# Rationals are written "numerator/denominator" in lowest terms, never as floats, so that sums and comparisons are exact.

FORMAT = 1
BEFORE = 3
"""The number that the last versions before 1.0.0 wrote for format 1."""
_LARGEST_DENOMINATOR = 10**1000
_BEGINNING = re.compile(r"[0-9a-f]{16,64}")

_DOMAIN = re.compile(r"[0-9a-f]{64}")

Row = tuple[int | str, ...]
"""An entry as it is stored: number, start, purpose, epsilon, delta, domain (or ""), text of the notes, and hash."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The state of a ledger: the number of charges, and the hash of the last charge."""

    number: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of a ledger: the start of the run (UTC), the purpose and the cost.

    `hash` covers this entry and `previous`, the hash before it. `domain` is the digest of the domain of a release that
    publishes its number of rows exactly, otherwise None.
    """

    previous: str
    number: int
    started: str
    what: str
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    domain: str | None = None
    notes: Notes = NONE

    @property
    def _fields(self) -> list[int | str]:
        amounts = to_text(self.epsilon), to_text(self.delta)
        return [self.number, self.started, self.what, *amounts, self.domain or "", self.notes.text]

    @cached_property
    def hash(self) -> str:
        return _digest([self.previous, *self._fields])

    @property
    def head(self) -> Head:
        return Head(number=self.number, hash=self.hash)

    def row(self) -> Row:
        return (*self._fields, self.hash)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The verified content of a ledger: the dataset, its limits on epsilon and delta, and the entries in order. The first hash
    covers the number `format`."""

    dataset: str
    epsilon_limit: Fraction
    delta_limit: Fraction
    entries: tuple[Entry, ...] = ()
    format: int = FORMAT

    @property
    def epsilons(self) -> Spent:
        return Spent.of((entry.notes.piece, entry.epsilon) for entry in self.entries)

    @property
    def deltas(self) -> Spent:
        return Spent.of((entry.notes.piece, entry.delta) for entry in self.entries)

    @property
    def epsilon(self) -> Fraction:
        """Return the epsilon charged so far to all rows and to the most expensive piece. With a multi-year plan, it is the
        largest epsilon of a person."""
        return self.epsilons.most if self.horizon is None else self.of_a_person.epsilon

    @property
    def delta(self) -> Fraction:
        """Return the delta charged so far, in the same way as `epsilon`."""
        return self.deltas.most if self.horizon is None else self.of_a_person.delta

    @property
    def of_a_person(self) -> Loss:
        """Return the largest privacy loss of a person so far under a multi-year plan, with delta 1 if there is no guarantee."""
        plan = self.horizon
        if plan is None:
            return Loss(self.epsilon, self.delta)
        paid = {year: [Fraction(0), Fraction(0)] for year in plan.years}
        for entry in self.entries:
            if entry.notes.year is not None:
                paid[entry.notes.year][0] += entry.epsilon
                paid[entry.notes.year][1] += entry.delta
        losses = [Loss(*amounts) for amounts in paid.values()]
        return over_years(losses, plan.in_year, plan.in_all) or Loss(self.epsilons.most * plan.in_all, Fraction(1))

    @property
    def horizon(self) -> Horizon | None:
        return _only(entry.notes.horizon for entry in self.entries)

    @property
    def split(self) -> Split | None:
        return _only(entry.notes.split for entry in self.entries)

    @property
    def domain(self) -> str | None:
        """Return the digest of the domain for which releases published their number of rows exactly, or None if none did."""
        return _only(entry.domain for entry in self.entries)

    @property
    def head(self) -> Head:
        """Return the number and hash of the last entry."""
        return Head(number=len(self.entries), hash=self._hash(len(self.entries)))

    def holds(self, head: Head) -> bool:
        return head.number <= len(self.entries) and self._hash(head.number) == head.hash

    def knows(self, beginning: str) -> bool:
        """Return whether one of the ledger's hashes starts with these (at least 16) hexadecimal digits."""
        hashes = (self._hash(number) for number in range(len(self.entries) + 1))
        return _BEGINNING.fullmatch(beginning) is not None and any(digest.startswith(beginning) for digest in hashes)

    def with_charge(self, **facts: Any) -> Statement:
        """Return the content of the ledger with one more entry. `facts` are its fields, except its number and the previous
        hash."""
        entry = Entry(previous=self.head.hash, number=len(self.entries) + 1, **facts)
        return replace(self, entries=(*self.entries, entry))

    def logbook_line(self) -> str:
        """Return the line that the steward copies into a logbook after each run."""
        return (
            f"{self.dataset}: {so_many(len(self.entries), 'charge')}, "
            f"epsilon {shown(self.epsilon)} of {shown(self.epsilon_limit)}, "
            f"delta {shown(self.delta)} of {shown(self.delta_limit)}, head {self.head.hash[:16]}"
        )

    def _hash(self, number: int) -> str:
        if number > 0:
            return self.entries[number - 1].hash
        account = [self.dataset, to_text(self.epsilon_limit), to_text(self.delta_limit)]
        return _digest(["synthrelease ledger", self.format, *account])


def domain_of(text: object) -> str | None:
    """Return the digest of the domain (columns, bounds and rules) of an entry, or None for "". Raises ValueError for any other
    text that is no SHA-256 digest."""
    if text == "":
        return None
    if not (isinstance(text, str) and _DOMAIN.fullmatch(text)):
        raise ValueError("The domain is not an SHA-256 digest")
    return text


def _digest(fields: list[str | int]) -> str:
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")).hexdigest()


def amount(name: str, number: str | int | float | Fraction) -> Fraction:
    """Return an exact epsilon, delta or limit. Raises BudgetError unless it is a number of at least 0 with at most 100
    digits."""
    try:
        return from_text(to_text(exact(number)))
    except ValueError:
        raise BudgetError(f"{name} must be a number of at least 0 with at most 100 digits.") from None


def summed(statement: Statement) -> Statement:
    """Return the statement. Raises BudgetError if a sum of its charges has too many digits to be computed and shown."""
    for amounts in ([entry.epsilon for entry in statement.entries], [entry.delta for entry in statement.entries]):
        total = Fraction(0)
        for amount_of_entry in amounts:
            total += amount_of_entry
            if total.denominator > _LARGEST_DENOMINATOR:
                raise BudgetError(
                    "The sum of all charges would have more than a thousand digits. Use decimal numbers with fewer digits."
                )
    return statement


def one_line(name: str, text: str, longest: int) -> str:
    """Return a text that is one printable line of at most `longest` characters. Raises BudgetError for any other text."""
    if not (isinstance(text, str) and 0 < len(text) <= longest and text.isprintable() and text.strip() == text):
        raise BudgetError(
            f"{name} must be one line of 1 to {longest} printable characters, without a space at the start or end."
        )
    return text


def printable(text: str, longest: int) -> str:
    """Return a title as `one_line` accepts it: unprintable characters become spaces, and a long title is cut. The result may be
    ""."""
    return "".join(character if character.isprintable() else " " for character in text).strip()[:longest].strip()


def shown(value: Fraction) -> str:
    """Return an exact rational as a decimal if this is exact (small numbers as 1.5e-12), otherwise as a fraction."""
    texts = (decimal_text(value), f"{float(value):.6g}")
    return next((text for text in texts if Fraction(text) == value), to_text(value))


WAIT_SECONDS = 30.0
"""Longest time to wait for another process that writes to the same ledger, in seconds."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line ends
_REPAIR = "Check the disk and the permissions of the file"
_HEAD = re.compile(r"synthrelease ledger head 1\n(0|[1-9][0-9]{0,8}) ([0-9a-f]{64})\n")


class LedgerError(BudgetError):
    """A ledger is unreliable or cannot be written. No private data were read (exit code 4)."""


def refusal(path: Path, problem: str, advice: str) -> LedgerError:
    """Return the error for an unreliable ledger: problem and advice, without a full stop at the end."""
    return LedgerError(f"{path}: {problem}. No private data were read. {advice}.")


def restore(ledger: Path) -> str:
    return (
        f"Restore the newest backup of the ledger together with its {head_path(ledger).name}. If you have no backup, open a "
        "new ledger whose limit is the old limit minus the charges in the steward's logbook"
    )


def head_path(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".head")


def read_head(ledger: Path) -> Head:
    """Read the head file of a ledger. Raises LedgerError if it is missing, cannot be read or is not a head file."""
    path = head_path(ledger)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise refusal(path, "The head file is a folder, pipe or device", _renewal(ledger))
        with path.open("rb") as file:
            content = file.read(1000)
    except FileNotFoundError:
        raise refusal(path, "The head file of the ledger is missing", _renewal(ledger)) from None
    except OSError as error:
        raise refusal(path, f"The head file cannot be read ({cause(error)})", _renewal(ledger)) from None
    match = _HEAD.fullmatch(content.decode("latin-1"))
    if match is None:
        problem = "The file does not contain the number and the hash of the last charge, as a head file does"
        raise refusal(path, problem, _renewal(ledger))
    return Head(number=int(match[1]), hash=match[2])


def _renewal(ledger: Path) -> str:
    return (
        f"{restore(ledger)}. If only the head file is lost and the steward's logbook contains the last head, write the head "
        "file again from the ledger and this head with `synthrelease ledger renew`"
    )


def write_head(ledger: Path, head: Head) -> None:
    """Replace the head file atomically, and wait until it is on the disk. Raises OSError."""
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
    """Create a ledger file of mode 0600, which gets its name only when it is complete and on the disk.

    The head file is written first; after a crash in between, the next attempt reuses it. The file system must support hard
    links, which never replace a file.

    Raises
    ------
    OutputError : if a file already exists at the path, or if the ledger cannot be written.
    """
    check_no_ledger(path)
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
        appear(temporary, path)
        sync_folder(path.parent)
    except FileExistsError:
        raise _taken(path) from None
    except (OSError, sqlite3.Error) as error:
        raise OutputError(f"Cannot create the ledger {path} ({cause(error)}). Nothing was charged.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_no_ledger(path: Path) -> None:
    """Raise OutputError if no new ledger can be created at `path`. A head file without charges may be there."""
    if not os.path.isdir(path.parent):
        raise OutputError(f"Cannot create the ledger {path}, because the folder {path.parent} does not exist.")
    for name in (path, *_companions(path)):
        if os.path.lexists(name):
            raise _taken(name)
    if os.path.lexists(head_path(path)) and read_head(path).number > 0:
        raise OutputError(
            f"{head_path(path)}: This file belongs to a ledger with charges, but the ledger no longer exists. Restore the "
            "ledger. A new ledger would not contain the spent budget."
        )


def _taken(path: Path) -> OutputError:
    return OutputError(
        f"{path}: There is already a file with this name, and a ledger is never overwritten. Use the existing file if it is "
        "the ledger of your dataset, or choose another name."
    )


def _create_head(path: Path, head: Head) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.head.", dir=path.parent)
    try:
        _write_head(descriptor, head)
        appear(Path(temporary), head_path(path))
    except FileExistsError:
        if read_head(path) != head:
            raise OutputError(
                f"{head_path(path)}: Another process is creating a ledger with this name, or the machine stopped while a "
                "ledger was created. If no other process is creating it, delete this file, which contains no charge, and try "
                "again."
            ) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def appear(temporary: Path, path: Path) -> None:
    """Rename a complete file without replacing an existing file. Raises FileExistsError."""
    if os.name == "nt":
        os.rename(temporary, path)  # refuses to replace
    else:
        os.link(temporary, path)
        temporary.unlink(missing_ok=True)  # another process may have removed the file


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder have been written to the disk. Windows needs no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cause(error: Exception) -> str:
    """Return a short description of an error that cannot quote the file."""
    return getattr(error, "strerror", None) or getattr(error, "sqlite_errorname", None) or type(error).__name__


@contextmanager
def connected(path: Path, *, writable: bool) -> Iterator[sqlite3.Connection]:
    """Open a connection to the ledger for one operation. If SQLite fails, the transaction is rolled back and a LedgerError is
    raised.

    Ledger files must not be opened in any other way: on POSIX systems, closing such a file would release SQLite's locks in this
    process.
    """
    _check_names(path)
    fixed = not writable and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    if fixed and any(os.path.lexists(name) and os.path.getsize(name) > 0 for name in _companions(path)):
        problem = "The ledger has an unfinished change, and you may only read it"
        raise refusal(path, problem, "Run the command as the owner of the ledger")
    address = f"{path.as_uri()}?{'mode=ro&immutable=1' if fixed else 'mode=rw'}"  # fixed: SQLite cannot create further files
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=WAIT_SECONDS)) as opened:
            _durable(opened)
            if not writable:
                opened.execute("PRAGMA query_only = ON")
            if not fixed and opened.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                raise refusal(path, "This SQLite file is not a ledger, because it uses no write-ahead file", restore(path))
            yield opened
    except (sqlite3.Error, UnicodeError, OverflowError) as error:  # the last two errors: damaged text and sizes
        raise refusal(path, *_explain(path, error)) from None
    except OSError as error:
        raise refusal(path, f"The ledger cannot be used ({cause(error)})", _REPAIR) from None


def _durable(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA fullfsync = ON")  # on macOS, plain fsync does not reach the disk
    database.execute("PRAGMA checkpoint_fullfsync = ON")
    database.execute("PRAGMA trusted_schema = OFF")


def settle(database: sqlite3.Connection) -> bool:
    """Move all changes from the write-ahead file into the ledger file on the disk. Return False if another process prevents
    this."""
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
    """Raise LedgerError unless the ledger has only one name. A second name would have a write-ahead file and a head file of its
    own."""
    try:
        if not path.is_file():
            raise refusal(path, "There is no such file", "Correct the name, or create a ledger with `synthrelease ledger open`")
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
            if left.samefile(path):
                left.unlink()  # the process that made the ledger was stopped before it could do this
        names = path.stat().st_nlink
    except OSError as error:
        raise refusal(path, f"The ledger cannot be read ({cause(error)})", _REPAIR) from None
    if names != 1:
        problem = f"The ledger must have only one name, but this file has {names} (hard links)"
        raise refusal(path, problem, "Delete the other links. Make backups as copies")
    for name in _companions(path):
        if _is_odd(name):
            advice = f"This program did not write it. {restore(path)}"
            raise refusal(name, "This is not a regular file, as SQLite makes it beside a ledger", advice)
    if os.path.lexists(path.with_name(path.name + "-journal")):
        raise refusal(path, "There is a -journal file beside the ledger", f"This program did not write it. {restore(path)}")


def _is_odd(path: Path) -> bool:
    """Return whether something other than a regular file has this name. False if SQLite has deleted the file."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _explain(path: Path, error: Exception) -> tuple[str, str]:
    """Return the problem and advice for an error of SQLite, without its message, which could quote the file."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"Another process has been writing to the ledger for {WAIT_SECONDS:g} seconds", "Try again later"
    if name.startswith("SQLITE_FULL"):
        return "The disk is full", "Free some space. `synthrelease ledger show` shows whether a charge was recorded"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return "You have no permission to write the ledger or its folder", "Change the permissions, or use another folder"
    if name.startswith("SQLITE_IOERR"):
        advice = "Check the disk. `synthrelease ledger show` shows whether a charge was recorded"
        return "The disk is full, or it cannot be read or written", advice
    return "The file is not a ledger, or it is damaged", restore(path)


# The SQLite tables of a ledger. When they are read, each row is compared with its hash.

MARK = 0x53724C31
"""The application_id of a ledger in SQLite: "SrL1"."""
TABLES = {
    "account": "CREATE TABLE account (dataset TEXT NOT NULL, epsilon_limit TEXT NOT NULL, delta_limit TEXT NOT NULL)",
    "charges": "CREATE TABLE charges (number INTEGER PRIMARY KEY, started TEXT NOT NULL, what TEXT NOT NULL, "
    "epsilon TEXT NOT NULL, delta TEXT NOT NULL, domain TEXT NOT NULL, piece TEXT NOT NULL, hash TEXT NOT NULL)",
}


def read_entries(path: Path, database: sqlite3.Connection) -> Statement:
    """Read all entries, and compare each row with its hash. Raises LedgerError."""
    mark, version = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if mark != MARK:
        raise refusal(path, "This is not a ledger of synthrelease", "Correct the name, or open a new ledger with another name")
    if version not in (FORMAT, BEFORE):
        advice = "Use the version that wrote it, or open a new ledger with the remaining budget as its limit"
        problem = f"The ledger has format {version}. This version of synthrelease reads the formats {FORMAT} and {BEFORE}"
        raise refusal(path, problem, advice)
    if database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() != sorted(TABLES.items()):
        raise refusal(path, "The tables are not those of a ledger", restore(path))  # before reading: a view may never end
    sound = [row[0] for row in database.execute("PRAGMA integrity_check")]
    accounts = database.execute("SELECT dataset, epsilon_limit, delta_limit FROM account").fetchall()
    if sound != ["ok"] or len(accounts) != 1:
        raise refusal(path, "The tables of the ledger are damaged", restore(path))
    dataset, epsilon_limit, delta_limit = accounts[0]
    fixed: list[Notes] = []
    number = 0
    try:
        statement = Statement(
            dataset=one_line("The name", dataset, 100),
            epsilon_limit=from_text(epsilon_limit),
            delta_limit=from_text(delta_limit),
            format=version,
        )
        entries, previous = list[Entry](), statement.head.hash
        for row in database.execute("SELECT * FROM charges ORDER BY number"):
            number += 1
            entry = Entry(
                previous=previous,
                number=number,
                started=one_line("The time", row[1], 40),
                what=one_line("The purpose", row[2], 200),
                epsilon=from_text(row[3]),
                delta=from_text(row[4]),
                domain=domain_of(row[5]),
                notes=notes_of(row[6], fixed),
            )
            if entry.notes.once:
                fixed.append(entry.notes)
            if row != entry.row():
                raise ValueError
            entries.append(entry)
            previous = entry.hash
        return summed(replace(statement, entries=tuple(entries)))
    except (ValueError, TypeError, AttributeError, BudgetError):
        damaged = f"Charge {number}" if number else "The account"
        raise refusal(path, f"{damaged} was changed or is damaged", restore(path)) from None
