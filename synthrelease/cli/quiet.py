"""What the process does before anything else, so that nothing private reaches the screen or the disk by accident.

Python shows the message of an error that nobody catches, also of one in a destructor or another thread, and such a message
may quote a value. The system writes the memory of a process that crashes into a core file. Libraries warn about what they
meet in the data. And a terminal that cannot show a letter makes the program fail after the budget is spent.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from types import TracebackType
from typing import Any


def be_quiet() -> None:
    """Set all this up, for this process and those that it starts."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"  # for worker processes
    sys.excepthook = _without_message
    sys.unraisablehook = lambda failure: _without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)
    threading.excepthook = lambda failure: _without_message(failure.exc_type, failure.exc_value, failure.exc_traceback)
    _no_core_files()
    for name in ("SIGTERM", "SIGHUP"):  # a closed terminal or a scheduler stops a run as Ctrl-C does: worker processes end, too
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _without_message(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> Any:
    """An error as its type and the place where it came from: never its message, never the text of a line."""
    frames = traceback.extract_tb(trace)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    sys.stderr.write(f"synthrelease: {kind.__name__}{place}. The message is not shown, because it could hold private values.\n")


def _no_core_files() -> None:
    """Windows has none."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
