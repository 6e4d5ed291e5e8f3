"""List every statistic that can be estimated from the published noisy tables, as the rows of estimates.csv.

The list, for readers who do not have this program, contains the bins of each column, the cells of each pair, means by
groups, and the intended questions with their contrasts. Each number equals the answer of `estimate` to the same question.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from synthrelease.answers.averages import count_error, groups, rows_of, shares_of_bins, term_in
from synthrelease.answers.estimates import answered
from synthrelease.answers.limits import measured_times
from synthrelease.answers.questions import Columns, Condition, Question, over_cells, parse_question
from synthrelease.answers.stated import asked_of, is_estimable, judged, possible_width
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import BINNED_INTERVAL, INTERVAL, Term
from synthrelease.data.questions import Kind
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import NOT_ESTIMABLE

MOST_CELLS = 600
"""Largest total number of cells of all listed pairs. Pairs with few cells are listed first. If a single column has more bins
than this number, the shares of its bins are not listed.
"""

MOST_WEIGHTED = 100
"""Columns with at most this many bins are also listed with the design weight."""

_BEFORE = "cannot be told"  # The text of version 1.0.0 for "not estimable"


@dataclass(frozen=True, kw_only=True)
class EstimateLine:
    """One row of estimates.csv: an estimated statistic with its intervals.

    Attributes
    ----------
    statistic : "count", "share", "mean", "mean of bin numbers" or "median"; for intended questions also "risk difference",
        "risk ratio", "odds ratio", "difference of means", "difference of medians" or "slope". Statistics that begin with
        "weighted" count every row with its design weight, all others count it once.
    column, value : for a share or count, the counted rows are in the bin `value` of the column `column`. For a mean, median
        or slope, `column` is the described column; for a median, `value` is the bin that contains it.
    by, group : the statistic covers the rows with the value `group` in the column `by`, or all rows if both are "".
    question : an intended question in the form of `synthrelease estimate`; "" otherwise.
    estimate, standard_error : the estimate from the noisy tables and its standard error, or None if the statistic is not
        estimable. A count in a question has no standard error.
    lower, upper : the interval for the rows of the file that the rules keep.
    population_lower, population_upper : the interval for a population of which these rows are a simple random sample. None
        for the cells of pairs, and for a release that declares that its rows are no simple random sample.
    told : "yes" if the statistic is estimable, otherwise "not estimable".
    source : "measured table", "sum over a measured table", or the number of combined tables.
    """

    statistic: str
    column: str
    value: str = ""
    by: str = ""
    group: str = ""
    question: str = ""
    unit: str = ""
    estimate: float | None = None
    standard_error: float | None = None
    lower: float | None = None
    upper: float | None = None
    population_lower: float | None = None
    population_upper: float | None = None
    confidence: float = 0.95
    intervals: str = "individual"
    told: str = "yes"
    source: str = ""


NUMBERS = ("estimate", "standard_error", "lower", "upper", "population_lower", "population_upper")
NAMES = tuple(field.name for field in fields(EstimateLine))
_FROM_ESTIMATE = len(NAMES) - NAMES.index(NUMBERS[0])
"""Number of fields that follow the text fields in a line. None of them contains a comma or a quotation mark."""


@dataclass(frozen=True, kw_only=True)
class _InBin(Condition):
    """The condition that a row lies in one bin of a column, which may be the bin of missing values."""

    column: PublishedColumn
    place: int

    @property
    def columns(self) -> set[str]:
        return {self.column.name}

    def mask(self, columns: Columns) -> np.ndarray:
        shape = [len(column.labels) for column in columns]
        return over_cells(columns, self.column.name, np.arange(len(self.column.labels)) == self.place).reshape(shape)


def listed(
    release: PublishedRelease, intended: Sequence[str] = (), confidence: float = 0.95, *, as_first: bool = False
) -> list[EstimateLine]:
    """Compute all lines of estimates.csv: intended questions, statistics of each column, then means in groups and counts of
    pairs.

    The list is empty if nothing is estimable.

    Parameters
    ----------
    intended : the questions that the release is meant to answer, in the form of `estimate`.
    as_first : if True, return the lines as version 1.0.0 wrote them.
    """
    tables, times = PublishedTables(release), measured_times(release, None)
    if times is None:
        return []
    level = 1 - tables.kept.spare(confidence) / times
    lines = [line for question in intended for line in _asked(release, tables, question, confidence, as_first)]
    alone = [column for column in release.schema if tables.number([column.name])]
    for column in alone:
        lines += _of_column(tables, column, level, as_first)
    for name in release.linked.names if release.linked else ():
        if name not in release.by_name:
            lines += _of_members(tables, name, level, as_first)
    weight = "" if release.design is None else release.design.weight or ""
    for column in alone if weight else ():
        if column.name != weight and tables.number({column.name, weight}) and len(column.labels) <= MOST_WEIGHTED:
            lines += [_as_weighted(line) for line in _weighted(tables, column, weight, level, as_first)]
    for first, second in pairs(release.schema, [table.columns for table in tables.tables]):
        lines += _means(tables, second, first.name, level, as_first)
        lines += _cells(tables, first, second, level, as_first)
    return [replace(line, told=_BEFORE) if line.told == NOT_ESTIMABLE else line for line in lines] if as_first else lines


def pairs(
    schema: Sequence[PublishedColumn], measured: Sequence[Sequence[str]]
) -> list[tuple[PublishedColumn, PublishedColumn]]:
    """Choose the pairs of columns whose cells estimates.csv lists: pairs measured together, the smallest first, while there
    is room.

    Parameters
    ----------
    measured : the columns of each noisy table.
    """
    held = {frozenset(pair) for columns in measured for pair in combinations(columns, 2)}
    together = [pair for pair in combinations(schema, 2) if frozenset(column.name for column in pair) in held]
    chosen, room = dict[int, tuple[PublishedColumn, PublishedColumn]](), MOST_CELLS
    for place, pair in sorted(enumerate(together), key=lambda placed: _size(placed[1])):
        if _size(pair) <= room:
            chosen[place] = pair
            room -= _size(pair)
    return [chosen[place] for place in sorted(chosen)]


def _size(pair: tuple[PublishedColumn, PublishedColumn]) -> int:
    return len(pair[0].labels) * len(pair[1].labels)


def as_csv(lines: Sequence[EstimateLine]) -> bytes:
    """Write the lines as CSV. A missing number is an empty field."""
    out = io.StringIO()
    table = csv.DictWriter(out, NAMES, lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(line) | {name: _six(getattr(line, name)) for name in NUMBERS} for line in lines)
    return out.getvalue().encode("utf-8")


def without_exponents(content: bytes) -> bytes:
    """Rewrite the numbers in an estimates.csv of an earlier version without exponents: 1.99511e+07 becomes 19951100.

    Examples
    --------
    >>> without_exponents(b"count,income,1e+05,,,,,1.99511e+07,-2e+15,3e-07,,,,0.95,individual,yes,")
    b'count,income,1e+05,,,,,19951100,-2000000000000000,3e-07,,,,0.95,individual,yes,'
    """

    def whole(end: re.Match[bytes]) -> bytes:
        return re.sub(rb"(?<=,)-?\d[.\d]*e\+\d+(?=,)", lambda shown: b"%.0f" % float(shown[0]), end[0])

    return re.sub(rb"(?:,[^,\"\n]*){%d}$" % _FROM_ESTIMATE, whole, content, flags=re.MULTILINE)


def _six(value: float | None) -> str:
    """Format a number with six significant digits, or a whole number with all digits, without an exponent for large numbers."""
    if value is None:
        return ""
    shown = value if value == round(value) else float(f"{value:.6g}")
    return f"{shown:.0f}" if shown == round(shown) else f"{shown:.15g}"


def _asked(
    release: PublishedRelease, tables: PublishedTables, question: str, confidence: float, as_first: bool
) -> Iterator[EstimateLine]:
    try:
        answer = answered(release, question, confidence=confidence, as_first=as_first)
        read = (parse_question if as_first else asked_of)(question, release)
    except InputError:
        return
    for term in (*answer.terms, *answer.contrasts):
        contrast = term in answer.contrasts
        statistic = term.name if contrast else read.kind
        column = read.column if contrast or read.kind != "slope" else term.name
        common = {"question": question, "by": read.by, "group": term.group, "source": _source(tables, read.columns)}
        lines = list(_lines(statistic, column, term, tables, read, as_first, **common))
        if read.kind == "share" and not contrast:
            lines.append(_count(term, tables, None, column="", weighted=bool(read.weight), **common))
        yield from map(_as_weighted, lines) if read.weight else lines


def _of_column(tables: PublishedTables, column: PublishedColumn, level: float, as_first: bool) -> Iterator[EstimateLine]:
    """Yield the lines about one column: its mean and median, and the share and number of rows of each bin.

    Shares are left out for a column with very many bins, such as areas.
    """
    source = _source(tables, {column.name})
    yield from _means(tables, column, "", level, as_first)
    tables = tables.over({column.name})
    if column.ordered:
        question = _question("median", column=column.name)
        for label, averages in groups(tables, question):
            term = term_in(tables, question, label, averages, level)
            yield from _lines("median", column.name, term, tables, question, as_first, source=source)
    question, has_shares = _question("share"), len(column.labels) <= MOST_CELLS
    for value, share in zip(column.labels, shares_of_bins(tables, column.name), strict=True):
        term = term_in(tables, question, "", [share], level) if has_shares else rows_of(tables, share, level)
        if has_shares:
            yield from _lines("share", column.name, term, tables, question, as_first, value=value, source=source)
        yield _count(term, tables, count_error(tables, share), column=column.name, value=value, source=source)


def _weighted(
    tables: PublishedTables, column: PublishedColumn, weight: str, level: float, as_first: bool
) -> Iterator[EstimateLine]:
    """Yield the lines with the weighted mean of a column, and the weighted share and count of each bin."""
    names = {column.name, weight}
    source, tables = _source(tables, names), tables.over(names)
    questions = [] if None in column.numbers[: column.present] else [("", _question("mean", column=column.name, weight=weight))]
    for bin_, value in enumerate(column.labels):
        met = _InBin(text="", rule=None, column=column, place=bin_)
        questions.append((value, _question("share", met=met, weight=weight)))
    yield from _answers(tables, column.name, questions, level, as_first, source)


def _answers(
    tables: PublishedTables, name: str, questions: Sequence[tuple[str, Question]], level: float, as_first: bool, source: str
) -> Iterator[EstimateLine]:
    """Yield the lines that answer these questions about a column, each weighted share with the number of persons that it
    represents.
    """
    for value, question in questions:
        for _, averages in groups(tables, question):
            term = term_in(tables, question, "", averages, level)
            yield from _lines(question.kind, name, term, tables, question, as_first, value=value, source=source)
            if value and question.weight:
                term = judged("share", term, tables, question)
                yield _count(term, tables, column=name, value=value, source=source, weighted=True)


def _as_weighted(line: EstimateLine) -> EstimateLine:
    return replace(line, statistic=f"weighted {line.statistic}")


def _of_members(tables: PublishedTables, name: str, level: float, as_first: bool) -> Iterator[EstimateLine]:
    """Yield the lines about a column over all members: its mean and median, and the share of each bin."""
    linked = tables.release.linked
    columns = [tables.release.by_name[slot[linked.names.index(name)]] for slot in linked.slots] if linked else []
    first = columns[0]
    kinds: dict[Kind, bool] = {"median": first.ordered, "mean": None not in first.numbers[: first.present]}
    questions = list[tuple[str, Question]]()
    for kind in (kind for kind, has_it in kinds.items() if has_it):
        of_slots = tuple(_question(kind, column=column.name) for column in columns)
        questions.append(("", replace(_question(kind, column=name), slots=of_slots)))
    for bin_, value in enumerate(first.labels):
        if linked and name in linked.whole and bin_ == first.missing:
            continue  # the bin of slots without a member
        of_slots = tuple(_question("share", met=_InBin(text="", rule=None, column=column, place=bin_)) for column in columns)
        questions.append((value, replace(of_slots[0], slots=of_slots)))
    with suppress(InputError):  # no table tells which members are there
        yield from _answers(tables, name, questions, level, as_first, "sum over members")


def _means(tables: PublishedTables, column: PublishedColumn, by: str, level: float, as_first: bool) -> Iterator[EstimateLine]:
    if None in column.numbers[: column.present]:
        return
    names = {column.name, by} - {""}
    question, source = _question("mean", column=column.name, by=by), _source(tables, names)
    tables = tables.over(names)
    for label, averages in groups(tables, question):
        term = term_in(tables, question, label, averages, level)
        yield from _lines("mean", column.name, term, tables, question, as_first, by=by, group=label, source=source)


def _cells(
    tables: PublishedTables, by: PublishedColumn, column: PublishedColumn, level: float, as_first: bool
) -> Iterator[EstimateLine]:
    """Yield the lines with the share (in its group of `by`) and the number of rows of each cell of two columns. There are
    intervals for the file only.
    """
    fixed = {"column": column.name, "by": by.name, "source": _source(tables, {column.name, by.name})}
    tables = tables.over({column.name, by.name})
    for bin_, value in enumerate(column.labels):
        question = _question("share", met=_InBin(text="", rule=None, column=column, place=bin_), by=by.name)
        for group, [share] in groups(tables, question):
            low, high = share.file.interval(level)
            term = replace(
                rows_of(tables, share, level),
                group=group,
                estimate=share.file.estimate if share.file.denominator > 0 else None,
                standard_error=share.file.standard_error,
                low=low,
                high=high,
            )
            fields_of_cell: dict[str, Any] = {**fixed, "value": value, "group": group}
            yield from _lines("share", term=term, tables=tables, read=question, as_first=as_first, **fields_of_cell)
            yield _count(term, tables, count_error(tables, share), **fields_of_cell)


def _question(kind: Kind, *, column: str = "", met: Condition | None = None, by: str = "", weight: str = "") -> Question:
    every = Condition(text="", rule=None)
    return Question(kind=kind, text="", column=column, met=met or every, where=every, by=by, weight=weight)


def _lines(
    statistic: str, column: str, term: Term, tables: PublishedTables, read: Question, as_first: bool, **common_fields: str
) -> Iterator[EstimateLine]:
    """Yield the rows of estimates.csv for one estimate. An interval for representative values has a row of its own."""
    term = term if as_first else judged(statistic, term, tables, read)
    possible = possible_width(statistic, tables, read)
    if term.bins:
        common_fields = {**common_fields, "value": term.bins[1]}
    common: dict[str, Any] = {**common_fields, "column": column, "unit": term.unit}
    if term.bins and term.estimate is None and not as_first:  # an order without numbers: the answer is a bin
        yield EstimateLine(statistic=statistic, **common)
        return
    if statistic != "slope" or term.low is not None or not term.estimable:
        error = None if term.binned_low is not None else term.standard_error
        yield _line(statistic, term.estimate, error, term, INTERVAL, possible, common)
    if term.binned_low is not None:
        name = f"{statistic} of bin numbers"
        yield _line(name, term.estimate, term.standard_error, term, BINNED_INTERVAL, possible, common)


def _count(
    term: Term, tables: PublishedTables, error: float | None = None, *, weighted: bool = False, **fixed: str
) -> EstimateLine:
    ends = ("rows_low", "rows_high", "population_rows_low", "population_rows_high")
    possible, unit = (math.inf, "persons") if weighted else (float(tables.kept.most), "rows")
    return _line("count", term.rows, error, term, ends, possible, {**fixed, "unit": unit})


def _line(
    kind: str, value: float | None, error: float | None, term: Term, ends: Sequence[str], width: float, common: dict[str, Any]
) -> EstimateLine:
    """Return the row for one estimate, with the interval in the named fields of the term, or "not estimable" if it is too
    wide.
    """
    low, high, *of_population = (getattr(term, name) for name in ends)
    if not is_estimable(low, high, width) or (value is None and kind != "count"):
        return EstimateLine(statistic=kind, told=NOT_ESTIMABLE, **common)
    values = (value, error, low, high, *of_population)
    return EstimateLine(statistic=kind, **dict(zip(NUMBERS, values, strict=False)), **common)


def _source(tables: PublishedTables, names: set[str]) -> str:
    n_tables = tables.number(names)
    if n_tables > 1:
        return f"{n_tables} measured tables combined"
    return "measured table" if any(set(table.columns) == names for table in tables.tables) else "sum over a measured table"
