"""Every criterion's figure from its definition, in whole numbers: a second, slow and obvious implementation.

Each function takes all private tables of n records at once, as counts of every cell, and one synthetic table. It returns
numerators and one denominator, so that comparisons of figures and of their differences are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.audit.exact_regressions import logistic, one_step, prediction
from synthrelease.audit.exact_values import ExactFigures, digits, members, valued_cells
from synthrelease.audit.worlds import World
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.columns import MarginalCriterion
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.groups import ConditionalMean, ConditionalMedian
from synthrelease.criteria.logistic_regression import LogisticRegression
from synthrelease.criteria.marginals import (
    AbsoluteMarginalError,
    MeanMarginalError,
    QuantileMarginalError,
    RelativeMarginalError,
    WeightedMarginalError,
)
from synthrelease.criteria.regressions import RegressionOneStep, RegressionPrediction
from synthrelease.criteria.shares import DifferenceInProportions

_LOWEST = -(2**30)
"""The slack of a candidate that no private table can make pass."""


def absolute(criterion: AbsoluteMarginalError, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max |q(R) - q(S)| / n over the cells of all tables of at most `largest` columns; bound 1/n.

    Theory 3.1, absolute marginal error.
    """
    n = int(synthetic.sum())
    worst = np.max([differences.max(axis=1) for differences in _sub_tables(criterion, world, tables, synthetic)], axis=0)
    return ExactFigures(numerators=worst, denominator=n, bound=Fraction(1, n))


def weighted(criterion: WeightedMarginalError, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max |sum w (R - S)| over the cells of tables, over sum w S, w the value of a column; bound max w / sum w S.

    Theory 3.20, weighted marginal error. Void where no synthetic row has a weight.
    """
    values, column = digits(world), world.layout.index(criterion.weight)
    of_cell, total = values[:, column], int(synthetic @ values[:, column])
    every = AbsoluteMarginalError(
        name="every", kind="absolute_marginal_error", threshold=1, epsilon=Fraction(1), largest=criterion.largest
    )
    sums = _sub_tables(every, world, tables * of_cell, synthetic * of_cell)
    worst = np.max([differences.max(axis=1) for differences in sums], axis=0)
    heaviest = world.layout.sizes[column] - 1
    # without any weight the program divides by its unit of weight, a 2^20th of the heaviest
    whole = Fraction(total) if total else Fraction(heaviest, 2**20)
    return ExactFigures(
        numerators=worst * whole.denominator,
        denominator=whole.numerator,
        bound=Fraction(heaviest) / whole,
        void=total == 0,
    )


def _sub_tables(criterion: MarginalCriterion, world: World, tables: np.ndarray, synthetic: np.ndarray) -> Iterator[np.ndarray]:
    """(n_tables, n_cells of the sub-table) |r - s| for every sub-table that a criterion compares."""
    values, names = digits(world), world.layout.columns
    chosen: set[frozenset[int]] = set()
    if criterion.largest or not criterion.tables:
        sizes = range(1, (criterion.largest or len(names)) + 1)
        chosen |= {frozenset(columns) for size in sizes for columns in combinations(range(len(names)), size)}
    for text in criterion.tables:
        if text == "all columns":
            chosen.add(frozenset(range(len(names))))
        elif text.startswith("all "):
            chosen |= {frozenset(columns) for columns in combinations(range(len(names)), int(text[4]))}
        else:
            chosen.add(frozenset(names.index(name) for name in text.split(":")))
    for columns in chosen:
        _, cell = np.unique(values[:, sorted(columns)], axis=0, return_inverse=True)
        member = np.eye(int(cell.max()) + 1, dtype=np.int64)[cell.ravel()]
        yield np.abs((tables - synthetic) @ member)


def mean_distance(criterion: MeanMarginalError, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """The mean over sub-tables of sum |r - s| / 2n; bound 1/n (theory 3.10, distances of tables)."""
    n = int(synthetic.sum())
    moved = [differences.sum(axis=1) for differences in _sub_tables(criterion, world, tables, synthetic)]
    return ExactFigures(numerators=np.sum(moved, axis=0), denominator=2 * n * len(moved), bound=Fraction(1, n))


def quantile_distance(
    criterion: QuantileMarginalError, world: World, tables: np.ndarray, synthetic: np.ndarray
) -> ExactFigures:
    """The least d such that a share of at least `quantile` of the sub-tables has sum |r - s| / 2n of at most d; bound 1/n."""
    n = int(synthetic.sum())
    moved = np.stack([differences.sum(axis=1) for differences in _sub_tables(criterion, world, tables, synthetic)])
    found = np.full(len(tables), np.iinfo(np.int64).max)
    for limit in moved:
        reached = (moved <= limit).sum(axis=0) >= Fraction(str(criterion.quantile)) * len(moved)
        found = np.where(reached, np.minimum(found, limit), found)
    return ExactFigures(numerators=found, denominator=2 * n, bound=Fraction(1, n))


def relative(criterion: RelativeMarginalError, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max of clip(max(r/s, s/r); 1, lam) over 1-way cells, r and s counts plus 1; bound by trying every r.

    Theory 3.2, relative marginal error.
    """
    n, values, clip = int(synthetic.sum()), digits(world), Fraction(str(criterion.clip))
    common = math.lcm(*range(1, n + 2))
    worst = np.zeros(len(tables), dtype=np.int64)
    counts: set[int] = set()
    for column in range(values.shape[1]):
        member = np.eye(world.layout.sizes[column], dtype=np.int64)[values[:, column]]
        r, s = tables @ member + 1, synthetic @ member + 1
        ratio = np.maximum(r * (common // s), s * (common // r)) * clip.denominator
        ratio = np.clip(ratio, common * clip.denominator, common * clip.numerator)
        worst = np.maximum(worst, ratio.max(axis=1))
        counts |= {int(value) for value in s}

    def g(r: int, s: int) -> Fraction:
        return min(max(Fraction(r, s), Fraction(s, r)), clip)

    bound = max(abs(g(r + 1, s) - g(r, s)) for s in counts for r in range(1, math.ceil(s * clip) + 2))
    return ExactFigures(numerators=worst, denominator=common * clip.denominator, bound=bound)


def conditional_mean(criterion: ConditionalMean, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max over groups of |resized mean_R - mean_S|; bound (U - L) / min_v m_v (theory 3.3, conditional means)."""
    n, values = int(synthetic.sum()), digits(world)
    low, high = (Fraction(str(end)) for end in criterion.range)
    numbers = [min(max(Fraction(int(value)), low), high) for value in values[:, world.layout.index(criterion.column)]]
    # rows without a value are in no group, whatever number stands here for them
    unit = math.lcm(2 * low.denominator, 2 * high.denominator)
    scaled = np.array([int(number * unit) for number in numbers])
    middle, margin = int((low + high) / 2 * unit), math.ceil(Fraction(str(criterion.size_margin)) * n)
    groups = _groups(criterion, world, values)
    sizes = [max(1, int(synthetic @ group) - margin) for group in groups]
    common = math.lcm(*range(1, n + 1))
    worst = np.zeros(len(tables), dtype=np.int64)
    for group, size in zip(groups, sizes, strict=True):
        counts, sums = tables @ group, tables @ (group * scaled)
        means = (sums + np.maximum(size - counts, 0) * middle) * (common // np.maximum(counts, size))
        rows = int(synthetic @ group)  # an empty group: compared with the middle
        target = int(synthetic @ (group * scaled)) * common // rows if rows else middle * common
        worst = np.maximum(worst, np.abs(means - target))
    void = any(synthetic @ group == 0 for group in groups)
    return ExactFigures(numerators=worst, denominator=common * unit, bound=(high - low) / min(sizes), void=void)


def _groups(
    criterion: ConditionalMean | ConditionalMedian | DifferenceInProportions, world: World, values: np.ndarray
) -> list[np.ndarray]:
    """For every group of `by`, and for all rows if `overall`: (n_cells,) 1 for its cells that have a value of the column."""
    valued = valued_cells(world, [criterion.column], values)
    groups = []
    for name in criterion.by:
        found = members(world, name, values)
        groups += [member * valued for member in (found[:-1] if name in world.missing else found)]
    return [*groups, valued] if criterion.overall else groups


def conditional_median(criterion: ConditionalMedian, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max of B - q n_g and A - (1 - q) n_g over groups and quantiles, over n; bound 1/n (theory 3.11, conditional medians)."""
    n, values = int(synthetic.sum()), digits(world)
    bins, groups = values[:, world.layout.index(criterion.column)], _groups(criterion, world, values)
    shares = [Fraction(str(q)) for q in criterion.quantiles]
    common = math.lcm(*(q.denominator for q in shares))
    worst, void = np.full(len(tables), np.iinfo(np.int64).min), False
    for group in groups:
        rows = int(synthetic @ group)
        void |= not rows
        for q in shares:
            reached = [t for t in range(int(bins.max()) + 1) if rows and synthetic @ (group * (bins <= t)) >= q * rows]
            t = reached[0] if reached else -1
            below, above = (tables @ (group * side) for side in (bins < t - criterion.within, bins > t + criterion.within))
            there, part = tables @ group, int(q * common)
            worst = np.maximum(worst, np.maximum(common * below - part * there, common * above - (common - part) * there))
    return ExactFigures(numerators=worst, denominator=common * n, bound=Fraction(1, n), void=void)


def proportions(criterion: DifferenceInProportions, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """max over groups of |a_g - p_g n_g| / m_g; bound 1 / min m_g (theory 3.12, difference in proportions)."""
    values = digits(world)
    if criterion.column in world.groups:
        labels = world.groups[criterion.column].labels
        meets = sum(members(world, criterion.column, values)[labels.index(label)] for label in criterion.bins)
    else:
        meets = np.isin(values[:, world.layout.index(criterion.column)], [int(label) for label in criterion.bins])
    groups = _groups(criterion, world, values)
    sizes = [int(synthetic @ group) for group in groups]
    common = math.lcm(*(size**2 for size in sizes if size))
    worst = np.zeros(len(tables), dtype=np.int64)
    for group, size in zip(groups, sizes, strict=True):
        if size:
            excess = np.abs(size * (tables @ (group * meets)) - int(synthetic @ (group * meets)) * (tables @ group))
            worst = np.maximum(worst, excess * (common // size**2))
    void = min(sizes) == 0
    return ExactFigures(numerators=worst, denominator=common, bound=Fraction(1, max(1, min(sizes))), void=void)


def faithfulness(criterion: Faithfulness, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """1 - matching / n; bound 1/n (theory 3.6, faithfulness).

    The largest matching is min over sets A of original cells of (rows outside A + synthetic rows similar to A), by
    Koenig's theorem.
    """
    n, values = int(synthetic.sum()), digits(world)
    similar = np.array([[_similar(criterion, world, a, b) for b in values] for a in values], dtype=np.int64)
    matching = np.full(len(tables), n, dtype=np.int64)
    for subset in range(2 ** len(values)):
        inside = np.array([subset >> cell & 1 for cell in range(len(values))])
        reached = (inside @ similar > 0).astype(np.int64)
        matching = np.minimum(matching, tables @ (1 - inside) + int(synthetic @ reached))
    return ExactFigures(numerators=n - matching, denominator=n, bound=Fraction(1, n))


def _similar(criterion: Faithfulness, world: World, a: np.ndarray, b: np.ndarray) -> bool:
    """Equal, or one column of `within_one_bin` one bin apart; bins of single values hold no value strictly inside.

    Ignored columns may differ. A missing value is near no other.
    """
    apart = {name: {int(x), int(y)} for name, x, y in zip(world.layout.columns, a, b, strict=True) if x != y}
    apart = {name: pair for name, pair in apart.items() if name not in criterion.ignored}
    last = {name: world.layout.sizes[world.layout.index(name)] - 1 for name in apart if name in world.missing}
    near = all(
        name in criterion.within_one_bin and max(pair) - min(pair) == 1 and last.get(name) not in pair
        for name, pair in apart.items()
    )
    return near and len(apart) <= criterion.at_most


def least_slack(
    criteria: Sequence[Criterion], world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """The least slack of several criteria, in sensitivities; bound 1 (theory 4.1, least slack)."""
    slacks = [slack(criterion, world, tables, synthetic, fitted) for criterion in criteria]
    common = math.lcm(*(found.denominator for found in slacks))
    least = np.min([found.numerators * (common // found.denominator) for found in slacks], axis=0)
    return ExactFigures(numerators=least, denominator=common, bound=Fraction(1))


def slack(
    criterion: Criterion, world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """How far every private table is from failing a criterion.

    (threshold - figure) / bound; for the ratio of counts r and s, both plus 1, the records by which r is inside
    [s / threshold, threshold s], the least over all bins.
    """
    threshold = Fraction(str(criterion.threshold))
    t, d = threshold.numerator, threshold.denominator
    if isinstance(criterion, RelativeMarginalError):
        values = digits(world)
        every = [group for name in world.layout.columns for group in members(world, name, values, grouped=False)]
        inside = [
            np.minimum(t * t * (synthetic @ group + 1) - t * d * r, t * d * r - d * d * (synthetic @ group + 1))
            for group in every
            for r in [tables @ group + 1]
        ]
        return ExactFigures(numerators=np.min(inside, axis=0), denominator=t * d, bound=Fraction(1))
    found = exact_figures(criterion, world, tables, synthetic, fitted)
    if found.void:
        return ExactFigures(np.full(len(tables), _LOWEST), 1, Fraction(1))
    if found.unit != 1:
        raise LookupError(f"{criterion.kind!r} has figures that are no fractions")
    whole = found.bound * found.denominator
    numerators = (t * found.denominator - d * found.numerators) * whole.denominator
    return ExactFigures(numerators=numerators, denominator=d * whole.numerator, bound=Fraction(1))


def exact_figures(
    criterion: Criterion, world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """The figures of a criterion, by its kind. Raises LookupError for a kind without a second implementation."""
    if isinstance(criterion, RegressionPrediction) and fitted is not None:
        return prediction(criterion, world, tables, synthetic, fitted)
    for kind, figures in EXACT.items():
        if isinstance(criterion, kind):
            return figures(criterion, world, tables, synthetic)
    raise LookupError(f"no second implementation of {criterion.kind!r}: add one to exact_figures.py")


EXACT: dict[type[Criterion], Callable[..., ExactFigures]] = {
    AbsoluteMarginalError: absolute,
    RelativeMarginalError: relative,
    WeightedMarginalError: weighted,
    ConditionalMean: conditional_mean,
    MeanMarginalError: mean_distance,
    QuantileMarginalError: quantile_distance,
    ConditionalMedian: conditional_median,
    DifferenceInProportions: proportions,
    LogisticRegression: logistic,
    Faithfulness: faithfulness,
    RegressionOneStep: one_step,
}
