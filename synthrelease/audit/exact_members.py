"""Figures of members a second time: from lists of members, in fractions, with nothing of the code that releases use.

A root is a list of members here, and a figure is computed from its definition over all rows that the members of all roots make.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np

from synthrelease.audit.exact_values import ExactFigures
from synthrelease.audit.worlds import World
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.criteria.mean_of_roots import MeanOfRoots
from synthrelease.criteria.members import OfMembers

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
    similar = {(one, other): _similar(criterion, world, one, other) for one in world.cells for other in world.cells}
    left = [n - _most_pairs([[similar[cell, mine] for mine in ours] for cell in _each(table)]) for table in tables]
    return ExactFigures(numerators=np.array(left), denominator=n, bound=Fraction(1, n), void=False)


def _each(table: np.ndarray) -> list[int]:
    return np.repeat(np.arange(len(table)), table).tolist()


def _similar(criterion: Faithfulness, world: World, one: int, other: int) -> bool:
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


def _groups(criterion: OfMembers, *tables: Rows) -> Iterator[list[list[int]]]:
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
    sizes = [len(own) for (own,) in _groups(criterion, ours)]

    def figure(rows: Rows) -> Fraction:
        worst = Fraction(0)
        for own, theirs in _groups(criterion, ours, rows):
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
        for own, theirs in _groups(criterion, ours, rows):
            for q in quantiles:
                middle = sorted(own)[math.ceil(q * len(own)) - 1] if own else -99  # below every value
                low, high = (middle - within, middle + within)
                found.append(sum(value < low for value in theirs) - q * len(theirs))
                found.append(sum(value > high for value in theirs) - (1 - q) * len(theirs))
        return max(found) / n

    return figure, Fraction(1, n), any(not own for (own,) in _groups(criterion, ours))


def _mean(criterion: OfMembers, ours: Rows) -> Known:
    low, high = (Fraction(str(end)) for end in criterion.range)  # type: ignore[attr-defined]
    margin = math.ceil(Fraction(str(criterion.size_margin)) * len(ours))  # type: ignore[attr-defined]
    sizes = [max(1, len(own) - margin) for (own,) in _groups(criterion, ours)]

    def clipped(values: Sequence[int]) -> list[Fraction]:
        return [min(max(Fraction(value), low), high) for value in values]

    def figure(rows: Rows) -> Fraction:
        worst, middle = Fraction(0), (low + high) / 2
        for size, (own, theirs) in zip(sizes, _groups(criterion, ours, rows), strict=True):
            target = sum(clipped(own), Fraction(0)) / len(own) if own else middle
            filled = clipped(theirs) + [middle] * (size - len(theirs))
            worst = max(worst, abs(sum(filled, Fraction(0)) / len(filled) - target))
        return worst

    return figure, (high - low) / min(sizes), any(not own for (own,) in _groups(criterion, ours))


_KINDS: Mapping[str, Callable[[OfMembers, Rows], Known]] = {
    "absolute_marginal_error": _absolute,
    "mean_marginal_error": _mean_distance,
    "quantile_marginal_error": _quantile_distance,
    "difference_in_proportions": _proportions,
    "kolmogorov_distance": _kolmogorov,
    "conditional_median": _median,
    "conditional_mean": _mean,
}
