"""The secret key that decides, for ever, which piece of a register a record number belongs to. It stays in the enclave.

It is drawn by the operating system before a record number is read, is used for this alone (no noise comes from it), and no part
of a release holds it: the ledger and release.json have its sha256.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from synthrelease.errors import InputError, OutputError

BYTES = 32
_CONTENT = re.compile(r"synthrelease split key 1\n([0-9a-f]{64})\n")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line ends
_OTHERS = 0o077
"""Rights of a file that other users have."""


@dataclass(frozen=True)
class SplitKey:
    """A secret of 256 bits: `randomness.secret_bytes` of `BYTES`. Its representation shows nothing of it."""

    secret: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """sha256 that tells one key from another, and nothing of either."""
        return hashlib.sha256(b"synthrelease split key\0" + self.secret).hexdigest()

    def mark(self, number: str) -> bytes:
        """32 bytes of a record number: HMAC-SHA256, which nobody tells from random bytes who has not the key."""
        return hmac.digest(self.secret, number.encode("utf-8", "surrogatepass"), "sha256")


def key_beside(ledger: Path) -> Path:
    """Where the key of a ledger is kept when no place is named: `<ledger>.key`."""
    return ledger.with_name(ledger.name + ".key")


def write_key(path: Path, key: SplitKey) -> None:
    """Write a key into a new file that its owner alone can read, and wait until it is on the disk.

    Raises
    ------
    OutputError : when something is there, or it cannot be written.
    """
    problem = ""
    try:
        with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
            file.write(f"synthrelease split key 1\n{key.secret.hex()}\n".encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        problem = "expected no file, found one. A key is never overwritten: it may be that of another ledger"
    except OSError as error:
        problem = f"the key cannot be written ({error.strerror})"
    if problem:
        raise OutputError(f"{path}: {problem}. Nothing was split.")


def read_key(path: Path) -> SplitKey:
    """The key in a file. What the file holds is in no message.

    Raises
    ------
    InputError : when there is none, it is no key, or other users can read it (not asked on Windows).
    """
    content, problem = "", "no such file"
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            problem = "a folder, pipe or device"
        elif os.name != "nt" and state.st_mode & _OTHERS:
            problem = "a file that other users have rights to: chmod 600, and think about who may have read it"
        else:
            with path.open("rb") as file:
                content, problem = file.read(1000).decode("latin-1"), "another file"
    except FileNotFoundError:
        pass
    except OSError:
        problem = "a file that cannot be read"
    match = _CONTENT.fullmatch(content)
    if match is None:
        raise InputError(f"{path}: expected the secret key of `synthrelease ledger split`, found {problem}. Nothing was spent.")
    return SplitKey(bytes.fromhex(match[1]))
