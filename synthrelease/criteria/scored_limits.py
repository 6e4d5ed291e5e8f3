"""What a measured sum of scores says about a sum of original counts, where the one is an affine function of the other.

The rarest bin as a sum of its own has noise of half the scale that its cell in a table of equal epsilon has (theory 12.12,
scored sums; 13.6, criteria that measurements answer).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals, NoisySum

Limit = tuple[int, int, int]
"""(v, t, m): m times the sum is within t of v."""


def limits_of_cells(columns: Sequence[str], measured: NoisyMarginals, risk: float) -> Mapping[int, list[Limit]]:
    """Of the cells of the table of some columns, by their number, those that a measured sum counts."""
    found: dict[int, list[Limit]] = {}
    for one, steps in _with(columns, measured):
        cells, numbers = np.unique(steps, return_counts=True)
        for step in cells[numbers == 1] if len(cells) == 2 else ():
            place = int(np.flatnonzero(steps.ravel() == step)[0])
            counted = np.zeros(steps.size, dtype=np.int64)
            counted[place] = 1
            limit = limit_of(one, steps, counted.reshape(steps.shape), measured.n, risk)
            found.setdefault(place, []).extend([limit] if limit else [])
    return found


def limits_of_sum(columns: Sequence[str], weights: np.ndarray, measured: NoisyMarginals, risk: float) -> list[Limit]:
    """What each measured sum of these columns says about the sum of these weights."""
    found = (limit_of(one, steps, weights, measured.n, risk) for one, steps in _with(columns, measured))
    return [limit for limit in found if limit]


def limit_of(one: NoisySum, steps: np.ndarray, weights: np.ndarray, n: int, risk: float) -> Limit | None:
    """Where weights = over / under * steps + a constant in all cells: under times their sum is over times the measured one, and
    as much as the constant makes of n rows. None where they are not.

    Parameters
    ----------
    steps, weights : whole numbers, an axis for each column.
    n : the number of rows, exact.
    """
    first, last = int(steps.argmin()), int(steps.argmax())
    of_steps, of_weights = steps.ravel(), weights.ravel()
    lowest, highest = int(of_steps[first]), int(of_steps[last])
    at_lowest, at_highest = int(of_weights[first]), int(of_weights[last])
    ratio = Fraction(at_highest - at_lowest, highest - lowest)
    over, under = ratio.numerator, ratio.denominator
    constant = under * at_lowest - over * lowest
    if not over or not np.array_equal(under * of_weights, over * of_steps + constant):
        return None
    return over * one.value + constant * n, abs(over) * one.limit(risk), under


def _with(columns: Sequence[str], measured: NoisyMarginals) -> list[tuple[NoisySum, np.ndarray]]:
    """The sums of just these columns, with their steps in this order of columns."""
    found = []
    for one in measured.sums:
        names = [measured.layout.columns[column] for column in one.columns]
        if one.exact and set(names) == set(columns):
            steps = np.rint(one.scores).astype(np.int64).transpose([names.index(name) for name in columns])
            if np.ptp(steps):
                found.append((one, steps))
    return found
