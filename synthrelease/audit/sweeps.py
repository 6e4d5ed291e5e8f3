"""What is enumerated: every criterion that spends, in worlds of at most six cells and five records.

The criteria's parameters are chosen so that every branch matters: clips that cut, ranges that clip, groups that are short or
empty, margins, values that must match exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthrelease.audit.sensitivity import Sweep, criterion
from synthrelease.criteria.functional_mechanism import LinearModel

MOST_RECORDS = 5

_WIDE = {"a": 1, "b": 2}
_TALL = {"a": 2, "b": 1}
_FLAT = {"a": 5}
_SMALL = {"a": 1, "b": 1}
_HALVES = {"b": ["0", "1-2"]}
_LINE: dict[str, object] = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
_LINES = {
    "opposite": (9.0, -9.0),
    "flat": (0.0, 0.0),
    "above the range": (5.0, 0.0),
    "rising": (0.5, 0.75),
}
"""Names -> intercept and slope of a private line, as its noise may have made it."""


def sweeps() -> Iterator[Sweep]:
    """All sweeps; together more than ten million triples at `MOST_RECORDS`."""
    yield from _marginals()
    yield from _weighted()
    yield from _means()
    yield from _faithfulness()
    yield from _predictions()
    yield from _steps()
    yield from _joint_tests()


def _marginals() -> Iterator[Sweep]:
    for highs in (_WIDE, _TALL, _FLAT, _SMALL):
        shape = _shape(highs)
        yield Sweep(name=f"absolute, {shape}, all tables", highs=highs, criteria=(criterion("absolute_marginal_error"),))
    one_way = criterion("absolute_marginal_error", largest=1)
    yield Sweep(name=f"absolute, {_shape(_WIDE)}, one-way tables", highs=_WIDE, criteria=(one_way,))
    for highs, clip, tight in (
        (_WIDE, 2, True),
        (_WIDE, 3, True),
        (_WIDE, 1.6, True),
        (_TALL, 5, True),
        (_FLAT, 2.5, True),
        (_FLAT, 10, False),
        (_SMALL, 1.75, True),
    ):
        ratio = criterion("relative_marginal_error", clip=clip)
        yield Sweep(name=f"relative, {_shape(highs)}, clip {clip}", highs=highs, criteria=(ratio,), tight=tight)


def _weighted() -> Iterator[Sweep]:
    """Weights are the values of a column: 0 to 2, which are exact in the program's units."""
    for column, highs, largest in (("b", _WIDE, None), ("b", _WIDE, 1), ("a", _TALL, None), ("a", _SMALL, None)):
        weighted = criterion("weighted_marginal_error", weight=column, largest=largest)
        tables = "all tables" if largest is None else "one-way tables"
        yield Sweep(name=f"weighted by {column}, {_shape(highs)}, {tables}", highs=highs, criteria=(weighted,))


def _means() -> Iterator[Sweep]:
    for name, highs, groups, fields in (
        ("of a by b", _WIDE, {}, {"column": "a", "by": ["b"], "range": (0, 1), "size_margin": 0}),
        ("of a by b, margin 0.4", _WIDE, {}, {"column": "a", "by": ["b"], "range": (0, 1), "size_margin": 0.4}),
        (
            "of b by a, groups alone",
            _WIDE,
            {},
            {"column": "b", "by": ["a"], "range": (0, 2), "size_margin": 0, "overall": False},
        ),
        ("of b by a, clipped", _WIDE, {}, {"column": "b", "by": ["a"], "range": (0.5, 1), "size_margin": 0}),
        ("of a by grouped b", _WIDE, _HALVES, {"column": "a", "by": ["b"], "range": (0, 1), "size_margin": 0.2}),
        ("of a by b", _TALL, {}, {"column": "a", "by": ["b"], "range": (0, 2), "size_margin": 0.2}),
        ("of all", _FLAT, {}, {"column": "a", "range": (0, 5), "size_margin": 0}),
        ("of all, clipped, margin 0.3", _FLAT, {}, {"column": "a", "range": (1, 3.5), "size_margin": 0.3}),
    ):
        mean = criterion("conditional_mean", **fields)
        yield Sweep(name=f"mean {name}, {_shape(highs)}", highs=highs, groups=groups, criteria=(mean,))


def _faithfulness() -> Iterator[Sweep]:
    for name, highs, fields in (
        ("a exact, b near", _WIDE, {"exact": ["a"], "within_one_bin": ["b"]}),
        ("all exact", _WIDE, {"exact": ["a", "b"], "within_one_bin": [], "at_most": 0}),
        ("one of both near", _TALL, {"exact": [], "within_one_bin": ["a", "b"]}),
        ("near in six bins", _FLAT, {"exact": [], "within_one_bin": ["a"]}),
    ):
        yield Sweep(name=f"faithfulness, {name}, {_shape(highs)}", highs=highs, criteria=(criterion("faithfulness", **fields),))


def _predictions() -> Iterator[Sweep]:
    for highs in (_WIDE, _TALL):
        partner = criterion("regression_coefficients", **_LINE)
        for name, (intercept, slope) in _LINES.items():
            scored = criterion("regression_prediction", coefficients=partner.name, range=(0, highs["b"]))
            yield Sweep(
                name=f"prediction, {name} line, {_shape(highs)}",
                highs=highs,
                criteria=(partner, scored),
                fitted=LinearModel(intercept=intercept, coefficients=np.array([slope])),
                tight=name == "opposite",
            )
            sharp = criterion("regression_prediction", coefficients=partner.name, range=(0, highs["b"]), bound="lines")
            yield Sweep(
                name=f"prediction by lines, {name} line, {_shape(highs)}",
                highs=highs,
                criteria=(partner, sharp),
                fitted=LinearModel(intercept=intercept, coefficients=np.array([slope])),
            )


def _steps() -> Iterator[Sweep]:
    for name, highs, allowed in (("", _WIDE, (0, 2)), ("", _TALL, (0, 1)), (", clipped", _WIDE, (0.5, 1))):
        step = criterion("regression_one_step", **_LINE, range=allowed)
        yield Sweep(name=f"one step{name}, {_shape(highs)}", highs=highs, criteria=(step,))


def _joint_tests() -> Iterator[Sweep]:
    absolute = criterion("absolute_marginal_error", threshold=0.5)
    ratio = criterion("relative_marginal_error", clip=4)
    faithful = criterion("faithfulness", exact=["a"], within_one_bin=["b"], threshold=0.4)
    mean = criterion("conditional_mean", column="b", by=["a"], range=(0, 2), size_margin=0.2, threshold=0.7)
    line = criterion("regression_coefficients", **_LINE)
    prediction = criterion("regression_prediction", coefficients=line.name, range=(0, 2), bound="lines", threshold=0.5)
    fitted = LinearModel(intercept=0.5, coefficients=np.array([0.75]))
    for name, criteria in (
        ("ratios", (ratio,)),
        ("marginals and ratios", (absolute, ratio)),
        ("means and faithfulness", (mean, faithful)),
        ("five criteria", (absolute, ratio, mean, faithful, line, prediction)),
    ):
        yield Sweep(name=f"joint test, {name}, {_shape(_WIDE)}", highs=_WIDE, criteria=criteria, fitted=fitted, joint=True)


def _shape(highs: dict[str, int]) -> str:
    return " x ".join(str(high + 1) for high in highs.values())
