"""Worker processes hold private counts: they end with their parent, do not hear Ctrl-C, and get nothing through files."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.selection import SelectionRule
from synthrelease.releasing.selection import deaf_children, select_by
from tests.conftest import ROOT
from tests.helpers.rounds import Holding

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and numbers of parents of POSIX")

ORPHAN = """
import os, sys, time
delay = float(sys.argv[1])
from functools import partial
from synthrelease.releasing.selection import run_watched
reading, writing = os.pipe()
if os.fork() == 0:                 # a process that starts a worker and is killed
    parent = os.getpid()
    if os.fork() == 0:             # the worker, which gets its first task, and waits for more work
        time.sleep(delay)
        run_watched(parent, partial(os.write, writing, b"working"))
        while True:
            time.sleep(1)
    time.sleep(1)
    os.kill(os.getpid(), 9)
os.close(writing)
print(os.read(reading, 100).decode(), len(os.read(reading, 100)))  # the second waits until the worker has gone
"""


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("delay", ["0", "1.5"], ids=["watching before", "with its first task after"])
def test_a_worker_ends_soon_after_its_parent(delay: str) -> None:
    command = [sys.executable, "-c", ORPHAN, delay]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.split() in (["working", "0"], ["0"])  # it may end before the task that comes after its parent


@POSIX
def test_children_do_not_hear_ctrl_c_and_their_parent_does_again() -> None:
    heard = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    before = signal.getsignal(signal.SIGINT)
    with deaf_children():
        assert subprocess.run([sys.executable, "-c", heard], capture_output=True, text=True, check=True).stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt), deaf_children():
        raise KeyboardInterrupt
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_workers_get_private_counts_through_pipes_and_not_through_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """joblib would write arrays of more than a megabyte to a folder that all workers map into memory."""
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    layout = Layout(columns=("a",), sizes=(2**40,))
    private = PrivateCounts(Counts(layout, np.arange(300_000)), Meter(()))
    files, mapped = select_by(SelectionRule(), Holding(private, tmp_path), jobs=2)
    assert (files, mapped) == ([], False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
