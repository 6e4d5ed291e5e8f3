"""Weights are the values of a column: 0 to 2, which are exact in the program's units."""

from functools import partial

from synthrelease.studio.audit.sweep import SMALL, TALL, WIDE, Neighbours, sweep

EXAMPLES = ([{"weight": "c"}], [{"weight": "b", "largest": 1}])

_sweep = partial(sweep, "weighted_marginal_error")
SWEEPS = (
    _sweep("weighted by b, 2 x 3, all tables", WIDE, {"weight": "b"}, furthest=Neighbours((0, 0, 1), (0, 0, 1), (0, 1, 2))),
    _sweep("weighted by b, 2 x 3, one-way tables", WIDE, {"weight": "b", "largest": 1}),
    _sweep("weighted by a, 3 x 2, all tables", TALL, {"weight": "a"}, furthest=Neighbours((0, 0, 2), (0, 0, 2), (0, 2, 4))),
    _sweep("weighted by a, 2 x 2, all tables", SMALL, {"weight": "a"}),
)
