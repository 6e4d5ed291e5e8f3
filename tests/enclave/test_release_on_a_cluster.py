"""A whole release whose files workers of a cluster count, and who die on the way: while it counts, draws and writes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from synthrelease.enclave.cluster import counting_cluster
from synthrelease.enclave.many_files import Run
from synthrelease.ledger.account import load_ledger, open_ledger
from synthrelease.publish import Listener, ReleaseRequest, publish
from synthrelease.verification import verify_bundle
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
    def counting(self, address: str) -> Iterator[Run]:
        with counting_cluster(address) as run:

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

    request = ReleaseRequest(config=config, data=data, out=tmp_path / "out", ledger=ledger, address=address)
    published = publish(request, listener)

    assert listener.killed == [COUNTED, DRAWING, WRITING]
    assert [worker.poll() for worker in workers] == [-signal.SIGKILL] * 3 + [None]
    assert published is not None
    assert verify_bundle(published.folder).passed
    assert published.release.n_file == 401  # of every file once
    statement = load_ledger(ledger).statement()
    assert (len(statement.entries), statement.epsilon) == (1, EPSILON)
    assert {path.name for path in tmp_path.iterdir()} == before | {"out"}
