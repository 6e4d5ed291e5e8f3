"""Small specifications of every kind of criterion, generator and projection, each in the dict of its file.

The contract tests take them from here. Several examples of a kind are there where a setting changes the course.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.examples import criteria, generators, projections

COLUMNS = {"a": 1, "b": 2, "c": 3}
"""Columns of whole numbers from 0 to the one that is given, a bin for each."""

EXAMPLES = {"criteria": criteria.EXAMPLES, "generators": generators.EXAMPLES, "projections": projections.EXAMPLES}


def examples(family: str, kind: str) -> Sequence[Any]:
    """Return the examples of a kind of "criteria", "generators" or "projections"; empty for a kind without any."""
    return EXAMPLES[family].get(kind, ())
