"""The rich release of tests/helpers/cards.py with a [calibration], for tests of what is written about weights."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from synthrelease.bundle.write import write_bundle
from synthrelease.releasing.release import Release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.cards import rich_release, write_rich_config

CALIBRATION = """
[calibration]
source = "The mint's <yearbook>, table 2."
collapse = ["year"]
cap = 4

[[calibration.margins]]
columns = ["face"]
totals = { head = 6000, tail = 4000 }

[[calibration.margins]]
columns = ["year"]
totals = { "<=4" = 7000, "5-6" = 2000, ">6" = 1000 }
"""


def weighted_spec(folder: Path, changes: Mapping[str, str] | None = None) -> ReleaseSpec:
    """The specification with CALIBRATION, of which `changes` replaces lines."""
    text = CALIBRATION
    for old, new in (changes or {}).items():
        if text.count(old) != 1:
            raise ValueError(f"no line {old!r}, or two")
        text = text.replace(old, new)
    return load_spec(write_rich_config(folder, {"[budget]\n": f"{text}\n[budget]\n"}))


def weighted_release(changes: Mapping[str, str] | None = None) -> Release:
    """The rich release, as if it had been made with this specification."""
    with tempfile.TemporaryDirectory() as name:
        return replace(rich_release(), spec=weighted_spec(Path(name), changes))


def weighted_bundle(changes: Mapping[str, str] | None = None) -> Mapping[str, bytes]:
    """The files of its bundle by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_bundle(weighted_release(changes), Path(name) / "bundle")
        return {path.name: path.read_bytes() for path in folder.iterdir()}
