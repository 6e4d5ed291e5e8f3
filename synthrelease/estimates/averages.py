"""Shares, means and medians from noisy sums, each with its error for the file and for a population.

The noisy sums are about rows that are drawn from those of the file that the rules keep. The drawing adds a normal error to
that of the noise: the part of the rows that was left out, times the variance of a sample from a population (theory 13.10,
numbers of the file). What is said of the file's own values, and not of the numbers that stand for
their bins, also leaves room for where in its bin each value lies (theory 13.11, values in bins).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.bounds.conditions import over_cells
from synthrelease.bounds.questions import Question
from synthrelease.bounds.values import limits_of, numbers_of, tells_values
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.estimates.counted import Counted, of_roots, parts_of
from synthrelease.estimates.ratios import Ratio, possible
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Term
from synthrelease.generators.measured_noise import half_width

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
