"""Which columns get a bin of missing values: rows that are left out for a gap in any of many columns add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthrelease.drafting.column_draft import ColumnDraft
from synthrelease.drafting.rows import PublicRows

MOST_LEFT_OUT = 0.01
"""Share of the rows of the public file that may be left out for their gaps, in all columns together."""


def with_bins_for_gaps(columns: Sequence[ColumnDraft], rows: PublicRows) -> list[ColumnDraft]:
    """The columns, of which those with the most gaps get a bin of missing values until few enough rows are left out."""
    few = sorted((column for column in columns if column.missing_rows and not column.keeps_missing), key=_gaps)
    left_out, kept = np.zeros(rows.n_rows, dtype=bool), set[str]()
    for column in few:
        together = left_out | rows.without([column.source, *([column.minus] if column.minus else [])])
        if together.mean() > MOST_LEFT_OUT:
            kept.add(column.name)
        else:
            left_out = together
    return [replace(column, missing_bin=True) if column.name in kept else column for column in columns]


def _gaps(column: ColumnDraft) -> int:
    return column.missing_rows
