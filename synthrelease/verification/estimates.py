"""The estimates in release.json, computed again from measurements.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from synthrelease.bundle import measurements
from synthrelease.bundle.estimating import estimates_part
from synthrelease.errors import Unexpected
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.estimates import EstimatesPart, IntendedEstimatePart
from synthrelease.verification.checks import Check

_RELATIVE = 1e-4
"""Ends of intervals that are computed again may differ by so much of their width, from one machine to another."""


def estimates(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Every estimate and interval is what follows from the published noisy tables."""
    stated = document.estimates
    return Check(
        name="estimates",
        found=f"{0 if stated is None else sum(one is not None for one in stated.intended)} intended queries have an estimate",
        problems=tuple(f"estimates: {problem}" for problem in _problems(document, stated, files)),
    )


def _problems(document: ReleaseDocument, stated: EstimatesPart | None, files: Mapping[str, bytes]) -> Iterator[str]:
    try:
        made = estimates_part(document, files.get(measurements.NAME, b""))
    except Exception as error:
        if stated is not None:  # a release whose estimates cannot be computed is written without them
            yield f"they cannot be computed ({error if isinstance(error, Unexpected) else type(error).__name__})"
        return
    if made is None and stated is None:
        return
    if made is None or stated is None or made.level != stated.level or made.together != stated.together:
        yield "expected those of the published noisy tables, found others"
        return
    if len(made.intended) != len(stated.intended):
        yield f"expected one for each of {len(made.intended)} intended queries, found {len(stated.intended)}"
        return
    for place, (right, found) in enumerate(zip(made.intended, stated.intended, strict=True)):
        if not _same(right, found):
            yield f"intended query {place + 1}: expected {right}, found {found}"


def _same(right: IntendedEstimatePart | None, found: IntendedEstimatePart | None) -> bool:
    if right is None or found is None:
        return right is found
    if (right.question, right.unit) != (found.question, found.unit):
        return False
    if [one.name for one in right.ratios] != [one.name for one in found.ratios]:
        return False
    width = 0.0 if right.low is None or right.high is None else float(right.high - right.low)
    pairs = (
        *((right.estimate, found.estimate), (right.low, found.low), (right.high, found.high)),
        *((right.binned_low, found.binned_low), (right.binned_high, found.binned_high)),
        *((one.estimate, other.estimate) for one, other in zip(right.ratios, found.ratios, strict=True)),
        *((one.low, other.low) for one, other in zip(right.ratios, found.ratios, strict=True)),
        *((one.high, other.high) for one, other in zip(right.ratios, found.ratios, strict=True)),
    )
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=_RELATIVE * width) for a, b in pairs
    )
