"""measurements.json: the noisy marginals behind the released table, for researchers who would rather model them themselves.

    {"format": 1, "n_rows": n, "tables": [{"columns": [...], "labels": [[...], ...], "epsilon": "1/8",
      "noise": "discrete Laplace", "scale": 16.0, "variance": 511.8, "counts": [[...], ...]}]}

`counts` is nested, one level per column in the order of `columns`; each is the exact count plus independent noise z with
Pr[z] proportional to exp(-|z| / scale), so it may be negative. The number of rows, n, is exact. The measurements are paid for
in the charge "generation" of release.json: looking at them costs nothing more.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from synthrelease.candidates.generators import NoisyMarginals
from synthrelease.domain.schema import Transformation
from synthrelease.randomness import laplace_sd

NAME = "measurements.json"
FORMAT = 1


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation) -> bytes:
    """The file.

    Parameters
    ----------
    transformation : the bins on which they were measured.
    """
    tables: list[dict[str, Any]] = []
    for table in measured.tables:
        scale = Fraction(2) / table.epsilon
        tables.append(
            {
                "columns": [measured.layout.columns[column] for column in table.columns],
                "labels": [list(transformation.binnings[column].labels) for column in table.columns],
                "epsilon": str(table.epsilon),
                "noise": "discrete Laplace",
                "scale": float(scale),
                "variance": laplace_sd(scale) ** 2,
                "counts": table.values.tolist(),
            }
        )
    document = {"format": FORMAT, "n_rows": measured.n, "tables": tables}
    return (json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
