"""A bound, and the same in words: the answer, its range, and the derivation that a reader can follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.bounds.limits import Limit
from synthrelease.bounds.ranges import RangeReason
from synthrelease.criteria import CRITERIA

MOST_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class RatioRange:
    """A ratio of two shares, and between which values that of the file lies; None where a denominator may be 0."""

    name: str
    answer: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.answer is None:
            return f"{self.name}: no bound, because its denominator may be 0"
        return f"{self.name}: {self.answer:.4g} in the released table, {self.low:.4g} to {self.high:.4g} in the file"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A released answer with bounds on the file's.

    Attributes
    ----------
    question : what was asked, in words.
    kind : "count", "share" or "mean"; of a difference, that of its two parts.
    answer : in the released table; a mean by the numbers that stand for bins.
    low, high : the answer of the file lies between them with the stated confidence: over those of its rows that the rules keep,
        means with their own values. They hold for all queries on the release together.
    unit : "rows", "" for shares, the column's unit for means.
    confidence : the probability, given the released table, that its errors are within the limits that the bounds rest on.
    acceptance : the caller's lower bound on the probability that a round is accepted, or None.
    n_rows : of the release.
    about : which rows of the file are meant, in words.
    way : how their number is known: "whole" (all rows of the file), "exact", "counted" (with noise) or "stated".
    more : so many of them the release did not work with, at most.
    binned_low, binned_high : of a mean, where the numbers that stand for bins are not the values of their rows: the same for
        the mean of these numbers. None otherwise.
    low_steps, high_steps : why, with the weightiest reason first.
    limits : upper limits of the true errors, one for each criterion that says something about other queries.
    ratios : of two groups' shares against each other, beside their difference.
    measured : what published noisy tables say, in words; empty where none are published or they say nothing.
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
    low_steps: tuple[RangeReason, ...]
    high_steps: tuple[RangeReason, ...]
    limits: tuple[Limit, ...]
    measured: str = ""
    ratios: tuple[RatioRange, ...] = ()

    def __str__(self) -> str:
        return explained(self)

    @property
    def difference(self) -> bool:
        """Whether two answers were compared."""
        return ", minus " in self.question

    @property
    def shares(self) -> tuple[float, float]:
        """Of a count: the lowest and the highest part that it can be of the rows that the rules keep.

        Every row that the release did not work with moves one end of a count by one, or none of a count that is no difference.
        """
        most = self.n_rows + self.more
        return self.low / most, self.high / most


def explained(bound: Bound) -> str:
    """The text that `synthrelease bound` prints."""
    lines = [
        bound.question,
        f"  released table   {_released(bound)}",
        f"  the file         {_of_the_file(bound)}, confidence {bound.confidence:.4g}",
        *(f"  {ratio}" for ratio in bound.ratios),
        "",
        *_end(bound, "upper", bound.high - bound.answer, bound.high_steps),
        *_end(bound, "lower", bound.answer - bound.low, bound.low_steps),
        "",
        "What that rests on: limits of the true errors, from released figures",
        *(f"  - {limit_in_words(limit, bound.n_rows)}" for limit in bound.limits),
        *([f"  - {bound.measured}"] if bound.measured else []),
        "",
        _meaning(bound),
    ]
    return "\n".join(lines)


def _released(bound: Bound) -> str:
    if bound.kind == "count":
        return f"{bound.answer / bound.n_rows:.2%} of its rows: {bound.answer:,.0f} of {bound.n_rows:,}"
    return value(bound, bound.answer) + ("" if bound.binned_low is None else ", of bin numbers")


def _of_the_file(bound: Bound) -> str:
    if bound.kind == "count":
        low, high = bound.shares
        rows = "its rows" if bound.way == "whole" else "the rows that the rules keep"
        return f"{low:.2%} to {high:.2%} of {rows}: {bound.low:,.0f} to {bound.high:,.0f} rows"
    between = f"{value(bound, bound.low)} to {value(bound, bound.high)}"
    if bound.binned_low is None or bound.binned_high is None:
        return between
    binned = f"{value(bound, bound.binned_low)} to {value(bound, bound.binned_high)}"
    return f"{between}, its own values; {binned}, of bin numbers"


def value(bound: Bound, number: float) -> str:
    """A share or mean of a bound with its unit."""
    if bound.kind == "share":
        return f"{number:.2%}" + (" points" if bound.difference else "")
    return f"{number:,.6g}" + (f" {bound.unit}" if bound.unit else "")


def _end(bound: Bound, which: str, distance: float, steps: Sequence[RangeReason]) -> list[str]:
    side = "above" if (which == "upper") == (distance >= 0) else "below"
    lines = [f"Why the {which} end, {_distance(bound, abs(distance))} {side} the released answer:"]
    for step in steps[:MOST_STEPS]:
        used = f", used {step.uses} times" if step.uses > 1 else ""
        criterion = f" ({step.criterion!r})" if step.criterion else ""
        back = ", the other way" if step.back else ""
        lines.append(f"  {step.share:5.0%}  {step.each}{used}{criterion}{back}")
    rest = steps[MOST_STEPS:]
    if rest:
        lines.append(f"  {sum(step.share for step in rest):5.0%}  {len(rest)} lesser reasons")
    return lines


def _distance(bound: Bound, distance: float) -> str:
    if bound.kind == "count":
        return f"{distance:,.0f} rows"
    return f"{100 * distance:.3g} percentage points" if bound.kind == "share" else f"{distance:,.4g} {bound.unit}".strip()


def limit_in_words(limit: Limit, n_rows: int) -> str:
    """The limit of one criterion's true error."""
    score = limit.score
    if math.isinf(limit.limit):
        return (
            f"{score.name}: no limit; the figure {score.value:.4g} is too close to its threshold {score.threshold:.4g} for its "
            f"noise (sd {score.noise_sd:.2g}): it may have passed by luck"
        )
    rows = f", {math.floor(limit.limit * n_rows):,} rows" if CRITERIA[score.kind].counts_rows else ""
    return (
        f"{score.name}: at most {limit.limit:.4g}{rows} (figure {score.value:.4g}, noise sd {score.noise_sd:.2g}, threshold "
        f"{score.threshold:.4g})"
    )


def _meaning(bound: Bound) -> str:
    queries = (
        f"with them the bounds of every query, however many are asked. The file: {bound.about}. They say nothing about a wider "
        "population."
    )
    if bound.measured or bound.way == "counted":  # the noise of the number of rows is not that of an accepted figure either
        word = (
            f"If a round was accepted with probability {bound.acceptance:g} or more: w" if bound.acceptance is not None else "W"
        )
        return (
            f"{word}ith probability {1 - bound.confidence:.4g} at most, over all noise of the run, a table is released and one "
            f"of these limits is wrong; otherwise they hold, and {queries}"
        )
    given = "Given the released table"
    if bound.acceptance is not None:
        given = f"If a round was accepted with probability {bound.acceptance:g} or more"
    return (
        f"{given}, all these limits hold together with probability {bound.confidence:g} or more over the noise of the figures, "
        f"and {queries}"
    )
