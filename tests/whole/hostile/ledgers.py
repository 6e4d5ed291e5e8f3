"""Hostile ledgers: a small valid one, then rewritten, damaged, or with odd files beside it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from synthrelease.privacy.charges import mechanism
from synthrelease.privacy.ledger import open_ledger
from synthrelease.privacy.ledger_file import Statement

STATEMENTS = (
    "UPDATE charges SET epsilon = '{}'",
    "UPDATE charges SET delta = '{}' WHERE number = 1",
    "UPDATE charges SET number = number + 1000000000000",
    "UPDATE charges SET hash = '{}'",
    "UPDATE account SET epsilon_limit = '{}'",
    "UPDATE account SET dataset = '{}'",
    "UPDATE account SET dataset = zeroblob(1000)",
    "UPDATE charges SET what = x'ff00fe', started = x'00'",
    "UPDATE charges SET what = replace(hex(zeroblob(1000000)), '0', 'x')",
    "DELETE FROM account",
    "INSERT INTO account VALUES ('coins', '1000000/1', '0/1')",
    "DELETE FROM charges WHERE number = 1",
    "DROP TABLE charges",
    "DROP TABLE account",
    "ALTER TABLE charges ADD COLUMN refund TEXT DEFAULT '0/1'",
    "CREATE TABLE more (x)",
    "CREATE TRIGGER t AFTER INSERT ON charges BEGIN DELETE FROM charges; END",
    "CREATE INDEX i ON charges (what)",
    "PRAGMA user_version = {}",
    "PRAGMA application_id = {}",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA journal_mode = OFF",
    "DROP TABLE account; CREATE VIEW account AS WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS dataset, x AS epsilon_limit, x AS delta_limit FROM n",
    "DROP TABLE charges; CREATE VIEW charges AS WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS number, 'a' AS started, 'a' AS what, '1/1' AS epsilon, '0/1' AS delta, '' AS domain, 'a' AS hash FROM n",
    "WITH RECURSIVE n(x) AS (VALUES(10) UNION ALL SELECT x + 1 FROM n WHERE x < 30000) "
    "INSERT INTO charges SELECT x, 'a', 'a', '1/1', '0/1', '', '', 'a' FROM n",
)
WORDS = ("1/0", "-1/7", "1", "NaN", "9" * 5000 + "/1", "0/1", "2/14", "x' OR 1=1", "\u001b[2J", "7", "-7", "1e9/1", "=1+1", "")


@lru_cache(maxsize=1)
def _original() -> dict[str, bytes]:
    """The files of a ledger with two charges, by name."""
    with TemporaryDirectory() as folder:
        ledger = open_ledger(Path(folder) / "coins.ledger", "coins", 1000)
        for _ in range(2):
            ledger.reserve(mechanism("a run", Fraction(1, 7), "a test"), "coins")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def forged(folder: Path, draw: Random) -> None:
    """A ledger with right hashes and texts that only a forger would write."""
    path = folder / "coins.ledger"
    with closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT dataset, epsilon_limit FROM account").fetchone()
        found = Statement(dataset=row[0], epsilon_limit=Fraction(1000), delta_limit=Fraction(0))
        if draw.randrange(2):
            found = replace(found, dataset=draw.choice(("\x1b[2Jcoins", "a\nb", "[red]x", "x" * 5000, "\u202ecoins")))
            database.execute("UPDATE account SET dataset = ?", (found.dataset,))
        database.execute("DELETE FROM charges")
        for _ in range(draw.choice((1, 3, 3000))):
            what = draw.choice(
                ("coins", "\x1b[2J\x1b[Hspent 0", "a\nb", "[link=http://example.org]x[/link]", "w" * 300, "\u202e")
            )
            started = draw.choice(("2020-01-01T00:00:00Z", "yesterday", "\x1b[31m", "=1+1"))
            epsilon = draw.choice((Fraction(1, 7), Fraction(0), Fraction(1, 10**90 + draw.randrange(1000)), Fraction(10**99)))
            found = found.with_charge(started=started, what=what, epsilon=epsilon, delta=Fraction(0))
            database.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", found.entries[-1].row())
        database.commit()
    (folder / "coins.ledger.head").write_text(f"synthrelease ledger head 1\n{found.head.number} {found.head.hash}\n")


def changed(folder: Path, draw: Random) -> None:
    """SQL statements that the program never makes."""
    statement = draw.choice(STATEMENTS).replace("{}", draw.choice(WORDS).replace("'", "''"))
    with closing(sqlite3.connect(folder / "coins.ledger")) as database:
        try:
            database.executescript(statement)
            database.commit()
        except sqlite3.Error:
            (folder / "coins.ledger").write_bytes(statement.encode())


def damaged(folder: Path, draw: Random) -> None:
    """Bytes changed, cut off or put after the end."""
    path = folder / draw.choice(("coins.ledger", "coins.ledger", "coins.ledger.head"))
    content = bytearray(path.read_bytes())
    kind = draw.randrange(4)
    if kind == 0:
        content = content[: draw.randrange(len(content))]
    elif kind == 1:
        content += draw.randbytes(draw.choice((1, 4096)))
    elif kind == 2:
        content = bytearray(draw.randbytes(draw.choice((0, 16, 4096))))
    else:
        for _ in range(draw.choice((1, 5, 100))):
            content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)


def surrounded(folder: Path, draw: Random) -> None:
    """Odd files under the names of a ledger and its companions."""
    path = folder / draw.choice(
        (
            "coins.ledger",
            "coins.ledger.head",
            "coins.ledger-wal",
            "coins.ledger-shm",
            "coins.ledger-journal",
            ".coins.ledger.x.new",
        )
    )
    content = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    kind = draw.randrange(7)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path)
    elif kind == 3:
        path.symlink_to("/etc/passwd")
    elif kind == 4:
        (folder / "elsewhere").write_bytes(content)
        path.symlink_to(folder / "elsewhere")
    elif kind == 5:
        path.write_bytes(draw.randbytes(draw.choice((0, 32, 5000))))
    else:
        shutil.copy("/bin/true", path)


KINDS: tuple[Callable[[Path, Random], None], ...] = (forged, changed, changed, damaged, damaged, surrounded)


def write_ledger(folder: Path, draw: Random) -> Path:
    """A hostile ledger and its companions in a folder."""
    for name, content in _original().items():
        (folder / name).write_bytes(content)
    draw.choice(KINDS)(folder, draw)
    return folder / "coins.ledger"
