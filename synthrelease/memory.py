"""How much memory a release will need, from public sizes alone."""

from __future__ import annotations

from synthrelease.spec import ReleaseSpec
from synthrelease.table import DENSE_LIMIT

_BASE_MB = 330
"""Python with the packages that a release loads."""

_BYTES_PER_CELL = 90
"""Peak bytes per cell of an attempt's layout: a few 64-bit arrays of all marginals, the sampler and the matching."""


def peak_megabytes(spec: ReleaseSpec, jobs: int = 1) -> int:
    """An estimate of the peak memory of a release, all processes together. Measured in docs/benchmarks.md."""
    cells = max(transformation.layout.n_cells for transformation in spec.space.transformations)
    attempt = _BASE_MB + min(cells, DENSE_LIMIT) * _BYTES_PER_CELL // 2**20
    return attempt if jobs == 1 else _BASE_MB + jobs * attempt
