"""The gaps of a released table that complete copies fill: how they are named in imputed.csv, and filled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.data.donors import Gaps
from synthrelease.parts.imputation.published import ImputationPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.table import ReleasedTable

HEAD = (".imp", ".id", ".imputed")


def missing_bins(columns: Sequence[ColumnPart]) -> tuple[int | None, ...]:
    """Per column, the index of its bin of missing values; None where it has none."""
    return tuple(next((place for place, one in enumerate(column.bins) if one.missing), None) for column in columns)


def gaps_of(part: ImputationPart, columns: Sequence[ColumnPart]) -> Gaps:
    """How gaps are filled, on the released bins."""
    names = [column.name for column in columns]
    return Gaps(
        missing=missing_bins(columns),
        match=tuple(names.index(name) for name in part.match),
        donors=part.donors,
        copies=part.copies,
        smallest=part.smallest,
    )


def flags_of_rows(table: ReleasedTable, open_: np.ndarray) -> list[str]:
    """Per row of data.csv, the names of the columns in which it has a gap, with a space between two.

    Parameters
    ----------
    open_ : (n_cells, n_columns) the gaps of the table (`gaps_of_cells`).
    """
    names = np.full(len(table.counts), "", dtype=object)
    for column, name in enumerate(table.names):
        names[open_[:, column]] += f" {name}"
    return [text.strip() for text in np.repeat(names, table.counts.counts).tolist()]
