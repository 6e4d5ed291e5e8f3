"""Results of a rehearsal in a SQLite file, written as they come, so that no crash loses more than the attempts in flight."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from synthrelease.errors import InputError, OutputError
from synthrelease.privacy.noise import SYSTEM
from synthrelease.rehearsal.attempts import AttemptResult

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
    generation TEXT NOT NULL, configuration INTEGER NOT NULL, number INTEGER NOT NULL, accepted INTEGER NOT NULL,
    chance REAL NOT NULL, seconds REAL NOT NULL, scores TEXT NOT NULL,
    PRIMARY KEY (generation, configuration, number)
) STRICT;
CREATE TABLE IF NOT EXISTS course (phase TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL) STRICT;
"""


class RehearsalStore:
    """The attempts of one rehearsal."""

    def __init__(self, connection: sqlite3.Connection, about: dict[str, str]):
        self._connection = connection
        self.about = about

    def add(self, results: list[AttemptResult]) -> None:
        """Keep some attempts, at once and all or none of them."""
        rows = [
            (
                str(result.generation),
                result.configuration,
                result.number,
                int(result.accepted),
                result.chance,
                result.seconds,
                json.dumps([result.figures, result.sensitivities, result.passed]),
            )
            for result in results
        ]
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def tell(self, phase: str, done: int, total: int) -> None:
        """Keep how far the rehearsal is, for whoever looks from outside (`standing`)."""
        with self._connection:
            self._connection.execute("DELETE FROM course")
            self._connection.execute("INSERT INTO course VALUES (?, ?, ?)", (phase, done, total))

    def results(self, generation: Fraction) -> Iterator[AttemptResult]:
        """All attempts with this generation budget, by configuration and number, in whatever order they came."""
        query = (
            "SELECT configuration, number, accepted, chance, seconds, scores FROM attempts WHERE generation = ? "
            "ORDER BY configuration, number"
        )
        for configuration, number, accepted, chance, seconds, scores in self._connection.execute(query, (str(generation),)):
            figures, sensitivities, passed = json.loads(scores)
            yield AttemptResult(
                configuration=configuration,
                number=number,
                generation=generation,
                accepted=bool(accepted),
                chance=chance,
                seconds=seconds,
                figures=tuple(figures),
                sensitivities=tuple(sensitivities),
                passed=tuple(passed),
            )


@dataclass(frozen=True, kw_only=True)
class RehearsalProgress:
    """How far a rehearsal is.

    Attributes
    ----------
    phase, done, total : what it does, and how many attempts of how many are done in it; 0 of 0 where they are not counted.
    attempts : that are kept in all.
    """

    phase: str
    done: int
    total: int
    attempts: int


def standing(path: Path) -> RehearsalProgress | None:
    """How far the rehearsal is that writes this file; None where nothing can be read yet. Changes nothing."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            course = connection.execute("SELECT phase, done, total FROM course").fetchone()
            (attempts,) = connection.execute("SELECT count(*) FROM attempts").fetchone()
    except sqlite3.Error:
        return None
    phase, done, total = course or ("", 0, 0)
    return RehearsalProgress(phase=str(phase), done=int(done), total=int(total), attempts=int(attempts))


@contextmanager
def open_store(path: Path, about: dict[str, str]) -> Iterator[RehearsalStore]:
    """Open the file of a rehearsal, or make it.

    Parameters
    ----------
    about : what the results depend on (specification, data, seed, versions). A file of another rehearsal is refused, but a
        seed that is "" takes the one that the file has; a new file draws one.

    Raises
    ------
    InputError : when the file is not a rehearsal's, or belongs to another one.
    OutputError : when it cannot be written, for example because the disk is full. What was kept before stays.
    """
    try:
        connection = sqlite3.connect(path, timeout=60)
    except sqlite3.Error as error:
        raise OutputError(f"{path}: expected a file that can be opened, found one that cannot ({error}).") from None
    try:
        yield RehearsalStore(connection, _checked(connection, path, about))
    except sqlite3.OperationalError as error:
        raise OutputError(f"{path}: the results could not be written ({error}). Those written before are kept.") from None
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: expected the results of a rehearsal, found another kind of file ({error}).") from None
    finally:
        connection.close()


def _checked(connection: sqlite3.Connection, path: Path, about: dict[str, str]) -> dict[str, str]:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_TABLES)
    with connection:  # one transaction: two rehearsals that start together agree
        connection.execute("BEGIN IMMEDIATE")  # a deferred one would start only after the look
        known = dict(connection.execute("SELECT name, value FROM about"))
        if not known:
            about = about | {"seed": about.get("seed") or str(SYSTEM.pick(2**32))}
            connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            return about
    if not about.get("seed"):
        about = about | {"seed": known.get("seed", "")}
    differing = sorted(name for name in known.keys() | about.keys() if known.get(name) != about.get(name))
    if differing:
        raise InputError(
            f"{path}: expected the results of this rehearsal, found those of another ({', '.join(differing)} differs). "
            "Choose another folder for --out, or the same specification, data and seed."
        )
    return known
