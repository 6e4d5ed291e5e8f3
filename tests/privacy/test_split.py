"""A ledger with pieces: the limit holds for each, and a split is made once."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.cli.releasing import show
from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.privacy.ledger import ChargedRun, Ledger, load_ledger, open_ledger
from synthrelease.privacy.ledger_file import LedgerError, Notes, Statement, notes_of
from synthrelease.privacy.subsets import Split
from tests.privacy.test_account import edited

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
    return ledger.reserve(cost(epsilon, delta), f"of piece {piece}", ChargedRun(piece=piece, split=SPLIT))


def test_what_was_spent_is_that_of_the_dearest_piece_and_each_has_the_limit(ledger: Ledger) -> None:
    assert read(ledger, 1, 9).epsilon == 10
    assert read(ledger, 2, 4, Fraction(1, 20)).epsilon == 10  # in all 14, of which no record pays more than 10
    with pytest.raises(
        BudgetError, match="would cost epsilon = 1/7.* allows epsilon = 10 in total, and 10 is already spent on piece 1"
    ):
        read(ledger, 1, Fraction(1, 7))
    with pytest.raises(BudgetError, match="would cost epsilon = 1. .* allows epsilon = 10 in total, and 10 is already spent. "):
        ledger.reserve(cost(1), "of all rows once more")  # it would read piece 1, too
    with pytest.raises(BudgetError, match=r"allows delta = 0\.1 in total, and 0\.05 is already spent on piece 2"):
        read(ledger, 2, 1, Fraction(1, 19))
    found = read(ledger, 2, 5)
    assert (found.epsilon, found.delta, found.epsilons.most_renumbered) == (10, Fraction(1, 20), 19)
    assert load_ledger(ledger.path).statement() == found
    assert [entry.notes.piece for entry in found.entries] == [None, None, 1, 2, 2]


def test_a_register_is_split_once(ledger: Ledger) -> None:
    before = ledger.statement()
    assert before.split == SPLIT
    assert before.epsilon == 1
    for other in (SPLIT, replace(SPLIT, key="3c" * 32)):
        with pytest.raises(BudgetError, match="already split into 3 pieces .key 1a1a1a1a1a1a1a1a."):
            ledger.split(other)
    assert ledger.statement() == before


@pytest.mark.parametrize(
    ("piece", "split"),
    [(4, SPLIT), (0, SPLIT), (None, SPLIT), (1, None), (1, replace(SPLIT, key="3c" * 32)), (1, replace(SPLIT, pieces=4))],
)
def test_a_piece_that_there_is_not_is_refused(ledger: Ledger, piece: int | None, split: Split | None) -> None:
    before = ledger.statement()
    with pytest.raises(BudgetError, match="does not record the piece"):
        ledger.reserve(cost(1), "a run", ChargedRun(piece=piece, split=split))
    assert ledger.statement() == before
    unsplit = open_ledger(ledger.path.with_name("other.ledger"), "coins", 10)
    with pytest.raises(BudgetError, match="does not record the piece"):
        unsplit.reserve(cost(1), "a run", ChargedRun(piece=1, split=SPLIT))


@pytest.mark.parametrize("text", ["0", "4", "01", "split 3", Notes(split=SPLIT).text, "split 1 x y", 2])
def test_what_only_a_forger_writes_of_pieces_is_refused_although_the_hashes_are_right(ledger: Ledger, text: object) -> None:
    """Another piece, a second split, a piece before there is a split."""
    split = [Notes(split=SPLIT)]
    with pytest.raises(ValueError, match="malformed|contradict"):
        notes_of(text, split)
    with pytest.raises(ValueError, match="contradict"):
        notes_of("1", [])
    assert notes_of("", split) == Notes()
    assert notes_of("3", split) == Notes(piece=3)
    assert notes_of(Notes(split=SPLIT).text, []) == Notes(split=SPLIT)
    for most in (1, 1001):
        with pytest.raises(ValueError, match="malformed"):
            notes_of(Notes(split=replace(SPLIT, pieces=most)).text, [])


@pytest.mark.parametrize(("number", "column"), [(2, "split 2 " + "1a" * 32 + " " + "2b" * 32), (3, "2"), (3, "")])
def test_a_changed_piece_is_found(ledger: Ledger, number: int, column: str) -> None:
    read(ledger, 1, 1)
    with edited(ledger.path) as database:
        database.execute("UPDATE charges SET piece = ? WHERE number = ?", (column, number))
    with pytest.raises(LedgerError, match=f"Charge {number} was changed"):
        ledger.statement()


def test_show_tells_what_each_piece_has_spent(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    read(ledger, 1, 4, Fraction(1, 20))
    read(ledger, 2, 2)
    show(ledger.path)
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "split into 3 pieces (key 1a1a1a1a1a1a1a1a)" in text
    assert (
        "Spent: piece 1: epsilon 5, 5 left; piece 2: epsilon 3, 7 left; "
        "1 piece that no release read alone: epsilon 1, 9 left." in text
    )
    assert "two pieces can change, and the cost is epsilon 7, delta 0.05" in text
    assert "Spent epsilon 5 of 10; 5 is left" in text
    assert "1a" * 32 not in text
