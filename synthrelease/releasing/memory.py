"""How much memory a release will need, from public sizes alone."""

from __future__ import annotations

import os
import sys

from synthrelease.domain.counts import DENSE_LIMIT
from synthrelease.errors import ResourceError
from synthrelease.specification.release_spec import ReleaseSpec

_BASE_MB = 330
"""Python with the packages that a release loads."""

_BYTES_PER_CELL = 90
"""Peak bytes per cell of an attempt's layout: a few 64-bit arrays of all marginals, the sampler and the matching."""


_BYTES_PER_DRAWN_ROW = 50
"""Peak bytes per row of a stated number while they are drawn: their numbers, sorted, and where each came first."""


def peak_megabytes(spec: ReleaseSpec, jobs: int = 1) -> int:
    """An estimate of the peak memory of a release, all processes together. Measured in docs/benchmarks.md."""
    layout = max((transformation.layout for transformation in spec.space.transformations), key=lambda each: each.n_cells)
    fits = max(generator.megabytes(layout) for generator in spec.space.generators)
    attempt = _BASE_MB + fits + min(layout.n_cells, DENSE_LIMIT) * _BYTES_PER_CELL // 2**20
    attempt += (spec.rows.stated or 0) * _BYTES_PER_DRAWN_ROW // 2**20
    return attempt if jobs == 1 else _BASE_MB + jobs * attempt


def check_memory(spec: ReleaseSpec, jobs: int = 1) -> None:
    """Raises ResourceError when the estimate is more than the memory of this machine; where that is unknown, never."""
    needed, there = peak_megabytes(spec, jobs), machine_megabytes()
    if there is not None and needed > there:
        fewer = " Run fewer processes (--jobs)." if jobs > 1 else " Use coarser bins, or other generators."
        raise ResourceError(
            f"Refused: expected a run that fits into the memory of this machine, {there} MB; found one that needs about "
            f"{needed} MB. Nothing was spent.{fewer}"
        )


def check_measured(before: int | None, after: int | None, jobs: int = 1) -> None:
    """The same for what a dry run took: what the process holds with its libraries, and the growth of an attempt per process.

    Parameters
    ----------
    before, after : the peak of this process; None where the system does not say.
    """
    there = machine_megabytes()
    if before is None or after is None or there is None:
        return
    needed = after if jobs == 1 else after + jobs * max(after - before, _BASE_MB)
    if needed > there:
        fewer = " Run fewer processes (--jobs)." if jobs > 1 else " Use coarser bins, or other generators."
        raise ResourceError(
            f"Refused: a dry run on made-up rows shows that the run needs about {needed} MB, and this machine has {there} MB. "
            f"Nothing was spent.{fewer}"
        )


def megabytes_in_use() -> int | None:
    """The most memory that this process has held so far; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (2**20 if sys.platform == "darwin" else 2**10)


def machine_megabytes() -> int | None:
    """The memory of this machine; None where the system does not say (Windows)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        return None
