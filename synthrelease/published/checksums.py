"""SHA256SUMS: the checksum of every other file, in the layout that `sha256sum --check` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from synthrelease.published.files import Files

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([A-Za-z0-9][A-Za-z0-9._-]*)")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def checksum_file(contents: Mapping[str, bytes]) -> bytes:
    """SHA256SUMS for files by name."""
    files = contents if isinstance(contents, Files) else Files(contents)
    return "".join(f"{files.sha256(name)}  {name}\n" for name in sorted(files)).encode("ascii")


def read_checksums(content: bytes) -> dict[str, str] | None:
    """Checksum by name, None when this is no such file."""
    lines = content.decode("ascii", errors="replace").splitlines()
    matches = [_LINE.fullmatch(line) for line in lines]
    found = {match[2]: match[1] for match in matches if match}
    return found if len(found) == len(lines) else None
