"""A yes of one bin and of several; few records determine no fit, so the bound takes four."""

from functools import partial

from synthrelease.studio.audit.sweep import SMALL, WIDE, Neighbours, sweep

_SINGLE = {"a": "single", "b": "single", "c": "single"}
EXAMPLES = ([{"target": "c", "positive": ["2", "3"], "features": ["a", "b"], "representation": _SINGLE}],)

_sweep = partial(sweep, "logistic_regression", attained=4)
_LINE = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
SWEEPS = (
    _sweep(
        "logistic step, 1, 2 x 2",
        SMALL,
        _LINE | {"positive": ["1"]},
        furthest=Neighbours((0, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 1)),
    ),
    _sweep("logistic step, 2, 2 x 3", WIDE, _LINE | {"positive": ["2"]}),
    _sweep("logistic step, 0+2, 2 x 3", WIDE, _LINE | {"positive": ["0", "2"]}),
    _sweep("logistic step, with missing values, 2 x 2", SMALL, _LINE | {"positive": ["1"]}, missing=("b",)),
)
