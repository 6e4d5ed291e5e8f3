"""Compute bounds on answers from the criterion values of a release: the command `bound`.

The bounds also hold for queries that no criterion names (docs/estimates.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synthrelease.answers.facts import Facts, Knowledge, build_facts, maximum
from synthrelease.answers.limits import RISK, Limit
from synthrelease.answers.questions import (
    Condition,
    Question,
    about,
    both_of,
    check_numbers,
    numbers_of,
    over_cells,
    parse_condition,
    parse_question,
    tells_values,
)
from synthrelease.criteria import CRITERIA
from synthrelease.data.questions import is_question
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError, cut, so_many
from synthrelease.published import PublishedRelease, load

# The range of a count, share or mean of the file, over all tables that agree with the known facts.
#
# The facts describe the rows R that the release used. The file has up to `more` further kept rows (theory 13.12, bounds of the
# file).

_MAX_STEPS = 50
_ONE_ROW = 1 - 1e-6

EMPTY = "the group may have no row in the file"
"""The note for a group that may be empty. The mean or share of such a group may have any possible value."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """An answer in the released table, with bounds on the same answer in the file. If they are trivial, `note` gives the
    reason.
    """

    answer: float
    low: float
    high: float
    note: str = ""

    def minus(self, other: Range) -> Range:
        low, high = self.low - other.high, self.high - other.low
        return Range(answer=self.answer - other.answer, low=low, high=high, note=self.note or other.note)


def count_range(facts: Facts, figure: np.ndarray, undrawn: int = 0) -> Range:
    """Return a count in the released table (or a difference of two counts), with bounds on the same number in the file.

    Parameters
    ----------
    figure : (n_cells,) weights of the cells: 1 for counted cells, -1 for subtracted cells, 0 for other cells.
    undrawn : the largest possible number of rows that the rules keep but the release did not use.
    """
    answer = round(float(figure @ facts.synthetic))
    ends = []
    for sign in (-1, 1):
        most = float((sign * figure)[facts.kept].max(initial=0.0))  # a row that was not drawn adds at most this value
        among = min(math.floor(maximum(facts, sign * figure).value + 1e-6), round(float(facts.synthetic.sum()) * most))
        ends.append(sign * (among + round(undrawn * most)))
    return Range(answer=answer, low=ends[0], high=ends[1])


def ratio_range(
    facts: Facts, figure: np.ndarray, size: np.ndarray, undrawn: int = 0, ends: Sequence[np.ndarray] | None = None
) -> Range:
    """Compute a share or mean over a group of released rows, and bound the same share or mean in the file.

    Parameters
    ----------
    figure : (n_cells,) what a released row in each cell of the group contributes (1 or 0 for a share, the representative
        value for a mean), and 0 in other cells.
    size : (n_cells,) 1 for the cells of the group, else 0. At least one released row is in the group.
    undrawn : the largest possible number of rows that the rules keep but the release did not use.
    ends : two (n_cells,) arrays with the lowest and the highest number that a row of the file contributes, if these may
        differ from `figure`.
    """
    rows = -maximum(facts, -size).value
    answer = float(figure @ facts.synthetic) / float(size @ facts.synthetic)
    lowest, highest = (figure, figure) if ends is None else ends
    low, high = -_largest_ratio(facts, -lowest, size, rows, undrawn), _largest_ratio(facts, highest, size, rows, undrawn)
    return Range(answer=answer, low=low, high=high, note=EMPTY if rows < _ONE_ROW else "")


def _largest_ratio(facts: Facts, figure: np.ndarray, size: np.ndarray, rows: float, undrawn: int) -> float:
    """Return an upper bound on a share or mean, figure . R / size . R, over all tables R that agree with a release, by
    Dinkelbach's iteration.

    No table has a ratio above x if (figure - x size) . R <= 0 for all tables. Let v be a certified maximum of this
    expression for the last x. Then x + max(v, 0) / rows is a bound, to which the largest contributions of unused rows are
    added.

    Parameters
    ----------
    rows : a lower bound on size . R. Below 1, the group may be empty; the result is then the largest number in `figure` of
        a cell of the group.
    """
    largest = float(figure[size > 0].max())
    if rows < _ONE_ROW:
        return largest
    ratio = float(figure @ facts.synthetic) / float(size @ facts.synthetic)
    top = maximum(facts, figure - ratio * size)
    for _ in range(_MAX_STEPS):
        better = float(figure @ top.table) / max(float(size @ top.table), 1e-9)
        if not better > ratio + 1e-9 * (1 + abs(ratio)):
            break
        ratio = better
        top = maximum(facts, figure - ratio * size)
    value = ratio + max(top.value, 0.0) / rows
    return with_other_rows(value, rows, largest, undrawn) if value < largest else largest


def with_other_rows(ratio: float, rows: float, largest: float, undrawn: float) -> float:
    """Return an upper bound on a share or mean after at most `undrawn` rows with values up to `largest` join at least
    `rows` rows.

    Parameters
    ----------
    ratio : the largest share or mean before the addition, at most `largest`.
    """
    return (ratio * rows + largest * undrawn) / (rows + undrawn)


def over_members(of_slots: Sequence[Range], members: Sequence[Range]) -> Range:
    """Return the range of a share or mean over all members, from the ranges for the first members, the second members, and
    so on.

    The answer is a mean of their answers, weighted by the numbers of members. The bounds are the extremes over all possible
    weights (theory 13.16, bounds of members).

    Parameters
    ----------
    members : for each position, the range of the number of counted members. In the release, at least one number is above 0.
    """
    weights = [slot.answer for slot in members]
    answer = sum(slot_range.answer * weight for slot_range, weight in zip(of_slots, weights, strict=True)) / sum(weights)
    low = -_farthest([-slot.low for slot in of_slots], members)
    return Range(answer=answer, low=low, high=_farthest([slot.high for slot in of_slots], members))


def _farthest(values: Sequence[float], members: Sequence[Range]) -> float:
    """Return the largest weighted mean of these values over all weights in their ranges.

    The largest values then get the largest weights in their ranges, and all other values the smallest.
    """
    order, means = sorted(range(len(values)), key=lambda slot: -values[slot]), []
    for highest in range(len(order) + 1):
        weights = [members[slot].high if rank < highest else members[slot].low for rank, slot in enumerate(order)]
        weights = [max(weight, 0.0) for weight in weights]
        if sum(weights) > 0:
            means.append(sum(values[slot] * weight for slot, weight in zip(order, weights, strict=True)) / sum(weights))
    return max(means)


# The classes and functions below represent a bound and explain it in words. A bound contains the answer, the range of the
# answer, and the reasons for this range.


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The result of the command `bound`: an answer in the released table, with bounds on the same answer in the file.

    Attributes
    ----------
    question : the question in words.
    kind : "count", "share" or "mean"; for a difference, the kind of the two compared answers.
    answer : the answer in the released table. A mean uses representative values of bins.
    low, high : bounds on the answer in the file, at the stated confidence; for a mean, on the mean of the exact values. The
        bounds for all queries on the release hold at once.
    unit : "rows", "" for shares, the column's unit for means.
    confidence : the probability, given the released table, that all limits from which the bounds follow are true.
    acceptance : the given lower bound on the probability that a round is accepted, or None.
    n_rows : number of rows of the release.
    about : a description of the rows of the file to which the bounds apply.
    way : how the release states the number of these rows: "whole" (all rows of the file), "exact" (published exactly),
        "counted" (published with noise) or "stated" (the publisher gave a lower bound).
    more : an upper limit on how many of these rows the release did not use.
    binned_low, binned_high : bounds on the mean of representative values, or None if these equal the exact values.
    note : the reason why there is no bound, or empty.
    limits : upper limits on true errors, one for each criterion that also limits the errors of other queries.
    measured : a description of the limits that come from published noisy tables, or empty.
    """

    question: str
    kind: str
    answer: float
    low: float
    high: float
    unit: str
    confidence: float
    acceptance: float | None
    n_rows: int
    about: str
    way: str
    more: int
    binned_low: float | None
    binned_high: float | None
    limits: tuple[Limit, ...]
    note: str = ""
    measured: str = ""

    def __str__(self) -> str:
        return explained(self)

    @property
    def difference(self) -> bool:
        return ", minus " in self.question

    @property
    def shares(self) -> tuple[float, float]:
        """The lowest and highest value of a count, divided by the largest number of rows that the rules keep."""
        most = self.n_rows + self.more
        return self.low / most, self.high / most


def explained(bound: Bound) -> str:
    lines = [
        bound.question,
        f"  released table   {_released(bound)}",
        f"  the file         {_of_the_file(bound)}, confidence {bound.confidence:.4g}",
        *([f"  There is no bound, because {bound.note}."] if bound.note else []),
        "",
        "The bounds follow from these limits:",
        *(f"  - {limit_in_words(limit, bound.n_rows)}." for limit in bound.limits),
        *([f"  - {bound.measured}."] if bound.measured else []),
        "",
        _meaning(bound),
    ]
    return "\n".join(lines)


def _released(bound: Bound) -> str:
    if bound.kind == "count":
        return f"{bound.answer / bound.n_rows:.2%} of the released rows: {bound.answer:,.0f} of {bound.n_rows:,}"
    return value(bound, bound.answer) + ("" if bound.binned_low is None else " (mean of representative values)")


def _of_the_file(bound: Bound) -> str:
    if bound.kind == "count":
        low, high = bound.shares
        rows = "its rows" if bound.way == "whole" else "the rows that the rules keep"
        return f"{low:.2%} to {high:.2%} of {rows}, or {bound.low:,.0f} to {bound.high:,.0f} rows"
    between = f"{value(bound, bound.low)} to {value(bound, bound.high)}"
    if bound.binned_low is None or bound.binned_high is None:
        return between
    binned = f"{value(bound, bound.binned_low)} to {value(bound, bound.binned_high)}"
    return f"{between} (exact values), {binned} (representative values)"


def value(bound: Bound, number: float) -> str:
    if bound.kind == "share":
        return f"{number:.2%}" + (" points" if bound.difference else "")
    return f"{number:,.6g}" + (f" {bound.unit}" if bound.unit else "")


def limit_in_words(limit: Limit, n_rows: int) -> str:
    """Return a sentence that states how large the exact value of a criterion can be."""
    score = limit.score
    if math.isinf(limit.limit):
        return (
            f"{score.name}: no limit. The table may have passed by chance: the released value {score.value:.4g} is close "
            f"to the threshold {score.threshold:.4g}, and the standard deviation of its noise is {score.noise_sd:.2g}"
        )
    rows = f" ({so_many(math.floor(limit.limit * n_rows), 'row')})" if CRITERIA[score.kind].counts_rows else ""
    return (
        f"{score.name}: the exact value is at most {limit.limit:.4g}{rows}. The released value is {score.value:.4g}, the "
        f"standard deviation of its noise {score.noise_sd:.2g}, and the threshold {score.threshold:.4g}"
    )


def _meaning(bound: Bound) -> str:
    queries = f"the bounds of all queries hold, too. The file: {bound.about}. The bounds say nothing about a wider population."
    accepted = "" if bound.acceptance is None else f"If a round was accepted with probability {bound.acceptance:g} or more"
    if bound.measured or bound.way == "counted":  # this noise is not the noise of an accepted criterion value
        return (
            f"{f'{accepted}, then w' if accepted else 'W'}ith probability at most {1 - bound.confidence:.4g}, over all noise "
            f"of the run, the run releases a table and one of these limits is wrong. If all limits hold, {queries}"
        )
    return (
        f"{accepted or 'Given the released table'}, all these limits hold together with probability {bound.confidence:g} or "
        f"more, over the noise of the criterion values. If they hold, {queries}"
    )


# A query's answer in the released table, and its largest distance from the query's answer in the file.

MAX_CELLS = 1_000_000
"""Largest number of cells in the table over the columns of a query."""


def bound(
    release: PublishedRelease | str | Path,
    query: str = "",
    *,
    given: str = "",
    mean: str | None = None,
    minus: str | None = None,
    confidence: float = 0.95,
    acceptance: float | None = None,
) -> Bound:
    """Answer a query from a release, with bounds on the answer in the file. No private data are read and no budget is
    spent.

    The bounds concern the exact values in the rows of the file that the public rules keep.

    Parameters
    ----------
    release : a loaded release, or its folder.
    query : a condition on released bins, in the grammar of the plausibility rules, such as "mother_age >= 35 and parity ==
        1", which asks for the number of rows. A query may also be a question of `estimate` about a share or mean, without
        "by", such as "share gestation_week < 37: mother_age >= 35 against < 35". A question that names a column of members
        is about all members.
    given : a second condition. The answer is then the share of rows that meet `query` among the rows that meet `given`.
    mean : a column. The answer is then the mean of this column over the rows that meet `query` (and `given`) and have a
        value. The released answer uses representative values of bins.
    minus : a second condition. The answer is then the answer for `query` minus the answer for `minus`.
    confidence : the probability with which all bounds hold; at least 0.5 and below 1.
    acceptance : a known lower bound on the probability that a round is accepted. It can make the bounds narrower if a
        criterion value is close to its threshold (docs/estimates.md).

    Raises
    ------
    InputError : if the query cannot be read or divides a bin, if no released row is in the group of a share or mean, or if
        no criterion value and no noisy table of the release gives a bound on errors.

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
    question = parse_question(query, published) if is_question(query) else None
    if question is not None:
        if given or mean or minus is not None:
            raise InputError(
                f"{cut(query, 200)!r} is a whole question, which cannot be combined with given, mean or minus. Write these "
                "conditions into the question."
            )
        measure = _of_question(knowledge, question)
    else:
        query_read, given_read = parse_condition(query, published), parse_condition(given, published)
        minus_read = None if minus is None else parse_condition(minus, published)
        measure = _Measure(knowledge, mean, given_read, query_read, minus_read, None)
    file_range, binned = measure.file_range(), measure.binned_range()
    kept_rows = knowledge.kept
    rows = kept_rows.in_words(RISK * (1 - confidence))
    return Bound(
        question=measure.question(),
        kind=measure.kind,
        answer=file_range.answer,
        low=file_range.low,
        high=file_range.high,
        unit=measure.unit,
        confidence=confidence,
        acceptance=acceptance,
        n_rows=published.n_rows,
        about=about(published, question, rows) if question else rows,
        way=kept_rows.way,
        more=knowledge.more,
        binned_low=None if binned is None else binned.low,
        binned_high=None if binned is None else binned.high,
        limits=knowledge.limits,
        note=file_range.note,
        measured=knowledge.measured.in_words() if knowledge.measured else "",
    )


def _of_question(knowledge: Knowledge, question: Question) -> _Measure | _OfMembers | _Contrast:
    if question.kind not in ("share", "mean") or question.by or question.weight:
        raise InputError(
            f"{cut(question.text, 200)!r}: only `synthrelease estimate` answers this question. `bound` answers 'share "
            "CONDITION' or 'mean COLUMN' [: CONDITION against CONDITION] [where CONDITION]."
        )
    of = _OfMembers if question.slots else _of_rows
    parts = [of(knowledge, question, group) for group in range(len(question.groups))] or [of(knowledge, question, None)]
    return parts[0] if len(parts) == 1 else _Contrast(*parts)


def _of_rows(knowledge: Knowledge, question: Question, number: int | None, slot: int | None = None) -> _Measure:
    """Return the query for the share or mean in a question, over the rows that meet `where` and belong to one group.

    Parameters
    ----------
    number : the index of the group in `question.groups`, or None for a query over all rows.
    slot : the position of a member (0 for the first), if the question is about the members at this position.
    """
    group = None if number is None else question.groups[number]
    rows = parse_condition(both_of(*(part.text for part in (group, question.where) if part)), knowledge.release)
    if question.kind == "mean":
        return _Measure(knowledge, question.column, parse_condition("", knowledge.release), rows, None, slot)
    return _Measure(knowledge, None, rows, question.met, None, slot)


class _OfMembers:
    """A query for a share or mean over all members: the weighted mean of the answers for first members, second members, and
    so on.
    """

    def __init__(self, knowledge: Knowledge, question: Question, number: int | None):
        self.asked, self.group = question, None if number is None else question.groups[number]
        self.slots = [_of_rows(knowledge, of_slot, number, slot) for slot, of_slot in enumerate(question.slots)]
        self.kind, self.unit = self.slots[0].kind, self.slots[0].unit

    def file_range(self) -> Range:
        """Return the released answer, with bounds on the answer (for a mean, of exact values) in the file."""
        return self._over([measure.file_range() for measure in self.slots])

    def binned_range(self) -> Range | None:
        """Return the same as `file_range` for representative values, or None for a share, or if these values are exact."""
        ranges = [measure.binned_range() for measure in self.slots]
        return None if ranges[0] is None else self._over([measure for measure in ranges if measure])

    def _over(self, of_slots: list[Range]) -> Range:
        members = [measure.members() for measure in self.slots]
        if not any(measure.answer for measure in members):
            raise InputError(
                f"{cut(self.asked.text, 200)!r}: no member in the release meets this condition. Use a wider condition."
            )
        return over_members(of_slots, members)

    def question(self) -> str:
        condition = both_of(*(part.text for part in (self.group, self.asked.where) if part))
        members = f"members with {condition}" if condition else "all members"
        if self.kind == "mean":
            return f"mean of {self.asked.column} over {members}"
        return f"share of members with {self.asked.met.text} among {members}"


class _Contrast:
    """A query for the difference between two shares or means over different rows. Their errors add up."""

    def __init__(self, first: _Measure | _OfMembers, second: _Measure | _OfMembers):
        self.first, self.second, self.kind, self.unit = first, second, first.kind, first.unit

    def file_range(self) -> Range:
        return self.first.file_range().minus(self.second.file_range())

    def binned_range(self) -> Range | None:
        first, second = self.first.binned_range(), self.second.binned_range()
        return None if first is None or second is None else first.minus(second)

    def question(self) -> str:
        return f"{self.first.question()}, minus {self.second.question()}"


class _Measure:
    """A query for one count, share or mean, or for the difference of two. `slot` restricts it to the members at one
    position.
    """

    def __init__(
        self, known: Knowledge, mean: str | None, given: Condition, query: Condition, minus: Condition | None, slot: int | None
    ):
        self.knowledge, self.release, self.place = known, known.release, slot
        self.mean, self.given, self.query, self.minus = mean, given, query, minus
        self.kind = "mean" if mean else "share" if given.rule or slot is not None else "count"
        if mean is not None:
            check_numbers(self.release, mean)
        self.unit = self.release.by_name[mean].unit if mean else "rows" if self.kind == "count" else ""
        if not self._columns(query, minus):
            raise InputError("The query is empty. Give a condition on columns, or a column to average.")

    def _columns(self, *conditions: Condition | None) -> set[str]:
        columns = {self.mean} if self.mean else set()
        return columns.union(self.given.columns, *(condition.columns for condition in conditions if condition))

    def file_range(self) -> Range:
        """Return the released answer, with bounds on the answer (for a mean, of exact values) in the file."""
        return self._asked(values=True)

    def binned_range(self) -> Range | None:
        """Return the same as `file_range` for representative values, or None without a mean, or if these values are exact."""
        if self.mean is None or tells_values(self.release.by_name[self.mean]):
            return None
        return self._asked(values=False)

    def _asked(self, values: bool) -> Range:
        if self.minus is None:
            return self._range(self.query, None, values)
        if self.kind == "mean":
            return self._range(self.query, None, values).minus(self._range(self.minus, None, values))
        return self._range(self.query, self.minus, values)

    def members(self) -> Range:
        """Return the number of members at this position over whom a share or mean is computed, with bounds on this number
        in the file.
        """
        columns, _, group = self._cells(self.query, None)
        facts = build_facts(self.knowledge, {column.name for column in columns}, [group])
        return count_range(facts, group.astype(float)[facts.representative], self.knowledge.more)

    def _cells(self, query: Condition, minus: Condition | None) -> tuple[tuple[PublishedColumn, ...], np.ndarray, np.ndarray]:
        """Return the columns of a query, and (n_combinations,) masks of the combinations of bins that meet it and that
        belong to its denominator.

        For members, a column that shows which members exist may be added.
        """
        names, linked = self._columns(query, minus), self.release.linked
        if linked is None or self.place is None:
            return self._masks(names, query)
        own_columns = [name for name in linked.slots[self.place] if name in linked.needed]
        for further in (set[str](), *({name} for name in own_columns), {linked.size}):
            columns, met, group = self._masks(names | further, query)
            shape = [len(column.labels) for column in columns]
            low, high = (members.ravel() for members in linked.between([column.name for column in columns], shape))
            is_member = (low > self.place) & (low <= high)
            if not (group & ~is_member & (high > self.place) & (low <= high)).any():
                break
        return columns, met, group & is_member

    def _masks(self, names: set[str], query: Condition) -> tuple[tuple[PublishedColumn, ...], np.ndarray, np.ndarray]:
        columns = tuple(column for column in self.release.schema if column.name in names)
        cells = math.prod(len(column.labels) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(
                f"The columns of this query have {cells:,} combinations of bins. At most {MAX_CELLS:,} are allowed. Use fewer "
                "columns."
            )
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
            raise InputError(f"{' and '.join(parts)!r}: no released row meets this condition. Use a wider condition.")
        if self.kind == "mean":
            facts = build_facts(self.knowledge, names, [group], keep=self.mean)
            averaged = self.release.by_name[str(self.mean)]
            figure, *ends = (self._over(columns, of_bins, group) for of_bins in (numbers_of(averaged), *averaged.value_limits))
        else:
            counted = [group & first, group & second] if minus else [group & first]
            facts = build_facts(self.knowledge, names, [group, *counted])
            figure, ends = (group & first).astype(float) - (group & second), []
        cells = facts.representative
        limits = [end[cells] for end in ends] if values and ends else None
        return ratio_range(facts, figure[cells], group.astype(float)[cells], self.knowledge.more, limits)

    def _anything(self) -> Range:
        low, high = 0.0, 1.0
        if self.kind == "mean":
            ends = self.release.by_name[str(self.mean)].value_limits
            low, high = float(ends[0].min()), float(ends[1].max())
        return Range(answer=low, low=low, high=high)

    def _present(self, columns: tuple[PublishedColumn, ...]) -> np.ndarray:
        column = self.release.by_name[str(self.mean)]
        return over_cells(columns, column.name, np.arange(len(column.labels)) < column.present)

    def _over(self, columns: tuple[PublishedColumn, ...], of_bins: np.ndarray, group: np.ndarray) -> np.ndarray:
        column = self.release.by_name[str(self.mean)]
        absent = np.zeros(len(column.labels) - column.present)
        return np.where(group, over_cells(columns, column.name, np.concatenate([of_bins, absent])), 0.0)

    def question(self) -> str:
        def one(condition: Condition) -> str:
            if self.kind == "mean":
                rows = both_of(condition.text, self.given.text)
                return f"mean of {self.mean}" + (f" where {rows}" if rows else " over all rows")
            share = f" among rows with {self.given.text}" if self.kind == "share" else ""
            return f"{'share' if share else 'number'} of rows with {condition.text or 'any value'}{share}"

        return one(self.query) + (f", minus {one(self.minus)}" if self.minus else "")
