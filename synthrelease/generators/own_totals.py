"""Compute exact sums over rows of products of exact values, rounded to whole steps for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import STEPS


def own_total(rows: Counts, columns: Sequence[int], factors: Sequence[np.ndarray], ends: tuple[float, float]) -> int:
    """Return the exact sum over rows of a product of exact values or scores, such as hours times wage.

    Each row's product is rounded to whole steps from 0 to STEPS, as a function of the row alone.

    Parameters
    ----------
    rows : counts on atomic cells.
    columns : the increasing indices of the columns.
    factors : for each column, the (n_atoms,) factors of atomic bins.
    ends : the smallest and the largest possible product.
    """
    distinct = rows.project(tuple(columns))
    product = np.ones(len(distinct))
    for axis, factor in enumerate(factors):
        product = product * factor[distinct.digits(axis)]
    return int(distinct.counts @ np.rint(in_steps(product, ends)).astype(np.int64))


def in_steps(products: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """Express products of exact values in steps: 0 is the smallest possible product, STEPS the largest (`ends`)."""
    low, high = ends
    return np.clip((products - low) / (high - low) * STEPS, 0, STEPS)
