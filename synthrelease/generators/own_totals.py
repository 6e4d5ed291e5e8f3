"""Sums of own values over rows: what each row adds is a product of public numbers, in whole steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import STEPS


def own_total(rows: Counts, columns: Sequence[int], factors: Sequence[np.ndarray], ends: tuple[float, float]) -> int:
    """Return the exact sum of the whole steps of some rows on atomic cells.

    A row's step is a function of the row alone: a product of single numbers in a fixed order, rounded and kept from 0 to STEPS,
    whatever other rows there are.

    Parameters
    ----------
    columns : increasing indices of the columns whose factors are multiplied.
    factors : of each of these, (n_atoms,) the factor of a row with a value there.
    ends : the least and the most that a product can be.
    """
    distinct = rows.project(tuple(columns))
    product = np.ones(len(distinct))
    for axis, factor in enumerate(factors):
        product = product * factor[distinct.digits(axis)]
    return int(distinct.counts @ np.rint(in_steps(product, ends)).astype(np.int64))


def in_steps(products: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """Return products of own values in steps from 0 to STEPS between the ends, as floats."""
    low, high = ends
    return np.clip((products - low) / (high - low) * STEPS, 0, STEPS)
