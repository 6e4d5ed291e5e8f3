"""Cases of rounds run side by side: does the order in which they finish show?

The outputs of the rounds are fixed, A, B, A, B, ..., so that nothing but the order decides; on one table the rounds that
output A take long, on the other those that output B. `select` takes the first round in order, so its output is A on both
tables and the claim is 0. A loop that takes the first to finish outputs B on one and A on the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.audit.events import Event, OneNumber
from synthrelease.releasing.selection import select

DRAWS = 40
"""Few, because each ends its worker processes; the outputs leave nothing to chance, so few are enough."""

_SLOW = 0.2
"""Seconds. Were the machine so busy that this is nothing, then the fault below would not be found, and the audit not pass."""


@dataclass(frozen=True, kw_only=True)
class TimedRound:
    """A round with a given output, which it takes so many seconds to find."""

    output: int
    seconds: float

    def __call__(self) -> int:
        time.sleep(self.seconds)
        return self.output


class TimedRounds:
    """Rounds with the outputs 0, 1, 0, 1, ...; a worker process gets the next one each time.

    `seconds` is what a round with output 0, and one with output 1, takes.
    """

    def __init__(self, seconds: tuple[float, float]):
        self.seconds, self.numbers = seconds, count()

    def next(self) -> TimedRound:
        output = next(self.numbers) % 2
        return TimedRound(output=output, seconds=self.seconds[output])

    def __call__(self) -> int:
        return self.next()()

    def __reduce__(self) -> tuple[Callable[..., TimedRound], tuple[int, float]]:
        handed_over = self.next()
        return _timed_round, (handed_over.output, handed_over.seconds)


def _timed_round(output: int, seconds: float) -> TimedRound:
    return TimedRound(output=output, seconds=seconds)


def parallel_cases() -> Iterator[Case]:
    """`select` with two jobs."""
    yield _case("select with two jobs", _selected, faulty=False)


def first_to_finish_case() -> Case:
    """A parallel loop that takes whichever round comes back first."""
    return _case("first to finish wins", _first_to_finish, faulty=True)


def _case(name: str, draw: Callable[[tuple[float, float], int], np.ndarray], *, faulty: bool) -> Case:
    return Case(
        family="selection, rounds side by side",
        name=f"{name}, the time of a round depends on the table",
        claim=0.0,
        left=partial(draw, (_SLOW, 0.0)),
        right=partial(draw, (0.0, _SLOW)),
        features=("output",),
        draws=DRAWS,
        event=Event(text="the output of the second round", statistic=OneNumber(index=0, sign=1), threshold=1.0),
        faulty=faulty,
        alone=True,
    )


def _selected(seconds: tuple[float, float], draws: int) -> np.ndarray:
    return np.array([select(TimedRounds(seconds), Fraction(0), jobs=2) for _ in range(draws)])


def _first_to_finish(seconds: tuple[float, float], draws: int) -> np.ndarray:
    with ThreadPoolExecutor(2) as pool:
        return np.array([_first(pool, TimedRounds(seconds)) for _ in range(draws)])


def _first(pool: ThreadPoolExecutor, rounds: TimedRounds) -> int:
    pending = [pool.submit(rounds.next()) for _ in range(2)]
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    output = next(finished for finished in pending if finished in done).result()
    wait(pending)
    return output
