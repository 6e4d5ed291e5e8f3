"""List the tiny worlds in which the values of each acceptance criterion, and the measurements of generators, are enumerated.

`SWEEPS` has worlds of at most six cells with all their neighbours. A kind of criterion that uses no private data has no world.
`ENUMERATED` names the enumerations of the measurements of a generator, or of the private fit of a criterion
(`model_sensitivity`); several families may share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from synthrelease.criteria.functional import LinearModel
from synthrelease.studio.audit.sweep import FLAT, HALVES, SMALL, TALL, WIDE, Households, Sweep, criterion, sweep

ENUMERATED: Mapping[str, Sequence[str]] = {
    "adaptive": ("adaptive",),
    "adaptive_pure": ("adaptive",),
    "dpctgan": ("networks",),
    "dpgan": ("networks",),
    "gaussian_marginals": ("marginals",),
    "marginals": ("marginals",),
    "nested": ("marginals",),
    "nested_pure": ("marginals",),
    "privbayes": ("PrivBayes",),
    "regression_coefficients": ("functional mechanism",),
}

_BY_A = {"column": "b", "by": ["a"]}
_MEAN_BY_A = _BY_A | {"size_margin": 0}
_MEAN_BY_B = {"column": "a", "by": ["b"], "range": (0, 1)}
_LINE: dict[str, Any] = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
_NEAR = {"exact": ["a"], "within_one_bin": ["b"]}

_THREE = Households(members={"a": 1}, most=3)
_IN_TOWNS = Households(members={"a": 1}, most=2, least=1, roots={"t": 1})
_AGES = Households(members={"a": 2}, most=2, lacking=("a",))

_LINES = {"opposite": (9.0, -9.0), "flat": (0.0, 0.0), "above the range": (5.0, 0.0), "rising": (0.5, 0.75)}
"""Possible private regression lines: intercept and slope by name."""


def _of_line(
    name: str, line: str, highs: Mapping[str, int], bound: str, *, tight: bool, missing: tuple[str, ...] = ()
) -> Sweep:
    """Return the sweep of the error of prediction by one of `_LINES`."""
    intercept, slope = _LINES[line]
    return sweep(
        "regression_prediction",
        name,
        highs,
        {"coefficients": "line", "range": (0, highs["b"]), "bound": bound},
        before=(criterion("regression_coefficients", name="line", **_LINE),),
        missing=missing,
        fitted=LinearModel(intercept=intercept, coefficients=np.array([slope])),
        tight=tight,
    )


_absolute = partial(sweep, "absolute_marginal_error")
_means = partial(sweep, "conditional_mean")
_medians = partial(sweep, "conditional_median")
_proportions = partial(sweep, "difference_in_proportions")
_faithful = partial(sweep, "faithfulness")
_kolmogorov = partial(sweep, "kolmogorov_distance")
_logistic = partial(sweep, "logistic_regression", attained=4)  # fewer records determine no fit
_mean_distance = partial(sweep, "mean_marginal_error")
_roots = partial(sweep, "mean_of_roots", attained=1)
_of_roots = partial(Households.sweep, kind="mean_of_roots", of="")
_quantile = partial(sweep, "quantile_marginal_error")
_one_step = partial(sweep, "regression_one_step")
_relative = partial(sweep, "relative_marginal_error")
_weighted = partial(sweep, "weighted_marginal_error")

SWEEPS: Mapping[str, Sequence[Sweep]] = {
    "absolute_marginal_error": (
        _absolute("absolute, 2 x 3, all tables", WIDE, {}),
        _absolute("absolute, 3 x 2, all tables", TALL, {}),
        _absolute("absolute, 6, all tables", FLAT, {}),
        _absolute("absolute, 2 x 2, all tables", SMALL, {}),
        _absolute("absolute, 2 x 3, one-way tables", WIDE, {"largest": 1}),
        _absolute("absolute, 2 x 3, named tables", WIDE, {"tables": ("b", "a:b")}),
        _absolute("absolute, with missing values, 2 x 2", SMALL, {}, missing=("b",)),
        _THREE.sweep("absolute_marginal_error", "members", "members", {"tables": ("a",)}),
        Households(members={"a": 1}, most=1, roots={"t": 1}, lacking=("a",)).sweep(
            "absolute_marginal_error", "members by root, with missing values", "members", {"tables": ("t:a", "n")}
        ),
    ),
    "conditional_mean": (
        _means("mean of a by b, 2 x 3", WIDE, _MEAN_BY_B | {"size_margin": 0}),
        _means("mean of a by b, margin 0.4, 2 x 3", WIDE, _MEAN_BY_B | {"size_margin": 0.4}),
        _means("mean of b by a, groups alone, 2 x 3", WIDE, _MEAN_BY_A | {"range": (0, 2), "overall": False}),
        _means("mean of b by a, clipped, 2 x 3", WIDE, _MEAN_BY_A | {"range": (0.5, 1)}),
        _means("mean of a by grouped b, 2 x 3", WIDE, _MEAN_BY_B | {"size_margin": 0.2}, groups=HALVES),
        _means("mean of a by b, 3 x 2", TALL, {"column": "a", "by": ["b"], "range": (0, 2), "size_margin": 0.2}),
        _means("mean of all, 6", FLAT, {"column": "a", "range": (0, 5), "size_margin": 0}),
        _means("mean of all, clipped, margin 0.3, 6", FLAT, {"column": "a", "range": (1, 3.5), "size_margin": 0.3}),
        _means("mean of a by b, with missing values, 2 x 2", SMALL, _MEAN_BY_B | {"size_margin": 0.2}, missing=("b",)),
        _means("mean of b, with missing values, 2 x 2", SMALL, _MEAN_BY_A | {"range": (0, 1)}, missing=("b",)),
        _THREE.sweep("conditional_mean", "members", "members", {"column": "a", "range": (0, 1), "size_margin": 0}),
        _IN_TOWNS.sweep(
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
    ),
    "conditional_median": (
        _medians("median of b by a, 2 x 3", WIDE, _BY_A),
        _medians("median of all, within one, 6", FLAT, {"column": "a", "within": 1}),
        _medians("median of a by grouped b, 2 x 3", WIDE, {"column": "a", "by": ["b"], "overall": False}, groups=HALVES),
        _medians("quartiles of all, 6", FLAT, {"column": "a", "quantiles": (0.25, 0.75)}),
        _medians("median of b by a, with missing values, 2 x 2", SMALL, _BY_A, missing=("a",)),
        _medians("median of b, with missing values, 2 x 2", SMALL, {"column": "b"}, missing=("b",)),
        Households(members={"a": 2}, most=2).sweep("conditional_median", "members", "members", {"column": "a"}),
        _THREE.sweep("conditional_median", "gaps to the first", "others", {"column": "first.a - a", "quantiles": (0.25, 0.5)}),
        _IN_TOWNS.sweep(
            "conditional_median", "members by root", "members", {"column": "a", "by": ("t",), "overall": False}, attained=2
        ),
    ),
    "difference_in_proportions": (
        _proportions("proportion of b by a, 2 x 3", WIDE, _BY_A | {"bins": ["0", "2"]}),
        _proportions("proportion of grouped b by a and of all, 2 x 3", WIDE, _BY_A | {"bins": ["1-2"]}, groups=HALVES),
        _proportions("proportion of all, 6", FLAT, {"column": "a", "bins": ["5"]}),
        _proportions("proportion of b by a, with missing values, 2 x 2", SMALL, _BY_A | {"bins": ["1"]}, missing=("a",)),
        _proportions("proportion of b, with missing values, 2 x 2", SMALL, {"column": "b", "bins": ["1"]}, missing=("b",)),
        _THREE.sweep("difference_in_proportions", "proportion of members", "members", {"column": "a", "bins": ["1"]}),
        _IN_TOWNS.sweep(
            "difference_in_proportions", "proportion of members by root", "members", {"column": "a", "bins": ["1"], "by": ["t"]}
        ),
        Households(members={"a": 1}, most=2, least=1, lacking=("a",)).sweep(
            "difference_in_proportions",
            "proportion of others by the first",
            "others",
            {"column": "a", "bins": ["1"], "by": ["first.a"], "overall": False},
        ),
    ),
    "faithfulness": (
        _faithful("faithfulness, a exact, b near, 2 x 3", WIDE, _NEAR),
        _faithful("faithfulness, all exact, 2 x 3", WIDE, {"exact": ["a", "b"], "within_one_bin": [], "at_most": 0}),
        _faithful("faithfulness, one of both near, 3 x 2", TALL, {"exact": [], "within_one_bin": ["a", "b"]}),
        _faithful("faithfulness, near in six bins, 6", FLAT, {"exact": [], "within_one_bin": ["a"]}),
        _faithful("faithfulness, with missing values, 2 x 2", SMALL, _NEAR, missing=("b",)),
        _faithful(
            "faithfulness, a ignored, with missing values, 2 x 2",
            SMALL,
            {"ignored": ["a"], "within_one_bin": ["b"]},
            missing=("b",),
        ),
        _THREE.sweep(
            "faithfulness",
            "members in any order, all exact",
            "",
            {"exact": ["n", "a_1", "a_2", "a_3"], "at_most": 0, "any_order": True},
        ),
        Households(members={"a": 2}, most=2, least=1).sweep(
            "faithfulness",
            "members in any order, one of them near",
            "",
            {"exact": ["n"], "within_one_bin": ["a_1", "a_2"], "any_order": True},
        ),
    ),
    "kolmogorov_distance": (
        _kolmogorov("distribution of b by a, 2 x 3", WIDE, _BY_A),
        _kolmogorov("distribution of b by a alone, 2 x 3", WIDE, _BY_A | {"overall": False}),
        _kolmogorov("distribution of a by grouped b, 2 x 3", WIDE, {"column": "a", "by": ["b"]}, groups=HALVES),
        _kolmogorov("distribution of all, 6", FLAT, {"column": "a"}),
        _kolmogorov("distribution of b by a, with missing values, 2 x 2", SMALL, _BY_A, missing=("a",)),
        _kolmogorov("distribution of b, with missing values, 2 x 2", SMALL, {"column": "b"}, missing=("b",)),
        Households(members={"a": 2}, most=2).sweep("kolmogorov_distance", "members", "members", {"column": "a"}),
        _THREE.sweep("kolmogorov_distance", "gaps to the first", "others", {"column": "first.a - a"}),
    ),
    "logistic_regression": (
        _logistic("logistic step, 1, 2 x 2", SMALL, _LINE | {"positive": ["1"]}),
        _logistic("logistic step, 2, 2 x 3", WIDE, _LINE | {"positive": ["2"]}),
        _logistic("logistic step, 0+2, 2 x 3", WIDE, _LINE | {"positive": ["0", "2"]}),
        _logistic("logistic step, with missing values, 2 x 2", SMALL, _LINE | {"positive": ["1"]}, missing=("b",)),
    ),
    "mean_marginal_error": (
        _mean_distance("mean of tables, 2 x 3", WIDE, {}),
        _mean_distance("mean of tables, 6", FLAT, {}),
        _mean_distance("mean of named tables, 2 x 3", WIDE, {"largest": 1, "tables": ("all columns",)}),
        _mean_distance("mean of tables, with missing values, 2 x 2", SMALL, {}, missing=("b",)),
        _THREE.sweep("mean_marginal_error", "pairs", "pairs", {"tables": ("a:other.a",)}),
        Households(members={"a": 1}, most=2).sweep("mean_marginal_error", "members", "members", {"tables": ("a", "a:n")}),
    ),
    "mean_of_roots": (
        _roots("mean of rows, clipped, 6", FLAT, {"column": "a", "number": "mean", "range": (1, 3.5)}),
        _roots(
            "sum of b by a, with missing values, 2 x 2",
            SMALL,
            {"column": "b", "number": "sum", "by": ["a"], "range": (0, 1)},
            missing=("b",),
        ),
        _of_roots(_THREE, name="alike", settings={"column": "a", "number": "agreement"}),
        _of_roots(_THREE, name="how many, clipped", settings={"column": "a", "number": "sum", "bins": ["1"], "range": (0, 2)}),
        _of_roots(_THREE, name="sums, clipped", settings={"column": "a", "number": "sum", "range": (0.5, 3)}),
        _of_roots(_THREE, name="means", settings={"column": "a", "number": "mean", "range": (0, 1)}),
        _of_roots(_THREE, name="shares", settings={"column": "a", "number": "mean", "bins": ["0"]}),
        _of_roots(
            _IN_TOWNS,
            name="means by town",
            attained=2,
            settings={"column": "a", "number": "mean", "by": ["t"], "range": (0, 1)},
        ),
        _of_roots(
            _IN_TOWNS, name="alike by town", settings={"column": "a", "number": "agreement", "by": ["t"], "overall": False}
        ),
        _of_roots(_AGES, name="alike, lacking", settings={"column": "a", "number": "agreement"}),
        _of_roots(_AGES, name="means, lacking, clipped", settings={"column": "a", "number": "mean", "range": (0.5, 1.5)}),
    ),
    "quantile_marginal_error": (
        _quantile("quantile 0.5 of tables, 2 x 3", WIDE, {"quantile": 0.5}),
        _quantile("quantile 0.7 of tables, 2 x 3", WIDE, {"quantile": 0.7}),
        _quantile("quantile 1 of tables, 2 x 3", WIDE, {"quantile": 1}),
        _THREE.sweep("quantile_marginal_error", "others", "others", {"quantile": 0.5, "tables": ("a:first.a", "a:n")}),
    ),
    "regression_one_step": (
        _one_step("one step, 2 x 3", WIDE, _LINE | {"range": (0, 2)}),
        _one_step("one step, 3 x 2", TALL, _LINE | {"range": (0, 1)}),
        _one_step("one step, clipped, 2 x 3", WIDE, _LINE | {"range": (0.5, 1)}),
        _one_step("one step, with missing values, 2 x 2", SMALL, _LINE | {"range": (0, 1)}, missing=("a",)),
    ),
    "regression_prediction": (
        *(
            _of_line(f"prediction{words}, {line} line, {shape}", line, highs, bound, tight=bool(words) or line == "opposite")
            for shape, highs in (("2 x 3", WIDE), ("3 x 2", TALL))
            for line in _LINES
            for words, bound in (("", "range"), (" by lines", "lines"))
        ),
        _of_line("prediction, with missing values, 2 x 2", "rising", SMALL, "lines", tight=True, missing=("a",)),
        _of_line("prediction, range, with missing values, 2 x 2", "rising", SMALL, "range", tight=False, missing=("b",)),
    ),
    "relative_marginal_error": (
        _relative("relative, 2 x 3, clip 2", WIDE, {"clip": 2}),
        _relative("relative, 2 x 3, clip 3", WIDE, {"clip": 3}),
        _relative("relative, 2 x 3, clip 1.6", WIDE, {"clip": 1.6}),
        _relative("relative, 3 x 2, clip 5", TALL, {"clip": 5}),
        _relative("relative, 6, clip 2.5", FLAT, {"clip": 2.5}),
        _relative("relative, 6, clip 10", FLAT, {"clip": 10}, tight=False),
        _relative("relative, 2 x 2, clip 1.75", SMALL, {"clip": 1.75}),
        _relative("relative, with missing values, 2 x 2", SMALL, {"clip": 2}, missing=("b",)),
    ),
    "weighted_marginal_error": (
        _weighted("weighted by b, 2 x 3, all tables", WIDE, {"weight": "b"}),
        _weighted("weighted by b, 2 x 3, one-way tables", WIDE, {"weight": "b", "largest": 1}),
        _weighted("weighted by a, 3 x 2, all tables", TALL, {"weight": "a"}),
        _weighted("weighted by a, 2 x 2, all tables", SMALL, {"weight": "a"}),
    ),
}
