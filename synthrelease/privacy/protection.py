"""Protect a process that reads private data: nothing of them reaches the screen or the disk by accident.

Python shows the message of an error that nobody catches, also of one in a destructor or another thread, and such a message
may quote a value. The system writes the memory of a process that crashes into a core file. Libraries warn about what they
meet in the data.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from synthrelease.errors import InputError, InternalError, Interrupted, SynthreleaseError, failure_of

try:
    import resource
except ImportError:  # Windows has no core files
    resource = None  # type: ignore[assignment]

Result = TypeVar("Result")


@contextmanager
def protected() -> Iterator[None]:
    """Protect this process and those that it starts; at the end restore the earlier state."""
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    warnings_before, limit = os.environ.get("PYTHONWARNINGS"), core_limit()
    try:
        with warnings.catch_warnings():
            _hide_messages()
            set_core_limit(0)
            yield
    finally:
        sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
        if warnings_before is None:
            os.environ.pop("PYTHONWARNINGS", None)
        else:
            os.environ["PYTHONWARNINGS"] = warnings_before
        set_core_limit(limit)


def protect() -> None:
    """Set the same up for good, for the process of a command: not even its children may write core files."""
    _hide_messages()
    set_core_limit(0, for_good=True)


def _hide_messages() -> None:
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"  # for worker processes
    sys.excepthook = without_message
    sys.unraisablehook = lambda failure: without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)
    threading.excepthook = lambda failure: without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)


def without_message(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> Any:
    """Write the type and the place of an error, but never its message or a line of the source."""
    frames = traceback.extract_tb(trace)
    origin = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    sys.stderr.write(
        f"synthrelease: {kind.__name__}{origin}. The message is not shown, because it could hold private values.\n"
    )


def core_limit() -> int:
    """Return how large a core file may become; 0 on Windows, which has none."""
    return 0 if resource is None else resource.getrlimit(resource.RLIMIT_CORE)[0]


def set_core_limit(limit: int, *, for_good: bool = False) -> None:
    """Limit core files: so that the process may raise the limit again, or for good."""
    if resource is not None:
        highest = limit if for_good else resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, highest))


def told_of(action: Callable[[], Result], before: str, after: str = "") -> Result:
    """Return the result of an action. Put its InputError between these words, with nothing attached to it."""
    try:
        return action()
    except InputError as error:
        problem = str(error)
    raise InputError(f"{before}{problem}{after}")


def after_the_charge(action: Callable[[], Result], in_words: Callable[[InputError], str]) -> Result:
    """Return the result of an action on private data; a failure ends with a message without private content or cause.

    Parameters
    ----------
    in_words : of a file that does not fit, which is known only once it was read.

    Raises
    ------
    Interrupted, InputError, InternalError : in place of what happened; other errors of this program as they are.
    """
    problem: SynthreleaseError
    try:
        return action()
    except KeyboardInterrupt:
        problem = Interrupted()
    except InputError as error:
        problem = InputError(in_words(error))
    except SynthreleaseError:
        raise
    except Exception as error:
        problem = InternalError(failure_of(error))
    raise problem
