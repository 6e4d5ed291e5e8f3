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
    yield from _means()
    yield from _faithfulness()
    yield from _predictions()
    yield from _steps()
    yield from _distances()
    yield from _medians()
    yield from _proportions()
    yield from _logistic()
    yield from _with_missing()
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


def _distances() -> Iterator[Sweep]:
    named = criterion("absolute_marginal_error", tables=("b", "a:b"))
    yield Sweep(name=f"absolute, {_shape(_WIDE)}, named tables", highs=_WIDE, criteria=(named,))
    for highs in (_WIDE, _FLAT):
        mean = criterion("mean_marginal_error")
        yield Sweep(name=f"mean of tables, {_shape(highs)}", highs=highs, criteria=(mean,))
    whole = criterion("mean_marginal_error", largest=1, tables=("all columns",))
    yield Sweep(name=f"mean of named tables, {_shape(_WIDE)}", highs=_WIDE, criteria=(whole,))
    for quantile in (0.5, 0.7, 1):
        found = criterion("quantile_marginal_error", quantile=quantile)
        yield Sweep(name=f"quantile {quantile} of tables, {_shape(_WIDE)}", highs=_WIDE, criteria=(found,))


def _medians() -> Iterator[Sweep]:
    for name, highs, groups, fields in (
        ("of b by a", _WIDE, {}, {"column": "b", "by": ["a"]}),
        ("of all, within one", _FLAT, {}, {"column": "a", "within": 1}),
        ("of a by grouped b", _WIDE, _HALVES, {"column": "a", "by": ["b"], "overall": False}),
    ):
        median = criterion("conditional_median", **fields)
        yield Sweep(name=f"median {name}, {_shape(highs)}", highs=highs, groups=groups, criteria=(median,))
    quartiles = criterion("conditional_median", column="a", quantiles=(0.25, 0.75))
    yield Sweep(name=f"quartiles of all, {_shape(_FLAT)}", highs=_FLAT, criteria=(quartiles,))


def _proportions() -> Iterator[Sweep]:
    for name, highs, groups, fields in (
        ("of b by a", _WIDE, {}, {"column": "b", "bins": ["0", "2"], "by": ["a"]}),
        ("of grouped b by a and of all", _WIDE, _HALVES, {"column": "b", "bins": ["1-2"], "by": ["a"], "overall": True}),
        ("of all", _FLAT, {}, {"column": "a", "bins": ["5"], "overall": True}),
    ):
        share = criterion("difference_in_proportions", **fields)
        yield Sweep(name=f"proportion {name}, {_shape(highs)}", highs=highs, groups=groups, criteria=(share,))


_ODDS: dict[str, object] = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}


def _logistic() -> Iterator[Sweep]:
    for highs, positive in ((_WIDE, ["2"]), (_WIDE, ["0", "2"]), (_SMALL, ["1"])):
        odds = criterion("logistic_regression", positive=positive, **_ODDS)
        yield Sweep(name=f"logistic step, {'+'.join(positive)}, {_shape(highs)}", highs=highs, criteria=(odds,))


def _with_missing() -> Iterator[Sweep]:
    """Every criterion where a record may come to lack a value of one of two columns."""
    line = criterion("regression_coefficients", **_LINE)
    for name, missing, criteria, tight in (
        ("absolute", ("b",), (criterion("absolute_marginal_error"),), True),
        ("relative", ("b",), (criterion("relative_marginal_error", clip=2),), True),
        ("mean of tables", ("b",), (criterion("mean_marginal_error"),), True),
        ("mean of a by b", ("b",), (criterion("conditional_mean", column="a", by=["b"], range=(0, 1), size_margin=0.2),), True),
        ("mean of b", ("b",), (criterion("conditional_mean", column="b", by=["a"], range=(0, 1), size_margin=0),), True),
        ("median of b by a", ("a",), (criterion("conditional_median", column="b", by=["a"]),), True),
        ("proportion of b by a", ("a",), (criterion("difference_in_proportions", column="b", bins=["1"], by=["a"]),), True),
        ("faithfulness", ("b",), (criterion("faithfulness", exact=["a"], within_one_bin=["b"]),), True),
        ("median of b", ("b",), (criterion("conditional_median", column="b"),), True),
        ("proportion of b", ("b",), (criterion("difference_in_proportions", column="b", bins=["1"], overall=True),), True),
        ("faithfulness, a ignored", ("b",), (criterion("faithfulness", ignored=["a"], within_one_bin=["b"]),), True),
        ("one step", ("a",), (criterion("regression_one_step", **_LINE, range=(0, 1)),), True),
        ("logistic step", ("b",), (criterion("logistic_regression", positive=["1"], **_ODDS),), True),
        (
            "prediction",
            ("a",),
            (line, criterion("regression_prediction", coefficients=line.name, range=(0, 1), bound="lines")),
            True,
        ),
        ("prediction, range", ("b",), (line, criterion("regression_prediction", coefficients=line.name, range=(0, 1))), False),
    ):
        yield Sweep(
            name=f"{name}, with missing values, {_shape(_SMALL)}",
            highs=_SMALL,
            missing=missing,
            criteria=criteria,
            fitted=LinearModel(intercept=0.5, coefficients=np.array([0.75])),
            tight=tight,
        )
    ratio = criterion("relative_marginal_error", clip=4)
    mean = criterion("conditional_mean", column="b", by=["a"], range=(0, 1), size_margin=0.2, threshold=0.7)
    yield Sweep(
        name=f"joint test, with missing values, {_shape(_SMALL)}",
        highs=_SMALL,
        missing=("b",),
        criteria=(ratio, mean),
        joint=True,
    )


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
