"""A released folder as one .zip file that says nothing but what is in the folder.

Archives made by hand tell more: tar stores when each file was written (GNU and POSIX formats: when it was last changed, too)
and by whom, and so does the zip of a file manager. When a run ended tells how long it took, and that how many rounds. Here the
times are those of the folder, 1 January 1980; names are sorted, modes fixed, and there are no further fields. Contents are
stored as they are: what a compressor makes of them differs between its versions. The same folder gives the same bytes.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from contextlib import nullcontext
from pathlib import Path

from synthrelease.bundle.folder import NO_TIME
from synthrelease.bundle.taking import CONTENT, check_free_name, give_back, taking
from synthrelease.errors import OutputError

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MODE = 0o100600 << 16


def check_archive(path: str | Path, folder: str | Path) -> Path:
    """The archive's path, when nothing is there and it can be written. Raises OutputError otherwise, while nothing is spent."""
    path, folder = Path(path), Path(folder)
    if path.suffix != ".zip":
        raise OutputError(f"{path}: expected the name of an archive that ends with .zip, found another.")
    if path.absolute() == folder.absolute() or folder.absolute() in path.absolute().parents:
        raise OutputError(f"{path}: expected an archive outside the released folder {folder}, found one inside.")
    check_free_name(path, "an archive")
    return path


def write_archive(folder: str | Path, path: str | Path, place: Path | None = None) -> Path:
    """Write the files of a folder into a new archive of mode 0600, complete or not at all.

    Parameters
    ----------
    place : where the archive's name was taken (`taking`); taken here when omitted.

    Raises
    ------
    OutputError : when something is at `path`, or it cannot be written. The folder stays as it is.
    """
    folder, path, problem = Path(folder), check_archive(path, folder), ""
    with nullcontext(place) if place is not None else taking(path, "an archive") as own:
        temporary = own / CONTENT
        try:
            give_back(own)
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "w+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                    for member in sorted(folder.iterdir(), key=lambda each: each.name):
                        entry = zipfile.ZipInfo(f"{folder.absolute().name}/{member.name}", _FIRST_DAY)
                        entry.create_system, entry.external_attr = _UNIX, _MODE
                        entry.file_size = member.stat().st_size
                        with member.open("rb") as source, archive.open(entry, "w") as into:
                            shutil.copyfileobj(source, into, 2**20)
                file.flush()
                os.fsync(file.fileno())
            os.utime(temporary, (NO_TIME, NO_TIME))
            check_archive(path, folder)
            os.rename(temporary, path)
        except OSError as error:
            problem = f"{path}: the archive could not be written ({error.strerror}). The released folder {folder} is complete."
    if problem:
        raise OutputError(problem)
    return path
