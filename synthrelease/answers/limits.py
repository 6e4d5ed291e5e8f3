"""Compute limits on the true errors of a release from its criterion values, its measured tables, and the drawing of its
rows.

A criterion value is the true error E of the candidate plus Laplace noise of scale b, and is published only if it is at most
the threshold T. Candidates with large errors are published only with favourable noise, so the limit "criterion value + b
ln(1 / (2 risk))" is too small. Let F be the distribution function of the noise. Among accepted criterion values of a
candidate with true error E, a value of at most v has the probability

    p(v; E) = F(v - E) / F(T - E).

The probability p falls as E grows, and equals kappa = exp(-(T - v)/b) for every E >= T. The limit is the E at which p(v; E)
equals the risk. For kappa < risk, the limit is

    v + b ln( (1 - sqrt(1 - kappa / risk)) / kappa ).

The limit is never above T. Far below the threshold, it is v + b ln(1 / (2 risk)), as without selection. With kappa >= risk,
it is infinite. Given the released table, the probability that its true error exceeds the limit is at most the risk, for any
acceptance probability (theory 13.1, limit behind an accepted figure).
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
from synthrelease.errors import InputError, so_many
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace
from synthrelease.privacy.charges import NUMBER_OF_ROWS, SHORTFALL
from synthrelease.privacy.grids import noise_grid
from synthrelease.published import PublishedRelease
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement

# The published information about the number of rows of the file that the rules keep, and the rows that criterion values
# describe.
#
# A release uses m rows, drawn from the K rows of the file that the rules keep (theory 1.7, resizing). Statements about the
# released rows become statements about all K rows if the error of the draw is added (theory 13.10, numbers of the file). K is
# known in one of three ways: counted with noise, T = K + Z and m = T - margin; or stated; or published exactly.

RISK = 0.02
"""The part of the risk that is used for the limit on the noise in the number of rows, if this number has its own limit."""


@dataclass(frozen=True, kw_only=True)
class KeptRows:
    """What a release states about K, the number of rows of the file that the public rules keep.

    Attributes
    ----------
    way : "whole" (all rows of the file), "exact" (K is published), "counted" (K is published with noise) or "stated" (K is
        at least the stated number).
    drawn : the number of rows that the criterion values describe, a uniformly random subset of the K rows.
    number : K ("whole", "exact"), its noisy value ("counted") or a lower bound ("stated").
    most : the number of rows in the file, which is always an upper bound on K.
    scale : the scale b of the noise in a counted number, with Pr[z] proportional to exp(-|z| / b), or None.
    margin : the margin subtracted from the counted number, so that the release does not use more rows than were kept.
    few : whether the counted number was below the margin, so that K has no lower bound.
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
        """Return what a release states about K, the number of rows of the file that the rules keep.

        A counted number is the number of used rows plus the margin, unless it was clipped to 1 or to the number of rows of
        the file.
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
        return self.way in ("exact", "whole")

    @property
    def shortfall(self) -> float:
        """An upper bound on the probability that the rules kept fewer rows than the release used, so that public rows were
        added.
        """
        return float(SHORTFALL) if self.way == "counted" else 0.0

    @property
    def left_out(self) -> float:
        """The share of the kept rows that were not drawn, or the largest possible share if their number has only a lower
        bound.
        """
        return 1 - self.drawn / max(self.most if self.way == "stated" else self.number, self.drawn)

    def spare(self, confidence: float) -> float:
        """Return the risk that is left for intervals: 1 - confidence - `shortfall`.

        Raises
        ------
        InputError : if the remaining risk is not positive.
        """
        spare = 1 - confidence - self.shortfall
        if spare > 1e-9:
            return spare
        raise InputError(
            f"The confidence {confidence:g} is too high: it must be below {1 - self.shortfall:g}. With a probability of up to "
            f"{self.shortfall:g}, the rules kept fewer rows than the release used, and public rows were added."
        )

    def limits(self, risk: float) -> tuple[int, int]:
        """Return limits on the number of rows that the rules keep. One is wrong with probability at most `risk`, plus that
        of a shortfall.
        """
        if self.scale is None:
            return self.number, self.most
        reach = DiscreteLaplace(self.scale).rounded_up.limit(risk)
        return (0 if self.few else max(0, self.number - reach)), min(self.most, self.number + reach)

    def more(self, risk: float) -> int:
        """Return an upper limit on the number of kept rows that were not drawn. It is wrong with probability at most `risk`."""
        if self.scale is None:
            return self.most - self.drawn
        reach = DiscreteLaplace(self.scale).rounded_up.limit(min(2 * risk, 0.5))  # the distribution is symmetric
        return max(0, min(self.most, self.drawn + self.margin + reach) - self.drawn)

    def in_words(self, risk: float) -> str:
        """Return a phrase for the rows that the rules keep, such as "all its 5,000 rows"."""
        rows = f"{self.most:,} rows" if self.persons is None else f"rows (the first rows of {self.persons:,} persons)"
        if self.way == "whole":
            return f"all its {rows}"
        if self.way == "exact":
            return f"the {self.number:,} of its rows that the rules keep"
        kept = "the rows that the rules keep"
        if self.way == "stated":
            return (
                f"{kept}, according to the publisher at least {self.number:,} of its {rows} (if there are fewer, public rows "
                "were added, and these limits do not hold)"
            )
        low, high = self.limits(risk)
        return f"{kept}, {'few' if self.few else f'about {self.number:,}'} (between {low:,} and {high:,}) of its {rows}"


# Limits on counts of the rows that the release used, from published noisy tables, for all sums of counts together (theory 13.3,
# measured sums).
#
# A measured table holds R(cell) + z with independent noise z of a published distribution (`generators.measured_noise`). The
# error of a sum of k such counts is the sum of k independent noise terms, whose distribution is known (theory 13.5, limits of
# noise). The same holds for weighted sums.
#
# The sums are fixed beforehand. These sums are the cells of every sub-table of a measured table, the first 1, 2, ... bins of
# every ordered column, the sums of a column's numbers in bins of another column, and every measured sum of scores. Each sum
# gets an equal part of the risk, so all limits hold together (Bonferroni).


def sum_limit(noise: CountNoise, count: int, risk: float) -> int:
    """Return a limit that the absolute sum of `count` independent noise terms exceeds with probability at most `risk`, in
    (0, 1).
    """
    from synthrelease.generators.measurements import noise_limit  # here, because only measured tables need it

    return noise_limit(((noise, 1, count),), risk)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberSum:
    """Limits on the sum of a column's numbers (such as incomes) over the rows in some bins of another column (such as one
    region).

    Attributes
    ----------
    steps : (n_bins,) whole numbers: representative values on a grid, relative to the middle of their range, or 0 for
        missing values.
    by, inside : another column, and an (n_bins,) mask of its bins.
    """

    steps: np.ndarray
    by: str
    inside: np.ndarray
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredLimits:
    """The limits on counts of private rows that follow from published noisy tables.

    Attributes
    ----------
    measurements : the noisy tables on the released bins.
    risk : upper bound on the probability, over all noise in the run, that a table is released and at least one limit is
        wrong.
    each : the risk for each sum: `risk` divided by the number of sums and by `measured_times`.
    n_sums : the number of sums that have limits.
    """

    release: PublishedRelease
    measurements: Measurements
    risk: float
    each: float
    n_sums: int

    @classmethod
    def of(cls, release: PublishedRelease, risk: float, acceptance: float | None) -> MeasuredLimits | None:
        """Collect the limits from the noisy tables of a release.

        The result is None without such tables, or if the number of measurements had no limit.

        Parameters
        ----------
        acceptance : a lower bound on the probability that a round is accepted, or None if the caller knows none.
        """
        times = measured_times(release, acceptance)
        if release.measurements is None or times is None:
            return None
        sums = sum(_n_sums(release, table) for table in release.measurements.tables) + len(release.measurements.sums)
        return cls(release=release, measurements=release.measurements, risk=risk, each=risk / (times * sums), n_sums=sums)

    def cells(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return lower and upper limits on the cells of these columns, in the given order, for the used rows.

        The result is None if no noisy table contains the columns.
        """
        limits_of_tables = [self._around(table, *_sub_table(table, names)) for table in self._with(names)]
        return _narrowest(limits_of_tables)

    def first_bins(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return limits on the numbers of private rows in the first 1, 2, ... bins of a column.

        The result is None if the bins have no order, or if no noisy table contains the column.
        """
        present = _in_order(self.release, name)
        if not present:
            return None
        limits_of_tables = []
        for table in self._with([name]):
            values, cells = _sub_table(table, [name])
            limits_of_tables.append(self._around(table, np.cumsum(values)[: present - 1], np.cumsum(cells)[: present - 1]))
        return _narrowest(limits_of_tables)

    def number_sums(self, name: str) -> Iterator[NumberSum]:
        """Yield limits on sums of a column's numbers. Each sum covers one bin, or the first 2, 3, ... bins, of another
        column.
        """
        from synthrelease.generators.measurements import noise_limit

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
        """Yield limits on published sums of scores, each of which is a weighted sum of counts."""
        from synthrelease.generators.measured_noise import entry_limit  # few readers need sums

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
        """Summarise these limits, such as "3 published noisy tables: the error of each cell is at most 40 rows"."""
        noises = [table.noise for table in self.measurements.tables]
        widest, narrowest = (sum_limit(noise, 1, self.each) for noise in (max(noises), min(noises)))
        rows = so_many(narrowest, "row") if narrowest == widest else f"{narrowest:,} to {widest:,} rows"
        return (
            f"{so_many(len(noises), 'published noisy table')}: the error of each cell is at most {rows}. The errors of "
            f"{self.n_sums:,} sums of cells have limits, too"
        )


def measured_times(release: PublishedRelease, acceptance: float | None) -> float | None:
    """Return the number by which the risk of a limit is divided, because several noisy measurements may precede a release.

    It is an upper bound on the mean number of measurements before the release, times the number of binnings that could have
    been published. It is None without tables, or without an upper bound.
    """
    measurements = release.measurements
    if measurements is None or not measurements.tables:
        return None
    times = measurements.times if measurements.times == 1 or acceptance is None else min(measurements.times, 1 / acceptance)
    return times * measurements.bins if math.isfinite(times) else None


def _sub_table(table: PublishedMeasurement, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum a noisy table over all columns except the named ones. Return the sums, and the number of noisy counts in each."""
    return added_up(table.values, table.columns, names), added_up(table.cells, table.columns, names)


def _narrowest(limits_of_tables: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray] | None:
    if not limits_of_tables:
        return None
    lows, highs = zip(*limits_of_tables, strict=True)
    return np.max(lows, axis=0).astype(float), np.min(highs, axis=0).astype(float)


def _n_sums(release: PublishedRelease, table: PublishedMeasurement) -> int:
    """Count the sums over a noisy table that get limits: its cells, marginal cells, first 2, 3, ... bins, and sums of
    numbers.
    """
    sizes = table.values.shape
    subsets = [chosen for width in range(1, len(sizes) + 1) for chosen in combinations(sizes, width)]
    runs = sum(max(0, _in_order(release, name) - 1) for name in table.columns)
    numbered = [name for name in table.columns if name in _numbered(release)]
    of_numbers = sum(len(_bins_and_runs(release, by)) for name in numbered for by in table.columns if by != name)
    return sum(math.prod(chosen) for chosen in subsets) + runs + of_numbers


def _bins_and_runs(release: PublishedRelease, name: str) -> list[np.ndarray]:
    """Return a mask for each bin of a column and, if its bins are ordered, for the first 2, 3, ... bins."""
    bins = np.arange(len(release.by_name[name].labels))
    runs = range(2, _in_order(release, name) + 1)
    return [*(bins == bin_ for bin_ in bins), *(bins < length for length in runs)]


def _numbered(release: PublishedRelease) -> set[str]:
    """Return the columns whose bins of values all have representative values, which are not all equal."""
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
    """Return the number of ordered bins of values of a column, or 0 if its bins have no order."""
    column = release.by_name[name]
    return column.present if column.ordered else 0


# Part of the risk for the absolute error, which every bound uses. This part is fixed, so that it does not depend on a criterion
# value.
_SHARE_OF_ABSOLUTE = 0.5


_SHARE_OF_MEASURED = 0.5


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The upper limit on the true error behind the released value of one criterion.

    Attributes
    ----------
    index : position of the criterion in the release's list of criteria.
    score : the released value of this criterion.
    limit : the upper limit on the true error, in the unit of the criterion value, or infinity.
    risk : upper bound on the probability, given the released table, that the true error exceeds the limit.
    """

    index: int
    score: Score
    limit: float
    risk: float


def limits(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[Limit, ...]:
    """Return an upper limit on the exact value of each criterion with known noise. All limits hold at once with the stated
    confidence.

    Parameters
    ----------
    confidence : the confidence that all limits are true, at least 0.5 and below 1.
    acceptance : a lower bound on the probability that a round is accepted, for example from a rehearsal. It gives every
        criterion value a second limit, which is finite even near the threshold.

    Raises
    ------
    InputError : if the confidence or the acceptance probability is out of range, or if no limit follows from the release.
    """
    check_confidence(confidence)
    if acceptance is not None and not 0 < acceptance <= 1:
        raise InputError(f"acceptance: expected a probability above 0 and at most 1, found {acceptance:g}.")
    usable = [i for i, score in enumerate(release.criteria) if _has_known_noise(score) and _usable(score.kind)]
    if not usable and measured_times(release, acceptance) is None:
        example = next(filter(_usable, CRITERIA))
        raise InputError(
            f"{release.folder}: no answer has a bound, because this release has no criterion that limits errors, such as "
            f"{example!r}."
        )
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
    return score.mechanism == "Laplace" or score.one_noise is not None


def _usable(kind: str) -> bool:
    """Return whether a limit on a criterion of this kind implies limits on the errors of other queries."""
    return kind in CRITERIA and not explanation_of(kind).no_bounds


def check_confidence(confidence: float) -> None:
    """Raise an InputError unless a confidence is at least 0.5 and below 1."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence: expected a number of at least 0.5 and below 1, found {confidence:g}.")


def divided_risk(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[float, float]:
    """Divide the risk that a limit is wrong between criterion values and published noisy tables, half each if there are
    such tables.

    The division depends on which files are published, never on a criterion value or a noisy count.
    """
    share = 0.0 if measured_times(release, acceptance) is None else _SHARE_OF_MEASURED
    return (1 - confidence) * (1 - share), (1 - confidence) * share


def _risks(release: PublishedRelease, usable: list[int], risk: float) -> dict[int, float]:
    """Divide the risk among the criteria in `usable`, by their kinds alone. Return their parts by index."""
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
        raise InputError(
            f"criterion {score.name!r}: release.json does not state the noise of the released value. Write the documents again "
            "with the version that made the release."
        )
    if score.one_noise is not None:  # the noise was added after acceptance
        return score.one_noise.upper(score.value, score.sensitivity, n, risk)
    step = noise_grid(score.sensitivity, n).step
    # the scale of the discrete noise is below sd/sqrt(2) + step/2; see the test
    scale = score.noise_sd / math.sqrt(2) + step / 2
    if not score.decides:  # the noise of this criterion value had no influence on the acceptance
        return score.value + scale * math.log(1 / (2 * risk)) + step
    if acceptance is None:
        return selected_limit(score.value, score.threshold, scale, risk, step)
    return min(
        selected_limit(score.value, score.threshold, scale, risk / 2, step),
        score.value + scale * math.log(1 / (min(1.0, acceptance * risk / 2) * 2)) + step,
    )


def selected_limit(value: float, threshold: float, scale: float, risk: float, step: float = 0.0) -> float:
    """Return an upper limit on the true error of a criterion, given its released noisy value.

    The limit allows for the selection: values above the threshold are never released.

    Parameters
    ----------
    value, threshold : the released value and the threshold of the criterion.
    scale : the scale of the Laplace noise in the value.
    risk : the allowed probability that the limit is too small, between 0 and 1/2.
    step : step of the grid to which criterion values are rounded, which changed the value by at most half a step. In the
        tails, discrete noise of at least z steps is at most as likely as continuous noise of at least z - 1/2 steps
        (1/(1+a) <= a^(-1/2)/2).
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
