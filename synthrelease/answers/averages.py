"""Estimate shares, counts, means, medians and ratios from noisy sums, with errors for the file and for a population.

The noisy sums describe a random sample of the rows of the file that the rules keep. Drawing this sample causes a normally
distributed error. Its variance is the variance of a sample from a population, times the share of the kept rows that were
not drawn (theory 13.10, numbers of the file). Intervals for exact values also allow for the unknown position of each value
in its bin (theory 13.11, values in bins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from synthrelease.answers.questions import Condition, Question, numbers_of, over_cells, tells_values
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import BINNED_INTERVAL, Ends, Term, known
from synthrelease.data.marginals import spread_out
from synthrelease.data.questions import QUANTILES
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import Noises, SharedNoise, half_width
from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import NotSample

# The interval of a ratio of two noisy sums contains all ratios that are compatible with the noise of the sums (theory 13.8,
# measured ratios).

_REPEATS = 3  # Largest number of times that the end of an interval is computed again with a new quantile

_CLOSE = 1e-6  # The iteration stops when the distance from the estimate changes by less than this share


_CANCELLED = 1e-11  # Relative size below which a variance is treated as rounding error


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratio:
    """The ratio of two noisy sums over rows, such as a share, with its error.

    Attributes
    ----------
    numerator, denominator : the two noisy sums.
    weights : (2, n_noises) coefficients of each noise term in the numerator and in the denominator.
    sampling : (2, 2) covariance matrix of the two sums under the random drawing of rows, or 0 if the ratio describes only
        the drawn rows.
    lowest, highest : the smallest and the largest possible ratio.
    step : smallest difference between two possible values of the numerator: 1 for counts of rows.
    clustered : whether two such ratios may count different members of the same root, such as the persons of a household,
        who are drawn together.
    between : the (n_groups,) values numerator - ratio * denominator of random groups of clusters, if `sampling` is
        estimated from them; otherwise empty.
    """

    numerator: float
    denominator: float
    weights: np.ndarray
    noises: Noises | SharedNoise
    lowest: float = -math.inf
    highest: float = math.inf
    sampling: np.ndarray = field(default_factory=lambda: np.zeros((2, 2)))
    step: float = 0.0
    clustered: bool = False
    between: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def estimate(self) -> float:
        return float(np.clip(self.quotient, self.lowest, self.highest))

    @property
    def standard_error(self) -> float:
        """The standard error of the ratio by the delta method, or NaN if the denominator is not positive."""
        return math.sqrt(self._variance(self.quotient)) / self.denominator if self.denominator > 0 else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends of the confidence interval, which is the whole possible range if noise could explain a
        denominator of 0.

        If the computed interval lies outside the possible range, its closer end is moved to the closest possible ratio, so
        that the interval is never empty.
        """
        if not self.denominator > 0:
            return self.lowest, self.highest
        if len(self.between):
            known = replace(self, sampling=self.sampling * _wider(len(self.between) - 1, confidence), between=np.zeros(0))
            return known.interval(confidence)
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
        """The ratio without limits on its range, or NaN if the denominator is not positive."""
        return self.numerator / self.denominator if self.denominator > 0 else math.nan

    def by_groups(self, cells: np.ndarray, numerator: np.ndarray, denominator: np.ndarray) -> Ratio:
        """Return a copy whose sampling variance is estimated between random groups of clusters, unless the present variance
        is larger.

        See theory 13.20, random groups of clusters.

        Parameters
        ----------
        cells : (n_cells, n_groups) noisy counts of rows.
        numerator, denominator : (n_cells,) contribution of one row of each cell to the numerator and to the denominator.
        """
        between = (numerator - self.quotient * denominator) @ cells
        drawn = _along(self.sampling, self.quotient)
        factor = max(1.0, len(between) * float(between.var(ddof=1)) / drawn) if drawn > 0 else 1.0
        return replace(self, sampling=factor * self.sampling, between=between)

    def _end(self, confidence: float, which: int, width: float) -> float:
        """Find the lower (`which` 0) or upper (`which` 1) end of the confidence interval of the ratio.

        At this end, numerator - ratio * denominator is as far from 0 as half the width of its own confidence interval.
        `width` starts the search.
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
        """Return half the width of the confidence interval of numerator - ratio * denominator at this ratio."""
        weights = np.array([1.0, -ratio]) @ self.weights
        return half_width(self.noises, weights, _along(self.sampling, ratio), confidence, self.step)

    @property
    def _covariance(self) -> np.ndarray:
        return np.asarray(self.noises.covariance(self.weights, self.weights) + self.sampling)

    def _variance(self, ratio: float) -> float:
        return _along(self._covariance, ratio)


def _wider(degrees: int, confidence: float) -> float:
    """Return (t quantile / normal quantile) squared.

    Scaled by this factor, a variance from few groups gives a normal interval the width of a t interval.
    """
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2) / ndtri((1 + confidence) / 2)) ** 2


def _along(covariance: np.ndarray, ratio: float) -> float:
    """Return the variance of numerator - ratio * denominator, or 0 for a rounding error."""
    terms = covariance[0, 0], -2 * ratio * covariance[0, 1], ratio**2 * covariance[1, 1]
    variance = float(sum(terms))
    return variance if variance > _CANCELLED * sum(map(abs, terms)) else 0.0


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The properties of the survey design that determine the interval of an answer for a population.

    Attributes
    ----------
    reasons : the reasons why the answer has no interval for a population, or empty.
    effect : the design effect: the variance divided by the variance of a simple random sample of the same size.
    not_drawn : the share of the population whose rows are not in the noisy tables, or 1 if the size of the population is
        not stated.
    groups : the column with random groups of clusters, if the variance between them is used; otherwise empty.
    """

    reasons: tuple[NotSample, ...]
    effect: float
    not_drawn: float
    groups: str = ""

    @classmethod
    def of(cls, question: Question, release: PublishedRelease) -> Sampling:
        """Return the properties of the stated sample design that matter for a question.

        Design weights correct for unequal sampling probabilities, so a weighted answer has an interval for the population.
        """
        names = {*question.met.columns, *filter(None, (question.column, *question.on))}
        survey, design = cls.of_columns(names, release, weighted=bool(question.weight)), release.design
        if design is None or design.groups is None or design.effect_on(names) or question.slots or question.kind == "slope":
            return survey
        tables, needed = release.measurements.tables if release.measurements else (), {*question.columns, design.groups}
        if design.groups in question.columns or not any(needed <= set(table.columns) for table in tables):
            return survey
        return replace(survey, reasons=tuple(r for r in survey.reasons if r != "clusters"), groups=design.groups)

    @classmethod
    def of_columns(cls, names: set[str], release: PublishedRelease, *, weighted: bool = False) -> Sampling:
        """Return the properties of the stated sample design that matter for a question about these columns."""
        made_up_for = ("design weights", "calibration to totals") if weighted else ()
        reasons, effect = [reason for reason in release.not_a_sample if reason not in made_up_for], 1.0
        design = release.design
        if design is not None:
            stated_effect = design.effect_on(names)
            if stated_effect is None and design.clusters is not None and "clusters" not in reasons:
                reasons.append("clusters")
            effect = stated_effect or 1.0
        part_drawn = release.n_rows / release.population if release.population else 0.0
        return cls(reasons=tuple(reasons), effect=effect, not_drawn=max(0.0, 1 - part_drawn))

    @property
    def factor(self) -> float:
        """The design effect, times the share of the population that was not drawn.

        It multiplies the sampling variance of a simple random sample from an infinite population.
        """
        return self.effect * self.not_drawn


def possible(covariance: np.ndarray) -> np.ndarray:
    """Return the nearest valid covariance matrix: negative eigenvalues, which noise can cause, become 0."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


# The units that a question counts in the cells of a table. These units are rows or, for a question about members (such as the
# persons of households), the members at one position: all first members, all second members, and so on.
#
# The number of members that meet a condition is a sum over positions. For each position, it counts the roots (such as
# households) whose member at this position meets the condition. So a sum over members is a sum over rows, with noise of the
# same kind (theory 13.14, figures of members). The sample consists of roots, so the error of the draw depends on how similar
# the members of one root are. Tables with the columns of two members show this similarity. Without such tables, all members of
# a root are assumed to be equal.


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """The cells (combinations of bins) of a table, with a mask of those whose rows, or members at one position, a question
    counts.

    Attributes
    ----------
    asked : the question. For members, it is about the members at one position, and names columns such as age_1.
    columns : the columns that define the cells, in the order of the release.
    counts : (n_cells,) True for a cell whose rows are counted.
    """

    asked: Question
    columns: tuple[PublishedColumn, ...]
    counts: np.ndarray

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def shape(self) -> list[int]:
        return [len(column.labels) for column in self.columns]


def parts_of(tables: PublishedTables, question: Question) -> list[Counted]:
    """Return the cells that a question counts, for rows or for each position of a member. Their sums must be added up.

    Raises
    ------
    InputError : if no noisy table shows which members exist.
    """
    slots = range(len(question.slots)) if question.slots else (None,)
    return [
        counted(tables, part, part.columns, [part.column] if part.column else [], slot)
        for part, slot in zip(question.parts, slots, strict=True)
    ]


def counted(
    tables: PublishedTables, question: Question, names: Iterable[str], valued: Iterable[str], slot: int | None
) -> Counted:
    """Mark the cells (combinations of bins) of some columns whose rows, or members at one position, a question counts.

    Parameters
    ----------
    names : the columns that define the cells. A column is added if it is needed to show whether a member exists.
    valued : columns in which a row or member must have a value in order to be counted.
    slot : the position of the member in its root (0 for the first member), or None for a question about rows.

    Raises
    ------
    InputError : if no noisy table shows which members exist.
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
        f"{question.text!r}: the answer needs a published noisy table that contains {columns_named} and {linked.size!r} "
        "together, because such a table shows which members exist. There is no such table."
    )


def _cells(tables: PublishedTables, question: Question, names: Iterable[str], valued: Iterable[str]) -> Counted:
    columns = tables.columns(names)
    counts = question.where.mask(columns).ravel()
    for name in valued:
        column = tables.release.by_name[name]
        counts = counts & over_cells(columns, name, np.arange(len(column.labels)) < column.present)
    return Counted(asked=question, columns=columns, counts=counts)


def of_roots(
    tables: PublishedTables, parts: Sequence[Counted], figures: Sequence[np.ndarray], own_sums: np.ndarray
) -> np.ndarray:
    """Return an upper estimate of the (m, m) products of m statistics, summed over all rows or roots (such as households).

    The value of a statistic for a root is the sum over its members. Products of the statistics v and w of two members come
    from a table with the columns of both. Without such a table, v w' + w v' is bounded by c v v' + w w' / c for some c > 0.

    Parameters
    ----------
    figures : for each position of a member, the (m, n_cells) contribution of a member in each cell to each statistic.
    own_sums : (n_parts, m, m) for each position, the sum of v v' over the members at this position.
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


def _of_both(tables: PublishedTables, parts: Sequence[Counted], figures: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the (m, m) matrix of v w' + w v', summed over all roots, for the m statistics v and w of two members.

    The result is None if no table contains the columns of both members.
    """
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

# The indicator of a share x of N drawn rows has variance x (1 - x) along (1, -x), whatever the noisy tables show (Wilson 1927).
_SCORE = np.array([[0.0, -0.5], [-0.5, -1.0]])

# If a share is further from 1/2 than this number of standard errors, the bin of the median is known without an interval.
_FAR = 12.0


_TIE = 1e-12  # Tolerance for rounding when a share is compared with the probability of a quantile


@dataclass(frozen=True, kw_only=True, eq=False)
class Average:
    """A share or mean over some rows, computed from noisy counts. In a mean, each row counts with a number that depends on
    its cell (combination of bins).

    Attributes
    ----------
    file, population : the share or mean, minus `middle`, as a ratio of two noisy sums, with the error of drawing rows from
        the file or from a population.
    middle : the middle of the possible range of a mean, subtracted to make the errors of noisy sums smaller; 0 for a share.
    squares : the approximate sum, over the drawn rows or roots, of the squared contributions to the numerator.
    of_root : largest contribution of a record to the denominator: 1 for rows, or the largest number of members of a root.
    own : for weighted answers, the same average with other weights within the limits of their classes. Empty if weights are
        exact, or if a class has no known limits.
    """

    file: Ratio
    population: Ratio
    middle: float = 0.0
    squares: float = 0.0
    of_root: int = 1
    own: tuple[Average, ...] = ()

    def own_ends(self, level: float) -> Ends:
        """Return the intervals for the file and for a population, whatever the exact weights in their classes are (theory
        13.18, weighted answers).
        """
        ends = [average.ends(level) for average in self.own or (self,)]
        lows, highs, population_lows, population_highs = zip(*ends, strict=True)
        return min(lows), max(highs), min(population_lows), max(population_highs)

    def ends(self, level: float) -> Ends:
        low, high = (end + self.middle for end in self.file.interval(level))
        population_low, population_high = (end + self.middle for end in self.population.interval(level))
        return low, high, min(low, population_low), max(high, population_high)


def term_in(tables: PublishedTables, question: Question, label: str, averages: list[Average], level: float) -> Term:
    """Return the share, mean or quantile of one group, with confidence intervals."""
    if not question.column:
        return _share(tables, question, averages, label, level)
    column = replace(tables.release.by_name[question.parts[0].column], name=question.column)
    if question.kind == "mean":
        return _mean(column, label, averages, level)
    return _quantile(column, label, averages, level, question.quantile)


def groups(tables: PublishedTables, question: Question) -> Iterator[tuple[str, list[Average]]]:
    """Yield each group that a question compares, with its averages: the bins of `by`, two groups, or all rows together.

    For members, each average covers all members.
    """
    ranges, parts, survey = _ranges(tables, question), parts_of(tables, question), Sampling.of(question, tables.release)
    labels, bins = _bins(tables, question, parts)
    middles = [(low + high) / 2 if question.kind == "mean" else 0.0 for low, high in ranges]
    by_part = [np.array(_figures(tables, part)) - np.array(middles).reshape(-1, 1) for part in parts]  # (n_figures, n_cells)
    figures = [
        _Figure(
            values=[of_part[index] for of_part in by_part],
            middle=middle,
            low=low - middle,
            high=high - middle,
            weightings=_weightings(tables, question, parts, [of_part[index] for of_part in by_part], index),
        )
        for index, (middle, (low, high)) in enumerate(zip(middles, ranges, strict=True))
    ]
    for group, label in enumerate(labels):
        rows = [(part.counts & (group_of == group)).astype(float) for part, group_of in zip(parts, bins, strict=True)]
        averages = _averages(tables, question, parts, rows, figures, survey)
        if averages:  # the rules allow a row in the cell
            yield label, averages


@dataclass(frozen=True, kw_only=True, eq=False)
class _Figure:
    """The number with which the rows of each cell (combination of bins) count in a share or mean.

    Attributes
    ----------
    values : for each entry of `parts_of`, the (n_cells,) number of a row in each cell, minus `middle`.
    middle : the middle of the possible range of a mean, or 0 for a share.
    low, high : the smallest and largest possible number, minus `middle`.
    weightings : sets of weights, each with the (n_cells,) weights of rows for each entry of `parts_of`: first the
        representative weights of the classes, then other possible weights (`_weightings`).
    """

    values: list[np.ndarray]
    middle: float
    low: float
    high: float
    weightings: list[list[np.ndarray]]


def _weightings(
    tables: PublishedTables, question: Question, parts: Sequence[Counted], values: Sequence[np.ndarray], index: int
) -> list[list[np.ndarray]]:
    """Return sets of weights for the rows in each cell, whose averages enclose the average with the exact weights.
    Unweighted answers have one set of ones.

    Weights lie between the limits of their classes. For some t, the average of a value v is smallest if every row with v >
    t has the smallest weight of its class, and every other row the largest; it is largest in the opposite case. So the
    averages over all t enclose the exact one (theory 13.18, weighted answers). For a mean of values in bins, two extremes
    suffice: the smallest average of the lowest values, and the largest average of the highest values.
    """
    if not question.weight:
        return [[np.ones(len(part.counts)) for part in parts]]
    column = tables.release.by_name[question.weight]
    by_number, *ends = [[over_cells(part.columns, question.weight, numbers) for part in parts] for numbers in _numbers(column)]
    in_bins = question.kind == "mean" and not tells_values(tables.release.by_name[question.parts[0].column])
    sides = {1: (ends,), 2: (ends[::-1],)}.get(index, ()) if in_bins else (ends, ends[::-1])
    cuts = [] if not ends else np.unique(np.concatenate(values))[:-1].tolist() if question.kind == "mean" else [0.5]
    extremes = [
        [np.where(value > cut, above, below) for value, above, below in zip(values, *side, strict=True)]
        for side in sides
        for cut in cuts
    ]
    return [by_number, *extremes]


def _averages(
    tables: PublishedTables,
    question: Question,
    parts: Sequence[Counted],
    rows: Sequence[np.ndarray],
    figures: Sequence[_Figure],
    survey: Sampling,
) -> list[Average]:
    """Return the averages over some rows, with their errors, or an empty list if the plausibility rules exclude all these
    rows.

    Parameters
    ----------
    rows : for each position of a member, an (n_cells,) array: 1 for cells that are counted, otherwise 0.
    """
    pairs = [(figure, weighting) for figure in figures for weighting in figure.weightings]
    values = [np.array([figure.values[index] for figure, _ in pairs]) for index in range(len(parts))]  # (n_pairs, n_cells) each
    weighed = [np.array([weighting[index] for _, weighting in pairs]) * rows_in for index, rows_in in enumerate(rows)]
    sums = [
        tables.sums(
            part.names,
            np.concatenate([value * weight, weight]),
            np.concatenate([(value * weight) ** 2, value * weight**2, weight**2, value**2 * weight, rows_in[None]]),
        )
        for part, value, weight, rows_in in zip(parts, values, weighed, rows, strict=True)
    ]
    n_pairs, totals, noise_weights = len(pairs), sum(part.values for part in sums), sum(part.weights for part in sums)
    if not (totals[n_pairs] > 0 or noise_weights[n_pairs].any()):  # type: ignore[index]
        return []
    squares = np.array([part.moments[:-1].reshape(4, n_pairs) for part in sums])
    n_rows = float(sum(part.moments[-1] for part in sums))
    averages = []
    for pair, (figure, weighting) in enumerate(pairs):
        ratio = Ratio(
            numerator=float(totals[pair]),  # type: ignore[index]
            denominator=float(totals[n_pairs + pair]),  # type: ignore[index]
            weights=noise_weights[[pair, n_pairs + pair]],  # type: ignore[index]
            noises=tables.noises,
            lowest=figure.low,
            highest=figure.high,
            step=0.0 if question.kind == "mean" or question.weight else 1.0,
            clustered=bool(question.slots),
        )
        of_numerator, of_both, of_denominator, once = squares[:, :, pair].T
        second_moments = np.array([[of_numerator, of_both], [of_both, of_denominator]]).transpose(2, 0, 1)
        if question.slots:
            of_parts = zip(values, weighed, strict=True)
            added = [np.array([value[pair] * weight[pair], weight[pair]]) for value, weight in of_parts]
            of_drawn = of_roots(tables, parts, added, second_moments)
        else:
            of_drawn = possible(second_moments[0])
        sampling = of_drawn
        if question.kind != "mean":
            unequal = max(map(np.max, weighting)) / max(min(map(np.min, weighting)), 1e-9)
            size = float(of_denominator.sum())
            sampling = size * _SCORE * _design_effect(ratio, of_drawn, size, n_rows, len(parts) * unequal)
        factor = survey.factor
        if question.weight and survey.effect > 1:
            simple = np.array([[once.sum(), ratio.numerator], [ratio.numerator, ratio.denominator]])
            simple *= ratio.denominator / max(n_rows, 1.0)
            factor *= _stated_effect(ratio, simple, sampling, survey.effect) / survey.effect
        population = replace(ratio, sampling=factor * sampling)
        if survey.groups:
            [part], [value], [weight] = parts, values, weighed
            cells = tables.cells(part.names, survey.groups)
            population = population.by_groups(cells, value[pair] * weight[pair], weight[pair])
        averages.append(
            Average(
                file=replace(ratio, sampling=tables.kept.left_out * sampling),
                population=population,
                middle=figure.middle,
                squares=float(of_drawn[0, 0]),
                of_root=len(parts),
            )
        )
    starts = np.cumsum([0, *(len(figure.weightings) for figure in figures)]).tolist()
    return [replace(averages[first], own=tuple(averages[first + 1 : stop])) for first, stop in pairwise(starts)]


def _stated_effect(ratio: Ratio, simple: np.ndarray, sampling: np.ndarray, effect: float) -> float:
    """Return the factor, at least 1, by which the sampling variance of a weighted answer must grow to have the stated
    design effect.

    Parameters
    ----------
    simple, sampling : covariance matrices of numerator and denominator: for simple random samples of the same size, and for
        samples with these weights.
    """
    along = np.array([1.0, -ratio.quotient])
    by_weights = float(along @ sampling @ along)
    return max(1.0, effect * float(along @ simple @ along) / by_weights) if by_weights > 0 else effect


def shares_of_bins(tables: PublishedTables, name: str) -> Iterator[Average]:
    """Yield, for each bin of a column, its share of all rows: the same results as `groups`, but faster for many bins.

    Cells with equal noise are processed together. The total number n of rows has no noise.
    """
    n, every = float(tables.release.n_rows), Condition(text="", rule=None)
    survey = Sampling.of(Question(kind="share", text="", column=name, met=every, where=every), tables.release)
    cells = tables.cells([name], survey.groups) if survey.groups else np.zeros((0, 0))
    for bin_, noisy in enumerate(tables.single_bins(name)):
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
        population = replace(ratio, sampling=survey.factor * sampling)
        if survey.groups:
            population = population.by_groups(cells, np.arange(len(cells)) == bin_, np.ones(len(cells)))
        yield Average(
            file=replace(ratio, sampling=tables.kept.left_out * sampling),
            population=population,
            squares=float(possible(second_moments)[0, 0]),
        )


def _bins(tables: PublishedTables, question: Question, parts: Sequence[Counted]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the labels of the compared groups and, for each position of a member, the (n_cells,) index of each cell's
    group, or -1.
    """
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
            overlap = f"a row can meet both {labels[0]!r} and {labels[1]!r}"
            raise InputError(f"{question.text!r}: the two groups overlap, because {overlap}. Change one of the conditions.")
        bins.append(np.select(met, [0, 1], -1))
    return labels, bins


def _design_effect(share: Ratio, of_roots: np.ndarray, size: float, n_rows: float, largest: float) -> float:
    """Return the design effect of a share when roots are drawn with all their members, relative to drawing members
    individually.

    It is between 1 and `largest`. Individual members are drawn with weights that do not depend on the answer.

    Parameters
    ----------
    of_roots : the covariance matrix of numerator and denominator for a sample of roots.
    size : the sum of the squared weights of all `n_rows` rows or members.
    largest : the largest number of members of a root, times the ratio of the largest to the smallest weight.
    """
    if largest == 1:
        return 1.0
    spread = share.quotient * (1 - share.quotient) if share.denominator > 0 else 0.0
    along = np.array([1.0, -share.quotient])
    known_spread = n_rows * spread > 1 and size > 0
    return min(max(float(along @ of_roots @ along) / (size * spread), 1.0), largest) if known_spread else largest


def _ranges(tables: PublishedTables, question: Question) -> list[tuple[float, float]]:
    """Return the smallest and the largest possible value of each share or mean from `_figures`."""
    if not question.column:
        return [(0.0, 1.0)]
    column = tables.release.by_name[question.parts[0].column]
    if question.kind in QUANTILES:
        return [(0.0, 1.0)] * (column.present - 1)
    return [(float(values.min()), float(values.max())) for values in _numbers(column)]


def _figures(tables: PublishedTables, part: Counted) -> list[np.ndarray]:
    """Return, for each share or mean that answers a question, the (n_cells,) numbers that are averaged.

    A share has 1 in cells that meet the condition, otherwise 0. A mean uses representative values and, if the values in a
    bin may differ, the lowest and the highest value of each bin. A median has an array for the first bin, another for the
    first two bins, and so on up to all bins except the last: 1 in these bins, 0 elsewhere.
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
    """Return the (n_present,) representative values of bins, then the lowest and highest values if these are finite and
    differ.
    """
    ends = column.value_limits
    if tells_values(column) or not np.isfinite(ends).all():
        return [numbers_of(column)]
    return [numbers_of(column), *ends]


def _share(tables: PublishedTables, question: Question, shares: list[Average], label: str, level: float) -> Term:
    [share] = shares
    term = term_of("share", label, "", share, share.own_ends(level))
    if not question.weight:
        rows, low, high = counted_rows(tables, share, level)
        return replace(term, rows=rows, rows_low=low, rows_high=high)
    term = term.within(share.ends(level), BINNED_INTERVAL) if share.own else term
    return _with_weighted_count(tables, question, share, term, level)


def _with_weighted_count(tables: PublishedTables, question: Question, share: Average, term: Term, level: float) -> Term:
    """Add to a weighted share the number of persons whom its rows represent, with intervals (theory 13.18, weighted
    answers).

    With clusters, there is no interval for a population, because their sizes would cause another error.
    """
    kept_rows, release = tables.kept, tables.release
    times = 1.0 if kept_rows.way == "stated" else kept_rows.number / kept_rows.drawn
    times_at_most = kept_rows.most / kept_rows.drawn if kept_rows.way == "stated" else 1.0
    largest = float(_numbers(release.by_name[question.weight])[-1].max())
    survey, clustered = Sampling.of(question, release), release.design is not None and release.design.clusters is not None

    def ends(not_counted: float) -> tuple[int, int]:
        lows, highs = [], []
        for average in share.own or (share,):
            ratio = average.file
            noise_weights, total = times * ratio.weights[0], times * ratio.numerator
            noise_weights[-1] = ratio.numerator / kept_rows.drawn
            of_drawn = max(average.squares - ratio.numerator**2 / kept_rows.drawn, 0.0) + largest**2
            half = half_width(ratio.noises, noise_weights, not_counted * times**2 * of_drawn, level, 0.0)
            lows.append(total - half)
            highs.append((total + half) * times_at_most)
        return 0 if kept_rows.few else max(0, math.floor(min(lows))), math.ceil(max(0.0, *highs))

    (low, high), of_population = ends(kept_rows.left_out), ends(max(survey.factor, kept_rows.left_out))
    rows = None if kept_rows.way == "stated" else nearest_row(max(0.0, times * share.file.numerator))
    term = replace(term, rows=rows, rows_low=low, rows_high=high)
    return term if clustered else replace(term, population_rows_low=of_population[0], population_rows_high=of_population[1])


def rows_of(tables: PublishedTables, share: Average, level: float) -> Term:
    """Estimate the number of rows in the numerator of a share, as a term without the share itself."""
    rows, low, high = counted_rows(tables, share, level)
    return Term(name="share", group="", unit="", rows=rows, rows_low=low, rows_high=high)


def counted_rows(tables: PublishedTables, share: Average, level: float) -> tuple[int | None, int, int]:
    """Estimate how many rows of the file are counted in the numerator of a share, with an interval (theory 13.10, numbers
    of the file, (b)).

    Y is the noisy count among n rows drawn from K rows, where K = T - Z, T is the noisy number of rows and Z is its noise.
    So the error of T Y / n is Z Y / n, plus K / n times the error of Y, which comes from the noise and from drawing the
    rows.
    """
    kept_rows, counted = tables.kept, share.file.numerator
    times, weights, drawing = _errors_of_a_count(tables, share)
    half = half_width(share.file.noises, weights, times**2 * drawing, level, times)
    counted = min(max(times * counted, 0.0), times * kept_rows.drawn * share.of_root)
    fewest, largest = (kept_rows.number, kept_rows.most) if kept_rows.way == "stated" else (kept_rows.drawn, kept_rows.drawn)
    low, high = (counted - half) * fewest / kept_rows.drawn, (counted + half) * largest / kept_rows.drawn
    rows, all_rows = nearest_row(counted), kept_rows.most * share.of_root
    ends = 0 if kept_rows.few else min(rows, max(0, math.ceil(low - 1e-9))), max(rows, min(all_rows, math.floor(high + 1e-9)))
    return (None if kept_rows.way == "stated" else rows), *ends


def nearest_row(counted: float) -> int:
    """Return the nearest whole number of rows; halves, to six decimals, are rounded to the nearest even number.

    So ask.html, which adds terms in a different order, gives the same number.
    """
    return round(round(counted, 6))


def count_error(tables: PublishedTables, share: Average) -> float:
    times, weights, drawing = _errors_of_a_count(tables, share)
    return math.sqrt(float(share.file.noises.covariance(weights[None], weights[None])[0, 0]) + times**2 * drawing)


def _errors_of_a_count(tables: PublishedTables, share: Average) -> tuple[float, np.ndarray, float]:
    """Return the factor from drawn rows to all kept rows, the coefficients of the noise terms, and the variance from
    drawing rows.
    """
    kept_rows, ratio = tables.kept, share.file
    part = min(max(ratio.numerator / kept_rows.drawn, 0.0), float(share.of_root))
    if share.of_root == 1:
        likely = (part * kept_rows.drawn + 1) / (kept_rows.drawn + 2)  # an estimate of 0 does not prove that no rows exist
        spread = kept_rows.drawn * likely * (1 - likely)
    else:
        spread = max(share.squares - kept_rows.drawn * part**2, 0.0) + share.of_root**2
    times = 1.0 if kept_rows.way == "stated" else kept_rows.number / kept_rows.drawn
    weights = times * ratio.weights[0]
    weights[-1] = part
    return times, weights, kept_rows.left_out * spread


def _mean(column: PublishedColumn, label: str, averages: list[Average], level: float) -> Term:
    """Return the mean by representative values, with an interval for the mean of the exact values.

    The interval runs from the lower end for the lowest values of the bins to the upper end for the highest values (theory
    13.11, values in bins).
    """
    by_number, *by_ends = averages
    ends, in_bins = by_number.ends(level), not tells_values(column)
    if not in_bins and not by_number.own:
        return term_of(column.name, label, column.unit, by_number, ends)
    unknown = OPEN if in_bins else by_number.own_ends(level)
    lowest, highest = (average.own_ends(level) for average in by_ends) if by_ends else (unknown, unknown)
    values = (lowest[0], highest[1], lowest[2], highest[3])
    return term_of(column.name, label, column.unit, by_number, values).within(ends, BINNED_INTERVAL)


def _quantile(column: PublishedColumn, label: str, shares: list[Average], level: float, part: float) -> Term:
    """Return the bin that contains a quantile, with the first and the last bin of the confidence interval (theory 13.11,
    values in bins, (b)).

    Parameters
    ----------
    shares : the shares of rows in the first 1, 2, ... bins.
    part : the probability of the quantile; 0.5 for the median.
    """
    bins, empty = range(column.present), any(not share.file.denominator > 0 for share in shares)
    reached = (bin_ for bin_, share in zip(bins, shares, strict=False) if share.file.estimate >= part - _TIE)
    middle = next(reached, column.present - 1)

    ends = [_ends(share, level, part) for share in shares]

    def between(low: int, high: int) -> tuple[int, int]:
        reaching = (bin_ for bin_, interval in zip(bins, ends, strict=False) if interval[high] >= part - _TIE)
        first = next(reaching, column.present - 1)
        last = next((bin_ for bin_ in reversed(bins[1:]) if ends[bin_ - 1][low] <= part + _TIE), 0)
        return min(first, last), max(first, last)

    (first, last), (population_first, population_last) = between(0, 1), between(2, 3)
    numbered = None not in column.numbers[: column.present]
    lows, highs = column.value_limits if numbered else (np.full(column.present, np.nan),) * 2
    number_of_bin = column.numbers[middle]
    return Term(
        name=column.name,
        group=label,
        unit=column.unit,
        estimate=None if empty or number_of_bin is None else number_of_bin,
        bins=(column.labels[first], "" if empty else column.labels[middle], column.labels[last]),
    ).within((lows[first], highs[last], lows[population_first], highs[population_last]))


def _ends(share: Average, level: float, part: float) -> Ends:
    ratio = share.population
    if not share.own and ratio.denominator > 0 and abs(ratio.estimate - part) > _FAR * ratio.standard_error:
        return (ratio.estimate,) * 4
    return share.own_ends(level)


def term_of(name: str, group: str, unit: str, average: Average, ends: Ends) -> Term:
    return Term(
        name=name,
        group=group,
        unit=unit,
        estimate=known(average.file.estimate + average.middle),
        standard_error=known(average.file.standard_error),
        population_standard_error=known(average.population.standard_error),
    ).within(ends)
