"""How far the slopes of two regression lines are apart at most, when moments of the original rows are known within limits.

The moments are those of pairs of columns, so noisy tables of all pairs give them (theory 13.7, slopes within limits).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.measured_sums import Limits, Sums

_FINEST = 2**11
"""Steps of the grid that products of two numbers in [-1, 1] are put on, either way."""

_ROOM = 1e-9
"""For the rounding of floats: relative to a moment, which is at most 1, and of a bound."""


def moment_sums(columns: Sequence[str], facts: PublicFacts) -> list[Sums]:
    """Sums of every number, and of every product of two, each in steps of the grid.

    Parameters
    ----------
    columns : the features, then the target.
    """
    found = []
    for one, other in _pairs(len(columns)):
        names = _names(columns, one, other)
        found.append(Sums(columns=names, weights=np.rint(_exact(names, one == other, facts) * _FINEST)[None].astype(np.int64)))
    return found


def furthest_slopes(columns: Sequence[str], limits: Sequence[Limits], facts: PublicFacts) -> float:
    """The largest sum over the features of |slope(R) - slope(S)| times the deviation of the feature in S, or a number above it.

    In units of the target. Infinite where the limits leave the slopes of R open.
    """
    d, n = len(columns) - 1, facts.n
    middles, widths, synthetic = (np.zeros((d + 2, d + 2)) for _ in range(3))  # 0 the intercept, then the columns
    middles[0, 0] = synthetic[0, 0] = 1.0
    for (one, other), limit in zip(_pairs(d + 1), limits, strict=True):
        names = _names(columns, one, other)
        exact = _exact(names, one == other, facts)
        moved = float(np.abs(exact - np.rint(exact * _FINEST) / _FINEST).max()) + _ROOM
        place = (0, one + 1) if other is None else (one + 1, other + 1)
        of_table = float((facts.cells(names).reshape(exact.shape) * exact).sum()) / n
        low, high = (float(end[0]) / (_FINEST * n) for end in (limit.low, limit.high))
        for i, j in (place, place[::-1]):
            middles[i, j], widths[i, j], synthetic[i, j] = (low + high) / 2, (high - low) / 2 + moved, of_table
    spreads = np.sqrt(np.maximum(np.diag(synthetic)[1:-1] - synthetic[0, 1:-1] ** 2, 0.0))
    if not (spreads > 0).all():
        return math.nan
    line = np.linalg.lstsq(synthetic[:-1, :-1], synthetic[:-1, -1], rcond=None)[0]
    scale = np.concatenate([[1.0], spreads])
    inverse = scale[:, None] * np.linalg.pinv(middles[:-1, :-1], hermitian=True)
    first = np.abs(inverse @ (middles[:-1, -1] - middles[:-1, :-1] @ line))
    first += np.abs(inverse) @ (widths[:-1, -1] + widths[:-1, :-1] @ np.abs(line))
    again = np.abs(np.diag(scale) - inverse @ middles[:-1, :-1]) + np.abs(inverse) @ widths[:-1, :-1]
    again = again / scale
    if not np.abs(np.linalg.eigvals(again)).max() < 1 - _ROOM:
        return math.inf
    apart = np.linalg.solve(np.eye(d + 1) - again, first)
    return float(apart[1:].sum()) * _half_range(columns[-1], facts) * (1 + _ROOM)


def _pairs(width: int) -> list[tuple[int, int | None]]:
    """Every column, and every pair of columns, a column with itself included; but not the target with itself."""
    singles: list[tuple[int, int | None]] = [(one, None) for one in range(width)]
    return [*singles, *((one, other) for one in range(width) for other in range(one, width) if one < width - 1)]


def _names(columns: Sequence[str], one: int, other: int | None) -> tuple[str, ...]:
    return (columns[one],) if other is None or other == one else (columns[one], columns[other])


def _exact(names: tuple[str, ...], squared: bool, facts: PublicFacts) -> np.ndarray:
    """What a row adds to the moment, on the bins of the columns; a column with itself has one axis."""
    first = _standard(names[0], facts)
    if len(names) == 2:
        return np.outer(first, _standard(names[1], facts))
    return first**2 if squared else first


def _standard(name: str, facts: PublicFacts) -> np.ndarray:
    """(n_bins,) numbers between -1 and 1 around the middle of their range."""
    numbers = np.array(facts.by_name[name].numbers, dtype=float)
    return (numbers - (numbers.max() + numbers.min()) / 2) / _half_range(name, facts)


def _half_range(name: str, facts: PublicFacts) -> float:
    numbers = np.array(facts.by_name[name].numbers, dtype=float)
    return max(float(numbers.max() - numbers.min()) / 2, 1e-9)
