"""The private half of every criterion: release the exact criterion value of its query, or the least slack of all queries, with
noise.

Private: the counts of the table, and its exact criterion values and slacks. Out: one noisy number, which is public, or one
noisy number for each of several criterion values that share their noise. The `*_mechanism.py` modules of the criteria compute
the exact criterion values, such as `marginals_mechanism` and `groupings_mechanism`.

Guarantee: eps-DP; neighbours replace one record. The scale of the Laplace noise is sensitivity / eps; the docstring of the
criterion's class proves the sensitivity of the criterion value. The slack of a criterion measures how far the table is from
failing this criterion (`facts.Query`). A slack has sensitivity 1, and the least of several slacks also has sensitivity 1
(Proposition 3). Several criterion values together are rounded to grids on which no criterion value moves by more than D steps,
and get one vector of noise (theory 4.4, figures that share a noise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from synthrelease.criteria.facts import OneNoise, Query
from synthrelease.data.counts import Counts
from synthrelease.privacy.grids import NoisyFigure, shared_grid, shared_steps
from synthrelease.privacy.noise import SystemEntropy, laplace_figure, one_noise

# Slacks are clipped to plus or minus this number, far beyond any noise. Clipping does not raise the sensitivity.
_LIMIT = 2.0**30


def noisy_figure(counts: Counts, query: Query, epsilon: Fraction, rows: int, entropy: SystemEntropy) -> NoisyFigure:
    """Return the criterion value of a query on the private counts, with Laplace noise."""
    return laplace_figure(query.figure(counts), sensitivity=query.sensitivity, epsilon=epsilon, rows=rows, entropy=entropy)


def noisy_figures(
    counts: Counts, queries: Sequence[Query], noise: OneNoise, rows: int, entropy: SystemEntropy
) -> tuple[NoisyFigure, ...]:
    """Return the criterion values of several queries with one shared noise vector.

    Parameters
    ----------
    queries : the queries, all fixed before any criterion value is released.
    noise : the shared noise, with the total epsilon.
    rows : the public number of rows, on which the grids of the criterion values depend.

    Privacy
    -------
    epsilon-DP for the vector, neighbours replace one record. A criterion value moves by at most its sensitivity. For both
    neighbours it is computed with an error of at most a quarter of a step g = sensitivity / 2^bits. So the grid points of a
    criterion value are at most D = 2^bits + 2 steps apart (`shared_grid`). D is the same for all criterion values and is
    the sensitivity of the shared noise (theory 4.4, figures that share a noise). The division by the step uses exact
    fractions. Like `laplace_figure`, the function refuses values of more than 2^48 steps.
    """
    grids = [shared_grid(query.sensitivity, rows) for query in queries]
    values = [query.figure(counts) for query in queries]
    if not all(math.isfinite(value) and abs(value / grid.step) <= 2.0**48 for value, grid in zip(values, grids, strict=True)):
        raise ValueError("a criterion value that shares its noise must be finite, and not too large for its sensitivity")
    points = [round(Fraction(value) / Fraction(grid.step)) for value, grid in zip(values, grids, strict=True)]
    noisy = one_noise(np.array(points, dtype=np.int64), sensitivity=shared_steps(rows), epsilon=noise.epsilon, entropy=entropy)
    return tuple(
        NoisyFigure(value=point * grid.step, noise_sd=noise.sd(query.sensitivity, rows))
        for point, grid, query in zip(noisy.tolist(), grids, queries, strict=True)
    )


def noisy_least_slack(
    counts: Counts, queries: Sequence[tuple[float, Query]], epsilon: Fraction, entropy: SystemEntropy
) -> NoisyFigure:
    """Return, with noise, the smallest slack (distance from failing a criterion) of these queries."""
    return laplace_figure(least_slack(counts, queries), sensitivity=1.0, epsilon=epsilon, entropy=entropy)


def least_slack(counts: Counts, queries: Sequence[tuple[float, Query]]) -> float:
    """Return the smallest slack (distance from failing) over all criteria, clipped to +-2**30. NaN counts as -2**30."""
    slacks = [slack(counts, threshold, query) for threshold, query in queries]
    return min((max(-_LIMIT, min(slack, _LIMIT)) if not math.isnan(slack) else -_LIMIT for slack in slacks), default=_LIMIT)


def slack(counts: Counts, threshold: float, query: Query) -> float:
    """Return how far a private table is from failing a criterion, in units of the sensitivity of its value; negative if it
    fails, minus infinity for a void query."""
    if query.void:
        return -math.inf
    return query.slack(counts) if query.slack else (threshold - query.figure(counts)) / query.sensitivity
