"""Define the public values that criteria use and return: facts about a table, queries, scores, known errors, shared noise,
and texts.

A criterion's sentence, sensitivity and error bounds depend only on these facts. The facts include all criteria, because one
criterion may refer to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import PublishedColumn
from synthrelease.generators.measured_noise import MOST_NUMBERS, cube_limit, cube_sd
from synthrelease.privacy.grids import shared_grid, shared_steps


@dataclass(frozen=True, kw_only=True)
class Group:
    """A group of released bins of a column: its label, and an (n_bins,) mask of its bins."""

    label: str
    inside: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """The public facts about a released table.

    Attributes
    ----------
    groups : the groups of bins from [groups], by column.
    criteria : the criteria of known kinds, by name.
    counts : the released table, or None if only sentences are written.
    raw : the plausibility rules for private rows, on the released bins, or None if not needed.
    linked : the columns of the members in the record of their root, or None without [members].
    """

    n: int
    columns: tuple[PublishedColumn, ...]
    groups: Mapping[str, tuple[Group, ...]]
    criteria: Mapping[str, object]
    counts: Counts | None = None
    raw: Plausibility | None = None
    linked: Linked | None = None

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.columns}

    def unit(self, name: str) -> str:
        return self.by_name[name].unit if name in self.by_name else ""

    def grid_of(self, names: Iterable[str]) -> str:
        """Describe the grids to which the values of some columns are rounded, "" if no value changes."""
        columns = [self.by_name[name] for name in names if name in self.by_name]
        coarse = [column for column in columns if column.step and not (column.kind == "integer" and column.step == 1)]
        grids = [f"{column.name.replace('_', ' ')} to the nearest {column.step:g} {column.unit}" for column in coarse]
        return "".join(f", {text.rstrip()}" for text in grids)

    @property
    def table(self) -> Counts:
        if self.counts is None:
            raise LookupError("the released table is not among these facts")
        return self.counts

    def cells(self, names: tuple[str, ...]) -> np.ndarray:
        """Return the (n_cells,) released counts of these columns. The last column varies fastest."""
        return self.table.marginal([self.table.layout.index(name) for name in names]).ravel()

    def of_values(self, cells: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """Remove the bins of missing values from an array over all combinations of bins of these columns."""
        shape = [len(self.by_name[name].labels) for name in names]
        return cells.reshape(shape)[tuple(slice(self.by_name[name].present) for name in names)].ravel()

    def rows_with_values(self, names: tuple[str, ...]) -> int:
        bins = {name: self.table.digits(self.table.layout.index(name)) for name in names}
        valued = np.all([bins[name] < self.by_name[name].present for name in names], axis=0)
        return int(self.table.counts[valued].sum())

    def possible(self, names: tuple[str, ...]) -> np.ndarray:
        """Return an (n_cells,) mask of the combinations of released bins, False where the rules for the private file
        exclude every record.
        """
        if self.raw is None:
            raise LookupError("the rules for private rows are not among these facts")
        return ~self.raw.structural_zeros([self.raw.layout.index(name) for name in names]).ravel()


# The loss of the association of two columns. A rehearsal checks for every pair whether some criterion would detect the loss. So
# a missing criterion about "diabetes : hospital" is found before a release.


@dataclass(frozen=True, kw_only=True)
class LostPair:
    """Two columns whose association is lost: each has the correct shares, but the two are independent.

    Attributes
    ----------
    distance : the total variation distance of the independent table from the true one, as a share of the rows.
    largest_cell : the largest error of a cell of the independent table, as a share of the rows.
    """

    columns: frozenset[str]
    distance: float
    largest_cell: float
    n_columns: int

    def is_one_of(self, column: str, others: Iterable[str]) -> bool:
        return column in self.columns and any(self.columns == {column, other} for other in others)


# Bounds on the original table that follow from an upper limit of a criterion's exact value; bounds of answers use these (theory
# 13, error bounds).


@dataclass(frozen=True, kw_only=True)
class CellError:
    """A bound on counts: in every table in `tables` or of at most `largest` columns, no count is wrong by more than `rows`
    rows.
    """

    rows: int
    largest: int
    criterion: str
    tables: tuple[frozenset[str], ...] = ()

    def holds_for(self, columns: Sequence[str]) -> bool:
        return len(columns) <= self.largest or frozenset(columns) in self.tables


@dataclass(frozen=True, kw_only=True)
class RatioError:
    """A bound on ratios: in every bin, the released and the original count, plus 1 each, differ by at most this factor."""

    factor: float
    criterion: str


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanError:
    """A bound on means: every mean of `column` in the groups of `by` has an error of at most `most` and, with `overall`,
    the mean of all rows.

    Values are clipped to `lowest` and `highest`. Small groups are padded up to a minimum size, which `size_margin`
    determines. `values` are the (n_present,) lowest and highest values of an original row in each bin, equal for
    representative values.
    """

    most: float
    column: str
    by: tuple[str, ...]
    overall: bool
    lowest: float
    highest: float
    size_margin: float
    values: tuple[np.ndarray, np.ndarray]
    criterion: str


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """A bound from faithfulness: at most `rows` original rows are not paired with a similar released row.

    `steps` says, for each column in which rows may be one bin apart, which bins are similar to the next higher bin. The
    `ignored` columns are not compared.
    """

    rows: int
    steps: Mapping[str, tuple[bool, ...]]
    criterion: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SumError:
    """Upper limits on weighted sums of the original counts in the table of some columns: the sum of weight times count is
    at most the value in `most`.

    Each array in `weights` has one axis for each column, over its released bins.
    """

    columns: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    most: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class SumErrors:
    """All upper limits on weighted sums of original counts, over one or several tables, that follow from one criterion."""

    sums: tuple[SumError, ...]
    criterion: str


KnownError = CellError | RatioError | MeanError | Unmatched | SumErrors


# Criterion values that share one noise vector. Nothing here is private.
#
# These are the criterion values of a table that a joint test accepted, in a release with pure differential privacy. All of
# these values are fixed before any value is released. One noise vector costs the sum of the epsilons that the values would have
# cost separately (theory 4.4, figures that share a noise). Criterion values that decide a round cannot share noise, because the
# limits of bounds would not hold (theory 13.1, limit behind an accepted figure). If one value passed, this would be evidence
# about the noise of the other values.

MECHANISM = "K-norm: one noise for several figures"
"""The name of the mechanism for a criterion value that shares its noise with other values."""


@dataclass(frozen=True, kw_only=True)
class OneNoise:
    """The noise of `figures` criterion values that share one random vector, with the total `epsilon`."""

    figures: int
    epsilon: Fraction

    def sd(self, sensitivity: float, rows: int) -> float:
        grid = shared_grid(sensitivity, rows)
        return grid.step * cube_sd(self.figures, Fraction(grid.steps) / self.epsilon)

    def beyond(self, rows: int, risk: float) -> int:
        """Return a limit, in steps of the grid of criterion values, that the absolute noise exceeds with probability at
        most `risk`."""
        return cube_limit(self.figures, Fraction(shared_steps(rows)) / self.epsilon, risk)

    def upper(self, value: float, sensitivity: float, rows: int, risk: float) -> float:
        """Return an upper limit on the exact criterion value, wrong with probability at most `risk` (0 to 1/2).

        A one-sided limit has half the risk of a two-sided one. One step is added for the rounding to the grid.
        """
        return value + (self.beyond(rows, 2 * risk) + 1) * shared_grid(sensitivity, rows).step

    def deviation(self, sensitivity: float) -> float:
        """Return the standard deviation of the noise, without the rounding to a grid that depends on the number of rows."""
        return math.sqrt((self.figures + 1) * (self.figures + 2) / 3) * sensitivity / float(self.epsilon)

    def because(self, epsilon: Fraction) -> str:
        share = self.deviation(1.0) * float(epsilon) / math.sqrt(2)
        return (
            f"K-norm mechanism: one noise for {self.figures} figures, {share:.2f} of the standard deviation of one of its own"
        )


def noise_deviation(sensitivity: float, epsilon: Fraction, shared: OneNoise | None = None) -> float:
    """Return the standard deviation of the noise in a criterion value, separate or shared, without rounding.

    Examples
    --------
    >>> round(noise_deviation(1.0, Fraction(1)), 4)
    1.4142
    """
    return math.sqrt(2) * sensitivity / float(epsilon) if shared is None else shared.deviation(sensitivity)


def shared_noise(epsilons: Mapping[str, Fraction]) -> dict[str, OneNoise]:
    """Decide, from the epsilons alone, which criterion values share one noise vector. Return their noise by the name of the
    criterion: for none, or for at least two.

    No value gets more noise than separate noise: with m values and a total epsilon E, sqrt((m + 1)(m + 2) / 3) / E is at
    most sqrt(2) / epsilon. The value with the largest epsilon is removed until this holds, and at most `MOST_NUMBERS`
    values are left.
    """
    left = dict(epsilons)
    while len(left) > 1:
        largest, size, total = max(left, key=lambda name: left[name]), len(left), sum(left.values(), Fraction(0))
        if size <= MOST_NUMBERS and 6 * total**2 >= (size + 1) * (size + 2) * left[largest] ** 2:
            return dict.fromkeys(left, OneNoise(figures=size, epsilon=total))
        del left[largest]
    return {}


# The query of a criterion to the private table, and the score.

ANSWERED = "none: an upper bound that follows from the published measurements"
"""The name of the mechanism for a criterion that sets `answered_by`."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The publishable result of one criterion for one candidate.

    `sensitivity` and `noise_sd` are in the unit of `value`, and None without noise. A value of NaN does not pass.

    Attributes
    ----------
    noise_bound : if noise is not added to the value itself, the estimated change of the value that the noise exceeds in 5%
        of cases.
    decides : whether this value was compared with its threshold to accept or reject the candidate, and so is published only
        because it passed.
    one_noise : the noise that this value shares with others, or None. `epsilon` is then this value's part of the total.
    """

    name: str
    kind: str
    threshold: float
    value: float
    epsilon: Fraction
    mechanism: str
    sensitivity: float | None
    noise_sd: float | None
    passed: bool
    noise_bound: float | None = None
    decides: bool = True
    one_noise: OneNoise | None = None


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a criterion asks of the private table. The query is public; only its functions `figure` and `slack` read private
    counts.

    Attributes
    ----------
    figure : a function that returns the exact criterion value of any private table.
    sensitivity : the largest change of the criterion value when one record is replaced, above 0.
    slack : a function that returns the distance of a private table from failing the criterion, with sensitivity 1. It is at
        least 0 if and only if the criterion value is at most the threshold. The default is (threshold - criterion value) /
        sensitivity.
    void : whether the candidate fails for every private table, for example because a group has no rows. A void query has
        the same charge.
    """

    figure: Callable[[Counts], float]
    sensitivity: float
    slack: Callable[[Counts], float] | None = None
    void: bool = False


def outward(bound: float) -> float:
    return bound + abs(bound) * 2.0**-40


# How names and numbers are written in the sentences about a release.


def words(name: str) -> str:
    return name.replace("_", " ")


def figure(value: float | None, digits: int = 4) -> str:
    """Format a number with `digits` significant digits and thousands separators. Whole numbers keep all digits. None
    becomes "not bounded".
    """
    if value is None:
        return "not bounded"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    if "e+" in text:  # write 130, not 1.3e+02
        return f"{float(text):,.0f}"
    if abs(value) < 1000:
        return text
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"


def in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))}: {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(in_words(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value, 10) if isinstance(value, int | float) else words(str(value))


def grouped(by: Sequence[str], overall: bool, facts: PublicFacts) -> str:
    """Describe the groups of a criterion, with the labels of [groups] if these contain the column."""

    def column(name: str) -> str:
        groups = facts.groups.get(name)
        return words(name) if groups is None else f"{words(name)} ({', '.join(group.label for group in groups)})"

    parts = [f"over groups by {'; by '.join(map(column, by))}"] if by else []
    return " and ".join([*parts, *(["over all rows"] if overall else [])])


def what_counts(values: str, ranges: Mapping[str, tuple[float, float]], columns: Sequence[str], facts: PublicFacts) -> str:
    """Describe how a criterion changes the values of original rows before a regression, "" if not at all."""
    which = {
        "bins": "each original value is replaced by the representative value of its bin",
        "own target": "each value of a feature is replaced by the representative value of its bin",
    }
    limits = ", ".join(f"{words(name)} as {in_words(low)} to {in_words(high)} at most" for name, (low, high) in ranges.items())
    grids = facts.grid_of(columns if values == "own" else columns[-1:] if values == "own target" else ()).removeprefix(", ")
    return "".join(f"; {text}" for text in (which.get(values, ""), limits, grids) if text)


# The table, cell, group or coefficient with the largest error, named on public data.
#
# An offender contains exact counts without noise. So `offender` takes a `PublicCounts`, which only a rehearsal makes, from a
# public file. A release keeps its counts in `enclave.door.PrivateCounts`. This class gives the counts only to a mechanism
# inside `spend`, and returns noisy values. A release calls only a criterion's `query`, which neither makes nor takes a
# `PublicCounts`. tests/test_architecture.py forbids `PublicCounts(` and `.offender(` in modules that a release runs.


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """A table of public rows in the bins of a candidate. The caller guarantees that the rows are public."""

    counts: Counts


@dataclass(frozen=True, kw_only=True)
class Offender:
    """The part of a candidate with the largest error, such as "age=18-24, sex=F", with its released and original values as
    strings such as "3.1%".
    """

    where: str
    released: str
    original: str

    def __str__(self) -> str:
        return f"{self.where}: {self.released} in the synthetic table, {self.original} in the public file"


def share(rows: float, of: float) -> str:
    """Return a share as a percentage with three significant digits, "no rows" if `of` is 0."""
    return f"{figure(100 * rows / of, 3)}%" if of else "no rows"
