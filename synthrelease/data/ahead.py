"""Process the parts of a file in threads, ahead of the caller, and return the results in the order of the parts.

The results do not depend on the number of threads. An error in a part is raised after the results of all earlier parts. If
memory is short, no thread is started, because Python could wait forever for one that failed to start.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from mmap import mmap
from types import TracebackType
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")
MOST_THREADS = 8
"""Largest number of threads. At most this number of parts of a file, plus two, are in memory."""

# Bytes that must be free for each thread. The bytes are for the stack of the thread, 8 MiB by default, and the memory that it
# needs for a part of a file.
_MEMORY_OF_A_THREAD = 2**26


def processors() -> int:
    known = hasattr(os, "sched_getaffinity")  # Windows and macOS do not have this function
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


class Ahead(Generic[Part, Result]):
    """Processes the parts of a file in threads, and returns the results in order.

    Parameters
    ----------
    work : function that processes a part.
    parts : function that returns the next part, or None at the end, called in the caller's thread.
    """

    def __init__(self, work: Callable[[Part], Result], parts: Callable[[], Part | None]):
        self._work, self._parts = work, parts
        self._threads, threads = 0, min(MOST_THREADS, processors())
        with suppress(OSError):  # the system refuses the memory
            mmap(-1, threads * _MEMORY_OF_A_THREAD).close()
            self._threads = threads
        self._pool = ThreadPoolExecutor(self._threads or 1)
        self._waiting: deque[tuple[Part | None, Future[Result]]] = deque()
        self._ended = False

    def __enter__(self) -> Ahead[Part, Result]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def next(self, ahead: bool = True) -> tuple[Part, Result] | None:
        """Return the next part with its result, or None at the end. With `ahead`, processing of later parts starts as well."""
        while not self._ended and len(self._waiting) < (self._threads + 1 if ahead else 1):
            self._begin()
        if not self._waiting:
            return None
        part, future = self._waiting.popleft()
        result = future.result()
        return None if part is None else (part, result)

    def _begin(self) -> None:
        part, future = None, Future[Result]()
        try:
            part = self._parts()
            if part is not None and self._threads:
                future = self._pool.submit(self._work, part)
            elif part is not None:
                future.set_result(self._work(part))
        except Exception as error:  # the error is raised when the caller asks for this part
            future.set_exception(error)
        self._ended = part is None
        if part is not None or future.done():
            self._waiting.append((part, future))

    def forget(self) -> list[Part]:
        """Discard the results computed in advance, and return their parts."""
        parts = [part for part, future in self._waiting if part is not None and (future.cancel() or True)]
        self._waiting.clear()
        self._ended = False
        return parts

    def __iter__(self) -> Iterator[tuple[Part, Result]]:
        while (done := self.next()) is not None:
            yield done
