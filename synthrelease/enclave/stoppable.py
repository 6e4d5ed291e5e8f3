"""Read a database in a separate thread, so that the user, a signal or a time limit can stop the reading.

While a library runs C code, Python cannot run signal handlers, and computing a view may never end. So another thread calls the
library and reads the next batch in advance, and the main thread waits in Python and uses the library's own method to stop it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from synthrelease.errors import InputError
from synthrelease.settings.columns import TOO_LONG
from synthrelease.sources.opened import Stop

Part = TypeVar("Part")
BATCH_SECONDS = 3600.0
"""Seconds within which a database must return a batch."""
_GRACE = 5.0  # Seconds that a library has to stop
_TICK = 0.2


def stoppable_batches(read: Callable[[Stop], Iterator[Part]], unopened: str, broken: str | None = None) -> Iterator[Part]:
    """Run `read` in another thread, and yield its batches.

    Parameters
    ----------
    unopened, broken : the messages for a failure before and after the first batch.

    Raises
    ------
    InputError : if `read` fails, or no batch was read for `BATCH_SECONDS` seconds.
    """
    stop, parts = Stop(), Queue[Any](maxsize=1)  # a text is an error message, None is the end
    thread = threading.Thread(target=_work, args=(read, stop, parts, unopened, broken or unopened), daemon=True)
    thread.start()
    try:
        while (part := _next(parts)) is not None:
            if isinstance(part, str):
                raise InputError(part)
            yield part
    finally:
        stop.ask()
        thread.join(_GRACE)


def _next(parts: Queue[Any]) -> Any:
    """Return the next item: a batch, an error, or None at the end."""
    until = time.monotonic() + BATCH_SECONDS
    while time.monotonic() < until:
        with suppress(Empty):
            return parts.get(timeout=_TICK)  # wait in steps, because handlers of signals run here
    late = f"The database is too slow: it sent no row of the table or view for {BATCH_SECONDS / 60:g} minutes"
    return f"{late}. Export the table to a file."


def _work(read: Callable[[Stop], Iterator[Part]], stop: Stop, parts: Queue[Any], problem: str, later: str) -> None:
    """Pass batches from this thread to the main thread, until the end or a stop. After an error, pass its message: of an
    InputError itself, TOO_LONG for a lack of memory, `problem` before the first batch, and then `later`."""
    last: str | None = None
    try:
        batches = read(stop)
        try:
            for batch in batches:
                problem = later
                if not _handed_over(batch, stop, parts):
                    return
        finally:
            batches.close()  # type: ignore[attr-defined]  # in this thread, whose the connection is
    except InputError as error:
        last = str(error)
    except MemoryError:
        last = TOO_LONG
    except BaseException:
        last = problem
    _handed_over(last, stop, parts)


def _handed_over(part: Any, stop: Stop, parts: Queue[Any]) -> bool:
    while not stop.asked:
        with suppress(Full):
            parts.put(part, timeout=_TICK)
            return True
    return False
