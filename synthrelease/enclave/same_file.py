"""A private file that was called public, as a prior or as what a shortlist was rehearsed on, is refused.

Privacy
-------
A generator that starts from the private table, or a shortlist that was drawn up on it, publishes what no noise covers. So such
a run is refused, twice:

- before the charge, by name and by content. The private file is opened for this only where it has the size, to the byte, of a
  file that was called public. So the one thing that can be learned without a charge, and by the operator alone, is that the
  private file is, byte for byte, a file that is said to be public already.
- after reading, by the counts: the same rows in another order or format, or from a database. The refusal is an output beside
  the guarantee, as that of a file that does not fit is: the budget is spent. The guarantee speaks of other private tables.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from synthrelease.errors import InputError
from synthrelease.sources.source import File, Source


@dataclass(frozen=True, kw_only=True)
class CalledPublic:
    """What is known of a file that was called public: its role for messages, its size and sha256, and perhaps its place."""

    role: str
    size: int
    digest: str
    path: Path | None = None

    @classmethod
    def of(cls, role: str, path: str | Path) -> CalledPublic:
        source = Source.of(path)
        return cls(role=role, size=source.size(), digest=digest_of(source), path=source.path)


def check_not_public(data: str | Path | Source, public: Iterable[CalledPublic]) -> None:
    """Raises InputError when the private file is one of these; opens it only where the sizes agree. A database is not asked."""
    data = Source.of(data)
    if data.is_database:
        return
    size, digest = data.size(), None
    for known in public:
        both = data.path is not None and known.path is not None and data.path.exists() and known.path.exists()
        same = both and os.path.samefile(str(data.path), str(known.path))
        if not same and size == known.size:
            digest = digest or digest_of(data)
            same = digest == known.digest
        if same:
            raise InputError(
                f"{data}: expected a private file, found {known.role}, which is said to be public. A release that starts from "
                "the private rows themselves protects nobody. Nothing was spent."
            )


def digest_of(source: Source) -> str:
    """SHA-256 of the file; of several files, of those of each; of nothing for a database behind a URI."""
    if source.members is not None:
        both = "".join(map(digest_of, source.tables()))
        return hashlib.sha256(both.encode()).hexdigest()
    files = source.files()
    if source.path is not None and files == [source.path.absolute()]:
        return _digest_of_file(source.path)
    return hashlib.sha256("".join(map(_digest_of_file, files)).encode()).hexdigest()


def _digest_of_file(file: File) -> str:
    """Read in batches."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]
