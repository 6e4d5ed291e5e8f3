"""A client of a Dask scheduler: whether there is one with workers, and whether others can read what goes over the network."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from synthrelease.errors import InputError, Unexpected
from synthrelease.libraries import library
from synthrelease.privacy.protection import set_core_limit

CONNECT_SECONDS = 15


def other_cluster(backend: str) -> str:
    """What to do with a cluster of another kind that was asked for; empty where there is nothing to say."""
    return " A Ray cluster is not used: start a Dask scheduler and workers on its machines." if backend == "ray" else ""


@contextmanager
def dask_client(address: str, of_rows: bool = True) -> Iterator[Any]:
    """A client of the scheduler at this address. With `tls://`, certificates are those of Dask's own configuration.

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
    """Whether the address is one of this machine alone."""
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_workers(client: Any, address: str) -> None:
    """Raises InputError for workers of another version, and for such as may write results to a disk."""
    try:
        told = list(client.run(_about).values())
    except Exception:  # the package is not there, or not the same
        told = [("none that answers", False)]
    problem, here = None, _version()
    if other := next((each for each, _ in told if each != here), None):
        problem = Unexpected(f"workers with synthrelease {here}, as here", other)
    elif any(spills for _, spills in told):
        problem = Unexpected(
            "workers that write no results to a disk (start them with DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and "
            "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False)",
            "some that may",
        )
    if problem is not None:
        raise InputError(f"--address {address}: expected {problem.expected}, found {problem.found}. Nothing was spent.")


def check_workers_see(client: Any, address: str, look: Callable[[], object], where: str) -> None:
    """Raises InputError for a worker that does not see what is seen here.

    Parameters
    ----------
    look : what tells it, called here and by each worker.
    where : the files that are looked at.
    """
    here = look()
    try:
        seen = client.run(look, on_error="return")
    except Exception:
        seen = {"none that answers": None}
    if other := next((worker for worker, there in seen.items() if there != here), None):
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
    """In a worker: its version, and whether it may write results to a disk."""
    set_core_limit(0)
    return _version(), type(dask_worker.data) is not dict
