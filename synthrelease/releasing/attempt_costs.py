"""How long an attempt of each family of generators will take and how much memory, from public sizes alone.

The formulas stand on the classes; their constants were measured on one machine (docs/appendix/benchmarks.md,
`tests.benchmarks.width`). Another machine, other libraries and other data take several times as much or as
little: these are no promises.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Layout
from synthrelease.generators.base import Generator
from synthrelease.spec.release_spec import ReleaseSpec

USUAL_ROWS = 100_000
"""Of a file of which nothing is known."""

_BASE_MB = 200
"""Python with the packages that every release loads."""

_BYTES_PER_CELL = 90
"""Peak bytes per cell of a small table's layout: a few 64-bit arrays of all marginals, the sampler and the matching."""

_BYTES_PER_FIELD = 10
"""Of every distinct row and column: private, merged, synthetic, their difference, and the texts of the released files."""

_BYTES_PER_ROW = 150
"""Of every distinct row beside its columns: sorted words, counts, and the network of the matching."""

_BYTES_PER_DRAWN_ROW = 50
"""Peak bytes per row of a stated number while they are drawn: their numbers, sorted, and where each came first."""

_BYTES_PER_BIN = 3000
"""Of every bin of a column: its labels, documents and noisy counts, as Python's objects (measured: 2,800)."""

_SECONDS_PER_FIELD = 3e-7
"""Of every distinct row and column: merging, drawing, filtering and matching."""


@dataclass(frozen=True, kw_only=True)
class AttemptCost:
    """What an attempt of a family takes at most, in its largest configuration.

    Attributes
    ----------
    configurations : generators of the family with their hyperparameters.
    seconds : on one core.
    megabytes : of the whole process, at its peak.
    grows : what it grows with, in words.
    """

    family: str
    configurations: int
    seconds: float
    megabytes: int
    grows: str


def usual_rows(spec: ReleaseSpec) -> int:
    """The rows that costs are reckoned for: the stated number, or `USUAL_ROWS`."""
    return spec.rows.stated or USUAL_ROWS


def attempt_costs(spec: ReleaseSpec, rows: int | None = None) -> tuple[AttemptCost, ...]:
    """One for each family of the space, the slowest first, for a file of so many rows."""
    rows, layout = rows or usual_rows(spec), finest(spec)
    families: dict[str, list[Generator]] = {}
    for generator in spec.space.generators:
        families.setdefault(generator.family, []).append(generator)
    found = [_of(family, generators, spec, layout, rows) for family, generators in families.items()]
    return tuple(sorted(found, key=lambda cost: -cost.seconds))


def finest(spec: ReleaseSpec) -> Layout:
    """The layout of the transformation with the most cells."""
    return max((transformation.layout for transformation in spec.space.transformations), key=lambda each: each.n_cells)


def _of(family: str, generators: Iterable[Generator], spec: ReleaseSpec, layout: Layout, rows: int) -> AttemptCost:
    generators, distinct, columns = list(generators), min(rows, layout.n_cells), len(layout.sizes)
    seconds = max(generator.seconds(layout, rows) for generator in generators)
    seconds += _SECONDS_PER_FIELD * distinct * columns
    seconds += sum(criterion.seconds(layout, distinct) for criterion in spec.criteria)
    dense = layout.n_cells * _BYTES_PER_CELL if layout.n_cells <= DENSE_LIMIT else 0
    table = distinct * (columns * _BYTES_PER_FIELD + _BYTES_PER_ROW) + (spec.rows.stated or 0) * _BYTES_PER_DRAWN_ROW
    bins = sum(layout.sizes) * _BYTES_PER_BIN
    fit = max(generator.megabytes(layout) for generator in generators)
    return AttemptCost(
        family=family,
        configurations=len(generators),
        seconds=seconds,
        megabytes=_BASE_MB + fit + (dense + table + bins) // 2**20,
        grows=max(generators, key=lambda generator: generator.seconds(layout, rows)).grows(layout),
    )
