"""The running example of Merrill 2021, chapter 7: five age groups of 100,000 people each, two samples, five sets of strata."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.studio.baselines.weighting import PostStrata, Respondents


def of_counts(counts: Sequence[int] | np.ndarray) -> Respondents:
    """So many with base weight 1 in each bin."""
    return Respondents(bins=np.repeat(np.arange(len(counts)), counts), base_weights=np.ones(int(np.sum(counts))))


SAMPLES = {
    "A": of_counts([1300, 100, 1200, 1200, 1200]),
    "B": of_counts([1600, 100, 1600, 1600, 100]),
}
_INTO = {
    "separate": [0, 1, 2, 3, 4],
    "minors": [0, 0, 1, 2, 3],
    "adults": [0, 1, 2, 2, 2],
    "minors-adults": [0, 0, 1, 1, 1],
    "all": [0, 0, 0, 0, 0],
}
STRATA = {name: PostStrata(into=np.array(into), totals=100_000.0 * np.bincount(into)) for name, into in _INTO.items()}
