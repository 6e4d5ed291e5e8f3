"""Where the files that come with synthrelease are, in a checkout and in an installed package."""

from __future__ import annotations

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
