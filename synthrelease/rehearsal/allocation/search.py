"""The search for an allocation: steps along paired differences, and an honest estimate of what was chosen.

**Climbing.** A stage asks what the noise of every part takes from every criterion, by tries in which all parts change at once
(`slopes`), and takes the step with which criteria are least likely to fail, the total staying what it is. The whole step, half
of it, and the best groups of sums (`regrouped`) after the whole one and after none, are compared with the present allocation:
all meet the same noise on the same populations (`trying.run_tries`), so that their differences are those of the allocations.
What is compared is the probability to pass with the test's noise widened: the success itself says nothing where nearly all
tries, or none, pass.

**The winner's curse.** The best of several estimates is flattered. So the allocations on the way, the first one included, meet
again on fresh noise, and the chosen one is judged on noise and on populations that nothing was chosen by, beside the first one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.allocation.calculating import Effects, calculated
from synthrelease.rehearsal.allocation.effects import bundles_of, effects_of, spread_over
from synthrelease.rehearsal.allocation.judged import SMOOTH, Judged, chances_of, judged, wide
from synthrelease.rehearsal.allocation.parts import Allocation, Divisible, few_digits
from synthrelease.rehearsal.allocation.populations import Populations
from synthrelease.rehearsal.allocation.slopes import FACTOR, OppositeTries, SlopesOfParts
from synthrelease.rehearsal.allocation.trying import Try, run_tries, smoothed, success
from synthrelease.rehearsal.parallel import Run
from synthrelease.spec.release_spec import ReleaseSpec

POPULATIONS = 4
"""Populations that a choice is made on: the public file and three others; as many others, fresh ones, judge it."""

_PER_POPULATION = 4
"""Tries of every allocation in a stage, on each."""

_JUDGED = 16
"""Tries that judge an allocation, on each of the other populations; as many on the public file as on all of these."""

_LOUDER = 1.6
"""A part's noise is tried this many times louder than it is where a calculation begins: as one draw in twenty."""
_ROOMS = 2
"""Tries without noise on each population that say what slack criteria have."""
_CALCULATIONS, _CORRECTIONS = 2, 2
"""How often it is asked what noise costs, and how many calculations rest on that, each corrected by tries of the one before."""
_STEP, _MOST_STEPS = 1.1, 15
"""Factor between totals that are tried, and how many above and below that of the specification."""
_FAR_SHORT = 0.2
"""Of the goal, after the first quarter of the tries."""

_PAIRS = 32
"""Of tries that ask a stage's slopes: no more where there are more parts."""
_FARTHEST = math.log(2.5)
"""The logarithm of a budget moves by so much in a step."""

_MOST_STAGES = 8
_LEAST_STEP = 0.2
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Found:
    """The outcome of a search.

    Attributes
    ----------
    chosen : the allocation, which may be that of the specification.
    first_as_is, first_others, chosen_as_is, chosen_others : both judged, on the public file and on the other populations.
    stages : steps that were taken.
    calculated : whether there are weights by calculation, or by slopes, among what was chosen from.
    n_tries : in all.
    """

    divisible: Divisible
    chosen: Allocation
    first_as_is: Judged
    first_others: Judged
    chosen_as_is: Judged
    chosen_others: Judged
    stages: int
    calculated: bool
    n_tries: int


@dataclass(frozen=True, kw_only=True)
class Task:
    """Tries of one specification on one population.

    Attributes
    ----------
    place : in the list of what is asked.
    loud : see `trying.run_tries`.
    """

    place: int
    spec: ReleaseSpec
    population: int
    numbers: Sequence[int]
    loud: Collection[int] | None = None


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

    def found(self, goal: float | None = None) -> Found:
        """The whole search; the judgement is made also when the time is used up.

        Parameters
        ----------
        goal : the least total is looked for at which tries succeed with this probability; None for the total that is given.
        """
        first, given = self._divisible.start, self._divisible.total
        begun = [first]
        for _ in range(_CALCULATIONS):
            begun += self._calculated(begun[-1])
        calculated_any = len(begun) > 1
        if goal is not None:
            begun = [self._at_least_total(self._best(begun), goal)]
            begun += self._calculated(begun[0])
        path = [*begun, *self._climbed(self._best(begun))[1:]]
        chosen = self._best(path)
        if goal is not None:
            chosen = self._at_least_total(chosen, goal)
            first = self._scaled(first, self._divisible.total / given)
        judging = range(POPULATIONS, 2 * POPULATIONS)
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
            calculated=calculated_any or len(path) > len(begun),
            n_tries=self._done,
        )

    def _climbed(self, first: Allocation) -> list[Allocation]:
        """The allocations on the way, the first one first."""
        path, step, before = [first], 1.0, list[OppositeTries]()
        if first.too_many:
            return path
        for stage in range(1, _MOST_STAGES + 1):
            if self._late() or step < _LEAST_STEP:
                break
            phase, present = f"stage {stage}", path[-1]
            pairs = self._pairs(present, f"{phase}, all parts changed at once")
            slopes = SlopesOfParts.of(pairs, before, self._noise_of(present))
            if slopes is None or self._late():
                break
            before += pairs
            whole, half = (slopes.step(self._divisible, present, step * _FARTHEST * part) for part in (1, 0.5))
            nexts = list(dict.fromkeys([whole, half, whole.regrouped(), present.regrouped()]))
            nexts = [one for one in nexts if one != present and self._possible(one)]
            again = self._compared([present, *nexts], range(POPULATIONS), _PER_POPULATION, f"{phase}, steps compared")
            scale = wide(again[0])
            best = int(np.argmax([float(smoothed(one, scale).mean()) for one in again]))
            if not best:
                step /= 2
                continue
            path.append(nexts[best - 1])
            if path[-1].parts != present.parts:
                before = []
        return path

    def _noise_of(self, allocation: Allocation) -> np.ndarray:
        """(I,) what the deviation of every part's noise goes with."""
        budgets = np.array([float(weight) for weight in self._divisible.in_budgets(allocation).weights])
        return np.asarray(budgets ** (-self._divisible.power / 2))

    def _pairs(self, allocation: Allocation, phase: str) -> list[OppositeTries]:
        """Tries with all parts changed, each beside one with the opposite changes and the same luck."""
        budgets, noise = self._divisible.in_budgets(allocation), self._noise_of(allocation)
        coins = SeededEntropy(self._seed, 6, self._fresh).generator()
        tasks, changes = list[Task](), list[np.ndarray]()
        for number in range(_PAIRS):
            signs = 2 * coins.integers(0, 2, len(noise)) - 1
            for change in (signs, -signs):
                factors = FACTOR ** change.astype(float)
                spec = self._divisible.spec_at(budgets.moved(factors.tolist(), 1.0))
                tasks.append(
                    Task(place=len(tasks), spec=spec, population=number % POPULATIONS, numbers=(self._fresh + number,))
                )
                changes.append(noise * factors ** (-self._divisible.power / 2))
        self._fresh += _PAIRS
        tries = [one for (one,) in self._done_tasks(tasks, len(tasks), phase)]
        return [
            OppositeTries(
                population=tries[place].population,
                deviations=np.array(changes[place : place + 2]),
                slacks=np.array([one.aspects for one in tries[place : place + 2]]),
            )
            for place in range(0, len(tries), 2)
            if all(one.aspects for one in tries[place : place + 2])
        ]

    @staticmethod
    def _scaled(allocation: Allocation, factor: Fraction) -> Allocation:
        """For a total that is so many times larger: the test gets the same part of it."""
        return replace(allocation, test=few_digits(allocation.test * factor))

    def _at_least_total(self, allocation: Allocation, goal: float) -> Allocation:
        """The allocation at the least total, in steps of a tenth, at which tries reach the goal: the total from here on.

        A total at which the first tries fall far short of the goal is not tried further.
        """
        given, start = self._divisible, self._divisible.total

        def at(step: int) -> Allocation:
            total = few_digits(start * Fraction(_STEP) ** step)
            self._divisible = replace(given, total=total)
            return self._scaled(allocation, total / start)

        def reached(step: int) -> bool:
            scaled = at(step)
            if not self._possible(scaled):
                return False
            phase = f"epsilon {float(self._divisible.total):g}"
            found: list[float] = []
            for per in (_PER_POPULATION, 3 * _PER_POPULATION):
                (tries,) = self._compared([scaled], range(POPULATIONS), per, phase)
                found += success(self._spec(scaled), tries).tolist()
                if math.fsum(found) / len(found) < goal - _FAR_SHORT:
                    return False
            return math.fsum(found) / len(found) >= goal

        return at(least_step(reached, _MOST_STEPS))

    def rooms(self, spec: ReleaseSpec, phase: str) -> np.ndarray:
        """(J,) of a specification the slack without noise of every aspect of its criteria, less the margin of its test.

        The least of the means on the populations; of tries without a candidate it is none at all.
        """
        tries = self._tried([spec], range(POPULATIONS), _ROOMS, phase, [range(0)])[0]
        margin = 0.0 if spec.joint_test is None else spec.joint_test.margin
        means = []
        for population in range(POPULATIONS):
            aspects = [one.aspects for one in tries if one.population == population and one.aspects]
            if len(aspects) < _ROOMS:
                return np.full(1, -math.inf)
            means.append(np.mean(aspects, axis=0) - margin)
        return np.asarray(np.min(means, axis=0))

    def _calculated(self, first: Allocation) -> list[Allocation]:
        """The safest weights by calculation, and those that the tries of these correct it to."""
        if first.too_many:
            return []
        apart = self._divisible.in_budgets(first).apart()
        effects = self._effects(apart)
        found: list[Allocation] = []
        for _ in range(_CORRECTIONS):
            if effects is None or (found and self._late()):
                break
            present = found[-1] if found else first
            if not self._late():  # what tries told is not thrown away: to calculate takes a second
                phase = "what a calculation rests on, tried"
                (tries,) = self._compared([present], range(POPULATIONS), 2 * _PER_POPULATION, phase)
                effects = effects.corrected(apart, self._divisible, present, chances_of(tries, self._spec(present)))
            safest = calculated(self._divisible, apart, effects)
            if safest is None:
                break
            found.append(safest)
        return found

    def _effects(self, apart: Allocation) -> Effects | None:
        """What the noise of each part costs each criterion: tries without noise, and with that of one part after another.

        None where no criterion asks anything, or where tries without noise tell that the time does not suffice.
        """
        ends = np.cumsum([0, *(part.number for part in apart.parts)]).tolist()
        cells = self._cells(apart)
        bundles = bundles_of(cells)
        loud = [[each for part in bundle for each in range(ends[part], ends[part + 1])] for bundle in bundles]
        phase, spec, begun = "what the noise of each part costs", self._divisible.spec_at(apart), time.monotonic()
        tries = self._tried([spec], range(POPULATIONS), _PER_POPULATION, phase, [range(0)])
        now = time.monotonic()
        if self._deadline is not None and now + len(loud) * (now - begun) > self._deadline:
            return None
        tries += self._tried([spec] * len(loud), range(POPULATIONS), _PER_POPULATION, phase, loud)
        power = self._divisible.power
        budgets = np.array([float(weight) for weight in apart.weights])
        spread = spread_over(bundles, cells, budgets**power / _LOUDER**2)
        return replace(found, power=power) if (found := effects_of(tries, spread)) else None

    def _cells(self, apart: Allocation) -> list[int]:
        """Of a table of every part; 1 for a sum."""
        layout = self._divisible.spec.space.common.layout
        names = [part.text.split(":") if part.field != "sums" else [] for part in apart.parts]
        sizes = dict(zip(layout.columns, layout.sizes, strict=True))
        return [math.prod(sizes.get(name.strip(), 1) for name in of) for of in names]

    def _best(self, path: Sequence[Allocation]) -> Allocation:
        """Of the allocations on the way the best on fresh noise: all, then the better half, and so on.

        By success plus the smoothed probability to pass: a success is lost to few unlucky tries, and these alone would choose.
        """
        left, per = list(path), 2 * _PER_POPULATION
        while len(left) > 1:
            tries = self._compared(left, range(POPULATIONS), per, f"{len(left)} allocations compared on fresh noise")
            values = [
                float(success(self._spec(allocation), one).mean() + smoothed(one, SMOOTH).mean())
                for allocation, one in zip(left, tries, strict=True)
            ]
            order = sorted(range(len(left)), key=lambda place: values[place], reverse=True)
            left, per = [left[place] for place in order[: len(left) // 2]], 2 * per
        return left[0]

    def _compared(self, allocations: Sequence[Allocation], populations: Sequence[int], per: int, phase: str) -> list[list[Try]]:
        """Tries of every allocation with the same fresh noise, in the same order."""
        return self._tried([self._spec(allocation) for allocation in allocations], populations, per, phase)

    def _tried(
        self,
        specs: Sequence[ReleaseSpec],
        populations: Sequence[int],
        per: int,
        phase: str,
        loud: Sequence[Collection[int] | None] | None = None,
    ) -> list[list[Try]]:
        heard = [None] * len(specs) if loud is None else loud
        numbers = range(self._fresh, self._fresh + per)
        self._fresh += per
        tasks = [
            Task(place=place, spec=specs[place], population=population, numbers=numbers, loud=heard[place])
            for place in range(len(specs))
            for population in populations
        ]
        return self._done_tasks(tasks, len(specs), phase)

    def _done_tasks(self, tasks: Sequence[Task], places: int, phase: str) -> list[list[Try]]:
        """The tries of every place, in order."""
        total, done = sum(len(task.numbers) for task in tasks), 0
        self._progress(phase, done, total)
        found: list[list[Try]] = [[] for _ in range(places)]
        for place, tries in self._run(_placed, ((task, self._populations, self._seed) for task in tasks)):
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


def _placed(task: Task, populations: Populations, seed: int) -> tuple[int, list[Try]]:
    return task.place, run_tries(task.spec, populations, seed, task.population, task.numbers, task.loud, _LOUDER)


def least_step(reached: Callable[[int], bool], most: int) -> int:
    """The least step from -most to most that reaches what all larger ones reach; most where none is known to.

    Asked from 0 on, in strides that double until the answer changes, and then in the middle of what is left.
    """
    enough = reached(0)
    low, high, stride = (-most - 1, 0, 1) if enough else (0, most, 1)
    while high - low > 1:
        asked = max(high - stride, low + 1) if enough else min(low + stride, high - 1)
        answer = reached(asked)
        low, high = (low, asked) if answer else (asked, high)
        if answer != enough:
            break
        stride *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
