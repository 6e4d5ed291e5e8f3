"""Ratios whose clip cuts off some counts, and one that cuts off none."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, SMALL, TALL, WIDE, Neighbours, sweep

EXAMPLES = ([{"clip": 3}],)

_sweep = partial(sweep, "relative_marginal_error")
_FIRST = Neighbours((0, 0, 0), (0, 0, 0), (0, 0, 1))
SWEEPS = (
    _sweep("relative, 2 x 3, clip 2", WIDE, {"clip": 2}, furthest=_FIRST),
    _sweep("relative, 2 x 3, clip 3", WIDE, {"clip": 3}),
    _sweep("relative, 2 x 3, clip 1.6", WIDE, {"clip": 1.6}, furthest=_FIRST),
    _sweep("relative, 3 x 2, clip 5", TALL, {"clip": 5}),
    _sweep("relative, 6, clip 2.5", FLAT, {"clip": 2.5}),
    _sweep("relative, 6, clip 10", FLAT, {"clip": 10}, tight=False, furthest=Neighbours((0, 0, 1), (0, 1, 1), (1, 1, 1))),
    _sweep("relative, 2 x 2, clip 1.75", SMALL, {"clip": 1.75}),
    _sweep("relative, with missing values, 2 x 2", SMALL, {"clip": 2}, missing=("b",)),
)
