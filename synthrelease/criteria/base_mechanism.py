"""The private half of every criterion: the exact figure of its query, or the least slack of all queries, comes out with noise.

Private: the counts of the table, exact figures and slacks of it. Out: one noisy number, public, or one for each of several
figures that share their noise. What a figure is made of stands beside the criteria: `marginals`, `groupings`, `records` and
`faithfulness` have a `*_mechanism.py` each.

Guarantee: eps-DP; neighbours replace one record. Laplace noise of the figure's own sensitivity, which its class proves, over
eps; of a slack the sensitivity is 1, and so it is of the least of them (Proposition 3). Several figures together
are put on grids on which none moves by more than D steps, and get one vector of noise (theory 4.4, figures that share a noise).
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

_LIMIT = 2.0**30
"""Slacks are clipped to this many sensitivities either way, far beyond any noise; clipping keeps the sensitivity."""


def noisy_figure(counts: Counts, query: Query, epsilon: Fraction, rows: int, entropy: SystemEntropy) -> NoisyFigure:
    """Return the figure of a query, with noise."""
    return laplace_figure(query.figure(counts), sensitivity=query.sensitivity, epsilon=epsilon, rows=rows, entropy=entropy)


def noisy_figures(
    counts: Counts, queries: Sequence[Query], noise: OneNoise, rows: int, entropy: SystemEntropy
) -> tuple[NoisyFigure, ...]:
    """Return the figures of several queries, with one noise that they share.

    Parameters
    ----------
    queries : fixed before any of their figures is released: none rests on the noise of another.
    noise : its epsilon is that of all of them together.
    rows : the public number of rows behind the figures, on which their grids depend.

    Privacy
    -------
    epsilon-DP for the vector, neighbours replace one record. A figure moves by at most its sensitivity, and is computed with an
    error of at most a quarter of a step, g = sensitivity / 2^bits, for either neighbour; so its grid points are at most 2^bits
    + 2 = D steps apart (`shared_grid`), with the same D for all of them: the sensitivity of the one noise (theory 4.4, figures
    that share a noise). The division is one of fractions. Values of more than 2^48 steps are refused, as by `laplace_figure`.
    """
    grids = [shared_grid(query.sensitivity, rows) for query in queries]
    values = [query.figure(counts) for query in queries]
    if not all(math.isfinite(value) and abs(value / grid.step) <= 2.0**48 for value, grid in zip(values, grids, strict=True)):
        raise ValueError("a figure that shares its noise must be finite, and not too large for its sensitivity")
    points = [round(Fraction(value) / Fraction(grid.step)) for value, grid in zip(values, grids, strict=True)]
    noisy = one_noise(np.array(points, dtype=np.int64), sensitivity=shared_steps(rows), epsilon=noise.epsilon, entropy=entropy)
    return tuple(
        NoisyFigure(value=point * grid.step, noise_sd=noise.sd(query.sensitivity, rows))
        for point, grid, query in zip(noisy.tolist(), grids, queries, strict=True)
    )


def noisy_least_slack(
    counts: Counts, queries: Sequence[tuple[float, Query]], epsilon: Fraction, entropy: SystemEntropy
) -> NoisyFigure:
    """Return the least slack of all queries, with noise; thresholds stand beside them."""
    return laplace_figure(least_slack(counts, queries), sensitivity=1.0, epsilon=epsilon, entropy=entropy)


def least_slack(counts: Counts, queries: Sequence[tuple[float, Query]]) -> float:
    """Return the least slack of all queries, clipped to +-2**30; one that is not a number counts as the lowest."""
    slacks = [slack(counts, threshold, query) for threshold, query in queries]
    return min((max(-_LIMIT, min(slack, _LIMIT)) if not math.isnan(slack) else -_LIMIT for slack in slacks), default=_LIMIT)


def slack(counts: Counts, threshold: float, query: Query) -> float:
    """Return how far a private table is from failing a query; sensitivity 1 (see `Query`). Not a number never passes."""
    if query.void:
        return -math.inf
    return query.slack(counts) if query.slack else (threshold - query.figure(counts)) / query.sensitivity
