"""What a criterion asks of the private table, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from synthrelease.data.counts import Counts

if TYPE_CHECKING:
    from synthrelease.criteria.one_noise import OneNoise

ANSWERED = "none: an upper bound that follows from the published measurements"
"""The mechanism of a criterion that measurements answer."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The outcome of one criterion, as it may be published.

    `sensitivity` and `noise_sd` are in the units of `value`; None where no noise is added. A value that is not a number
    does not pass.

    Attributes
    ----------
    noise_bound : where the noise is not added to the figure itself: an estimate of what it moves the figure by at most, in 95
        of 100 cases.
    decides : whether this very figure was compared with the threshold; it is then known only because it passed.
    one_noise : where several figures share one noise, that noise; `epsilon` is this figure's share of what it cost.
    """

    name: str
    kind: str
    threshold: float
    value: float
    epsilon: Fraction
    mechanism: str
    sensitivity: float | None
    noise_sd: float | None
    passed: bool
    noise_bound: float | None = None
    decides: bool = True
    one_noise: OneNoise | None = None


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a criterion asks of the private table about one candidate. Asking is public; only `figure` and `slack` see counts.

    Attributes
    ----------
    figure : the exact figure of a private table; total.
    sensitivity : largest change of the figure when one record is replaced, > 0.
    slack : how far a private table is from failing: at or above 0 just when the figure is at or below the threshold, and of
        sensitivity 1. By default (threshold - figure) / sensitivity; a criterion may know a sharper one.
    void : the candidate fails whatever the private table is (a group without rows, say); the figure is paid for all the same.
    """

    figure: Callable[[Counts], float]
    sensitivity: float
    slack: Callable[[Counts], float] | None = None
    void: bool = False


def outward(bound: float) -> float:
    """An upper bound with room for the rounding of a few sums and quotients of floats: never below it, whatever its sign."""
    return bound + abs(bound) * 2.0**-40
