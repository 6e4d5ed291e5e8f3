"""Convert the statements of a release about sums over rows into linear constraints, and find the smallest and the largest
answer that they allow.

The variables of the linear program are the counts of the rows that the release used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from synthrelease.answers.limits import RISK, KeptRows, MeasuredLimits, check_confidence, divided_risk, limits
from synthrelease.answers.questions import excluded
from synthrelease.criteria import explain
from synthrelease.criteria.facts import CellError, KnownError, MeanError, RatioError, SumError, SumErrors, Unmatched
from synthrelease.data.marginals import with_merged_bins
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import criterion_of, public_facts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Error = TypeVar("Error", CellError, RatioError, MeanError, Unmatched, SumErrors)


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What a release states about the rows that it used, as linear constraints on their (n_cells,) counts R.

    A cell is a combination of bins of some columns, or several combinations that no condition of the query distinguishes.

    Attributes
    ----------
    columns : names of the columns, in the order of the release.
    synthetic : (n_cells,) counts of the released table S. The counts R have the same total.
    representative : (n_cells,) for each cell, the index of one of its combinations of bins (the last column varies
        fastest).
    kept : (n_cells,) False for a cell if every row in it would break a plausibility rule.
    low, high : (n_cells,) limits: low <= R <= high.
    rows, row_limits : a sparse (n_rows, n_cells) matrix and an (n_rows,) array with the constraints rows @ R <= row_limits.
    """

    columns: tuple[str, ...]
    synthetic: np.ndarray
    representative: np.ndarray
    kept: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: csr_array
    row_limits: np.ndarray


# The limits for the file that follow from a release at one confidence, for all columns.
#
# The limits concern the rows R that the release used, and the number of further rows of the file that the rules keep.


class Knowledge:
    """All limits on the errors of rows that a release states, which hold at once for any number of queries."""

    def __init__(self, release: PublishedRelease, confidence: float, acceptance: float | None = None):
        if release.figures_about:
            raise InputError(
                f"{release.folder}: the criterion values of this release describe only {release.figures_about}. They give no "
                "bound for all rows."
            )
        self.release, self.n = release, release.n_rows
        check_confidence(confidence)
        self.kept = KeptRows.of(release)
        spare = self.kept.spare(confidence)
        counting = RISK * spare if self.kept.way == "counted" else 0.0
        self.more = self.kept.more(counting)
        """Largest possible number of kept rows of the file that are not among R."""
        rest = 1 - (spare - counting)
        self.limits = limits(release, rest, acceptance)
        self.measured = MeasuredLimits.of(release, divided_risk(release, rest, acceptance)[1], acceptance)
        self.raw_rules = tuple(rule.never for rule in release.rules if "raw" in rule.applies_to)

    @cached_property
    def errors(self) -> tuple[KnownError, ...]:
        """The errors with finite limits from criteria that can be used for bounds, such as errors of means."""
        facts = public_facts(self.release)
        finite = [limit for limit in self.limits if math.isfinite(limit.limit)]
        explained = [(criterion_of(self.release, limit.index), limit.limit) for limit in finite]
        errors = [explain(criterion).known_error(limit, facts) for criterion, limit in explained if criterion is not None]
        return tuple(error for error in errors if error is not None)

    def errors_of(self, kind: type[Error]) -> tuple[Error, ...]:
        return tuple(error for error in self.errors if isinstance(error, kind))

    def groups(self, name: str) -> tuple[np.ndarray, ...]:
        """Return an (n_bins,) mask for each stated group of bins of a column, or for each bin if it has no groups."""
        if (groups := self.release.groups.get(name)) is None:
            return tuple(np.eye(len(self.release.by_name[name].labels), dtype=bool))
        return tuple(np.array(group.inside) for group in groups)


# The range of a linear statistic over all tables that agree with the facts: a linear program whose result is checked by a
# certificate.
#
# The solver only proposes multipliers. Any non-negative multipliers y of the rows "A R <= b" and any number z for the total
# give, for every table R with low <= R <= high and sum n,
#
#     q.R <= y.b + z n + sum_c max(r_c low_c, r_c high_c),   r = q - A'y - z.
#
# The bound is computed from the multipliers by this sum. So the bound is valid even if the solver was wrong, and tight if the
# solver was right (weak and strong duality).


@dataclass(frozen=True, kw_only=True)
class Maximum:
    """An upper bound on a weighted sum of the counts of used rows.

    Attributes
    ----------
    value : an upper bound on the sum, for all tables that satisfy the constraints.
    table : (n_cells,) real numbers for which the sum is close to the bound; the synthetic table if the solver failed.
    """

    value: float
    table: np.ndarray


def maximum(facts: Facts, figure: np.ndarray) -> Maximum:
    """Return an upper bound on `figure . R` over all tables R that agree with the statements of a release.

    Parameters
    ----------
    figure : (n_cells,) weight of each cell.
    """
    scale = float(np.abs(figure).max(initial=0.0)) or 1.0
    multipliers, total, table = _solve(facts, figure / scale)
    rest = figure - scale * (facts.rows.T @ multipliers + total)
    cells = np.where(rest > 0, rest * (facts.high - facts.synthetic), -rest * (facts.synthetic - facts.low))
    rows = scale * multipliers * (facts.row_limits - facts.rows @ facts.synthetic)
    return Maximum(value=float(figure @ facts.synthetic) + float(np.concatenate([cells, rows]).sum()), table=table)


def _solve(facts: Facts, figure: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Maximise a weighted sum of counts by a linear program. Return the multipliers of the constraints and of the total,
    and the table.

    If the solver fails, all multipliers are 0 and the table is the released table.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    n = float(facts.synthetic.sum())
    result = linprog(
        -figure,
        A_ub=facts.rows if len(facts.row_limits) else None,
        b_ub=facts.row_limits if len(facts.row_limits) else None,
        A_eq=csr_array(np.ones((1, len(figure)))),
        b_eq=np.array([n]),
        bounds=np.stack([facts.low, facts.high], axis=1),
        method="highs",
    )
    if result.x is None or result.ineqlin is None or result.ineqlin.marginals is None:
        return np.zeros(len(facts.row_limits)), 0.0, facts.synthetic
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=float), 0.0) if len(facts.row_limits) else np.zeros(0)
    return np.nan_to_num(multipliers), float(-result.eqlin.marginals[0]), np.asarray(result.x, dtype=float)


# Linear facts about the cells of some columns.
#
# R are the rows that the release used, and S are the released rows. R and S have the same published number n of rows. All facts
# hold together with the stated confidence, because each fact holds if the true errors are within their limits (theory 13, error
# bounds).

MAX_CELLS = 10_000
"""Largest number of cells in the linear program. If there are more cells, bins that the query does not distinguish are merged.
"""

MAX_ENTRIES = 400_000
"""Largest number of entries of the program's matrix. If there were more entries, sub-tables are left out. The bounds are then
wider, but still valid.
"""


def build_facts(
    knowledge: Knowledge, columns: Iterable[str], masks: Sequence[np.ndarray], keep: str | None = None, *, means: bool = True
) -> Facts:
    """Collect what a release states about the number of rows in each cell of some columns, as linear constraints.

    Parameters
    ----------
    masks : boolean arrays over the combinations of bins of these columns. In large tables, cells with the same values of
        all conditions are merged.
    keep : a column whose bins are never merged, because the query asks for its mean.
    means : whether to include the constraints from criteria on conditional means.
    """
    builder = _Builder(knowledge, columns, masks, keep)
    builder.add_cells()
    builder.add_sub_tables()
    builder.add_first_bins()
    if keep is not None and means:
        builder.add_numbers(keep)
    for error in knowledge.measured.scored_sums() if knowledge.measured else ():
        builder.add_sums(error)
    for errors in knowledge.errors_of(SumErrors):
        for error in errors.sums:
            builder.add_sums(error)
    if means:
        for mean in knowledge.errors_of(MeanError):
            builder.add_mean(mean)
    for condition in masks:
        for unmatched in knowledge.errors_of(Unmatched):
            builder.add_unmatched(unmatched, condition)
    return builder.facts()


def smallest_groups(knowledge: Knowledge, name: str | None, averaged: str) -> tuple[int, ...]:
    """Return a lower bound on the number of used rows with a value of `averaged` in each group of a column.

    Without a column, all rows are one group. The bound comes from the table of the column, and of the averaged column if
    its values can be missing.
    """
    present = knowledge.release.by_name[averaged].present
    whole = present == len(knowledge.release.by_name[averaged].labels)
    if whole and name is None:
        return (knowledge.n,)
    names = {*([] if name is None else [name]), *([] if whole else [averaged])}
    columns = [column for column in knowledge.release.schema if column.name in names]
    bins = np.indices([len(column.labels) for column in columns])
    axis = {column.name: bins[index] for index, column in enumerate(columns)}
    present_cells = np.ones(bins.shape[1:], dtype=bool) if whole else axis[averaged] < present
    groups = (present_cells,) if name is None else tuple(group[axis[name]] & present_cells for group in knowledge.groups(name))
    masks = [mask.ravel() for mask in groups]
    facts = build_facts(knowledge, names, masks, means=False)
    lowest = (-maximum(facts, -mask[facts.representative].astype(float)).value for mask in masks)
    return tuple(max(0, math.ceil(value - 1e-6)) for value in lowest)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Numbers:
    """The (n_cells,) numbers of rows in a mean: representative values for released rows, the ends of the bins for used rows."""

    number: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


class _Builder:
    """Translates the statements of a release into limits on single cells, and constraints "weights . R <= limit"."""

    def __init__(self, knowledge: Knowledge, columns: Iterable[str], conditions: Sequence[np.ndarray], keep: str | None):
        self.knowledge, self.n = knowledge, knowledge.n
        release, names = knowledge.release, set(columns)
        self.places = tuple(i for i, column in enumerate(release.schema) if column.name in names)
        self.schema = tuple(release.schema[i] for i in self.places)
        self.names = tuple(column.name for column in self.schema)
        self.shape = tuple(len(column.labels) for column in self.schema)
        self.into = [np.arange(size) for size in self.shape]
        """For each column, the (n_bins,) index of the program's cell that contains the bin."""
        if math.prod(self.shape) > MAX_CELLS:
            self.into = [self._merged(axis, conditions, keep) for axis in range(len(self.shape))]
        self.sizes = tuple(int(into.max()) + 1 for into in self.into)
        self.axes = tuple(range(len(self.shape)))
        self.synthetic = self._sum(release.counts.marginal(self.places).astype(float), self.axes)
        self.smallest: dict[tuple[str | None, str], tuple[int, ...]] = {}
        self.kept = np.full(len(self.synthetic), True)
        self.low, self.high = np.zeros(len(self.synthetic)), np.full(len(self.synthetic), float(self.n))
        self.blocks: list[tuple[np.ndarray, np.ndarray]] = []  # (row of each cell, weight of each cell)
        self.limits: list[np.ndarray] = []

    def facts(self) -> Facts:
        first = [np.unique(into, return_index=True)[1] for into in self.into]
        return Facts(
            columns=self.names,
            synthetic=self.synthetic,
            representative=np.ravel_multi_index(np.ix_(*first), self.shape).ravel(),
            kept=self.kept,
            low=np.minimum(self.low, self.high),  # two limits cross, so one of them is wrong; the program stays solvable
            high=self.high,
            rows=self._matrix(),
            row_limits=np.concatenate([*self.limits, np.zeros(0)]),
        )

    def _merged(self, axis: int, conditions: Sequence[np.ndarray], keep: str | None) -> np.ndarray:
        """Return an (n_bins,) array with equal numbers for bins of a column that no condition and no group distinguishes."""
        name, n_bins = self.names[axis], self.shape[axis]
        if name == keep:
            return np.arange(n_bins)
        masks = [np.moveaxis(condition.reshape(self.shape), axis, 0).reshape(n_bins, -1) for condition in conditions]
        if keep is not None and any(error.column == keep and name in error.by for error in self.knowledge.errors_of(MeanError)):
            masks.append(np.array(self.knowledge.groups(name)).T)
        if not masks:
            return np.zeros(n_bins, dtype=np.int64)
        patterns = np.packbits(np.concatenate(masks, axis=1), axis=1)
        _, first, into = np.unique(patterns, axis=0, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[into.ravel()]  # numbered in the order of the bins

    def _sum(self, fine: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """Sum an array over merged bins, in the table of these columns (`axes`) of the linear program."""
        for position, axis in enumerate(axes):
            fine = with_merged_bins(np.asarray(fine, dtype=float), position, self.into[axis], self.sizes[axis])
        return fine.ravel()

    def add_cells(self) -> None:
        """Add limits on single cells, from the known errors of cells and from the rules for private rows."""
        empty = np.zeros(self.shape, dtype=bool)
        for rule in self.knowledge.raw_rules:
            forbidden = excluded(rule, self.schema)
            if forbidden is not None:
                empty |= forbidden
        for lowest, highest in self._limits_of(self.axes):
            low, high = self._sum(np.where(empty, 0.0, lowest), self.axes), self._sum(np.where(empty, 0.0, highest), self.axes)
            self.low, self.high = np.maximum(self.low, low), np.minimum(self.high, high)
        self.kept = self._sum((~empty).astype(float), self.axes) > 0
        self.high[~self.kept] = 0.0

    def add_sub_tables(self) -> None:
        """Add limits on the cells of tables with fewer columns, the smallest first, until the linear program would be too
        large.
        """
        tables = [chosen for size in range(1, len(self.schema)) for chosen in combinations(self.axes, size)]
        for axes in tables[: MAX_ENTRIES // (2 * len(self.synthetic))]:
            for lowest, highest in self._limits_of(axes):
                self._add_rows(self._cell_of(axes), 1.0, self._sum(highest, axes))
                self._add_rows(self._cell_of(axes), -1.0, -self._sum(lowest, axes))

    def _limits_of(self, axes: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield lower and upper limits on the counts of a table of these columns (`axes`), a pair for each statement.

        An absolute error of at most a gives |R - S| <= floor(n a), because counts are whole. A ratio of at most g gives (S
        + 1) / g <= R + 1 <= (S + 1) g.
        """
        synthetic = self.knowledge.release.counts.marginal([self.places[axis] for axis in axes]).astype(float)
        names = [self.names[axis] for axis in axes]
        for error in self.knowledge.errors_of(CellError):
            if error.holds_for(names):
                yield np.maximum(0.0, synthetic - error.rows), np.minimum(self.n, synthetic + error.rows)
        measured = self.knowledge.measured.cells(names) if self.knowledge.measured else None
        if measured is not None:
            yield measured
        if len(axes) == 1:
            for ratio in self.knowledge.errors_of(RatioError):
                lowest = np.ceil((synthetic + 1) / ratio.factor - 1 - 1e-9)
                yield np.maximum(0.0, lowest), np.floor((synthetic + 1) * ratio.factor - 1 + 1e-9)

    def add_first_bins(self) -> None:
        """Add limits on the rows in the first 1, 2, ... bins of each ordered column, unless these bins were merged with
        others.
        """
        for axis, name in enumerate(self.names):
            limits = self.knowledge.measured.first_bins(name) if self.knowledge.measured else None
            if limits is None:
                continue
            for last, (lowest, highest) in enumerate(zip(*limits, strict=True)):
                inside = self._in_bins(axis, np.arange(self.shape[axis]) <= last)
                if inside is not None:
                    self._add_sum(inside.astype(float), highest, lowest)

    def add_numbers(self, name: str) -> None:
        """Add limits from noisy tables on sums of a column's numbers over some rows, unless merged bins prevent it."""
        if self.knowledge.measured is None or self.sizes[self.names.index(name)] != self.shape[self.names.index(name)]:
            return
        bins = self._cell_of((self.names.index(name),))
        for number_sum in self.knowledge.measured.number_sums(name):
            cells: np.ndarray | None = np.ones(len(bins), dtype=bool)
            if not number_sum.inside.all():
                by = number_sum.by
                cells = self._in_bins(self.names.index(by), number_sum.inside) if by in self.names else None
            if cells is not None:
                self._add_sum(number_sum.steps[bins] * cells.astype(float), number_sum.high, number_sum.low)

    def add_sums(self, error: SumError) -> None:
        """Add limits on weighted sums of counts with known errors, if merged bins have equal weights."""
        if not set(error.columns) <= set(self.names):
            return
        axes = tuple(self.names.index(name) for name in error.columns)
        order = sorted(range(len(axes)), key=lambda position: axes[position])
        inside = tuple(axes[position] for position in order)
        cells = self._cell_of(inside)
        for weights, most in zip(error.weights, error.most, strict=True):
            fine = np.transpose(weights, order)
            bins = self._sum(np.ones(fine.shape), inside)
            merged = self._sum(fine, inside) / bins
            back = merged.reshape([self.sizes[axis] for axis in inside])[np.ix_(*(self.into[axis] for axis in inside))]
            if np.allclose(back, fine, rtol=0, atol=1e-12):
                self._add_sum(merged[cells], most + 1e-9 * self.n)  # the rounding of the sums is added

    def add_mean(self, error: MeanError) -> None:
        """Add limits from a criterion on means, if the averaged column is present with none of its bins merged.

        The means cover only rows with a value in the averaged column. The group of missing values is left out.
        """
        axis = self.names.index(error.column) if error.column in self.names else None
        if axis is None or self.sizes[axis] != self.shape[axis]:
            return
        bins, size = self._cell_of((axis,)), self.sizes[axis]
        numbers = np.array([number or 0.0 for number in self.schema[axis].numbers], dtype=float)
        numbers = numbers.clip(error.lowest, error.highest)
        lowest, highest = (np.append(limit, np.zeros(size - len(limit)))[bins] for limit in error.values)
        of_cells = _Numbers(number=numbers[bins], lowest=lowest, highest=highest)
        present = bins < self.schema[axis].present
        for name in error.by:
            if name in self.names:
                missing = self.schema[self.names.index(name)].missing
                for mask, smallest in zip(self.knowledge.groups(name), self._smallest(name, error.column), strict=True):
                    if missing is not None and mask[missing]:
                        continue
                    inside = self._in_bins(self.names.index(name), mask)
                    if inside is not None:
                        self._mean(of_cells, present & inside, smallest, error)
        if error.overall:
            self._mean(of_cells, present, self._smallest(None, error.column)[0], error)

    def _smallest(self, name: str | None, averaged: str) -> tuple[int, ...]:
        if (name, averaged) not in self.smallest:
            self.smallest[name, averaged] = smallest_groups(self.knowledge, name, averaged)
        return self.smallest[name, averaged]

    def _mean(self, numbers: _Numbers, cells: np.ndarray, smallest: int, error: MeanError) -> None:
        """Add limits from the known error of the mean of a group, of which R contains at least `smallest` rows.

        If a group has fewer than m rows, the criterion adds rows with the value w, the middle of its range, until there are
        m rows. Let mu be the mean in S, and e the limit. The sum of (value - mu - e) over the rows of R is at most 0 if the
        group has at least m rows in R; otherwise at most (m - size) max(0, mu + e - w). A row's value is at least the
        lowest value of its bin, so the sum of (lowest - mu - e) R(cell) over the cells has the same limit. The lower limits
        follow in the same way, with the highest values.
        """
        size = float(self.synthetic[cells].sum())
        if not size:
            return
        mean = float(self.synthetic[cells] @ numbers.number[cells]) / size
        middle = (error.lowest + error.highest) / 2
        filled_up_to = max(1, int(size) - math.ceil(error.size_margin * self.n))
        lacking = max(0, filled_up_to - smallest)
        rounding = 1e-9 * self.n * (1 + abs(mean))
        for sign in (1.0, -1.0):
            beyond = lacking * max(0.0, sign * (mean - middle) + error.most)
            nearest = numbers.lowest if sign > 0 else numbers.highest
            self._add_sum((sign * (nearest - mean) - error.most) * cells, beyond + rounding)

    def add_unmatched(self, unmatched: Unmatched, condition: np.ndarray) -> None:
        """Add limits on the number of used rows that meet a condition, from a criterion that limits how many rows have no
        similar partner.

        If a row of R meets the condition, it is unmatched, or its partner in S meets the condition or lies one step
        outside. If all cells similar to a row of S meet the condition, this row is unmatched, or its partner in R meets the
        condition.
        """
        inside = condition.reshape(self.shape)
        ignored = tuple(self.names.index(name) for name in unmatched.ignored if name in self.names)
        some, every = (np.broadcast_to(over(inside, axis=ignored, keepdims=True), self.shape) for over in (np.any, np.all))
        reach, core = some.copy(), every.copy()
        for name, allowed in unmatched.steps.items():
            if name in self.names:
                axis, step = self.names.index(name), np.array(allowed[:-1], dtype=bool)
                met, sure, wider, narrower = (np.moveaxis(table, axis, -1) for table in (some, every, reach, core))
                wider[..., 1:] |= met[..., :-1] & step
                wider[..., :-1] |= met[..., 1:] & step
                narrower[..., :-1] &= sure[..., 1:] | ~step
                narrower[..., 1:] &= sure[..., :-1] | ~step
        synthetic = self.knowledge.release.counts.marginal(self.places)
        weights = (self._sum(inside.astype(float), self.axes) > 0).astype(float)
        self._add_sum(weights, synthetic[reach].sum() + unmatched.rows, synthetic[core].sum() - unmatched.rows)

    def _cell_of(self, axes: tuple[int, ...]) -> np.ndarray:
        """Return, for each cell, the index of the cell that contains it in the table of these columns (`axes`)."""
        digits = np.unravel_index(np.arange(math.prod(self.sizes)), self.sizes)
        return np.ravel_multi_index([digits[axis] for axis in axes], [self.sizes[axis] for axis in axes])

    def _in_bins(self, axis: int, bins: np.ndarray) -> np.ndarray | None:
        """Return an (n_cells,) mask of the cells in these bins of a column, or None if the bins were merged with others."""
        into = self.into[axis]
        inside = np.bincount(into[bins], minlength=self.sizes[axis]) > 0
        return inside[self._cell_of((axis,))] if (inside[into] == bins).all() else None

    def _add_sum(self, weights: np.ndarray, highest: float, lowest: float | None = None) -> None:
        all_cells = np.zeros(len(weights), dtype=np.int64)
        self._add_rows(all_cells, weights, np.array([highest]))
        if lowest is not None:
            self._add_rows(all_cells, -weights, np.array([-lowest]))

    def _add_rows(self, row_of: np.ndarray, weights: np.ndarray | float, limits: np.ndarray) -> None:
        """Add upper limits on several weighted sums of R: cell c belongs to sum row_of[c], and sum i is at most limits[i]."""
        first = sum(len(earlier) for earlier in self.limits)
        self.blocks.append((row_of + first, np.broadcast_to(weights, row_of.shape)))
        self.limits.append(limits.astype(float))

    def _matrix(self) -> csr_array:
        from scipy.sparse import csr_array

        shape = (sum(len(limits) for limits in self.limits), len(self.synthetic))
        if not self.blocks:
            return csr_array(shape, dtype=float)
        rows, weights = (np.concatenate(parts) for parts in zip(*self.blocks, strict=True))
        cells = np.tile(np.arange(len(self.synthetic)), len(self.blocks))
        return csr_array((weights, (rows, cells)), shape=shape)
