"""A database that computes for ever is stopped: by a signal, by hand, and by time; and the thread that reads it ends."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from synthrelease.enclave import stoppable
from synthrelease.enclave.databases import sqlite_batches
from synthrelease.enclave.reading import batches
from synthrelease.enclave.stoppable import stoppable_batches
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.opened import Stop
from synthrelease.sources.source import Source
from tests.helpers.people import schema_of
from tests.helpers.tiny import write_config

NEVER = """CREATE VIEW coins AS WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM c)
SELECT 'head' AS face, 1 AS year FROM c WHERE v < 0"""
"""A view that never gives a row, in a file of 8 KB."""


def sqlite_file(folder: Path) -> Path:
    path = folder / "never.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(NEVER)
        connection.commit()
    return path


def duckdb_file(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
    path = folder / "never.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(NEVER)
    return path


def source(folder: Path, way: str) -> str:
    if way == "duckdb":
        return str(duckdb_file(folder))
    path = sqlite_file(folder)
    if way != "sqlite":
        pytest.importorskip("sqlalchemy", reason="needs the extra database")
    return {"sqlite": "{}", "sqlalchemy": "sqlite+pysqlite:///{}"}[way].format(path)


WAYS = ("sqlite", "duckdb", "sqlalchemy")

CHECKS = """
import signal
from synthrelease.cli import main
from synthrelease.enclave import databases
signal.signal(signal.SIGINT, signal.default_int_handler)
stoppable_batches = databases.stoppable_batches
def told(*arguments):
    print("reading", flush=True)
    return stoppable_batches(*arguments)
databases.stoppable_batches = told
main()
"""
"""The command line, which says when it begins to read. Whoever starts the tests behind a terminal's back makes every process
below ignore Ctrl-C."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [*((signal.SIGTERM, way) for way in WAYS), (signal.SIGINT, "sqlite")])
def test_a_signal_ends_a_check_of_a_view_that_never_gives_a_row(tmp_path, way, kind):
    words = ["check", str(write_config(tmp_path)), "--data", source(tmp_path, way), "--table", "coins"]
    pipe = subprocess.PIPE
    run = subprocess.Popen([sys.executable, "-c", CHECKS, *words], stdout=pipe, stderr=pipe, text=True)
    assert run.stdout is not None
    assert "reading\n" in run.stdout  # up to there
    deadline, before = time.monotonic() + 60, cpu_seconds(run.pid)
    while cpu_seconds(run.pid) < before + 0.3 and time.monotonic() < deadline:  # it is in the middle of the view by then
        threading.Event().wait(0.05)
    run.send_signal(kind)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 1
    assert "Stopped by hand." in said


def cpu_seconds(pid: int) -> float:
    """Of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_view_that_gives_no_row_in_time_is_refused_and_its_thread_ends(tmp_path, way, monkeypatch):
    monkeypatch.setattr(stoppable, "BATCH_SECONDS", 0.6)
    before = threading.active_count()
    schema = schema_of("age", source="year")
    with pytest.raises(InputError, match=r"it sent no row of the table or view for 0.01 minutes\."):
        list(batches(Source.of(source(tmp_path, way), "coins"), schema, InputTable()))
    assert threading.active_count() == before


def test_rows_come_as_they_are_and_a_reader_that_stops_early_leaves_nothing(tmp_path):
    path = tmp_path / "rows.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (v)")
        connection.executemany("INSERT INTO t VALUES (?)", [(str(number),) for number in range(1000)])
        connection.commit()
    before = threading.active_count()
    every = [texts["v"].texts[code] for _, texts in sqlite_batches(path, "t", ["v"], 7) for code in texts["v"].codes]
    assert every == [str(number) for number in range(1000)]
    reader = sqlite_batches(path, "t", ["v"], 7)
    assert len(next(reader)[1]["v"].codes) == 7
    reader.close()
    assert threading.active_count() == before


@pytest.mark.slow
def test_one_piece_is_made_ahead_and_no_more():
    made = []

    def read(stop: Stop):
        for number in range(100):
            made.append(number)
            yield number, {}

    reader = stoppable_batches(read, "nothing was opened")
    assert next(reader)[0] == 0
    threading.Event().wait(0.5)
    assert len(made) <= 3  # the one that was taken, the one that waits, and one that was made behind it
    assert [row for row, _ in reader] == list(range(1, 100))


def test_what_fails_in_the_thread_is_told_without_what_it_holds(monkeypatch):
    hooked: list[object] = []
    monkeypatch.setattr(threading, "excepthook", hooked.append)

    def read(stop: Stop):
        yield 1, {}
        raise ValueError("SECRET-7461")

    with pytest.raises(InputError, match="^it broke off$") as caught:
        list(stoppable_batches(read, "nothing was opened", "it broke off"))
    assert (caught.value.__cause__, caught.value.__context__, hooked) == (None, None, [])


def test_a_way_to_stop_that_comes_late_is_used_at_once():
    stop, told = Stop(), []
    stop.ask()
    stop.by(lambda: told.append(1))
    assert told == [1]
