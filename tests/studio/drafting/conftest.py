"""What is the same for the tests of this folder."""

from __future__ import annotations

from tests.helpers.frontier import small_frontier

__all__ = ["small_frontier"]
