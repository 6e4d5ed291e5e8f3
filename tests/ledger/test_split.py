"""A ledger with pieces: the limit holds for each, a split is made once, and older formats keep their promise."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from synthrelease.accounting.charges import Charge, mechanism
from synthrelease.accounting.ledger_pieces import Split
from synthrelease.cli.accounting import show
from synthrelease.errors import BudgetError
from synthrelease.ledger import tables as module
from synthrelease.ledger.account import Ledger, load_ledger, open_ledger
from synthrelease.ledger.entries import Entry, Statement, pieces_of, pieces_text
from synthrelease.ledger.storage import LedgerError, head_path
from tests.ledger.test_account import edited

SPLIT = Split(pieces=3, key="1a" * 32, register="2b" * 32)


def cost(epsilon: object, delta: object = 0) -> Charge:
    return mechanism("a run", Fraction(epsilon), "a test", Fraction(delta))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Limits 10 and 1/10, a release of all rows at epsilon 1, and a split into three pieces."""
    opened = open_ledger(tmp_path / "coins.ledger", "coins", 10, delta_limit=Fraction(1, 10))
    opened.reserve(cost(1), "of all rows")
    opened.split(SPLIT)
    return opened


def read(ledger: Ledger, piece: int, epsilon: object, delta: object = 0) -> Statement:
    return ledger.reserve(cost(epsilon, delta), f"of piece {piece}", piece=piece, split=SPLIT)


def test_what_was_spent_is_that_of_the_dearest_piece_and_each_has_the_limit(ledger: Ledger) -> None:
    assert read(ledger, 1, 9).epsilon == 10
    assert read(ledger, 2, 4, Fraction(1, 20)).epsilon == 10  # in all 14, of which no record pays more than 10
    with pytest.raises(BudgetError, match="allows epsilon = 10 in all, 10 are spent on piece 1, and this run costs 1/7"):
        read(ledger, 1, Fraction(1, 7))
    with pytest.raises(BudgetError, match="allows epsilon = 10 in all, 10 are spent, and this run costs 1"):
        ledger.reserve(cost(1), "of all rows once more")  # it would read piece 1, too
    with pytest.raises(BudgetError, match=r"allows delta = 0\.1 in all, 0\.05 are spent on piece 2"):
        read(ledger, 2, 1, Fraction(1, 19))
    found = read(ledger, 2, 5)
    assert (found.epsilon, found.delta, found.epsilons.most_renumbered) == (10, Fraction(1, 20), 19)
    assert load_ledger(ledger.path).statement() == found
    assert [entry.piece for entry in found.entries] == [None, None, 1, 2, 2]


def test_a_register_is_split_once(ledger: Ledger) -> None:
    before = ledger.statement()
    assert before.split == SPLIT
    assert before.epsilon == 1
    for other in (SPLIT, replace(SPLIT, key="3c" * 32)):
        with pytest.raises(BudgetError, match="split into 3 pieces already .key 1a1a1a1a1a1a1a1a."):
            ledger.split(other)
    assert ledger.statement() == before


@pytest.mark.parametrize(
    ("piece", "split"),
    [(4, SPLIT), (0, SPLIT), (None, SPLIT), (1, None), (1, replace(SPLIT, key="3c" * 32)), (1, replace(SPLIT, pieces=4))],
)
def test_a_piece_that_there_is_not_is_refused(ledger: Ledger, piece: int | None, split: Split | None) -> None:
    before = ledger.statement()
    with pytest.raises(BudgetError, match="knows no such piece of the register"):
        ledger.reserve(cost(1), "a run", piece=piece, split=split)
    assert ledger.statement() == before
    unsplit = open_ledger(ledger.path.with_name("other.ledger"), "coins", 10)
    with pytest.raises(BudgetError, match="knows no such piece"):
        unsplit.reserve(cost(1), "a run", piece=1, split=SPLIT)


@pytest.mark.parametrize("text", ["0", "4", "01", "split 3", pieces_text(None, SPLIT), "split 1 x y", 2])
def test_what_only_a_forger_writes_of_pieces_is_refused_although_the_hashes_are_right(ledger: Ledger, text: object) -> None:
    """Another piece, a second split, a piece before there is a split."""
    with pytest.raises(ValueError, match="expected a piece"):
        pieces_of(text, SPLIT)
    with pytest.raises(ValueError, match="expected a piece"):
        pieces_of("1", None)
    assert pieces_of("", SPLIT) == (None, None)
    assert pieces_of("3", SPLIT) == (3, None)
    assert pieces_of(pieces_text(None, SPLIT), None) == (None, SPLIT)
    for most in (1, 1001):
        with pytest.raises(ValueError, match="expected a piece"):
            pieces_of(pieces_text(None, replace(SPLIT, pieces=most)), None)


@pytest.mark.parametrize(("number", "column"), [(2, "split 2 " + "1a" * 32 + " " + "2b" * 32), (3, "2"), (3, "")])
def test_a_changed_piece_is_found(ledger: Ledger, number: int, column: str) -> None:
    read(ledger, 1, 1)
    with edited(ledger.path) as database:
        database.execute("UPDATE charges SET piece = ? WHERE number = ?", (column, number))
    with pytest.raises(LedgerError, match=f"charge {number} changed"):
        ledger.statement()


def write_second_format(path: Path) -> str:
    """A ledger with one charge, as the program wrote it before there were pieces; the head of it."""
    before = sha256(b'["synthrelease ledger",2,"coins","10/1","0/1"]').hexdigest()
    entry = f'["{before}",1,"2026-01-31T12:00:00Z","the first","1/3","0/1","{"1f" * 32}"]'
    head = sha256(entry.encode()).hexdigest()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE account (dataset TEXT NOT NULL, epsilon_limit TEXT NOT NULL, delta_limit TEXT NOT NULL)")
        database.execute(
            "CREATE TABLE charges (number INTEGER PRIMARY KEY, started TEXT NOT NULL, what TEXT NOT NULL, "
            "epsilon TEXT NOT NULL, delta TEXT NOT NULL, domain TEXT NOT NULL, hash TEXT NOT NULL)"
        )
        database.execute("INSERT INTO account VALUES ('coins', '10/1', '0/1')")
        row = ("2026-01-31T12:00:00Z", "the first", "1/3", "0/1", "1f" * 32, head)
        database.execute("INSERT INTO charges VALUES (1, ?, ?, ?, ?, ?, ?)", row)
        database.execute(f"PRAGMA application_id = {module.MARK}")
        database.execute("PRAGMA user_version = 2")
        database.commit()
    head_path(path).write_text(f"synthrelease ledger head 1\n1 {head}\n")
    return head


def test_a_ledger_of_the_second_format_is_read_and_charged_but_not_split(tmp_path: Path) -> None:
    path = tmp_path / "coins.ledger"
    head = write_second_format(path)
    old = load_ledger(path, dataset="coins", expect_head=head)
    assert (old.statement().epsilon, old.statement().domain, old.statement().version) == (Fraction(1, 3), "1f" * 32, 2)
    with pytest.raises(BudgetError, match="a ledger of format 2, which does not note pieces. Open a new ledger whose"):
        old.split(SPLIT)
    with pytest.raises(BudgetError, match="knows no such piece"):
        old.reserve(cost(1), "a run", piece=1, split=SPLIT)
    assert old.reserve(cost(1), "exact", "1f" * 32).epsilon == Fraction(4, 3)
    assert load_ledger(path, expect_head=head).statement().epsilon == Fraction(4, 3)
    for version in (1, 3):  # it is not taken for another
        with edited(path) as database:
            database.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LedgerError, match="expected the tables of a ledger"):
            load_ledger(path)


def test_an_entry_of_an_earlier_format_has_no_place_for_a_piece() -> None:
    account = Statement(dataset="coins", epsilon_limit=Fraction(1), delta_limit=Fraction(0), version=2)
    for noted in ({"piece": 1}, {"split": SPLIT}):
        with pytest.raises(ValueError, match="format 2 has no place"):
            Entry.after(account.head, started="x", what="y", epsilon=Fraction(0), delta=Fraction(0), version=2, **noted)


def test_show_tells_what_each_piece_has_spent(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    read(ledger, 1, 4, Fraction(1, 20))
    read(ledger, 2, 2)
    show(ledger.path)
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "split into 3 pieces (key 1a1a1a1a1a1a1a1a)" in text
    assert (
        "Spent on piece 1: epsilon 5, left 5; piece 2: epsilon 3, left 7; 1 that no release read alone: epsilon 1, left 9."
        in text
    )
    assert "two pieces change: epsilon 7, delta 0.05" in text
    assert "Spent epsilon 5 of 10; left 5" in text
    assert "1a" * 32 not in text
