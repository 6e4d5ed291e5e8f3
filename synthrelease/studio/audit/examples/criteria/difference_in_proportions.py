"""Shares of one bin and of several, by group and of all rows."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, HALVES, SMALL, WIDE, Households, Neighbours, sweep

EXAMPLES = (
    [{"column": "c", "bins": ["0", "3"], "by": ["a", "b"]}],
    [{"column": "a", "bins": ["1"], "overall": True}],
)

_sweep = partial(sweep, "difference_in_proportions")
_BY_A = {"column": "b", "by": ["a"]}
_FIRST = Neighbours((0, 0, 3), (0, 0, 0), (0, 0, 4))
SWEEPS = (
    _sweep("proportion of b by a, 2 x 3", WIDE, _BY_A | {"bins": ["0", "2"]}, furthest=_FIRST),
    _sweep("proportion of grouped b by a and of all, 2 x 3", WIDE, _BY_A | {"bins": ["1-2"]}, groups=HALVES, furthest=_FIRST),
    _sweep("proportion of all, 6", FLAT, {"column": "a", "bins": ["5"]}),
    _sweep(
        "proportion of b by a, with missing values, 2 x 2",
        SMALL,
        _BY_A | {"bins": ["1"]},
        missing=("a",),
        furthest=Neighbours((0, 0, 2), (0, 0, 3), (0, 0, 4)),
    ),
    _sweep("proportion of b, with missing values, 2 x 2", SMALL, {"column": "b", "bins": ["1"]}, missing=("b",)),
    Households(members={"a": 1}, most=3).sweep(
        "difference_in_proportions", "proportion of members", "members", {"column": "a", "bins": ["1"]}
    ),
    Households(members={"a": 1}, most=2, least=1, roots={"t": 1}).sweep(
        "difference_in_proportions", "proportion of members by root", "members", {"column": "a", "bins": ["1"], "by": ["t"]}
    ),
    Households(members={"a": 1}, most=2, least=1, lacking=("a",)).sweep(
        "difference_in_proportions",
        "proportion of others by the first",
        "others",
        {"column": "a", "bins": ["1"], "by": ["first.a"], "overall": False},
    ),
)
