"""How far tables are off, as the paper on swapping says it."""

from __future__ import annotations

import numpy as np


def mean_absolute_percentage_error(original: np.ndarray, other: np.ndarray) -> float:
    """Mean over cells of |other - original| / original, in percent; cells of 0 in the original are left out."""
    original, other = np.asarray(original, dtype=float), np.asarray(other, dtype=float)
    there = original > 0
    return float(100 * np.mean(np.abs(other[there] - original[there]) / original[there]))
