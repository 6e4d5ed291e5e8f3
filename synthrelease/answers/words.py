"""Represent an estimate, and format it as text, as CSV or as a data frame."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

from synthrelease.data.questions import QUANTILES, Kind
from synthrelease.published.measurements import NOT_ESTIMABLE, NotSample
from synthrelease.resources import library

if TYPE_CHECKING:
    import pandas as pd

Ends = tuple[float, float, float, float]
"""The ends of two intervals: first the interval for the file, then the interval for a population."""
INTERVAL = ("low", "high", "population_low", "population_high")
BINNED_INTERVAL = ("binned_low", "binned_high", "population_binned_low", "population_binned_high")
"""The fields of a term that contain the ends of intervals: first by exact values, then by representative values."""

CONSTANT = "constant"
"""The name of a regression's intercept."""

_MOST_DECIMALS = 8
# Width of a terminal, largest widths of names and units, and the gap between two columns.
_WIDTH, _NAMES, _UNITS, _GAP = 80, 30, 17, "  "

_OF_BINS = ("estimate, representative values", "the file, representative values")
_OWN_VALUES = ("the file, exact values", "population, exact values")
_HIDDEN = (
    "Not estimable: the interval would cover at least half of all possible values, the group may have no row, or the mean "
    "depends too much on an open bin."
)


@dataclass(frozen=True, kw_only=True)
class Term:
    """One estimated number of an answer, with its intervals. A field is None if it is not estimable or not part of this
    kind of term.

    Attributes
    ----------
    name : "share", or the column of a mean, median or slope; for a contrast, "risk difference", "risk ratio", "odds ratio",
        "difference of means" or "difference of medians".
    group : the bin of the column after "by", or the condition of one of two groups, or "".
    unit : "" for shares, the column's unit for means and medians, and the target's unit per unit of the column for slopes.
    estimable : whether the term has a number. It has none if its interval covers at least half of the possible range, the
        group may have no row, or the values in an open bin could change a mean by half of this range (docs/estimates.md).
    estimate : the estimate from the noisy tables, with representative values of bins.
    standard_error : the standard error from noise and from the random drawing of rows (delta method).
    low, high : the interval for the exact values in the rows of the file that the rules keep.
    population_standard_error : the standard error from noise and from sampling from the population.
    population_low, population_high : the interval for a population of which these rows are a simple random sample. All
        fields for a population are None if the release declares that they are not.
    binned_low, binned_high : the interval for the mean of representative values over the same rows, or None if these equal
        the exact values. Slopes of binned columns have only this interval.
    population_binned_low, population_binned_high : the same interval for a population.
    rows, rows_low, rows_high : for shares, the number of rows of the file that meet both conditions (if weighted, of the
        persons that they represent), with its interval. `rows` is None if the publisher stated only a lower bound on the
        number of kept rows.
    population_rows_low, population_rows_high : for weighted shares, the interval of the same number for a population.
    bins : for medians, the labels of the first bin of the interval, the estimated bin and the last bin of the interval.
    """

    name: str
    group: str
    unit: str
    estimable: bool = True
    estimate: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    population_standard_error: float | None = None
    population_low: float | None = None
    population_high: float | None = None
    binned_low: float | None = None
    binned_high: float | None = None
    population_binned_low: float | None = None
    population_binned_high: float | None = None
    rows: int | None = None
    rows_low: int | None = None
    rows_high: int | None = None
    population_rows_low: int | None = None
    population_rows_high: int | None = None
    bins: tuple[str, str, str] | None = None

    def without(self, names: Iterable[str]) -> Term:
        none: dict[str, Any] = dict.fromkeys(names)
        return replace(self, **none)

    def within(self, ends: Ends, names: Sequence[str] = INTERVAL) -> Term:
        """Return a copy with a new interval in the named fields. An infinite end becomes None."""
        fields_: dict[str, Any] = dict(zip(names, map(known, ends), strict=True))
        return replace(self, **fields_)

    def of_bin_numbers(self) -> Term:
        """Return a copy whose interval becomes the one for representative values, without a statement about exact values."""
        moved: dict[str, Any] = {binned: getattr(self, own) for own, binned in zip(INTERVAL, BINNED_INTERVAL, strict=True)}
        return replace(self.without(INTERVAL), **moved)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Statistics of the file, estimated from published noisy tables.

    Attributes
    ----------
    question : the question.
    kind : "share", "mean", "median", "quantile" or "slope".
    by : the column whose bins define the groups, or "" if there are no groups.
    terms : the estimated numbers: one for all rows or for each bin of `by` that can have rows, or one slope for each
        column.
    contrasts : the comparison of two groups, whose own numbers are in `terms`, or empty.
    confidence : the confidence of each interval separately or, with `together`, of all intervals for the file at once, and
        of all intervals for a population at once.
    together : whether all intervals hold at once.
    n_intervals : number of intervals for the file. Without `together`, on average at most (1 - confidence) times this
        number miss their true values.
    not_a_sample : the reasons why there is no interval for a population: design weights, calibration to totals, several
        rows of a person, or clusters without a design effect. Empty if there is an interval.
    weighting : a sentence that says how rows are weighted, or empty if the release has no design weight.
    weighted : whether every row counts with its design weight.
    design : sentences about the assumptions of the interval for a population, or empty for a simple random sample.
    n_rows : number of rows of the release.
    about : a phrase that says which rows of the file the answer describes.
    binned : a sentence on the use of representative values, or empty if these equal the exact values.
    approximate : sentences that explain which numbers are approximations.
    of : what the answer counts: "rows" or "members".
    source : the published data from which the answer was computed.
    releases : the names of the releases of a trend, whose numbers are in `terms` and changes in `contrasts`; otherwise
        empty.
    """

    question: str
    kind: Kind
    by: str
    terms: tuple[Term, ...]
    confidence: float
    n_rows: int
    about: str
    binned: str
    approximate: tuple[str, ...]
    contrasts: tuple[Term, ...] = ()
    together: bool = False
    n_intervals: int = 1
    not_a_sample: tuple[NotSample, ...] = ()
    weighting: str = ""
    weighted: bool = False
    design: str = ""
    of: str = "rows"
    releases: tuple[str, ...] = ()
    source: str = "noisy tables"

    @property
    def by_bins(self) -> bool:
        """Whether the shares or means have a second interval, for representative values of bins or of weight classes."""
        terms = (*self.terms, *self.contrasts)
        return self.kind in ("share", "mean") and (bool(self.binned) or any(term.binned_low is not None for term in terms))

    @staticmethod
    def within_noise(term: Term) -> bool:
        """Return whether a change or difference may be zero: its interval (for representative values, if any) contains 0 or
        is missing.
        """
        low, high = (term.low, term.high) if term.binned_low is None else (term.binned_low, term.binned_high)
        return low is None or high is None or low <= 0 <= high

    def __str__(self) -> str:
        return explained(self)

    @property
    def short(self) -> str:
        return "\n".join([_wrapped(self.question, ""), *_numbers(self)])

    @property
    def csv(self) -> str:
        """The terms as CSV with all digits, with empty fields for numbers that are not estimable."""
        out, lines = io.StringIO(), self._lines()
        table = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
        return out.getvalue()

    def to_frame(self) -> pd.DataFrame:
        """Return the terms as a pandas frame with the columns of `csv`, with NaN for numbers that are not estimable.

        Raises
        ------
        InputError : if pandas is not installed. The extra `frames` installs it.
        """
        lines = [{name: math.nan if value is None else value for name, value in line.items()} for line in self._lines()]
        return library("pandas", "pandas", "data frames", "frames").DataFrame(lines)

    def _lines(self) -> list[dict[str, Any]]:
        names = [field.name for field in fields(Term) if field.name != "bins"]
        of_bins = ["bin_low", "bin", "bin_high"] if self.kind in QUANTILES else []
        of_all = {"confidence": self.confidence, "intervals": "together" if self.together else "individual"}
        return [
            {name: getattr(term, name) for name in names} | dict(zip(of_bins, term.bins or ("",) * 3, strict=False)) | of_all
            for term in (*self.terms, *self.contrasts)
        ]


def known(value: float) -> float | None:
    """Return a number as it is, or None if it is infinite or NaN."""
    return float(value) if math.isfinite(value) else None


def explained(answer: Estimate) -> str:
    all_estimable = all(term.estimable for term in (*answer.terms, *answer.contrasts))
    notes = [
        f"{_promise(answer)} The intervals follow from published {answer.source}, not from the released rows.",
        f"The file: {answer.about}.",
        *([answer.weighting] if answer.weighting else []),
        *([answer.binned] if answer.binned else []),
        _population(answer),
        *([] if all_estimable else [_HIDDEN]),
    ]
    lines = [answer.short, "", *(_wrapped(note, "") for note in notes), "", "The intervals are approximate in these points:"]
    return "\n".join([*lines, *(_wrapped(text, "  - ") for text in answer.approximate)])


def _promise(answer: Estimate) -> str:
    """Return a sentence that says how often the intervals miss their true values, in repeated runs."""
    missed = 1 - answer.confidence
    of_runs = f"in at most {100 * missed:.4g}% of runs (runs without a release count, too)."
    if answer.together:
        return f"One or more of {answer.n_intervals} intervals for the file miss their true values {of_runs}"
    sentence = f"Each interval misses its true value {of_runs}"
    if answer.n_intervals == 1:
        return sentence
    return (
        f"{sentence} Of these {answer.n_intervals} intervals for the file, at most {missed * answer.n_intervals:.2g} miss on "
        "average. Use --together for intervals that all hold at once."
    )


def _population(answer: Estimate) -> str:
    if answer.not_a_sample:
        return (
            f"Population: no interval. The release declares {' and '.join(answer.not_a_sample)}, so the file is no simple "
            "random sample."
        )
    if answer.design:
        return f"Population: the rows of the file are a sample of this population. {answer.design}"
    return "Population: the interval holds only if the rows of the file are a simple random sample of this population."


def _numbers(answer: Estimate) -> list[str]:
    cells = _table([_header(answer), *(_line(answer, term) for term in answer.terms)])
    if answer.contrasts:
        cells += ["", *_table([_header_of_two(answer), *(_line_of_two(answer, term) for term in answer.contrasts)])]
    return [f"{_GAP}{line}".rstrip() for line in cells]


def _table(rows: list[list[str]]) -> list[str]:
    """Format rows as the lines of a table for the terminal. Columns that do not fit are printed below it."""
    first, *middle, last = zip(*rows, strict=True)
    names, units = _column(first, _NAMES), _column(last, _UNITS)
    columns = [_column(cells, None) for cells in middle]
    beside = [units] if units[0][0] else []
    room = _WIDTH - sum(len(column_lines[0][0]) + len(_GAP) for column_lines in (names, *beside))
    blocks: list[list[list[list[str]]]] = [[]]
    for column in columns:
        taken = sum(len(column_lines[0][0]) + len(_GAP) for column_lines in (*blocks[-1], column))
        if blocks[-1] and taken > room:
            blocks.append([])
        blocks[-1].append(column)
    return [
        line for index, block in enumerate(blocks) for line in (*([""] if index else []), *_lines([names, *block, *beside]))
    ]


def _column(cells: tuple[str, ...], widest: int | None) -> list[list[str]]:
    heading, *values = cells
    width = max(map(len, (*values, *heading.split())), default=0)
    width = min(width, widest or width)
    broken = [
        wrap(heading, width) if heading else [],
        *(wrap(value, width) if widest and value else [value] for value in values),
    ]
    return [[line.ljust(width) for line in lines or [""]] for lines in broken]


def _lines(columns: list[list[list[str]]]) -> list[str]:
    lines = []
    for position, row in enumerate(zip(*columns, strict=True)):
        height = max(map(len, row))
        blanks = [[" " * len(cell[0])] * (height - len(cell)) for cell in row]
        full = [[*blank, *cell] if position == 0 else [*cell, *blank] for blank, cell in zip(blanks, row, strict=True)]
        lines += [_GAP.join(parts) for parts in zip(*full, strict=True)]
    return lines


def _header_of_two(answer: Estimate) -> list[str]:
    heading = "change" if answer.releases else "comparison"
    if answer.by_bins:
        return _shown(answer, [heading, *_OF_BINS, *_OWN_VALUES, ""])
    return _shown(answer, [heading, "estimate", *(_OWN_VALUES if answer.kind in QUANTILES else ("the file", "population")), ""])


def _line_of_two(answer: Estimate, term: Term) -> list[str]:
    """Return the cells of a printed line that compares two groups. A difference of shares is in percentage points."""
    if not term.estimable:
        return [term.name, NOT_ESTIMABLE, *[""] * (len(_header_of_two(answer)) - 2)]
    of_shares = term.name == "risk difference" or (answer.kind == "share" and bool(answer.releases))
    is_ratio = answer.kind == "share" and not of_shares
    points = 2 if of_shares else 0
    if is_ratio:
        width = (term.high or 0.0) - (term.low or 0.0)
        decimals = min(_MOST_DECIMALS, max(2, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    else:
        decimals = max(0, _decimals(answer))

    def value(number: float) -> str:
        return f"{number * 10**points:,.{decimals}f}"

    between = partial(_between, value, least=0.0 if is_ratio else None)
    binned = [between(term.binned_low, term.binned_high)] if answer.by_bins else []
    own = [between(term.low, term.high), between(term.population_low, term.population_high)]
    unit = "percentage points" if of_shares else term.unit
    if answer.releases and answer.within_noise(term):
        unit = f"{unit} (within noise)".strip()
    return _shown(answer, [term.name, NOT_ESTIMABLE if term.estimate is None else value(term.estimate), *binned, *own, unit])


def _header(answer: Estimate) -> list[str]:
    if answer.kind == "share":
        counted = "weighted count" if answer.weighted else f"{answer.of} of the file"
        own = ["estimate", "the file", counted, "population"]
        if answer.by_bins:
            own = [*_OF_BINS, _OWN_VALUES[0], counted, _OWN_VALUES[1]]
        return _shown(answer, ["", *own, ""])
    if answer.kind in QUANTILES:
        return _shown(answer, ["", "estimated bin", "interval of bins", *_OWN_VALUES, ""])
    if not answer.by_bins:
        return _shown(answer, ["", "estimate", "the file", "population", ""])
    return _shown(answer, ["", *_OF_BINS, *_OWN_VALUES, ""])


def _line(answer: Estimate, term: Term) -> list[str]:
    value = partial(_value, answer.kind, _decimals(answer))
    ends = (0.0, 1.0) if answer.kind == "share" else (None, None)
    between = partial(_between, value, least=ends[0], most=ends[1])
    slope = "" if term.name == CONSTANT else "slope of"
    name = f"{slope} {term.name}".strip() if answer.kind == "slope" else term.group or term.name
    rows = [_rows_of(term)] if answer.kind == "share" else []
    if not term.estimable:
        hidden = [name, NOT_ESTIMABLE, *([""] if rows else []), *rows]
        return [*hidden, *[""] * (len(_header(answer)) - len(hidden))]
    of_file, of_population = between(term.low, term.high), between(term.population_low, term.population_high)
    binned = between(term.binned_low, term.binned_high)
    estimate = NOT_ESTIMABLE if term.estimate is None else value(term.estimate)
    if answer.kind in QUANTILES:
        first, middle, last = term.bins or ("", "", "")
        bins = first if first == last else f"{first} to {last}"
        return _shown(answer, [name, middle, bins, of_file, of_population, term.unit])
    if answer.kind == "slope" and term.binned_low is not None:
        of_file, of_population = binned, between(term.population_binned_low, term.population_binned_high)
    by_bins = [binned] if answer.by_bins else []
    return _shown(answer, [name, estimate, *by_bins, of_file, *rows, of_population, term.unit])


def _shown(answer: Estimate, cells: list[str]) -> list[str]:
    return [*cells[:-2], cells[-1]] if answer.not_a_sample else cells


def _between(
    value: Callable[[float], str], low: float | None, high: float | None, least: float | None = None, most: float | None = None
) -> str:
    """Format an interval, without an end that equals the smallest or largest possible value."""
    if low is None or low == least:
        return NOT_ESTIMABLE if high is None else f"at most {value(high)}"
    return f"at least {value(low)}" if high is None or high == most else f"{value(low)} to {value(high)}"


def _rows_of(term: Term) -> str:
    if term.name != "share":  # the mean level over several years is not a share of the rows of one year
        return ""
    between = _between(lambda number: f"{number:,.0f}", term.rows_low, term.rows_high, least=0)
    return between if term.rows is None else f"{term.rows:,} ({between})"


def _wrapped(text: str, indent: str) -> str:
    return fill(text, _WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))


def _decimals(answer: Estimate) -> int:
    """Return the number of printed decimals: those of the ends for medians, else two digits of the smallest standard error."""
    if answer.kind in QUANTILES:
        ends = [end for term in answer.terms for end in (term.low, term.high, term.population_low, term.population_high)]
        texts = [f"{end:.15g}".partition(".")[2] for end in ends if end is not None]
        return min(_MOST_DECIMALS, max(map(len, texts), default=0))
    errors = [term.standard_error * (100 if answer.kind == "share" else 1) for term in answer.terms if term.standard_error]
    return min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(min(errors))))) if errors else _MOST_DECIMALS // 2


def _value(kind: Kind, decimals: int, figure: float) -> str:
    return f"{figure:.{decimals}%}" if kind == "share" else f"{figure:,.{decimals}f}"
