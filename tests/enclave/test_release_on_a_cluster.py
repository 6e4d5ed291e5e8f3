"""A whole release whose files workers of a cluster count, and who die on the way: while it counts, draws and writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.enclave.many_files import Run, counting_cluster
from synthrelease.errors import InputError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.publish import Listener, publish
from synthrelease.sources.source import Source, State, state_of
from synthrelease.spec.requests import ReleaseRequest
from tests.helpers.dask_processes import DaskProcess
from tests.helpers.tiny import EPSILON, write_config, write_data

pytestmark = pytest.mark.slow

COUNTED, DRAWING, WRITING = "a file", "selecting a dataset that meets all criteria", "writing the release"


class Killing(Listener):
    """Stops a worker with the first file that is counted, and as soon as these phases begin."""

    def __init__(self, workers: list[DaskProcess]):
        self.workers = dict(zip((COUNTED, DRAWING, WRITING), workers, strict=False))
        self.killed: list[str] = []

    def phase(self, name: str) -> None:
        if name in self.workers and name not in self.killed:
            self.workers[name].send_signal(signal.SIGKILL)
            self.workers[name].wait(timeout=60)
            self.killed.append(name)

    @contextmanager
    def counting(self, address: str, *tables: Source) -> Iterator[Run]:
        with counting_cluster(address, *tables) as run:

            def told(action: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
                for result in run(action, tasks):
                    self.phase(COUNTED)
                    yield result

            yield told


def many_files(folder: Path) -> Path:
    """The tiny data in ten files."""
    header, *rows = write_data(folder).read_text().splitlines()
    there = folder / "coins"
    there.mkdir()
    for number in range(10):
        (there / f"{number}.csv").write_text("\n".join([header, *rows[number::10], ""]))
    return there


@pytest.mark.parametrize("cluster", [{"workers": 4}], indirect=True)
def test_workers_that_die_while_it_counts_draws_and_writes_leave_one_whole_release_and_one_charge(
    cluster, tmp_path, monkeypatch
) -> None:
    address, workers = cluster
    data, config, ledger = many_files(tmp_path), write_config(tmp_path), tmp_path / "coins.ledger"
    open_ledger(ledger, dataset="coins", limit=30)
    before = {path.name for path in tmp_path.iterdir()}
    listener = Killing(workers)
    monkeypatch.setattr("synthrelease.publish.counting_cluster", listener.counting)

    request = ReleaseRequest(config=config, data=data, out=tmp_path / "out", ledger=ledger, backend="dask", address=address)
    published = publish(request, listener)

    assert listener.killed == [COUNTED, DRAWING, WRITING]
    assert [worker.poll() for worker in workers] == [-signal.SIGKILL] * 3 + [None]
    assert published is not None
    assert verify_bundle(published.folder).passed
    assert published.release.n_file == 401  # of every file once
    statement = load_ledger(ledger).statement()
    assert (len(statement.entries), statement.epsilon) == (1, EPSILON)
    assert {path.name for path in tmp_path.iterdir()} == before | {"out"}


@pytest.mark.parametrize("cluster", [{"workers": 2, "folder": "elsewhere"}], indirect=True)
def test_a_folder_by_a_relative_path_is_counted_by_workers_that_stand_elsewhere(cluster, tmp_path, monkeypatch) -> None:
    """The path is made absolute here."""
    data, config = many_files(tmp_path), write_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    request = ReleaseRequest(config=config, data=Path(data.name), out=tmp_path / "out", backend="dask", address=cluster[0])
    published = publish(request)
    assert published is not None
    assert published.release.n_file == 401


@pytest.mark.parametrize("cluster", [{"workers": 2}], indirect=True)
def test_a_worker_that_does_not_see_the_folder_costs_nothing_and_is_named(cluster, tmp_path, monkeypatch) -> None:
    data, config, ledger = many_files(tmp_path), write_config(tmp_path), tmp_path / "coins.ledger"
    open_ledger(ledger, dataset="coins", limit=30)
    before = ledger.with_name("coins.ledger.head").read_bytes()
    monkeypatch.setattr("synthrelease.enclave.many_files.state_of", SeenFromHere(data))
    request = ReleaseRequest(config=config, data=data, out=tmp_path / "out", ledger=ledger, backend="dask", address=cluster[0])
    with pytest.raises(InputError) as caught:
        publish(request)
    assert f"expected workers that see {data} as it is here, found one that does not: tcp://127.0.0.1:" in str(caught.value)
    assert str(caught.value).endswith("Nothing was spent.")
    assert load_ledger(ledger).statement().entries == ()
    assert ledger.with_name("coins.ledger.head").read_bytes() == before


class SeenFromHere:
    """What tells that a file was written, for the process that made it alone: a worker is another one."""

    def __init__(self, folder: Path):
        self.folder, self.process = folder, os.getpid()

    def __call__(self, file: Path) -> State:
        if os.getpid() != self.process:
            raise InputError("expected files that stay, found one that is gone.")
        return state_of(file)
