"""The private half of criteria from other packages: pass the counts of the table to the package, and take its criterion value.

Private: the counts of the table. Out: the criterion value that the other package computes; `base_mechanism` adds noise to it.

Guarantee: eps-DP if the package claims a correct sensitivity of its criterion value. Neighbours replace one record.
synthrelease neither proves this claim nor checks what the package's code does with the counts. docs/plugins.md says what a
steward has to trust.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from synthrelease.data.counts import Counts


def figure_of(counts: Counts, figure: Callable[[Counts], float]) -> float:
    """Let another package compute its exact criterion value from a copy of the table. Changes to the copy are discarded."""
    return float(figure(deepcopy(counts)))
