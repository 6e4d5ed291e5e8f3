"""Measured tables in the form in which a release publishes them, and noise of their law once more."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synthrelease.generators.measured_noise import RoundedGaussian
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.published.measurements import PublishedMeasurement


def published_tables(measured: NoisyMarginals, names: Sequence[str]) -> tuple[PublishedMeasurement, ...]:
    return tuple(
        PublishedMeasurement(
            columns=tuple(names[column] for column in table.columns),
            values=table.values,
            cells=table.cells,
            cost=table.cost,
            law="rounded Gaussian" if table.kind is RoundedGaussian else "discrete Laplace",
        )
        for table in measured.tables
    )


def drawn_noise(table: PublishedMeasurement, random: np.random.Generator) -> np.ndarray:
    """Of each value of a published table: the sum of as many noises as it has cells."""
    if isinstance(table.noise, RoundedGaussian):
        drew = np.zeros(table.cells.shape, dtype=np.int64)
        for done in range(int(table.cells.max(initial=0))):
            more = np.rint(random.normal(0, table.noise.scale, table.cells.shape)).astype(np.int64)
            drew += np.where(table.cells > done, more, 0)
        return drew
    stop, noises = -math.expm1(-1 / table.noise.scale), np.maximum(table.cells, 1)
    drew = random.negative_binomial(noises, stop) - random.negative_binomial(noises, stop)
    return np.where(table.cells > 0, drew, 0)
