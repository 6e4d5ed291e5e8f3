"""The figures of regressions from their definitions, in whole numbers: one feature a, one target b.

A part of `exact_figures`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from synthrelease.audit.exact_values import SMALLEST, ExactFigures, digits, valued_cells
from synthrelease.audit.worlds import World
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.logistic_regression import LogisticRegression
from synthrelease.criteria.regressions import RegressionOneStep, RegressionPrediction


def prediction(
    criterion: RegressionPrediction, world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel
) -> ExactFigures:
    """|MAE_R(fitted) - MAE_R(w(S))| for one feature a and the target b (theory 3.5, regression prediction).

    Bound 2 (U - L) / n, or what the two lines leave of it: (largest - smallest gap of a record) / n. Here n are the synthetic
    rows that have both columns; a record that lacks one has a gap of 0.
    """
    values = digits(world)
    valued = valued_cells(world, ("a", "b"), values)
    n, synthetic = max(1, int(synthetic @ valued)), synthetic * valued
    low, high = (Fraction(str(end)) for end in criterion.range)
    lines = (Fraction(fitted.intercept), Fraction(float(fitted.coefficients[0]))), _least_squares(values, synthetic)
    gaps = []
    for (a, b), there in zip(values, valued, strict=True):
        errors = [abs(int(b) - min(max(line[0] + line[1] * int(a), low), high)) for line in lines]
        gaps.append((errors[0] - errors[1]) * int(there))
    common = math.lcm(*(gap.denominator for gap in gaps))
    sums = tables @ np.array([int(gap * common) for gap in gaps])
    widest = 2 * (high - low)
    if criterion.bound == "lines":
        widest = max(max(gaps) - min(gaps), widest * SMALLEST)
    return ExactFigures(numerators=np.abs(sums), denominator=n * common, bound=widest / n, void=not synthetic.any())


def one_step(criterion: RegressionOneStep, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """|sum of (a - mean_S a) r| / (n sd_S a), r = b - clip(line of S), for one feature a and the target b.

    Theory 3.4, one-step regression.

    Bound 2 max |(a - mean_S a) r| / (n sd_S a). In units of 1 / sd_S a.

    Where a is constant in S there is no slope: the figure is 0, and never passes. n are the synthetic rows that have both
    columns; a record that lacks one adds 0.
    """
    values = digits(world)
    valued = valued_cells(world, ("a", "b"), values)
    n, synthetic = max(1, int(synthetic @ valued)), synthetic * valued
    low, high = (Fraction(str(end)) for end in criterion.range)
    intercept, slope = _least_squares(values, synthetic)
    mean = Fraction(int(synthetic @ values[:, 0]), n)
    variance = Fraction(int(synthetic @ values[:, 0] ** 2), n) - mean**2
    if not variance:
        return ExactFigures(np.zeros(len(tables), dtype=np.int64), 1, (high - low) * SMALLEST / n, void=True)
    steps = [
        (int(a) - mean) * (int(b) - min(max(intercept + slope * int(a), low), high)) * int(there)
        for (a, b), there in zip(values, valued, strict=True)
    ]
    common = math.lcm(*(step.denominator for step in steps))
    sums = tables @ np.array([int(step * common) for step in steps])
    bound = 2 * max(abs(step) for step in steps) / n
    return ExactFigures(np.abs(sums), n * common, bound, unit=1 / math.sqrt(variance))


def logistic(criterion: LogisticRegression, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """|sum of v| / m for one feature a of two values and a binary target b (theory 3.13, one-step logistic regression).

    The fit then gives each value of a the share p of its rows that are positive, and the slope's step is the difference of
    (y - p) / (p (1 - p) rows) between a = 1 and a = 0; times the deviation of a, in units of which the figure is. Bound: the
    distance of the largest and the smallest v, 0 among them, over m. Void where a share is 0 or 1, or a value has no rows.
    """
    values = digits(world)
    valued = valued_cells(world, ("a", "b"), values)
    m = max(1, int(synthetic @ valued))
    y = np.isin(values[:, 1], [int(label) for label in criterion.positive]).astype(np.int64)
    rows = [int(synthetic @ (valued * (values[:, 0] == a))) for a in (0, 1)]
    hits = [int(synthetic @ (valued * y * (values[:, 0] == a))) for a in (0, 1)]
    if any(not 0 < hit < size for hit, size in zip(hits, rows, strict=True)):
        return ExactFigures(np.zeros(len(tables), dtype=np.int64), 1, SMALLEST / m, void=True)
    steps = []
    for (a, _), outcome, there in zip(values, y, valued, strict=True):
        if not there:
            steps.append(Fraction(0))
            continue
        p, size = Fraction(hits[a], rows[a]), rows[a]
        steps.append((1 if a else -1) * (int(outcome) - p) / (p * (1 - p) * Fraction(size, m)))
    common = math.lcm(*(step.denominator for step in steps))
    sums = tables @ np.array([int(step * common) for step in steps])
    deviation = math.sqrt(Fraction(rows[1], m) * Fraction(rows[0], m))
    widest = max(Fraction(0), *steps) - min(Fraction(0), *steps)
    return ExactFigures(np.abs(sums), m * common, widest / m, unit=deviation)


def _least_squares(values: np.ndarray, synthetic: np.ndarray) -> tuple[Fraction, Fraction]:
    """Intercept and slope of the line through a synthetic table; slope 0 where the feature is constant."""
    n = max(1, int(synthetic.sum()))
    a, b = (Fraction(int(synthetic @ values[:, column]), n) for column in (0, 1))
    variance = Fraction(int(synthetic @ values[:, 0] ** 2), n) - a**2
    covariance = Fraction(int(synthetic @ (values[:, 0] * values[:, 1])), n) - a * b
    slope = covariance / variance if variance else Fraction(0)
    return b - slope * a, slope
