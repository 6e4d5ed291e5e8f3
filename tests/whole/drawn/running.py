"""Running the cases: choose an event on held-out draws, count it in fresh ones, compare what they prove with the claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from synthrelease.studio.parallel import Progress, running
from tests.whole.drawn.cases import Case, Event, Hits, Side, best_event, proven

Outcome = TypeVar("Outcome")

CONFIDENCE = 0.999
"""Of all findings of a run together."""

_PIECE = 50_000
"""Outputs held at once."""

_FEWEST = 50
"""Draws on each side below which a case is not worth counting."""

_MOST_HELD_OUT = 50_000


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One event and its counts: how much likelier it is on one side than on the other."""

    event: str
    more: Hits
    less: Hits
    epsilon: float


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The outcome of one case.

    Attributes
    ----------
    epsilon : the largest that was proven, over both directions; a mu where the claim is one.
    exceeded : whether it is above the claim, which for a right mechanism happens in none of all cases of a run, with
        probability `CONFIDENCE`.
    """

    case: Case
    directions: tuple[Direction, Direction]
    held_out: int
    seconds: float

    @property
    def epsilon(self) -> float:
        return max(direction.epsilon for direction in self.directions)

    @property
    def exceeded(self) -> bool:
        return not self.epsilon <= self.case.claim


@dataclass(frozen=True, kw_only=True)
class PreparedCase:
    """A case whose events are fixed: left over right, and right over left."""

    events: tuple[Event, Event]
    held_out: int
    seconds_per_draw: float


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The effort of an audit: every case's own number of draws, the same number for all, or hours for all cases together."""

    draws: int | None = None
    hours: float | None = None

    def draws_of(self, case: Case) -> int:
        """Draws on each side, before hours are shared out; a case with workers of its own keeps its number."""
        return case.draws if self.draws is None or case.alone else self.draws


def audit_cases(
    cases: Sequence[Case],
    *,
    effort: Effort = Effort(),
    jobs: int = 1,
    confidence: float = CONFIDENCE,
    progress: Progress = lambda phase, done, total: None,
) -> list[Finding]:
    """Audit all cases.

    Every case makes two statements (left over right, right over left). The chance of a wrong one is divided by the number
    of all of them (Bonferroni), so that together they are right with the given confidence.

    Parameters
    ----------
    jobs : processes.
    """
    error = (1 - confidence) / (2 * max(1, len(cases)))
    planned = [effort.draws_of(case) for case in cases]
    start = time.perf_counter()
    arguments: list[tuple] = [(case, draws, error) for case, draws in zip(cases, planned, strict=True)]
    prepared = _each(prepare, arguments, cases, jobs, lambda done: progress("choosing events", done, len(cases)))
    if effort.hours is not None:
        planned = _shared_out(effort.hours * 3600 - (time.perf_counter() - start), cases, planned, prepared, jobs)
    arguments = [(case, ready, draws, error) for case, ready, draws in zip(cases, prepared, planned, strict=True)]
    return _each(count, arguments, cases, jobs, lambda done: progress("counting", done, len(cases)))


def _shared_out(
    seconds: float, cases: Sequence[Case], draws: Sequence[int], prepared: Sequence[PreparedCase], jobs: int
) -> list[int]:
    """Draws for each case, all multiplied alike, so that counting takes about so long. Fixed before anything is counted."""
    cost = [2 * number * ready.seconds_per_draw for number, ready in zip(draws, prepared, strict=True)]
    apart = sum(seconds_of_case for seconds_of_case, case in zip(cost, cases, strict=True) if case.alone)
    factor = (seconds - apart) * jobs / max(sum(cost) - apart, 1e-9)
    return [number if case.alone else max(_FEWEST, int(number * factor)) for number, case in zip(draws, cases, strict=True)]


def prepare(case: Case, draws: int, error: float) -> PreparedCase:
    """Choose the events of a case on held-out draws, half as many as the test will have; one draw where they are fixed."""
    held_out = min(max(draws // 2, _FEWEST), _MOST_HELD_OUT) if case.event is None else 1
    start = time.perf_counter()
    left, right = case.sample("left", held_out), case.sample("right", held_out)
    seconds = (time.perf_counter() - start) / (2 * held_out)
    events = (
        case.event or best_event(left, right, case.features, draws, error, gaussian=case.gaussian),
        case.event or best_event(right, left, case.features, draws, error, gaussian=case.gaussian),
    )
    return PreparedCase(events=events, held_out=held_out, seconds_per_draw=seconds)


def count(case: Case, ready: PreparedCase, draws: int, error: float) -> Finding:
    """Count the fixed events in fresh draws."""
    start = time.perf_counter()
    hits = [_hits(case, "left", ready.events, draws), _hits(case, "right", ready.events, draws)]
    directions = []
    for side, event in enumerate(ready.events):  # of the left over the right, and the other way round
        more, less = (Hits(hits=hits[of_side][side], draws=draws) for of_side in (side, 1 - side))
        epsilon = proven(more, less, error, gaussian=case.gaussian)
        directions.append(Direction(event=event.text, more=more, less=less, epsilon=epsilon))
    return Finding(
        case=case,
        directions=(directions[0], directions[1]),
        held_out=ready.held_out,
        seconds=time.perf_counter() - start + 2 * ready.held_out * ready.seconds_per_draw,
    )


def _hits(case: Case, side: Side, events: tuple[Event, Event], draws: int) -> list[int]:
    totals = [0, 0]
    for begin in range(0, draws, _PIECE):
        outputs = case.sample(side, min(_PIECE, draws - begin))
        for which, event in enumerate(events):
            totals[which] += event.hits(outputs)
    return totals


def _each(
    action: Callable[..., Outcome],
    arguments: Sequence[tuple[Any, ...]],
    cases: Sequence[Case],
    jobs: int,
    report: Callable[[int], None],
) -> list[Outcome]:
    """`action(*arguments)` for every case, in their order; cases with workers of their own run in this process."""
    results: dict[int, Outcome] = {}
    in_process = [index for index, case in enumerate(cases) if case.alone or jobs == 1]
    elsewhere = [index for index, case in enumerate(cases) if not (case.alone or jobs == 1)]
    for index, outcome in running(jobs)(partial(_numbered, action), [(index, arguments[index]) for index in elsewhere]):
        results[index] = outcome
        report(len(results))
    for index in in_process:
        results[index] = action(*arguments[index])
        report(len(results))
    return [results[index] for index in range(len(cases))]


def _numbered(action: Callable[..., Outcome], index: int, arguments: tuple[Any, ...]) -> tuple[int, Outcome]:
    return index, action(*arguments)
