"""Between which values a count, a share or a mean of the file lies, over all tables that agree with the facts.

The facts are about the rows R that the release worked with; the file has up to `more` kept rows beside them (theory 13.12,
bounds of the file).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.bounds.facts import Facts
from synthrelease.bounds.program import Maximum, maximum

_MAX_STEPS = 50
_ROUNDED = 1e-12
"""An amount below is what sums are rounded by."""


@dataclass(frozen=True, kw_only=True)
class RangeReason:
    """One reason for an end of a range.

    Attributes
    ----------
    each : the fact in words, with the name of its criterion, if it has one.
    uses : how many times such a fact is used.
    share : of all reasons together.
    back : whether it brings the end nearer to the released answer, or to its other side.
    """

    each: str
    criterion: str
    uses: int
    share: float
    back: bool = False


@dataclass(frozen=True, kw_only=True)
class End:
    """One end of a range and the reasons for it, the weightiest first."""

    value: float
    steps: tuple[RangeReason, ...]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The released answer, and the lowest and highest one of the file."""

    answer: float
    low: End
    high: End

    def minus(self, other: Range) -> Range:
        """The range of a difference: errors add up."""
        return Range(
            answer=self.answer - other.answer,
            low=_joined(self.low, self.answer, other.high, other.answer),
            high=_joined(self.high, self.answer, other.low, other.answer),
        )


@dataclass(frozen=True, kw_only=True)
class _Reason:
    """One reason, and how far it moves an upper end: below 0 where it brings it back."""

    each: str
    criterion: str
    uses: int
    amount: float


def _joined(end: End, answer: float, taken: End, taken_answer: float) -> End:
    """The end of a difference: the reasons of both ends, each with its part of the whole distance."""
    distances = abs(end.value - answer), abs(taken.value - taken_answer)
    reasons = [reason for part, distance in zip((end, taken), distances, strict=True) for reason in _told(part, distance)]
    return End(value=end.value - taken.value, steps=_steps(_once(reasons)))


def _told(end: End, distance: float) -> list[_Reason]:
    """The reasons of an end, each with its part of a distance."""
    return [
        _Reason(
            each=step.each,
            criterion=step.criterion,
            uses=step.uses,
            amount=(-1 if step.back else 1) * step.share * distance,
        )
        for step in end.steps
    ]


def count_range(facts: Facts, figure: np.ndarray, more: int = 0) -> Range:
    """The range of how many rows of the file a figure counts, a whole number.

    Parameters
    ----------
    figure : (n_cells,) whole weights: 1 for the cells that are counted, -1 for those that are taken away.
    more : so many kept rows of the file are not among R, at most.
    """
    answer = round(float(figure @ facts.synthetic))
    ends = []
    for sign in (-1, 1):
        top = maximum(facts, sign * figure)
        most = float((sign * figure)[facts.kept].max(initial=0.0))  # by a row that was not drawn
        value = min(math.floor(top.value + 1e-6), round(float(facts.synthetic.sum()) * most)) + round(more * most)
        ends.append(End(value=sign * value, steps=_steps([*_reasons(facts, top), *_drawn(more, more * most)])))
    return Range(answer=answer, low=ends[0], high=ends[1])


def ratio_range(
    facts: Facts, figure: np.ndarray, size: np.ndarray, more: int = 0, ends: Sequence[np.ndarray] | None = None
) -> Range:
    """The range of a share or a mean over the rows of the file that `size` counts.

    Parameters
    ----------
    figure : (n_cells,) weights, 0 where size is 0.
    size : (n_cells,) ones for the cells of the group, else 0; at least one released row is in it.
    more : so many kept rows of the file are not among R, at most.
    ends : the lowest and the highest value of the rows of each cell, where they are not the number that `figure` counts them
        with.
    """
    rows = -maximum(facts, -size).value
    answer = float(figure @ facts.synthetic) / float(size @ facts.synthetic)
    lowest, highest = (figure, figure) if ends is None else ends
    low = _largest_ratio(facts, -lowest, size, rows, -answer, more)
    high = _largest_ratio(facts, highest, size, rows, answer, more)
    return Range(answer=answer, low=End(value=-low.value, steps=low.steps), high=high)


def _largest_ratio(facts: Facts, figure: np.ndarray, size: np.ndarray, rows: float, answer: float, more: int) -> End:
    """An upper bound on a ratio, by Dinkelbach's iteration for figure . R / size . R.

    That exceeds x for no table when (figure - x size) . R <= 0 for all. Whatever x the iteration ends with, the certified
    maximum v of that figure gives the bound x + max(v, 0) / rows. Rows that are not among R move it by what they are at most.

    Parameters
    ----------
    rows : a lower bound on size . R; below 1 the group may be empty, and nothing is known.
    answer : the released one, from which the reasons tell the way.
    """
    largest = float(figure[size > 0].max())

    def ends_at_all(each: str) -> End:
        return End(value=largest, steps=(RangeReason(each=each, criterion="", uses=1, share=1.0),))

    if rows < 1 - 1e-6:
        return ends_at_all("the group may have no row in the file")
    start = float(figure @ facts.synthetic) / float(size @ facts.synthetic)
    ratio = start
    top = maximum(facts, figure - ratio * size)
    for _ in range(_MAX_STEPS):
        better = float(figure @ top.table) / max(float(size @ top.table), 1e-9)
        if not better > ratio + 1e-9 * (1 + abs(ratio)):
            break
        ratio = better
        top = maximum(facts, figure - ratio * size)
    value = ratio + max(top.value, 0.0) / rows
    if not value < largest:
        return ends_at_all("no larger value is possible")
    with_more = with_other_rows(value, rows, largest, more)
    found = _reasons(facts, top)
    together = sum(reason.amount for reason in found) or 1.0
    reasons = [
        _Reason(
            each=reason.each,
            criterion=reason.criterion,
            uses=reason.uses,
            amount=reason.amount * (value - start) / together,
        )
        for reason in found
    ]
    if start != answer:
        bins = "values lie anywhere between the limits of their bins"
        reasons.append(_Reason(each=bins, criterion="", uses=1, amount=start - answer))
    return End(value=with_more, steps=_steps([*reasons, *_drawn(more, with_more - value)]))


def with_other_rows(ratio: float, rows: float, largest: float, more: float) -> float:
    """What a share or mean over at least `rows` rows is at most when up to `more` rows of at most `largest` are added to them.

    Parameters
    ----------
    ratio : its largest value over the former, at most `largest`.
    """
    return (ratio * rows + largest * more) / (rows + more)


def over_members(of_slots: Sequence[Range], members: Sequence[Range]) -> Range:
    """The range of a share or mean over the members of all slots, from those of the members in each.

    It is the mean of the slots' ones, each with the weight of its members; its ends are the farthest ones that weights within
    their ranges make (theory 13.16, bounds of members).

    Parameters
    ----------
    members : how many members of each slot are counted; of one at least in the release.
    """
    weights = [each.answer for each in members]
    answer = sum(one.answer * weight for one, weight in zip(of_slots, weights, strict=True)) / sum(weights)
    ends = []
    for sign, which in ((-1, "low"), (1, "high")):
        own: list[End] = [getattr(each, which) for each in of_slots]
        value = _farthest([sign * each.value for each in own], members)
        reasons = [
            reason
            for one, end, weight in zip(of_slots, own, weights, strict=True)
            for reason in _told(end, abs(end.value - one.answer) * weight / sum(weights))
        ]
        left = value - sign * answer - sum(reason.amount for reason in reasons)
        reasons.append(_Reason(each="roots may have more or fewer members", criterion="", uses=1, amount=left))
        ends.append(
            End(value=sign * value, steps=_steps([reason for reason in _once(reasons) if abs(reason.amount) > _ROUNDED]))
        )
    return Range(answer=answer, low=ends[0], high=ends[1])


def _farthest(values: Sequence[float], members: Sequence[Range]) -> float:
    """The largest weighted mean of some values with weights within their ranges.

    As many as can be of the largest values, and as few as can be of the others.
    """
    order, found = sorted(range(len(values)), key=lambda place: -values[place]), []
    for highest in range(len(order) + 1):
        weights = [
            members[place].high.value if rank < highest else members[place].low.value for rank, place in enumerate(order)
        ]
        weights = [max(weight, 0.0) for weight in weights]
        if sum(weights) > 0:
            found.append(sum(values[place] * weight for place, weight in zip(order, weights, strict=True)) / sum(weights))
    return max(found)


def _drawn(more: int, amount: float) -> list[_Reason]:
    each = f"the rules keep up to {more:,} rows more in the file than the release worked with"
    return [_Reason(each=each, criterion="", uses=1, amount=amount)] if more and amount else []


def _reasons(facts: Facts, top: Maximum) -> list[_Reason]:
    return [
        _Reason(each=source.each, criterion=source.criterion, uses=part.uses, amount=part.amount)
        for part in top.parts
        for source in [facts.sources[part.source]]
    ]


def _once(reasons: Sequence[_Reason]) -> list[_Reason]:
    """Reasons in the same words as one: their amounts add up, and so do the uses of a criterion."""
    found: dict[tuple[str, str], _Reason] = {}
    for reason in reasons:
        before = found.get((reason.each, reason.criterion))
        if before is not None:
            uses = before.uses + reason.uses if reason.criterion else max(before.uses, reason.uses)
            reason = replace(reason, uses=uses, amount=before.amount + reason.amount)
        found[reason.each, reason.criterion] = reason
    return list(found.values())


def _steps(reasons: Sequence[_Reason]) -> tuple[RangeReason, ...]:
    together = sum(abs(reason.amount) for reason in reasons) or 1.0
    steps = [
        RangeReason(
            each=reason.each,
            criterion=reason.criterion,
            uses=reason.uses,
            share=abs(reason.amount) / together,
            back=reason.amount < 0,
        )
        for reason in reasons
    ]
    return tuple(sorted(steps, key=lambda step: -step.share))
