"""A few rows of the public file beside a few rows of a candidate, on the released bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.generators.space import Configuration

SHOWN = 4


@dataclass(frozen=True, kw_only=True)
class RowsBeside:
    """Rows by their labels, drawn with equal chances.

    Attributes
    ----------
    columns : their names.
    public, candidate : rows of the public file, and of one candidate; none without a candidate.
    """

    columns: tuple[str, ...]
    public: tuple[tuple[str, ...], ...]
    candidate: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls, original: Counts, candidate: Counts | None, configuration: Configuration, random: np.random.Generator
    ) -> RowsBeside:
        """From tables on the bins of the configuration."""
        labels = [binning.labels for binning in configuration.transformation.binnings]

        def drawn(table: Counts) -> tuple[tuple[str, ...], ...]:
            cells = random.choice(len(table), size=SHOWN, p=table.counts / table.total)
            return tuple(
                tuple(names[int(bins[cell])] for names, bins in zip(labels, table.bins, strict=True)) for cell in cells
            )

        return cls(
            columns=original.layout.columns, public=drawn(original), candidate=() if candidate is None else drawn(candidate)
        )
