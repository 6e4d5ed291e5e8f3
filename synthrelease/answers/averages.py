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

from synthrelease.answers.questions import Question, limits_of, numbers_of, over_cells, tells_values
from synthrelease.answers.tables import NoisyTables
from synthrelease.answers.words import Term
from synthrelease.data.marginals import spread_out
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import Noises, half_width

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
        """Both ends; everything that is possible where the denominator may be 0 as far as the noise tells.

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
        """The lower (0) or upper (1) ratio at which numerator - ratio * denominator is as large as its noise gets.

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
            ratio, before = (middle + (2 * which - 1) * math.sqrt(inside)) / square, ratio
            if abs(ratio - before) <= _CLOSE * abs(ratio - self.quotient):
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


def possible(covariance: np.ndarray) -> np.ndarray:
    """The nearest covariance matrix: noise can make an estimate of one have eigenvalues below 0, which become 0."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


# What a question counts in the cells of a table: rows, or for one about members the member in a slot of each root.
#
# The members that meet a condition are, added up over slots, the roots whose member there meets it; so whatever is a sum over
# rows is one over members as well, with noise of the same kind (theory 13.14, figures of members). Roots are what is drawn,
# and
# how alike the members of one root are tells how far off the drawing may be: tables that hold two slots tell it, and where
# none
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


def parts_of(tables: NoisyTables, asked: Question) -> list[Counted]:
    """What a share, mean or median is added up over: the rows, or the members of each slot.

    Raises
    ------
    InputError : where no table tells which members are there.
    """
    slots = range(len(asked.slots)) if asked.slots else (None,)
    return [
        counted(tables, part, part.columns, [part.column] if part.column else [], place)
        for part, place in zip(asked.parts, slots, strict=True)
    ]


def counted(tables: NoisyTables, asked: Question, names: Iterable[str], valued: Iterable[str], place: int | None) -> Counted:
    """The cells of some columns in which a row counts, or the member in a slot.

    Parameters
    ----------
    names : columns that the cells have; for members one more where it takes that to tell whether the member is there.
    valued : those of them in which what counts has a value.
    place : the slot, from 0; None for rows.
    """
    wanted, linked = set(names), tables.release.linked
    if linked is None or place is None:
        return _cells(tables, asked, wanted, valued)
    own = [name for name in linked.slots[place] if name in linked.needed]
    for more in (set[str](), {linked.size}, *({name} for name in own)):
        if not (wanted | more) or (more and not tables.number(wanted | more)):
            continue
        found = _cells(tables, asked, wanted | more, valued)
        low, high = (each.ravel() for each in linked.between(found.names, found.shape))
        there = low > place
        if not (found.counts & ~there & (high > place)).any():
            return Counted(asked=asked, columns=found.columns, counts=found.counts & there & (low <= high))
    told = " and ".join(map(repr, sorted(wanted)))
    raise InputError(
        f"{asked.text!r}: expected a published noisy table that tells which members are there, with {told} and "
        f"{linked.size!r}; found none."
    )


def _cells(tables: NoisyTables, asked: Question, names: Iterable[str], valued: Iterable[str]) -> Counted:
    columns = tables.columns(names)
    counts = asked.where.mask(columns).ravel()
    for name in valued:
        column = tables.release.by_name[name]
        counts = counts & over_cells(columns, name, np.arange(len(column.labels)) < column.present)
    return Counted(asked=asked, columns=columns, counts=counts)


def of_roots(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray], own: np.ndarray) -> np.ndarray:
    """(m, m) the sum over roots of v v', where v are m figures, added up over the members of a root; an upper estimate.

    With one part it is its own. The products of two slots are those of a table that holds both; otherwise, for any c > 0,
    v w' + w v' is at most c v v' + w w' / c.

    Parameters
    ----------
    figures : of each part (m, n_cells) what counts in its cells.
    own : (n_parts, m, m) the same sum over the members of each slot alone.
    """
    own = np.array([possible(each) for each in own])
    found: np.ndarray = own.sum(axis=0)
    for one, other in combinations(range(len(parts)), 2):
        if not (figures[one].any() and figures[other].any()):
            continue
        both = _of_both(tables, [parts[place] for place in (one, other)], [figures[place] for place in (one, other)])
        if both is None:
            times = float(np.sqrt(max(own[other].trace(), 1.0) / max(own[one].trace(), 1.0)))
            both = times * own[one] + own[other] / times
        found = found + both
    return possible(found)


def _of_both(tables: NoisyTables, parts: Sequence[Counted], figures: Sequence[np.ndarray]) -> np.ndarray | None:
    """(m, m) the sum over roots of v w' + w v', v and w the figures of two slots; None where no table holds both."""
    names = {name for part in parts for name in part.names}
    if not tables.number(names):
        return None
    columns = tables.columns(names)
    ordered, shape = [column.name for column in columns], [len(column.labels) for column in columns]
    first, second = (
        spread_out(each.reshape(len(each), *part.shape), part.names, ordered, shape).reshape(len(each), -1)
        for part, each in zip(parts, figures, strict=True)
    )
    products = (first[:, None] * second[None]).reshape(len(first) ** 2, -1)
    found = tables.sums(names, products).values.reshape(len(first), len(first))
    return np.asarray(found + found.T)


Ends = tuple[float, float, float, float]
"""The lower and upper end of an interval for the file, and of one for a population."""

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


def term_in(tables: NoisyTables, asked: Question, label: str, found: list[Average], level: float) -> Term:
    """The share, mean or median of one group."""
    if not asked.column:
        return _share(tables, found, label, level)
    column = replace(tables.release.by_name[asked.parts[0].column], name=asked.column)
    return (_mean if asked.kind == "mean" else _median)(column, label, found, level)


def groups(tables: NoisyTables, asked: Question) -> Iterator[tuple[str, list[Average]]]:
    """For all rows, for each bin of `by`, or for two groups: its label, and the average of each figure over its rows.

    About members it is the same, added up over slots.
    """
    ranges, parts = _ranges(tables, asked), parts_of(tables, asked)
    labels, bins = _bins(tables, asked, parts)
    middles = [(low + high) / 2 if asked.kind == "mean" else 0.0 for low, high in ranges]
    figures = [
        np.array(_figures(tables, part)) - np.array(middles).reshape(-1, 1) for part in parts
    ]  # for each part (n_figures, n_cells)
    for place, label in enumerate(labels):
        rows = [(part.counts & (own == place)).astype(float) for part, own in zip(parts, bins, strict=True)]
        found = [
            tables.sums(part.names, np.vstack([each, *(np.array([figure, figure**2]) * each for figure in of_part)]))
            for part, each, of_part in zip(parts, rows, figures, strict=True)
        ]
        values, weights = np.array([each.values for each in found]), sum(each.weights for each in found)
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
                step=0.0 if asked.kind == "mean" else 1.0,
                clustered=bool(asked.slots),
            )
            own = np.array([[squares, totals], [totals, values[:, 0]]]).transpose(2, 0, 1)
            if asked.slots:
                counted = [np.array([of_part[index] * each, each]) for of_part, each in zip(figures, rows, strict=True)]
                of_drawn = of_roots(tables, parts, counted, own)
            else:
                of_drawn = possible(own[0])
            sampling = of_drawn if asked.kind == "mean" else size * _SCORE * _design_effect(ratio, of_drawn, len(parts))
            drawn = replace(ratio, sampling=tables.kept.left_out * sampling)
            population = replace(ratio, sampling=sampling)
            averages.append(
                Average(file=drawn, population=population, middle=middle, squares=float(of_drawn[0, 0]), of_root=len(parts))
            )
        yield label, averages


def shares_of_bins(tables: NoisyTables, name: str) -> Iterator[Average]:
    """The share of each bin of a column among all rows: what `groups` gives for each, in time that does not grow with the bins.

    Only how many cells are alike is needed of the others. All rows are n, without noise.
    """
    n = float(tables.release.n_rows)
    for noisy in tables.single_bins(name):
        own = np.array([[noisy.value, noisy.value], [noisy.value, n]])
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
            population=replace(ratio, sampling=sampling),
            squares=float(possible(own)[0, 0]),
        )


def _bins(tables: NoisyTables, asked: Question, parts: Sequence[Counted]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """The groups that are asked for, and for each part (n_cells,) the group of a cell; -1 for none."""
    if not asked.groups:
        labels = tables.release.by_name[asked.parts[0].by].labels if asked.by else ("",)
        return labels, [
            over_cells(part.columns, part.asked.by, np.arange(len(labels))) if asked.by else np.zeros(len(part.counts))
            for part in parts
        ]
    labels, bins = tuple(group.text for group in asked.groups), []
    for part in parts:
        met = [group.mask(part.columns).ravel() for group in part.asked.groups]
        if (met[0] & met[1]).any():
            both = f"rows that meet {labels[0]!r} and {labels[1]!r}"
            raise InputError(f"{asked.text!r}: expected two groups without a row in both, found {both}.")
        bins.append(np.select(met, [0, 1], -1))
    return labels, bins


def _design_effect(share: Ratio, of_roots: np.ndarray, most: int) -> float:
    """How many times the variance of drawing roots is that of drawing as many members: between 1 and members of a root."""
    if most == 1:
        return 1.0
    of_members = share.denominator * share.quotient * (1 - share.quotient) if share.denominator > 0 else 0.0
    along = np.array([1.0, -share.quotient])
    return min(max(float(along @ of_roots @ along) / of_members, 1.0), float(most)) if of_members > 1 else float(most)


def _ranges(tables: NoisyTables, asked: Question) -> list[tuple[float, float]]:
    """The lowest and highest value of each figure (`_figures`)."""
    if not asked.column:
        return [(0.0, 1.0)]
    column = tables.release.by_name[asked.parts[0].column]
    if asked.kind == "median":
        return [(0.0, 1.0)] * (column.present - 1)
    return [(float(each.min()), float(each.max())) for each in _numbers(column)]


def _figures(tables: NoisyTables, part: Counted) -> list[np.ndarray]:
    """(n_cells,) each: what a row of each cell counts.

    Of a share 1 where the condition is met. Of a mean the number that stands for its bin; where this is not the value of every
    row in it, its lowest and its highest value as well. Of a median 1 where it lies in the first 1, 2, ... bins, without the
    last.
    """
    columns, asked = part.columns, part.asked
    if not asked.column:
        return [asked.met.mask(columns).ravel().astype(float)]
    column = tables.release.by_name[asked.column]
    of_bins = (
        _numbers(column) if asked.kind == "mean" else [np.arange(column.present) < cut for cut in range(1, column.present)]
    )
    absent = np.zeros(len(column.labels) - column.present)
    return [over_cells(columns, column.name, np.concatenate([values, absent]).astype(float)) for values in of_bins]


def _numbers(column: PublishedColumn) -> list[np.ndarray]:
    """The (n_present,) numbers that bins stand for, and the ends of their values where they are others and known."""
    ends = limits_of(column)
    if tells_values(column) or not np.isfinite(ends).all():
        return [numbers_of(column)]
    return [numbers_of(column), *ends]


def _share(tables: NoisyTables, found: list[Average], label: str, level: float) -> Term:
    [share] = found
    rows, low, high = counted_rows(tables, share, level)
    return replace(term_of("share", label, "", share, share.ends(level)), rows=rows, rows_low=low, rows_high=high)


def rows_of(tables: NoisyTables, share: Average, level: float) -> Term:
    """How many rows a share counts, with no more of it."""
    rows, low, high = counted_rows(tables, share, level)
    return Term(name="share", group="", unit="", rows=rows, rows_low=low, rows_high=high)


def counted_rows(tables: NoisyTables, share: Average, level: float) -> tuple[int | None, int, int]:
    """How many kept rows, or members, of the file are counted in the numerator: theory 13.10, numbers of the file, (b).

    Of n rows that are drawn from K, Y are counted, with noise. K is T less its own noise Z, so that T Y / n is off by Z Y / n,
    and by K / n times what the noise and the drawing put into Y: one more noise of known law.
    """
    kept, counted = tables.kept, share.file.numerator
    times, weights, drawing = _errors_of_a_count(tables, share)
    half = half_width(share.file.noises, weights, times**2 * drawing, level, times)
    counted = min(max(times * counted, 0.0), times * kept.drawn * share.of_root)
    least, most = (kept.number, kept.most) if kept.way == "stated" else (kept.drawn, kept.drawn)
    low, high = (counted - half) * least / kept.drawn, (counted + half) * most / kept.drawn
    rows, all_rows = round(counted), kept.most * share.of_root
    ends = 0 if kept.few else min(rows, max(0, math.ceil(low - 1e-9))), max(rows, min(all_rows, math.floor(high + 1e-9)))
    return (None if kept.way == "stated" else rows), *ends


def count_error(tables: NoisyTables, share: Average) -> float:
    """The standard error of such a number of rows, by its noise and the drawing."""
    times, weights, drawing = _errors_of_a_count(tables, share)
    return math.sqrt(float(share.file.noises.covariance(weights[None], weights[None])[0, 0]) + times**2 * drawing)


def _errors_of_a_count(tables: NoisyTables, share: Average) -> tuple[float, np.ndarray, float]:
    """The number of kept rows for each one drawn, the weights of the noises, and the variance of the number that is drawn."""
    kept, ratio = tables.kept, share.file
    part = min(max(ratio.numerator / kept.drawn, 0.0), float(share.of_root))
    if share.of_root == 1:
        likely = (part * kept.drawn + 1) / (kept.drawn + 2)  # none among those drawn does not tell that there is none
        spread = kept.drawn * likely * (1 - likely)
    else:
        spread = max(share.squares - kept.drawn * part**2, 0.0) + share.of_root**2
    times = 1.0 if kept.way == "stated" else kept.number / kept.drawn
    weights = times * ratio.weights[0]
    weights[-1] = part
    return times, weights, kept.left_out * spread


def _mean(column: PublishedColumn, label: str, found: list[Average], level: float) -> Term:
    """The mean of the numbers that stand for bins, with the interval for that of the values themselves.

    The mean of the values lies between that of the lowest values of their bins and that of the highest. Each end of its
    interval is that of one of these two (theory 13.11, values in bins). Where a sum of the values themselves was measured, its
    ratio would take the place of all three.
    """
    by_number, *by_ends = found
    ends = by_number.ends(level)
    if tells_values(column):
        return term_of(column.name, label, column.unit, by_number, ends)
    lowest, highest = (each.ends(level) for each in by_ends) if by_ends else (OPEN, OPEN)
    values = (lowest[0], highest[1], lowest[2], highest[3])
    return replace(
        term_of(column.name, label, column.unit, by_number, values),
        binned_low=known(ends[0]),
        binned_high=known(ends[1]),
        population_binned_low=known(ends[2]),
        population_binned_high=known(ends[3]),
    )


def _median(column: PublishedColumn, label: str, found: list[Average], level: float) -> Term:
    """The bin that holds the median, and the bins between which it lies: theory 13.11, values in bins, (b).

    found : the shares of rows in the first 1, 2, ... bins.
    """
    bins, empty = range(column.present), any(not share.file.denominator > 0 for share in found)
    middle = next((bin_ for bin_, share in zip(bins, found, strict=False) if share.file.estimate >= 0.5), column.present - 1)

    ends = [_ends(share, level) for share in found]

    def between(low: int, high: int) -> tuple[int, int]:
        first = next((bin_ for bin_, each in zip(bins, ends, strict=False) if each[high] >= 0.5), column.present - 1)
        last = next((bin_ for bin_ in reversed(bins[1:]) if ends[bin_ - 1][low] <= 0.5), 0)
        return min(first, last), max(first, last)

    (first, last), (population_first, population_last) = between(0, 1), between(2, 3)
    numbered = None not in column.numbers[: column.present]
    lows, highs = limits_of(column) if numbered else (np.full(column.present, np.nan),) * 2
    number = column.numbers[middle]
    return Term(
        name=column.name,
        group=label,
        unit=column.unit,
        estimate=None if empty or number is None else number,
        low=known(float(lows[first])),
        high=known(float(highs[last])),
        population_low=known(float(lows[population_first])),
        population_high=known(float(highs[population_last])),
        bins=(column.labels[first], "" if empty else column.labels[middle], column.labels[last]),
    )


def _ends(share: Average, level: float) -> Ends:
    found = share.population
    if found.denominator > 0 and abs(found.estimate - 0.5) > _FAR * found.standard_error:
        return (found.estimate,) * 4
    return share.ends(level)


def term_of(name: str, group: str, unit: str, shown: Average, ends: Ends) -> Term:
    low, high, population_low, population_high = (known(end) for end in ends)
    return Term(
        name=name,
        group=group,
        unit=unit,
        estimate=known(shown.file.estimate + shown.middle),
        standard_error=known(shown.file.standard_error),
        low=low,
        high=high,
        population_standard_error=known(shown.population.standard_error),
        population_low=population_low,
        population_high=population_high,
    )


def known(number: float) -> float | None:
    """A number; None where it has no end."""
    return float(number) if math.isfinite(number) else None
