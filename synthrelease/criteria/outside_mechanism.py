"""The private half of `outside`: the counts of the table go to a package that is no part of synthrelease.

Private: the counts of the table. Out: the figure of another package, which gets noise in `base_mechanism`.

Guarantee: eps-DP if the sensitivity that the package claims is true for its figure; neighbours replace one record. Nobody here
proves the claim, and nobody follows what its code does with the counts: docs/plugins.md says what a steward trusts.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from synthrelease.data.counts import Counts


def figure_of(counts: Counts, figure: Callable[[Counts], float]) -> float:
    """Return the exact figure that another package computes from a copy of the table; changes to the copy are discarded."""
    return float(figure(deepcopy(counts)))
