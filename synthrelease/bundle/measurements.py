"""From a release's noisy marginals to measurements.json (`published.measurements`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from synthrelease.domain.schema import Transformation
from synthrelease.measurements.cube_law import cube_sd
from synthrelease.measurements.noisy_tables import NoisyMarginal, NoisyMarginals, NoisySum
from synthrelease.noise_grids import laplace_sd
from synthrelease.published.measurements import FORMAT, NAME, MeasuredSumPart, MeasuredTablePart, MeasurementsPart

__all__ = ["NAME", "measurements_bytes"]


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation, released: Transformation) -> bytes:
    """The file.

    Parameters
    ----------
    transformation, released : the bins on which they were measured, and those of the released table.
    """
    bins = transformation, released
    tables = [
        MeasuredTablePart(**_described(one, 2, 1, measured, *bins), counts=one.values.tolist()) for one in measured.tables
    ]
    sums = [
        MeasuredSumPart(
            **_described(one, one.sensitivity, one.together, measured, *bins),
            together=one.together if one.together > 1 else None,
            sum=one.text,
            steps=one.scores.tolist() if one.own is None else None,
            own_values=None if one.own is None else list(one.own.ends),
            value=one.value,
        )
        for one in measured.sums
    ]
    return MeasurementsPart(format=FORMAT, n_rows=measured.n, tables=tables, sums=sums or None).dumped()


def _described(
    one: NoisyMarginal | NoisySum,
    sensitivity: int,
    together: int,
    measured: NoisyMarginals,
    transformation: Transformation,
    released: Transformation,
) -> dict[str, Any]:
    """What is said of a table and of a sum alike: its columns with their bins, and the law of its noise."""
    scale = Fraction(sensitivity) / one.epsilon
    binnings = [(transformation.binnings[column], released.binnings[column]) for column in one.columns]
    return {
        "columns": [measured.layout.columns[column] for column in one.columns],
        "labels": [list(finer.labels) for finer, _ in binnings],
        "released": [finer.map_to(coarser).tolist() for finer, coarser in binnings],
        "epsilon": str(one.epsilon),
        "noise": "discrete Laplace" if together == 1 else "one noise",
        "scale": float(scale),
        "variance": (laplace_sd(scale) if together == 1 else cube_sd(together, scale)) ** 2,
    }
