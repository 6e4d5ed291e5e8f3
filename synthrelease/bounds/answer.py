"""The answer of a released table to a query, and how far from the file's it can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from synthrelease.bounds.building import build_facts
from synthrelease.bounds.conditions import Condition, over_cells, parse_condition
from synthrelease.bounds.kept import RISK
from synthrelease.bounds.knowledge import Knowledge
from synthrelease.bounds.questions import Question, parse_question
from synthrelease.bounds.ranges import Range, count_range, ratio_range
from synthrelease.bounds.values import check_numbers, limits_of, numbers_of, tells_values
from synthrelease.bounds.words import Bound, RatioRange
from synthrelease.domain.published_column import PublishedColumn
from synthrelease.domain.questions import is_question
from synthrelease.errors import InputError, cut
from synthrelease.published import PublishedRelease, load

MAX_CELLS = 1_000_000
"""Cells of the table of a query's columns."""


def bound(
    release: PublishedRelease | str | Path,
    query: str = "",
    *,
    given: str = "",
    mean_of: str | None = None,
    minus: str | None = None,
    confidence: float = 0.95,
    acceptance: float | None = None,
) -> Bound:
    """Answer a query from a release, with a bound on its error. Post-processing: needs no private data and costs nothing.

    The bound is about the file: those of its rows that the public rules keep, and their own values.

    Parameters
    ----------
    release : a loaded release, or its folder.
    query : a condition on released bins, in the grammar of the plausibility rules: "mother_age >= 35 and parity == 1".
        Asks for the number of rows that meet it. Or a whole question that `estimate` takes, of a share or mean without "by":
        "share gestation_week < 37: mother_age >= 35 against < 35".
    given : a second condition; asks for the share of rows that meet `query` among those that meet `given`.
    mean_of : a column; asks for its mean over the rows that meet `query` (and `given`) and that are not missing there. The
        released answer is by the numbers that stand for its bins.
    minus : a condition in place of `query`; asks for the difference of the two answers.
    confidence : at least 0.5 and below 1.
    acceptance : the caller's word that a round is accepted with at least this probability; it can make bounds narrower
        where a figure is close to its threshold (docs/estimates.md).

    Raises
    ------
    InputError : when the query cannot be read, cuts a bin or meets no row, or the release has no figure to bound errors with.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.bound("release", "face == 'head' and year < 5")
    >>> found.low <= found.answer <= found.high
    True
    >>> found.unit, found.confidence
    ('rows', 0.95)
    """
    published = release if isinstance(release, PublishedRelease) else load(release)
    knowledge = Knowledge(published, confidence, acceptance)
    if is_question(query):
        if given or mean_of or minus is not None:
            raise InputError(f"{cut(query, 200)!r}: expected a whole question alone, found given, mean or minus beside it.")
        measure = _of_question(knowledge, parse_question(query, published))
    else:
        query_read, given_read = parse_condition(query, published), parse_condition(given, published)
        minus_read = None if minus is None else parse_condition(minus, published)
        measure = _Measure(knowledge, mean_of, given_read, query_read, minus_read)
    found, binned = measure.range(), measure.binned()
    kept = knowledge.kept
    return Bound(
        question=measure.question(),
        kind=measure.kind,
        answer=found.answer,
        low=found.low.value,
        high=found.high.value,
        unit=measure.unit,
        confidence=confidence,
        acceptance=acceptance,
        n_rows=published.n_rows,
        about=kept.in_words(RISK * (1 - confidence)),
        way=kept.way,
        more=knowledge.more,
        binned_low=None if binned is None else binned.low.value,
        binned_high=None if binned is None else binned.high.value,
        low_steps=found.low.steps,
        high_steps=found.high.steps,
        limits=knowledge.limits,
        ratios=measure.ratios() if isinstance(measure, _Contrast) and measure.kind == "share" else (),
        measured=knowledge.measured.in_words() if knowledge.measured else "",
    )


def _of_question(knowledge: Knowledge, asked: Question) -> _Measure | _Contrast:
    """What a question in the words of `estimate` asks for."""
    if asked.slots:
        raise InputError(
            f"{cut(asked.text, 200)!r}: expected a question about roots, or about one member of each, such as "
            f"{asked.slots[0].text!r}; found one about all members, which `synthrelease estimate` alone answers."
        )
    if asked.kind not in ("share", "mean") or asked.by:
        raise InputError(
            f"{cut(asked.text, 200)!r}: expected 'share CONDITION' or 'mean COLUMN' [: CONDITION against CONDITION] [where "
            "CONDITION], found a question that `synthrelease estimate` alone answers."
        )
    parts = [_of_rows(knowledge, asked, group) for group in asked.groups] or [_of_rows(knowledge, asked, None)]
    return parts[0] if len(parts) == 1 else _Contrast(*parts)


def _of_rows(knowledge: Knowledge, asked: Question, group: Condition | None) -> _Measure:
    """The share or mean of a question over the rows that count, and that are in a group."""
    texts = [part.text for part in (group, asked.where) if part and part.text]
    rows = parse_condition(texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts), knowledge.release)
    if asked.kind == "mean":
        return _Measure(knowledge, asked.column, parse_condition("", knowledge.release), rows, None)
    return _Measure(knowledge, None, rows, asked.met, None)


class _Contrast:
    """Two shares or means of different rows: each has its own range, and their errors add up."""

    def __init__(self, first: _Measure, second: _Measure):
        self.first, self.second, self.kind, self.unit = first, second, first.kind, first.unit

    def range(self) -> Range:
        return self.first.range().minus(self.second.range())

    def binned(self) -> Range | None:
        first, second = self.first.binned(), self.second.binned()
        return None if first is None or second is None else first.minus(second)

    def question(self) -> str:
        return f"{self.first.question()}, minus {self.second.question()}"

    def ratios(self) -> tuple[RatioRange, ...]:
        """Of two shares. Without numbers where a denominator may be 0."""
        first, second = self.first.range(), self.second.range()
        return (
            _ratio("risk ratio", first, second, lambda share: share),
            _ratio("odds ratio", first, second, lambda share: share / (1 - share) if share < 1 else math.inf),
        )


def _ratio(name: str, first: Range, second: Range, of: Callable[[float], float]) -> RatioRange:
    low, high = of(second.low.value), of(first.high.value)
    if not (low > 0 and math.isfinite(high)):
        return RatioRange(name=name)
    answer = of(first.answer) / of(second.answer)
    return RatioRange(name=name, answer=answer, low=of(first.low.value) / of(second.high.value), high=high / low)


class _Measure:
    """One count, share or mean, or the difference of two."""

    def __init__(self, knowledge: Knowledge, mean_of: str | None, given: Condition, query: Condition, minus: Condition | None):
        self.knowledge, self.release = knowledge, knowledge.release
        self.mean_of, self.given, self.query, self.minus = mean_of, given, query, minus
        self.kind = "mean" if mean_of else "share" if given.rule else "count"
        if mean_of is not None:
            check_numbers(self.release, mean_of)
        self.unit = self.release.by_name[mean_of].unit if mean_of else "rows" if self.kind == "count" else ""
        if not self._columns(query, minus):
            raise InputError("expected a condition on columns, or a column to average; found neither.")

    def _columns(self, *conditions: Condition | None) -> set[str]:
        found = {self.mean_of} if self.mean_of else set()
        return found.union(self.given.columns, *(condition.columns for condition in conditions if condition))

    def range(self) -> Range:
        """Of the file, with its own values."""
        return self._asked(values=True)

    def binned(self) -> Range | None:
        """Of the numbers that stand for bins; None where they are the values of their rows, or nothing is averaged."""
        if self.mean_of is None or tells_values(self.release.by_name[self.mean_of]):
            return None
        return self._asked(values=False)

    def _asked(self, values: bool) -> Range:
        if self.minus is None:
            return self._range(self.query, None, values)
        if self.kind == "mean":
            return self._range(self.query, None, values).minus(self._range(self.minus, None, values))
        return self._range(self.query, self.minus, values)

    def _range(self, query: Condition, minus: Condition | None, values: bool) -> Range:
        names = self._columns(query, minus)
        columns = tuple(column for column in self.release.schema if column.name in names)
        cells = math.prod(len(column.labels) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(f"expected a query over columns with at most {MAX_CELLS:,} combinations of bins, found {cells:,}.")
        first, given = query.mask(columns).ravel(), self.given.mask(columns).ravel()
        second = minus.mask(columns).ravel() if minus else np.zeros(cells, dtype=bool)
        if self.kind == "count":
            facts = build_facts(self.knowledge, names, [first, second] if minus else [first])
            return count_range(facts, (first.astype(float) - second)[facts.representative], self.knowledge.more)
        group = given & first & self._present(columns) if self.kind == "mean" else given
        if not self.release.counts.marginal([self.release.layout.index(c.name) for c in columns]).ravel()[group].any():
            parts = [part.text for part in ((query, self.given) if self.kind == "mean" else (self.given,)) if part.text]
            raise InputError(f"{' and '.join(parts)!r}: expected a condition that some released rows meet, found none that do.")
        if self.kind == "mean":
            facts = build_facts(self.knowledge, names, [group], keep=self.mean_of)
            averaged = self.release.by_name[str(self.mean_of)]
            figure, *ends = (self._over(columns, each, group) for each in (numbers_of(averaged), *limits_of(averaged)))
        else:
            counted = [given & first, given & second] if minus else [given & first]
            facts = build_facts(self.knowledge, names, [group, *counted])
            figure, ends = (given & first).astype(float) - (given & second), []
        place = facts.representative
        limits = [end[place] for end in ends] if values and ends else None
        return ratio_range(facts, figure[place], group.astype(float)[place], self.knowledge.more, limits)

    def _present(self, columns: tuple[PublishedColumn, ...]) -> np.ndarray:
        """(n_combinations,) whether the averaged column has a value there."""
        column = self.release.by_name[str(self.mean_of)]
        return over_cells(columns, column.name, np.arange(len(column.labels)) < column.present)

    def _over(self, columns: tuple[PublishedColumn, ...], of_bins: np.ndarray, group: np.ndarray) -> np.ndarray:
        """(n_combinations,) what a row of the group counts in each combination of bins, by the bin of the averaged column."""
        column = self.release.by_name[str(self.mean_of)]
        absent = np.zeros(len(column.labels) - column.present)
        return np.where(group, over_cells(columns, column.name, np.concatenate([of_bins, absent])), 0.0)

    def question(self) -> str:
        def one(condition: Condition) -> str:
            if self.kind == "mean":
                texts = [part.text for part in (condition, self.given) if part.text]
                where = texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)
                return f"mean of {self.mean_of}" + (f" where {where}" if where else " over all rows")
            share = f" among rows with {self.given.text}" if self.kind == "share" else ""
            return f"{'share' if share else 'number'} of rows with {condition.text or 'any value'}{share}"

        return one(self.query) + (f", minus {one(self.minus)}" if self.minus else "")
