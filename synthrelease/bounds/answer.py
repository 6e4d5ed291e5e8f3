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
from synthrelease.bounds.questions import Question, about, parse_question
from synthrelease.bounds.ranges import End, Range, RangeReason, count_range, over_members, ratio_range
from synthrelease.bounds.values import check_numbers, limits_of, numbers_of, tells_values
from synthrelease.bounds.words import Bound, RatioRange
from synthrelease.data.questions import is_question
from synthrelease.data.schema import PublishedColumn
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
        "share gestation_week < 37: mother_age >= 35 against < 35". One that names a column of members is about all of them.
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
    asked = parse_question(query, published) if is_question(query) else None
    if asked is not None:
        if given or mean_of or minus is not None:
            raise InputError(f"{cut(query, 200)!r}: expected a whole question alone, found given, mean or minus beside it.")
        measure = _of_question(knowledge, asked)
    else:
        query_read, given_read = parse_condition(query, published), parse_condition(given, published)
        minus_read = None if minus is None else parse_condition(minus, published)
        measure = _Measure(knowledge, mean_of, given_read, query_read, minus_read)
    found, binned = measure.range(), measure.binned()
    kept = knowledge.kept
    rows = kept.in_words(RISK * (1 - confidence))
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
        about=about(published, asked, rows) if asked else rows,
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


def _of_question(knowledge: Knowledge, asked: Question) -> _Measure | _OfMembers | _Contrast:
    """What a question in the words of `estimate` asks for."""
    if asked.kind not in ("share", "mean") or asked.by:
        raise InputError(
            f"{cut(asked.text, 200)!r}: expected 'share CONDITION' or 'mean COLUMN' [: CONDITION against CONDITION] [where "
            "CONDITION], found a question that `synthrelease estimate` alone answers."
        )
    of = _OfMembers if asked.slots else _of_rows
    parts = [of(knowledge, asked, group) for group in range(len(asked.groups))] or [of(knowledge, asked, None)]
    return parts[0] if len(parts) == 1 else _Contrast(*parts)


def _of_rows(knowledge: Knowledge, asked: Question, number: int | None, place: int | None = None) -> _Measure:
    """The share or mean of a question over the rows that count, and that are in a group.

    Parameters
    ----------
    place : for a question about the member in a slot, that slot, from 0.
    """
    group = None if number is None else asked.groups[number]
    texts = [part.text for part in (group, asked.where) if part and part.text]
    rows = parse_condition(texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts), knowledge.release)
    if asked.kind == "mean":
        return _Measure(knowledge, asked.column, parse_condition("", knowledge.release), rows, None, place)
    return _Measure(knowledge, None, rows, asked.met, None, place)


class _OfMembers:
    """A share or mean over all members: that of the member in each slot, by how many such members there are."""

    def __init__(self, knowledge: Knowledge, asked: Question, number: int | None):
        self.asked, self.group = asked, None if number is None else asked.groups[number]
        self.slots = [_of_rows(knowledge, each, number, place) for place, each in enumerate(asked.slots)]
        self.kind, self.unit = self.slots[0].kind, self.slots[0].unit

    def range(self) -> Range:
        """Of the file, with its own values."""
        return self._over([each.range() for each in self.slots])

    def binned(self) -> Range | None:
        """Of the numbers that stand for bins; None where they are the values of their members, or nothing is averaged."""
        found = [each.binned() for each in self.slots]
        return None if found[0] is None else self._over([each for each in found if each])

    def _over(self, of_slots: list[Range]) -> Range:
        members = [each.members() for each in self.slots]
        if not any(each.answer for each in members):
            raise InputError(f"{cut(self.asked.text, 200)!r}: expected members that the release has some of, found none.")
        return over_members(of_slots, members)

    def question(self) -> str:
        texts = [part.text for part in (self.group, self.asked.where) if part and part.text]
        where = " and ".join(texts if len(texts) == 1 else [f"({text})" for text in texts])
        if self.kind == "mean":
            return f"mean of {self.asked.column} over {f'members where {where}' if where else 'all members'}"
        return f"share of members with {self.asked.met.text} among {f'those with {where}' if where else 'all'}"


class _Contrast:
    """Two shares or means of different rows: each has its own range, and their errors add up."""

    def __init__(self, first: _Measure | _OfMembers, second: _Measure | _OfMembers):
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
    """One count, share or mean, or the difference of two; with a `place` of the members in that slot, from 0."""

    def __init__(
        self,
        knowledge: Knowledge,
        mean_of: str | None,
        given: Condition,
        query: Condition,
        minus: Condition | None,
        place: int | None = None,
    ):
        self.knowledge, self.release, self.place = knowledge, knowledge.release, place
        self.mean_of, self.given, self.query, self.minus = mean_of, given, query, minus
        self.kind = "mean" if mean_of else "share" if given.rule or place is not None else "count"
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

    def members(self) -> Range:
        """How many members of the slot a share or mean is of."""
        columns, _, group = self._cells(self.query, None)
        facts = build_facts(self.knowledge, {column.name for column in columns}, [group])
        return count_range(facts, group.astype(float)[facts.representative], self.knowledge.more)

    def _cells(self, query: Condition, minus: Condition | None) -> tuple[tuple[PublishedColumn, ...], np.ndarray, np.ndarray]:
        """The columns of a query, and (n_combinations,) where it is met and which rows a share or mean is of.

        Of members one more column may tell which of them are there: the number of members does in any case.
        """
        names, linked = self._columns(query, minus), self.release.linked
        if linked is None or self.place is None:
            return self._masks(names, query)
        own = [name for name in linked.slots[self.place] if name in linked.needed]
        for more in (set[str](), *({name} for name in own), {linked.size}):
            columns, met, group = self._masks(names | more, query)
            shape = [len(column.labels) for column in columns]
            low, high = (each.ravel() for each in linked.between([column.name for column in columns], shape))
            there = (low > self.place) & (low <= high)
            if not (group & ~there & (high > self.place) & (low <= high)).any():
                break
        return columns, met, group & there

    def _masks(self, names: set[str], query: Condition) -> tuple[tuple[PublishedColumn, ...], np.ndarray, np.ndarray]:
        columns = tuple(column for column in self.release.schema if column.name in names)
        cells = math.prod(len(column.labels) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(f"expected a query over columns with at most {MAX_CELLS:,} combinations of bins, found {cells:,}.")
        met, given = query.mask(columns).ravel(), self.given.mask(columns).ravel()
        return columns, met, given & met & self._present(columns) if self.kind == "mean" else given

    def _range(self, query: Condition, minus: Condition | None, values: bool) -> Range:
        columns, first, group = self._cells(query, minus)
        names = {column.name for column in columns}
        second = minus.mask(columns).ravel() if minus else np.zeros(len(first), dtype=bool)
        if self.kind == "count":
            facts = build_facts(self.knowledge, names, [first, second] if minus else [first])
            return count_range(facts, (first.astype(float) - second)[facts.representative], self.knowledge.more)
        if not self.release.counts.marginal([self.release.layout.index(c.name) for c in columns]).ravel()[group].any():
            if self.place is not None:
                return self._anything()
            parts = [part.text for part in ((query, self.given) if self.kind == "mean" else (self.given,)) if part.text]
            raise InputError(f"{' and '.join(parts)!r}: expected a condition that some released rows meet, found none that do.")
        if self.kind == "mean":
            facts = build_facts(self.knowledge, names, [group], keep=self.mean_of)
            averaged = self.release.by_name[str(self.mean_of)]
            figure, *ends = (self._over(columns, each, group) for each in (numbers_of(averaged), *limits_of(averaged)))
        else:
            counted = [group & first, group & second] if minus else [group & first]
            facts = build_facts(self.knowledge, names, [group, *counted])
            figure, ends = (group & first).astype(float) - (group & second), []
        place = facts.representative
        limits = [end[place] for end in ends] if values and ends else None
        return ratio_range(facts, figure[place], group.astype(float)[place], self.knowledge.more, limits)

    def _anything(self) -> Range:
        """Of members of whom the release has none: whatever is possible."""
        low, high = 0.0, 1.0
        if self.kind == "mean":
            ends = limits_of(self.release.by_name[str(self.mean_of)])
            low, high = float(ends[0].min()), float(ends[1].max())
        steps = (RangeReason(each="the release has no such member", criterion="", uses=1, share=1.0),)
        return Range(answer=low, low=End(value=low, steps=steps), high=End(value=high, steps=steps))

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
