"""Examples of every kind of acceptance criterion, as they stand in the TOML file, about the columns of `COLUMNS`.

Each example is a list of tables: the last one is meant, those before it are criteria that it refers to. Name, threshold and
epsilon are there where not any will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SINGLE = {"a": "single", "b": "single", "c": "single"}
_OF_C = {"target": "c", "features": ["a", "b"], "representation": _SINGLE}
_FIT = {"kind": "regression_coefficients", "name": "line", **_OF_C}

EXAMPLES: Mapping[str, Sequence[list[dict[str, Any]]]] = {
    # Tables of all sizes, of one column, and by name.
    "absolute_marginal_error": ([{}], [{"largest": 1}], [{"tables": ["a:c", "b"]}]),
    # Groups that are short or empty, margins, and ranges that clip.
    "conditional_mean": (
        [{"column": "c", "by": ["a", "b"], "range": [0, 3], "size_margin": 0.1}],
        [{"column": "c", "range": [1, 2], "size_margin": 0.0}],
    ),
    # Medians and other quantiles, by group and of all rows, with and without a window.
    "conditional_median": ([{"column": "c", "by": ["a", "b"]}], [{"column": "c", "within": 1, "quantiles": [0.25, 0.9]}]),
    # Shares of one bin and of several, by group and of all rows.
    "difference_in_proportions": (
        [{"column": "c", "bins": ["0", "3"], "by": ["a", "b"]}],
        [{"column": "a", "bins": ["1"], "overall": True}],
    ),
    # Rows that are too rare, in all columns and in pairs.
    "face_privacy": (
        [{"minimum_count": 2, "threshold": 0, "epsilon": 0}],
        [{"minimum_count": 2, "columns": 2, "threshold": 0, "epsilon": 0}],
    ),
    # Columns that match exactly, that may be a bin apart, and that are ignored.
    "faithfulness": (
        [{"exact": ["a"], "within_one_bin": ["b", "c"], "exact_around": {"c": 1}}],
        [{"exact": ["a", "b", "c"], "within_one_bin": [], "at_most": 0}],
    ),
    # Distributions by group and of all rows; the last group may lack values.
    "kolmogorov_distance": ([{"column": "c", "by": ["a", "b"]}], [{"column": "b"}]),
    # A yes of one bin and of several; few records determine no fit, so the bound takes four.
    "logistic_regression": ([{"target": "c", "positive": ["2", "3"], "features": ["a", "b"], "representation": _SINGLE}],),
    # All tables, and named ones.
    "mean_marginal_error": ([{}], [{"tables": ["a:c", "all columns"]}]),
    # Agreement, sums and means of up to three members, that may lack values, and are clipped; and rows without members.
    "mean_of_roots": (
        [{"column": "c", "number": "mean", "by": ["a", "b"], "range": [0, 3]}],
        [{"column": "b", "number": "sum", "bins": ["1"], "range": [0, 1]}],
    ),
    # The middle, a high quantile and the largest distance of tables.
    "quantile_marginal_error": ([{"quantile": 0.75}], [{"quantile": 1, "largest": 1, "tables": ["a:c"]}]),
    # A line that is fitted once, and one that is fitted in every round.
    "regression_coefficients": ([{"fit": "once", **_OF_C}], [{"fit": "every_round", **_OF_C}]),
    # Slopes whose target is clipped and is not.
    "regression_one_step": ([{"range": [0, 3], **_OF_C}], [{"range": [0, 2], "fit_epsilon": "0.5", **_OF_C}]),
    # Private lines as their noise may have made them: opposite, flat, above the range, rising.
    "regression_prediction": (
        [_FIT, {"coefficients": "line", "range": [0, 3]}],
        [_FIT, {"coefficients": "line", "range": [0, 3], "bound": "lines"}],
    ),
    # Ratios whose clip cuts off some counts, and one that cuts off none.
    "relative_marginal_error": ([{"clip": 3}],),
    # Weights are the values of a column: 0 to 2, which are exact in the program's units.
    "weighted_marginal_error": ([{"weight": "c"}], [{"weight": "b", "largest": 1}]),
}
