"""The tables of a ledger's file, and reading them: each row is compared with what its hash says."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from synthrelease.errors import BudgetError
from synthrelease.ledger.entries import BEFORE, FORMAT, Entry, Statement, domain_of, line, summed
from synthrelease.ledger.notes import Notes, notes_of
from synthrelease.ledger.rationals import from_text
from synthrelease.ledger.storage import refusal, restore

MARK = 0x53724C31
"""SQLite's application_id of a ledger: "SrL1"."""
TABLES = {
    "account": "CREATE TABLE account (dataset TEXT NOT NULL, epsilon_limit TEXT NOT NULL, delta_limit TEXT NOT NULL)",
    "charges": "CREATE TABLE charges (number INTEGER PRIMARY KEY, started TEXT NOT NULL, what TEXT NOT NULL, "
    "epsilon TEXT NOT NULL, delta TEXT NOT NULL, domain TEXT NOT NULL, piece TEXT NOT NULL, hash TEXT NOT NULL)",
}


def read_entries(path: Path, database: sqlite3.Connection) -> Statement:
    """Everything in the file, each row compared with what its hash says. Raises LedgerError."""
    mark, version = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if mark != MARK:
        raise refusal(path, "a ledger of synthrelease", "another file", "Name the right file, or open a new ledger elsewhere")
    if version not in (FORMAT, BEFORE):
        other = "Use the version of synthrelease that wrote it; or open a new ledger whose limit is what this one has left"
        raise refusal(path, f"a ledger of format {FORMAT} or {BEFORE}", f"format {version}", other)
    if database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() != sorted(TABLES.items()):
        raise refusal(path, "the tables of a ledger", "others", restore(path))  # before they are read: a view may never end
    sound = [row[0] for row in database.execute("PRAGMA integrity_check")]
    accounts = database.execute("SELECT dataset, epsilon_limit, delta_limit FROM account").fetchall()
    if sound != ["ok"] or len(accounts) != 1:
        raise refusal(path, "the tables of a ledger", "damaged ones", restore(path))
    dataset, epsilon_limit, delta_limit = accounts[0]
    entries: list[Entry] = []
    fixed: list[Notes] = []
    number = 0
    try:
        account = Statement(
            dataset=line("name", dataset, 100),
            epsilon_limit=from_text(epsilon_limit),
            delta_limit=from_text(delta_limit),
            format=version,
        )
        head = account.head
        for row in database.execute("SELECT * FROM charges ORDER BY number"):
            number += 1
            entries.append(
                Entry.after(
                    head,
                    started=line("time", row[1], 40),
                    what=line("purpose", row[2], 200),
                    epsilon=from_text(row[3]),
                    delta=from_text(row[4]),
                    domain=domain_of(row[5]),
                    notes=notes_of(row[6], fixed),
                )
            )
            head = entries[-1].head
            if entries[-1].notes.once:
                fixed.append(entries[-1].notes)
            if row != entries[-1].row():
                raise ValueError
        return summed(replace(account, entries=tuple(entries)))
    except (ValueError, TypeError, AttributeError, BudgetError):
        where = f"charge {number}" if number else "the account"
        raise refusal(path, "rows that agree with their hashes", f"{where} changed or damaged", restore(path)) from None
