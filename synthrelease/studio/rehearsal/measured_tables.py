"""List the noisy tables that a plan measures and the questions of readers, from the configuration and the acceptance file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.errors import so_many
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.measured_noise import CountNoise, Noises, half_width
from synthrelease.spec.release_spec import ReleaseSpec

LEVEL = 0.95
"""Confidence of a margin of error."""


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """A table that the plan measures whatever the data are. Each cell is counted with noise.

    Attributes
    ----------
    columns : the columns of the table.
    sizes : the number of bins of each column.
    noise : the noise of each cell.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    noise: CountNoise

    def off(self, cells: int) -> float:
        """Return the 95% margin of error, in rows, of the sum of `cells` cells."""
        noises = Noises(laws=(self.noise,), law=np.zeros(1, dtype=np.int64), count=np.array([cells]))
        return half_width(noises, np.ones(1), 0.0, LEVEL)


def measured_tables(spec: ReleaseSpec) -> tuple[MeasuredTable, ...]:
    """Return the tables that the first generator measures, or an empty tuple if it chooses its tables itself."""
    generator = spec.space.generators[0]
    if not isinstance(generator, MeasuringGenerator):
        return ()
    layout = spec.space.common.layout if spec.shared_measurements else spec.space[0].transformation.layout
    return tuple(
        MeasuredTable(
            columns=tuple(layout.columns[axis] for axis in axes),
            sizes=tuple(layout.sizes[axis] for axis in axes),
            noise=generator.noise.of_table(cost),
        )
        for axes, cost in generator.measured_tables(layout, generator.part(spec.generation_charge)).items()
    )


def askable_in_words(spec: ReleaseSpec) -> str:
    """Say which questions readers can ask of the published noisy tables."""
    tables, generator = measured_tables(spec), spec.space.generators[0]
    if not spec.publish_measurements:
        other_family = f"choose a generator that measures tables, such as marginals ({generator.family} does not)"
        way = "set [selection] publish_measurements = true" if tables else other_family
        if getattr(generator, "pairs", None):
            way = 'remove pairs = "agreements" and set [selection] publish_measurements = true'
        divided = spec.options.partition is not None or spec.options.split is not None
        advice = "" if divided else f" To publish ask.html and to make the command estimate work, {way}."
        return f"Readers get rows, but no intervals for their answers, because no noisy table is published.{advice}"
    n_columns, largest = len(spec.schema.names), max(len(table.columns) for table in tables)
    columns = [sorted(table.columns) for table in tables]
    held = [{names for names_of in columns for names in combinations(names_of, size)} for size in range(1, min(largest, 3) + 1)]
    parts = [f"{len(held[0])} of {n_columns} single columns"]
    parts += [f"{len(held[1]):,} of {math.comb(n_columns, 2):,} pairs"] if largest > 1 else []
    parts += [so_many(len(held[2]), "group of three columns", "groups of three columns")] if largest > 2 else []
    asked = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    named = len(spec.models.models) if spec.models else 0
    on_purpose = f", and {so_many(named, 'named question', 'named questions')}" if named else ""
    return (
        f"Readers can ask for shares, numbers of rows, means and quantiles of {asked}{on_purpose}. Each answer has an "
        "interval, in ask.html (no program needed) or with the command estimate."
    )
