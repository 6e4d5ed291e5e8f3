"""Distributions by group and of all rows; the last group may lack values."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.criteria.shares import KolmogorovDistance
from synthrelease.studio.audit.cases import World
from synthrelease.studio.audit.exact import ExactFigures, digits, members, valued_cells
from synthrelease.studio.audit.sweep import FLAT, HALVES, SMALL, WIDE, Households, Neighbours, sweep

EXAMPLES = (
    [{"column": "c", "by": ["a", "b"]}],
    [{"column": "b"}],
)


def _figures(criterion: KolmogorovDistance, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max |a_gt - p_gt n_g| / m_g over groups and values t; bound 1 / min m_g (theory 3.14, Kolmogorov distance)."""
    values = digits(world)
    numbers, valued = values[:, world.layout.index(criterion.column)], valued_cells(world, [criterion.column], values)
    groups = [valued] * criterion.overall
    for name in criterion.by:
        found = members(world, name, values)
        groups += [member * valued for member in (found[:-1] if name in world.missing else found)]
    sizes = [int(synthetic @ group) for group in groups]
    common = math.lcm(*(size**2 for size in sizes if size))
    worst = np.zeros(len(tables), dtype=np.int64)
    for group, size in zip(groups, sizes, strict=True):
        for t in range(int(numbers.max())) if size else ():
            below = group * (numbers <= t)
            excess = np.abs(size * (tables @ below) - int(synthetic @ below) * (tables @ group))
            worst = np.maximum(worst, excess * (common // size**2))
    void = min(sizes) == 0
    return ExactFigures(numerators=worst, denominator=common, bound=Fraction(1, max(1, min(sizes))), void=void)


_sweep = partial(sweep, "kolmogorov_distance", reference=_figures)
_BY_A = {"column": "b", "by": ["a"]}
SWEEPS = (
    _sweep("distribution of b by a, 2 x 3", WIDE, _BY_A, furthest=Neighbours((0, 0, 3), (0, 0, 0), (0, 0, 4))),
    _sweep("distribution of b by a alone, 2 x 3", WIDE, _BY_A | {"overall": False}),
    _sweep("distribution of a by grouped b, 2 x 3", WIDE, {"column": "a", "by": ["b"]}, groups=HALVES),
    _sweep("distribution of all, 6", FLAT, {"column": "a"}),
    _sweep("distribution of b by a, with missing values, 2 x 2", SMALL, _BY_A, missing=("a",)),
    _sweep("distribution of b, with missing values, 2 x 2", SMALL, {"column": "b"}, missing=("b",)),
    Households(members={"a": 2}, most=2).sweep("kolmogorov_distance", "members", "members", {"column": "a"}),
    Households(members={"a": 1}, most=3).sweep("kolmogorov_distance", "gaps to the first", "others", {"column": "first.a - a"}),
)
