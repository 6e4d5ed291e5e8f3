"""What to hold a figure against, on public data: a perfect release, the projection alone, and independent columns.

A perfect release is another sample of the same population: one half of the public file is judged as if it were the release of
the other half. No threshold below that can be met, and of a criterion that independent columns meet nobody learns anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import RejectedRound
from synthrelease.generators.space import Configuration
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.baselines.independent import independent_columns
from synthrelease.rehearsal.judging import PublicJudge, merged
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """Figures of one criterion before noise; NaN where there is none.

    Attributes
    ----------
    perfect : of one half of the rows as the release of the other; the larger of two splits.
    projected : the same after the projection: what a minimum count alone costs. Infinite where it keeps nothing.
    independent : of rows whose columns are drawn one by one, each with its right shares.
    """

    perfect: float
    projected: float
    independent: float


@one_thread
def yardsticks(spec: ReleaseSpec, public: Counts, configuration: Configuration, seed: int) -> tuple[Yardstick, ...]:
    """For every criterion what to hold its figure against.

    Parameters
    ----------
    public : the public rows over atomic cells.
    """
    random = SeededEntropy(seed, 7).generator()
    splits = [halves(public, random) for _ in range(2)]
    perfect, projected = [], []
    for left, right in splits:
        judge, table = PublicJudge(spec, left, configuration), merged(right, configuration)
        perfect.append(judge.figures(table))
        try:
            projected.append(judge.figures(configuration.projection.project(table, random)))
        except RejectedRound:
            projected.append((math.inf,) * len(spec.criteria))
    alone = merged(independent_columns(public, random), configuration)
    independent = PublicJudge(spec, public, configuration).figures(alone)
    return tuple(
        Yardstick(perfect=_largest(half), projected=_largest(less), independent=alone)
        for half, less, alone in zip(zip(*perfect, strict=True), zip(*projected, strict=True), independent, strict=True)
    )


def halves(table: Counts, random: np.random.Generator) -> tuple[Counts, Counts]:
    """Two tables of the same size with different rows of one; of an odd number of rows one is left out."""
    size = table.total // 2
    taken = random.multivariate_hypergeometric(table.counts, 2 * size)
    left = random.multivariate_hypergeometric(taken, size)
    return table.with_counts(left), table.with_counts(taken - left)


def once_only(table: Counts) -> float:
    """The share of the rows whose cell occurs once."""
    return float((table.counts == 1).sum() / max(1, table.total))


def _largest(figures: Sequence[float]) -> float:
    return math.nan if any(math.isnan(figure) for figure in figures) else max(figures)
