"""The weights of an accepted table: a public function of it and of published totals, made anew by `verify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthrelease.domain.margins import Calibration
from synthrelease.domain.raking import NotCalibrated, Weights, raked
from synthrelease.published.calibration import CalibrationPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable


def calibrated(
    table: ReleasedTable, calibration: Calibration | None, columns: list[ColumnPart]
) -> tuple[ReleasedTable, CalibrationPart | None]:
    """The table with its weights, and what release.json says about them.

    A table that cannot have the totals stays without weights, and the part says why: it has met all criteria and is paid for.

    Parameters
    ----------
    calibration : on the released bins.
    """
    if calibration is None:
        return table, None
    outcome = weights_or_reason(table, calibration, columns)
    weighted = table if isinstance(outcome, str) else replace(table, weights=outcome.of_cells)
    return weighted, CalibrationPart.of(calibration, columns, outcome)


def weights_or_reason(table: ReleasedTable, calibration: Calibration, columns: Sequence[ColumnPart]) -> Weights | str:
    """The weights, or why there are none; of released values only."""
    numbers = {column.name: [one.number for one in column.bins] for column in columns}
    start = None if calibration.start is None else np.array(numbers[calibration.start], dtype=float)
    try:
        return raked(table.counts, calibration, start)
    except NotCalibrated as error:
        return str(error)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        return f"the weights could not be computed ({type(error).__name__})"


def calibration_of(document: ReleaseDocument) -> Calibration | None:
    """The calibration that a document states, on the released bins."""
    return None if document.calibration is None else document.calibration.calibration(document.columns)
