"""A column whose mean and standard deviation alone are published: a beta distribution, stretched over the column's values.

It has exactly this mean and spread, never leaves the bounds, is close to a normal one far from them and leans away from
the nearer bound. (PERT planning uses it for the same reasons.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from synthrelease.errors import Unexpected
from synthrelease.simulation.bands import Units


def check_moments(units: Units, mean: float, deviation: float) -> None:
    """Raise Unexpected when no beta distribution on the column's values has this mean and standard deviation."""
    low, high = (end / units.scale for end in _ends(units))
    if not low < mean < high:
        raise Unexpected(f"a mean above {low:g} and below {high:g}, the bounds", f"{mean:g}")
    largest = np.sqrt((mean - low) * (high - mean))
    if not 0 < deviation < largest:
        raise Unexpected(
            f"a standard deviation above 0 and below {largest:.4g}, the most that a mean of {mean:g} within the bounds allows",
            f"{deviation:g}",
        )


def shares_of_cells(units: Units, moments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(..., n_cells) share of each cell, for moments of shape (..., 2): mean and standard deviation."""
    alpha, beta = _parameters(units, moments)
    low, high = _ends(units)
    # a value is the nearest unit, so a cell of whole units starts half a unit before its first
    points = ((edges - 0.5 - low) / (high - low)).clip(0.0, 1.0)
    points[0], points[-1] = 0.0, 1.0
    return np.diff(betainc(alpha[..., None], beta[..., None], points))


def quantiles(units: Units, moments: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """(n,) units at the orders of shape (n,) of the distributions with moments of shape (n, 2)."""
    alpha, beta = _parameters(units, moments)
    low, high = _ends(units)
    values = np.rint(low + (high - low) * betaincinv(alpha, beta, orders)).astype(np.int64)
    return values.clip(units.first, units.stop - 1)


def _ends(units: Units) -> tuple[int, int]:
    """Least and largest value in units; the open end of real numbers is their limit."""
    return units.first, units.stop if units.kind == "real" else units.stop - 1


def _parameters(units: Units, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = _ends(units)
    mean = (moments[..., 0] * units.scale - low) / (high - low)
    variance = (moments[..., 1] * units.scale / (high - low)) ** 2
    size = mean * (1 - mean) / variance - 1
    return mean * size, (1 - mean) * size
