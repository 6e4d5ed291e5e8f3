"""Locks on files, which a started process inherits and which end with the last process that has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synthrelease.errors import InputError, OutputError


@contextmanager
def locked(path: Path, *, make: bool = False) -> Iterator[int | None]:
    """An open file with a lock that a started process inherits; None where another process holds it.

    Without `make` nothing is made: a file that is not there is locked by nobody, and a number above 0 is handed out.
    """
    try:
        import fcntl
    except ImportError:
        if not make:
            yield 1
            return
        raise InputError("The desk starts rehearsals on Unix alone. Start `synthrelease rehearse` in a terminal.") from None
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if make else 0), 0o600)
    except FileNotFoundError:
        yield 1
        return
    except OSError as error:
        raise OutputError(f"{path}: could not be written ({error.strerror}). Nothing was started.") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield handle
    finally:
        os.close(handle)
