"""Worker processes end with the process that started them, because they hold private counts; and they leave Ctrl-C to it.

Left alone, a worker whose parent was killed waits some minutes for more work before it goes; and Ctrl-C, which a terminal
sends to all processes of a command, makes each of them print where it was.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from synthrelease.privacy.protection import set_core_limit

Result = TypeVar("Result")
SECONDS = 1.0
"""How often a worker looks for its parent."""
_watching: set[int] = set()
"""The process that watches its parent: this one, once it does."""


def run_watched(parent: int, task: Callable[[], Result]) -> Result:
    """Run a task in a worker that ends itself within a second or so when its parent has gone.

    The parent says its number: by the time a worker begins with its first task, it may be another process's child.

    On Windows the number of the parent does not tell; there the worker's own time limit ends it.
    """
    if os.name != "nt" and os.getpid() not in _watching:
        _watching.add(os.getpid())
        set_core_limit(0)  # a worker may be older than the limit that its parent has set
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return task()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started in this block never see Ctrl-C. Nor does this one, for the tenth of a second it takes."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what happens to signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
