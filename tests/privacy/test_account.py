"""The ledger: exact sums, the limit, and that whatever is not the whole newest ledger is refused."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from synthrelease.errors import BudgetError, OutputError
from synthrelease.privacy import ledger as module
from synthrelease.privacy import ledger_file as ledger_files
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.privacy.ledger import (
    ChargedRun,
    Ledger,
    ledger_beside,
    load_ledger,
    open_ledger,
    renew_head,
    reserve_for_release,
)
from synthrelease.privacy.ledger_file import FORMAT, Entry, Head, LedgerError, Statement, from_text, head_path, shown
from synthrelease.privacy.plan import Plan

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def cost(epsilon: object, delta: object = 0) -> Charge:
    return mechanism("a run", Fraction(epsilon), "a test", Fraction(delta))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "coins.ledger"
    ledger = open_ledger(path, "coins", 10)
    ledger.reserve(cost("1/3"), "the first")
    ledger.reserve(cost(2), "the second")
    return path


@pytest.fixture
def coins(original: Path, tmp_path: Path) -> Ledger:
    """A ledger of epsilon 10 with two charges, 1/3 and 2."""
    shutil.copy2(head_path(original), tmp_path)
    return Ledger(path=Path(shutil.copy2(original, tmp_path)), dataset="coins")


@contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """SQL on the file behind the ledger's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        yield database


# --- Sums and limits


def test_sums_are_exact_where_floats_are_not(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "ledger", "coins", "0.3")
    for _ in range(3):
        after = ledger.reserve(cost("0.1"), "a third")  # as floats, 0.1 + 0.1 + 0.1 > 0.3
    assert after == load_ledger(tmp_path / "ledger").statement()
    assert after.epsilon == Fraction(3, 10)
    with pytest.raises(BudgetError):
        ledger.reserve(cost("1e-30"), "a little more")
    assert ledger.statement().epsilon == Fraction(3, 10)


def test_the_limit_may_be_reached_and_not_be_passed_by_the_smallest_part(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "ledger", "coins", 1)
    tiny = Fraction(1, 10**50)
    with pytest.raises(BudgetError, match="would cost epsilon = .* allows epsilon = 1 in total, and 0 is already spent"):
        ledger.reserve(cost(1 + tiny), "too much")
    ledger.reserve(cost(1 - tiny), "nearly all")
    ledger.reserve(cost(tiny), "the rest")
    with pytest.raises(BudgetError) as refused:
        ledger.reserve(cost(tiny), "more")
    assert refused.value.exit_code == 4
    assert "Refused" in str(refused.value)
    assert [entry.epsilon for entry in ledger.statement().entries] == [1 - tiny, tiny]


def test_delta_has_a_limit_of_its_own_which_is_0_unless_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match=r"allows only delta = 0 \(pure"):
        open_ledger(tmp_path / "pure", "coins", 1).reserve(cost(0, "1e-9"), "approximate")
    ledger = open_ledger(tmp_path / "approximate", "coins", 1, delta_limit="1e-9")
    assert ledger.reserve(cost("0.1", "1e-9"), "approximate").delta == Fraction(1, 10**9)
    with pytest.raises(
        BudgetError, match=r"cost delta = 1e-12\. .* allows delta = 0\.000000001 in total, and 0\.000000001 is already"
    ):
        ledger.reserve(cost("0.1", "1e-12"), "approximate")
    assert len(ledger.statement().entries) == 1


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, Fraction(-1, 3), Fraction(1, 10**101), Fraction(10**101)])
def test_amounts_that_are_no_exact_epsilon_are_refused(coins: Ledger, tmp_path: Path, wrong: object) -> None:
    charge = object.__new__(Charge)
    for name, value in {"name": "a run", "epsilon": wrong, "delta": Fraction(0), "because": "", "parts": ()}.items():
        object.__setattr__(charge, name, value)
    with pytest.raises(BudgetError, match="must be a number"):
        coins.reserve(charge, "nonsense")
    with pytest.raises(BudgetError):
        open_ledger(tmp_path / "new", "coins", wrong)  # type: ignore[arg-type]
    assert len(coins.statement().entries) == 2
    assert not (tmp_path / "new").exists()


def test_entries_tell_what_for_when_it_started_and_what_it_cost(coins: Ledger) -> None:
    first, second = coins.statement().entries
    assert (first.number, first.what, first.epsilon, first.delta) == (1, "the first", Fraction(1, 3), 0)
    assert (second.number, second.what, second.epsilon) == (2, "the second", 2)
    assert len(first.started) == len("2026-01-31T12:00:00Z")
    assert coins.statement().logbook_line() == (f"coins: 2 charges, epsilon 7/3 of 10, delta 0 of 0, head {second.hash[:16]}")


def test_a_ledger_holds_nothing_that_is_learned_after_its_charge(coins: Ledger) -> None:
    """No outcome, no end: the columns are all known before the private file is opened."""
    with edited(coins.path) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(charges)")]
        kinds = {kind for row in database.execute("SELECT epsilon, delta FROM charges") for kind in map(type, row)}
    assert columns == ["number", "started", "what", "epsilon", "delta", "domain", "piece", "hash"]
    assert kinds == {str}


@pytest.mark.parametrize(
    "text", ["1/0", "2/4", "01/2", "1", "1/2 ", "-1/2", "0.5/1", "1/2\n", "", None, 5, b"1/2", "1/" + "1" * 200]
)
def test_only_the_canonical_text_of_a_rational_is_read(text: object) -> None:
    reason = "not in lowest terms" if text == "2/4" else "not of the form numerator/denominator"
    with pytest.raises(ValueError, match=reason):
        from_text(text)


def test_rationals_are_shown_as_decimals_only_where_these_are_exact() -> None:
    assert [shown(Fraction(text)) for text in ("9.55", "1/3", "20", "0")] == ["9.55", "1/3", "20", "0"]


# --- Opening


def test_opening_never_overwrites(coins: Ledger, tmp_path: Path) -> None:
    before = coins.path.read_bytes()
    for name in ("coins.ledger", "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / "nowhere")
        with pytest.raises(OutputError, match="never overwritten"):
            open_ledger(tmp_path / name, "coins", 99)
    assert coins.path.read_bytes() == before
    with pytest.raises(OutputError, match="does not exist"):
        open_ledger(tmp_path / "no" / "ledger", "coins", 1)


def test_a_deleted_ledger_is_not_opened_anew_while_something_remembers_it(coins: Ledger) -> None:
    coins.path.unlink()
    with pytest.raises(OutputError, match="would not contain the spent budget"):
        open_ledger(coins.path, "coins", 10)
    head_path(coins.path).unlink()
    for ending in ("-wal", "-shm", "-journal"):
        left = coins.path.with_name(coins.path.name + ending)
        left.touch()
        with pytest.raises(OutputError, match=f"{ending}: There is already a file with this name"):
            open_ledger(coins.path, "coins", 10)
        left.unlink()
    assert open_ledger(coins.path, "coins", 10).statement().epsilon == 0  # from here on only the logbook knows


def test_an_opening_that_was_stopped_halfway_is_taken_over_only_with_the_same_limits(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    open_ledger(path, "coins", 10)
    path.unlink()
    with pytest.raises(OutputError, match="Another process is creating a ledger with this name"):
        open_ledger(path, "coins", 11)
    assert open_ledger(path, "coins", 10).statement().epsilon_limit == 10


@pytest.mark.parametrize("name", ["", " coins", "coins\n", "x" * 101, "a\tb"])
def test_names_and_purposes_are_one_printable_line(coins: Ledger, tmp_path: Path, name: str) -> None:
    with pytest.raises(BudgetError, match="must be one line"):
        open_ledger(tmp_path / "new", name, 1)
    with pytest.raises(BudgetError, match="must be one line"):
        coins.reserve(cost(1), name * 2 or name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coins.ledger", "coins.ledger.head"]


@POSIX
def test_only_the_owner_may_read_the_files_and_nothing_else_is_left(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_ledger(tmp_path / "coins.ledger", "coins", 10).reserve(cost(1), "one")
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "coins.ledger": 0o600,
        "coins.ledger.head": 0o600,
    }


# --- Changed, damaged, foreign and old files


def hashes_anew(database: sqlite3.Connection) -> None:
    """What a forger would do: hashes that agree with the rows. Only the head file and the logbook know better."""
    account = database.execute("SELECT dataset, epsilon_limit, delta_limit FROM account").fetchone()
    found = Statement(dataset=account[0], epsilon_limit=from_text(account[1]), delta_limit=from_text(account[2]))
    for _, started, what, epsilon, delta, domain, *_ in database.execute("SELECT * FROM charges ORDER BY number").fetchall():
        amounts = {"epsilon": from_text(epsilon), "delta": from_text(delta)}
        found = found.with_charge(started=started, what=what, domain=domain or None, **amounts)
        database.execute("UPDATE charges SET hash = ? WHERE number = ?", (found.head.hash, found.head.number))


CHANGES = {
    "epsilon": "UPDATE charges SET epsilon = '1/4' WHERE number = 1",
    "delta": "UPDATE charges SET delta = '1/4' WHERE number = 2",
    "what": "UPDATE charges SET what = 'other' WHERE number = 1",
    "started": "UPDATE charges SET started = '2020-01-01T00:00:00Z' WHERE number = 2",
    "number": "UPDATE charges SET number = 3 WHERE number = 2",
    "order": "UPDATE charges SET number = 5 - number; UPDATE charges SET number = number - 2",
    "first row": "DELETE FROM charges WHERE number = 1",
    "last row": "DELETE FROM charges WHERE number = 2",
    "all rows": "DELETE FROM charges",
    "a row more": "INSERT INTO charges VALUES (3, 'x', 'y', '-1/1', '0/1', '', '', 'z')",
    "domain": f"UPDATE charges SET domain = '{'a' * 64}' WHERE number = 1",
    "a piece": "UPDATE charges SET piece = '1' WHERE number = 2",
    "domain of no digest": "UPDATE charges SET domain = 'births' WHERE number = 1",
    "not lowest terms": "UPDATE charges SET epsilon = '2/6' WHERE number = 1",
    "a blob": "UPDATE charges SET what = CAST(what AS BLOB) WHERE number = 1",
    "not a number": "UPDATE charges SET epsilon = 'x' WHERE number = 1",
    "limit": "UPDATE account SET epsilon_limit = '100/1'",
    "limit on delta": "UPDATE account SET delta_limit = '1/2'",
    "dataset": "UPDATE account SET dataset = 'dice'",
    "two accounts": "INSERT INTO account SELECT * FROM account",
    "no account": "DELETE FROM account",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON charges BEGIN DELETE FROM charges WHERE number = new.number; END",
    "a view": "CREATE VIEW v AS SELECT 1",
    "no table": "DROP TABLE charges",
    "no tables": "DROP TABLE charges; DROP TABLE account",
    "journal": "PRAGMA journal_mode = DELETE",
}


NOTHING_TO_HASH = ("not lowest terms", "a blob", "not a number", "a row more", "no account", "no table", "no tables")
CASES = [(change, False) for change in CHANGES] + [(change, True) for change in CHANGES if change not in NOTHING_TO_HASH]


@pytest.mark.parametrize(
    ("change", "forged"), CASES, ids=lambda part: {True: "hashes anew", False: "hashes left"}.get(part, part)
)
def test_every_change_of_a_ledger_is_refused(coins: Ledger, change: str, forged: bool) -> None:
    with edited(coins.path) as database:
        database.executescript(CHANGES[change])
        if forged:
            hashes_anew(database)
    for action in (coins.statement, lambda: coins.reserve(cost(1), "one more")):
        with pytest.raises(LedgerError, match="No private data were read") as refused:
            action()
        assert refused.value.exit_code == 4


def test_changing_any_byte_is_refused_or_changes_nothing(coins: Ledger) -> None:
    """Every byte of the file that is in use, with one bit or all bits turned; every byte of the head file."""
    expected, file, head = coins.statement(), coins.path.read_bytes(), head_path(coins.path)
    used = [place for place, byte in enumerate(file) if byte] + list(range(0, len(file), 29))
    refused = tried = 0
    for place in sorted(set(used)):
        changed = bytearray(file)
        changed[place] ^= (1, 255)[place % 2]
        coins.path.write_bytes(changed)
        refused += refuses(coins, expected)
        tried += 1
        for ending in ("-wal", "-shm"):
            coins.path.with_name(coins.path.name + ending).unlink(missing_ok=True)
    assert refused > tried / 2
    coins.path.write_bytes(file)
    beginning = head.read_bytes()
    for place in range(len(beginning)):
        changed = bytearray(beginning)
        changed[place] ^= 1
        head.write_bytes(changed)
        assert refuses(coins, expected)


def refuses(ledger: Ledger, expected: Statement) -> bool:
    """Whether it is refused; a statement other than the expected one is an error."""
    try:
        assert ledger.statement() == expected
    except LedgerError:
        return True
    return False


def test_cutting_the_file_anywhere_is_refused(coins: Ledger) -> None:
    file, head = coins.path.read_bytes(), head_path(coins.path).read_bytes()
    for length in range(0, len(file), 7):
        coins.path.write_bytes(file[:length])
        with pytest.raises(LedgerError):
            coins.statement()
        with pytest.raises(LedgerError):
            coins.reserve(cost(1), "one more")
    coins.path.write_bytes(file)
    for length in range(len(head)):
        head_path(coins.path).write_bytes(head[:length])
        with pytest.raises(LedgerError, match="does not contain the number and the hash of the last charge"):
            coins.statement()


def test_damage_that_no_row_shows_is_refused(coins: Ledger) -> None:
    """A wrong list of free pages would let SQLite overwrite used ones later."""
    file = bytearray(coins.path.read_bytes())
    file[36:40] = (7).to_bytes(4, "big")  # number of free pages, of which there are none
    coins.path.write_bytes(file)
    with edited(coins.path) as database:
        assert len(database.execute("SELECT * FROM charges").fetchall()) == 2
    with pytest.raises(LedgerError, match="damaged"):
        coins.reserve(cost(1), "one more")


def test_an_older_copy_is_refused_because_of_its_head_file(coins: Ledger, tmp_path: Path) -> None:
    old = coins.path.read_bytes()
    coins.reserve(cost(3), "the third")
    coins.path.write_bytes(old)
    with pytest.raises(LedgerError, match=r"has 2 charges, but not the charge 3 that the head file records.*Restore"):
        coins.reserve(cost(3), "the third again")


def test_an_older_copy_with_its_head_file_is_refused_by_the_logbook_alone(coins: Ledger, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    for path in (coins.path, head_path(coins.path)):
        shutil.copy(path, tmp_path / "copy")
    last = coins.reserve(cost(3), "the third").head.hash
    copy = tmp_path / "copy" / coins.path.name
    assert load_ledger(copy).statement().epsilon == Fraction(7, 3)  # it does not know better
    with pytest.raises(LedgerError, match="this ledger is an old copy"):
        load_ledger(copy, expect_head=last[:16])
    for wrong in ("", last[:15], last[:16].upper() + "g", "0" * 64):
        with pytest.raises(LedgerError, match="16 digits"):
            load_ledger(coins.path, expect_head=wrong)
    known = load_ledger(coins.path, expect_head=last)
    assert known.reserve(cost(1), "the fourth").head.number == 4
    assert known.reserve(cost(1), "the fifth").head.number == 5  # older heads of the logbook are known too


def test_a_copy_without_its_head_file_is_refused_until_the_logbook_renews_it(coins: Ledger, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    copy = Path(shutil.copy(coins.path, tmp_path / "copy"))
    with pytest.raises(LedgerError, match="The head file of the ledger is missing"):
        load_ledger(copy)
    with pytest.raises(LedgerError, match="expected head"):
        renew_head(copy, "0" * 16)
    assert renew_head(copy, coins.statement().head.hash[:16]) == coins.statement()
    assert load_ledger(copy).statement() == coins.statement()


def test_an_old_write_ahead_file_cannot_bring_back_an_old_state(coins: Ledger) -> None:
    """SQLite replays it; the head file knows that a charge is missing."""
    reader = sqlite3.connect(coins.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM charges").fetchall()
    with edited(coins.path) as writer:  # a write-ahead file with the present pages
        writer.execute("INSERT INTO charges VALUES (9, '', '', '', '', '', '', '')")
        writer.execute("DELETE FROM charges WHERE number = 9")
        old = {ending: coins.path.with_name(coins.path.name + ending).read_bytes() for ending in ("-wal", "-shm")}
    reader.close()
    coins.reserve(cost(3), "the third")
    for ending, content in old.items():
        coins.path.with_name(coins.path.name + ending).write_bytes(content)
    for action in (coins.statement, lambda: coins.reserve(cost(1), "one more")):
        with pytest.raises(LedgerError, match="has 2 charges, but not the charge 3 .* old or changed copy"):
            action()


def test_a_second_name_of_the_file_is_refused(coins: Ledger, tmp_path: Path) -> None:
    os.link(coins.path, tmp_path / "other")
    with pytest.raises(LedgerError, match="hard links"):
        coins.reserve(cost(1), "one more")
    (tmp_path / "other").unlink()
    (tmp_path / "link").symlink_to(coins.path)
    assert load_ledger(tmp_path / "link").reserve(cost(1), "through a link").head.number == 3
    assert coins.statement().head.number == 3


def test_files_that_are_no_ledger_are_refused_and_left_as_they_are(tmp_path: Path, coins: Ledger) -> None:
    foreign = {"empty": b"", "text": b"face,year\nhead,1\n" * 100, "bytes": bytes(range(256)) * 40}
    with edited(tmp_path / "sqlite") as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE account (dataset)")
    foreign["sqlite"] = (tmp_path / "sqlite").read_bytes()
    for name, content in foreign.items():
        path = tmp_path / name
        path.write_bytes(content)
        shutil.copy(head_path(coins.path), head_path(path))
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger(path=path).reserve(cost(1), "a run")
        assert path.read_bytes() == content
    (tmp_path / "folder").mkdir()
    for name in ("absent", "folder"):
        shutil.copy(head_path(coins.path), tmp_path / f"{name}.head")
        with pytest.raises(LedgerError, match="There is no such file"):
            load_ledger(tmp_path / name)
    assert not (tmp_path / "absent").exists()


def test_the_ledger_of_another_dataset_or_format_is_refused(coins: Ledger) -> None:
    with pytest.raises(LedgerError, match="the ledger of 'coins', not of 'dice'"):
        load_ledger(coins.path, dataset="dice")
    assert load_ledger(coins.path, dataset="coins").statement().epsilon_limit == 10
    with edited(coins.path) as database:
        database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(LedgerError, match="Use the version that wrote it, or open a new ledger"):
        coins.reserve(cost(1), "one more")


# --- Disks that do not do as told


def in_a_child(action: Callable[[], str]) -> str:
    """What a forked child's action returns, or the error it raises."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = action()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


@POSIX
def test_a_read_only_ledger_can_be_shown_and_not_be_charged() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = open_ledger(folder / "ledger", "coins", 10).reserve(cost(1), "one").logbook_line()
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)

        def as_nobody(action: Callable[[Ledger], Statement]) -> Callable[[], str]:
            def run() -> str:
                if os.getuid() == 0:
                    os.setuid(65534)
                return action(load_ledger(folder / "ledger")).logbook_line()

            return run

        assert in_a_child(as_nobody(Ledger.statement)) == line
        refused = in_a_child(as_nobody(lambda ledger: ledger.reserve(cost(1), "two")))
        assert refused.startswith("LedgerError")
        assert "You have no permission to write the ledger or its folder" in refused
        folder.chmod(0o755)
        assert load_ledger(folder / "ledger").statement().logbook_line() == line


@POSIX
def test_a_full_disk_never_undercharges(tmp_path: Path) -> None:
    """Files may grow to this many bytes and no more, for every size at which something can go wrong."""
    import resource

    ledger = open_ledger(tmp_path / "ledger", "coins", 1000)
    reported, outcomes = 0, set()
    for size in [*range(0, 200, 40), *range(500, 16000, 500), 40000]:

        def charge(size: int = size) -> str:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return f"reserved {ledger.reserve(cost(1), 'a run').head.number}"

        outcome = in_a_child(charge)
        assert outcome.startswith(("reserved", "LedgerError")), outcome
        outcomes.add(outcome.split()[0])
        reported += outcome.startswith("reserved")
        assert ledger.statement().epsilon >= reported
    assert outcomes == {"reserved", "LedgerError:"}
    assert ledger.reserve(cost(1), "when there is space again").epsilon >= reported + 1


@pytest.mark.parametrize("operation", ["fsync", "replace", "open"])
def test_a_charge_whose_head_cannot_be_written_counts_as_spent(
    coins: Ledger, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ledger_files.os, operation, full)
    with pytest.raises(
        LedgerError,
        match="could not be confirmed on the disk .No space left on device.*Charge 3 is recorded and counts as spent",
    ):
        coins.reserve(cost(1), "the third")
    monkeypatch.undo()
    assert coins.statement().epsilon == Fraction(10, 3)
    assert coins.reserve(cost(1), "the fourth").head.number == 4


def test_a_ledger_that_another_program_holds_is_refused_after_a_while(coins: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_files, "WAIT_SECONDS", 0.1)
    with edited(coins.path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="Try again later"):
            coins.reserve(cost(1), "in vain")
        other.execute("ROLLBACK")
        other.execute("BEGIN")
        other.execute("SELECT * FROM charges").fetchall()  # a reader keeps the write-ahead file in use
        with pytest.raises(LedgerError, match="kept the ledger busy.*Charge 3 is recorded and counts as spent"):
            coins.reserve(cost(1), "the third")
    assert coins.statement().head.number == 3


# --- Several processes


@dataclass(frozen=True, kw_only=True)
class Race:
    """A process of its own that tries to charge 1/8, as often as it can."""

    path: Path
    barrier: Barrier

    def __call__(self) -> None:
        self.barrier.wait(60)
        won = 0
        while True:
            try:
                load_ledger(self.path).reserve(cost("1/8"), "a race")
            except LedgerError as error:
                (self.path.parent / f"broken{os.getpid()}").write_text(str(error))
                return
            except BudgetError:
                break
            won += 1
        (self.path.parent / f"won{os.getpid()}").write_text(str(won))


@pytest.mark.parametrize("charges", [1, 8])
def test_processes_that_race_for_the_rest_of_the_budget_never_pass_the_limit(tmp_path: Path, charges: int) -> None:
    ledger = open_ledger(tmp_path / "ledger", "coins", Fraction(charges, 8))
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    racers = [context.Process(target=Race(path=ledger.path, barrier=barrier)) for _ in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(120)
    assert [path.read_text() for path in tmp_path.glob("broken*")] == []
    won = [int(path.read_text()) for path in tmp_path.glob("won*")]
    assert (len(won), sum(won)) == (3, charges)
    assert ledger.statement().epsilon == ledger.statement().epsilon_limit


def test_a_head_file_is_written_only_by_who_holds_the_ledger(coins: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the earlier of two processes could put its head over the later one's."""
    seen = []

    def watched(path: Path, head: Head) -> None:
        with edited(path) as other:
            other.execute("PRAGMA busy_timeout = 0")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
        seen.append(head.number)
        ledger_files.write_head(path, head)

    monkeypatch.setattr(module, "write_head", watched)
    coins.reserve(cost(1), "the third")
    renew_head(coins.path, coins.statement().head.hash)
    assert seen == [3, 3]


# --- For a release


def plan() -> Plan:
    return Plan.of(once=(cost(1),), per_round=(mechanism("a round", Fraction(2), "a test"),))


def test_a_release_reserves_its_whole_plan(coins: Ledger) -> None:
    after = reserve_for_release(coins.path, plan(), "Births\n2024  " + "x" * 300, dataset="coins")
    assert after.epsilon == Fraction(7, 3) + 5
    assert after.entries[-1].what == ("Births 2024  " + "x" * 300)[:200]
    with pytest.raises(BudgetError, match="would cost epsilon = 5. .* allows epsilon = 10 in total, and 22/3 is already spent"):
        reserve_for_release(coins.path, plan(), "Births")
    with pytest.raises(LedgerError, match="There is no such file"):
        reserve_for_release(coins.path.with_name("absent"), plan(), "Births")


def test_a_release_without_a_ledger_gets_one_beside_its_output_that_remembers_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = ledger_beside(out, plan(), "Births", Fraction(9))
    assert path == tmp_path / "out.ledger"
    reserve_for_release(path, plan(), "Births")
    assert ledger_beside(out, plan(), "Births", Fraction(99)) == path  # the limit stays as it was opened
    with pytest.raises(BudgetError, match="allows epsilon = 9 in total, and 5 is already spent"):
        reserve_for_release(path, plan(), "Births")
    single = ledger_beside(tmp_path / "other", plan(), "\n", None)
    assert reserve_for_release(single, plan(), "").epsilon == 5
    assert (load_ledger(single).statement().epsilon_limit, load_ledger(single).statement().dataset) == (5, "without a title")


# --- Domains: exact numbers of rows

FIRST, SECOND = "1f" * 32, "2e" * 32


def test_exact_numbers_of_rows_are_published_on_one_domain_alone(coins: Ledger) -> None:
    """Their difference on two domains is an exact count of people, at no charge. Protected numbers may differ in anything."""
    coins.reserve(cost(1), "a protected number of rows")
    assert coins.reserve(cost(1), "an exact one", ChargedRun(domain=FIRST)).domain == FIRST
    before = coins.statement()
    with pytest.raises(
        BudgetError, match=r"for the domain 2e2e2e2e2e2e2e2e, but .* an earlier release .* for another domain, 1f1f"
    ) as refused:
        coins.reserve(cost(1), "another domain", ChargedRun(domain=SECOND))
    assert refused.value.exit_code == 4
    assert coins.statement() == before
    coins.reserve(cost(1), "the same domain", ChargedRun(domain=FIRST))
    assert [entry.domain for entry in coins.reserve(cost(1), "protected").entries[2:]] == [None, FIRST, FIRST, None]


def test_a_release_says_its_domain(coins: Ledger) -> None:
    reserve_for_release(coins.path, plan(), "Births", ChargedRun(domain=FIRST))
    with pytest.raises(BudgetError, match="exact count of people"):
        reserve_for_release(coins.path, Plan.of(once=(), per_round=(cost("1/9"),)), "Births", ChargedRun(domain=SECOND))


@pytest.mark.parametrize("domain", ["", "births", "1f", "1F" * 32, "1f" * 33, "1f" * 32 + "\n"])
def test_a_domain_is_a_digest(coins: Ledger, domain: str) -> None:
    with pytest.raises(BudgetError, match="must have 64 hexadecimal digits"):
        coins.reserve(cost(1), "one more", ChargedRun(domain=domain))
    assert len(coins.statement().entries) == 2


@pytest.mark.parametrize("version", [0, 2, 4])
def test_a_ledger_of_another_format_is_refused_unread(coins: Ledger, version: int) -> None:
    with edited(coins.path) as database:
        database.execute(f"PRAGMA user_version = {version}")
    advice = "Use the version that wrote it, or open a new ledger with the remaining budget as its limit"
    with pytest.raises(LedgerError, match=f"has format {version}.* reads the formats 1 and 3.*{advice}"):
        load_ledger(coins.path)


def test_the_domain_is_shown(coins: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    from synthrelease.cli.releasing import show

    show(coins.path)
    assert "domain" not in capsys.readouterr().out
    coins.reserve(cost(1), "exact", ChargedRun(domain=FIRST))
    show(coins.path)
    assert capsys.readouterr().out.split("1f1f1f1f1f1f1f1f")[1:]


def test_a_row_that_was_changed_together_with_its_own_hash_is_refused_because_of_the_next(coins: Ledger) -> None:
    with edited(coins.path) as database:
        database.execute("UPDATE charges SET epsilon = '1/4' WHERE number = 1")
        (second,) = database.execute("SELECT hash FROM charges WHERE number = 2").fetchone()
        hashes_anew(database)
        database.execute("UPDATE charges SET hash = ? WHERE number = 2", (second,))
    with pytest.raises(LedgerError, match="Charge 2 was changed or is damaged"):
        coins.statement()


# --- Ledgers that somebody made to stall or to deceive

VIEW = "CREATE VIEW {} AS WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE account; CREATE VIEW account AS SELECT abs(-9223372036854775808) AS dataset",  # fails when it is read
        "DROP TABLE account; " + VIEW.format("account", "x AS dataset, x AS epsilon_limit, x AS delta_limit"),
        "DROP TABLE charges; "
        + VIEW.format(
            "charges", "x AS number, 'a' started, 'a' what, '1/1' epsilon, '0/1' delta, '' domain, '' piece, 'a' hash"
        ),
    ],
    ids=["one that fails", "account", "charges"],
)
def test_a_view_without_an_end_is_not_read(coins: Ledger, statement: str) -> None:
    with edited(coins.path) as database:
        database.executescript(statement)
    with pytest.raises(LedgerError, match="tables are not those of a ledger"):
        coins.statement()


@pytest.mark.parametrize(
    ("what", "started"), [("\x1b[2J", "now"), ("a\nb", "now"), ("x" * 201, "now"), ("coins", "\x1b[2J"), ("coins", "n" * 50)]
)
def test_texts_that_only_a_forger_writes_are_refused_although_the_hashes_are_right(
    coins: Ledger, what: str, started: str
) -> None:
    """They would go to the terminal as they are."""
    with edited(coins.path) as database:
        database.execute("UPDATE charges SET what = ?, started = ? WHERE number = 2", (what, started))
        hashes_anew(database)
        head = database.execute("SELECT hash FROM charges WHERE number = 2").fetchone()[0]
    head_path(coins.path).write_text(f"synthrelease ledger head 1\n2 {head}\n")
    with pytest.raises(LedgerError, match="Charge 2 was changed or is damaged"):
        coins.statement()


def test_charges_whose_sum_would_be_an_endless_fraction_are_refused_before_they_are_written(tmp_path: Path) -> None:
    """Every new denominator of a hundred digits makes the sum longer, and a long ledger impossible to add up."""
    ledger = open_ledger(tmp_path / "coins.ledger", "coins", 10)
    charges = [cost(Fraction(1, 10**95 + 2 * number + 1)) for number in range(12)]
    accepted = 0
    with suppress(BudgetError):
        for charge in charges:
            ledger.reserve(charge, "a run")
            accepted += 1
    assert 5 <= accepted < 12
    with pytest.raises(BudgetError, match="more than a thousand digits"):
        ledger.reserve(charges[-1], "a run")
    assert len(ledger.statement().entries) == accepted
    ledger.reserve(cost(1), "a decimal")


def test_a_long_ledger_is_verified_in_linear_time(coins: Ledger) -> None:
    with edited(coins.path) as database:
        database.execute("BEGIN")  # each row alone would wait for the disk
        database.executemany(
            "INSERT INTO charges VALUES (?, 'now', 'x', '0/1', '0/1', '', '', '')", [(number,) for number in range(3, 20_001)]
        )
        found = coins_with_right_hashes(database)
        database.execute("COMMIT")
    head_path(coins.path).write_text(f"synthrelease ledger head 1\n{found.number} {found.hash}\n")
    started = time.process_time()
    assert len(coins.statement().entries) == 20_000
    assert time.process_time() - started < 10


def coins_with_right_hashes(database: sqlite3.Connection) -> Head:
    """The hashes of all rows made anew, one after the other."""
    head = Statement(dataset="coins", epsilon_limit=Fraction(10), delta_limit=Fraction(0)).head
    for _, started, what, epsilon, delta, *_ in database.execute("SELECT * FROM charges ORDER BY number").fetchall():
        amounts = {"epsilon": from_text(epsilon), "delta": from_text(delta)}
        entry = Entry(previous=head.hash, number=head.number + 1, started=started, what=what, **amounts)
        database.execute("UPDATE charges SET hash = ? WHERE number = ?", (entry.hash, entry.number))
        head = entry.head
    return head


@POSIX
def test_links_in_a_circle_pipes_and_folders_are_refused(coins: Ledger) -> None:
    circle = coins.path.with_name("circle")
    circle.symlink_to(circle)
    with pytest.raises(LedgerError, match="There is no such file"):
        load_ledger(circle)
    for make in (os.mkfifo, os.mkdir):
        wal = coins.path.with_name(coins.path.name + "-wal")
        make(wal)
        with pytest.raises(LedgerError, match="This is not a regular file"):
            coins.statement()
        wal.rmdir() if wal.is_dir() else wal.unlink()
    head_path(coins.path).unlink()
    os.mkfifo(head_path(coins.path))
    with pytest.raises(LedgerError, match="The head file is a folder, pipe or device"):
        coins.statement()
