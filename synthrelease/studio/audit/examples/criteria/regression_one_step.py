"""Slopes whose target is clipped and is not."""

from functools import partial

from synthrelease.studio.audit.sweep import SMALL, TALL, WIDE, Neighbours, sweep

_OF_C = {"target": "c", "features": ["a", "b"], "representation": {"a": "single", "b": "single", "c": "single"}}
EXAMPLES = ([{"range": [0, 3], **_OF_C}], [{"range": [0, 2], "fit_epsilon": "0.5", **_OF_C}])

_sweep = partial(sweep, "regression_one_step")
_LINE = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
SWEEPS = (
    _sweep("one step, 2 x 3", WIDE, _LINE | {"range": (0, 2)}, furthest=Neighbours((0, 1, 4), (0, 3, 5), (0, 5, 5))),
    _sweep("one step, 3 x 2", TALL, _LINE | {"range": (0, 1)}, furthest=Neighbours((0, 2, 4), (0, 1, 1), (0, 1, 5))),
    _sweep("one step, clipped, 2 x 3", WIDE, _LINE | {"range": (0.5, 1)}),
    _sweep(
        "one step, with missing values, 2 x 2",
        SMALL,
        _LINE | {"range": (0, 1)},
        missing=("a",),
        furthest=Neighbours((0, 2, 4), (0, 1, 1), (0, 1, 3)),
    ),
)
