"""Compute the value of every criterion from its definition, in whole numbers: a second, slow and obvious implementation.

A criterion compares rows: the records of a world, or the members, or pairs of members, of records such as households. So
the rows of a table of records are counted first (`RowCounts`). Each function takes all private tables at once, as counts of
every distinct row, and one synthetic table, and returns numerators and one denominator, so that comparisons are exact. This
module uses no code of releases. In docstrings, "bound" is the bound on the sensitivity of the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.columns import MarginalCriterion
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.groupings import InGroups
from synthrelease.criteria.groups import ConditionalMean, ConditionalMedian
from synthrelease.criteria.logistic_regression import LogisticRegression
from synthrelease.criteria.marginals import (
    AbsoluteMarginalError,
    MeanMarginalError,
    QuantileMarginalError,
    RelativeMarginalError,
    WeightedMarginalError,
)
from synthrelease.criteria.mean_of_roots import MeanOfRoots
from synthrelease.criteria.regressions import RegressionOneStep, RegressionPrediction
from synthrelease.criteria.shares import DifferenceInProportions, KolmogorovDistance
from synthrelease.studio.audit.tiny import Coding, World

SMALLEST = Fraction(1, 2**20)
"""Smallest sensitivity, as a share of the whole range, of a value that is constant for some synthetic tables."""
UNIT = 2**20
"""The whole number that represents the largest weight."""
_LOWEST = -(2**30)  # The slack of a candidate that fails with every private table
_MISSING = -(10**6)  # The code for a missing value of a column

Row = Mapping[str, int | None]
"""The values of a row by column. A missing value is None."""


@dataclass(frozen=True)
class ExactFigures:
    """The criterion values of all private tables for one synthetic table, as exact fractions from the second implementation.

    Attributes
    ----------
    numerators, denominator : (n_tables,) int64 numerators, and their common denominator.
    bound : the sensitivity that theory 3, acceptance criteria, proves.
    unit : the unit of values and bound, which may be irrational (a standard deviation).
    void : whether every private table fails, whatever the value is.
    """

    numerators: np.ndarray
    denominator: int
    bound: Fraction
    unit: float = 1.0
    void: bool = False

    @property
    def values(self) -> np.ndarray:
        return self.numerators / self.denominator * self.unit


# The rows that a criterion uses.


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCounts:
    """The distinct rows that records of a tiny world can have, and how often each record, such as a household, has each row.

    Attributes
    ----------
    columns : for each column, or difference of two columns, by name, (n_rows,) the bin of every distinct row. A missing
        value is `_MISSING`.
    made : (n_cells, n_rows) how often a record in each cell has each distinct row.
    """

    world: World
    columns: Mapping[str, np.ndarray]
    made: np.ndarray

    @property
    def most(self) -> int:
        return int(self.made.sum(axis=1).max())

    def numbers(self, name: str) -> np.ndarray:
        """Return the (n_rows,) representative values of a column. A missing value gets an arbitrary number."""
        coding = self.world.coding(name)
        return coding.step * self.columns[name] + coding.number(0)

    def valued(self, *names: str) -> np.ndarray:
        """Return an (n_rows,) indicator: 1 for rows with a value in all of these columns, otherwise 0."""
        return np.prod([self.columns[name] != _MISSING for name in names], axis=0, dtype=np.int64)

    def groups(self, name: str) -> list[np.ndarray]:
        """Return an (n_rows,) indicator for every group of a column: 1 for the rows of the group, otherwise 0."""
        values = self.columns[name]
        if name in self.world.groups:
            of_atom = self.world.groups[name].of_atom
            values = np.array([value if value == _MISSING else of_atom[value] for value in values.tolist()])
        return [(values == group).astype(np.int64) for group in range(int(values.max()) + 1)]

    def in_bins(self, name: str, labels: Sequence[str]) -> np.ndarray:
        """Return an (n_rows,) indicator: 1 for rows in one of these bins of a column, otherwise 0."""
        if name in self.world.groups:
            all_labels = list(self.world.groups[name].labels)
            return np.sum([self.groups(name)[all_labels.index(label)] for label in labels], axis=0)
        all_labels = self.world.coding(name).labels(f"0-{int(self.columns[name].max())}")
        return np.isin(self.columns[name], [all_labels.index(label) for label in labels]).astype(np.int64)


@lru_cache(maxsize=8)
def rows_of(world: World, of: str | None) -> RowCounts:
    """List the distinct rows that the records of a tiny world can have: the records, or rows of their members
    (`rows_of_root`).
    """
    if of is None:
        bins = np.stack(np.unravel_index(np.arange(world.layout.n_cells), world.layout.sizes))
        columns = {}
        for name, values, size in zip(world.layout.columns, bins, world.layout.sizes, strict=True):
            columns[name] = np.where((values == size - 1) & (name in world.missing), _MISSING, values)
        return RowCounts(world=world, columns=columns, made=np.eye(world.layout.n_cells, dtype=np.int64))
    of_cells = {cell: [tuple(row.items()) for row in rows_of_root(world, cell, of)] for cell in world.cells}
    distinct = list(dict.fromkeys(row for rows in of_cells.values() for row in rows))
    counts = np.zeros((world.layout.n_cells, len(distinct)), dtype=np.int64)
    for cell, rows in of_cells.items():
        for row in rows:
            counts[cell, distinct.index(row)] += 1
    columns = {
        name: np.array([_MISSING if (value := dict(row)[name]) is None else value for row in distinct])
        for name, _ in distinct[0]
    }
    return RowCounts(world=world, columns=columns, made=counts)


def rows_of_root(world: World, cell: int, of: str) -> Iterator[Row]:
    """Yield the rows that the members of a root, such as a household, give.

    With "members", each member is a row; with "others", each further member beside the first; otherwise each ordered pair.
    """
    root, members = root_of(world, cell)
    if of == "members":
        yield from ({**root, **member} for member in members)
    elif of == "others":
        yield from (_beside(root, member, members[0], "first") for member in members[1:])
    else:
        yield from (_beside(root, first, other, "other") for first, other in permutations(members, 2))


def root_of(world: World, cell: int) -> tuple[Row, list[Row]]:
    """Return the values of the root in a cell of the wide table, and of each of its members, by column."""
    if world.linked is None:
        raise ValueError("the world has no roots with members")
    bins = dict(zip(world.layout.columns, np.unravel_index(cell, world.layout.sizes), strict=True))
    number = int(bins[world.linked.size]) + world.linked.least
    high = {name: size - 1 for name, size in zip(world.layout.columns, world.layout.sizes, strict=True)}
    members: list[Row] = [
        {plain: _value(int(bins[name]), high[name]) for plain, name in zip(world.linked.names, slot, strict=True)}
        for slot in world.linked.slots[:number]
    ]
    return {name: int(bins[name]) for name in world.linked.of_roots(world.layout.columns)}, members


def _value(number: int, last: int) -> int | None:
    return None if number == last else number


def _beside(root: Row, member: Row, other: Row, whose: str) -> Row:
    row = {**root, **member, **{f"{whose}.{name}": value for name, value in other.items()}}
    for name, value in member.items():
        of_other = other[name]
        row[f"{whose}.{name} - {name}"] = None if value is None or of_other is None else of_other - value
    return row


# Exact criterion values of tables of rows.


def absolute(criterion: AbsoluteMarginalError, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the absolute marginal error: max |r - s| / n over the cells of all compared sub-tables.

    r and s are the original and synthetic counts of a cell, n the number of rows; bound 1/n (theory 3.1, absolute marginal
    error).
    """
    n = max(1, int(synthetic.sum()))
    worst = np.max([differences.max(axis=1) for differences in _sub_tables(criterion, rows, tables, synthetic)], axis=0)
    return ExactFigures(numerators=worst, denominator=n, bound=Fraction(1, n))


def weighted(criterion: WeightedMarginalError, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest error of the sum of weights in a cell: max |sum w (R - S)| / sum w S.

    w is the value of a column, and R, S are the private and synthetic rows; bound max w / sum w S (theory 3.20, weighted
    marginal error). It is void if no synthetic row has a weight.
    """
    numbers = rows.numbers(criterion.weight)
    weights = (2 * UNIT * numbers + numbers.max()) // (2 * numbers.max())  # rounded to the nearest multiple of w_max / 2^20
    total = int(synthetic @ weights)
    every = AbsoluteMarginalError(
        name="every", kind="absolute_marginal_error", threshold=1, epsilon=Fraction(1), largest=criterion.largest
    )
    worst = absolute(every, rows, tables * weights, synthetic * weights).numerators
    return ExactFigures(worst, max(1, total), Fraction(UNIT, max(1, total)), void=total == 0)


def _sub_tables(
    criterion: MarginalCriterion, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the (n_tables, n_cells) differences |r - s| of counts for every sub-table that a criterion compares."""
    names = list(rows.columns)
    chosen: set[frozenset[str]] = set()
    if criterion.largest or not criterion.tables:
        sizes = range(1, (criterion.largest or len(names)) + 1)
        chosen |= {frozenset(columns) for size in sizes for columns in combinations(names, size)}
    for text in criterion.tables:
        if text == "all columns":
            chosen.add(frozenset(names))
        elif text.startswith("all "):
            chosen |= {frozenset(columns) for columns in combinations(names, int(text[4]))}
        else:
            chosen.add(frozenset(text.split(":")))
    for columns in chosen:
        values = np.stack([rows.columns[name] for name in columns], axis=1)
        _, cell = np.unique(values, axis=0, return_inverse=True)
        member = np.eye(int(cell.max()) + 1, dtype=np.int64)[cell.ravel()]
        yield np.abs((tables - synthetic) @ member)


def mean_distance(criterion: MeanMarginalError, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the mean over sub-tables of the distance sum |r - s| / 2n; bound 1/n (theory 3.10, distances of tables)."""
    n = max(1, int(synthetic.sum()))
    moved = [differences.sum(axis=1) for differences in _sub_tables(criterion, rows, tables, synthetic)]
    return ExactFigures(numerators=np.sum(moved, axis=0), denominator=2 * n * len(moved), bound=Fraction(1, n))


def quantile_distance(
    criterion: QuantileMarginalError, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray
) -> ExactFigures:
    """Return the distance sum |r - s| / 2n that a share `quantile` of the sub-tables does not exceed; bound 1/n."""
    n = max(1, int(synthetic.sum()))
    moved = np.sort([differences.sum(axis=1) for differences in _sub_tables(criterion, rows, tables, synthetic)], axis=0)
    least = math.ceil(Fraction(str(criterion.quantile)) * len(moved))
    return ExactFigures(numerators=moved[least - 1], denominator=2 * n, bound=Fraction(1, n))


def relative(criterion: RelativeMarginalError, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest ratio max(r/s, s/r) of a bin, with r and s counts plus 1, clipped to [1, clip].

    The bound is found by trying every r (theory 3.2, relative marginal error).
    """
    n, clip = int(synthetic.sum()), Fraction(str(criterion.clip))
    common = math.lcm(*range(1, n + 2))
    worst = np.zeros(len(tables), dtype=np.int64)
    counts: set[int] = set()
    for member in _single_bins(rows):
        r, s = tables @ member + 1, int(synthetic @ member) + 1
        ratio = np.maximum(r * (common // s), s * (common // r)) * clip.denominator
        worst = np.maximum(worst, np.clip(ratio, common * clip.denominator, common * clip.numerator))
        counts.add(s)

    def g(r: int, s: int) -> Fraction:
        return min(max(Fraction(r, s), Fraction(s, r)), clip)

    bound = max(abs(g(r + 1, s) - g(r, s)) for s in counts for r in range(1, math.ceil(s * clip) + 2))
    return ExactFigures(numerators=worst, denominator=common * clip.denominator, bound=bound)


def _single_bins(rows: RowCounts) -> list[np.ndarray]:
    return [(values == value).astype(np.int64) for values in rows.columns.values() for value in np.unique(values)]


def conditional_mean(criterion: ConditionalMean, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest difference of the means of a group in the private and the synthetic table.

    A private group with fewer than m_v rows is filled up to m_v rows with the middle value of the range [L, U]; bound (U -
    L) / min_v m_v (theory 3.3, conditional means).
    """
    n, (low, high) = int(synthetic.sum()), (Fraction(str(end)) for end in criterion.range)
    unit = math.lcm(2 * low.denominator, 2 * high.denominator)
    # rows without a value are in no group, so their numbers have no effect
    scaled = np.clip(rows.numbers(criterion.column) * unit, int(low * unit), int(high * unit))
    middle, margin = int((low + high) / 2 * unit), math.ceil(Fraction(str(criterion.size_margin)) * n)
    groups = _groups(criterion, rows)
    sizes = [max(1, int(synthetic @ group) - margin) for group in groups]
    common = math.lcm(*range(1, int(tables.sum(axis=1).max(initial=n)) + 1))
    worst = np.zeros(len(tables), dtype=np.int64)
    for group, size in zip(groups, sizes, strict=True):
        counts, sums = tables @ group, tables @ (group * scaled)
        means = (sums + np.maximum(size - counts, 0) * middle) * (common // np.maximum(counts, size))
        of_group = int(synthetic @ group)  # an empty group has the middle of the range as its mean
        target = int(synthetic @ (group * scaled)) * common // of_group if of_group else middle * common
        worst = np.maximum(worst, np.abs(means - target))
    void = any(synthetic @ group == 0 for group in groups)
    return ExactFigures(numerators=worst, denominator=common * unit, bound=(high - low) / min(sizes), void=void)


def _groups(criterion: InGroups, rows: RowCounts) -> list[np.ndarray]:
    """Return an (n_rows,) indicator of every group that a criterion compares: 1 for its rows with a value, otherwise 0."""
    valued = rows.valued(criterion.column)
    groups = [group * valued for name in criterion.by for group in rows.groups(name)]
    return [*groups, valued] if criterion.overall else groups


def conditional_median(
    criterion: ConditionalMedian, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray
) -> ExactFigures:
    """Return the largest error of a group's quantile of order q, in rows divided by n.

    It is max of B - q n_g and A - (1 - q) n_g. Of the n_g rows of a private group, B lie more than `within` bins below the
    quantile of the synthetic rows, and A more than `within` bins above it; bound 1/n (theory 3.11, conditional medians).
    """
    n, bins, groups = max(1, int(synthetic.sum())), rows.columns[criterion.column], _groups(criterion, rows)
    values = np.unique(bins[bins != _MISSING]).tolist()
    shares = [Fraction(str(q)) for q in criterion.quantiles]
    common = math.lcm(*(q.denominator for q in shares))
    worst, void = np.full(len(tables), np.iinfo(np.int64).min), False
    for group in groups:
        of_group = int(synthetic @ group)
        void |= not of_group
        for q in shares:
            reached = [t for t in values if of_group and synthetic @ (group * (bins <= t)) >= q * of_group]
            t = reached[0] if reached else values[0] - 1
            below, above = (tables @ (group * side) for side in (bins < t - criterion.within, bins > t + criterion.within))
            counts, part = tables @ group, int(q * common)
            worst = np.maximum(worst, np.maximum(common * below - part * counts, common * above - (common - part) * counts))
    return ExactFigures(numerators=worst, denominator=common * n, bound=Fraction(1, n), void=void)


def proportions(criterion: DifferenceInProportions, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest error of the share of a group's rows in given bins: max |a_g - p_g n_g| / m_g.

    A private group has n_g rows, a_g of them in the bins; the synthetic group has m_g rows, a share p_g of them in the
    bins. Bound 1 / min m_g (theory 3.12, difference in proportions).
    """
    return _shares(criterion, rows, tables, synthetic, [rows.in_bins(criterion.column, criterion.bins)])


def kolmogorov(criterion: KolmogorovDistance, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest error of a distribution function in a group: max |a_gt - p_gt n_g| / m_g over groups and values t.

    As in `proportions`, for the rows with a value of at most t; bound 1 / min m_g (theory 3.14, Kolmogorov distance).
    """
    values = rows.columns[criterion.column]
    return _shares(criterion, rows, tables, synthetic, [values <= t for t in np.unique(values)])


def _shares(
    criterion: InGroups, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray, events: Sequence[np.ndarray]
) -> ExactFigures:
    """Return the largest error of the share of rows with an event, an (n_rows,) indicator, over all groups and events.

    Changing one record changes the share in a group of m_g synthetic rows by at most 1 / m_g.
    """
    groups = _groups(criterion, rows)
    sizes = [int(synthetic @ group) for group in groups]
    common = math.lcm(*(size**2 for size in sizes if size))
    worst = np.zeros(len(tables), dtype=np.int64)
    for group, size in zip(groups, sizes, strict=True):
        for event in events if size else ():
            inside = group * event
            excess = np.abs(size * (tables @ inside) - int(synthetic @ inside) * (tables @ group))
            worst = np.maximum(worst, excess * (common // size**2))
    return ExactFigures(worst, common, Fraction(1, max(1, min(sizes))), void=min(sizes) == 0)


def faithfulness(criterion: Faithfulness, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the share of private rows without a similar synthetic row of their own, in a largest matching: 1 - matching / n.

    Bound 1/n (theory 3.6, faithfulness). The matching is the minimum, over sets A of original cells, of the rows outside A
    plus the synthetic rows similar to A (Koenig's theorem).
    """
    n, values = int(synthetic.sum()), np.stack(list(rows.columns.values()), axis=1).tolist()
    names = list(rows.columns)
    similar = np.array([[_similar(criterion, names, a, b) for b in values] for a in values], dtype=np.int64)
    matching = np.full(len(tables), n, dtype=np.int64)
    for subset in range(2 ** len(values)):
        inside = np.array([subset >> cell & 1 for cell in range(len(values))])
        reached = (inside @ similar > 0).astype(np.int64)
        matching = np.minimum(matching, tables @ (1 - inside) + int(synthetic @ reached))
    return ExactFigures(numerators=n - matching, denominator=n, bound=Fraction(1, n))


def _similar(criterion: Faithfulness, names: Sequence[str], a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether two rows differ in at most `at_most` columns of `within_one_bin`, by one bin each, apart from ignored
    columns.

    A missing value is similar only to itself.
    """
    apart = {name: abs(x - y) for name, x, y in zip(names, a, b, strict=True) if x != y and name not in criterion.ignored}
    near = all(name in criterion.within_one_bin and distance == 1 for name, distance in apart.items())
    return near and len(apart) <= criterion.at_most


# Regressions of one feature a and one target b.


def prediction(
    criterion: RegressionPrediction, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel
) -> ExactFigures:
    """Return the difference of the mean absolute errors of two regression lines on private rows: |MAE_R(fitted) -
    MAE_R(w(S))|.

    w(S) is the line of the synthetic rows, for a feature a and the target b (theory 3.5, regression prediction). The bound
    is 2 (U - L) / n or, computed from the two known lines, (largest gap - smallest gap) / n. The gap of a record is the
    difference of its absolute errors under the two lines, or 0 without a value in both columns. n is the number of
    synthetic rows with values in both.
    """
    valued = rows.valued("a", "b")
    n, synthetic = max(1, int(synthetic @ valued)), synthetic * valued
    low, high = (Fraction(str(end)) for end in criterion.range)
    lines = (Fraction(fitted.intercept), Fraction(float(fitted.coefficients[0]))), _least_squares(rows, synthetic)
    gaps = []
    for a, b, present in _points(rows, valued):
        errors = [abs(b - min(max(intercept + slope * a, low), high)) for intercept, slope in lines]
        gaps.append((errors[0] - errors[1]) * present)
    sums, common = _sums(tables, gaps)
    widest = 2 * (high - low)
    if criterion.bound == "lines":
        widest = max(max(gaps) - min(gaps), widest * SMALLEST)
    return ExactFigures(np.abs(sums), n * common, widest / n, void=not synthetic.any())


def one_step(criterion: RegressionOneStep, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return how far a private regression slope is from the synthetic one, by one step: |sum of (a - mean_S a) r| / (n sd_S
    a).

    The sum is over private rows, for a feature a and the target b, with r = b - clip(line of S) the residual from the line
    of the synthetic rows S (theory 3.4, one-step regression). Bound 2 max |(a - mean_S a) r| / (n sd_S a), in units of 1 /
    sd_S a. If a is constant in S, the value is 0, and no table passes. n is the number of synthetic rows with values in
    both columns. A record without one of these values adds 0.
    """
    valued, feature = rows.valued("a", "b"), rows.numbers("a")
    n, synthetic = max(1, int(synthetic @ valued)), synthetic * valued
    low, high = (Fraction(str(end)) for end in criterion.range)
    intercept, slope = _least_squares(rows, synthetic)
    mean = Fraction(int(synthetic @ feature), n)
    variance = Fraction(int(synthetic @ feature**2), n) - mean**2
    if not variance:
        return ExactFigures(np.zeros(len(tables), dtype=np.int64), 1, (high - low) * SMALLEST / n, void=True)
    steps = [(a - mean) * (b - min(max(intercept + slope * a, low), high)) * present for a, b, present in _points(rows, valued)]
    sums, common = _sums(tables, steps)
    bound = 2 * max(abs(step) for step in steps) / n
    return ExactFigures(np.abs(sums), n * common, bound, unit=1 / math.sqrt(variance))


def logistic(criterion: LogisticRegression, rows: RowCounts, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return how far a private logistic regression is from the synthetic fit, by one step: |sum of v| / m.

    v is the part that one private row adds to the step, for one feature a of two values and a binary target b (theory 3.13,
    one-step logistic regression). For each value of a, the fit is the share p of positive rows. The step of the slope is
    the difference of (y - p) / (p (1 - p) rows) between a = 1 and a = 0, times the standard deviation of a, which is the
    unit of the value. The bound is the difference between the largest and the smallest v, or 0, divided by m. The result is
    void if a share is 0 or 1, or if a value has no rows.
    """
    valued = rows.valued("a", "b")
    m, y = max(1, int(synthetic @ valued)), rows.in_bins("b", criterion.positive)
    sizes = [int(synthetic @ (valued * (rows.columns["a"] == a))) for a in (0, 1)]
    hits = [int(synthetic @ (valued * y * (rows.columns["a"] == a))) for a in (0, 1)]
    if any(not 0 < hit < size for hit, size in zip(hits, sizes, strict=True)):
        return ExactFigures(np.zeros(len(tables), dtype=np.int64), 1, SMALLEST / m, void=True)
    steps = []
    for a, present, outcome in zip(rows.columns["a"].tolist(), valued.tolist(), y.tolist(), strict=True):
        if not present:
            steps.append(Fraction(0))
            continue
        p, size = Fraction(hits[a], sizes[a]), sizes[a]
        steps.append((1 if a else -1) * (outcome - p) / (p * (1 - p) * Fraction(size, m)))
    sums, common = _sums(tables, steps)
    deviation = math.sqrt(Fraction(sizes[1], m) * Fraction(sizes[0], m))
    widest = max(Fraction(0), *steps) - min(Fraction(0), *steps)
    return ExactFigures(np.abs(sums), m * common, widest / m, unit=deviation)


def _points(rows: RowCounts, valued: np.ndarray) -> Iterator[tuple[int, int, int]]:
    return zip(rows.numbers("a").tolist(), rows.numbers("b").tolist(), valued.tolist(), strict=True)


def _sums(tables: np.ndarray, numbers: Sequence[Fraction]) -> tuple[np.ndarray, int]:
    common = math.lcm(*(number.denominator for number in numbers))
    return tables @ np.array([int(number * common) for number in numbers]), common


def _least_squares(rows: RowCounts, synthetic: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return the intercept and slope of the least squares line of a synthetic table; slope 0 for a constant feature."""
    n, feature, target = max(1, int(synthetic.sum())), rows.numbers("a"), rows.numbers("b")
    a, b = (Fraction(int(synthetic @ values), n) for values in (feature, target))
    variance = Fraction(int(synthetic @ feature**2), n) - a**2
    covariance = Fraction(int(synthetic @ (feature * target)), n) - a * b
    slope = covariance / variance if variance else Fraction(0)
    return b - slope * a, slope


# Exact criterion values of roots, computed as fractions from lists of members.


def means_of_roots(criterion: MeanOfRoots, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the largest error of a mean over roots, such as the mean number of workers of households, over groups.

    Bound (b - a) / min m_g (theory 3.23, means over roots), with [a, b] the limits and m_g the synthetic roots of a group.
    """
    low, high = (Fraction(str(end)) for end in criterion.limits)
    cells = list(world.cells)
    roots = [_with_members(criterion, world, cell) for cell in cells]
    numbers = [_number_of_root(criterion, members, world.coding(criterion.column)) for _, members in roots]
    present = np.array([number is not None for number in numbers])
    clipped = [Fraction(0) if number is None else min(max(number, low), high) for number in numbers]
    groups = [present] if criterion.overall else []
    for name in criterion.by:
        values = np.array([_MISSING if root[name] is None else root[name] for root, _ in roots])
        groups += [present & (values == value) for value in range(int(values.max()) + 1)]
    tables, synthetic = tables[:, cells], synthetic[cells]
    sizes, errors = [int(synthetic @ group) for group in groups], []
    for group, size in zip(groups, sizes, strict=True):
        ours, common = _sums((synthetic * group)[None], clipped)
        mean = Fraction(int(ours[0]), common * size) if size else (low + high) / 2
        errors.append(_sums(tables * group, [(number - mean) / max(1, size) for number in clipped]))
    common = math.lcm(*(denominator for _, denominator in errors))
    worst = np.max([np.abs(sums) * (common // denominator) for sums, denominator in errors], axis=0)
    return ExactFigures(worst, common, (high - low) / max(1, min(sizes)), void=min(sizes) == 0)


def _with_members(criterion: MeanOfRoots, world: World, cell: int) -> tuple[Row, list[Row]]:
    if world.linked is not None and criterion.column in world.linked.names:
        return root_of(world, cell)
    bins = np.unravel_index(cell, world.layout.sizes)
    row = {
        name: _value(int(bin_), size - 1 if name in world.missing else size)
        for name, bin_, size in zip(world.layout.columns, bins, world.layout.sizes, strict=True)
    }
    return row, [row]


def _number_of_root(criterion: MeanOfRoots, members: Iterable[Row], coding: Coding) -> Fraction | None:
    values = [code for member in members if (code := member[criterion.column]) is not None]
    if criterion.number == "agreement":
        pairs = [first == second for first, second in combinations(values, 2)]
        return Fraction(sum(pairs), len(pairs)) if pairs else None
    if criterion.bins:
        values = [int(coding.labels(str(code))[0] in criterion.bins) for code in values]
    else:
        values = [coding.number(code) for code in values]
    if criterion.number == "sum":
        return Fraction(sum(values))
    return Fraction(sum(values), len(values)) if values else None


def unmatched_roots(criterion: Faithfulness, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """Return the share of roots without a similar synthetic root of their own in a largest matching; bound 1/n.

    The order of members has no effect (theory 3.6, faithfulness).
    """
    n, ours = int(synthetic.sum()), _cells_of(synthetic)
    similar = {
        (first, second): _similar_members(criterion, world, first, second) for first in world.cells for second in world.cells
    }
    matched = [_most_pairs([[similar[cell, released] for released in ours] for cell in _cells_of(table)]) for table in tables]
    return ExactFigures(numerators=n - np.array(matched), denominator=n, bound=Fraction(1, n))


def _cells_of(table: np.ndarray) -> list[int]:
    return np.repeat(np.arange(len(table)), table).tolist()


def _similar_members(criterion: Faithfulness, world: World, first: int, second: int) -> bool:
    """Return whether two roots with one column of members have equal sorted values, except for one that differs by one."""
    (name,) = world.linked.names if world.linked else ("",)
    values = [sorted(int(row[name] or 0) for row in rows_of_root(world, cell, "members")) for cell in (first, second)]
    if len(values[0]) != len(values[1]):
        return False
    apart = [abs(a - b) for a, b in zip(*values, strict=True) if a != b]
    return not apart or (bool(criterion.at_most) and apart == [1])


def _most_pairs(similar: list[list[bool]]) -> int:
    """Return the size of the largest matching of similar rows and columns, by trying all matchings."""
    if not similar:
        return 0
    first, *rest = similar
    most = _most_pairs(rest)
    for column, fits in enumerate(first):
        if fits:
            most = max(most, 1 + _most_pairs([row[:column] + row[column + 1 :] for row in rest]))
    return most


# Exact values of any criterion, and the least slack of several criteria.


def exact_figures(
    criterion: Criterion, world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """Return the exact values of a criterion, by its kind. Raises LookupError for a kind without a second implementation.

    A value about members is clipped to its possible range. Its bound is the sensitivity of the value for rows, times the
    largest number of rows of a root (theory 3.22, rows of members).
    """
    if isinstance(criterion, MeanOfRoots):
        return means_of_roots(criterion, world, tables, synthetic)
    if isinstance(criterion, Faithfulness) and criterion.any_order:
        return unmatched_roots(criterion, world, tables, synthetic)
    of = getattr(criterion, "of", None)
    rows = rows_of(world, of)
    tables, synthetic = tables @ rows.made, synthetic @ rows.made
    if isinstance(criterion, RegressionPrediction) and fitted is not None:
        return prediction(criterion, rows, tables, synthetic, fitted)
    function = next((function for kind, function in EXACT.items() if isinstance(criterion, kind)), None)
    if function is None:
        raise LookupError(f"no second implementation of {criterion.kind!r}: add one to studio/audit/exact.py")
    figures = function(criterion, rows, tables, synthetic)
    if of is None:
        return figures
    low, high = (end if math.isinf(end) else end * figures.denominator for end in criterion.figure_range)
    return replace(
        figures,
        numerators=np.clip(figures.numerators, low, high).astype(np.int64),
        bound=rows.most * figures.bound,
        void=figures.void or not synthetic.any(),
    )


EXACT: dict[type[Criterion], Callable[..., ExactFigures]] = {
    AbsoluteMarginalError: absolute,
    RelativeMarginalError: relative,
    WeightedMarginalError: weighted,
    ConditionalMean: conditional_mean,
    MeanMarginalError: mean_distance,
    QuantileMarginalError: quantile_distance,
    ConditionalMedian: conditional_median,
    DifferenceInProportions: proportions,
    KolmogorovDistance: kolmogorov,
    LogisticRegression: logistic,
    Faithfulness: faithfulness,
    RegressionOneStep: one_step,
}


def least_slack(
    criteria: Sequence[Criterion], world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """Return the smallest distance from failing any of several criteria, in units of their sensitivities; bound 1.

    Theory 4.1, least slack.
    """
    slacks = [slack(criterion, world, tables, synthetic, fitted) for criterion in criteria]
    common = math.lcm(*(figures.denominator for figures in slacks))
    least = np.min([figures.numerators * (common // figures.denominator) for figures in slacks], axis=0)
    return ExactFigures(numerators=least, denominator=common, bound=Fraction(1))


def slack(
    criterion: Criterion, world: World, tables: np.ndarray, synthetic: np.ndarray, fitted: LinearModel | None
) -> ExactFigures:
    """Return how far every private table is from failing a criterion, in units of the sensitivity: (threshold - value) /
    bound.

    For a ratio of counts r and s, both plus 1, it is the number of records by which r lies inside [s / threshold, threshold
    s], the least of all bins.
    """
    threshold = Fraction(str(criterion.threshold))
    t, d = threshold.numerator, threshold.denominator
    if isinstance(criterion, RelativeMarginalError):
        inside = []
        for member in _single_bins(rows_of(world, None)):
            r, s = tables @ member + 1, int(synthetic @ member) + 1
            inside.append(np.minimum(t * t * s - t * d * r, t * d * r - d * d * s))
        return ExactFigures(numerators=np.min(inside, axis=0), denominator=t * d, bound=Fraction(1))
    figures = exact_figures(criterion, world, tables, synthetic, fitted)
    if figures.void:
        return ExactFigures(np.full(len(tables), _LOWEST), 1, Fraction(1))
    if figures.unit != 1:
        raise LookupError(f"{criterion.kind!r} has values that are not fractions")
    whole = figures.bound * figures.denominator
    numerators = (t * figures.denominator - d * figures.numerators) * whole.denominator
    return ExactFigures(numerators=numerators, denominator=d * whole.numerator, bound=Fraction(1))
