"""The output folder: private to its owner, complete or absent, never overwritten."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from synthrelease.bundle import measurements
from synthrelease.bundle.document import release_document
from synthrelease.bundle.table import csv_bytes
from synthrelease.errors import OutputError
from synthrelease.release import Release


def check_free(folder: str | Path) -> Path:
    """The folder's path, when nothing is there and its parent can be written to.

    Raises
    ------
    OutputError : otherwise. Called before private data are read, so that no budget is lost on a bad path.
    """
    folder = Path(folder)
    if folder.exists() or folder.is_symlink():
        raise OutputError(f"{folder}: expected a folder that does not exist yet, found one. Nothing was overwritten.")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise OutputError(f"{folder}: expected an existing folder {parent} to write into, found none.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{folder}: expected a folder {parent} that may be written to, found one that may not.")
    return folder


def write_bundle(release: Release, folder: str | Path) -> Path:
    """Write the bundle under a temporary name beside `folder` and rename it: it is there as a whole or not at all.

    The folder is created with mode 0700 and its files with 0600.

    Raises
    ------
    OutputError : when the folder appeared in the meantime or the disk cannot be written to.
    """
    folder = check_free(folder)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        contents = {"data.csv": csv_bytes(release.candidate)}
        if release.measured is not None:
            spec = release.spec
            bins = spec.space.common if spec.shared_measurements else release.candidate.transformation
            contents[measurements.NAME] = measurements.measurements_bytes(release.measured, bins)
        document = release_document(release, {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()})
        for name, data in contents.items():
            _write(temporary / name, data)
        _write(
            temporary / "release.json",
            (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8"),
        )
        check_free(folder)
        os.rename(temporary, folder)
    except OSError as error:
        raise OutputError(f"{folder}: the release could not be written ({error.strerror}).") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _write(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 and wait until it is on the disk."""
    binary = getattr(os, "O_BINARY", 0)  # on Windows, line ends would be changed without it
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
