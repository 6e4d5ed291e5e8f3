"""Count the files of one table, each by itself, here or by the workers of a cluster of Dask: the counts are a sum.

A file that was written meanwhile is an error: some of its rows may have been counted and some not, and no neighbour of the
table has such counts. Whoever counts it compares its state before and after, and all states are compared once more in the end.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import Any

from synthrelease.data.misfits import needed_columns
from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import CountedRows, added_up, count_batches
from synthrelease.enclave.reading import file_batches
from synthrelease.errors import InputError, Unexpected
from synthrelease.privacy.protection import set_core_limit
from synthrelease.resources import library
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import CHANGED, File, Source, State, state_of, unwritten, which_file

# A client of a Dask scheduler: whether there is one with workers, and whether others can read what goes over the network.

CONNECT_SECONDS = 15


@contextmanager
def dask_client(address: str, of_rows: bool = True) -> Iterator[Any]:
    """Connect to the scheduler at this address. With `tls://`, certificates are those of Dask's own configuration.

    Parameters
    ----------
    of_rows : whether private counts will come over the line: a network then needs TLS.

    Raises
    ------
    InputError : when there is no scheduler with workers, or its package is not installed.
    """
    distributed = library("distributed", "distributed", "--backend dask", "dask")
    if of_rows and not (address.startswith("tls://") or _is_here(address)):
        raise InputError(
            f"--address {address}: expected tls://, because counts of private rows go over the network, found a connection "
            "that everybody on it can read. docs/columns.md says how to set up certificates."
        )
    client = None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=not of_rows)
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except Exception as error:  # OSError, TimeoutError, ValueError for a malformed address, and Dask's own
        problem = type(error).__name__
    else:
        problem = ""
    try:
        if problem or client is None:
            raise InputError(
                f"--address {address}: expected a Dask scheduler with workers, reached none within {CONNECT_SECONDS} s "
                f"({problem}). Is it running, and does a firewall let it through? Results so far are kept."
            )
        yield client
    finally:
        if client is not None:
            client.close()


def _is_here(address: str) -> bool:
    """Return whether the address is one of this machine alone."""
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_workers(client: Any, address: str) -> None:
    """Raise InputError for workers of another version, and for such as may write results to a disk."""
    try:
        workers = list(client.run(_about).values())
    except Exception:  # the package is not there, or not the same
        workers = [("none that answers", False)]
    problem, own = None, _version()
    if other := next((installed for installed, _ in workers if installed != own), None):
        problem = Unexpected(f"workers with synthrelease {own}, as here", other)
    elif any(spills for _, spills in workers):
        problem = Unexpected(
            "workers that write no results to a disk (start them with DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and "
            "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False)",
            "some that may",
        )
    if problem is not None:
        raise InputError(f"--address {address}: expected {problem.expected}, found {problem.found}. Nothing was spent.")


def check_workers_see(client: Any, address: str, look: Callable[[], object], where: str) -> None:
    """Raise InputError for a worker that does not see what is seen here.

    Parameters
    ----------
    look : what tells it, called here and by each worker.
    where : the files that are looked at.
    """
    expected = look()
    try:
        seen = client.run(look, on_error="return")
    except Exception:
        seen = {"none that answers": None}
    if other := next((worker for worker, answer in seen.items() if answer != expected), None):
        raise InputError(
            f"--address {address}: expected workers that see {where} as it is here, found one that does not: {other}. Mount "
            "the folder there under this path. Nothing was spent."
        )


def _version() -> str:
    try:
        return version("synthrelease")
    except PackageNotFoundError:  # a checkout
        return "that is not installed"


def _about(dask_worker: Any) -> tuple[str, bool]:
    """Return, in a worker, its version and whether it may write results to a disk."""
    set_core_limit(0)
    return _version(), type(dask_worker.data) is not dict


Run = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterable[tuple[int, Any]]]
"""Calls an action with each of many arguments, in any order, and gives each result once, with the place of its arguments."""
UNFORESEEN = "expected a file that can be read, found one that cannot. The cause is not shown: it may hold values."


def one_by_one(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Run an action in this process, in order."""
    return ((index, action(*task)) for index, task in enumerate(arguments))


def count_files(
    listed: Callable[[], Sequence[File]], schema: Schema, policy: InputTable, run: Run | None = None
) -> CountedRows:
    """Return what the rows of all files add up to.

    Parameters
    ----------
    listed : the files as they are now, in order; asked before and after counting.

    Raises
    ------
    InputError : for the first file, in order, that cannot be read or was written meanwhile, whoever found it first.
    """
    with unwritten(lambda: [[file] for file in listed()]) as files:
        return added_up(
            schema.layout, each_once(_count_file, [(*file_and_state, schema, policy) for file_and_state in files], run)
        )


def _count_file(files: Sequence[File], schema: Schema, policy: InputTable) -> CountedRows:
    return count_batches(file_batches(files[0], needed_columns(schema), policy), schema, policy)


def each_once(action: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], run: Run | None = None) -> Iterator[Any]:
    """Yield what `as_they_were` makes of each task, once: files, their states, and what else the action is called with.

    Raises
    ------
    InputError : for the first file, in order, with something wrong, whoever found it first; for a task without a result.
    """
    left, unreadable = set(range(len(tasks))), dict[int, str]()
    for index, result in (run or one_by_one)(as_they_were, [(action, *task) for task in tasks]):
        if index not in left:
            raise InputError("expected each file to be counted once, found one that was counted twice.")
        left.remove(index)
        if not isinstance(result, str):
            yield result
            continue
        unreadable[index] = result
        if run is None:
            break
    if unreadable:
        first = min(unreadable)
        raise InputError(f"{unreadable[first]} {which_file(first + 1, len(tasks))}")
    if left:
        raise InputError("expected all files to be counted, found some that were not.")


def as_they_were(action: Callable[..., Any], files: Sequence[File], states: Sequence[State], *more: Any) -> Any:
    """Return what an action makes of files, or what is wrong with them: a text without values, so that no error holds any."""
    try:
        if [*map(state_of, files)] != states:
            return CHANGED
        result = action(files, *more)
        return result if [*map(state_of, files)] == states else CHANGED
    except InputError as error:
        return str(error)
    except Exception:
        return UNFORESEEN


# Workers of an existing Dask cluster, which belongs to the enclave: they see rows, and hand back counts.
#
# Nothing but the list of files and the specification goes to the workers, and nothing but counts, or a text that says what is
# wrong with a file, comes back, over the connections of the cluster and never through a file: a cluster whose workers may write
# results to a disk is refused. So is one that is reached over a network without TLS, and one of another version, before a
# budget is spent. A worker that dies is replaced by another; what it was counting is counted anew, and each file enters the sum
# once.

_RUNS = count()
DIED = "expected a cluster that counts every file, found one that stopped early. The cause is not shown: it may hold values."


@contextmanager
def counting_cluster(address: str, *tables: Source) -> Iterator[Run]:
    """Have `ingest` count the files of tables on a cluster. Raises InputError for a cluster that cannot be used for private
    rows, and for one of which some worker does not see the first file of a table.
    """
    with dask_client(address) as client:
        check_workers(client, address)
        for table in tables:
            where = str(table) if table.path is None else str(table.path.absolute())
            check_workers_see(client, address, partial(state_of, table.files()[0]), where)

        def run(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
            return _each(client, action, arguments)

        yield run


def _each(client: Any, action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Yield the result of each, once, as they come; at most four for each thread of the cluster are held there at a time."""
    from distributed import as_completed

    # a name of this run, so that no result of another one is taken for it
    name, left = f"{client.id}-{next(_RUNS)}", iter(enumerate(arguments))

    def submit(index: int, task: tuple[Any, ...]) -> Any:
        return client.submit(action, *task, key=f"synthrelease-{name}-{index}", pure=False)

    at_once = 4 * max(1, sum(client.nthreads().values()))
    failed = False
    first = [submit(index, task) for _, (index, task) in zip(range(at_once), left, strict=False)]
    coming = as_completed(first, loop=client.loop)
    for future in coming:
        index = int(future.key.rpartition("-")[2])
        try:
            result = future.result()
        except Exception:  # every worker that began with it died, or could not hand it over
            failed = True
            break
        future.release()
        if (following := next(left, None)) is not None:
            coming.add(submit(*following))
        yield index, result
    if failed:
        raise InputError(DIED)
