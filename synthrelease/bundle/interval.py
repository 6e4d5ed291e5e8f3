"""From a released figure back to the exact one: an interval for the true error (post-processing, free)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.criteria.facts import OneNoise
from synthrelease.privacy.grids import grid_point, noise_grid, shared_grid

LEVEL = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True)
class FigureInterval:
    """`low` <= exact figure <= `high`, at a stated level. `high` is None when nothing bounds it."""

    low: float
    high: float | None


def laplace_interval(
    value: float,
    *,
    sensitivity: float,
    epsilon: Fraction,
    rows: int = 1,
    best: float,
    worst: float | None,
    passed_below: float | None,
    level: Fraction = LEVEL,
) -> FigureInterval:
    """An interval that holds the exact figure in at least `level` of all releases, the noise of `laplace_figure` being known.

    Parameters
    ----------
    value : the released figure.
    rows : the number of rows behind it, which has a part in its grid.
    best, worst : what the exact figure can be at all; None where it has no worst value.
    passed_below : the threshold, when the released figure is known only because it did not exceed it; None for a figure
        whose noise had no part in the decision.

    Notes
    -----
    Let e be the exact figure of the released candidate and v = e + z the noisy one, in steps of the grid, z discrete Laplace
    with a = exp(-1/scale). Given the candidate and the noise of the other criteria, acceptance says v <= t and nothing
    else about z; so v follows its law cut off at t, for every candidate, and hence for the one that is released.

    - Low end v - q, q the smallest number with Pr[z > q] <= (1 - level)/2. Cutting off only makes v smaller, so that
      e < v - q stays as rare as that.
    - High end: the largest e with Pr[z <= v - e | z <= t - e] > (1 - level)/2. This falls in e towards
      a^(t - v): a figure that lies so near below its threshold that this exceeds (1 - level)/2 bounds nothing from above.

    The rounding to the grid (theory 9.2, figure on a grid) adds a step on either side. The level holds for each criterion by
    itself.
    """
    step, steps = noise_grid(sensitivity, rows)
    decay = math.exp(-1 / float(Fraction(steps) / epsilon))
    tail = float(1 - level) / 2
    released = round(value / step)
    limit = None if passed_below is None else math.floor(Fraction(passed_below) / Fraction(step))
    reach = max(0, math.ceil(math.log(tail * (1 + decay)) / math.log(decay)) - 1)
    low = max(best, (released - reach - 1) * step)
    high = _largest(released, limit, decay, tail)
    if high is None:
        return FigureInterval(low=low, high=worst)
    top = (high + 1) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def one_noise_interval(
    value: float,
    noise: OneNoise,
    *,
    sensitivity: float,
    rows: int,
    best: float,
    worst: float | None,
    level: Fraction = LEVEL,
) -> FigureInterval:
    """An interval that holds the exact figure in at least `level` of all releases, of a figure that shares its noise.

    The noise had no part in the decision. Its law is that of one number of several (theory 9.18, one noise for many numbers);
    the level holds for this figure by itself. The rounding to the grid adds a step on either side.
    """
    step = shared_grid(sensitivity, rows).step
    released, reach = grid_point(value, step), noise.beyond(rows, float(1 - level)) + 1
    low, top = max(best, (released - reach) * step), (released + reach) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def _largest(released: int, limit: int | None, decay: float, tail: float) -> int | None:
    """The largest exact figure, in steps, for which a released one this small is not too rare."""

    def probability(exact: int) -> float:
        share = cumulative(released - exact, decay)
        return share if limit is None else share / cumulative(limit - exact, decay)

    if limit is not None and decay ** (limit - released) > tail:
        return None
    beyond = released + math.ceil(math.log(tail) / math.log(decay)) + 2 if limit is None else limit + 1
    return _last(lambda exact: probability(exact) > tail, released, beyond)


def _last(holds: Callable[[int], bool], first: int, beyond: int) -> int:
    """The last integer for which `holds`, which is true up to it, false after it and false at `beyond`."""
    while beyond - first > 1:
        middle = (first + beyond) // 2
        if holds(middle):
            first = middle
        else:
            beyond = middle
    return first


def cumulative(z: int, decay: float) -> float:
    """Pr[noise <= z] for noise with Pr[z] proportional to decay^|z|."""
    return 1 - decay ** (z + 1) / (1 + decay) if z >= 0 else decay**-z / (1 + decay)
