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

    Without `make` nothing is made: a file that cannot be opened is locked by nobody, and a number above 0 is handed out.
    """
    try:
        import fcntl
    except ImportError:
        if not make:
            yield 1
            return
        raise InputError("The desk starts rehearsals on Unix alone. Start `synthrelease rehearse` in a terminal.") from None
    how = os.O_RDWR | os.O_CREAT if make else os.O_RDONLY
    try:
        handle = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if not make:
            yield 1
            return
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
