"""From a release's noisy marginals to measurements.json (`published.measurements`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from synthrelease.data.schema import Transformation
from synthrelease.generators.measured_noise import cube_sd
from synthrelease.generators.measurements import NoisyMarginals, NoisySum
from synthrelease.privacy.grids import laplace_sd
from synthrelease.published.measurements import FORMAT as MEASUREMENTS_FORMAT
from synthrelease.published.measurements import MeasuredSumPart, MeasuredTablePart, MeasurementsPart


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation, released: Transformation) -> bytes:
    """The file.

    Parameters
    ----------
    transformation, released : the bins on which they were measured, and those of the released table.
    """
    bins = transformation, released
    tables = [
        MeasuredTablePart(
            **_bins_of(one.columns, measured, *bins),
            epsilon=str(one.cost) if one.kind.cost == "epsilon" else None,
            rho=str(one.cost) if one.kind.cost == "rho" else None,
            noise=one.kind.name,
            scale=one.noise.scale,
            variance=one.noise.variance,
            counts=one.values.tolist(),
        )
        for one in measured.tables
    ]
    sums = [
        MeasuredSumPart(
            **_bins_of(one.columns, measured, *bins),
            epsilon=str(one.epsilon),
            noise="discrete Laplace" if one.together == 1 else "one noise",
            scale=float(Fraction(one.sensitivity) / one.epsilon),
            variance=_variance(one),
            together=one.together if one.together > 1 else None,
            sum=one.text,
            steps=one.scores.tolist() if one.own is None else None,
            own_values=None if one.own is None else list(one.own.ends),
            value=one.value,
        )
        for one in measured.sums
    ]
    return MeasurementsPart(format=MEASUREMENTS_FORMAT, n_rows=measured.n, tables=tables, sums=sums or None).dumped()


def _variance(one: NoisySum) -> float:
    scale = Fraction(one.sensitivity) / one.epsilon
    return (laplace_sd(scale) if one.together == 1 else cube_sd(one.together, scale)) ** 2


def _bins_of(
    places: Sequence[int], measured: NoisyMarginals, transformation: Transformation, released: Transformation
) -> dict[str, Any]:
    """The columns of a table or of a sum, with their bins."""
    binnings = [(transformation.binnings[column], released.binnings[column]) for column in places]
    return {
        "columns": [measured.layout.columns[column] for column in places],
        "labels": [list(finer.labels) for finer, _ in binnings],
        "released": [finer.map_to(coarser).tolist() for finer, coarser in binnings],
    }
