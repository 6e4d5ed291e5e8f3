"""A cluster of Dask, as somebody else starts it in the enclave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.dask_processes import DaskProcess

NO_SPILL = {"DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False", "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False"}


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, list[DaskProcess]]]:
    """(address, workers) of a cluster that somebody else started: one worker by default."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    options = getattr(request, "param", {})
    file = tmp_path / "scheduler.json"
    tls = options.get("tls", lambda folder: ())(tmp_path)

    def start(name: str, *more: str) -> DaskProcess:
        command = ["--scheduler-file", str(file), "--no-dashboard", *tls, *more]
        there = tmp_path / options.get("folder", ".")
        there.mkdir(exist_ok=True)
        return DaskProcess(name, command, there, options.get("environment", NO_SPILL))

    scheduler = start("scheduler", "--host", "tls://127.0.0.1" if tls else "127.0.0.1", "--port", "0")
    workers = [start("worker", "--nworkers", "1", "--nthreads", "1", "--no-nanny") for _ in range(options.get("workers", 1))]
    try:
        pause = threading.Event()
        for _ in range(600):
            if file.exists() and file.read_text().strip():
                break
            pause.wait(0.05)
        yield json.loads(file.read_text())["address"], workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
