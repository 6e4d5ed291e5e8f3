"""Determine what a release states about the error of an answer ("covered by a criterion", "bounded" or "no statement") and
which estimates it gives.

The result depends on the kinds of the criteria and on their limits (`limits`), not on the solution of a linear program, so
the card of a release and the command `bound` agree on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from synthrelease.answers.averages import Sampling
from synthrelease.answers.facts import Knowledge
from synthrelease.answers.questions import Condition, Question, both_of, parse_condition, parse_question
from synthrelease.answers.tables import MAX_CELLS, PublishedTables
from synthrelease.answers.words import INTERVAL, Term
from synthrelease.criteria.facts import CellError, MeanError, RatioError, Unmatched
from synthrelease.data.questions import QUANTILES, is_question
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.settings.questions import QuestionTable

# Which estimates are given: one rule for the command, JSON, estimates.csv and Python.
#
# A number is not given if its interval has no finite end or covers at least half of the possible range. A median is not given
# if the bins that may contain the median cover at least half of the steps between the first and the last bin. A mean is not
# given if an open bin alone makes the mean this uncertain. The mean would then depend on a number that somebody chose for this
# bin.

WIDEST = 0.5
"""If an interval covers at least this share of the possible range, it is too wide to be informative. Then the program gives no
number.
"""

_DIFFERENCES = tuple(f"difference of {kind}s" for kind in QUANTILES)
_NUMBERS = tuple(field.name for field in fields(Term) if field.default is None and not field.name.startswith("rows"))
POPULATION = tuple(name for name in _NUMBERS if name.startswith("population"))


def asked_of(text: str, release: PublishedRelease) -> Question:
    """Parse a question, without the columns that have no effect on its conditions, so that more noisy tables can answer it.

    Raises
    ------
    InputError : as in `parse_question`.
    """
    never = [rule.never for rule in release.rules if "raw" in rule.applies_to]

    def narrowed(question: Question) -> Question:
        conditions = {name: getattr(question, name).narrowed(release, never, MAX_CELLS) for name in ("met", "where")}
        groups = tuple(group.narrowed(release, never, MAX_CELLS) for group in question.groups)
        return replace(question, **conditions, groups=groups, slots=tuple(map(narrowed, question.slots)))

    return narrowed(parse_question(text, release))


def judged(statistic: str, term: Term, tables: PublishedTables, question: Question) -> Term:
    """Remove the numbers of an estimate whose intervals are too wide, and those for a population without a random sample of
    it.

    Parameters
    ----------
    statistic : the kind of the question, or the name of a contrast.
    """
    if Sampling.of(question, tables.release).reasons:
        term = term.without(POPULATION)
    weights = tables.release.by_name[question.weight].value_limits[1] if question.weight else np.ones(1)
    if statistic == "share" and not is_estimable(term.rows_low, term.rows_high, tables.kept.most * float(weights.max())):
        term = term.without(("rows", "rows_low", "rows_high", "population_rows_low", "population_rows_high"))
    if statistic in QUANTILES:
        return term if _tells_bin(term, tables, question) else hidden(term)
    if statistic in _DIFFERENCES:
        return term if is_estimable(term.low, term.high) and term.estimate is not None else hidden(term)
    possible, by_bins = possible_width(statistic, tables, question), term.binned_low is not None
    has_own = is_estimable(term.low, term.high, possible)
    estimable = is_estimable(term.binned_low, term.binned_high, possible) if by_bins else has_own
    if statistic != "slope" and by_bins and not has_own:
        term = term.without(INTERVAL)
        names = filter(None, (question.parts[0].column, question.weight))
        estimable = estimable and not any(open_bins(tables.release.by_name[name]) for name in names)
    return term if estimable and term.estimate is not None else hidden(term)


def _tells_bin(median: Term, tables: PublishedTables, question: Question) -> bool:
    """Return whether the interval of a median is one bin, or shorter than half of the distance between the first and last
    bin of the column.
    """
    column = tables.release.by_name[question.parts[0].column]
    first, middle, last = (column.labels.index(label) if label else -1 for label in median.bins or ("", "", ""))
    return middle >= 0 and (first == last or last - first < WIDEST * (column.present - 1))


def is_estimable(low: float | None, high: float | None, possible: float = math.inf) -> bool:
    """Return whether an interval covers less than half of the possible range."""
    return low is not None and high is not None and high - low < WIDEST * possible


def possible_width(statistic: str, tables: PublishedTables, question: Question) -> float:
    """Return the width of the possible range of a statistic, such as 1 for a share."""
    if statistic in ("share", "risk difference"):
        return 1.0 if statistic == "share" else 2.0
    if statistic in ("risk ratio", "odds ratio", "slope"):
        return math.inf
    values = [value for value in tables.release.by_name[question.parts[0].column].numbers if value is not None]
    if not values or statistic in (*QUANTILES, *_DIFFERENCES):
        return math.inf
    return (max(values) - min(values)) * (2.0 if statistic.startswith("difference") else 1.0)


def open_bins(column: PublishedColumn) -> tuple[str, ...]:
    """Return the labels of the bins without a lower or an upper limit, such as "80 or more"."""
    if column.kind == "category":
        return ()
    edges = zip(column.labels, column.lower, column.upper, strict=False)
    return tuple(label for label, low, high in edges if math.isinf(low) or math.isinf(high))


def hidden(term: Term) -> Term:
    """Return a copy of an estimate without its numbers, except the number of rows."""
    return replace(term.without(_NUMBERS), estimable=False)


CONFIDENCE = 0.95
Word = Literal["covered by a criterion", "bounded", "no statement"]


@dataclass(frozen=True, kw_only=True)
class StatedAnswer:
    """What a release states about the error of the answer to a question.

    Attributes
    ----------
    word : "covered by a criterion" (a criterion value includes the error of this answer), "bounded" (criteria or published
        measurements limit the error) or "no statement".
    because : the criteria, or the reason why there is no statement.
    estimated : the estimate from published noisy tables with its interval, in words, or empty if release.json has none.
    """

    word: Word
    because: str
    estimated: str = ""


def question(table: QuestionTable) -> str:
    """Describe a declared question in words, such as "mean of income where age >= 18"."""
    if is_question(table.query):
        return table.query
    condition = " and ".join(
        f"({text})" if table.query and table.given else text for text in (table.query, table.given) if text
    )
    if table.mean:
        first = f"mean of {table.mean}" + (f" where {condition}" if condition else " over all rows")
    else:
        first = f"share of {table.query} among {table.given}" if table.given else f"number of rows with {table.query}"
    return first + (f", minus the same with {table.minus}" if table.minus else "")


def in_words(table: QuestionTable) -> str:
    """Return a declared question in the form of `synthrelease estimate`, or "" for a difference of two conditions."""
    if table.minus is not None:
        return ""
    if is_question(table.query):
        return table.query
    condition = both_of(table.query, table.given) if table.mean else table.given
    return (f"mean {table.mean}" if table.mean else f"share {table.query}") + (f" where {condition}" if condition else "")


def verdict(release: PublishedRelease, table: QuestionTable) -> StatedAnswer:
    """Return whether a release limits the error of an answer, and by which criteria, at 95% confidence."""
    try:
        if is_question(table.query):
            return _of_words(release, table)
        query, given = parse_condition(table.query, release), parse_condition(table.given, release)
        minus = None if table.minus is None else parse_condition(table.minus, release)
    except InputError as error:
        return StatedAnswer(word="no statement", because=str(error))
    if table.mean and any(number is None for number in _present_numbers(release, table.mean)):
        return StatedAnswer(word="no statement", because=f"a bin of {table.mean} has no number")
    knowledge, estimated = _knowledge(release), _estimated(release, table)
    if knowledge is not None and minus is None:
        covering = _covering(knowledge, table, query, given)
        if covering:
            return StatedAnswer(word="covered by a criterion", because=covering, estimated=estimated)
    return _bounded(release, knowledge, estimated)


def _of_words(release: PublishedRelease, table: QuestionTable) -> StatedAnswer:
    """Return what a release states about a question in the form of `estimate`, which no criterion covers."""
    read, estimated = parse_question(table.query, release), _estimated(release, table)
    if read.kind in ("share", "mean") and not read.by and not read.weight:
        return _bounded(release, _knowledge(release), estimated)
    whose = "without weights" if read.weight else "of rows" if release.linked is None else "of roots and of members"
    return StatedAnswer(word="no statement", because=f"only shares and means {whose} have bounds", estimated=estimated)


def _knowledge(release: PublishedRelease) -> Knowledge | None:
    try:
        return Knowledge(replace(release, measurements=None), CONFIDENCE)
    except InputError:
        return None


def _bounded(release: PublishedRelease, knowledge: Knowledge | None, estimated: str) -> StatedAnswer:
    names = _limiting(knowledge) if knowledge is not None else []
    names += ["published measurements"] if release.measured else []
    if names:
        return StatedAnswer(word="bounded", because=", ".join(names), estimated=estimated)
    return StatedAnswer(word="no statement", because="no released criterion value limits the error")


def _estimated(release: PublishedRelease, table: QuestionTable) -> str:
    """Return the estimate of an intended question in release.json, with its interval, as text, or ""."""
    if release.estimates is None or table not in release.intended:
        return ""
    part = release.estimates.intended[release.intended.index(table)]
    return "" if part is None else part.in_words(float(release.estimates.level))


def _covering(knowledge: Knowledge, table: QuestionTable, query: Condition, given: Condition) -> str:
    """Return the name of a criterion that measures the error of this answer, or ""."""
    names = query.columns | given.columns
    columns = tuple(column for column in knowledge.release.schema if column.name in names)
    met = query.mask(columns) & given.mask(columns)
    if table.mean is None:
        cells = [error for error in knowledge.errors_of(CellError) if error.holds_for([column.name for column in columns])]
        return cells[0].criterion if cells and not given.rule and met.sum() == 1 else ""
    for error in knowledge.errors_of(MeanError):
        if error.column != table.mean or not _within(knowledge.release, error):
            continue
        if not names and error.overall:
            return error.criterion
        if len(columns) == 1 and columns[0].name in error.by and _is_group(knowledge, columns[0], met):
            return f"{error.criterion}, for groups that have at least a share {error.size_margin:.3g} of the rows"
    return ""


def _within(release: PublishedRelease, error: MeanError) -> bool:
    """Return whether no representative value of the averaged column is clipped to the limits of the criterion."""
    numbers = _present_numbers(release, error.column)
    return all(number is not None and error.lowest <= number <= error.highest for number in numbers)


def _is_group(knowledge: Knowledge, column: PublishedColumn, met: np.ndarray) -> bool:
    """Return whether the bins that meet a condition are exactly one group of the column, without missing values."""
    missing = column.missing is not None and bool(met[column.missing])
    return not missing and any(np.array_equal(group, met) for group in knowledge.groups(column.name))


def _limiting(knowledge: Knowledge) -> list[str]:
    kinds = (CellError, RatioError, Unmatched)
    return list(dict.fromkeys(error.criterion for kind in kinds for error in knowledge.errors if isinstance(error, kind)))


def _present_numbers(release: PublishedRelease, name: str) -> tuple[float | None, ...]:
    column = release.by_name.get(name)
    return (None,) if column is None else column.numbers[: column.present]
