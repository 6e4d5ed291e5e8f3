"""A race in stages: configurations that pass often on public data get more attempts, the others are dropped.

Before the race a pilot of three attempts on a few configurations shows how much the figures of one configuration scatter. In
each stage every configuration that is still in the race is brought to that many attempts. Then

- it is dropped when an upper bound of its acceptance probability is below the target, or below the lower bound of the last
  configuration that would make the shortlist;
- it is outrun when too many others are still in the race and did better (successive halving: the longer the stage, the fewer
  may run on);
- it is settled, and gets no more attempts, when its interval is narrow enough, or that of the chances of its candidates: these
  are probabilities over the noise of the criteria, and differ less than being accepted or not.

The upper bound is the smaller of two: the exact one from the number of accepted attempts (Clopper-Pearson), and one from the
figures (`upper_bound`), which drops after a single attempt what is far beyond a threshold.

What is run next depends only on the results so far, not on the order in which they came, so an interrupted race goes on as if
nothing had happened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from synthrelease.rehearsal.attempts import AttemptResult
from synthrelease.rehearsal.intervals import ShareEstimate, clopper_pearson, narrow_mean

PILOT_SIZE, PILOT_ATTEMPTS = 60, 3
STAGES = (1, 3, 6, 12, 24, 48, 96, 192, 384)
"""Attempts per configuration after each stage: doubling wastes at most half of what an oracle would spend."""

_LAST_STAGE = 48
"""After a stage of k attempts at most keep * 48 / k configurations run on, so that each stage costs about the same."""

_DEVIATIONS = 3.0
"""The mean of a configuration's figures is taken to be at most so many standard errors better than what was seen."""


class Standing(Enum):
    RUNNING = "running"
    DROPPED = "dropped"
    OUTRUN = "outrun"
    SETTLED = "settled"


@dataclass(frozen=True, kw_only=True)
class RaceGoal:
    """What a race is for: which configurations it drops, and when it stops.

    Attributes
    ----------
    target : acceptance probability below which a configuration is of no use, in (0, 1).
    keep : size of the shortlist that is sought.
    width : an interval no wider than this is narrow enough, in (0, 1).
    level : confidence of the intervals.
    """

    target: float = 0.1
    keep: int = 10
    width: float = 0.25
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Race:
    """The state of a race, a function of its results.

    Attributes
    ----------
    estimates : per configuration, the acceptance probability with its interval.
    chances : per configuration, the mean chance of its candidates, which differs less by luck than the share accepted.
    standings : per configuration.
    stage : attempts per running configuration that the present stage asks for; 0 for the pilot.
    missing : (configuration, number) of the attempts that the present stage still lacks; empty when the race is over.
    """

    goal: RaceGoal
    estimates: tuple[ShareEstimate, ...]
    chances: tuple[float, ...]
    standings: tuple[Standing, ...]
    stage: int
    missing: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, results: Sequence[Mapping[int, AttemptResult]], thresholds: Sequence[float], goal: RaceGoal) -> Race:
        """Replay the race on the results so far.

        Parameters
        ----------
        results : per configuration, attempt number -> result. Those that the race has not asked for yet are ignored.
        thresholds : of the criteria, in the order of the figures.
        """
        size = len(results)
        standings = [Standing.RUNNING] * size
        estimates, chances = [clopper_pearson(0, 0, goal.level)] * size, [0.0] * size
        pilot = range(0, size, max(1, size // PILOT_SIZE))

        def state(stage: int, missing: list[tuple[int, int]]) -> Race:
            ordered = tuple(sorted(missing, key=lambda attempt: (attempt[1], attempt[0])))
            return cls(
                goal=goal,
                estimates=tuple(estimates),
                chances=tuple(chances),
                standings=tuple(standings),
                stage=stage,
                missing=ordered,
            )

        lacking = [(c, number) for c in pilot for number in range(PILOT_ATTEMPTS) if number not in results[c]]
        if lacking:
            return state(0, lacking)
        scatter = pooled_scatter([[results[c][number] for number in range(PILOT_ATTEMPTS)] for c in pilot])
        for stage in STAGES:
            running = [c for c, standing in enumerate(standings) if standing is Standing.RUNNING]
            seen = {c: [results[c][number] for number in range(stage) if number in results[c]] for c in running}
            for c, attempts in seen.items():
                estimates[c] = clopper_pearson(sum(result.accepted for result in attempts), len(attempts), goal.level)
                chances[c] = _mean_chance(attempts)
            lacking = [(c, number) for c in running for number in range(stage) if number not in results[c]]
            if lacking:
                return state(stage, lacking)
            bar = max([goal.target, *sorted((estimate.low for estimate in estimates), reverse=True)[goal.keep - 1 : goal.keep]])
            for c in running:
                estimate = estimates[c]
                if min(estimate.high, upper_bound(seen[c], thresholds, scatter)) < bar:
                    standings[c] = Standing.DROPPED
                elif _narrow(estimate, seen[c], goal) or stage == STAGES[-1]:
                    standings[c] = Standing.SETTLED
            for c in _outrun(seen, standings, max(goal.keep, goal.keep * _LAST_STAGE // stage)):
                standings[c] = Standing.OUTRUN
        return state(STAGES[-1], [])

    def shortlist(self) -> tuple[int, ...]:
        """Configurations to draw from in a release: the best `keep` that are still in the race or settled, and accepted at the
        target rate or above, by the mean chance of their candidates."""
        useful = [
            c
            for c, (estimate, standing) in enumerate(zip(self.estimates, self.standings, strict=True))
            if standing in (Standing.RUNNING, Standing.SETTLED) and estimate.trials and self.chances[c] >= self.goal.target
        ]
        best = sorted(useful, key=lambda c: (-self.chances[c], c))
        return tuple(sorted(best[: self.goal.keep]))


def _mean_chance(attempts: Sequence[AttemptResult]) -> float:
    return math.fsum(result.chance for result in attempts) / len(attempts) if attempts else 0.0


def _narrow(estimate: ShareEstimate, attempts: Sequence[AttemptResult], goal: RaceGoal) -> bool:
    if estimate.high - estimate.low <= goal.width:
        return True
    low, high = narrow_mean([result.chance for result in attempts], goal.level)
    return high - low <= goal.width


def _outrun(seen: Mapping[int, Sequence[AttemptResult]], standings: Sequence[Standing], most: int) -> list[int]:
    """The running configurations beyond the best `most`, by the mean chance of their candidates."""
    running = [c for c in seen if standings[c] is Standing.RUNNING]
    means = {c: _mean_chance(seen[c]) for c in running}
    return sorted(running, key=lambda c: (-means[c], c))[most:]


def pooled_scatter(groups: Sequence[Sequence[AttemptResult]]) -> np.ndarray:
    """(n_criteria,) standard deviation of a figure's logarithm among attempts of one configuration, pooled.

    NaN for criteria whose figure is not positive or is there too rarely.
    """
    squares, freedom = 0.0, 0.0
    for attempts in groups:
        logs = _logs(attempts)
        there = np.isfinite(logs)
        counts = there.sum(axis=0)
        means = np.where(there, logs, 0.0).sum(axis=0) / np.maximum(counts, 1)
        squares = squares + np.where(there, (logs - means) ** 2, 0.0).sum(axis=0)
        freedom = freedom + np.maximum(counts - 1, 0)
    enough = np.asarray(freedom) >= 10
    return np.sqrt(np.where(enough, squares, np.nan) / np.where(enough, freedom, 1))


def upper_bound(attempts: Sequence[AttemptResult], thresholds: Sequence[float], scatter: np.ndarray) -> float:
    """An upper bound of the acceptance probability from the figures, 1 where they say nothing.

    For each criterion the logarithm of the figure is taken to scatter around a mean of its own with the pooled deviation s; the
    mean is at least the average seen minus 3 s / sqrt(k). The bound is the smallest over the criteria of Pr[figure <= T].
    A rule of thumb, not a confidence bound: it rests on the normal law and on equal scatter.
    """
    logs = _logs(attempts)
    there = np.isfinite(logs)
    counts = there.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.where(there, logs, 0.0).sum(axis=0) / counts - _DEVIATIONS * scatter / np.sqrt(counts)
        standard = (np.log(thresholds) - lowest) / scatter
    bounds = [0.5 * math.erfc(-value / math.sqrt(2)) for value in standard if math.isfinite(value)]
    return min(bounds, default=1.0)


def _logs(attempts: Sequence[AttemptResult]) -> np.ndarray:
    """(n_attempts, n_criteria) logarithms of the figures; NaN where there is none."""
    figures = np.array([[math.nan if value is None else value for value in result.figures] for result in attempts])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(figures > 0, np.log(figures), np.nan)
