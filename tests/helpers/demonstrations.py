"""A demonstration of the program, made short, as several tests look at it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.cli import releasing as demonstrating
from synthrelease.cli.releasing import Shipped


def shown(folders: pytest.TempPathFactory, release: Shipped, **changes: Any) -> tuple[Path, str]:
    """Return the folder of a demonstration, and what it printed: of the first of three that found a table.

    A search may end without one, whatever its rounds are like: after each a coin of 0.02 stops it.

    Parameters
    ----------
    changes : other values of the demonstration, such as fewer minutes.
    """
    with pytest.MonkeyPatch.context() as patch:
        short = replace(demonstrating.DEMONSTRATIONS[release], **changes)
        patch.setitem(demonstrating.DEMONSTRATIONS, release, short)
        for _ in range(3):
            folder = folders.mktemp(release) / "demo"
            result = CliRunner().invoke(app, ["demo", "--release", release, "--out", str(folder)])
            if result.exit_code != 3:
                break
    assert result.exit_code == 0, (result.output, result.exception)
    return folder, result.output
