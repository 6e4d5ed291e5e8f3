"""Between which values a count, a share or a mean lies, over all tables that agree with the facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.bounds.facts import Facts
from synthrelease.bounds.program import Maximum, maximum

_MAX_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class Step:
    """One reason for an end of a range.

    Attributes
    ----------
    each : the fact in words, with the name of its criterion, if it has one.
    uses : how many times such a fact is used.
    share : of the distance between the released answer and the end.
    """

    each: str
    criterion: str
    uses: int
    share: float


@dataclass(frozen=True, kw_only=True)
class End:
    """One end of a range and the reasons for it, the weightiest first."""

    value: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The released answer, and the lowest and highest true one."""

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


def _joined(end: End, answer: float, taken: End, taken_answer: float) -> End:
    """The end of a difference: the reasons of both ends, each with its share of the whole distance."""
    distances = abs(end.value - answer), abs(taken.value - taken_answer)
    whole = sum(distances) or 1.0
    steps = [
        replace(step, share=step.share * distance / whole)
        for part, distance in zip((end, taken), distances, strict=True)
        for step in part.steps
    ]
    return End(value=end.value - taken.value, steps=tuple(sorted(steps, key=lambda step: -step.share)))


def count_range(facts: Facts, figure: np.ndarray) -> Range:
    """The range of `figure . R`, a whole number.

    Parameters
    ----------
    figure : (n_cells,) whole weights: 1 for the cells that are counted, -1 for those that are taken away.
    """
    top, bottom = maximum(facts, figure), maximum(facts, -figure)
    return Range(
        answer=round(float(figure @ facts.synthetic)),
        low=End(value=math.ceil(-bottom.value - 1e-6), steps=_steps(facts, bottom)),
        high=End(value=math.floor(top.value + 1e-6), steps=_steps(facts, top)),
    )


def ratio_range(facts: Facts, figure: np.ndarray, size: np.ndarray) -> Range:
    """The range of `figure . R / size . R`, a share or a mean over the rows that `size` counts.

    Parameters
    ----------
    figure : (n_cells,) weights, 0 where size is 0.
    size : (n_cells,) ones for the cells of the group, else 0; at least one released row is in it.
    """
    rows = -maximum(facts, -size).value
    inside = figure[size > 0]
    answer = float(figure @ facts.synthetic) / float(size @ facts.synthetic)
    high = _largest_ratio(facts, figure, size, rows, answer, float(inside.max()))
    low = _largest_ratio(facts, -figure, size, rows, -answer, float(-inside.min()))
    return Range(answer=answer, low=End(value=-low.value, steps=low.steps), high=high)


def _largest_ratio(facts: Facts, figure: np.ndarray, size: np.ndarray, rows: float, answer: float, largest: float) -> End:
    """An upper bound on figure . R / size . R, by Dinkelbach's iteration.

    The ratio exceeds x for no table when (figure - x size) . R <= 0 for all. Whatever x the iteration ends with, the certified
    maximum v of that figure gives the bound x + max(v, 0) / rows.

    Parameters
    ----------
    rows : a lower bound on size . R; below 1 the group may be empty, and nothing is known.
    largest : a bound on every ratio.
    """
    nothing = End(
        value=largest, steps=(Step(each="the group may have no row in the original table", criterion="", uses=1, share=1.0),)
    )
    if rows < 1 - 1e-6:
        return nothing
    ratio = answer
    top = maximum(facts, figure - ratio * size)
    for _ in range(_MAX_STEPS):
        better = float(figure @ top.table) / max(float(size @ top.table), 1e-9)
        if not better > ratio + 1e-9 * (1 + abs(ratio)):
            break
        ratio = better
        top = maximum(facts, figure - ratio * size)
    value = ratio + max(top.value, 0.0) / rows
    if not value < largest:
        return End(value=largest, steps=(Step(each="no larger value is possible", criterion="", uses=1, share=1.0),))
    return End(value=value, steps=_steps(facts, top))


def _steps(facts: Facts, top: Maximum) -> tuple[Step, ...]:
    together = sum(part.amount for part in top.parts) or 1.0
    return tuple(
        Step(each=source.each, criterion=source.criterion, uses=part.uses, share=part.amount / together)
        for part in top.parts
        for source in [facts.sources[part.source]]
    )
