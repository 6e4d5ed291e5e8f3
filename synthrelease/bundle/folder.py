"""The output folder: private to its owner, complete or absent, never overwritten."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.bundle.contents import release_files, written
from synthrelease.bundle.taking import CONTENT, check_free, give_back, taking
from synthrelease.errors import OutputError
from synthrelease.published.base import NAME, Files, OnDisk, checksum_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from synthrelease.releasing.release import Release

NO_TIME = 315_532_800
"""1 January 1980, the earliest that a zip archive can hold."""


def write_bundle(release: Release, folder: str | Path, key: Ed25519PrivateKey | None = None, place: Path | None = None) -> Path:
    """Write the bundle of a release, signed when a private key is given, into a new folder (`new_folder`).

    Raises
    ------
    OutputError : when it cannot be written, or when its documents cannot: the table and release.json are then there without
        them, so that what was paid for is not lost.
    """
    failed, documents = "", {}
    with new_folder(folder, place) as new:
        table, document, data = release_files(release, new.keep)
        try:
            documents = written(document, table, {name: data.size(name) for name in document.files})
        except Exception as error:  # of released values only; preview.py makes it unlikely
            failed = type(error).__name__
        new.seal(data | {"release.json": document.dumped(), **documents}, key)
    if failed:
        raise OutputError(
            f"{folder}: the table and release.json were written, the other documents could not be ({failed}). Do not run the "
            "release again: it would be paid for again."
        )
    return Path(folder)


def write_folder(
    contents: Mapping[str, bytes], folder: str | Path, key: Ed25519PrivateKey | None = None, place: Path | None = None
) -> Path:
    """Write files with their checksums into a new folder (`new_folder`). Raises OutputError as that does."""
    with new_folder(folder, place) as new:
        new.seal(Files(contents), key)
    return Path(folder)


class NewFolder:
    """A folder that is being put together where nobody else looks."""

    def __init__(self, path: Path):
        self._path = path

    def keep(self, name: str, pieces: Iterable[bytes]) -> OnDisk:
        """Write a file piece by piece, so that it is never held as a whole. Raises OSError."""
        return _write(self._path / name, pieces)

    def seal(self, contents: Files, key: Ed25519PrivateKey | None = None) -> None:
        """Write the files that are not there yet, and their checksums, signed when a key is given. Raises OSError."""
        for name, content in _sealed(contents, key).contents.items():
            if isinstance(content, bytes):
                _write(self._path / name, [content])
            elif content.path != self._path / name:
                with content.path.open("rb") as file:
                    _write(self._path / name, iter(partial(file.read, 2**20), b""))


@contextmanager
def new_folder(folder: str | Path, place: Path | None = None) -> Iterator[NewFolder]:
    """Put files together beside `folder` and give them its name at the end: it is there as a whole or not at all.

    Parameters
    ----------
    place : where the name was taken (`taking`); taken here when omitted.

    The folder is created with mode 0700 and its files with 0600. They bear no time: the end of a run tells how many rounds
    it took, and an archive of the folder would tell when it ended. The signature is of the checksums.

    Raises
    ------
    OutputError : when the folder appeared in the meantime or the disk cannot be written to.
    """
    folder, problem = check_free(folder), ""
    with nullcontext(place) if place is not None else taking(folder) as own:
        temporary = own / CONTENT
        try:
            give_back(own)
            os.mkdir(temporary, 0o700)
            yield NewFolder(temporary)
            for path in (*temporary.iterdir(), temporary):
                os.utime(path, (NO_TIME, NO_TIME))
            check_free(folder)
            os.rename(temporary, folder)
        except OSError as error:
            problem = f"{folder}: the release could not be written ({error.strerror}). The planned budget is spent."
    if problem:
        raise OutputError(problem)


def _sealed(contents: Mapping[str, bytes], key: Ed25519PrivateKey | None) -> Files:
    """The files with their checksums, and with the signature and its public key."""
    files = contents if isinstance(contents, Files) else Files(contents)
    if key is None:
        return files | {NAME: checksum_file(files)}
    from synthrelease.published import base as signatures

    signed = files | {signatures.PUBLIC_KEY: signatures.public_pem(key.public_key())}
    checksums = checksum_file(signed)
    return signed | {NAME: checksums, signatures.SIGNATURE: key.sign(checksums)}


def _write(path: Path, pieces: Iterable[bytes]) -> OnDisk:
    """Write a file of mode 0600 and wait until it is on the disk."""
    binary, found = getattr(os, "O_BINARY", 0), hashlib.sha256()  # on Windows, line ends would be changed without it
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600), "wb") as file:
        for piece in pieces:
            found.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        return OnDisk.written(path, file, found.hexdigest())
