"""Fixtures. Tests marked `nvss` need the real file of public births, named by SYNTHRELEASE_NVSS; they are skipped without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("SYNTHRELEASE_NVSS"):
        reason = "needs the NVSS file: set SYNTHRELEASE_NVSS to its path (public_data/README.md says where to get it)"
        for item in items:
            if item.get_closest_marker("nvss"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def nvss() -> Path:
    return Path(os.environ["SYNTHRELEASE_NVSS"])


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
