"""Products of tables with all but some columns summed out, in an order that keeps what is held small (variable elimination).

Zhang & Poole, "A simple approach to Bayesian network computations" (1994); the next column is the one that leads to the
smallest table. Columns are numbered as they like: numpy.einsum can tell 52 axes apart, and sees those of two tables at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A table of non-negative numbers with one axis per column, in the order of `columns`."""

    columns: tuple[int, ...]
    values: np.ndarray


def elimination_order(
    scopes: Sequence[frozenset[int]], kept: frozenset[int], sizes: Mapping[int, int]
) -> tuple[list[int], int]:
    """Columns outside `kept` in the order in which to sum them out, and the cells of the largest table on the way.

    Found from the columns of the factors alone, before anything is multiplied.
    """
    left = [scope for scope in scopes if scope]
    order: list[int] = []
    largest = max((_cells(scope, sizes) for scope in left), default=1)

    def joined(column: int) -> frozenset[int]:
        return frozenset[int]().union(*(scope for scope in left if column in scope))

    while open_columns := frozenset[int]().union(*left) - kept:
        column = min(open_columns, key=lambda each: (_cells(joined(each), sizes), each))
        union = joined(column)
        largest = max(largest, _cells(union, sizes))
        left = [scope for scope in left if column not in scope] + [union - {column}]
        order.append(column)
    return order, max(largest, _cells(frozenset[int]().union(*left), sizes))


def marginal(factors: Sequence[Factor], kept: Sequence[int], order: Sequence[int]) -> np.ndarray:
    """The product of the factors, summed over the columns of `order`; axes in the order of `kept`.

    Parameters
    ----------
    order : all columns of the factors outside `kept`, as `elimination_order` gives them.
    """
    left = list(factors)
    for column in order:
        product = _product([factor for factor in left if column in factor.columns])
        left = [factor for factor in left if column not in factor.columns]
        left.append(_einsum([product], [other for other in product.columns if other != column]))
    return _einsum([_product(left)], kept).values


def _product(factors: Sequence[Factor]) -> Factor:
    """All factors multiplied, small ones first."""
    first, *others = sorted(factors, key=lambda factor: factor.values.size)
    for factor in others:
        first = _einsum([first, factor], sorted({*first.columns, *factor.columns}))
    return first


def _einsum(factors: Sequence[Factor], onto: Sequence[int]) -> Factor:
    labels = {column: label for label, column in enumerate(sorted(set().union(*(factor.columns for factor in factors))))}
    operands: list[np.ndarray | list[int]] = []
    for factor in factors:
        operands += [factor.values, [labels[column] for column in factor.columns]]
    return Factor(columns=tuple(onto), values=np.einsum(*operands, [labels[column] for column in onto]))


def _cells(columns: frozenset[int], sizes: Mapping[int, int]) -> int:
    return math.prod(sizes[column] for column in columns)
