"""Sampling that holds few cells at once, as it does for a table of many columns: the same code, and a tenth of the time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synthrelease.generators.bayesian_network import BayesianNetwork

CELLS = 1 << 15


@pytest.fixture(autouse=True, scope="module")
def small_frontier() -> Iterator[None]:
    """For every test of a folder whose conftest.py names it; tests/generators has the full one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BayesianNetwork, "frontier_limit", CELLS)
        yield
