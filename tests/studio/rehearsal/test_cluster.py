"""The same rehearsal on an existing cluster: a real Dask scheduler and two workers on loopback, one of which dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.studio.rehearsal.rehearse import rehearse, running
from synthrelease.studio.rehearsal.report import document
from tests.conftest import ROOT
from tests.helpers.late import library
from tests.helpers.tiny import write_config, write_data

distributed = library("distributed", reason="needs the extra dask")

SPACE = {
    "degree = 1": "degree = [1, 2]",
    "epsilon_split = 0.5": "epsilon_split = [0.1, 0.3, 0.5, 0.7]",
    "generation = 10": "generation = 1",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """(address, the two workers) of a cluster that was started by somebody else."""
    file = tmp_path / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # in real life synthrelease is installed on the workers

    def start(module: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file), "--no-dashboard", *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=tmp_path)

    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
    workers = [start("dask_worker", "--nworkers", "1", "--nthreads", "1", "--no-nanny") for _ in range(2)]
    try:
        for _ in range(6000):
            if file.exists() and file.read_text().strip():
                break
            threading.Event().wait(0.01)
        yield json.loads(file.read_text())["address"], workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def on_a_worker(number: int) -> tuple[int, str]:
    """And the address of the worker that runs it; fails where none does."""
    return number, distributed.get_worker().address


@pytest.mark.slow
def test_every_task_runs_once_on_a_worker_of_the_cluster() -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        addresses = {worker.address for worker in cluster.workers.values()}
        with running(address=cluster.scheduler_address) as run:
            found = sorted(run(on_a_worker, [(number,) for number in range(8)]))
    assert [number for number, _ in found] == list(range(8))
    assert {where for _, where in found} == addresses


@pytest.mark.slow
def test_a_rehearsal_survives_the_death_of_a_worker_with_the_same_report(
    cluster: tuple[str, list[subprocess.Popen]], tmp_path: Path
) -> None:
    address, workers = cluster
    spec, data, killed = load_spec(write_config(tmp_path, SPACE)), write_data(tmp_path), []

    def kill_one(phase: str, done: int, total: int) -> None:
        if done and not killed:
            workers[0].send_signal(signal.SIGKILL)
            killed.append(phase)

    asked = RehearsalRequest(config=Path(spec.path), data=str(data), out=tmp_path / "here", keep=4, width=0.4, seed=4)
    there = rehearse(spec, replace(asked, out=tmp_path / "there", backend="dask", address=address), progress=kill_one)
    here = rehearse(spec, asked)
    assert killed
    assert workers[0].wait(timeout=60) == -signal.SIGKILL
    assert there.complete
    assert there.n_attempts > 50
    assert document(there) == document(here)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthrelease.enclave.many_files.CONNECT_SECONDS", 1)
    with (
        pytest.raises(InputError, match="expected a Dask scheduler with workers, reached none within 1 s"),
        running(address="tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "spark"}, "--backend: expected loky or dask, found 'spark'"),
        ({"backend": "ray"}, "found 'ray'. A Ray cluster is not used: start a Dask scheduler and workers on its machines"),
        ({"backend": "dask"}, "--backend dask: expected the address of a scheduler, found none"),
        ({"backend": "loky", "address": "tcp://127.0.0.1:1"}, "--backend loky stays on this machine"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RehearsalRequest(config=Path("coins.toml"), data="coins.csv", out=Path("out"), **options)
