"""The neighbours whose figures are as far apart as any, of the worlds in which criteria are enumerated.

The program enumerates every pair of neighbours and needs none of these. Tests and the cases of tests/whole/drawn take them.
Of a kind that has none here they are searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from synthrelease.studio.audit.enumeration import CodeFigures, neighbour_pairs
from synthrelease.studio.audit.sweep import Sweep, Table
from synthrelease.studio.audit.worlds import SWEEPS


class Neighbours(NamedTuple):
    """A synthetic table and two private ones that differ in one record."""

    synthetic: Table
    left: Table
    right: Table


FURTHEST: Mapping[str, Neighbours] = {
    "absolute, 2 x 3, all tables": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "absolute, 6, all tables": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "absolute, 2 x 3, one-way tables": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "absolute, 2 x 3, named tables": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "relative, 2 x 3, clip 2": Neighbours((0, 0, 0), (0, 0, 0), (0, 0, 1)),
    "relative, 2 x 3, clip 1.6": Neighbours((0, 0, 0), (0, 0, 0), (0, 0, 1)),
    "relative, 6, clip 10": Neighbours((0, 0, 1), (0, 1, 1), (1, 1, 1)),
    "mean of tables, 2 x 3": Neighbours((0, 0, 0), (0, 0, 4), (0, 4, 4)),
    "quantile 0.7 of tables, 2 x 3": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "weighted by b, 2 x 3, all tables": Neighbours((0, 0, 1), (0, 0, 1), (0, 1, 2)),
    "weighted by a, 3 x 2, all tables": Neighbours((0, 0, 2), (0, 0, 2), (0, 2, 4)),
    "mean of a by b, 2 x 3": Neighbours((0, 1, 2), (0, 1, 2), (0, 1, 5)),
    "mean of a by b, margin 0.4, 2 x 3": Neighbours((0, 1, 2), (0, 1, 2), (0, 1, 5)),
    "mean of b by a, clipped, 2 x 3": Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 4)),
    "mean of a by grouped b, 2 x 3": Neighbours((0, 0, 0), (0, 0, 1), (0, 0, 4)),
    "mean of all, clipped, margin 0.3, 6": Neighbours((0, 0, 0), (0, 0, 2), (0, 2, 4)),
    "mean of a by b, with missing values, 2 x 2": Neighbours((0, 0, 1), (0, 0, 1), (0, 0, 4)),
    "median of b by a, 2 x 3": Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 4)),
    "quartiles of all, 6": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "median of b, with missing values, 2 x 2": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "proportion of b by a, 2 x 3": Neighbours((0, 0, 3), (0, 0, 0), (0, 0, 4)),
    "proportion of grouped b by a and of all, 2 x 3": Neighbours((0, 0, 3), (0, 0, 0), (0, 0, 4)),
    "proportion of b by a, with missing values, 2 x 2": Neighbours((0, 0, 2), (0, 0, 3), (0, 0, 4)),
    "distribution of b by a, 2 x 3": Neighbours((0, 0, 3), (0, 0, 0), (0, 0, 4)),
    "mean of rows, clipped, 6": Neighbours((0, 0, 0), (0, 0, 0), (0, 0, 5)),
    "one step, 2 x 3": Neighbours((0, 1, 4), (0, 3, 5), (0, 5, 5)),
    "one step, 3 x 2": Neighbours((0, 2, 4), (0, 1, 1), (0, 1, 5)),
    "one step, with missing values, 2 x 2": Neighbours((0, 2, 4), (0, 1, 1), (0, 1, 3)),
    "prediction, opposite line, 2 x 3": Neighbours((0, 0, 4), (0, 0, 4), (0, 2, 4)),
    "prediction, flat line, 2 x 3": Neighbours((0, 2, 5), (0, 3, 3), (0, 3, 5)),
    "prediction by lines, rising line, 2 x 3": Neighbours((0, 0, 4), (0, 0, 3), (0, 1, 3)),
    "prediction, rising line, 3 x 2": Neighbours((0, 0, 0), (0, 2, 2), (0, 2, 3)),
    "prediction, with missing values, 2 x 2": Neighbours((0, 0, 0), (0, 2, 2), (0, 2, 3)),
    "logistic step, 1, 2 x 2": Neighbours((0, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 1)),
    "faithfulness, a exact, b near, 2 x 3": Neighbours((0, 0, 0), (0, 0, 2), (0, 2, 2)),
    "faithfulness, one of both near, 3 x 2": Neighbours((0, 0, 0), (0, 0, 3), (0, 3, 3)),
    "faithfulness, near in six bins, 6": Neighbours((0, 0, 0), (0, 0, 2), (0, 2, 2)),
    "faithfulness, a ignored, with missing values, 2 x 2": Neighbours((0, 2, 2), (0, 0, 0), (0, 0, 2)),
    "joint test, marginals and ratios, 2 x 3": Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "joint test, means and faithfulness, 2 x 3": Neighbours((0, 0, 3), (0, 0, 3), (0, 0, 5)),
    "joint test, five criteria, 2 x 3": Neighbours((0, 0, 3), (0, 0, 1), (0, 1, 1)),
    "joint test, with missing values, 2 x 2": Neighbours((0, 0, 3), (0, 3, 3), (3, 3, 5)),
}
"""By the name of a sweep, one of the triples that move its figure furthest."""


@cache
def furthest() -> Mapping[str, Neighbours]:
    """Return `FURTHEST`, with a triple of the first world of each kind that has none there."""
    new = [found[0] for found in SWEEPS.values() if found and not any(sweep.name in FURTHEST for sweep in found)]
    return {**FURTHEST, **{sweep.name: searched(sweep) for sweep in new}}


def searched(sweep: Sweep) -> Neighbours:
    """Return a synthetic table of three records (more where a fit takes them), and two neighbours that move the figure
    furthest."""
    world, scorer = sweep.world, CodeFigures(sweep, sweep.world)
    codes = world.all_tables(max(3, sweep.attained))
    first, second = neighbour_pairs(world.dense(codes))
    privates, best, triple = [scorer.behind_the_door(table) for table in codes], -1.0, None
    for synthetic in codes:
        figures = scorer.figures(privates, synthetic)
        changes = np.abs(figures.steps[first] - figures.steps[second]) / figures.allowed_steps
        if (top := int(changes.argmax())) >= 0 and changes[top] > best:
            best, triple = float(changes[top]), Neighbours(synthetic, codes[first[top]], codes[second[top]])
    assert triple is not None
    return triple
