"""A bound, and the same in words: the answer, its range, and the derivation that a reader can follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.bounds.limits import Limit
from synthrelease.bounds.ranges import Step
from synthrelease.criteria import CRITERIA

MOST_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A released answer with bounds on the original table's.

    Attributes
    ----------
    question : what was asked, in words.
    kind : "count", "share" or "mean"; of a difference, that of its two parts.
    answer : in the released table.
    low, high : the original table's answer, on the released bins, lies between them with the stated confidence. They hold
        for all queries on the release together.
    unit : "rows", "" for shares, the column's unit for means.
    confidence : the probability, given the released table, that its errors are within the limits that the bounds rest on.
    acceptance : the caller's lower bound on the probability that a round is accepted, or None.
    n_rows : of the release.
    low_steps, high_steps : why, with the weightiest reason first.
    limits : upper limits of the true errors, one for each criterion that says something about other queries.
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
    low_steps: tuple[Step, ...]
    high_steps: tuple[Step, ...]
    limits: tuple[Limit, ...]
    measured: str = ""

    def __str__(self) -> str:
        return explained(self)


def explained(bound: Bound) -> str:
    """The text that `synthrelease bound` prints."""
    lines = [
        bound.question,
        f"  released table   {value(bound, bound.answer)}",
        f"  original table   {value(bound, bound.low)} to {value(bound, bound.high)}, confidence {bound.confidence:.4g}",
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


def value(bound: Bound, number: float) -> str:
    """A number of a bound with its unit; counts also as a share of all rows."""
    if bound.kind == "count":
        return f"{number:,.0f} rows ({number / bound.n_rows:.2%})"
    if bound.kind == "share":
        return f"{number:.2%}" + (" points" if ", minus " in bound.question else "")
    return f"{number:,.6g}" + (f" {bound.unit}" if bound.unit else "")


def _end(bound: Bound, which: str, distance: float, steps: Sequence[Step]) -> list[str]:
    side = "above" if which == "upper" else "below"
    lines = [f"Why the {which} end, {_distance(bound, distance)} {side} the released answer:"]
    for step in steps[:MOST_STEPS]:
        used = f", used {step.uses} times" if step.uses > 1 else ""
        criterion = f" ({step.criterion!r})" if step.criterion else ""
        lines.append(f"  {step.share:5.0%}  {step.each}{used}{criterion}")
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
        "with them the bounds of every query, however many are asked. They compare the released table with the original "
        "one on the released bins and their numbers; they say nothing about a wider population."
    )
    if bound.measured:
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
