"""Private lines as their noise may have made them: opposite, flat, above the range, rising."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from synthrelease.criteria.functional import LinearModel
from synthrelease.studio.audit.sweep import SMALL, TALL, WIDE, Neighbours, Sweep, criterion, sweep

_FIT = {"kind": "regression_coefficients", "name": "line"}
_OF_C = {"target": "c", "features": ["a", "b"], "representation": {"a": "single", "b": "single", "c": "single"}}
EXAMPLES = (
    [_FIT | _OF_C, {"coefficients": "line", "range": [0, 3]}],
    [_FIT | _OF_C, {"coefficients": "line", "range": [0, 3], "bound": "lines"}],
)

_sweep = partial(sweep, "regression_prediction")
_OF_B: dict[str, object] = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
_LINE = criterion("regression_coefficients", name="line", **_OF_B)
_LINES = {"opposite": (9.0, -9.0), "flat": (0.0, 0.0), "above the range": (5.0, 0.0), "rising": (0.5, 0.75)}
"""Names -> intercept and slope."""
_FURTHEST = {
    "prediction, opposite line, 2 x 3": Neighbours((0, 0, 4), (0, 0, 4), (0, 2, 4)),
    "prediction, rising line, 3 x 2": Neighbours((0, 0, 0), (0, 2, 2), (0, 2, 3)),
    "prediction, flat line, 2 x 3": Neighbours((0, 2, 5), (0, 3, 3), (0, 3, 5)),
    "prediction by lines, rising line, 2 x 3": Neighbours((0, 0, 4), (0, 0, 3), (0, 1, 3)),
    "prediction, with missing values, 2 x 2": Neighbours((0, 0, 0), (0, 2, 2), (0, 2, 3)),
}


def _of(name: str, line: str, highs: Mapping[str, int], bound: str, *, tight: bool, missing: tuple[str, ...] = ()) -> Sweep:
    intercept, slope = _LINES[line]
    model = LinearModel(intercept=intercept, coefficients=np.array([slope]))
    return _sweep(
        name,
        highs,
        {"coefficients": "line", "range": (0, highs["b"]), "bound": bound},
        before=(_LINE,),
        missing=missing,
        fitted=model,
        tight=tight,
        furthest=_FURTHEST.get(name),
    )


SWEEPS = (
    *(
        _of(f"prediction{words}, {line} line, {shape}", line, highs, bound, tight=bool(words) or line == "opposite")
        for shape, highs in (("2 x 3", WIDE), ("3 x 2", TALL))
        for line in _LINES
        for words, bound in (("", "range"), (" by lines", "lines"))
    ),
    _of("prediction, with missing values, 2 x 2", "rising", SMALL, "lines", tight=True, missing=("a",)),
    _of("prediction, range, with missing values, 2 x 2", "rising", SMALL, "range", tight=False, missing=("b",)),
)
