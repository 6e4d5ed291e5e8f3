"""Shares, counts, means, medians and ratios of noisy sums.

Shares, means and medians from noisy sums, each with its error for the file and for a population.

The noisy sums are about rows that are drawn from those of the file that the rules keep. The drawing adds a normal error to
that of the noise: the part of the rows that was left out, times the variance of a sample from a population (theory 13.10,
numbers of the file). What is said of the file's own values, and not of the numbers that stand for
their bins, also leaves room for where in its bin each value lies (theory 13.11, values in bins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from synthrelease.answers.questions import Condition, Question, numbers_of, over_cells, tells_values
from synthrelease.answers.tables import NoisyTables
from synthrelease.answers.words import BINNED_INTERVAL, Ends, Term, known
from synthrelease.data.marginals import spread_out
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import Noises, half_width
from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import NotSample

# An interval of a ratio of two noisy sums: all ratios that their noise does not contradict (theory 13.8, measured ratios).

_REPEATS = 3
"""How often at most the quantile is computed anew at the end that it led to."""

_CLOSE = 1e-6
"""Of the way from the estimate: an end that moved by less stands."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratio:
    """numerator / denominator, each a sum over the rows plus noise.

    Attributes
    ----------
    numerator, denominator : values with their noise.
    weights : (2, n_noises) of the noises in numerator and denominator.
    sampling : (2, 2) covariance matrix of both sums over draws of the rows that they are sums over; 0 where these are meant.
    lowest, highest : what the ratio can be.
    step : of the lattice of the numerator: 1 where rows are counted.
    clustered : whether what is drawn at once, the members of a root, may be counted in this ratio and in another one.
    """

    numerator: float
    denominator: float
    weights: np.ndarray
    noises: Noises
    lowest: float = -math.inf
    highest: float = math.inf
    sampling: np.ndarray = field(default_factory=lambda: np.zeros((2, 2)))
    step: float = 0.0
    clustered: bool = False

    @property
    def estimate(self) -> float:
        """NaN where the denominator is not above 0."""
        return float(np.clip(self.quotient, self.lowest, self.highest))

    @property
    def standard_error(self) -> float:
        """By the delta method; NaN where the denominator is not above 0."""
        return math.sqrt(self._variance(self.quotient)) / self.denominator if self.denominator > 0 else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return both ends; everything that is possible where the denominator may be 0 as far as the noise tells.

        Where no possible ratio is left the noise was beyond its limits. The interval then begins at the possible ratio that is
        nearest, and is as long as it was on that side: more than nothing.
        """
        if not self.denominator > 0:
            return self.lowest, self.highest
        first = self._half_width(confidence, self.quotient)
        low, high = self._end(confidence, 0, first), self._end(confidence, 1, first)
        nearest = self.estimate - self.quotient
        if low > self.highest:
            low += nearest
        if high < self.lowest:
            high += nearest
        return max(low, self.lowest), min(high, self.highest)

    @property
    def quotient(self) -> float:
        """The estimate, also where it is beyond what is possible; NaN where the denominator is not above 0."""
        return self.numerator / self.denominator if self.denominator > 0 else math.nan

    def _end(self, confidence: float, which: int, width: float) -> float:
        """Return the lower (0) or upper (1) ratio at which numerator - ratio * denominator is as large as its noise gets.

        Parameters
        ----------
        width : as large as that noise gets at the estimate, where the search begins.
        """
        ratio = self.quotient
        covariance = self._covariance
        for repeat in range(_REPEATS):
            spread = self._variance(ratio)
            if not spread > 0:
                return ratio
            width = self._half_width(confidence, ratio) if repeat else width
            factor = width**2 / spread
            square = self.denominator**2 - factor * covariance[1, 1]
            middle = self.numerator * self.denominator - factor * covariance[0, 1]
            constant = self.numerator**2 - factor * covariance[0, 0]
            inside = middle**2 - square * constant
            if not (square > 0 and inside >= 0):
                return math.inf if which else -math.inf
            ratio, previous = (middle + (2 * which - 1) * math.sqrt(inside)) / square, ratio
            if abs(ratio - previous) <= _CLOSE * abs(ratio - self.quotient):
                break
        return ratio

    def _half_width(self, confidence: float, ratio: float) -> float:
        """Of the noise of numerator - ratio * denominator."""
        along = np.array([1.0, -ratio])
        normal = max(0.0, float(along @ self.sampling @ along))
        return half_width(self.noises, along @ self.weights, normal, confidence, self.step)

    @property
    def _covariance(self) -> np.ndarray:
        return np.asarray(self.noises.covariance(self.weights, self.weights) + self.sampling)

    def _variance(self, ratio: float) -> float:
        """Of numerator - ratio * denominator."""
        along = np.array([1.0, -ratio])
        return max(0.0, float(along @ self._covariance @ along))


SEVERAL: NotSample = "several rows of a person"


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the rows of the file were drawn from a population, as far as an answer rests on it.

    Attributes
    ----------
    reasons : why the answer has no interval for a population; empty where it has one.
    effect : the design effect: how many times the variance is that of a simple random sample of as many rows.
    not_drawn : the part of the population that is not among the rows of the noisy tables: 1 where its size is not stated.
    """

    reasons: tuple[NotSample, ...]
    effect: float
    not_drawn: float

    @classmethod
    def of(cls, question: Question, release: PublishedRelease) -> Sampling:
        """Return what the release states of its design, for the columns whose share, mean, median or slope is asked for."""
        reasons, effect, design = list(release.not_a_sample), 1.0, release.design
        if design is not None:
            stated = design.effect_on({*question.met.columns, *filter(None, (question.column, *question.on))})
            if stated is None and design.clusters is not None and "clusters" not in reasons:
                reasons.append("clusters")
            effect = stated or 1.0
        drawn = release.n_rows / release.population if release.population else 0.0
        return cls(reasons=tuple(reasons), effect=effect, not_drawn=max(0.0, 1 - drawn))

    @property
    def factor(self) -> float:
        """How many times the variance of drawing the rows is that of a simple random sample from a large population."""
        return self.effect * self.not_drawn


def possible(covariance: np.ndarray) -> np.ndarray:
    """Return the nearest covariance matrix: noise can make an estimate of one have eigenvalues below 0, which become 0."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


# What a question counts in the cells of a table: rows, or for one about members the member in a slot of each root.
#
# The members that meet a condition are, added up over slots, the roots whose member there meets it; so whatever is a sum over
# rows is one over members as well, with noise of the same kind (theory 13.14, figures of members). Roots are what is drawn, and
# how alike the members of one root are tells how far off the drawing may be: tables that hold two slots tell it, and where none
# does, members are taken to be as alike as can be.


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """The cells in which a question counts rows, or the members of one slot.

    Attributes
    ----------
    asked : the question; about members that of the slot, in the columns of wide rows.
    columns : of the cells, in the order of the release.
    counts : (n_cells,) whether what is in them counts.
    """

    asked: Question
    columns: tuple[PublishedColumn, ...]
    counts: np.ndarray

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [column.name for column in self.columns]

    @property
    def shape(self) -> list[int]:
        """Numbers of bins of the columns."""
        return [len(column.labels) for column in self.columns]


def parts_of(tables: NoisyTables, question: Question) -> list[Counted]:
    """Return what a share, mean or median is added up over: the rows, or the members of each slot.

    Raises
    ------
    InputError : where no table tells which members are there.
    """
    slots = range(len(question.slots)) if question.slots else (None,)
    return [
        counted(tables, part, part.columns, [part.column] if part.column else [], slot)
        for part, slot in zip(question.parts, slots, strict=True)
    ]


def counted(tables: NoisyTables, question: Question, names: Iterable[str], valued: Iterable[str], slot: int | None) -> Counted:
    """Return the cells of some columns in which a row counts, or the member in a slot.

    Parameters
    ----------
    names : columns that the cells have; for members one more where it takes that to tell whether the member is there.
    valued : those of them in which what counts has a value.
    slot : the slot, from 0; None for rows.
    """
    needed, linked = set(names), tables.release.linked
    if linked is None or slot is None:
        return _cells(tables, question, needed, valued)
    own_columns = [name for name in linked.slots[slot] if name in linked.needed]
    for further in (set[str](), {linked.size}, *({name} for name in own_columns)):
        if not (needed | further) or (further and not tables.number(needed | further)):
            continue
        cells = _cells(tables, question, needed | further, valued)
        low, high = (numbers_of_members.ravel() for numbers_of_members in linked.between(cells.names, cells.shape))
        is_member = low > slot
        if not (cells.counts & ~is_member & (high > slot)).any():
            return Counted(asked=question, columns=cells.columns, counts=cells.counts & is_member & (low <= high))
    columns_named = " and ".join(map(repr, sorted(needed)))
    raise InputError(
        f"{question.text!r}: expected a published noisy table that tells which members are there, with {columns_named} and "
        f"{linked.size!r}; found none."
    )


def _cells(tables: NoisyTables, question: Question, names: Iterable[str], valued: Iterable[str]) -> Counted:
    columns = tables.columns(names)
    counts = question.where.mask(columns).ravel()
    for name in valued:
        column = tables.release.by_name[name]
        counts = counts & over_cells(columns, name, np.arange(len(column.labels)) < column.present)
    return Counted(asked=question, columns=columns, counts=counts)


def of_roots(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray], own_sums: np.ndarray) -> np.ndarray:
    """Return the (m, m) sum over roots of v v', where v are m figures, added up over the members of a root; an upper estimate.

    With one part it is its own. The products of two slots are those of a table that holds both; otherwise, for any c > 0,
    v w' + w v' is at most c v v' + w w' / c.

    Parameters
    ----------
    figures : of each part (m, n_cells) what counts in its cells.
    own_sums : (n_parts, m, m) the same sum over the members of each slot alone.
    """
    own_sums = np.array([possible(matrix) for matrix in own_sums])
    total: np.ndarray = own_sums.sum(axis=0)
    for first, second in combinations(range(len(parts)), 2):
        if not (figures[first].any() and figures[second].any()):
            continue
        products = _of_both(tables, [parts[index] for index in (first, second)], [figures[index] for index in (first, second)])
        if products is None:
            times = float(np.sqrt(max(own_sums[second].trace(), 1.0) / max(own_sums[first].trace(), 1.0)))
            products = times * own_sums[first] + own_sums[second] / times
        total = total + products
    return possible(total)


def _of_both(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the (m, m) sum over roots of v w' + w v', v and w the figures of two slots; None where no table holds both."""
    names = {name for part in parts for name in part.names}
    if not tables.number(names):
        return None
    columns = tables.columns(names)
    ordered, shape = [column.name for column in columns], [len(column.labels) for column in columns]
    first, second = (
        spread_out(figure.reshape(len(figure), *part.shape), part.names, ordered, shape).reshape(len(figure), -1)
        for part, figure in zip(parts, figures, strict=True)
    )
    products = (first[:, None] * second[None]).reshape(len(first) ** 2, -1)
    sums = tables.sums(names, products).values.reshape(len(first), len(first))
    return np.asarray(sums + sums.T)


OPEN: Ends = (-math.inf, math.inf, -math.inf, math.inf)

_SCORE = np.array([[0.0, -0.5], [-0.5, -1.0]])
"""Of a share x of N drawn rows: along (1, -x) it is x (1 - x), whatever share the noisy tables have (Wilson 1927)."""

_FAR = 12.0
"""Standard errors: a share that is further from 1/2 decides which bin the median is in, whatever its exact interval is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Average:
    """A share or mean over some rows, by one number for each cell.

    Attributes
    ----------
    file, population : the ratio of the same two noisy sums, with the error of drawing the rows from the file's, and with that
        of drawing them from a population.
    middle : what was taken off the numbers.
    squares : about how large the sum of squares of the numerator is over the drawn rows: of members, over their roots.
    of_root : how much a row can add to the denominator at most: 1, or the members of a root.
    """

    file: Ratio
    population: Ratio
    middle: float = 0.0
    squares: float = 0.0
    of_root: int = 1

    def ends(self, level: float) -> Ends:
        """Of both intervals. That of the population is never inside that of the file, which is drawn from it."""
        low, high = (end + self.middle for end in self.file.interval(level))
        population_low, population_high = (end + self.middle for end in self.population.interval(level))
        return low, high, min(low, population_low), max(high, population_high)


def term_in(tables: NoisyTables, question: Question, label: str, averages: list[Average], level: float) -> Term:
    """Return the share, mean or median of one group."""
    if not question.column:
        return _share(tables, averages, label, level)
    column = replace(tables.release.by_name[question.parts[0].column], name=question.column)
    return (_mean if question.kind == "mean" else _median)(column, label, averages, level)


def groups(tables: NoisyTables, question: Question) -> Iterator[tuple[str, list[Average]]]:
    """For all rows, for each bin of `by`, or for two groups: its label, and the average of each figure over its rows.

    About members it is the same, added up over slots.
    """
    ranges, parts, drawn = _ranges(tables, question), parts_of(tables, question), Sampling.of(question, tables.release)
    labels, bins = _bins(tables, question, parts)
    middles = [(low + high) / 2 if question.kind == "mean" else 0.0 for low, high in ranges]
    figures = [
        np.array(_figures(tables, part)) - np.array(middles).reshape(-1, 1) for part in parts
    ]  # for each part (n_figures, n_cells)
    for group, label in enumerate(labels):
        rows = [(part.counts & (group_of == group)).astype(float) for part, group_of in zip(parts, bins, strict=True)]
        sums = [
            tables.sums(part.names, np.vstack([rows_in, *(np.array([figure, figure**2]) * rows_in for figure in of_part)]))
            for part, rows_in, of_part in zip(parts, rows, figures, strict=True)
        ]
        values, weights = np.array([rows_in.values for rows_in in sums]), sum(rows_in.weights for rows_in in sums)
        size = float(values[:, 0].sum())
        if not (size > 0 or weights[0].any()):  # type: ignore[index]
            continue  # no row can be in it
        averages = []
        for index, (middle, (low, high)) in enumerate(zip(middles, ranges, strict=True)):
            totals, squares = values[:, 1 + 2 * index], values[:, 2 + 2 * index]
            ratio = Ratio(
                numerator=float(totals.sum()),
                denominator=size,
                weights=weights[[1 + 2 * index, 0]],  # type: ignore[index]
                noises=tables.noises,
                lowest=low - middle,
                highest=high - middle,
                step=0.0 if question.kind == "mean" else 1.0,
                clustered=bool(question.slots),
            )
            second_moments = np.array([[squares, totals], [totals, values[:, 0]]]).transpose(2, 0, 1)
            if question.slots:
                counted = [
                    np.array([of_part[index] * rows_in, rows_in]) for of_part, rows_in in zip(figures, rows, strict=True)
                ]
                of_drawn = of_roots(tables, parts, counted, second_moments)
            else:
                of_drawn = possible(second_moments[0])
            sampling = of_drawn if question.kind == "mean" else size * _SCORE * _design_effect(ratio, of_drawn, len(parts))
            of_file = replace(ratio, sampling=tables.kept.left_out * sampling)
            population = replace(ratio, sampling=drawn.factor * sampling)
            averages.append(
                Average(file=of_file, population=population, middle=middle, squares=float(of_drawn[0, 0]), of_root=len(parts))
            )
        yield label, averages


def shares_of_bins(tables: NoisyTables, name: str) -> Iterator[Average]:
    """Yield the share of each bin of a column among all rows: what `groups` gives for each, in time that does not grow with the
    bins.

    Only how many cells are alike is needed of the others. All rows are n, without noise.
    """
    n, every = float(tables.release.n_rows), Condition(text="", rule=None)
    drawn = Sampling.of(Question(kind="share", text="", column=name, met=every, where=every), tables.release)
    for noisy in tables.single_bins(name):
        second_moments = np.array([[noisy.value, noisy.value], [noisy.value, n]])
        ratio = Ratio(
            numerator=noisy.value,
            denominator=n,
            weights=np.array([noisy.weights, np.zeros(len(noisy.weights))]),
            noises=noisy.noises,
            lowest=0.0,
            highest=1.0,
            step=1.0,
        )
        sampling = n * _SCORE
        yield Average(
            file=replace(ratio, sampling=tables.kept.left_out * sampling),
            population=replace(ratio, sampling=drawn.factor * sampling),
            squares=float(possible(second_moments)[0, 0]),
        )


def _bins(tables: NoisyTables, question: Question, parts: Sequence[Counted]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the groups that are asked for, and for each part (n_cells,) the group of a cell; -1 for none."""
    if not question.groups:
        labels = tables.release.by_name[question.parts[0].by].labels if question.by else ("",)
        return labels, [
            over_cells(part.columns, part.asked.by, np.arange(len(labels))) if question.by else np.zeros(len(part.counts))
            for part in parts
        ]
    labels, bins = tuple(group.text for group in question.groups), []
    for part in parts:
        met = [group.mask(part.columns).ravel() for group in part.asked.groups]
        if (met[0] & met[1]).any():
            overlap = f"rows that meet {labels[0]!r} and {labels[1]!r}"
            raise InputError(f"{question.text!r}: expected two groups without a row in both, found {overlap}.")
        bins.append(np.select(met, [0, 1], -1))
    return labels, bins


def _design_effect(share: Ratio, of_roots: np.ndarray, most: int) -> float:
    """Return how many times the variance of drawing roots is that of drawing as many members: between 1 and members of
    a root."""
    if most == 1:
        return 1.0
    of_members = share.denominator * share.quotient * (1 - share.quotient) if share.denominator > 0 else 0.0
    along = np.array([1.0, -share.quotient])
    return min(max(float(along @ of_roots @ along) / of_members, 1.0), float(most)) if of_members > 1 else float(most)


def _ranges(tables: NoisyTables, question: Question) -> list[tuple[float, float]]:
    """Return the lowest and highest value of each figure (`_figures`)."""
    if not question.column:
        return [(0.0, 1.0)]
    column = tables.release.by_name[question.parts[0].column]
    if question.kind == "median":
        return [(0.0, 1.0)] * (column.present - 1)
    return [(float(values.min()), float(values.max())) for values in _numbers(column)]


def _figures(tables: NoisyTables, part: Counted) -> list[np.ndarray]:
    """Return (n_cells,) each: what a row of each cell counts.

    Of a share 1 where the condition is met. Of a mean the number that stands for its bin; where this is not the value of every
    row in it, its lowest and its highest value as well. Of a median 1 where it lies in the first 1, 2, ... bins, without the
    last.
    """
    columns, question = part.columns, part.asked
    if not question.column:
        return [question.met.mask(columns).ravel().astype(float)]
    column = tables.release.by_name[question.column]
    of_bins = (
        _numbers(column) if question.kind == "mean" else [np.arange(column.present) < cut for cut in range(1, column.present)]
    )
    absent = np.zeros(len(column.labels) - column.present)
    return [over_cells(columns, column.name, np.concatenate([values, absent]).astype(float)) for values in of_bins]


def _numbers(column: PublishedColumn) -> list[np.ndarray]:
    """Return the (n_present,) numbers that bins stand for, and the ends of their values where they are others and known."""
    ends = column.value_limits
    if tells_values(column) or not np.isfinite(ends).all():
        return [numbers_of(column)]
    return [numbers_of(column), *ends]


def _share(tables: NoisyTables, shares: list[Average], label: str, level: float) -> Term:
    [share] = shares
    rows, low, high = counted_rows(tables, share, level)
    return replace(term_of("share", label, "", share, share.ends(level)), rows=rows, rows_low=low, rows_high=high)


def rows_of(tables: NoisyTables, share: Average, level: float) -> Term:
    """Return how many rows a share counts, with no more of it."""
    rows, low, high = counted_rows(tables, share, level)
    return Term(name="share", group="", unit="", rows=rows, rows_low=low, rows_high=high)


def counted_rows(tables: NoisyTables, share: Average, level: float) -> tuple[int | None, int, int]:
    """Return how many kept rows, or members, of the file are counted in the numerator: theory 13.10, numbers of the file, (b).

    Of n rows that are drawn from K, Y are counted, with noise. K is T less its own noise Z, so that T Y / n is off by Z Y / n,
    and by K / n times what the noise and the drawing put into Y: one more noise of known law.
    """
    kept_rows, counted = tables.kept, share.file.numerator
    times, weights, drawing = _errors_of_a_count(tables, share)
    half = half_width(share.file.noises, weights, times**2 * drawing, level, times)
    counted = min(max(times * counted, 0.0), times * kept_rows.drawn * share.of_root)
    fewest, largest = (kept_rows.number, kept_rows.most) if kept_rows.way == "stated" else (kept_rows.drawn, kept_rows.drawn)
    low, high = (counted - half) * fewest / kept_rows.drawn, (counted + half) * largest / kept_rows.drawn
    rows, all_rows = round(counted), kept_rows.most * share.of_root
    ends = 0 if kept_rows.few else min(rows, max(0, math.ceil(low - 1e-9))), max(rows, min(all_rows, math.floor(high + 1e-9)))
    return (None if kept_rows.way == "stated" else rows), *ends


def count_error(tables: NoisyTables, share: Average) -> float:
    """Return the standard error of such a number of rows, by its noise and the drawing."""
    times, weights, drawing = _errors_of_a_count(tables, share)
    return math.sqrt(float(share.file.noises.covariance(weights[None], weights[None])[0, 0]) + times**2 * drawing)


def _errors_of_a_count(tables: NoisyTables, share: Average) -> tuple[float, np.ndarray, float]:
    """Return the number of kept rows for each one drawn, the weights of the noises, and the variance of the number that is
    drawn."""
    kept_rows, ratio = tables.kept, share.file
    part = min(max(ratio.numerator / kept_rows.drawn, 0.0), float(share.of_root))
    if share.of_root == 1:
        likely = (part * kept_rows.drawn + 1) / (kept_rows.drawn + 2)  # none among those drawn does not tell that there is none
        spread = kept_rows.drawn * likely * (1 - likely)
    else:
        spread = max(share.squares - kept_rows.drawn * part**2, 0.0) + share.of_root**2
    times = 1.0 if kept_rows.way == "stated" else kept_rows.number / kept_rows.drawn
    weights = times * ratio.weights[0]
    weights[-1] = part
    return times, weights, kept_rows.left_out * spread


def _mean(column: PublishedColumn, label: str, averages: list[Average], level: float) -> Term:
    """Return the mean of the numbers that stand for bins, with the interval for that of the values themselves.

    The mean of the values lies between that of the lowest values of their bins and that of the highest. Each end of its
    interval is that of one of these two (theory 13.11, values in bins). Where a sum of the values themselves was measured, its
    ratio would take the place of all three.
    """
    by_number, *by_ends = averages
    ends = by_number.ends(level)
    if tells_values(column):
        return term_of(column.name, label, column.unit, by_number, ends)
    lowest, highest = (average.ends(level) for average in by_ends) if by_ends else (OPEN, OPEN)
    values = (lowest[0], highest[1], lowest[2], highest[3])
    return term_of(column.name, label, column.unit, by_number, values).within(ends, BINNED_INTERVAL)


def _median(column: PublishedColumn, label: str, shares: list[Average], level: float) -> Term:
    """Return the bin that holds the median, and the bins between which it lies: theory 13.11, values in bins, (b).

    shares : the shares of rows in the first 1, 2, ... bins.
    """
    bins, empty = range(column.present), any(not share.file.denominator > 0 for share in shares)
    middle = next((bin_ for bin_, share in zip(bins, shares, strict=False) if share.file.estimate >= 0.5), column.present - 1)

    ends = [_ends(share, level) for share in shares]

    def between(low: int, high: int) -> tuple[int, int]:
        first = next((bin_ for bin_, interval in zip(bins, ends, strict=False) if interval[high] >= 0.5), column.present - 1)
        last = next((bin_ for bin_ in reversed(bins[1:]) if ends[bin_ - 1][low] <= 0.5), 0)
        return min(first, last), max(first, last)

    (first, last), (population_first, population_last) = between(0, 1), between(2, 3)
    numbered = None not in column.numbers[: column.present]
    lows, highs = column.value_limits if numbered else (np.full(column.present, np.nan),) * 2
    number = column.numbers[middle]
    return Term(
        name=column.name,
        group=label,
        unit=column.unit,
        estimate=None if empty or number is None else number,
        bins=(column.labels[first], "" if empty else column.labels[middle], column.labels[last]),
    ).within((lows[first], highs[last], lows[population_first], highs[population_last]))


def _ends(share: Average, level: float) -> Ends:
    ratio = share.population
    if ratio.denominator > 0 and abs(ratio.estimate - 0.5) > _FAR * ratio.standard_error:
        return (ratio.estimate,) * 4
    return share.ends(level)


def term_of(name: str, group: str, unit: str, average: Average, ends: Ends) -> Term:
    """Return a share, mean or slope with its errors and the interval that is shown."""
    return Term(
        name=name,
        group=group,
        unit=unit,
        estimate=known(average.file.estimate + average.middle),
        standard_error=known(average.file.standard_error),
        population_standard_error=known(average.population.standard_error),
    ).within(ends)
