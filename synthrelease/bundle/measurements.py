"""From a release's noisy marginals to measurements.json (`published.measurements`)."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.candidates.generators import NoisyMarginals
from synthrelease.candidates.generators.measurements import NoisySum
from synthrelease.domain.schema import Transformation
from synthrelease.published.measurements import FORMAT, NAME, MeasuredSumPart, MeasuredTablePart, MeasurementsPart
from synthrelease.randomness import laplace_sd

__all__ = ["NAME", "measurements_bytes"]


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation, released: Transformation) -> bytes:
    """The file.

    Parameters
    ----------
    transformation, released : the bins on which they were measured, and those of the released table.
    """
    tables = []
    for table in measured.tables:
        scale = Fraction(2) / table.epsilon
        binnings = [(transformation.binnings[column], released.binnings[column]) for column in table.columns]
        tables.append(
            MeasuredTablePart(
                columns=[measured.layout.columns[column] for column in table.columns],
                labels=[list(finer.labels) for finer, _ in binnings],
                released=[finer.map_to(coarser).tolist() for finer, coarser in binnings],
                epsilon=str(table.epsilon),
                noise="discrete Laplace",
                scale=float(scale),
                variance=laplace_sd(scale) ** 2,
                counts=table.values.tolist(),
            )
        )
    sums = [_sum_part(one, measured, transformation, released) for one in measured.sums]
    return MeasurementsPart(format=FORMAT, n_rows=measured.n, tables=tables, sums=sums or None).dumped()


def _sum_part(
    one: NoisySum, measured: NoisyMarginals, transformation: Transformation, released: Transformation
) -> MeasuredSumPart:
    scale = Fraction(one.sensitivity) / one.epsilon
    binnings = [(transformation.binnings[column], released.binnings[column]) for column in one.columns]
    return MeasuredSumPart(
        sum=one.text,
        columns=[measured.layout.columns[column] for column in one.columns],
        labels=[list(finer.labels) for finer, _ in binnings],
        released=[finer.map_to(coarser).tolist() for finer, coarser in binnings],
        epsilon=str(one.epsilon),
        noise="discrete Laplace",
        scale=float(scale),
        variance=laplace_sd(scale) ** 2,
        steps=one.scores.tolist(),
        value=one.value,
    )
