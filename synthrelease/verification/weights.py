"""The weights of a released table, raked anew from the table and the published totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from synthrelease.bundle.weights import calibrated, calibration_of
from synthrelease.domain.margins import disagreements
from synthrelease.published.calibration import CalibrationPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.verification.checks import Check

_RELATIVE = 1e-6
"""Weights that are computed again may differ by so much, from one machine to another."""


def weights(document: ReleaseDocument, table: ReleasedTable) -> Check:
    """The weights of the table, or the reason why it has none, follow from its rows and the published totals."""
    problems = tuple(f"weights: {problem}" for problem in _problems(document, table))
    part = document.calibration
    if part is None or part.weights is None:
        return Check(name="weights", found="none: the table cannot have the totals, as release.json says", problems=problems)
    found = f"{len(part.margins)} margins met to {100 * part.weights.deviation:.2g}%, the same weight for equal rows"
    return Check(name="weights", found=found, problems=problems)


def _problems(document: ReleaseDocument, table: ReleasedTable) -> Iterator[str]:
    stated, calibration = document.calibration, calibration_of(document)
    if stated is None or calibration is None:
        return
    for one in disagreements(calibration.margins, calibration.tolerance):
        yield f"the margins {one.left.name} and {one.right.name} disagree about {one.cell or 'the number of persons'}"
    if calibration.start is not None and calibration.start not in table.names:
        yield f"expected a column of the table to start from, found {calibration.start!r}"
        return
    found, part = calibrated(replace(table, weights=None), calibration, document.columns)
    if part is None or (part.weights is None) != (stated.weights is None) or part.failed != stated.failed:
        yield "from the table and the totals follows something else than release.json says"
    elif table.weights is not None and found.weights is not None and not _near(table.weights, found.weights):
        yield "those in the table do not follow from its rows and the totals"
    elif not _same(part, stated):
        yield "what release.json says about them does not follow from the table and the totals"


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.allclose(left, right, rtol=_RELATIVE, atol=0))


def _same(left: CalibrationPart, right: CalibrationPart) -> bool:
    """Whether two parts that state the same margins say the same about the weights."""
    mine, theirs = left.weights, right.weights
    if mine is None or theirs is None:
        return mine is theirs
    figures = [(one.smallest, one.largest, one.design_effect) for one in (mine, theirs)]
    near = _near(np.array(figures[0], dtype=float), np.array(figures[1], dtype=float))
    return (
        near
        and abs(mine.deviation - theirs.deviation) <= _RELATIVE
        and (mine.cycles, mine.joined) == (theirs.cycles, theirs.joined)
    )
