"""Columns that match exactly, that may be a bin apart, and that are ignored."""

from functools import partial

from synthrelease.studio.audit.exact import unmatched_roots
from synthrelease.studio.audit.sweep import FLAT, SMALL, TALL, WIDE, Households, Neighbours, sweep

EXAMPLES = (
    [{"exact": ["a"], "within_one_bin": ["b", "c"], "exact_around": {"c": 1}}],
    [{"exact": ["a", "b", "c"], "within_one_bin": [], "at_most": 0}],
)

_sweep = partial(sweep, "faithfulness")
_NEAR = {"exact": ["a"], "within_one_bin": ["b"]}
_FIRST = Neighbours((0, 0, 0), (0, 0, 2), (0, 2, 2))
SWEEPS = (
    _sweep("faithfulness, a exact, b near, 2 x 3", WIDE, _NEAR, furthest=_FIRST),
    _sweep("faithfulness, all exact, 2 x 3", WIDE, {"exact": ["a", "b"], "within_one_bin": [], "at_most": 0}),
    _sweep(
        "faithfulness, one of both near, 3 x 2",
        TALL,
        {"exact": [], "within_one_bin": ["a", "b"]},
        furthest=Neighbours((0, 0, 0), (0, 0, 3), (0, 3, 3)),
    ),
    _sweep("faithfulness, near in six bins, 6", FLAT, {"exact": [], "within_one_bin": ["a"]}, furthest=_FIRST),
    _sweep("faithfulness, with missing values, 2 x 2", SMALL, _NEAR, missing=("b",)),
    _sweep(
        "faithfulness, a ignored, with missing values, 2 x 2",
        SMALL,
        {"ignored": ["a"], "within_one_bin": ["b"]},
        missing=("b",),
        furthest=Neighbours((0, 2, 2), (0, 0, 0), (0, 0, 2)),
    ),
    Households(members={"a": 1}, most=3).sweep(
        "faithfulness",
        "members in any order, all exact",
        "",
        {"exact": ["n", "a_1", "a_2", "a_3"], "at_most": 0, "any_order": True},
        reference=unmatched_roots,
    ),
    Households(members={"a": 2}, most=2, least=1).sweep(
        "faithfulness",
        "members in any order, one of them near",
        "",
        {"exact": ["n"], "within_one_bin": ["a_1", "a_2"], "any_order": True},
        reference=unmatched_roots,
    ),
)
