"""What tries say about an allocation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.rehearsal.allocation.trying import Try, success
from synthrelease.rehearsal.attempts import passing
from synthrelease.rehearsal.intervals import bounded_mean
from synthrelease.spec.release_spec import ReleaseSpec

SMOOTH = 3.0
"""The test's noise is widened at least so much."""


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


def wide(tries: Sequence[Try]) -> float:
    """How much the test's noise is widened: enough for a typical try to be neither sure to pass nor sure to fail."""
    finite = [one.excess for one in tries if math.isfinite(one.excess)]
    return max(SMOOTH, abs(float(np.median(finite))) / 2) if finite else SMOOTH


def judged(spec: ReleaseSpec, tries: Sequence[Try]) -> Judged:
    """What tries that chose nothing say."""
    values = success(spec, tries).tolist()
    low, high = bounded_mean(values)
    below = 1 - np.mean([one.reached for one in tries], axis=0)
    return Judged(success=math.fsum(values) / len(values), low=low, high=high, below=tuple(below.tolist()), tries=len(values))


def chances_of(tries: Sequence[Try], spec: ReleaseSpec) -> np.ndarray:
    """(J,) how probable it is, over the test's noise, that each aspect by itself passes; NaN for one that asks nothing."""
    test = spec.joint_test
    slacks = np.array([one.aspects for one in tries if one.aspects])
    if test is None or not slacks.size:
        return np.full(0, math.nan)
    passed = np.array([[passing(test.margin, slack, 1.0, test.epsilon) for slack in each] for each in slacks.tolist()])
    return np.where(np.isfinite(slacks).all(axis=0), passed.mean(axis=0), math.nan)
