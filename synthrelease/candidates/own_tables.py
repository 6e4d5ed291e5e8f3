"""Rows beside the noisy tables that they were made from: a model that did not follow its own tables gives no release.

Criteria ask what the steward thought of. A column that none asks about can be wrong by any amount, where a prior weighs more
than the tables or a model did not converge, and then rows and published tables of one release contradict each other. The
comparison costs nothing: both sides are what the round has paid for.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.measurements.noisy_tables import NoisyMarginals

FAR = 0.1
"""Of the rows: how far the share of a bin may be from that of its own tables, beyond their noise."""
RISK = 1e-6
"""That noise alone is beyond its limit, for each count."""


def contradicts_its_tables(rows: Counts, measured: NoisyMarginals, plausibility: Plausibility) -> bool:
    """Whether a bin of a single column has another share in the rows than in a table that holds the column, by far.

    Rows in a bin that is counted apart are in no table, so they are left aside. Cells that the rules exclude are no part of the
    comparison: released rows have none of them, whatever the tables say.

    Parameters
    ----------
    rows, measured, plausibility : over the same bins.
    """
    from synthrelease.candidates.generators.marginals.mechanism import without

    rows = without(rows, [each.of for each in measured.rare_bins])
    shares = cache(lambda column: rows.marginal((column,)) / rows.total)  # many tables have the same column
    for table in measured.tables:
        allowed = ~plausibility.structural_zeros(table.columns)
        values, cells = np.where(allowed, table.values, 0), np.where(allowed, table.cells, 0)
        total, limit = int(values.sum()), table.noise.limit(RISK)
        if total <= limit * math.sqrt(cells.sum()):
            continue  # no row is told from noise
        for axis, column in enumerate(table.columns):
            beside = tuple(place for place in range(len(table.columns)) if place != axis)
            share, noise = values.sum(axis=beside) / total, limit * np.sqrt(cells.sum(axis=beside)) / total
            if (np.abs(shares(column) - share) > FAR + noise).any():
                return True
    return False
