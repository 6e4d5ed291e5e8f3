"""Limits of true errors: what the figures of a release, its measured tables and its drawn rows leave possible.

Upper limits of true errors, from the noisy figures of a release that was accepted because of these figures.

A figure is the true error E of the candidate plus Laplace noise of scale b, and it is seen only because it came out at or
below the threshold T. Among candidates that are no good, those with lucky noise are the ones that are seen, so that
"figure + b ln(1 / (2 risk))" is too small a limit. The limit here takes the selection into account. With F the distribution
function of the noise, a figure as low as v has, among accepted figures of a candidate with true error E, the probability

    p(v; E) = F(v - E) / F(T - E),

which falls as E grows and stays at kappa = exp(-(T - v)/b) for every E >= T: the law of an accepted figure above its
threshold no longer depends on E. The limit is the E at which p(v; E) reaches the risk: with kappa < risk

    v + b ln( (1 - sqrt(1 - kappa / risk)) / kappa ),

never above T; for a figure far below the threshold it is v + b ln(1 / (2 risk)), as without selection. With kappa >= risk the
figure is so close to its threshold that it says nothing: the limit is infinite. Given the released table, the probability
that its true error exceeds the limit is at most the risk, whatever the acceptance probability was (theory
13.1, limit behind an accepted figure).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.criteria import CRITERIA, explanation_of
from synthrelease.criteria.facts import Score, SumError
from synthrelease.data.marginals import added_up
from synthrelease.data.schema import in_steps
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace
from synthrelease.generators.measurements import noise_limit
from synthrelease.privacy.charges import NUMBER_OF_ROWS, SHORTFALL
from synthrelease.privacy.grids import noise_grid
from synthrelease.published import PublishedRelease
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement

# How many rows of the file the rules keep, as far as a release tells, and which of them its figures are about.
#
# A release works with m rows, drawn from the K rows of the file that the rules keep (theory 1.7, resizing). Nobody has to know
# which: what is said of them is said of all K rows, with the error of the drawing (theory 13.10, numbers of the file). K itself
# is known as well as what is published tells: counted with noise, T = K + Z, and m = T - margin; or stated; or exactly.

RISK = 0.02
"""Of what a statement may be wrong with: the part for the noise of the number of rows, where that is limited by itself."""


@dataclass(frozen=True, kw_only=True)
class KeptRows:
    """The published information about K, the number of rows of the file that satisfy the rules.

    Attributes
    ----------
    way : "whole" (all rows of the file), "exact" (K is published), "counted" (with noise) or "stated" (K is that or more).
    drawn : rows that the released figures are about: a uniform subset of the kept ones.
    number : K; with its noise where it was counted, and the least that it may be where it was stated.
    most : K is at most so many, for sure: the rows of the file.
    scale : b of the noise of a counted number, Pr[z] proportional to exp(-|z| / b); None where it has none.
    margin : what was taken off the counted number, so that so many rows were kept.
    few : a counted number was too small for its margin: K is anything up to it.
    """

    way: str
    drawn: int
    number: int
    most: int
    scale: float | None = None
    margin: int = 0
    few: bool = False
    persons: int | None = None

    @classmethod
    def of(cls, release: PublishedRelease | ReleaseDocument) -> KeptRows:
        """From the domain, the charges and the number of rows of a release.

        A counted number is the number of rows that the release worked with, plus the margin: unless it was cut to 1, or to the
        rows of the file; then it was below that, or above the rows of the file.
        """
        n_drawn, domain = release.n_rows, release.domain
        worked = n_drawn if release.divided_rows is None else release.divided_rows
        if domain.way in ("exact", "whole") or domain.file_rows is None:
            return cls(way=domain.way, drawn=n_drawn, number=worked, most=worked, persons=domain.persons)
        named = (leaf for leaf in release.charges.leaves() if leaf.name == NUMBER_OF_ROWS)
        charged = next((Fraction(leaf.epsilon_exact) if isinstance(leaf, ChargePart) else leaf.epsilon for leaf in named), None)
        if domain.way == "stated" or domain.margin is None or not charged:
            return cls(way="stated", drawn=n_drawn, number=worked, most=domain.file_rows, persons=domain.persons)
        return cls(
            way="counted",
            drawn=n_drawn,
            number=min(worked + domain.margin, domain.file_rows),
            most=domain.file_rows,
            scale=float(1 / charged),
            margin=domain.margin,
            few=worked == 1,
            persons=domain.persons,
        )

    @property
    def known(self) -> bool:
        """Whether K is published exactly."""
        return self.way in ("exact", "whole")

    @property
    def shortfall(self) -> float:
        """The probability with which fewer rows were kept than the release worked with, and public rows filled up."""
        return float(SHORTFALL) if self.way == "counted" else 0.0

    @property
    def left_out(self) -> float:
        """The part of the kept rows that the figures are not about; the largest that it may be where K is stated."""
        return 1 - self.drawn / max(self.most if self.way == "stated" else self.number, self.drawn)

    def spare(self, confidence: float) -> float:
        """Return what else may go wrong at a confidence, beside that public rows filled up.

        Raises
        ------
        InputError : where nothing is left.
        """
        spare = 1 - confidence - self.shortfall
        if spare > 1e-9:
            return spare
        raise InputError(
            f"expected a confidence below {1 - self.shortfall:g}, found {confidence:g}: with a probability of up to "
            f"{self.shortfall:g} the rules kept fewer rows than the release worked with, and public rows filled up."
        )

    def limits(self, risk: float) -> tuple[int, int]:
        """Return the least and the largest K, wrong with probability `risk` at most, beside the shortfall."""
        if self.scale is None:
            return self.number, self.most
        reach = DiscreteLaplace(self.scale).rounded_up.limit(risk)
        return (0 if self.few else max(0, self.number - reach)), min(self.most, self.number + reach)

    def more(self, risk: float) -> int:
        """Return how many kept rows are not among the drawn ones, at most; wrong with probability `risk`, beside
        the shortfall."""
        if self.scale is None:
            return self.most - self.drawn
        reach = DiscreteLaplace(self.scale).rounded_up.limit(min(2 * risk, 0.5))  # the law is symmetric
        return max(0, min(self.most, self.drawn + self.margin + reach) - self.drawn)

    def in_words(self, risk: float) -> str:
        """Return a description of the kept rows of the file that can follow "the file:"."""
        first = "" if self.persons is None else f" (the first rows of each of {self.persons:,} persons)"
        if self.way == "whole":
            return f"all its rows{first}" if first else f"all its {self.most:,} rows"
        if self.way == "exact":
            return f"the {self.number:,} of its rows that the rules keep"
        kept = (
            f"those of its rows{first} that the rules keep" if first else f"those of its {self.most:,} rows that the rules keep"
        )
        if self.way == "stated":
            return (
                f"{kept}: at least {self.number:,} by the publisher's statement (if there are fewer, public rows take their "
                "place, and these limits do not hold)"
            )
        low, high = self.limits(risk)
        return f"{kept}: {'few' if self.few else f'about {self.number:,}'} (between {low:,} and {high:,})"


# What published noisy tables say about the original one: limits of all their sums, together (theory 13.3, measured sums).
#
# A measured table holds R(cell) + z, z independent noise of a published law (`generators.measured_noise`). A sum of k such
# counts is off by the sum of k noises, whose law is known (theory 13.5, limits of noise); so is that of a sum with weights.
#
# The sums that are used are fixed beforehand: every cell of every table of some columns of a measured table, every run of first
# bins of a column with an order, sums of the numbers of a column in bins of another, and every measured sum of scores. Each
# gets an equal part of the risk, so all limits hold together (Bonferroni).


def sum_limit(noise: CountNoise, count: int, risk: float) -> int:
    """Return a t with Pr[|sum of `count` independent noises of this law| > t] <= risk, above 0 and below 1."""
    return noise_limit(((noise, 1, count),), risk)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberSum:
    """low <= sum of steps[bin of the column] * R <= high, over the rows that are `inside`.

    Attributes
    ----------
    steps : (n_bins,) whole numbers: those of the column's bins on a grid, around the middle of their range; 0 where missing.
    by : another column; `inside` (n_bins,) are the bins of it.
    """

    steps: np.ndarray
    by: str
    inside: np.ndarray
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredLimits:
    """All limits that published tables give.

    Attributes
    ----------
    measurements : on the released bins.
    risk : probability, over all noise of the run, that a table is released and one of the limits is wrong.
    each : of each sum.
    n_sums : how many sums there are.
    """

    release: PublishedRelease
    measurements: Measurements
    risk: float
    each: float
    n_sums: int

    @classmethod
    def of(cls, release: PublishedRelease, risk: float, acceptance: float | None) -> MeasuredLimits | None:
        """Return the limits; None where nothing is published, or the search might have measured without end.

        Parameters
        ----------
        acceptance : a lower bound on the probability that a round is accepted, the caller's word, or None.
        """
        times = measured_times(release, acceptance)
        if release.measurements is None or times is None:
            return None
        sums = sum(_n_sums(release, table) for table in release.measurements.tables) + len(release.measurements.sums)
        return cls(release=release, measurements=release.measurements, risk=risk, each=risk / (times * sums), n_sums=sums)

    def cells(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original counts of the table of these columns, which are in the order of the release; or None."""
        limits_of_tables = [self._around(table, *_sub_table(table, names)) for table in self._with(names)]
        return _narrowest(limits_of_tables)

    def first_bins(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original numbers of rows in the first 1, 2, ... bins of a column with an order; None if not."""
        present = _in_order(self.release, name)
        if not present:
            return None
        limits_of_tables = []
        for table in self._with([name]):
            values, cells = _sub_table(table, [name])
            limits_of_tables.append(self._around(table, np.cumsum(values)[: present - 1], np.cumsum(cells)[: present - 1]))
        return _narrowest(limits_of_tables)

    def number_sums(self, name: str) -> Iterator[NumberSum]:
        """Yield sums of the numbers of a column, in single and in first bins of the columns measured with it."""
        for table in self._with([name]) if name in _numbered(self.release) else ():
            steps = _steps(self.release, name)
            for by in table.columns:
                if by == name:
                    continue
                values, cells = _sub_table(table, [by, name])
                for inside in _bins_and_runs(self.release, by):
                    value = int((values[inside].sum(axis=0) * steps).sum())
                    noises = Counter[int]()
                    for step, count in zip(np.abs(steps).tolist(), cells[inside].sum(axis=0).tolist(), strict=True):
                        if step and count:
                            noises[step] += count
                    parts = tuple((table.noise, step, count) for step, count in sorted(noises.items()))
                    limit = noise_limit(parts, self.each) if parts else 0
                    yield NumberSum(steps=steps, by=by, inside=inside, low=value - limit, high=value + limit)

    def scored_sums(self) -> Iterator[SumError]:
        """Yield every measured sum of scores, from above and from below."""
        from synthrelease.generators.measured_noise import entry_limit  # here, for few readers of a release have sums

        for measured in self.measurements.sums:
            limit = entry_limit(measured.together, measured.sensitivity / measured.epsilon, self.each)
            yield SumError(
                columns=measured.columns,
                weights=(measured.steps.astype(float), -measured.steps.astype(float)),
                most=(float(measured.value + limit), float(limit - measured.value)),
            )

    def _with(self, names: Sequence[str]) -> Iterator[PublishedMeasurement]:
        return (table for table in self.measurements.tables if set(names) <= set(table.columns))

    def _around(self, table: PublishedMeasurement, values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, which = np.unique(cells, return_inverse=True)
        limits = np.array([sum_limit(table.noise, int(count), self.each) if count else 0 for count in counts])[which]
        limits = limits.reshape(cells.shape)
        return np.maximum(0, values - limits), np.minimum(self.release.n_rows, values + limits)

    def in_words(self) -> str:
        """Return one line for the list of a bound's bases."""
        noises = [table.noise for table in self.measurements.tables]
        widest, narrowest = (sum_limit(noise, 1, self.each) for noise in (max(noises), min(noises)))
        rows = f"{narrowest:,}" if narrowest == widest else f"{narrowest:,} to {widest:,}"
        return (
            f"{len(noises)} published noisy tables: each cell at most {rows} rows off, and so all of {self.n_sums:,} sums of "
            "cells within what their noise allows"
        )


def measured_times(release: PublishedRelease, acceptance: float | None) -> float | None:
    """Return the number of parts that the risk of a limit is divided into; None where nothing is published or nobody knows.

    How often was measured before the release, on average at most; of shared measurements, on how many bins they could have
    been published.
    """
    measurements = release.measurements
    if measurements is None or not measurements.tables:
        return None
    times = measurements.times if measurements.times == 1 or acceptance is None else min(measurements.times, 1 / acceptance)
    return times * measurements.bins if math.isfinite(times) else None


def _sub_table(table: PublishedMeasurement, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return values and numbers of noisy counts, added up over all other columns of a measured table."""
    return added_up(table.values, table.columns, names), added_up(table.cells, table.columns, names)


def _narrowest(limits_of_tables: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray] | None:
    if not limits_of_tables:
        return None
    lows, highs = zip(*limits_of_tables, strict=True)
    return np.max(lows, axis=0).astype(float), np.min(highs, axis=0).astype(float)


def _n_sums(release: PublishedRelease, table: PublishedMeasurement) -> int:
    """Return cells of all its sub-tables, and runs of first bins of its columns."""
    sizes = table.values.shape
    subsets = [chosen for width in range(1, len(sizes) + 1) for chosen in combinations(sizes, width)]
    runs = sum(max(0, _in_order(release, name) - 1) for name in table.columns)
    of_numbers = sum(
        len(_bins_and_runs(release, by))
        for name in table.columns
        if name in _numbered(release)
        for by in table.columns
        if by != name
    )
    return sum(math.prod(chosen) for chosen in subsets) + runs + of_numbers


def _bins_and_runs(release: PublishedRelease, name: str) -> list[np.ndarray]:
    """Return each bin of a column, and its first 2, 3, ... bins where they are in order; the last run are all of them."""
    bins = np.arange(len(release.by_name[name].labels))
    runs = range(2, _in_order(release, name) + 1)
    return [*(bins == bin_ for bin_ in bins), *(bins < length for length in runs)]


def _numbered(release: PublishedRelease) -> set[str]:
    """Return the columns all of whose values have numbers, not all the same."""
    numbers_of = {column.name: column.numbers[: column.present] for column in release.schema}
    return {name for name, numbers in numbers_of.items() if None not in numbers and len(set(numbers)) > 1}


def _steps(release: PublishedRelease, name: str) -> np.ndarray:
    column = release.by_name[name]
    numbers = [float(number) for number in column.numbers[: column.present] if number is not None]
    lowest, highest = min(numbers), max(numbers)
    steps = np.zeros(len(column.labels), dtype=np.int64)
    steps[: column.present] = in_steps(numbers, lowest, highest, (lowest + highest) / 2)[0]
    return steps


def _in_order(release: PublishedRelease, name: str) -> int:
    """Return how many of the first bins of a column are in order; 0 where they have none."""
    column = release.by_name[name]
    return column.present if column.ordered else 0


_SHARE_OF_ABSOLUTE = 0.5
"""Of the risk: every bound rests on the absolute error, so its limit gets half. Fixed, so that no figure influences it."""


_SHARE_OF_MEASURED = 0.5


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The upper limit of one criterion's true error.

    Attributes
    ----------
    index : place of the criterion in the release.
    score : its released figure.
    limit : in the figure's units; infinite when the figure says nothing.
    risk : probability, given the released table, that the true error is larger.
    """

    index: int
    score: Score
    limit: float
    risk: float


def limits(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[Limit, ...]:
    """Return limits that hold all together with the stated confidence.

    Parameters
    ----------
    confidence : between 0.5 and 1.
    acceptance : a lower bound on the probability that a round is accepted, for example from a rehearsal. It is the
        caller's word. With it every figure has a second limit, and a finite one also near the threshold.

    Raises
    ------
    InputError : for a confidence or acceptance out of range, or a release that has no figure that can be used.
    """
    check_confidence(confidence)
    if acceptance is not None and not 0 < acceptance <= 1:
        raise InputError(f"acceptance: expected a probability above 0 and at most 1, found {acceptance:g}.")
    usable = [i for i, score in enumerate(release.criteria) if _has_known_noise(score) and _usable(score.kind)]
    if not usable and measured_times(release, acceptance) is None:
        example = next(filter(_usable, CRITERIA))
        raise InputError(f"{release.folder}: expected a criterion that bounds errors, such as {example!r}; found none.")
    return tuple(
        Limit(
            index=i,
            score=score,
            limit=max(_limit(score, release.counts.total, risk, acceptance), CRITERIA[score.kind].best_figure),
            risk=risk,
        )
        for i, risk in _risks(release, usable, divided_risk(release, confidence, acceptance)[0]).items()
        for score in [release.criteria[i]]
    )


def _has_known_noise(score: Score) -> bool:
    """Return whether the figure itself has noise of a known law."""
    return score.mechanism == "Laplace" or score.one_noise is not None


def _usable(kind: str) -> bool:
    """Return whether criteria of this kind say something about other queries."""
    return kind in CRITERIA and not explanation_of(kind).no_bounds


def check_confidence(confidence: float) -> None:
    """Raise InputError for a value that is not a confidence level."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence: expected a number of at least 0.5 and below 1, found {confidence:g}.")


def divided_risk(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[float, float]:
    """Return the risk for the limits of figures and for published measurements: half each where there are any measurements.

    It depends on what is published, never on a figure or a noisy count.
    """
    share = 0.0 if measured_times(release, acceptance) is None else _SHARE_OF_MEASURED
    return (1 - confidence) * (1 - share), (1 - confidence) * share


def _risks(release: PublishedRelease, usable: list[int], risk: float) -> dict[int, float]:
    """Return the risk divided among the criteria by their kinds alone: their sum is the risk that any limit is wrong."""
    if not usable:
        return {}
    absolute = [i for i in usable if explanation_of(release.criteria[i].kind).bounds_every_cell]
    relative = [i for i in usable if i not in absolute]
    if not absolute or not relative:
        return {i: risk / len(usable) for i in usable}
    share = _SHARE_OF_ABSOLUTE
    return {i: risk * (share / len(absolute) if i in absolute else (1 - share) / len(relative)) for i in usable}


def _limit(score: Score, n: int, risk: float, acceptance: float | None) -> float:
    if score.noise_sd is None or score.sensitivity is None:
        raise InputError(f"criterion {score.name!r}: expected the noise of its figure, found none.")
    if score.one_noise is not None:  # after acceptance alone: the noise had no part in it
        return score.one_noise.upper(score.value, score.sensitivity, n, risk)
    step = noise_grid(score.sensitivity, n).step
    # the scale of the discrete noise is below sd/sqrt(2) + step/2; see the test
    scale = score.noise_sd / math.sqrt(2) + step / 2
    if not score.decides:  # its noise had no part in the acceptance
        return score.value + scale * math.log(1 / (2 * risk)) + step
    if acceptance is None:
        return selected_limit(score.value, score.threshold, scale, risk, step)
    return min(
        selected_limit(score.value, score.threshold, scale, risk / 2, step),
        score.value + scale * math.log(1 / (min(1.0, acceptance * risk / 2) * 2)) + step,
    )


def selected_limit(value: float, threshold: float, scale: float, risk: float, step: float = 0.0) -> float:
    """Return the upper limit of the true error behind an accepted figure.

    Parameters
    ----------
    value, threshold : the released figure, and what it had to stay below.
    scale : of the Laplace noise.
    risk : between 0 and 1/2.
    step : of the grid that figures are rounded to. Discrete noise z steps from 0 is at most as likely, in its tails, as
        continuous noise half a step nearer to 0 (1/(1+a) <= a^(-1/2)/2), and the figure was rounded by half a step at most.
    """
    if not value <= threshold:
        return math.inf
    low, high = value + step / 2, threshold - step / 2
    kappa = math.exp(-(high - low) / scale) if low < high else 1.0
    if kappa >= risk:
        return math.inf
    # (1 - sqrt(1 - x)) / kappa without cancellation, x = kappa / risk
    ratio = 1 / (risk * (1 + math.sqrt(1 - kappa / risk)))
    return low + scale * math.log(ratio) + step / 2
