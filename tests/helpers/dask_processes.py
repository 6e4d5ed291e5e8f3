"""Processes of a Dask cluster, as its commands start them, forked from one that has imported what they need.

Importing it takes a second of each otherwise. POSIX only.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

IMPORTED = tuple(f"distributed.cli.dask_{name}" for name in ("scheduler", "worker")) + tuple(
    f"synthrelease.enclave.{name}" for name in ("cluster", "many_files", "reading")
)


class DaskProcess:
    """A running `dask scheduler` or `dask worker`, with the methods of a `subprocess.Popen`."""

    def __init__(self, name: str, options: Sequence[str], folder: Path, environment: Mapping[str, str]):
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload([__name__, *IMPORTED])
        self._process = forks.Process(target=_run, args=(name, list(options), str(folder), dict(environment)))
        self._process.start()

    def send_signal(self, number: signal.Signals) -> None:
        if self._process.pid is None:
            raise RuntimeError("it has not been started")
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it; None as long as it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutError("it is still running")
        return self._process.exitcode


def _run(name: str, options: list[str], folder: str, environment: Mapping[str, str]) -> None:
    """The command, told the environment and to be quiet."""
    import dask

    os.chdir(folder)
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    dask.config.refresh()
    importlib.import_module(f"distributed.cli.dask_{name}").main(options)
