"""What a release says about a question: a criterion covers it, its error is bounded, nothing is stated; and which estimates
are given.

It is told from the kinds of the criteria and from which of their figures limit anything (`limits`), without solving a program,
so that the card of a release and `bound` say the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from synthrelease.answers.facts import Knowledge
from synthrelease.answers.questions import Condition, Question, parse_condition, parse_question
from synthrelease.answers.tables import MAX_CELLS, NoisyTables
from synthrelease.answers.words import Term
from synthrelease.criteria.facts import CellError, MeanError, RatioError, Unmatched
from synthrelease.data.questions import is_question
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.settings.questions import QuestionTable

# Which estimates are given: one rule for the command, JSON, estimates.csv and Python.
#
# A number is not given where its interval leaves half of all that is possible or more, or has no end. A mean is not given
# either where an open bin leaves that much room for the file's own values: then it rests on the number that somebody chose for
# that bin.

WIDEST = 0.5
"""An interval as wide as this part of all that is possible tells nothing: no number is given."""

_OWN = ("low", "high", "population_low", "population_high")
_NUMBERS = tuple(field.name for field in fields(Term) if field.default is None and not field.name.startswith("rows"))
POPULATION = tuple(name for name in _NUMBERS if name.startswith("population"))


def asked_of(text: str, release: PublishedRelease) -> Question:
    """A question without the columns of its conditions that decide nothing. Raises InputError as `parse_question`."""
    never = [rule.never for rule in release.rules if "raw" in rule.applies_to]

    def narrowed(asked: Question) -> Question:
        conditions = {name: getattr(asked, name).narrowed(release, never, MAX_CELLS) for name in ("met", "where")}
        groups = tuple(group.narrowed(release, never, MAX_CELLS) for group in asked.groups)
        return replace(asked, **conditions, groups=groups, slots=tuple(map(narrowed, asked.slots)))

    return narrowed(parse_question(text, release))


def judged(statistic: str, term: Term, tables: NoisyTables, asked: Question) -> Term:
    """A term without the numbers that are not estimable, and without those of a population that the rows are no sample of.

    Parameters
    ----------
    statistic : the kind of the question, or the name of a contrast.
    """
    if tables.release.not_a_sample:
        term = term.without(POPULATION)
    if statistic == "share" and not told(term.rows_low, term.rows_high, tables.kept.most):
        term = term.without(("rows", "rows_low", "rows_high"))
    if "median" in statistic:
        shown = bool(term.bins and term.bins[1]) if statistic == "median" else told(term.low, term.high)
        return term if shown and (term.bins or term.estimate is not None) else _hidden(term)
    possible, by_bins = possible_width(statistic, tables, asked), term.binned_low is not None
    own = told(term.low, term.high, possible)
    shown = told(term.binned_low, term.binned_high, possible) if by_bins else own
    if statistic != "slope" and by_bins and not own:
        term = term.without(_OWN)
        shown = shown and not open_bins(tables.release.by_name[asked.parts[0].column])
    return term if shown and term.estimate is not None else _hidden(term)


def told(low: float | None, high: float | None, possible: float = math.inf) -> bool:
    """Whether an interval tells something of a number."""
    return low is not None and high is not None and high - low < WIDEST * possible


def possible_width(statistic: str, tables: NoisyTables, asked: Question) -> float:
    """How wide the interval of everything that is possible is: of numbers of bins, between the lowest and the highest."""
    if statistic in ("share", "risk difference"):
        return 1.0 if statistic == "share" else 2.0
    if statistic in ("risk ratio", "odds ratio", "slope"):
        return math.inf
    numbers = [number for number in tables.release.by_name[asked.parts[0].column].numbers if number is not None]
    if not numbers or statistic in ("median", "difference of medians"):
        return math.inf
    return (max(numbers) - min(numbers)) * (2.0 if statistic.startswith("difference") else 1.0)


def open_bins(column: PublishedColumn) -> tuple[str, ...]:
    """The labels of its bins without a limit: their values end at the public bounds of the column, if it has some."""
    if column.kind == "category":
        return ()
    edges = zip(column.labels, column.lower, column.upper, strict=False)
    return tuple(label for label, low, high in edges if math.isinf(low) or math.isinf(high))


def _hidden(term: Term) -> Term:
    """No number but that of rows, which may be told where their share is not."""
    return replace(term.without(_NUMBERS), estimable=False)


CONFIDENCE = 0.95
Word = Literal["covered by a criterion", "bounded", "no statement"]


@dataclass(frozen=True, kw_only=True)
class StatedAnswer:
    """What is stated about a question.

    Attributes
    ----------
    word : "covered by a criterion", whose figure is of this very answer among others; "bounded", by what criteria or published
        measurements say about its columns; or "no statement".
    because : the criteria, or what is missing.
    estimated : from published noisy tables, with its interval, in words; empty where release.json has no estimate of it.
    """

    word: Word
    because: str
    estimated: str = ""


def question(asked: QuestionTable) -> str:
    """The question in words."""
    if is_question(asked.query):
        return asked.query
    condition = " and ".join(
        f"({text})" if asked.query and asked.given else text for text in (asked.query, asked.given) if text
    )
    if asked.mean:
        first = f"mean of {asked.mean}" + (f" where {condition}" if condition else " over all rows")
    else:
        first = f"share of {asked.query} among {asked.given}" if asked.given else f"number of rows with {asked.query}"
    return first + (f", minus that with {asked.minus}" if asked.minus else "")


def in_words(asked: QuestionTable) -> str:
    """The question as `synthrelease estimate` takes it; empty for the difference of two conditions' answers."""
    if asked.minus is not None:
        return ""
    if is_question(asked.query):
        return asked.query
    where = [text for text in ((asked.query, asked.given) if asked.mean else (asked.given,)) if text]
    condition = where[0] if len(where) == 1 else " and ".join(f"({text})" for text in where)
    return (f"mean {asked.mean}" if asked.mean else f"share {asked.query}") + (f" where {condition}" if where else "")


def verdict(release: PublishedRelease, asked: QuestionTable) -> StatedAnswer:
    """What a release says about a question at 95% confidence."""
    try:
        if is_question(asked.query):
            return _of_words(release, asked)
        query, given = parse_condition(asked.query, release), parse_condition(asked.given, release)
        minus = None if asked.minus is None else parse_condition(asked.minus, release)
    except InputError as error:
        return StatedAnswer(word="no statement", because=str(error))
    if asked.mean and any(number is None for number in _present_numbers(release, asked.mean)):
        return StatedAnswer(word="no statement", because=f"the bins of {asked.mean} have no numbers")
    knowledge, estimated = _knowledge(release), _estimated(release, asked)
    if knowledge is not None and minus is None:
        covering = _covering(knowledge, asked, query, given)
        if covering:
            return StatedAnswer(word="covered by a criterion", because=covering, estimated=estimated)
    return _bounded(release, knowledge, estimated)


def _of_words(release: PublishedRelease, asked: QuestionTable) -> StatedAnswer:
    """What is said about a whole question: no criterion covers one, and `bound` answers shares and means."""
    read, estimated = parse_question(asked.query, release), _estimated(release, asked)
    if read.kind in ("share", "mean") and not read.by:
        return _bounded(release, _knowledge(release), estimated)
    of = "of rows" if release.linked is None else "of roots and of members"
    return StatedAnswer(word="no statement", because=f"only shares and means {of} are bounded", estimated=estimated)


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
    return StatedAnswer(word="no statement", because="no released figure limits an error")


def _estimated(release: PublishedRelease, asked: QuestionTable) -> str:
    """The estimate that release.json has for one of its own questions, with its interval; empty where it has none."""
    if release.estimates is None or asked not in release.intended:
        return ""
    part = release.estimates.intended[release.intended.index(asked)]
    return "" if part is None else part.in_words(float(release.estimates.level))


def _covering(knowledge: Knowledge, asked: QuestionTable, query: Condition, given: Condition) -> str:
    """The criterion whose figure is of this answer; empty where there is none."""
    names = query.columns | given.columns
    columns = tuple(column for column in knowledge.release.schema if column.name in names)
    met = query.mask(columns) & given.mask(columns)
    if asked.mean is None:
        cells = [error for error in knowledge.cells if error.holds_for([column.name for column in columns])]
        return cells[0].criterion if cells and not given.rule and met.sum() == 1 else ""
    for error in knowledge.means:
        if error.column != asked.mean or not _within(knowledge.release, error):
            continue
        if not names and error.overall:
            return error.criterion
        if len(columns) == 1 and columns[0].name in error.by and _is_group(knowledge, columns[0], met):
            return f"{error.criterion}, for groups of at least {error.size_margin:.3g} of the rows"
    return ""


def _within(release: PublishedRelease, error: MeanError) -> bool:
    """Whether no number of the averaged column is clipped."""
    return all(
        number is not None and error.lowest <= number <= error.highest for number in _present_numbers(release, error.column)
    )


def _is_group(knowledge: Knowledge, column: PublishedColumn, met: np.ndarray) -> bool:
    """Whether a condition is met exactly by the bins of one group, none of which is that of missing values."""
    missing = column.missing is not None and bool(met[column.missing])
    return not missing and any(np.array_equal(group, met) for group in knowledge.groups(column.name))


def _limiting(knowledge: Knowledge) -> list[str]:
    """The criteria that say something about every table."""
    errors: list[CellError | RatioError | Unmatched] = [*knowledge.cells, *knowledge.ratios, *knowledge.unmatched]
    return list(dict.fromkeys(error.criterion for error in errors))


def _present_numbers(release: PublishedRelease, name: str) -> tuple[float | None, ...]:
    column = release.by_name.get(name)
    return (None,) if column is None else column.numbers[: column.present]
