"""What is enumerated: every criterion that spends, in worlds of at most six cells and five records.

The criteria's parameters (`examples/criteria`) are chosen so that every branch matters: clips that cut, ranges that clip,
groups that are short or empty, margins, values that must match exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthrelease.audit.examples import criterion_sweeps
from synthrelease.audit.sweep import SMALL, WIDE, Neighbours, Sweep, criterion
from synthrelease.criteria import CRITERIA
from synthrelease.criteria.functional import LinearModel

MOST_RECORDS = 5


def sweeps() -> Iterator[Sweep]:
    """All sweeps; together more than ten million triples at `MOST_RECORDS`."""
    for kind in CRITERIA:
        yield from criterion_sweeps(kind)
    yield from _joint_tests()


def _joint_tests() -> Iterator[Sweep]:
    absolute = criterion("absolute_marginal_error", threshold=0.5)
    ratio = criterion("relative_marginal_error", clip=4)
    faithful = criterion("faithfulness", exact=["a"], within_one_bin=["b"], threshold=0.4)
    means = {"column": "b", "by": ["a"], "size_margin": 0.2, "threshold": 0.7}
    mean, narrow = (criterion("conditional_mean", range=(0, high), **means) for high in (2, 1))
    line = criterion("regression_coefficients", target="b", features=["a"], representation={"a": "single", "b": "single"})
    prediction = criterion("regression_prediction", coefficients=line.name, range=(0, 2), bound="lines", threshold=0.5)
    fitted = LinearModel(intercept=0.5, coefficients=np.array([0.75]))
    for name, criteria, furthest in (
        ("ratios", (ratio,), None),
        ("marginals and ratios", (absolute, ratio), Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1))),
        ("means and faithfulness", (mean, faithful), Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 5))),
        (
            "five criteria",
            (absolute, ratio, mean, faithful, line, prediction),
            Neighbours((0, 0, 3), (0, 0, 1), (0, 1, 1)),
        ),
    ):
        yield Sweep(
            name=f"joint test, {name}, 2 x 3",
            highs=WIDE,
            criteria=criteria,
            fitted=fitted,
            joint=True,
            furthest=furthest,
        )
    yield Sweep(
        name="joint test, with missing values, 2 x 2",
        highs=SMALL,
        missing=("b",),
        criteria=(ratio, narrow),
        joint=True,
        furthest=Neighbours((0, 0, 3), (0, 3, 3), (3, 3, 5)),
    )
