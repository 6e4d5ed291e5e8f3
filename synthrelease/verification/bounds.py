"""The bounds of criteria that measurements answer, computed again from measurements.json and the released table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from synthrelease.criteria.base import Criterion, possible_cells
from synthrelease.criteria.facts import PublicFacts, outward
from synthrelease.criteria.measured import all_limits
from synthrelease.errors import Unexpected
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import on_released_bins, read_measurements, sum_on_released_bins

_RELATIVE = 1e-9
"""Bounds that are computed again may differ by so much, from one machine to another."""


def bound_problems(document: ReleaseDocument, facts: PublicFacts, content: bytes) -> Iterator[str]:
    """What is wrong with the bounds, a sentence each.

    Parameters
    ----------
    facts : with the released table, and the rules for private rows.
    content : of measurements.json; empty where there is none.
    """
    answered = [part for part in document.criteria if part.answered]
    bounds = document.selection.bounds
    if (bounds is not None) != bool(answered):
        yield "selection: expected bounds just where measurements answer criteria, found otherwise"
        return
    if bounds is None:
        return
    if not document.selection.shared_measurements or not content:
        yield "selection: measurements answer criteria, so expected shared and published measurements, found none"
        return
    criteria = {part.name: facts.criteria.get(part.name) for part in answered}
    known = {name: each for name, each in criteria.items() if isinstance(each, Criterion)}
    try:
        bare = replace(facts, counts=None)
        asked = {name: each.measured_sums(bare) for name, each in known.items()}
        risk = float(Fraction(bounds.risk_exact)) / bounds.transformations
        if facts.raw is None or len(known) < len(criteria):
            raise Unexpected("criteria of kinds that are known here", "others")
        limits = all_limits(asked, _measured(document, facts, content), possible_cells(facts.raw), risk)
        found = {name: outward(each.measured_bound(limits[name], facts)) for name, each in known.items()}
    except (LookupError, ValueError, TypeError) as error:
        yield f"the bounds do not follow from the measurements ({error})"
        return
    for part in answered:
        if not math.isclose(found[part.name], float(part.value), rel_tol=_RELATIVE):
            yield f"criterion {part.name!r}: its bound is {part.value}; from the measurements follows {found[part.name]:g}"
        if part.sensitivity is not None or part.noise_sd is not None or part.noise_bound is not None:
            yield f"criterion {part.name!r}: a bound that follows from the measurements has no noise of its own"


def _measured(document: ReleaseDocument, facts: PublicFacts, content: bytes) -> NoisyMarginals:
    """The measurements on the released bins. Raises Unexpected for anything that is not as it was written."""
    labels, layout = {column.name: column.labels for column in facts.columns}, facts.table.layout
    tables, sums, read = [], [], read_measurements(content, unknown="forbid")
    for one in read.sums or []:
        found = sum_on_released_bins(one, [labels[name] for name in one.columns])
        if found is not None:
            sums.append(
                NoisySum(
                    text=found.name,
                    columns=tuple(layout.index(name) for name in found.columns),
                    scores=found.steps,
                    value=found.value,
                    epsilon=found.epsilon,
                    sensitivity=found.sensitivity,
                    together=found.together,
                )
            )
    for part in read.tables:
        table = on_released_bins(part, [labels[name] for name in part.columns])
        if table is None:
            raise Unexpected("the released bin of every measured one", "none")
        columns = tuple(layout.index(name) for name in table.columns)
        tables.append(NoisyMarginal(columns=columns, values=table.values, cost=table.cost, cells=table.cells, kind=part.kind))
    return NoisyMarginals(layout=layout, n=document.n_rows, tables=tuple(tables), sums=tuple(sums))
