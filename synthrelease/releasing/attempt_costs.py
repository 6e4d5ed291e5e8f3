"""Estimate, from settings and public sizes alone, how much time and memory a run will need, and whether it can succeed.

The formulas of generators and criteria have constants that were measured on one machine (docs/appendix/benchmarks.md,
`tests.benchmarks.width`). Elsewhere, a run may need several times as much, or much less.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from synthrelease.criteria import explain
from synthrelease.criteria.scoring import NobodyPasses, unanswerable, uninformative
from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Layout
from synthrelease.errors import Problem, ResourceError, SpecError
from synthrelease.generators.base import Generator
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.space import least_bounds
from synthrelease.spec.tried import rows_tried

USUAL_ROWS = 100_000
"""Assumed number of rows of an unknown file."""

_ATTEMPT_BASE_MB = 200  # Megabytes of Python with the packages that every release loads

# Peak bytes per cell of a small table's layout, for 64-bit arrays of all marginals, the sampler and the matching.
_BYTES_PER_CELL = 90

# Bytes per distinct row and column, for the private, merged and synthetic table, their difference, and the released texts. A
# table without codes keeps its bins as packed bits, about this number of times at once (measured: 6.5).
_BYTES_PER_FIELD, _PACKED_TABLES = 10, 7

_BYTES_PER_ROW = 150  # Bytes per distinct row in addition to its columns: sort keys, counts, and the network of the matching

# Peak bytes per row while a stated number of rows is drawn: the sorted row numbers with their first positions.
_BYTES_PER_DRAWN_ROW = 50

_BYTES_PER_BIN = 3000  # Bytes per bin of a column: labels, documents and noisy counts as Python objects (measured: 2,800)

_SECONDS_PER_FIELD = 3e-7  # Seconds per distinct row and column: merging, drawing, filtering and matching


@dataclass(frozen=True, kw_only=True)
class AttemptCost:
    """The time and memory of the most expensive attempt with one generator family.

    Attributes
    ----------
    configurations : the number of configurations (combinations of hyperparameters) of the family.
    seconds : time on one core.
    megabytes : peak memory of the whole process.
    grows : a phrase that states with which sizes the cost grows.
    """

    family: str
    configurations: int
    seconds: float
    megabytes: int
    grows: str


def usual_rows(spec: ReleaseSpec) -> int:
    """Return the number of rows for a plan: of the public file of the rehearsal, in the configuration, or `USUAL_ROWS`."""
    return rows_tried(spec) or spec.rows.stated or USUAL_ROWS


def attempt_costs(spec: ReleaseSpec, rows: int | None = None) -> tuple[AttemptCost, ...]:
    """Return the cost of the most expensive attempt of each generator family, the slowest family first."""
    rows, layout = rows or usual_rows(spec), finest(spec)
    families: dict[str, list[Generator]] = {}
    for generator in spec.space.generators:
        families.setdefault(generator.family, []).append(generator)
    costs = [_of(family, generators, spec, layout, rows) for family, generators in families.items()]
    return tuple(sorted(costs, key=lambda cost: -cost.seconds))


def finest(spec: ReleaseSpec) -> Layout:
    """Return the columns and bins of the transformation with the largest number of cells."""
    return max((transformation.layout for transformation in spec.space.transformations), key=lambda layout: layout.n_cells)


def _of(family: str, generators: Iterable[Generator], spec: ReleaseSpec, layout: Layout, rows: int) -> AttemptCost:
    generators, distinct, columns = list(generators), min(rows, layout.n_cells), len(layout.sizes)
    seconds = max(generator.seconds(layout, rows) for generator in generators)
    seconds += _SECONDS_PER_FIELD * distinct * columns
    seconds += sum(explain(criterion).seconds(layout, distinct) for criterion in spec.criteria)
    dense = layout.n_cells * _BYTES_PER_CELL if layout.n_cells <= DENSE_LIMIT else 0
    fields = columns * _BYTES_PER_FIELD if layout.has_codes else _PACKED_TABLES * sum(map(math.log2, layout.sizes)) / 8
    table = int(distinct * (fields + _BYTES_PER_ROW)) + (spec.rows.stated or 0) * _BYTES_PER_DRAWN_ROW
    bins = sum(layout.sizes) * _BYTES_PER_BIN
    fit = max(generator.megabytes(layout) for generator in generators)
    return AttemptCost(
        family=family,
        configurations=len(generators),
        seconds=seconds,
        megabytes=_ATTEMPT_BASE_MB + fit + (dense + table + bins) // 2**20,
        grows=max(generators, key=lambda generator: generator.seconds(layout, rows)).grows(layout),
    )


# The memory of a release, from public sizes alone.

_BASE_MB = 330  # Megabytes of Python with the packages that a release loads


def peak_megabytes(spec: ReleaseSpec, jobs: int = 1, rows: int | None = None) -> int:
    """Return the approximate peak memory of a release, over all processes (docs/appendix/benchmarks.md).

    Parameters
    ----------
    rows : the number of rows in the file; if None, the number from `usual_rows`.
    """
    attempt = max(cost.megabytes for cost in attempt_costs(spec, rows))
    return attempt if jobs == 1 else _BASE_MB + jobs * attempt


def check_memory(spec: ReleaseSpec, jobs: int = 1, rows: int | None = None) -> None:
    """Check that this machine has the estimated peak memory, if its memory is known.

    Raises
    ------
    ResourceError : if the run needs more memory than the machine has.
    """
    needed, available = peak_megabytes(spec, jobs, rows), machine_megabytes()
    if available is not None and needed > available:
        heaviest = max(attempt_costs(spec, rows), key=lambda cost: cost.megabytes)
        coarser = f" Use coarser bins of {finest(spec).largest()}, or another generator than {heaviest.family!r}."
        fewer = " Run fewer processes (--jobs)." if jobs > 1 else coarser
        raise ResourceError(
            f"Refused: the run needs about {needed:,} MB of memory, but this machine has only {available:,} MB. Nothing was "
            f"spent.{fewer}"
        )


def check_measured(before: int | None, after: int | None, jobs: int = 1) -> None:
    """Check that this machine has enough memory for a release, by the memory that a dry run used.

    A release needs the memory of this process and, for each worker process, the memory that the attempts added.

    Parameters
    ----------
    before, after : peak megabytes of this process before and after the attempts. If a number is unknown, nothing is
        checked.

    Raises
    ------
    ResourceError : if the release needs more memory than the machine has.
    """
    available = machine_megabytes()
    if before is None or after is None or available is None:
        return
    needed = after if jobs == 1 else after + jobs * max(after - before, _BASE_MB)
    if needed > available:
        fewer = " Run fewer processes (--jobs)." if jobs > 1 else " Use coarser bins, or other generators."
        raise ResourceError(
            f"Refused: in a trial on made-up rows, the run needed about {needed:,} MB of memory, but this machine has only "
            f"{available:,} MB. Nothing was spent.{fewer}"
        )


def megabytes_in_use() -> int | None:
    """Return the peak memory of this process so far, or None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (2**20 if sys.platform == "darwin" else 2**10)


def machine_megabytes() -> int | None:
    """Return the memory of this machine, or None if the system does not state it (Windows)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        return None


# Checks without data, from settings and the number of rows, whether any table can meet the criteria.


def doubts(spec: ReleaseSpec, rows: int) -> list[tuple[str, str]]:
    """Return the criteria that say little about the quality of a table of `rows` rows, each with the reason.

    A reason of the type `NobodyPasses` says that no table can meet the criterion.
    """
    n = spec.scored_rows(rows)
    least = least_bounds(spec, n)
    unanswered = [
        (criterion.name, text) for criterion in spec.setting.answered for text in unanswerable(criterion, least[criterion.name])
    ]
    return unanswered + [
        (criterion.name, text)
        for criterion in spec.criteria
        for text in uninformative(criterion, spec.joint_test, explain(criterion).least_sensitivity(n, spec.setting))
    ]


def check_possible(spec: ReleaseSpec, rows: int | None) -> None:
    """Raise a SpecError if no table with as many rows as the file could meet one of the criteria.

    Parameters
    ----------
    rows : number of rows in the file; if None, the number in the configuration or `usual_rows`.
    """
    n, source = rows or spec.rows.stated or usual_rows(spec), ""
    if rows is None and spec.rows.stated is None:
        known = "the number of rows of the public file" if rows_tried(spec) else "an assumption"
        source = f". {n:,} rows is {known}. State the number of rows of the private file with --rows"
    problems = [
        Problem(spec.path, f"criteria {name!r}", f"No table of {n:,} rows can meet the threshold: {text.rstrip('.')}{source}")
        for name, text in doubts(spec, n)
        if isinstance(text, NobodyPasses)
    ]
    if problems:
        raise SpecError(problems)
