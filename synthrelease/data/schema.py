"""The public shape of a table: columns, atomic bins, and the alternative binnings that a transformation may choose.

Nothing here is ever learned from data: every edge, category and label comes from the specification, so the layout of
any table, private or synthetic, is public (theory 10, statement of the guarantee: the schema is part of the domain).
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
from synthrelease.data.layout import Layout, MarksCounted
from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected

# Bins as people write them: "<18", "18-19", "18..44", "1500-4499 by 100", ">44".
#
# All bins are left-closed intervals on public numbers. For whole numbers "18-19" is [18, 20); for real numbers intervals are
# written "500 to 1000" (500 is in, 1000 is not), "<500" and ">=1000".

MAX_BINS = 20_000
"""Bins of one column: more than any table of counts could hold beside other columns."""
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
    """One left-closed bin [lower, upper) with its label and the representative value used in means and regressions.

    The number follows the reference release: the single value of a bin; the mean of its bounds (2-3 gives 2.5); the
    edge of an unbounded bin (>10 gives 10).
    """

    label: str
    lower: float
    upper: float
    number: float


def parse_bins(texts: Sequence[str], *, whole_numbers: bool) -> tuple[IntervalBin, ...]:
    """Return intervals for a list of bin labels, in increasing order and without gaps.

    Parameters
    ----------
    texts : bin labels, lowest first; "a..b" stands for one bin per whole number, "a-b by s" for bins of width s.
    whole_numbers : True for integer columns.

    Raises
    ------
    Unexpected : when a label cannot be read or the bins overlap or leave a gap.
    """
    intervals: list[IntervalBin] = []
    for text in texts:
        intervals += _parse(" ".join(str(text).split()), whole_numbers)
        if len(intervals) > MAX_BINS:
            raise Unexpected(f"at most {MAX_BINS} bins", "more")
    if not intervals:
        raise Unexpected("at least one bin", "none")
    for left, right in itertools.pairwise(intervals):
        if left.upper != right.lower:
            wrong = "are out of order" if left.lower > right.lower else "overlap"
            wrong = wrong if left.upper > right.lower else "leave a gap"
            raise Unexpected("bins in increasing order that touch", f"{left.label!r} and {right.label!r}, which {wrong}")
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
    if name == "half_open":
        if whole_numbers:
            raise Unexpected("'a-b' for a column of whole numbers", repr(text))
        _increasing(numbers[0], numbers[1], text)
        return [IntervalBin(label=text, lower=numbers[0], upper=numbers[1], number=(numbers[0] + numbers[1]) / 2)]
    if not whole_numbers:
        raise Unexpected("'a to b', '<a' or '>=b' for a column of real numbers", repr(text))
    if name == "single":
        return [_closed(numbers[0], numbers[0])]
    first, last = numbers[0], numbers[1]
    if name == "range":
        _increasing(first, last, text)
        return [_closed(first, last)]
    step = 1.0 if name == "run" else numbers[2]
    count = (last - first + 1) / step if step > 0 else 0.0
    if count < 1 or count != int(count):
        raise Unexpected("an increasing range that the step divides evenly", repr(text))
    if count > MAX_BINS:
        raise Unexpected(f"at most {MAX_BINS} bins", repr(text))
    return [_closed(first + i * step, first + (i + 1) * step - 1) for i in range(int(count))]


def _open_ended(text: str, sign: str, value: float, whole_numbers: bool) -> IntervalBin:
    """Return the bin "<18" or ">44"; its number is the edge as it is written."""
    if not whole_numbers and sign in ("<=", ">"):
        raise Unexpected("'<a' or '>=b' at the ends of a column of real numbers", repr(text))
    edge = value + 1 if sign in ("<=", ">") else value
    if sign.startswith("<"):
        return IntervalBin(label=text, lower=-math.inf, upper=edge, number=value)
    return IntervalBin(label=text, lower=edge, upper=math.inf, number=value)


def _closed(first: float, last: float) -> IntervalBin:
    between = "-" if first >= 0 else " to "  # a spreadsheet would compute -5--3
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
        raise Unexpected("a bin from a lower to a higher number", repr(text))


@dataclass(frozen=True, kw_only=True)
class Binning:
    """One way to bin a column: labels, the representative value of each bin, and the bin of every atomic bin.

    Attributes
    ----------
    labels : one text per bin.
    numbers : one number per bin, or None where the bin has none (an unordered category).
    of_atom : (n_atoms,) the bin index of each atomic bin.
    lower, upper : edges of each bin [lower, upper) for numeric columns, the missing bin apart; empty for categories.
    missing : the index of the bin of missing values, always the last; None where the column has none. It holds the missing
        atom and nothing else, and its number is None.

    Raises
    ------
    ValueError : when the missing bin is not the last one, holds a value or has a number.
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
        """The bin of every label."""
        return {label: bin_ for bin_, label in enumerate(self.labels)}

    @property
    def known_numbers(self) -> np.ndarray:
        """Return (n_bins,) the representative value of each bin; NaN where there is none."""
        return np.array([np.nan if number is None else number for number in self.numbers], dtype=float)

    def with_missing(self, label: str) -> Binning:
        """Return the same bins and, after them, one of missing values, for one more atomic bin."""
        return replace(
            self,
            labels=(*self.labels, label),
            numbers=(*self.numbers, None),
            of_atom=(*self.of_atom, len(self.labels)),
            missing=len(self.labels),
        )

    @property
    def present(self) -> int:
        """Number of bins that hold values: all but the missing bin."""
        return len(self) - (self.missing is not None)

    def refines(self, coarser: Binning) -> bool:
        """Return whether every bin lies inside one bin of `coarser`."""
        pairs = set(zip(self.of_atom, coarser.of_atom, strict=True))
        return len(pairs) == len({own_bin for own_bin, _ in pairs})

    def map_to(self, coarser: Binning) -> np.ndarray:
        """Return (n_bins,) the index of the coarser bin that contains each bin. Raises ValueError unless self refines it."""
        if not self.refines(coarser):
            raise ValueError(f"the binning {self.name!r} does not refine {coarser.name!r}")
        into = np.zeros(len(self), dtype=np.int64)
        into[list(self.of_atom)] = coarser.of_atom
        return into


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the released table and the way it is read from the private file.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    description, unit : the steward's words, for the documents of the release.
    source, part : the column of the file, and "year" or another of `dates.PARTS` where only that part of a date is used.
    minus : a column of the file with a date from which the days to that of `source` are counted, or with the part "year" the
        completed years; None where there is none.
    dates, minus_dates : how dates are written, where dates are read; and those of `minus`.
    bounds : public (lowest, highest) value of a numeric column; and `bounds_by`, who said so.
    edges : inner edges of the atomic bins of a numeric column, increasing; atom i is [edges[i-1], edges[i]).
    step : of the grid on which the own values of rows are counted, each as the number of its atom, which is within half a step
        of it; None where no criterion computes with them, and atoms are as wide as bins and rules allow.
    values : for categories, the text in the file -> atomic index.
    missing, outside : the public rule for missing values and for values outside the bounds or categories:
        "drop" the row, "clip" (numeric only), or stop with an "error"; missing values may have a "bin" of their own, and
        so may texts that no category lists.
    missing_label : how that bin is called in the release; empty where there is none.
    outside_label : the category of texts that are not listed; empty where they have none.
    characters : how many of the first characters of a text are its code; None for all of them.
    missing_values : texts of the file that mean a missing value in this column, beside those of the whole file.
    ordered : whether neighbouring bins are one step apart (needed by faithfulness).
    atoms : the atomic bins as a binning of their own.
    alternatives : name -> binning that a transformation may choose.
    counts : of a column that the file does not have, the columns whose marks it counts in a row, each with the atomic bins that
        are one; None for a column of the file.
    dealt : whether a text has the bin that a digest of it says, and no text is listed: random groups of clusters.
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
    dealt: bool = False

    @property
    def unlisted(self) -> int | None:
        """The atomic bin of the texts that no category lists; None where they have none."""
        return self.atoms.labels.index(self.outside_label) if self.outside_label else None

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the columns of the file that it is read from."""
        if self.counts is not None:
            return ()
        return (self.source,) if self.minus is None else (self.source, self.minus)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """All columns, in the order of release; with members, those of the wide record, and `linked`."""

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
        """The layout of atomic cells."""
        return Layout(columns=self.names, sizes=tuple(len(column.atoms) for column in self.columns))

    @cached_property
    def counted(self) -> tuple[MarksCounted, ...]:
        """Return the columns that count indicators in a row, on atomic bins."""
        place_of = {name: index for index, name in enumerate(self.names)}
        return tuple(
            MarksCounted(
                column=place_of[column.name],
                marks={
                    place_of[name]: np.isin(np.arange(len(self[name].atoms)), list(marks))
                    for name, marks in column.counts.items()
                },
                bins=np.searchsorted(np.array(column.edges), np.arange(len(column.counts) + 1), side="right"),
            )
            for column in self.columns
            if column.counts is not None
        )


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """A choice of one binning per column: the public map from atomic cells to the cells of one attempt."""

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
        """Per column: (n_atoms,) the bin of every atomic bin."""
        return tuple(np.asarray(binning.of_atom, dtype=np.int64) for binning in self.binnings)

    @cached_property
    def ordered(self) -> tuple[int, ...]:
        """Per column: how many of its first bins are in order, one step apart; 0 where the column has no order."""
        return tuple(
            binning.present if column.ordered else 0 for column, binning in zip(self.schema.columns, self.binnings, strict=True)
        )

    def numbers(self, column: str) -> np.ndarray:
        """Return the (n_bins,) number that stands for each bin; NaN for missing values and where the specification
        gives none."""
        return self.binning(column).known_numbers


# The public grid on which the own values of a numeric column are counted: each value counts as the nearest multiple of a step.
#
# A thousandth of the range is near enough for every mean that a release can state, and keeps the cells of a large register few.
# The numbers that stand for bins are put on a finer grid (`in_steps`), where limits of whole sums of them are asked for. Where
# noisy sums of own values are asked for, a row adds an `OwnValue`, or a product of several, in steps of its own.

VALUES = 1000
"""Steps between the bounds of a column, at most, where the specification states none."""

STEPS = 2**12
"""The scores of all cells lie on so many equal steps between the lowest and the highest."""


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Multiples of a step between two bounds.

    Attributes
    ----------
    step : the distance of two neighbours; a value is at most half of it from the one it counts as.
    edges : increasing, inside the bounds: what lies between two of them counts as the same multiple.
    """

    step: float
    edges: tuple[float, ...]

    def nearest(self, value: float) -> float:
        """Return the multiple that a value counts as."""
        return round(value / self.step) * self.step


def value_grid(bounds: tuple[float, float], *, whole: bool, step: float | None = None) -> ValueGrid:
    """Return the grid of a column.

    Parameters
    ----------
    step : as the specification states it; None for the least of 1, 2 and 5 times a power of ten that is a thousandth of the
        range or more, of whole numbers at least 1.

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
    """Return the (n_bins,) lowest and the highest value of the rows of each bin that holds values; NaN where there is no
    number.

    Whole numbers of a bin end one below its upper edge. An open bin ends at the public bound of the column: values beyond it
    are not kept, or count as the bound. A category has no value but the number that stands for it.

    Parameters
    ----------
    lower, upper : edges of the bins of a numeric column, [lower, upper), infinite where a bin is open; its last value is then
        the bound.
    """
    if kind == "category":
        same = np.array([math.nan if number is None else number for number in numbers], dtype=float)
        return same, same
    low, high = bounds or (-math.inf, math.inf)
    last = np.array(upper, dtype=float) - (1 if kind == "integer" else 0)
    return np.maximum(np.array(lower, dtype=float), low), np.minimum(last, high)


FINEST = 2**12
"""Steps of the grid that numbers of bins are put on, over the width of their range: what it moves them by is allowed for."""


def in_steps(numbers: Sequence[float | None], lowest: float, highest: float, middle: float) -> tuple[np.ndarray, float]:
    """Return (n_bins,) clipped numbers less the middle in whole steps, 0 where there is none; and how far that moves them at
    most."""
    step = (highest - lowest) / FINEST
    exact = np.array([0.0 if number is None else min(max(number, lowest), highest) - middle for number in numbers])
    steps = np.rint(exact / step)
    return steps, float(np.abs(exact - steps * step).max()) + 2.0**-40 * (highest - lowest)


@dataclass(frozen=True, kw_only=True)
class OwnValue:
    """The own value of a row in one column, clipped to limits, minus a centre. A row without a value counts as the centre, or
    as the limit nearest to it.

    In a released table the number that stands for a row's bin takes its place.
    """

    column: str
    low: float
    high: float
    centre: float

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Return (n,) the amounts that values, or representative values, add; NaN means no value."""
        return np.clip(np.where(np.isfinite(numbers), numbers, self.centre), self.low, self.high) - self.centre

    @property
    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest value."""
        return self.low - self.centre, self.high - self.centre

    @property
    def text(self) -> str:
        centred = f" - {self.centre:g}" if self.centre else ""
        return f"{self.column}({self.low:g}..{self.high:g}{centred})"


# A column of a released table, on the released bins.


@dataclass(frozen=True, kw_only=True)
class PublishedColumn:
    """A column of a released table, as readers have it. A criterion's words, sensitivity and bounds depend on it alone.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    ordered : whether neighbouring bins are one step apart.
    binning : the name of the alternative that was released.
    labels : the values that stand in the table, one per bin, in order.
    numbers : the number that stands for each bin in means and regressions, or None.
    lower, upper : each bin is [lower, upper), infinite where it is open; without the missing bin; empty for categories.
    categories : for a category column, the categories that each bin holds: none in the missing bin.
    missing : the index of the bin of missing values, the last one; None where the column has none.
    bounds : public bounds of the values behind the bins of a numeric column.
    step : of the grid on which own values of rows were counted; None where no criterion computed with them.
    clipped : whether values beyond the bounds were counted as the nearest bound.
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
        """Return a column of the schema, were it released on these bins."""
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
        """Number of bins that hold values: all but the missing bin."""
        return len(self.labels) - (self.missing is not None)

    @property
    def value_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_present,) the lowest and the highest value that a row of each bin can have; for categories their
        numbers.
        """
        return value_limits(self.kind, self.numbers[: self.present], self.lower, self.upper, self.bounds)
