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
from tests.whole.talker import end_session

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and numbers of parents of POSIX")

ORPHAN = """
import os, threading, time
from functools import partial
from joblib.externals.loky.backend.popen_loky_posix import Popen
from synthrelease.releasing.selection import _results

launch, seconds = Popen._launch, float({seconds!r})
def launched(*given):
    launch(*given)
    os.kill(os.getpid(), 9)
if seconds:
    threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), 9)), daemon=True).start()
else:
    Popen._launch = launched
for _ in _results(partial(time.sleep, 0.1), 2):  # rounds without an end
    pass
"""


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("seconds", [0, 3], ids=["before their first task", "at work"])
def test_workers_end_soon_after_a_parent_that_is_killed(seconds: int) -> None:
    command = [sys.executable, "-c", ORPHAN.format(seconds=seconds)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL) as parent:
        assert parent.wait(60) == -signal.SIGKILL
    end_session(parent.pid, 60.0)  # joblib would let a worker wait 300 seconds for its first task


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
