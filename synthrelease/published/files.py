"""The files of a bundle by name: small ones are held, large ones stay on the disk and are read piece by piece."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HELD = 2**22
"""Bytes: what has more stays on the disk."""


@dataclass(frozen=True, kw_only=True)
class OnDisk:
    """A file that is not held.

    Attributes
    ----------
    sha256 : of its bytes, when they were read first.
    state : its size, and what tells whether it was changed since.
    """

    path: Path
    sha256: str
    state: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> OnDisk:
        """A file, read once for its checksum. Raises OSError."""
        with path.open("rb") as file:
            state = _state(os.fstat(file.fileno()))
            return cls(path=path, sha256=hashlib.file_digest(file, "sha256").hexdigest(), state=state)

    @classmethod
    def written(cls, path: Path, file: BinaryIO, sha256: str) -> OnDisk:
        """A file that was just written, and is open still."""
        return cls(path=path, sha256=sha256, state=_state(os.fstat(file.fileno())))

    @property
    def size(self) -> int:
        """In bytes."""
        return self.state[0]

    @property
    def changed(self) -> bool:
        """Whether it is another file now, or gone."""
        try:
            return _state(self.path.stat()) != self.state
        except OSError:
            return True


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


Content = bytes | OnDisk
"""What a file holds: its bytes, or where they are."""
Keep = Callable[[str, Iterable[bytes]], Content]
"""What becomes of a file that is made piece by piece: from its name and its pieces."""


def in_memory(name: str, pieces: Iterable[bytes]) -> Content:
    """A file that is held, for a table that is known to be small."""
    return b"".join(pieces)


def opened(content: Content) -> BinaryIO:
    """The file from its first byte on. Raises OSError."""
    return io.BytesIO(content) if isinstance(content, bytes) else content.path.open("rb")


class Files(Mapping[str, bytes]):
    """Files by name. As a mapping it gives the bytes of each, of large ones as often as they are asked for."""

    def __init__(self, contents: Mapping[str, Content]):
        self.contents: dict[str, Content] = dict(contents.contents if isinstance(contents, Files) else contents)
        self._digests: dict[str, str] = {}

    def __getitem__(self, name: str) -> bytes:
        with opened(self.contents[name]) as file:
            return file.read()

    def __contains__(self, name: object) -> bool:
        return name in self.contents

    def __iter__(self) -> Iterator[str]:
        return iter(self.contents)

    def __len__(self) -> int:
        return len(self.contents)

    def of(self, names: Iterable[str]) -> Files:
        """Some of them."""
        found = Files({name: self.contents[name] for name in names})
        found._digests = self._digests
        return found

    def __or__(self, contents: Mapping[str, Content]) -> Files:
        """With further files."""
        found = Files({**self.contents, **contents})
        found._digests = {name: digest for name, digest in self._digests.items() if name not in contents}
        return found

    def content(self, name: str) -> Content:
        """Its bytes, or where they are; no bytes where there is no such file."""
        return self.contents.get(name, b"")

    def size(self, name: str) -> int:
        """In bytes; 0 where there is no such file."""
        content = self.content(name)
        return len(content) if isinstance(content, bytes) else content.size

    def sha256(self, name: str) -> str:
        """Its checksum, computed once."""
        content = self.contents[name]
        if not isinstance(content, bytes):
            return content.sha256
        if name not in self._digests:
            self._digests[name] = hashlib.sha256(content).hexdigest()
        return self._digests[name]

    def holds(self, name: str, pieces: Iterable[bytes]) -> bool:
        """Whether a file has just these bytes, compared piece by piece up to the first that differs."""
        with opened(self.content(name)) as file:
            return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)

    def changed(self) -> list[str]:
        """Names of files that somebody changed after they were first read."""
        return [name for name, content in self.contents.items() if isinstance(content, OnDisk) and content.changed]
