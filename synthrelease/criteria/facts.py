"""Hold what is public about a criterion as values: facts about a table, scores and queries, known errors, a shared noise.

The facts that a criterion's sentence, its sensitivity and its use in bounds rest on are made from release.json by
`bundle.limits`, and from a loaded release by `published.folder`; a criterion cannot tell. They hold criteria; which kind one
is, a criterion that builds on another finds out by its class.
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
    """A group of released bins of a column: its label, and (n_bins,) which bins are in it."""

    label: str
    inside: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """The public facts about a released table.

    Attributes
    ----------
    n : its number of rows.
    groups : what the acceptance file groups the bins of columns to, by column.
    criteria : the criteria that can be read, by name.
    counts : the released table; None where only words are asked for.
    raw : the rules for private rows on the released bins; None where they are not asked for.
    linked : how members stand in the record of their root; None where rows have no members.
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
        """Return the unit of a column, empty where it has none."""
        return self.by_name[name].unit if name in self.by_name else ""

    def grid_of(self, names: Iterable[str]) -> str:
        """Explain how the grids of some columns change their values; empty where every value is on its grid."""
        columns = [self.by_name[name] for name in names if name in self.by_name]
        coarse = [column for column in columns if column.step and not (column.kind == "integer" and column.step == 1)]
        grids = [f"{column.name.replace('_', ' ')} to the nearest {column.step:g} {column.unit}" for column in coarse]
        return "".join(f", {text.rstrip()}" for text in grids)

    @property
    def table(self) -> Counts:
        """Return the released table. Raises LookupError where these facts do not include it."""
        if self.counts is None:
            raise LookupError("the released table is not among these facts")
        return self.counts

    def cells(self, names: tuple[str, ...]) -> np.ndarray:
        """Return (n_cells,) counts over the product of the released bins of these columns, the last one varying fastest."""
        return self.table.marginal([self.table.layout.index(name) for name in names]).ravel()

    def of_values(self, cells: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """Return the entries of `cells` or `possible` for bins that hold values, without those of missing values."""
        shape = [len(self.by_name[name].labels) for name in names]
        return cells.reshape(shape)[tuple(slice(self.by_name[name].present) for name in names)].ravel()

    def rows_with_values(self, names: tuple[str, ...]) -> int:
        """Return the released rows that have a value in all of these columns."""
        bins = {name: self.table.digits(self.table.layout.index(name)) for name in names}
        valued = np.all([bins[name] < self.by_name[name].present for name in names], axis=0)
        return int(self.table.counts[valued].sum())

    def possible(self, names: tuple[str, ...]) -> np.ndarray:
        """Return (n_cells,) over the product of released bins: False where raw rules exclude every record of the cell."""
        if self.raw is None:
            raise LookupError("the rules for private rows are not among these facts")
        return ~self.raw.structural_zeros([self.raw.layout.index(name) for name in names]).ravel()


# What happens to a table when two of its columns lose what ties them together, and who would notice.
#
# A rehearsal asks it of every pair of columns, so that nobody finds out after a release that "diabetes : hospital" was looked
# at by no criterion.


@dataclass(frozen=True, kw_only=True)
class LostPair:
    """Two columns as they would be if they were independent, with the right shares each.

    Attributes
    ----------
    columns : their names.
    distance : how far their table would then be off: total variation, a share of the rows.
    largest_cell : how far its worst cell would be off, as a share of the rows.
    n_columns : of the whole table.
    """

    columns: frozenset[str]
    distance: float
    largest_cell: float
    n_columns: int

    def is_one_of(self, column: str, others: Iterable[str]) -> bool:
        """Return whether the pair is this column and one of the others."""
        return column in self.columns and any(self.columns == {column, other} for other in others)


# What the limit of a criterion's true error says about the original table, as bounds take it (theory 13, error bounds).


@dataclass(frozen=True, kw_only=True)
class CellError:
    """A bound: no cell of a table of at most `largest` columns, nor of one of the `tables`, has an error above `rows`."""

    rows: int
    largest: int
    criterion: str
    tables: tuple[frozenset[str], ...] = ()

    def holds_for(self, columns: Sequence[str]) -> bool:
        """Return whether the cells of the table of these columns are among them."""
        return len(columns) <= self.largest or frozenset(columns) in self.tables


@dataclass(frozen=True, kw_only=True)
class RatioError:
    """A bound on the ratio of two counts: in no single column does a count, plus 1, differ by more than this factor."""

    factor: float
    criterion: str


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanError:
    """A bound: no mean of `column` has an error above `most` in the groups of `by`, nor overall where `overall` says so.

    `lowest` and `highest` clip the numbers; `size_margin` gives the sizes below which a group is filled up. `values` are
    (n_present,) the lowest and the highest that an original row of each bin counts as: twice its number, where the criterion
    is about bin numbers.
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
    """All but `rows` original rows have a similar released row for themselves.

    `steps`: for the columns that may be one bin apart, whether each bin is similar to the next one up. `ignored` columns may
    differ in any way.
    """

    rows: int
    steps: Mapping[str, tuple[bool, ...]]
    criterion: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SumError:
    """Weighted sums over the cells of the table of some columns are at most so much: weights . R <= most, one by one.

    `weights` has an array with an axis for each column, over all its released bins, for every sum.
    """

    columns: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    most: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class SumErrors:
    """Everything that one criterion says about weighted sums, over tables of different columns."""

    sums: tuple[SumError, ...]
    criterion: str


KnownError = CellError | RatioError | MeanError | Unmatched | SumErrors


# Figures that share one noise: which ones do, and what their readers know of it. Nothing private is here.
#
# They are the figures of a dataset that a joint test accepted, where the whole release is pure: all of them are fixed before
# any is released, and one vector of noise costs the sum of what each would have paid for noise of its own (theory 4.4, figures
# that share a noise). Of the figures of a round the limits of bounds would not hold (theory 13.1, limit behind an accepted
# figure): that one of them passed would tell how large the noise of the others is.

MECHANISM = "K-norm: one noise for several figures"
"""The mechanism that protects such a value, in words."""


@dataclass(frozen=True, kw_only=True)
class OneNoise:
    """The noise of one of several figures that share their noise.

    Attributes
    ----------
    figures : how many share it.
    epsilon : of all of them together.
    """

    figures: int
    epsilon: Fraction

    def sd(self, sensitivity: float, rows: int) -> float:
        """Return its standard deviation, in the figure's unit."""
        grid = shared_grid(sensitivity, rows)
        return grid.step * cube_sd(self.figures, Fraction(grid.steps) / self.epsilon)

    def beyond(self, rows: int, risk: float) -> int:
        """Return the largest absolute noise, in steps of the figure's grid, except with at most this risk (0 to 1)."""
        return cube_limit(self.figures, Fraction(shared_steps(rows)) / self.epsilon, risk)

    def upper(self, value: float, sensitivity: float, rows: int, risk: float) -> float:
        """Return a number that the exact figure exceeds with at most this probability (0 to 1/2).

        The law is symmetric, so that one side has half of the risk of both. A step is for the rounding to the grid.
        """
        return value + (self.beyond(rows, 2 * risk) + 1) * shared_grid(sensitivity, rows).step

    def deviation(self, sensitivity: float) -> float:
        """Return the standard deviation but for the grid: for figures whose number of rows is not known."""
        return math.sqrt((self.figures + 1) * (self.figures + 2) / 3) * sensitivity / float(self.epsilon)

    def because(self, epsilon: Fraction) -> str:
        """Return the reason of a charge of this epsilon, and its standard deviation over that of a noise of its own."""
        share = self.deviation(1.0) * float(epsilon) / math.sqrt(2)
        return (
            f"K-norm mechanism: one noise for {self.figures} figures, {share:.2f} of the standard deviation of one of its own"
        )


def noise_deviation(sensitivity: float, epsilon: Fraction, shared: OneNoise | None = None) -> float:
    """Return the standard deviation of a figure's noise but for its grid: of Laplace noise of its own, or of a `shared` one.

    Examples
    --------
    >>> round(noise_deviation(1.0, Fraction(1)), 4)
    1.4142
    """
    return math.sqrt(2) * sensitivity / float(epsilon) if shared is None else shared.deviation(sensitivity)


def shared_noise(epsilons: Mapping[str, Fraction]) -> dict[str, OneNoise]:
    """Return the noise that figures share, by the names of these: of none, or of two and more.

    A function of their budgets alone, so it is public. All begin together; as long as the one with the largest epsilon (the
    first of several) would have less noise by itself, or there are more than the law of the noise is computed for, it leaves.
    So nobody's noise grows: with m figures of E in all, sqrt((m + 1)(m + 2) / 3) / E is at most sqrt(2) / epsilon.
    """
    left = dict(epsilons)
    while len(left) > 1:
        largest, size, total = max(left, key=lambda name: left[name]), len(left), sum(left.values(), Fraction(0))
        if size <= MOST_NUMBERS and 6 * total**2 >= (size + 1) * (size + 2) * left[largest] ** 2:
            return dict.fromkeys(left, OneNoise(figures=size, epsilon=total))
        del left[largest]
    return {}


# What a criterion asks of the private table, and what comes of it.

ANSWERED = "none: an upper bound that follows from the published measurements"
"""The mechanism of a criterion that measurements answer."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The result of one criterion, as it may be published.

    `sensitivity` and `noise_sd` are in the units of `value`; None where no noise is added. A value that is not a number
    does not pass.

    Attributes
    ----------
    noise_bound : where the noise is not added to the figure itself: an estimate of what it moves the figure by at most, in 95
        of 100 cases.
    decides : whether this very figure was compared with the threshold; it is then known only because it passed.
    one_noise : where several figures share one noise, that noise; `epsilon` is this figure's share of what it cost.
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
    """The query of a criterion to the private table. Asking is public; only `figure` and `slack` see counts.

    Attributes
    ----------
    figure : the exact figure of a private table; total.
    sensitivity : largest change of the figure when one record is replaced, > 0.
    slack : how far a private table is from failing: at or above 0 just when the figure is at or below the threshold, and of
        sensitivity 1. By default (threshold - figure) / sensitivity; a criterion may know a sharper one.
    void : the candidate fails whatever the private table is (a group without rows, say); the figure is paid for all the same.
    """

    figure: Callable[[Counts], float]
    sensitivity: float
    slack: Callable[[Counts], float] | None = None
    void: bool = False


def outward(bound: float) -> float:
    """Return an upper bound with room for the rounding of a few sums and quotients of floats: never below it, whatever its
    sign.
    """
    return bound + abs(bound) * 2.0**-40


# How names and figures are written in the sentences about a release.


def words(name: str) -> str:
    """Return a name from a file as words."""
    return name.replace("_", " ")


def figure(value: float | None, digits: int = 4) -> str:
    """Return a figure to so many significant digits, whole numbers in full; with thousands set apart."""
    if value is None:
        return "not bounded"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    if "e+" in text:  # 130 to two digits is no 1.3e+02
        return f"{float(text):,.0f}"
    if abs(value) < 1000:
        return text
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"


def in_words(value: Any) -> str:
    """Return a setting in words: numbers, names, and lists or tables of them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))}: {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(in_words(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value, 10) if isinstance(value, int | float) else words(str(value))


def grouped(by: Sequence[str], overall: bool, facts: PublicFacts) -> str:
    """Return the groups over which a figure is taken: groups of columns, with the labels of [groups] where they exist, and
    all rows.
    """

    def column(name: str) -> str:
        groups = facts.groups.get(name)
        return words(name) if groups is None else f"{words(name)} ({', '.join(group.label for group in groups)})"

    parts = [f"over groups by {'; by '.join(map(column, by))}"] if by else []
    return " and ".join([*parts, *(["over all rows"] if overall else [])])


def what_counts(values: str, ranges: Mapping[str, tuple[float, float]], columns: Sequence[str], facts: PublicFacts) -> str:
    """Return the values that original rows count as in a regression, in words, where these differ from their own values."""
    which = {
        "bins": "original rows count by the numbers of their bins",
        "own target": "features count by the numbers of their bins",
    }
    limits = ", ".join(f"{words(name)} as {in_words(low)} to {in_words(high)} at most" for name, (low, high) in ranges.items())
    grids = facts.grid_of(columns if values == "own" else columns[-1:] if values == "own target" else ()).removeprefix(", ")
    return "".join(f"; {text}" for text in (which.get(values, ""), limits, grids) if text)


# Where a figure comes from: the table, cell, group or coefficient with the largest error, named on public data.
#
# An offender is exact: it holds counts without noise. So it is asked of a `PublicCounts`, which only a rehearsal makes, of a
# file that is public. A release holds its counts behind `enclave.door.PrivateCounts`, which hands them to a mechanism inside
# `spend` alone and yields noisy figures; a criterion's `query`, all that a release asks, neither makes nor takes a
# `PublicCounts`. tests/test_architecture.py keeps `PublicCounts(` and `.offender(` out of the rooms that a release runs
# through.


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """A table of public rows, on a candidate's bins. The caller guarantees that the rows are public."""

    counts: Counts


@dataclass(frozen=True, kw_only=True)
class Offender:
    """The part of a figure with the largest error.

    Attributes
    ----------
    where : the table, cell, group or coefficient in words: "age=18-24, sex=F".
    released, original : what stands there in the candidate and in the public table, in words: "3.1%".
    """

    where: str
    released: str
    original: str

    def __str__(self) -> str:
        return f"{self.where}: {self.released} against {self.original}"


def share(rows: float, of: float) -> str:
    """Return a share in per cent to three digits."""
    return f"{figure(100 * rows / of, 3)}%" if of else "no rows"
