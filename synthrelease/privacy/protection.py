"""Prevent a process that reads private data from leaking them in error messages, warnings or core files.

Python prints the message of an uncaught error, which may quote a value. A core file contains the memory of a crashed process.
Warnings of libraries may describe the data.
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
    """Keep private data out of error messages, warnings and core files of this process and of those that it starts. The earlier
    state is restored at the end."""
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
    """Keep private data out of error messages, warnings and core files for the rest of this process. Its child processes write
    no core files either."""
    _hide_messages()
    set_core_limit(0, for_good=True)


def _hide_messages() -> None:
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"  # for worker processes
    sys.excepthook = without_message
    sys.unraisablehook = lambda failure: without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)
    threading.excepthook = lambda failure: without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)


def without_message(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> Any:
    """Write the type of an error, its file and its line to stderr, without the message."""
    frames = traceback.extract_tb(trace)
    origin = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    sys.stderr.write(
        f"synthrelease: {kind.__name__}{origin}. The message is not shown, because it could contain private values.\n"
    )


def core_limit() -> int:
    return 0 if resource is None else resource.getrlimit(resource.RLIMIT_CORE)[0]


def set_core_limit(limit: int, *, for_good: bool = False) -> None:
    """Limit the size of core files. With `for_good`, the process cannot raise the limit again."""
    if resource is not None:
        highest = limit if for_good else resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, highest))


def told_of(action: Callable[[], Result], before: str, after: str = "") -> Result:
    """Run an action and return its result. An InputError is raised anew, with `before` and `after` around its message and
    without reference to the original."""
    try:
        return action()
    except InputError as error:
        problem = str(error)
    raise InputError(f"{before}{problem}{after}")


def after_the_charge(action: Callable[[], Result], in_words: Callable[[InputError], str]) -> Result:
    """Run an action on private data, after the budget was charged. Errors have no private content and no cause.

    Parameters
    ----------
    in_words : function that turns an InputError (the file does not fit the specification) into the message for the steward.

    Raises
    ------
    Interrupted, InputError, InternalError : instead of the original error; other errors of this program are raised unchanged.
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
