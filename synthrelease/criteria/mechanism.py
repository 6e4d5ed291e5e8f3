"""The private half of every criterion: the exact figure of its query, or the least slack of all queries, comes out with noise.

Private: the counts of the table, the exact figure and slack of it. Out: one noisy number, public. What a figure is made of
stands beside the criteria: `marginals`, `groupings`, `records` and `faithfulness` have a `mechanism.py` each.

Guarantee: eps-DP; neighbours replace one record. Laplace noise of the figure's own sensitivity, which its class proves, over
eps; of a slack the sensitivity is 1, and so it is of the least of them (Proposition 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from synthrelease.criteria.scores import Query
from synthrelease.domain.counts import Counts
from synthrelease.randomness import NoisyFigure, SystemEntropy, laplace_figure

_LIMIT = 2.0**30
"""Slacks are clipped to this many sensitivities either way, far beyond any noise; clipping keeps the sensitivity."""


def noisy_figure(counts: Counts, query: Query, epsilon: Fraction, rows: int, entropy: SystemEntropy) -> NoisyFigure:
    """The figure of a query, with noise."""
    return laplace_figure(query.figure(counts), sensitivity=query.sensitivity, epsilon=epsilon, rows=rows, entropy=entropy)


def noisy_least_slack(
    counts: Counts, asked: Sequence[tuple[float, Query]], epsilon: Fraction, entropy: SystemEntropy
) -> NoisyFigure:
    """The least slack of all queries, with noise; thresholds stand beside them."""
    return laplace_figure(least_slack(counts, asked), sensitivity=1.0, epsilon=epsilon, entropy=entropy)


def least_slack(counts: Counts, asked: Sequence[tuple[float, Query]]) -> float:
    """The least slack of all queries, clipped to +-2**30; one that is not a number counts as the lowest."""
    slacks = [slack(counts, threshold, query) for threshold, query in asked]
    return min((max(-_LIMIT, min(slack, _LIMIT)) if not math.isnan(slack) else -_LIMIT for slack in slacks), default=_LIMIT)


def slack(counts: Counts, threshold: float, query: Query) -> float:
    """How far a private table is from failing a query; sensitivity 1 (see `Query`). Not a number never passes."""
    if query.void:
        return -math.inf
    return query.slack(counts) if query.slack else (threshold - query.figure(counts)) / query.sensitivity
