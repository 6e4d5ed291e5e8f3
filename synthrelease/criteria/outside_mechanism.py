"""The private half of criteria from other packages: pass the counts of the table to the package, and take its criterion value.

Private: the counts of the table. Out: the criterion value of the other package, which gets noise in `base_mechanism`.

Guarantee: eps-DP if the package claims a correct sensitivity of its criterion value. Neighbours replace one record.
synthrelease neither proves this claim nor checks what the package's code does with the counts. docs/plugins.md says what a
steward has to trust.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from synthrelease.data.counts import Counts


def figure_of(counts: Counts, figure: Callable[[Counts], float]) -> float:
    """Return the exact criterion value that another package computes from a copy of the table; changes to the copy are
    discarded."""
    return float(figure(deepcopy(counts)))
