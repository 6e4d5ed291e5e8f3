"""Groups that are short or empty, margins, and ranges that clip."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, HALVES, SMALL, TALL, WIDE, Households, Neighbours, sweep

EXAMPLES = (
    [{"column": "c", "by": ["a", "b"], "range": [0, 3], "size_margin": 0.1}],
    [{"column": "c", "range": [1, 2], "size_margin": 0.0}],
)

_sweep = partial(sweep, "conditional_mean")
_BY_B = {"column": "a", "by": ["b"], "range": (0, 1)}
_BY_A = {"column": "b", "by": ["a"], "size_margin": 0}
_FIRST = Neighbours((0, 1, 2), (0, 1, 2), (0, 1, 5))
_GROUPED = Neighbours((0, 0, 0), (0, 0, 1), (0, 0, 4))
_CLIPPED = {"column": "a", "range": (0.5, 1), "by": ["t"], "size_margin": 0.2}
SWEEPS = (
    _sweep("mean of a by b, 2 x 3", WIDE, _BY_B | {"size_margin": 0}, furthest=_FIRST),
    _sweep("mean of a by b, margin 0.4, 2 x 3", WIDE, _BY_B | {"size_margin": 0.4}, furthest=_FIRST),
    _sweep("mean of b by a, groups alone, 2 x 3", WIDE, _BY_A | {"range": (0, 2), "overall": False}),
    _sweep(
        "mean of b by a, clipped, 2 x 3",
        WIDE,
        _BY_A | {"range": (0.5, 1)},
        furthest=Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 4)),
    ),
    _sweep("mean of a by grouped b, 2 x 3", WIDE, _BY_B | {"size_margin": 0.2}, groups=HALVES, furthest=_GROUPED),
    _sweep("mean of a by b, 3 x 2", TALL, {"column": "a", "by": ["b"], "range": (0, 2), "size_margin": 0.2}),
    _sweep("mean of all, 6", FLAT, {"column": "a", "range": (0, 5), "size_margin": 0}),
    _sweep(
        "mean of all, clipped, margin 0.3, 6",
        FLAT,
        {"column": "a", "range": (1, 3.5), "size_margin": 0.3},
        furthest=Neighbours((0, 0, 0), (0, 0, 2), (0, 2, 4)),
    ),
    _sweep(
        "mean of a by b, with missing values, 2 x 2",
        SMALL,
        _BY_B | {"size_margin": 0.2},
        furthest=Neighbours((0, 0, 1), (0, 0, 1), (0, 0, 4)),
        missing=("b",),
    ),
    _sweep("mean of b, with missing values, 2 x 2", SMALL, _BY_A | {"range": (0, 1)}, missing=("b",)),
    Households(members={"a": 1}, most=3).sweep(
        "conditional_mean", "members", "members", {"column": "a", "range": (0, 1), "size_margin": 0}
    ),
    Households(members={"a": 1}, most=2, least=1, roots={"t": 1}).sweep(
        "conditional_mean",
        "members by root, clipped",
        "members",
        {"column": "a", "range": (0.5, 1), "by": ["t"], "size_margin": 0.2},
        tight=False,
    ),
    Households(members={"a": 1}, most=2).sweep(
        "conditional_mean",
        "gaps to the first",
        "others",
        {"column": "first.a - a", "range": (-1, 1), "size_margin": 0, "values": "bins"},
    ),
)
