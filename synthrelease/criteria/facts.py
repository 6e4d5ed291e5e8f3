"""Define the public values that criteria use and return: facts about a table, queries, scores, known errors, shared noise, and
texts.

`bundle.limits` computes the facts about a table from release.json. `published.folder` computes the same facts from a loaded
release. A criterion's explanatory sentence, sensitivity and error bounds depend only on these facts. The facts include all
criteria, because one criterion may refer to another.
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
    """A group of released bins of a column: the label of the group, and an (n_bins,) mask of the bins in the group."""

    label: str
    inside: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """The public facts about a released table.

    Attributes
    ----------
    n : the number of rows.
    groups : the groups of bins from [groups] in the acceptance file, by column.
    criteria : the criteria of known kinds, by name.
    counts : the released table, or None if the facts are used only to write sentences.
    raw : the plausibility rules for private rows, on the released bins, or None if these rules are not needed.
    linked : the columns of the members in the record of their root, or None if the specification has no [members].
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
        """Return the unit of a column, or an empty string if the column has no unit or an unknown unit."""
        return self.by_name[name].unit if name in self.by_name else ""

    def grid_of(self, names: Iterable[str]) -> str:
        """Describe the grids to which the values of some columns are rounded. The string is empty if no value changes."""
        columns = [self.by_name[name] for name in names if name in self.by_name]
        coarse = [column for column in columns if column.step and not (column.kind == "integer" and column.step == 1)]
        grids = [f"{column.name.replace('_', ' ')} to the nearest {column.step:g} {column.unit}" for column in coarse]
        return "".join(f", {text.rstrip()}" for text in grids)

    @property
    def table(self) -> Counts:
        """Return the released table. Raises LookupError if these facts do not include the released table."""
        if self.counts is None:
            raise LookupError("the released table is not among these facts")
        return self.counts

    def cells(self, names: tuple[str, ...]) -> np.ndarray:
        """Return the number of released rows in each combination of bins of these columns, as an (n_cells,) array. The last
        column varies fastest."""
        return self.table.marginal([self.table.layout.index(name) for name in names]).ravel()

    def of_values(self, cells: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """Remove the bins of missing values from an array over all combinations of bins of some columns, such as a result of
        `cells` or `possible`.
        """
        shape = [len(self.by_name[name].labels) for name in names]
        return cells.reshape(shape)[tuple(slice(self.by_name[name].present) for name in names)].ravel()

    def rows_with_values(self, names: tuple[str, ...]) -> int:
        """Return the number of released rows that have a value in all of these columns."""
        bins = {name: self.table.digits(self.table.layout.index(name)) for name in names}
        valued = np.all([bins[name] < self.by_name[name].present for name in names], axis=0)
        return int(self.table.counts[valued].sum())

    def possible(self, names: tuple[str, ...]) -> np.ndarray:
        """Return an (n_cells,) mask of the combinations of released bins that private rows can have. It is False if the
        rules for the private file exclude every record of the cell.
        """
        if self.raw is None:
            raise LookupError("the rules for private rows are not among these facts")
        return ~self.raw.structural_zeros([self.raw.layout.index(name) for name in names]).ravel()


# The loss of the association of two columns. A rehearsal checks for every pair whether some criterion would detect the loss. So
# a missing criterion about "diabetes : hospital" is found before a release.


@dataclass(frozen=True, kw_only=True)
class LostPair:
    """Two columns whose association is lost: each column has the correct shares, but the two columns are independent.

    Attributes
    ----------
    columns : the names of the two columns.
    distance : the total variation distance of the table of independent columns from the true table, as a share of the rows.
    largest_cell : the largest error of a cell of the table of independent columns, as a share of the rows.
    n_columns : the number of columns of the whole table.
    """

    columns: frozenset[str]
    distance: float
    largest_cell: float
    n_columns: int

    def is_one_of(self, column: str, others: Iterable[str]) -> bool:
        """Return whether one column of the pair is `column` and the other is in `others`."""
        return column in self.columns and any(self.columns == {column, other} for other in others)


# Bounds on the original table that follow from an upper limit of a criterion's exact value; bounds of answers use these (theory
# 13, error bounds).


@dataclass(frozen=True, kw_only=True)
class CellError:
    """A bound on the errors of counts: in every table of at most `largest` columns, and in every table in `tables`, no count
    is wrong by more than `rows` rows.
    """

    rows: int
    largest: int
    criterion: str
    tables: tuple[frozenset[str], ...] = ()

    def holds_for(self, columns: Sequence[str]) -> bool:
        """Return whether the bound on errors holds for the counts in the table of these columns."""
        return len(columns) <= self.largest or frozenset(columns) in self.tables


@dataclass(frozen=True, kw_only=True)
class RatioError:
    """A bound on ratios of counts. In every bin of every column, the released count plus 1 and the original count plus 1 differ
    by at most this factor.
    """

    factor: float
    criterion: str


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanError:
    """A bound on the errors of means. Every mean of `column` in the groups of `by` has an error of at most `most`. If
    `overall` is true, the bound also applies to the mean of all rows.

    Values are clipped to `lowest` and `highest`. The criterion pads small groups up to a minimum size, which `size_margin`
    determines. `values` are two (n_present,) arrays: the lowest and the highest value of an original row in each bin. If the
    criterion uses representative values, both arrays contain these values.
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
    """A bound that follows from faithfulness: at most `rows` original rows are not paired with a similar released row.

    For each column in which rows may be one bin apart, `steps` contains an array of booleans. Each entry says whether a bin is
    similar to the next higher bin. The `ignored` columns are not compared.
    """

    rows: int
    steps: Mapping[str, tuple[bool, ...]]
    criterion: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SumError:
    """Upper limits on weighted sums of the original counts in the table of some columns, one limit for each sum. Add weight
    times count over all cells of this table: the result is at most the value in `most`.

    `weights` has one array for each sum. This array has an axis for each column, over the released bins of the column.
    """

    columns: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    most: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class SumErrors:
    """All upper limits on weighted sums of original counts that follow from one criterion. The sums may be over tables of
    different columns.
    """

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
    """The noise in a criterion value that is released together with others. One random vector of noise is drawn for all of
    them, with an entry for each criterion value.

    Attributes
    ----------
    figures : the number of criterion values that share the noise vector.
    epsilon : the total epsilon of these criterion values.
    """

    figures: int
    epsilon: Fraction

    def sd(self, sensitivity: float, rows: int) -> float:
        """Return the standard deviation of the noise, in the unit of the criterion value."""
        grid = shared_grid(sensitivity, rows)
        return grid.step * cube_sd(self.figures, Fraction(grid.steps) / self.epsilon)

    def beyond(self, rows: int, risk: float) -> int:
        """Return a limit that the absolute noise exceeds with probability at most `risk` (0 to 1). The limit is a number of
        steps of the grid to which criterion values are rounded."""
        return cube_limit(self.figures, Fraction(shared_steps(rows)) / self.epsilon, risk)

    def upper(self, value: float, sensitivity: float, rows: int, risk: float) -> float:
        """Return an upper limit on the exact criterion value. The value exceeds the limit with at most the probability `risk`
        (0 to 1/2).

        The noise distribution is symmetric, so a one-sided limit has half of the risk of a two-sided limit. One step is added
        for the rounding to the grid.
        """
        return value + (self.beyond(rows, 2 * risk) + 1) * shared_grid(sensitivity, rows).step

    def deviation(self, sensitivity: float) -> float:
        """Return the standard deviation of the noise in a criterion value for callers that do not know the number of rows.
        The rounding of values to a grid is ignored.
        """
        return math.sqrt((self.figures + 1) * (self.figures + 2) / 3) * sensitivity / float(self.epsilon)

    def because(self, epsilon: Fraction) -> str:
        """Return the text that explains why a criterion value with shared noise is charged this epsilon. It compares the
        standard deviation of the shared noise with that of separate Laplace noise.
        """
        share = self.deviation(1.0) * float(epsilon) / math.sqrt(2)
        return (
            f"K-norm mechanism: one noise for {self.figures} figures, {share:.2f} of the standard deviation of one of its own"
        )


def noise_deviation(sensitivity: float, epsilon: Fraction, shared: OneNoise | None = None) -> float:
    """Return the standard deviation of the noise in a criterion value. This is separate Laplace noise or, if `shared` is
    given, noise that several criterion values share. The rounding of values to a grid is ignored.

    Examples
    --------
    >>> round(noise_deviation(1.0, Fraction(1)), 4)
    1.4142
    """
    return math.sqrt(2) * sensitivity / float(epsilon) if shared is None else shared.deviation(sensitivity)


def shared_noise(epsilons: Mapping[str, Fraction]) -> dict[str, OneNoise]:
    """Decide which criterion values get their noise from one shared vector instead of separate draws. Return the noise of
    these values by the name of the criterion. The result is empty or contains at least two entries; all other values get
    separate noise.

    The result depends on the epsilons alone, so it is public. The search starts with all criterion values. It removes the
    criterion value with the largest epsilon if separate noise would be smaller for this value, or if more than `MOST_NUMBERS`
    criterion values are left. So no criterion value gets more noise than it would have with separate noise. With m criterion
    values and a total epsilon E, sqrt((m + 1)(m + 2) / 3) / E is at most sqrt(2) / epsilon.
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
    """The publishable result of one criterion for one candidate (a synthetic table).

    `sensitivity` and `noise_sd` are in the unit of `value`. Both fields are None if no noise is added. A value of NaN does not
    pass.

    Attributes
    ----------
    noise_bound : if the noise is not added to the criterion value itself, an estimate of the change of this value that the
        noise exceeds in 5% of cases.
    decides : whether this criterion value was compared with its threshold to accept or reject the candidate. If so, the value
        is published only because it passed.
    one_noise : the noise that this criterion value shares with other values, or None. If it shares noise, `epsilon` is the
        part of the total epsilon that this value gets.
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
    """What a criterion asks of the private table: a function that computes the criterion value, and the sensitivity of this
    value. The query itself is public; only its functions `figure` and `slack` read private counts.

    Attributes
    ----------
    figure : a function that returns the exact criterion value of any private table.
    sensitivity : the largest change of the criterion value when one record is replaced, above 0.
    slack : a function that returns the distance of a private table from failing the criterion. The slack has sensitivity 1. It
        is at least 0 if and only if the criterion value is at most the threshold. The default is (threshold - criterion value)
        / sensitivity.
    void : whether the candidate fails for every private table, for example because a group has no rows. A void query has the
        same charge as any other query.
    """

    figure: Callable[[Counts], float]
    sensitivity: float
    slack: Callable[[Counts], float] | None = None
    void: bool = False


def outward(bound: float) -> float:
    """Return a slightly larger upper bound, which also covers the rounding errors of a few floating-point sums and
    quotients.
    """
    return bound + abs(bound) * 2.0**-40


# How names and numbers are written in the sentences about a release.


def words(name: str) -> str:
    """Return a name from a file with spaces in place of underscores."""
    return name.replace("_", " ")


def figure(value: float | None, digits: int = 4) -> str:
    """Format a number with `digits` significant digits and thousands separators. Whole numbers keep all digits. None becomes
    the words "not bounded".
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
    """Return the value of a setting as a string. The value is a number, a name, or a list or table of numbers and names."""
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))}: {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(in_words(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value, 10) if isinstance(value, int | float) else words(str(value))


def grouped(by: Sequence[str], overall: bool, facts: PublicFacts) -> str:
    """Return a description of the groups of a criterion. If [groups] contains the column, the description uses the labels of
    [groups].
    """

    def column(name: str) -> str:
        groups = facts.groups.get(name)
        return words(name) if groups is None else f"{words(name)} ({', '.join(group.label for group in groups)})"

    parts = [f"over groups by {'; by '.join(map(column, by))}"] if by else []
    return " and ".join([*parts, *(["over all rows"] if overall else [])])


def what_counts(values: str, ranges: Mapping[str, tuple[float, float]], columns: Sequence[str], facts: PublicFacts) -> str:
    """Describe how a criterion changes the values of original rows before a regression, for example by clipping them to a
    range. The string is empty if they are not changed.
    """
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
    """A table of public rows, divided into the bins of a candidate (a synthetic table). The caller guarantees that the rows
    are public.
    """

    counts: Counts


@dataclass(frozen=True, kw_only=True)
class Offender:
    """The part of a candidate with the largest error, such as the cell "age=18-24, sex=F", with its values in the candidate
    and in the public table.

    Attributes
    ----------
    where : the name of the table, cell, group or coefficient, such as "age=18-24, sex=F".
    released, original : the values in the candidate and in the public table, as strings such as "3.1%".
    """

    where: str
    released: str
    original: str

    def __str__(self) -> str:
        return f"{self.where}: {self.released} in the synthetic table, {self.original} in the public file"


def share(rows: float, of: float) -> str:
    """Return a share as a percentage with three significant digits, or "no rows" if `of` is 0."""
    return f"{figure(100 * rows / of, 3)}%" if of else "no rows"
