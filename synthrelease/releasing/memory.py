"""How much memory a release will need, from public sizes alone."""

from __future__ import annotations

import os
import sys

from synthrelease.errors import ResourceError
from synthrelease.releasing.attempt_costs import attempt_costs, finest
from synthrelease.spec.release_spec import ReleaseSpec

_BASE_MB = 330
"""Python with the packages that a release loads."""


def peak_megabytes(spec: ReleaseSpec, jobs: int = 1, rows: int | None = None) -> int:
    """The peak memory of a release, about, all processes together. Measured in docs/appendix/benchmarks.md.

    Parameters
    ----------
    rows : of the file; the stated number, or 100,000, where nothing is known.
    """
    attempt = max(cost.megabytes for cost in attempt_costs(spec, rows))
    return attempt if jobs == 1 else _BASE_MB + jobs * attempt


def check_memory(spec: ReleaseSpec, jobs: int = 1, rows: int | None = None) -> None:
    """Raises ResourceError when that is more than the memory of this machine; where that is unknown, never."""
    needed, there = peak_megabytes(spec, jobs, rows), machine_megabytes()
    if there is not None and needed > there:
        heaviest = max(attempt_costs(spec, rows), key=lambda cost: cost.megabytes)
        coarser = f" Use coarser bins, first of {finest(spec).largest()}, or other generators than {heaviest.family!r}."
        fewer = " Run fewer processes (--jobs)." if jobs > 1 else coarser
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
