"""Small specifications of every kind of criterion, generator and projection, each in the dicts of its file.

The contract tests, the enumerations of neighbours and the cases of the statistical audit take them from here, and nobody else
reads them. Several examples of a kind are there where a setting changes the course.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthrelease.studio.audit.examples import criteria, generators
from synthrelease.studio.audit.sweep import Sweep

COLUMNS = {"a": 1, "b": 2, "c": 3}
"""Columns of whole numbers from 0 to the one that is given, a bin for each."""

PROJECTIONS: Mapping[str, Sequence[dict[str, Any]]] = {
    # Single columns, and pairs.
    "frequent_combinations": ({"columns": 1, "minimum_count": 4}, {"columns": 2, "minimum_count": 3}),
    # Every way to keep rows, for small and larger counts.
    "minimum_count": (
        {"minimum_count": 1},
        {"minimum_count": 2},
        {"minimum_count": 5},
        {"minimum_count": 3, "keep": "spread"},
        {"minimum_count": 4, "keep": "nested"},
    ),
}

_EXAMPLES = {"criteria": criteria.EXAMPLES, "generators": generators.EXAMPLES, "projections": PROJECTIONS}


def examples(family: str, kind: str) -> Sequence[Any]:
    """Return the examples of a kind of "criteria", "generators" or "projections"; empty for a kind without any."""
    return _EXAMPLES[family].get(kind, ())


def enumerated_as(kind: str) -> Sequence[str]:
    """Return the names of the enumerations of what a criterion or generator measures."""
    return (generators.ENUMERATED | criteria.ENUMERATED).get(kind, ())


def criterion_sweeps(kind: str) -> Sequence[Sweep]:
    """Return the worlds in which a kind of criterion is enumerated; empty where there are none."""
    return criteria.SWEEPS.get(kind, ())
