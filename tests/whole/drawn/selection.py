"""Cases of the selection loop: `select_by` itself, with finite rounds. What is claimed is what a release is charged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.releasing.selection import select_by
from tests.whole.drawn.cases import Case, Event, OneNumber

# Cases of rounds run side by side: does the order in which they finish show?
#
# The outputs of the rounds are fixed, A, B, A, B, ..., so that nothing but the order decides; on one table the rounds that
# output A take long, on the other those that output B. `select_by` takes the first round in order, so its output is A on both
# tables and the claim is 0. A loop that takes the first to finish outputs B on one and A on the other.

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
    """`select_by` with two jobs."""
    yield _case("select with two jobs", _selected, faulty=False)


def first_to_finish_case() -> Case:
    """A parallel loop that takes whichever round comes back first."""
    return _case("first to finish wins", _first_to_finish, faulty=True)


def _case(name: str, draw: Callable[[tuple[float, float], int], np.ndarray], *, faulty: bool) -> Case:
    return Case(
        family="selection, rounds side by side",
        name=f"{name}, the time of a round depends on the table",
        claim=0.0,
        draw=draw,
        sides=((_SLOW, 0.0), (0.0, _SLOW)),
        features=("output",),
        draws=DRAWS,
        event=Event(text="the output of the second round", statistic=OneNumber(index=0, sign=1), threshold=1.0),
        faulty=faulty,
        alone=True,
    )


def _selected(seconds: tuple[float, float], draws: int) -> np.ndarray:
    return np.array([select_by(SelectionRule(), TimedRounds(seconds), jobs=2) for _ in range(draws)])


def _first_to_finish(seconds: tuple[float, float], draws: int) -> np.ndarray:
    with ThreadPoolExecutor(2) as pool:
        return np.array([_first(pool, TimedRounds(seconds)) for _ in range(draws)])


def _first(pool: ThreadPoolExecutor, rounds: TimedRounds) -> int:
    pending = [pool.submit(rounds.next()) for _ in range(2)]
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    output = next(finished for finished in pending if finished in done).result()
    wait(pending)
    return output


SELECTION_DRAWS = 20_000
_BIRTHS = FiniteLaw.of({1: Fraction("0.182"), 6: Fraction("0.47"), 7: Fraction("0.348")})
STOPS = (Fraction(0), Fraction(1, 50), Fraction(1, 2), Fraction(1))


@dataclass(frozen=True, kw_only=True)
class FiniteRound:
    """A round with output i with probability weights[i] / total, and rejected otherwise."""

    weights: tuple[int, ...]
    total: int

    def __call__(self) -> int | None:
        left = SYSTEM.pick(self.total)
        for output, weight in enumerate(self.weights):
            if left < weight:
                return output
            left -= weight
        return None


_ROUNDS: dict[str, tuple[Fraction | int, tuple[int, ...], tuple[int, ...], int]] = {
    "a rare output beside one that changes the other way": (2, (4, 100), (2, 200), 1000),
    "acceptance doubles": (2, (20,), (40,), 100),
    "two outputs change places": (4, (5, 20), (20, 5), 100),
    "rejection halves": (2, (10, 30), (20, 50), 100),
    "a rare output, small epsilon": (Fraction(5, 4), (5, 200), (4, 250), 1000),
    "a rare output, large epsilon": (8, (8, 50), (1, 400), 1000),
    "every output twice as likely": (2, (10, 20, 15), (20, 40, 30), 150),
}
"""Names -> e^eps1, weights of the outputs for two neighbours, and the total."""


def selection_cases() -> Iterator[Case]:
    """Return the loop at several stop probabilities, and with hidden numbers of rounds."""
    for name in _ROUNDS:
        for stop in STOPS:
            rule = SelectionRule(stop_probability=stop)
            yield _rounds_case(name, f"stop probability {stop}", rule, rule)
    for name in ("acceptance doubles", "a rare output, large epsilon"):
        yield hidden_case(name, _BIRTHS, _BIRTHS)


def hidden_case(name: str, law: FiniteLaw, law_on_right: FiniteLaw, *, faulty: bool = False) -> Case:
    """A hidden number of rounds with one law on the first table, and with one on its neighbour; they ought to be the same."""
    words = law.words + (f", or {law_on_right.words}" if faulty else "")
    return _rounds_case(name, words, SelectionRule(rounds=law), SelectionRule(rounds=law_on_right), faulty=faulty)


def _rounds_case(name: str, words: str, rule: SelectionRule, rule_on_right: SelectionRule, *, faulty: bool = False) -> Case:
    """Rounds of `_ROUNDS`, selected by a rule on either table; the claim is that of the first rule."""
    ratio, left, right, total = _ROUNDS[name]
    return Case(
        family="selection",
        name=f"{name}, {words}",
        claim=claimed(ratio, rule),
        draw=_outputs,
        sides=((FiniteRound(weights=left, total=total), rule), (FiniteRound(weights=right, total=total), rule_on_right)),
        features=("output",),
        draws=SELECTION_DRAWS,
        faulty=faulty,
    )


def chosen_law_case() -> Case:
    """A known fault: how often is tried depends on the table."""
    return hidden_case("acceptance doubles", FiniteLaw.of({1: Fraction(1)}), FiniteLaw.of({7: Fraction(1)}), faulty=True)


def claimed(ratio: Fraction | int, rule: SelectionRule) -> float:
    """Return what a selection of rounds of ln(ratio) is charged: the price of its law, or twice a round without one."""
    epsilon = Fraction(math.log(ratio)).limit_denominator(10**12) + Fraction(1, 10**11)
    return float(2 * epsilon if rule.law is None else rule.law.price(epsilon))


def _outputs(rounds: tuple[FiniteRound, SelectionRule], draws: int) -> np.ndarray:
    """Outputs of the loop; -1 for "nothing"."""
    run, rule = rounds
    outputs = (select_by(rule, run) for _ in range(draws))
    return np.array([-1 if output is None else output for output in outputs])
