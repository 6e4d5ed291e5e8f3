"""The files that come with synthrelease: where they are, in a checkout and in an installed package; digests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def resource(name: str) -> Path:
    """Path of a shipped file such as "configs/births.toml".

    Raises
    ------
    FileNotFoundError : when the installation lacks it.
    """
    package = Path(__file__).parent
    for root in (package / "resources", package.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(name)


def file_digest(path: str | Path) -> str:
    """sha256 of a file, read in batches."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
