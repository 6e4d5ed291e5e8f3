"""The weights of a released table: a public function of it and of published totals, made anew by `verify`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.weights import Calibration, NotCalibrated, Weights, raked
from synthrelease.published.columns import ColumnPart


def weights_or_reason(table: Counts, calibration: Calibration, columns: Sequence[ColumnPart]) -> Weights | str:
    """The weights, or why there are none; of released values only.

    Parameters
    ----------
    calibration : on the released bins.
    """
    numbers = {column.name: [one.number for one in column.bins] for column in columns}
    start = None if calibration.start is None else np.array(numbers[calibration.start], dtype=float)
    try:
        return raked(table, calibration, start)
    except NotCalibrated as error:
        return str(error)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        return f"the weights could not be computed ({type(error).__name__})"
