"""The weights of a released table, raked anew from the table and the published totals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthrelease.data.weights import disagreements
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import CalibrationPart, weights_or_reason
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.part import KnownFiles, Verifying

_RELATIVE = 1e-6
"""Weights that are computed again may differ by so much, from one machine to another."""


class CalibrationVerifying(Verifying[object, CalibrationPart]):
    """The weights of the table, or the reason why it has none, follow from its rows and the published totals."""

    def found(self, part: CalibrationPart, known: KnownFiles) -> str:
        """How well the totals are met."""
        if part.weights is None:
            return "none: the table cannot have the totals, as release.json says"
        return f"{len(part.margins)} margins met to {100 * part.weights.deviation:.2g}%, the same weight for equal rows"

    def problems(self, document: ReleaseDocument, part: CalibrationPart, known: KnownFiles) -> Iterator[str]:
        """Rake once more."""
        yield from (f"weights: {problem}" for problem in _problems(document, part, known.table))


def _problems(document: ReleaseDocument, stated: CalibrationPart, table: ReleasedTable) -> Iterator[str]:
    calibration = stated.calibration(document.columns)
    for one in disagreements(calibration.margins, calibration.tolerance):
        yield f"the margins {one.left.name} and {one.right.name} disagree about {one.cell or 'the number of persons'}"
    if calibration.start is not None and calibration.start not in table.names:
        yield f"expected a column of the table to start from, found {calibration.start!r}"
        return
    outcome = weights_or_reason(table.counts, calibration, document.columns)
    found = None if isinstance(outcome, str) else outcome.of_cells
    part = CalibrationPart.of(calibration, document.columns, outcome)
    if (part.weights is None) != (stated.weights is None) or part.failed != stated.failed:
        yield "from the table and the totals follows something else than release.json says"
    elif table.weights is not None and found is not None and not _near(table.weights, found):
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


VERIFYING = CalibrationVerifying()
