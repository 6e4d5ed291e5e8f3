"""Which estimates are given: one rule for the command, JSON, estimates.csv and Python.

A number is not given where its interval leaves half of all that is possible or more, or has no end. A mean is not given either
where an open bin leaves that much room for the file's own values: then it rests on the number that somebody chose for that bin.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace

from synthrelease.answers.questions import Question, parse_question
from synthrelease.answers.tables import MAX_CELLS, NoisyTables
from synthrelease.answers.words import Term
from synthrelease.data.schema import PublishedColumn
from synthrelease.published import PublishedRelease

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
