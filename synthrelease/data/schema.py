"""Define the columns of a table: atomic bins, alternative binnings, and transformations, which select one binning for each
column.

Every edge, category and label comes from the specification, nothing from data, so the layout of any table is public (theory 10,
statement of the guarantee: the schema is part of the domain).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from synthrelease.data.dates import DateFormat
from synthrelease.data.layout import CountedIndicators, Layout
from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected

# Bins in a notation that people use: "<18", "18-19", "18..44", "1500-4499 by 100", ">44".
#
# All bins are left-closed intervals on public numbers. For whole numbers "18-19" is [18, 20); for real numbers intervals are
# written as "500 to 1000" (500 is inside, 1000 is not), "<500" and ">=1000".

MAX_BINS = 20_000
"""Largest number of bins of one column. A table of such a column with other columns would already be too large."""
_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
_PATTERNS = {
    "below": re.compile(rf"(<=?) ?{_NUMBER}"),
    "above": re.compile(rf"(>=?) ?{_NUMBER}"),
    "single": re.compile(_NUMBER),
    "range": re.compile(rf"{_NUMBER} ?- ?{_NUMBER}"),
    "run": re.compile(rf"{_NUMBER} ?\.\. ?{_NUMBER}"),
    "steps": re.compile(rf"{_NUMBER} ?- ?{_NUMBER} by {_NUMBER}"),
    "half_open": re.compile(rf"{_NUMBER} to {_NUMBER}"),
}


@dataclass(frozen=True, kw_only=True)
class IntervalBin:
    """A bin [lower, upper) of a numeric column, with its label and its representative value, which means and regressions use.

    The representative value is the only value of the bin, the mean of its limits (2.5 for 2-3), or for an unbounded bin the
    edge in the label (10 for >10).
    """

    label: str
    lower: float
    upper: float
    number: float


def parse_bins(texts: Sequence[str], *, whole_numbers: bool) -> tuple[IntervalBin, ...]:
    """Parse a list of bin labels to bins in increasing order, without gaps.

    Parameters
    ----------
    texts : bin labels, the lowest first. "a..b" makes a bin for each whole number, and "a-b by s" makes bins of width s.
    whole_numbers : whether the column contains only whole numbers.

    Raises
    ------
    Unexpected : if a label cannot be parsed, or bins are out of order, overlap or leave a gap.
    """
    intervals: list[IntervalBin] = []
    for text in texts:
        intervals += _parse(" ".join(str(text).split()), whole_numbers)
        if len(intervals) > MAX_BINS:
            raise Unexpected(f"A column may have at most {MAX_BINS:,} bins")
    if not intervals:
        raise Unexpected("The list of bins is empty")
    for left, right in itertools.pairwise(intervals):
        if left.upper != right.lower:
            wrong = "are not in increasing order" if left.lower > right.lower else "overlap"
            wrong = wrong if left.upper > right.lower else "leave a gap between them"
            raise Unexpected(f"The bins {left.label!r} and {right.label!r} {wrong}")
    return tuple(intervals)


def _parse(text: str, whole_numbers: bool) -> list[IntervalBin]:
    matches = ((name, pattern.fullmatch(text)) for name, pattern in _PATTERNS.items())
    name, match = next(((name, match) for name, match in matches if match), ("", None))
    if match is None:
        examples = "'<18', '18-19', '18..44' or '>44'" if whole_numbers else "'<500', '500 to 1000' or '>=1000'"
        raise Unexpected(f"a bin such as {examples}", repr(text))
    if name in ("below", "above"):
        value = _number(match[2], whole_numbers, text)
        return [_open_ended(text, match[1], value, whole_numbers)]
    numbers = [_number(part, whole_numbers, text) for part in match.groups()]
    if name == "half_open" and not whole_numbers:
        _increasing(numbers[0], numbers[1], text)
        return [IntervalBin(label=text, lower=numbers[0], upper=numbers[1], number=(numbers[0] + numbers[1]) / 2)]
    if not whole_numbers:
        raise Unexpected(f"In a column of real numbers, write the bin {text!r} as in '500 to 1000', '<500' or '>=1000'")
    if name == "single":
        return [_closed(numbers[0], numbers[0])]
    first, last = numbers[0], numbers[1]
    if name == "half_open" and first >= 0:
        raise Unexpected(f"In a column of whole numbers, write the bin {text!r} with a hyphen, as in '18-24'")
    if name in ("range", "half_open"):  # "-5 to -3" is the label that `_closed` gives to the range -5--3
        _increasing(first, last, text)
        return [_closed(first, last)]
    step = 1.0 if name == "run" else numbers[2]
    count = (last - first + 1) / step if step > 0 else 0.0
    if count < 1 or count != int(count):
        raise Unexpected(f"The range {text!r} must be increasing, and the step must divide it evenly")
    if count > MAX_BINS:
        raise Unexpected(f"The range {text!r} makes too many bins. A column may have at most {MAX_BINS:,} bins")
    return [_closed(first + i * step, first + (i + 1) * step - 1) for i in range(int(count))]


def _open_ended(text: str, sign: str, value: float, whole_numbers: bool) -> IntervalBin:
    if not whole_numbers and sign in ("<=", ">"):
        raise Unexpected(f"In a column of real numbers, write the first or last bin as in '<500' or '>=1000', not as {text!r}")
    edge = value + 1 if sign in ("<=", ">") else value
    if sign.startswith("<"):
        return IntervalBin(label=text, lower=-math.inf, upper=edge, number=value)
    return IntervalBin(label=text, lower=edge, upper=math.inf, number=value)


def _closed(first: float, last: float) -> IntervalBin:
    between = "-" if first >= 0 else " to "  # a spreadsheet would read -5--3 as a formula
    label = f"{first:.0f}" if first == last else f"{first:.0f}{between}{last:.0f}"
    return IntervalBin(label=label, lower=first, upper=last + 1, number=(first + last) / 2)


def _number(text: str, whole_numbers: bool, label: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) > 1e15:
        raise Unexpected("numbers between -1e15 and 1e15", repr(label))
    if whole_numbers and value != int(value):
        raise Unexpected("whole numbers", repr(label))
    return value


def _increasing(first: float, last: float, text: str) -> None:
    if not first < last:
        raise Unexpected(f"The bin {text!r} must go from a lower to a higher number")


@dataclass(frozen=True, kw_only=True)
class Binning:
    """One way to divide a column into bins.

    Attributes
    ----------
    labels : the label of each bin.
    numbers : the representative value of each bin, or None (such as an unordered category).
    of_atom : (n_atoms,) the index of the bin that contains each atomic bin.
    lower, upper : the edges of each bin [lower, upper) except the bin for missing values; empty for a category column.
    missing : the index of the bin for missing values, always the last bin and without representative value, or None.

    Raises
    ------
    ValueError : if the bin for missing values is not the last bin, contains another atomic bin or has a representative value.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]
    of_atom: tuple[int, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    missing: int | None = None

    def __post_init__(self) -> None:
        if self.missing is None:
            return
        alone = self.of_atom.count(self.missing) == 1 and self.of_atom[-1] == self.missing
        if self.missing != len(self.labels) - 1 or not alone or self.numbers[-1] is not None:
            raise ValueError(f"the binning {self.name!r} needs its missing bin last, without values in it and without a number")

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {label: bin_ for bin_, label in enumerate(self.labels)}

    @property
    def known_numbers(self) -> np.ndarray:
        """Return the (n_bins,) representative values of the bins, NaN for a bin without one."""
        return np.array([np.nan if number is None else number for number in self.numbers], dtype=float)

    def with_missing(self, label: str) -> Binning:
        """Return the binning with a further bin for missing values, which contains an additional atomic bin."""
        return replace(
            self,
            labels=(*self.labels, label),
            numbers=(*self.numbers, None),
            of_atom=(*self.of_atom, len(self.labels)),
            missing=len(self.labels),
        )

    @property
    def present(self) -> int:
        """Number of bins other than the bin for missing values."""
        return len(self) - (self.missing is not None)

    def refines(self, coarser: Binning) -> bool:
        """Return whether each bin lies inside one bin of `coarser`."""
        pairs = set(zip(self.of_atom, coarser.of_atom, strict=True))
        return len(pairs) == len({own_bin for own_bin, _ in pairs})

    def map_to(self, coarser: Binning) -> np.ndarray:
        """Return the (n_bins,) index of the coarser bin that contains each bin. Raises ValueError if a bin lies in several."""
        if not self.refines(coarser):
            raise ValueError(f"the binning {self.name!r} does not refine {coarser.name!r}")
        into = np.zeros(len(self), dtype=np.int64)
        into[list(self.of_atom)] = coarser.of_atom
        return into


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the released table, with the rules by which it is read from the private file.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    description, unit : the steward's description and unit of the column.
    source, part : the column of the file, and for dates the part that is used (`dates.PARTS`).
    minus : a column of the file with another date, or None. The released column then contains the days (or completed years, if
        `part` is "year") from this date to the date in `source`.
    dates, minus_dates : the date formats of `source` and `minus`, or None.
    bounds : the public lowest and highest value of a numeric column.
    bounds_by : who stated the bounds.
    edges : the inner edges of the atomic bins of a numeric column: atomic bin i is [edges[i-1], edges[i]).
    step : the step of the grid to which exact values are rounded: each counts as the representative value of its atomic bin, at
        most half a step away. None if no criterion computes with exact values; atomic bins are then as wide as the bins and the
        rules allow.
    values : for a category column, the atomic bin for each text that the specification lists.
    missing, outside : the treatment of missing values, and of values outside the bounds or categories: "drop" excludes the row,
        "clip" (numeric columns only) uses the nearest bound, "error" stops the program, "bin" makes a bin of their own.
    missing_label : the label of the bin for missing values, or "".
    outside_label : the category for texts that are not listed, or "".
    characters : the number of leading characters of a text that are used; None for all.
    missing_values : texts that mean a missing value, besides those of the whole file.
    ordered : whether the bins are ordered, with distance 1 between neighbours, for the criterion of faithfulness.
    atoms : the binning with the atomic bins.
    alternatives : the binnings from which a transformation chooses, by name.
    counts : for a column that lists indicators, their columns with the atomic bins in which the indicator is true; None for a
        column that is read from the file.
    by_digest : whether the bin of a text is computed from its digest; bins are then random groups of clusters.
    """

    name: str
    kind: str
    description: str
    unit: str
    source: str
    missing: str
    outside: str
    ordered: bool
    atoms: Binning
    alternatives: Mapping[str, Binning]
    part: str | None = None
    bounds: tuple[float, float] | None = None
    edges: tuple[float, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    missing_label: str = ""
    outside_label: str = ""
    characters: int | None = None
    missing_values: tuple[str, ...] = ()
    minus: str | None = None
    dates: DateFormat | None = None
    minus_dates: DateFormat | None = None
    step: float | None = None
    bounds_by: str = ""
    counts: Mapping[str, frozenset[int]] | None = None
    by_digest: bool = False

    @property
    def unlisted(self) -> int | None:
        return self.atoms.labels.index(self.outside_label) if self.outside_label else None

    @property
    def sources(self) -> tuple[str, ...]:
        if self.counts is not None:
            return ()
        return (self.source,) if self.minus is None else (self.source, self.minus)


NO_MARK = "none of them"
"""For a column that shows which indicators a row has: the label of the bin for rows that have none of them. No column can have
this name.
"""


def label_of_set(names: Sequence[str]) -> str:
    """Return the label of a set of indicators, such as "smoker + diabetic" if exactly these two are true."""
    return " + ".join(names) or NO_MARK


def bins_of_sets(names: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """Return the (2^n_names,) bin of every set of indicators: set number s contains indicator i if bit i of s is 1. Sets that
    have no label belong to the last bin."""
    places = {label: place for place, label in enumerate(labels)}
    sets = ([name for bit, name in enumerate(names) if number >> bit & 1] for number in range(2 ** len(names)))
    return np.array([places.get(label_of_set(those), len(labels) - 1) for those in sets])


@dataclass(frozen=True, kw_only=True)
class Schema:
    """All columns of a table, in the order of the release. For linked tables, these are the columns of the wide record, which
    `linked` arranges."""

    columns: tuple[Column, ...]
    linked: Linked | None = None

    def __getitem__(self, name: str) -> Column:
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def layout(self) -> Layout:
        return Layout(columns=self.names, sizes=tuple(len(column.atoms) for column in self.columns))

    @cached_property
    def counted(self) -> tuple[CountedIndicators, ...]:
        place_of, counting = {name: index for index, name in enumerate(self.names)}, list[CountedIndicators]()
        for column in self.columns:
            if column.counts is None:
                continue
            marks = {
                place_of[name]: np.isin(np.arange(len(self[name].atoms)), list(atoms)) * 2**bit
                for bit, (name, atoms) in enumerate(column.counts.items())
            }
            bins = bins_of_sets([*column.counts], column.atoms.labels)
            counting.append(CountedIndicators(column=place_of[column.name], marks=marks, bins=bins))
        return tuple(counting)


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """A choice of one binning for each column, which maps atomic bins to bins that may be released."""

    schema: Schema
    binnings: tuple[Binning, ...]

    @cached_property
    def layout(self) -> Layout:
        numbers = tuple(binning.numbers for binning in self.binnings)
        return Layout(columns=self.schema.names, sizes=tuple(len(binning) for binning in self.binnings), numbers=numbers)

    @cached_property
    def choice(self) -> dict[str, str]:
        return {name: binning.name for name, binning in zip(self.schema.names, self.binnings, strict=True)}

    def binning(self, column: str) -> Binning:
        return self.binnings[self.layout.index(column)]

    @cached_property
    def maps(self) -> tuple[np.ndarray, ...]:
        """Return, for each column, the (n_atoms,) bins to which its atomic bins belong."""
        return tuple(np.asarray(binning.of_atom, dtype=np.int64) for binning in self.binnings)

    @cached_property
    def ordered(self) -> tuple[int, ...]:
        """Return, for each column, how many of its first bins are ordered, or 0."""
        return tuple(
            binning.present if column.ordered else 0 for column, binning in zip(self.schema.columns, self.binnings, strict=True)
        )

    def numbers(self, column: str) -> np.ndarray:
        return self.binning(column).known_numbers


# The public grid for the exact values of a numeric column: each value counts as the nearest multiple of a step. A thousandth of
# the range is accurate enough for every mean that a release can state. It also limits the number of cells of a large register.
# If limits of exact sums are needed, representative values of bins are rounded to a finer grid (`in_steps`). If noisy sums of
# exact values are measured, a row adds an `OwnValue`, or a product of several, on a separate grid.

VALUES = 1000
"""If the specification states no step for a column, the range between its bounds is divided into at most this number of
steps.
"""

STEPS = 2**12
"""Number of equal steps between the lowest and the highest score of a cell. The scores are rounded to these steps."""


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """The multiples of a step to which the values of a column are rounded. `edges` are increasing numbers inside the bounds;
    values between two neighbours have the same multiple."""

    step: float
    edges: tuple[float, ...]

    def nearest(self, value: float) -> float:
        return round(value / self.step) * self.step


def value_grid(bounds: tuple[float, float], *, whole: bool, step: float | None = None) -> ValueGrid:
    """Choose the grid to which the exact values of a column are rounded.

    Parameters
    ----------
    step : the step that the specification states. By default, the smallest number 1, 2 or 5 times a power of ten that is at
        least a thousandth of the range, and at least 1 for whole numbers.

    Examples
    --------
    >>> value_grid((100, 9999), whole=True).step
    10.0
    >>> value_grid((1, 5), whole=True).edges
    (2.0, 3.0, 4.0, 5.0)
    """
    low, high = bounds
    if step is None:
        step = max(_round_step((high - low) / VALUES), 1.0 if whole else 0.0)
    first, last = math.floor(low / step), math.ceil(high / step)
    between = ((multiple + 0.5) * step for multiple in range(first, last + 1))
    edges = {float(math.ceil(edge)) if whole else edge for edge in between}
    return ValueGrid(step=float(step), edges=tuple(sorted(edge for edge in edges if low < edge <= high)))


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least * (1 - 1e-12))


def value_limits(
    kind: str,
    numbers: Sequence[float | None],
    lower: Sequence[float],
    upper: Sequence[float],
    bounds: tuple[float, float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n_bins,) lowest and highest values that a row in each bin can have, NaN if the bin has no number.

    For whole numbers, the highest value is the upper edge minus 1. An unbounded bin ends at the public bound, because values
    beyond it are excluded or clipped. The value of a category is its representative value.

    Parameters
    ----------
    numbers : the representative values of the bins of a category column.
    lower, upper : edges of the bins [lower, upper) of a numeric column, possibly infinite.
    bounds : public bounds of a numeric column, or None.
    """
    if kind == "category":
        same = np.array([math.nan if number is None else number for number in numbers], dtype=float)
        return same, same
    low, high = bounds or (-math.inf, math.inf)
    last = np.array(upper, dtype=float) - (1 if kind == "integer" else 0)
    return np.maximum(np.array(lower, dtype=float), low), np.minimum(last, high)


FINEST = 2**12
"""The grid of representative values has this number of steps across their range. Error bounds include the rounding to this
grid.
"""


def in_steps(numbers: Sequence[float | None], lowest: float, highest: float, middle: float) -> tuple[np.ndarray, float]:
    """Convert representative values, clipped to [lowest, highest] and reduced by `middle`, to (n_bins,) whole numbers of steps,
    so that sums are exact. Also return a bound on the rounding error of a value. A bin without a value gets 0."""
    step = (highest - lowest) / FINEST
    exact = np.array([0.0 if number is None else min(max(number, lowest), highest) - middle for number in numbers])
    steps = np.rint(exact / step)
    return steps, float(np.abs(exact - steps * step).max()) + 2.0**-40 * (highest - lowest)


@dataclass(frozen=True, kw_only=True)
class OwnValue:
    """Computes the exact value of a row in one column (not of its bin), clipped to limits, minus a centre.

    Without a value, the centre counts, or the limit nearest to it. In a released table, the bin's representative value replaces
    the exact value.
    """

    column: str
    low: float
    high: float
    centre: float

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Clip (n,) exact or representative values to the limits, and subtract the centre. NaN means that a row has no
        value."""
        return np.clip(np.where(np.isfinite(numbers), numbers, self.centre), self.low, self.high) - self.centre

    @property
    def ends(self) -> tuple[float, float]:
        return self.low - self.centre, self.high - self.centre

    @property
    def text(self) -> str:
        centred = f" - {self.centre:g}" if self.centre else ""
        return f"{self.column}({self.low:g}..{self.high:g}{centred})"


# A column of a released table, on the released bins.


@dataclass(frozen=True, kw_only=True)
class PublishedColumn:
    """A column of a released table as everyone can see it. The description, the sensitivity and the bounds of a criterion
    depend only on such public facts.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    ordered : whether the bins are ordered, with distance 1 between neighbours.
    binning : the name of the alternative binning that was released.
    labels : the values in the released table, one for each bin, in order.
    numbers : the representative value of each bin, or None.
    lower, upper : the edges, possibly infinite, of each bin [lower, upper) except the bin for missing values; empty for a
        category column.
    categories : for a category column, the categories in each bin; none in the bin for missing values.
    missing : the index of the bin for missing values, the last bin, or None.
    bounds : the public bounds of the values of a numeric column.
    step : the step of the grid to which exact values were rounded; None if no criterion used them.
    clipped : whether values beyond the bounds were replaced by the nearest bound.
    """

    name: str
    kind: str
    description: str
    unit: str
    ordered: bool
    binning: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ()
    missing: int | None = None
    bounds: tuple[float, float] | None = None
    step: float | None = None
    clipped: bool = False

    @classmethod
    def of(cls, column: Column, binning: Binning) -> PublishedColumn:
        held: list[list[str]] = [[] for _ in binning.labels]
        for atom, into in zip(column.atoms.labels, binning.of_atom, strict=True):
            held[into] += [] if into == binning.missing else [atom]
        return cls(
            name=column.name,
            kind=column.kind,
            description=column.description,
            unit=column.unit,
            ordered=column.ordered,
            binning=binning.name,
            labels=binning.labels,
            numbers=binning.numbers,
            lower=binning.lower,
            upper=binning.upper,
            categories=tuple(map(tuple, held)) if column.kind == "category" else (),
            missing=binning.missing,
            bounds=column.bounds,
            step=column.step,
            clipped=column.outside == "clip",
        )

    @property
    def present(self) -> int:
        """Number of bins other than the bin for missing values."""
        return len(self.labels) - (self.missing is not None)

    @property
    def value_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n_present,) lowest and highest values that a row in each bin can have; for categories, the representative
        values."""
        return value_limits(self.kind, self.numbers[: self.present], self.lower, self.upper, self.bounds)
