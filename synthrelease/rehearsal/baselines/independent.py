"""Each column drawn by itself, with exactly the file's shares: what no method may be worse than."""

from __future__ import annotations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.baselines.base import NO_GUARANTEE, Baseline, ComparedFile, MadeTables


class IndependentColumns(Baseline):
    """A criterion that these tables meet says nothing about how columns hang together."""

    sentence = "draw each column by itself, with the file's own shares"

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        copies = [independent_columns(file.table, file.generator(5, number)) for number in range(file.copies)]
        notes = ("every column is exact by itself",)
        return [MadeTables(name="independent columns", guarantee=NO_GUARANTEE, copies=copies, notes=notes)]


def independent_columns(table: Counts, random: np.random.Generator) -> Counts:
    """A table of the same size in which each column has exactly the rows of its bins, in an order of its own."""
    return Counts.of(table.layout, [random.permutation(table.rows(column)) for column in range(len(table.layout.sizes))])
