"""The search for an allocation: steps along paired differences, and an honest estimate of what was chosen.

**Climbing.** All allocations of a stage meet the same noise on the same populations (`trying.run_tries`), so that their
differences are those of the allocations. A stage raises every part in turn, a little, the total staying what it is; each part
is then moved the more the surer its difference is; three lengths of this step, and the best groups of sums (`regrouped`)
after the middle one and after none, are compared with the present allocation on fresh noise. What is climbed is the
probability to pass with the test's noise widened: the success itself says nothing where nearly all tries, or none, pass.

**The winner's curse.** The best of several estimates is flattered. So the allocations on the way, the first one included, meet
again on fresh noise, and the chosen one is judged on noise and on populations that nothing was chosen by, beside the first one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.rehearsal.allocation.parts import Allocation, Divisible
from synthrelease.rehearsal.allocation.populations import Populations
from synthrelease.rehearsal.allocation.trying import Try, run_tries, smoothed, success
from synthrelease.rehearsal.intervals import bounded_mean
from synthrelease.rehearsal.parallel import Run
from synthrelease.specification.release_spec import ReleaseSpec

POPULATIONS = 4
"""Populations that a choice is made on: the public file and three others; as many others, fresh ones, judge it."""

_PER_POPULATION = 4
"""Tries of every allocation in a stage, on each."""

_JUDGED = 16
"""Tries that judge an allocation, on each of the other populations; as many on the public file as on all of these."""

_RAISED, _RAISED_TEST = 1.6, 1.25
_LENGTHS = (0.5, 1.0, 2.0)
_CERTAIN = 2.0
"""A part whose difference is so many of its standard errors from 0 moves a whole step, one below a quarter of it not at all."""

_MOST_STAGES = 8
_LEAST_STEP = 0.2
_SMOOTH = 3.0
"""The test's noise is widened at least so much."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What fresh tries say about an allocation.

    Attributes
    ----------
    success, low, high : mean probability that a table is released that keeps every threshold, with its 95% interval
        (`intervals.bounded_mean`: it holds for the mean over the populations that were tried, not for any other).
    below : per criterion the share of the tries whose slack is below the margin.
    tries : how many.
    """

    success: float
    low: float
    high: float
    below: tuple[float, ...]
    tries: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """The outcome of a search.

    Attributes
    ----------
    chosen : the allocation, which may be that of the specification.
    first_as_is, first_others, chosen_as_is, chosen_others : both judged, on the public file and on the other populations.
    stages : steps that were taken.
    n_tries : in all.
    """

    divisible: Divisible
    chosen: Allocation
    first_as_is: Judged
    first_others: Judged
    chosen_as_is: Judged
    chosen_others: Judged
    stages: int
    n_tries: int


class Search:
    """One search on its way."""

    def __init__(
        self,
        divisible: Divisible,
        populations: Populations,
        run: Run,
        *,
        seed: int,
        deadline: float | None = None,
        progress: Progress = lambda phase, done, total: None,
    ):
        self._divisible, self._populations, self._run, self._seed = divisible, populations, run, seed
        self._deadline, self._progress = deadline, progress
        self._fresh = self._done = 0

    def found(self) -> Found:
        """The whole search; the judgement is made also when the time is used up."""
        path = self._climbed(self._divisible.start)
        chosen = self._best(path)
        judging = range(POPULATIONS, 2 * POPULATIONS)
        first = self._divisible.start
        as_is = self._compared([first, chosen], [0], _JUDGED * POPULATIONS, "judged on the public file")
        others = self._compared([first, chosen], judging, _JUDGED, "judged on other populations")
        specs = [self._spec(allocation) for allocation in (first, chosen)]
        return Found(
            divisible=self._divisible,
            chosen=chosen,
            first_as_is=judged(specs[0], as_is[0]),
            first_others=judged(specs[0], others[0]),
            chosen_as_is=judged(specs[1], as_is[1]),
            chosen_others=judged(specs[1], others[1]),
            stages=len(path) - 1,
            n_tries=self._done,
        )

    def _climbed(self, first: Allocation) -> list[Allocation]:
        """The allocations on the way, the first one first."""
        path, step = [first], 1.0
        for stage in range(1, _MOST_STAGES + 1):
            if self._late() or step < _LEAST_STEP:
                break
            phase = f"stage {stage}"
            present = path[-1]
            raised = list(self._raised(present))
            asked = [present, *(allocation for allocation in raised if self._possible(allocation))]
            tries = self._compared(asked, range(POPULATIONS), _PER_POPULATION, f"{phase}, parts raised")
            if self._late():
                break
            scale = wide(tries[0])
            base = smoothed(tries[0], scale)
            left = iter(tries[1:])
            gains = [smoothed(next(left), scale) - base if self._possible(allocation) else np.zeros(1) for allocation in raised]
            moves = np.array([sureness(gain) for gain in gains])
            nexts = [self._moved(present, step * length * moves) for length in _LENGTHS]
            nexts += [nexts[1].regrouped(), present.regrouped()]
            nexts = [allocation for allocation in nexts if self._possible(allocation)]
            again = self._compared([present, *nexts], range(POPULATIONS), 2 * _PER_POPULATION, f"{phase}, steps compared")
            values = [float(smoothed(one, scale).mean()) for one in again]
            best = int(np.argmax(values))
            if best:
                path.append(nexts[best - 1])
            else:
                step /= 2
        return path

    def _raised(self, allocation: Allocation) -> Iterator[Allocation]:
        """Every part a little higher, in turn; the test last."""
        n = len(allocation.weights)
        for part in range(n + 1):
            yield self._moved(allocation, np.eye(n + 1)[part])

    @staticmethod
    def _moved(allocation: Allocation, moves: np.ndarray) -> Allocation:
        factors = np.power(_RAISED, moves[:-1])
        return allocation.moved(factors.tolist(), _RAISED_TEST ** float(moves[-1]))

    def _best(self, path: Sequence[Allocation]) -> Allocation:
        """Of the allocations on the way the best on fresh noise: all, then the better half, and so on.

        By success plus the smoothed probability to pass: a success is lost to few unlucky tries, and these alone would choose.
        """
        left, per = list(path), 2 * _PER_POPULATION
        while len(left) > 1:
            tries = self._compared(left, range(POPULATIONS), per, f"{len(left)} allocations compared on fresh noise")
            values = [
                float(success(self._spec(allocation), one).mean() + smoothed(one, _SMOOTH).mean())
                for allocation, one in zip(left, tries, strict=True)
            ]
            order = sorted(range(len(left)), key=lambda place: values[place], reverse=True)
            left, per = [left[place] for place in order[: len(left) // 2]], 2 * per
        return left[0]

    def _compared(self, allocations: Sequence[Allocation], populations: Sequence[int], per: int, phase: str) -> list[list[Try]]:
        """Tries of every allocation with the same fresh noise, in the same order."""
        numbers = range(self._fresh, self._fresh + per)
        self._fresh += per
        specs = [self._spec(allocation) for allocation in allocations]
        tasks = [(place, population) for place in range(len(specs)) for population in populations]
        total, done = len(tasks) * per, 0
        self._progress(phase, done, total)
        found: list[list[Try]] = [[] for _ in specs]
        arguments = ((place, specs[place], self._populations, self._seed, population, numbers) for place, population in tasks)
        for place, tries in self._run(_placed, arguments):
            found[place].extend(tries)
            done += len(tries)
            self._progress(phase, done, total)
        self._done += done
        return [sorted(tries, key=lambda one: (one.population, one.number)) for tries in found]

    def _possible(self, allocation: Allocation) -> bool:
        return self._divisible.spec_with(allocation) is not None

    def _spec(self, allocation: Allocation) -> ReleaseSpec:
        spec = self._divisible.spec_with(allocation)
        if spec is None:
            raise ValueError("expected an allocation that leaves something for the generation")
        return spec

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline


def _placed(
    place: int, spec: ReleaseSpec, populations: Populations, seed: int, population: int, numbers: Sequence[int]
) -> tuple[int, list[Try]]:
    return place, run_tries(spec, populations, seed, population, numbers)


def wide(tries: Sequence[Try]) -> float:
    """How much the test's noise is widened: enough for a typical try to be neither sure to pass nor sure to fail."""
    finite = [one.excess for one in tries if math.isfinite(one.excess)]
    return max(_SMOOTH, abs(float(np.median(finite))) / 2) if finite else _SMOOTH


def sureness(gain: np.ndarray) -> float:
    """From -1 to 1: how surely paired differences are above or below 0."""
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain)) if len(gain) > 1 else 0.0
    if not error > 0:
        return 0.0
    share = float(gain.mean()) / error / _CERTAIN
    return 0.0 if abs(share) < 0.25 else float(np.clip(share, -1.0, 1.0))


def judged(spec: ReleaseSpec, tries: Sequence[Try]) -> Judged:
    """What tries that chose nothing say."""
    values = success(spec, tries).tolist()
    low, high = bounded_mean(values)
    below = 1 - np.mean([one.reached for one in tries], axis=0)
    return Judged(success=math.fsum(values) / len(values), low=low, high=high, below=tuple(below.tolist()), tries=len(values))
