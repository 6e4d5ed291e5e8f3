"""Small specifications of every kind of criterion, generator and projection, each in the dict of its file.

The contract tests take them from here. Several examples of a kind are there where a setting changes the course.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthrelease.studio.audit.worlds import SWEEPS
from tests.examples import criteria, generators, projections

COLUMNS = {"a": 1, "b": 2, "c": 3}
"""Columns of whole numbers from 0 to the one that is given, a bin for each."""

EXAMPLES = {"criteria": criteria.EXAMPLES, "generators": generators.EXAMPLES, "projections": projections.EXAMPLES}


def examples(family: str, kind: str) -> Sequence[Any]:
    """Return the examples of a kind of "criteria", "generators" or "projections"; empty for a kind without any.

    A criterion without any has those of the worlds in which it is enumerated.
    """
    if family == "criteria" and kind not in criteria.EXAMPLES:
        asked = [sweep.criteria[-1] for sweep in SWEEPS.get(kind, ())]
        return [[each.model_dump(exclude_unset=True, exclude={"name", "kind", "threshold", "epsilon"})] for each in asked]
    return EXAMPLES[family].get(kind, ())
