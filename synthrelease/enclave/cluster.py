"""Workers of an existing Dask cluster, which belongs to the enclave: they see rows, and hand back counts.

Nothing but the list of files and the specification goes to the workers, and nothing but counts, or a text that says what is
wrong with a file, comes back, over the connections of the cluster and never through a file: a cluster whose workers may write
results to a disk is refused. So is one that is reached over a network without TLS, and one of another version, before a budget
is spent. A worker that dies is replaced by another; what it was counting is counted anew, and each file enters the sum once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from synthrelease.dask_clients import check_workers, check_workers_see, dask_client
from synthrelease.enclave.many_files import Run
from synthrelease.errors import InputError
from synthrelease.sources.source import Source, state_of

_RUNS = count()
DIED = "expected a cluster that counts every file, found one that gave up. The cause is not shown: it may hold values."


@contextmanager
def counting_cluster(address: str, *tables: Source) -> Iterator[Run]:
    """Where `ingest` has the files of tables counted. Raises InputError for a cluster that cannot be used for private rows, and
    for one of which some worker does not see the first file of a table."""
    with dask_client(address) as client:
        check_workers(client, address)
        for table in tables:
            where = str(table) if table.path is None else str(table.path.absolute())
            check_workers_see(client, address, partial(state_of, table.files()[0]), where)

        def run(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
            return _each(client, action, arguments)

        yield run


def _each(client: Any, action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """The result of each, once, as they come; at most four for each thread of the cluster are held there at a time."""
    from distributed import as_completed

    # a name of this run, so that no result of another one is taken for it
    name, left = f"{client.id}-{next(_RUNS)}", iter(enumerate(arguments))

    def submit(place: int, task: tuple[Any, ...]) -> Any:
        return client.submit(action, *task, key=f"synthrelease-{name}-{place}", pure=False)

    at_once = 4 * max(1, sum(client.nthreads().values()))
    failed = False
    first = [submit(place, task) for _, (place, task) in zip(range(at_once), left, strict=False)]
    coming = as_completed(first, loop=client.loop)
    for future in coming:
        place = int(future.key.rpartition("-")[2])
        try:
            result = future.result()
        except Exception:  # every worker that began with it died, or could not hand it over
            failed = True
            break
        future.release()
        if (following := next(left, None)) is not None:
            coming.add(submit(*following))
        yield place, result
    if failed:
        raise InputError(DIED)
