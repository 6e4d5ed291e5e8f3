"""Kill -9 of processes that open and charge a ledger: what was reported as charged is never forgotten.

Run by hand (two minutes): `python tests/whole/crashes.py [RANDOM]` kills at every system call that changes a file (strace),
before and after every SQL statement and every file operation of Python, and RANDOM times (default 1200) at a random moment;
it prints a table. tests/privacy/test_crashes.py runs a part of it in the default suite. POSIX only: it forks.

"Reported" is what a child wrote to a pipe after `reserve` had returned. After each kill the ledger must hold every reported
charge with its hash, and take another one; and so must the copy without its write-ahead file, unless it is refused.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # before a library's own folder "tests"

from synthrelease.privacy.charges import mechanism  # noqa: E402
from synthrelease.privacy.ledger import load_ledger, open_ledger  # noqa: E402
from synthrelease.privacy.ledger_file import LedgerError, head_path  # noqa: E402

COST = Fraction(1, 7)
CHARGE = mechanism("a run", COST, "a test")
SYSTEM_CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "rename", "link", "unlink")
STATES = ("no charge yet", "two charges", "a commit that was not confirmed")


class Forgotten(Exception):
    """A reported charge is not in the ledger: the one thing that must never happen."""


@dataclass(kw_only=True)
class Tally:
    """What was seen after the kills of one kind."""

    killed: int = 0
    reported: int = 0  # charges that killed processes had reported before
    seen: Counter[str] = field(default_factory=Counter)


# --- What the killed processes do


def do_open(path: Path) -> None:
    open_ledger(path, "coins", 1000)
    os.write(1, b"opened\n")


def do_reserve(path: Path) -> None:
    after = load_ledger(path).reserve(CHARGE, "coins")
    os.write(1, f"{after.head.number} {after.head.hash}\n".encode())


def do_reserve_for_ever(path: Path) -> None:
    while True:
        do_reserve(path)


@dataclass(frozen=True, kw_only=True)
class Child:
    """A forked process whose standard output is a pipe."""

    pid: int
    pipe: int

    def end(self) -> tuple[bool, str]:
        """Whether it was killed, and all that it reported."""
        text = b""
        while chunk := os.read(self.pipe, 65536):
            text += chunk
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        return os.WIFSIGNALED(status), text.decode()


def forked(action: Callable[[Path], None], path: Path) -> Child:
    """A child that runs `action`; it starts in a millisecond because everything is imported already."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid=pid, pipe=reading)
    try:
        os.dup2(writing, 1)
        action(path)
    except BaseException as error:
        os.write(1, f"failed {type(error).__name__} {error}\n".encode())
    finally:
        os._exit(0)


# --- What must hold after a kill


def reports(text: str) -> set[tuple[int, str]]:
    """Charges that a child reported. Raises RuntimeError when it failed instead of being killed."""
    if "failed" in text:
        raise RuntimeError(text)
    return {(int(number), digest) for number, digest in re.findall(r"^(\d+) ([0-9a-f]{64})$", text, re.M)}


def check_reserved(path: Path, reported: set[tuple[int, str]]) -> str:
    """What the ledger is after a kill. Raises Forgotten."""
    alone = path.parent / "alone"
    alone.mkdir(exist_ok=True)
    for file in (path, head_path(path)):
        shutil.copy2(file, alone / file.name)
    holds(alone / path.name, reported)  # the write-ahead file is lost: all of it, or refused
    shutil.rmtree(alone)
    verdict = holds(path, reported)
    if verdict == "usable":
        before = load_ledger(path).statement().epsilon
        if load_ledger(path).reserve(CHARGE, "after the crash").epsilon != before + COST:
            raise Forgotten(f"{path}: the charge after the crash did not add up")
    return verdict


def holds(path: Path, reported: set[tuple[int, str]]) -> str:
    try:
        found = load_ledger(path).statement()
    except LedgerError:
        return "refused"
    if reported - {(entry.number, entry.hash) for entry in found.entries} or found.epsilon < len(reported) * COST:
        raise Forgotten(f"{path}: reported {len(reported)}, found {len(found.entries)} charges")
    return "usable"


def check_opened(path: Path, text: str) -> str:
    """After a kill of `open_ledger`: no ledger, and a second attempt makes one; or a whole one."""
    if "failed" in text and "failed OutputError" not in text:
        raise RuntimeError(text)
    if path.exists():
        ledger = load_ledger(path).reserve(CHARGE, "after the crash")
        verdict = "whole"
    elif "opened" in text:
        raise Forgotten(f"{path}: reported as opened, but not there")
    else:
        ledger = open_ledger(path, "coins", 1000).reserve(CHARGE, "after the crash")
        verdict = "none, opened at the second attempt"
    if ledger.epsilon != COST or path.stat().st_mode & 0o777 != 0o600:
        raise Forgotten(f"{path}: not a new ledger of mode 0600")
    return verdict


def prepared(folder: Path, state: str) -> tuple[Path, set[tuple[int, str]]]:
    """A ledger in one of STATES, and the charges reported so far."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "coins.ledger"
    opened = open_ledger(path, "coins", 1000)
    heads = [opened.reserve(CHARGE, "coins").head for _ in range(0 if state == STATES[0] else 2)]
    if state == STATES[2]:
        killed, _ = forked(stopped_at(2 * statements_until_commit() + 1, do_reserve), path).end()
        if not killed or not path.with_name(path.name + "-wal").exists():
            raise RuntimeError("expected a write-ahead file left by a killed process")
    return path, {(head.number, head.hash) for head in heads}


# --- Kills before and after every statement and every operation of Python


def stopped_at(moment: int, action: Callable[[Path], None]) -> Callable[[Path], None]:
    """The action in a process that kills itself at this moment; moments are counted before and after each operation."""

    def run(path: Path) -> None:
        passed = 0

        def tick() -> None:
            nonlocal passed
            if passed == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            passed += 1

        watch(tick)
        action(path)

    return run


def watch(tick: Callable[[], None], names: list[str] | None = None) -> None:
    """Call `tick` before and after every SQL statement and every change of a file that Python makes, in this process."""

    def around(operation: Callable, name: str) -> Callable:
        def watched(*arguments: object, **options: object) -> object:
            if names is not None:
                names.append(f"{name} {arguments[1] if name == 'execute' else ''}")
            tick()
            result = operation(*arguments, **options)
            tick()
            return result

        return watched

    class Watched(sqlite3.Connection):
        execute = around(sqlite3.Connection.execute, "execute")
        close = around(sqlite3.Connection.close, "close")

    connect = sqlite3.connect
    sqlite3.connect = lambda *arguments, **options: connect(*arguments, factory=Watched, **options)
    for name in ("fsync", "replace", "link", "unlink"):
        setattr(os, name, around(getattr(os, name), name))


def operations(action: Callable[[Path], None], path: Path) -> list[str]:
    """The operations that `watch` sees, in order, found out in a process of its own."""

    def listed(path: Path) -> None:
        names: list[str] = []
        watch(lambda: None, names)
        action(path)
        os.write(1, ("".join(f"\n= {name}" for name in names)).encode())

    _, text = forked(listed, path).end()
    return [line[2:] for line in text.splitlines() if line.startswith("= ")]


@cache
def statements_until_commit() -> int:
    """How many operations of `do_reserve` come before its first COMMIT."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coins.ledger"
        open_ledger(path, "coins", 1000)
        return [name.strip() for name in operations(do_reserve, path)].index("execute COMMIT")


def kills_at_operations(folder: Path, action: Callable[[Path], None], state: str | None) -> Tally:
    """Kill at every moment of `stopped_at`, each time on a ledger prepared anew (None: no ledger)."""
    tally, moment = Tally(), 0
    while True:
        path, reported = fresh(folder, state)
        killed, text = forked(stopped_at(moment, action), path).end()
        if not killed:
            reports(text)
            return tally
        tally.killed += 1
        tally.seen[check_opened(path, text) if state is None else check_reserved(path, reported | reports(text))] += 1
        shutil.rmtree(path.parent)
        moment += 1


def quick_folder(otherwise: Path) -> Path:
    """A folder in memory where there is one. A killed process leaves the same files there, and syncs cost nothing."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory)) if os.access(memory, os.W_OK | os.X_OK) else otherwise


def fresh(folder: Path, state: str | None) -> tuple[Path, set[tuple[int, str]]]:
    if state is not None:
        return prepared(folder, state)
    return Path(tempfile.mkdtemp(dir=folder)) / "coins.ledger", set()


# --- Kills at every system call that changes a file


def strace_works() -> bool:
    """Whether strace is here and may trace (containers often forbid it)."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True, check=False).returncode == 0


def traced(name: str, path: Path, log: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the function `name` of this file on `path` in a new process under strace."""
    code = "import sys; sys.path[:0] = sys.argv[1:2]; import tests.whole.crashes as c; "
    code += "getattr(c, sys.argv[2])(c.Path(sys.argv[3]))"
    command = ["strace", "-f", "-qq", "-y", "-o", str(log), *options, sys.executable, "-S", "-B", "-c", code]
    command += [str(ROOT), name, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def kills_at_system_calls(folder: Path, name: str, state: str | None, calls: tuple[str, ...] = SYSTEM_CALLS) -> Tally:
    """Kill at the first, second, ... system call of each kind, before it is done."""
    tally = Tally()
    for call in calls:
        for when in range(1, 1000):
            path, reported = fresh(folder, state)
            inject = ("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}")
            result = traced(name, path, path.parent / "log", *inject)
            (path.parent / "log").unlink()
            if result.returncode == 0:
                break
            if result.returncode not in (-signal.SIGKILL, 128 + signal.SIGKILL):
                raise RuntimeError(result.stderr)
            tally.killed += 1
            verdict = (
                check_opened(path, result.stdout) if state is None else check_reserved(path, reported | reports(result.stdout))
            )
            tally.seen[verdict] += 1
            shutil.rmtree(path.parent)
    return tally


# --- Kills at random moments


def kills_at_random(folder: Path, kills: int, draw: random.Random, racing: int = 2) -> Tally:
    """Processes that race for the same ledger, killed together at a random moment; the ledger lives through 20 kills."""
    tally, path, reported = Tally(), Path(), set[tuple[int, str]]()
    while tally.killed < kills:
        if tally.killed % (20 * racing) == 0:
            path, reported = prepared(folder, STATES[0])
        children = [forked(do_reserve_for_ever, path) for _ in range(racing)]
        time.sleep(draw.uniform(0, 0.08))
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
        for child in children:
            killed, text = child.end()
            tally.killed += killed
            tally.reported += len(reports(text))
            reported |= reports(text)
        tally.seen[check_reserved(path, reported)] += racing
    return tally


def opening_at_random(folder: Path, kills: int, draw: random.Random) -> Tally:
    """Processes that open a ledger, killed at a random moment; two at once, of which one may win."""
    tally = Tally()
    while tally.killed < kills:
        path, _ = fresh(folder, None)
        children = [forked(do_open, path) for _ in range(2)]
        time.sleep(draw.uniform(0, 0.08))
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
        ends = [child.end() for child in children]
        tally.killed += sum(killed for killed, _ in ends)
        tally.seen[check_opened(path, ends[0][1] + ends[1][1])] += sum(killed for killed, _ in ends)
        shutil.rmtree(path.parent)
    return tally


def everything(folder: Path, kills: int) -> Iterator[tuple[str, Tally]]:
    """All kinds of kills, each with its name."""
    draw = random.Random()
    yield "open: before and after each operation", kills_at_operations(folder, do_open, None)
    for state in STATES:
        yield f"reserve, {state}: before and after each operation", kills_at_operations(folder, do_reserve, state)
    if strace_works():
        yield "open: each system call", kills_at_system_calls(folder, "do_open", None)
        for state in STATES:
            yield f"reserve, {state}: each system call", kills_at_system_calls(folder, "do_reserve", state)
    yield "open, two at once: a random moment", opening_at_random(folder, kills // 6, draw)
    yield "reserve, one: a random moment", kills_at_random(folder, kills // 3, draw, racing=1)
    yield "reserve, two at once: a random moment", kills_at_random(folder, kills // 2, draw, racing=2)


def main() -> None:
    """Print a table of all kills; the first reported charge that a ledger lacks ends it with an error."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    total, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, tally in everything(Path(folder), kills):
            seen = ", ".join(f"{verdict} {count}" for verdict, count in sorted(tally.seen.items()))
            more = f"; {tally.reported} charges reported and kept" if tally.reported else ""
            sys.stdout.write(f"{name:75} {tally.killed:5} kills: {seen}{more}\n")
            sys.stdout.flush()
            total += tally.killed
    sys.stdout.write(f"{total} kills in {time.monotonic() - started:.0f} s; no reported charge was forgotten\n")
    if not strace_works():
        sys.stdout.write("strace is not here or may not trace: no kills at system calls\n")


if __name__ == "__main__":
    main()
