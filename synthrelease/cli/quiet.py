"""The process of every command is first made quiet: it ends as it should, and shows nothing private on the way.

Beside what protects private data (`protection`): a terminal that cannot show a letter would make the program fail after the
budget is spent, and a closed terminal would leave its worker processes behind.
"""

from __future__ import annotations

import signal
import sys

from synthrelease.enclave.protection import protect


def be_quiet() -> None:
    """Set all this up, for this process and those that it starts."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    protect()
    for name in ("SIGTERM", "SIGHUP"):  # a closed terminal or a scheduler stops a run as Ctrl-C does: worker processes end, too
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), signal.default_int_handler)
