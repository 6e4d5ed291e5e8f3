"""A part of tests/whole/crashes.py: processes killed with -9 never make a ledger forget a reported charge."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("kills and forks need POSIX", allow_module_level=True)

from synthrelease.privacy.ledger import load_ledger
from tests.whole import crashes
from tests.whole.crashes import STATES

pytestmark = pytest.mark.slow


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    folder = crashes.quick_folder(tmp_path)
    yield folder
    shutil.rmtree(folder)


STRACE = pytest.mark.skipif(not crashes.strace_works(), reason="needs strace, and the right to trace")


@pytest.mark.parametrize("state", [None, STATES[1]], ids=["open", "reserve"])
def test_a_kill_before_or_after_any_operation_forgets_nothing(quick: Path, state: str | None) -> None:
    tally = crashes.kills_at_operations(quick, crashes.do_open if state is None else crashes.do_reserve, state)
    assert tally.killed > 40
    assert set(tally.seen) == ({"whole", "none, opened at the second attempt"} if state is None else {"usable"})


@STRACE
def test_a_kill_at_any_system_call_that_confirms_a_charge_forgets_nothing(quick: Path) -> None:
    tally = crashes.kills_at_system_calls(quick, "do_reserve", STATES[2], ("fsync", "fdatasync", "rename", "unlink"))
    assert tally.killed >= 8
    assert set(tally.seen) == {"usable"}


def test_a_kill_at_a_random_moment_forgets_nothing(quick: Path) -> None:
    tally = crashes.kills_at_random(quick, 25, random.Random(7461))
    assert tally.seen["usable"] >= 25


def test_the_order_of_a_charge_is_commit_then_ledger_then_head_then_report(tmp_path: Path) -> None:
    """Kill -9 does not empty the system's caches, as a power cut would; so the order of the calls is looked at."""
    path, _ = crashes.prepared(tmp_path, STATES[1])
    seen = [name.strip() for name in crashes.operations(crashes.do_reserve, path)]
    first, second, *_ = (place for place, name in enumerate(seen) if name == "execute COMMIT")
    between = seen[first:second]
    assert "execute PRAGMA wal_checkpoint(TRUNCATE)" in between
    assert between[-3:] == ["fsync", "replace", "fsync"]  # the head file, its name, the folder
    assert [name for name in seen[:first] if name.startswith("execute PRAGMA synchronous = ")] == [
        "execute PRAGMA synchronous = FULL"
    ] * 2  # load_ledger and reserve


@STRACE
def test_every_file_is_on_the_disk_before_a_charge_is_reported(tmp_path: Path) -> None:
    """After the last write to each file, and after the last change of a name, comes a sync of it; only then the report."""
    path, _ = crashes.prepared(tmp_path, STATES[1])
    log = tmp_path / "log"
    result = crashes.traced("do_reserve", path, log, "-e", "trace=pwrite64,write,fsync,fdatasync,rename")
    assert result.returncode == 0
    calls = re.findall(r"^\d+ +(\w+)\((?:\d+<([^>]*)>|\"([^\"]*)\")", log.read_text(), re.M)
    events = [(call, Path(opened or named).name) for call, opened, named in calls]
    report = max(place for place, (_, name) in enumerate(events) if name.startswith("pipe:"))
    ledger, wal, head, folder = path.name, f"{path.name}-wal", f"{path.name}.head.new", path.parent.name
    for changed, name, synced in (
        ("pwrite64", wal, wal),
        ("pwrite64", ledger, ledger),
        ("write", head, head),
        ("rename", head, folder),
    ):
        last = max(place for place, event in enumerate(events) if event == (changed, name))
        syncs = [place for place, (call, at) in enumerate(events) if call in ("fsync", "fdatasync") and at == synced]
        assert any(last < place < report for place in syncs), name
    order = [events.index(event) for event in (("pwrite64", wal), ("pwrite64", ledger), ("write", head), ("rename", head))]
    assert order == sorted(order)


def test_a_lost_charge_is_noticed_by_these_checks(tmp_path: Path) -> None:
    """The checks themselves can fail: a report of a charge that is not there, and one with another hash."""
    path, reported = crashes.prepared(tmp_path, STATES[1])
    found = load_ledger(path).statement()
    assert found.epsilon == Fraction(2, 7)
    assert crashes.holds(path, reported) == "usable"
    for absent in ((3, "0" * 64), (2, "0" * 64)):
        with pytest.raises(crashes.Forgotten):
            crashes.holds(path, reported | {absent})
    with pytest.raises(crashes.Forgotten):
        crashes.check_reserved(path, {(3, "0" * 64)})
