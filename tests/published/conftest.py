"""Releases that several tests of years look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config, write_data
from tests.helpers.years import bundle_of


@pytest.fixture(scope="session")
def one_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    work = tmp_path_factory.mktemp("work")
    made = release(load_spec(write_config(work)), write_data(work))
    assert made is not None
    return made


@pytest.fixture(scope="session")
def two_years(tmp_path_factory: pytest.TempPathFactory, one_release: Release) -> tuple[Path, Path]:
    """The first and the third year; of the second nothing was released."""
    base = tmp_path_factory.mktemp("years")
    first = bundle_of(one_release, base / "2021", 2021)
    return first, bundle_of(one_release, base / "2023", 2023, ((first / "release.json").read_bytes(),))
