"""Medians and other quantiles, by group and of all rows, with and without a window."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, HALVES, SMALL, WIDE, Households, Neighbours, sweep

EXAMPLES = (
    [{"column": "c", "by": ["a", "b"]}],
    [{"column": "c", "within": 1, "quantiles": [0.25, 0.9]}],
)

_sweep = partial(sweep, "conditional_median")
_BY_A = {"column": "b", "by": ["a"]}
_OF_ALL = Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1))
SWEEPS = (
    _sweep("median of b by a, 2 x 3", WIDE, _BY_A, furthest=Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 4))),
    _sweep("median of all, within one, 6", FLAT, {"column": "a", "within": 1}),
    _sweep("median of a by grouped b, 2 x 3", WIDE, {"column": "a", "by": ["b"], "overall": False}, groups=HALVES),
    _sweep("quartiles of all, 6", FLAT, {"column": "a", "quantiles": (0.25, 0.75)}, furthest=_OF_ALL),
    _sweep("median of b by a, with missing values, 2 x 2", SMALL, _BY_A, missing=("a",)),
    _sweep("median of b, with missing values, 2 x 2", SMALL, {"column": "b"}, missing=("b",), furthest=_OF_ALL),
    Households(members={"a": 2}, most=2).sweep("conditional_median", "members", "members", {"column": "a"}),
    Households(members={"a": 1}, most=3).sweep(
        "conditional_median", "gaps to the first", "others", {"column": "first.a - a", "quantiles": (0.25, 0.5)}
    ),
    Households(members={"a": 1}, most=2, least=1, roots={"t": 1}).sweep(
        "conditional_median", "members by root", "members", {"column": "a", "by": ("t",), "overall": False}, attained=2
    ),
)
