"""Small specifications of every kind of criterion, generator and projection: one file a kind, of the name that the kind has.

The contract tests, the enumerations of neighbours and the cases of the statistical audit take them from here, and nobody else
reads them. A file has

- `EXAMPLES`: settings as they stand in the TOML files, several where a setting changes the course, about the columns of
  `COLUMNS`. Of a criterion, each is a list of tables: the last one is meant, those before it are criteria that it refers to;
  name, threshold and epsilon are there where not any will do;
- `ENUMERATED`, where what a kind measures is enumerated under a name that other kinds may share: that name
  (`studio/audit/model_sensitivity.py`);
- of a criterion, `SWEEPS`: worlds of at most six cells, in which all neighbours are enumerated. One of them says which are
  `furthest` apart. There are none where the figure is made from nothing private.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from synthrelease.studio.audit.sweep import Sweep

COLUMNS = {"a": 1, "b": 2, "c": 3}
"""Columns of whole numbers from 0 to the one that is given, a bin for each."""


def examples(family: str, kind: str) -> Sequence[Any]:
    """The `EXAMPLES` of a kind of "criteria", "generators" or "projections"; empty where there is no file of it."""
    return getattr(_module(family, kind), "EXAMPLES", ())


def enumerated_as(family: str, kind: str) -> Sequence[str]:
    """What the enumerations of a kind's measurements are called: `ENUMERATED` of its file."""
    return getattr(_module(family, kind), "ENUMERATED", ())


def criterion_sweeps(kind: str) -> Sequence[Sweep]:
    """The `SWEEPS` of a kind of criterion; empty where there is no file of it."""
    return getattr(_module("criteria", kind), "SWEEPS", ())


def _module(family: str, kind: str) -> object:
    name = f"{__name__}.{family}.{kind}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
