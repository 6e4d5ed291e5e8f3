"""The configuration and the criteria are ones that this program knows, with parameters that it would accept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.published.charges import CriterionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.checks import Check
from synthrelease.settings.mistakes import validated


def configuration(document: ReleaseDocument) -> Check:
    """Generator, projection and criteria pass the validation of their classes, and the released bins are the drawn ones."""
    problems = [*_parts(document)]
    for criterion in document.criteria:
        problems += [f"criterion {criterion.name!r}: {problem}" for problem in _criterion(criterion)]
    parts = len(document.criteria) + 2
    return Check(name="configuration", found=f"{parts} parts with parameters that fit", problems=tuple(problems))


def _parts(document: ReleaseDocument) -> Iterator[str]:
    parts = document.configuration
    if set(parts) != {"transformation", "generator", "projection"}:
        yield f"configuration: expected transformation, generator and projection, found {', '.join(parts) or 'none'}"
        return
    if parts["transformation"] != {column.name: column.binning for column in document.columns}:
        yield "configuration: the transformation does not name the bins of the schema"
    for column in document.columns:
        if column.binning not in column.alternatives:
            yield f"schema: column {column.name!r}: its bins {column.binning!r} are not among its alternatives"
    yield from _validated("generator", "family", GENERATORS, parts["generator"])
    yield from _validated("projection", "kind", PROJECTIONS, parts["projection"])


def _validated(name: str, key: str, known: Mapping[str, type[BaseModel]], table: Mapping[str, Any]) -> Iterator[str]:
    model = known.get(str(table.get(key)))
    if model is None:
        yield f"configuration: {name}: expected one that is known, found {table.get(key)!r}"
        return
    found = validated(model, table, "release.json", f"configuration.{name}")
    if isinstance(found, list):
        yield str(found[0])


def _criterion(part: CriterionPart) -> Iterator[str]:
    model = CRITERIA.get(part.kind)
    if model is None:
        yield f"expected a kind that is known, found {part.kind!r}"
        return
    table = {"name": part.name, "kind": part.kind, "threshold": part.threshold, "epsilon": part.epsilon_exact}
    found = validated(model, table | part.parameters, "release.json", "criteria")
    if not isinstance(found, Criterion):
        yield str(found[0])
        return
    best, worst = found.figure_range
    if (float(part.best), math.inf if part.worst is None else float(part.worst)) != (best, worst):
        yield f"its exact figure can be {best:g} to {worst:g}; it states {part.best} to {part.worst}"
