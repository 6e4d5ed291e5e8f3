"""Many attempts side by side, through joblib alone: on this machine, or on an existing Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from synthrelease.enclave.many_files import dask_client, other_cluster
from synthrelease.errors import InputError

BACKENDS = ("loky", "dask")


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Where attempts run.

    Attributes
    ----------
    backend : "loky" (processes of this machine) or "dask".
    jobs : processes of this machine; with a cluster, tasks that are handed out at a time (all its workers when 0).
    address : of the scheduler, for example tcp://10.0.0.5:8786.
    """

    backend: str = "loky"
    jobs: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InputError(
                f"--backend: expected one of {', '.join(BACKENDS)}, found {self.backend!r}.{other_cluster(self.backend)}"
            )
        if self.backend == "loky" and self.address:
            raise InputError("--address: expected it with --backend dask, found it with loky, which has no cluster.")
        if self.backend == "dask" and not self.address:
            raise InputError("--address: expected the address of the Dask scheduler, for example tcp://127.0.0.1:8786.")


Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Generator[Any, None, None]]


@contextmanager
def running(workers: Workers) -> Iterator[Run]:
    """A function that calls `action(*arguments)` for each of many arguments and yields the results as they come.

    Raises
    ------
    InputError : when the cluster cannot be reached or its package is not installed.
    """
    if workers.backend == "dask":
        with _dask(workers) as jobs:
            yield _runner("dask", jobs)
    else:
        yield _runner("loky", workers.jobs)


def _runner(backend: str, jobs: int) -> Run:
    from joblib import Parallel, delayed, parallel_config

    def run(action: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        tasks = (delayed(action)(*chosen) for chosen in arguments)
        with parallel_config(backend=backend, n_jobs=jobs):
            yield from Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=2 * jobs, max_nbytes=None)(tasks)

    return run


@contextmanager
def _dask(workers: Workers) -> Iterator[int]:
    with dask_client(str(workers.address), of_rows=False) as client:
        yield workers.jobs or sum(client.nthreads().values())
