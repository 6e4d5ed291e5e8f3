"""Every criterion's figure from its definition, in whole numbers: a second, slow and obvious implementation.

Each function takes all private tables of n records at once, as counts of every cell, and one synthetic table. It returns
numerators and one denominator, so that comparisons of figures and of their differences are exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np

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
from synthrelease.criteria.mean_of_roots import MeanOfRoots
from synthrelease.criteria.members import OfMembers
from synthrelease.criteria.regressions import RegressionOneStep, RegressionPrediction
from synthrelease.criteria.shares import DifferenceInProportions
from synthrelease.studio.audit.cases import World

# What the second implementations of figures share: exact figures as whole numbers, and cells of tiny worlds.

SMALLEST = Fraction(1, 2**20)
"""Least sensitivity of a figure that a candidate may make constant, as a share of the whole range."""


@dataclass(frozen=True)
class ExactFigures:
    """Figures of all tables against one synthetic table: numerators (n_tables,) int64 over one denominator.

    `bound` is the sensitivity that theory 3, acceptance criteria, proves, as a fraction. Figures and bound are in units of
    `unit`, where that is not
    a fraction (a standard deviation). `void`: no private table passes, whatever the figure.
    """

    numerators: np.ndarray
    denominator: int
    bound: Fraction
    unit: float = 1.0
    void: bool = False

    @property
    def values(self) -> np.ndarray:
        return self.numerators / self.denominator * self.unit


def digits(world: World) -> np.ndarray:
    """(n_cells, n_columns) the value of every column in every cell."""
    return np.stack(np.unravel_index(np.arange(world.layout.n_cells), world.layout.sizes), axis=1)


def members(world: World, column: str, values: np.ndarray, *, grouped: bool = True) -> list[np.ndarray]:
    """For every group of a column: (n_cells,) 1 for its cells."""
    of_value = values[:, world.layout.index(column)]
    if grouped and column in world.groups:
        of_value = np.array(world.groups[column].of_atom)[of_value]
    return [(of_value == group).astype(np.int64) for group in range(int(of_value.max()) + 1)]


def valued_cells(world: World, columns: Iterable[str], values: np.ndarray) -> np.ndarray:
    """(n_cells,) 1 for cells with a value in all of these columns: the last bin of a column that may lack one holds none."""
    found = np.ones(len(values), dtype=np.int64)
    for column in columns:
        place = world.layout.index(column)
        if column in world.missing:
            found *= values[:, place] < world.layout.sizes[place] - 1
    return found


# Figures of members a second time: from lists of members, in fractions, with nothing of the code that releases use.
#
# A root is a list of members here, and a figure is computed from its definition over all rows that the members of all roots
# make.

Row = Mapping[str, int | None]
"""A row by its columns; None where it has no value."""
Rows = Sequence[Row]


def figures_of_members(criterion: OfMembers, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """The figures of all tables against one, as `sensitivity` takes them.

    The bound is the sensitivity of the figure of rows times the most rows that a root makes (theory 3.22, rows of members).
    """
    there = set(world.cells)
    made = [[*rows_of_root(world, cell, str(criterion.of))] if cell in there else [] for cell in range(world.layout.n_cells)]
    most = max(map(len, made))
    ours = _of_table(made, synthetic)
    figure, bound, void = _KINDS[criterion.kind](criterion, ours)
    low, high = criterion.figure_range
    figures = [figure(_of_table(made, table)) for table in tables]
    clipped = [min(max(each, Fraction(low)), each if math.isinf(high) else Fraction(high)) for each in figures]
    common = math.lcm(*(each.denominator for each in clipped))
    numerators = np.array([int(each * common) for each in clipped])
    return ExactFigures(numerators=numerators, denominator=common, bound=most * bound, void=void or not ours)


def _of_table(made: Sequence[Rows], table: np.ndarray) -> list[Row]:
    return [row for cell in np.flatnonzero(table).tolist() for row in [*made[cell]] * int(table[cell])]


def rows_of_root(world: World, cell: int, of: str) -> Iterator[Row]:
    """The rows that the members of a root make."""
    root, members = root_of(world, cell)
    if of == "members":
        yield from ({**root, **member} for member in members)
    elif of == "others":
        yield from (_beside(root, member, members[0], "first") for member in members[1:])
    else:
        yield from (_beside(root, one, other, "other") for one, other in permutations(members, 2))


def root_of(world: World, cell: int) -> tuple[Row, list[Row]]:
    """The columns of a root, and those of each of its members."""
    if world.linked is None:
        raise ValueError("expected a world of roots with members")
    bins = dict(zip(world.layout.columns, np.unravel_index(cell, world.layout.sizes), strict=True))
    number = int(bins[world.linked.size]) + world.linked.least
    high = {name: size - 1 for name, size in zip(world.layout.columns, world.layout.sizes, strict=True)}
    members: list[Row] = [
        {plain: _value(int(bins[name]), high[name]) for plain, name in zip(world.linked.names, slot, strict=True)}
        for slot in world.linked.slots[:number]
    ]
    return {name: int(bins[name]) for name in world.linked.of_roots(world.layout.columns)}, members


def _value(found: int, last: int) -> int | None:
    return None if found == last else found


def _beside(root: Row, member: Row, other: Row, whose: str) -> Row:
    row = {**root, **member, **{f"{whose}.{name}": value for name, value in other.items()}}
    for name, value in member.items():
        there = other[name]
        row[f"{whose}.{name} - {name}"] = None if value is None or there is None else there - value
    return row


def means_of_roots(criterion: MeanOfRoots, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """The largest error of a mean over roots; bound (b - a) / min m_g (theory 3.23, means over roots)."""
    low, high = (Fraction(str(end)) for end in criterion.limits)
    there = {cell: _number_of_root(criterion, *_with_members(criterion, world, cell)) for cell in world.cells}
    roots = {cell: _with_members(criterion, world, cell)[0] for cell in world.cells}
    groups: list[Callable[[int], bool]] = [lambda cell: True] if criterion.overall else []
    for name in criterion.by:
        of_values = range(max(int(root[name] or 0) for root in roots.values()) + 1)
        groups += [lambda cell, name=name, value=value: roots[cell][name] == value for value in of_values]  # type: ignore[misc]

    def numbers(table: np.ndarray, inside: Callable[[int], bool]) -> list[Fraction]:
        found = [there[cell] for cell in _each(table) if inside(cell)]
        return [min(max(number, low), high) for number in found if number is not None]

    sizes, errors = [], []
    for inside in groups:
        ours = numbers(synthetic, inside)
        mean, size = sum(ours, Fraction(0)) / len(ours) if ours else (low + high) / 2, max(1, len(ours))
        sizes.append(len(ours))
        errors.append([abs(sum((one - mean for one in numbers(table, inside)), Fraction(0))) / size for table in tables])
    figures = [max(each) for each in zip(*errors, strict=True)]
    common = math.lcm(*(each.denominator for each in figures))
    numerators = np.array([int(each * common) for each in figures])
    bound = (high - low) / max(1, min(sizes))
    return ExactFigures(numerators=numerators, denominator=common, bound=bound, void=min(sizes) == 0)


def _with_members(criterion: MeanOfRoots, world: World, cell: int) -> tuple[Row, list[Row]]:
    """A root and its members; a row without any is its own and only one."""
    if world.linked is not None and criterion.column in world.linked.names:
        return root_of(world, cell)
    bins = np.unravel_index(cell, world.layout.sizes)
    row = {
        name: _value(int(one), size - 1 if name in world.missing else size)
        for name, one, size in zip(world.layout.columns, bins, world.layout.sizes, strict=True)
    }
    return row, [row]


def _number_of_root(criterion: MeanOfRoots, root: Row, members: list[Row]) -> Fraction | None:
    values = [value for member in members if (value := member[criterion.column]) is not None]
    if criterion.number == "agreement":
        pairs = [one == other for one, other in combinations(values, 2)]
        return Fraction(sum(pairs), len(pairs)) if pairs else None
    if criterion.bins:
        values = [int(str(value) in criterion.bins) for value in values]
    if criterion.number == "sum":
        return Fraction(sum(values))
    return Fraction(sum(values), len(values)) if values else None


def unmatched_roots(criterion: Faithfulness, world: World, tables: np.ndarray, synthetic: np.ndarray) -> ExactFigures:
    """The share of roots without a similar one of their own, members in any order; bound 1/n (theory 3.6, faithfulness)."""
    n = int(synthetic.sum())
    ours = _each(synthetic)
    similar = {
        (one, other): _similar_of_exact_members(criterion, world, one, other) for one in world.cells for other in world.cells
    }
    left = [n - _most_pairs([[similar[cell, mine] for mine in ours] for cell in _each(table)]) for table in tables]
    return ExactFigures(numerators=np.array(left), denominator=n, bound=Fraction(1, n), void=False)


def _each(table: np.ndarray) -> list[int]:
    return np.repeat(np.arange(len(table)), table).tolist()


def _similar_of_exact_members(criterion: Faithfulness, world: World, one: int, other: int) -> bool:
    """Whether two roots have as many members, whose values, put in order, are the same but for one that is one apart. Of roots
    with one column of members."""
    (name,) = world.linked.names if world.linked else ("",)
    values = [sorted(int(row[name] or 0) for row in rows_of_root(world, cell, "members")) for cell in (one, other)]
    if len(values[0]) != len(values[1]):
        return False
    apart = [abs(a - b) for a, b in zip(*values, strict=True) if a != b]
    return not apart or (bool(criterion.at_most) and apart == [1])


def _most_pairs(similar: list[list[bool]]) -> int:
    """The largest number of pairs of a row and a column that are similar, each in one pair, by trying them all."""
    if not similar:
        return 0
    first, *rest = similar
    found = _most_pairs(rest)
    for place, fits in enumerate(first):
        if fits:
            found = max(found, 1 + _most_pairs([row[:place] + row[place + 1 :] for row in rest]))
    return found


Known = tuple[Callable[[Rows], Fraction], Fraction, bool]
"""The figure of a list of rows beside a candidate's, its sensitivity for one row, and whether the candidate is void."""


def _tables(criterion: OfMembers, rows: Rows) -> Iterator[Counter[tuple[int | None, ...]]]:
    for text in criterion.tables:  # type: ignore[attr-defined]
        names = text.split(":")
        yield Counter(tuple(row[name] for name in names) for row in rows)


def _moved(criterion: OfMembers, ours: Rows, theirs: Rows) -> list[list[int]]:
    """|r - s| of every cell of every table."""
    pairs = zip(_tables(criterion, ours), _tables(criterion, theirs), strict=True)
    return [[abs(s[cell] - r[cell]) for cell in {*s, *r}] or [0] for s, r in pairs]


def _absolute(criterion: OfMembers, ours: Rows) -> Known:
    n = max(1, len(ours))
    return lambda rows: Fraction(max(map(max, _moved(criterion, ours, rows))), n), Fraction(1, n), False


def _mean_distance(criterion: OfMembers, ours: Rows) -> Known:
    n, tables = max(1, len(ours)), len(criterion.tables)  # type: ignore[attr-defined]
    return lambda rows: Fraction(sum(map(sum, _moved(criterion, ours, rows))), 2 * n * tables), Fraction(1, n), False


def _quantile_distance(criterion: OfMembers, ours: Rows) -> Known:
    n = max(1, len(ours))

    def figure(rows: Rows) -> Fraction:
        found = sorted(map(sum, _moved(criterion, ours, rows)))
        share = Fraction(str(criterion.quantile))  # type: ignore[attr-defined]
        return Fraction(next(each for place, each in enumerate(found, 1) if Fraction(place, len(found)) >= share), 2 * n)

    return figure, Fraction(1, n), False


def _groups_of_exact_members(criterion: OfMembers, *tables: Rows) -> Iterator[list[list[int]]]:
    """For every group the values of the column in it, in each of some tables; groups are those of any value of a column."""
    column, by, overall = criterion.column, criterion.by, criterion.overall  # type: ignore[attr-defined]
    if overall:
        yield [[value for row in rows if (value := row[column]) is not None] for rows in tables]
    for name in by:
        for value in range(_highest(name) + 1):
            inside = [[row for row in rows if row[name] == value] for rows in tables]
            yield [[found for row in rows if (found := row[column]) is not None] for rows in inside]


def _highest(name: str) -> int:
    """Of the columns that sweeps group by."""
    return {"t": 1, "first.a": 1}[name]


def _shares(criterion: OfMembers, ours: Rows, cuts: Sequence[Callable[[int], bool]]) -> Known:
    sizes = [len(own) for (own,) in _groups_of_exact_members(criterion, ours)]

    def figure(rows: Rows) -> Fraction:
        worst = Fraction(0)
        for own, theirs in _groups_of_exact_members(criterion, ours, rows):
            for meets in cuts if own else ():
                share = Fraction(sum(map(meets, own)), len(own))
                worst = max(worst, abs(sum(map(meets, theirs)) - share * len(theirs)) / len(own))
        return worst

    return figure, Fraction(1, max(1, min(sizes))), min(sizes) == 0


def _proportions(criterion: OfMembers, ours: Rows) -> Known:
    bins = {int(label) for label in criterion.bins}  # type: ignore[attr-defined]
    return _shares(criterion, ours, [lambda value: value in bins])


def _kolmogorov(criterion: OfMembers, ours: Rows) -> Known:
    return _shares(criterion, ours, [cut.__ge__ for cut in range(-3, 4)])


def _median(criterion: OfMembers, ours: Rows) -> Known:
    n, quantiles = max(1, len(ours)), [Fraction(str(q)) for q in criterion.quantiles]  # type: ignore[attr-defined]
    within = criterion.within  # type: ignore[attr-defined]

    def figure(rows: Rows) -> Fraction:
        found = []
        for own, theirs in _groups_of_exact_members(criterion, ours, rows):
            for q in quantiles:
                middle = sorted(own)[math.ceil(q * len(own)) - 1] if own else -99  # below every value
                low, high = (middle - within, middle + within)
                found.append(sum(value < low for value in theirs) - q * len(theirs))
                found.append(sum(value > high for value in theirs) - (1 - q) * len(theirs))
        return max(found) / n

    return figure, Fraction(1, n), any(not own for (own,) in _groups_of_exact_members(criterion, ours))


def _mean(criterion: OfMembers, ours: Rows) -> Known:
    low, high = (Fraction(str(end)) for end in criterion.range)  # type: ignore[attr-defined]
    margin = math.ceil(Fraction(str(criterion.size_margin)) * len(ours))  # type: ignore[attr-defined]
    sizes = [max(1, len(own) - margin) for (own,) in _groups_of_exact_members(criterion, ours)]

    def clipped(values: Sequence[int]) -> list[Fraction]:
        return [min(max(Fraction(value), low), high) for value in values]

    def figure(rows: Rows) -> Fraction:
        worst, middle = Fraction(0), (low + high) / 2
        for size, (own, theirs) in zip(sizes, _groups_of_exact_members(criterion, ours, rows), strict=True):
            target = sum(clipped(own), Fraction(0)) / len(own) if own else middle
            filled = clipped(theirs) + [middle] * (size - len(theirs))
            worst = max(worst, abs(sum(filled, Fraction(0)) / len(filled) - target))
        return worst

    return figure, (high - low) / min(sizes), any(not own for (own,) in _groups_of_exact_members(criterion, ours))


_KINDS: Mapping[str, Callable[[OfMembers, Rows], Known]] = {
    "absolute_marginal_error": _absolute,
    "mean_marginal_error": _mean_distance,
    "quantile_marginal_error": _quantile_distance,
    "difference_in_proportions": _proportions,
    "kolmogorov_distance": _kolmogorov,
    "conditional_median": _median,
    "conditional_mean": _mean,
}


# The figures of regressions from their definitions, in whole numbers: one feature a, one target b.
#
# A part of `exact_figures`.


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
