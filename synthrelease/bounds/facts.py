"""Linear facts about the rows that a release worked with, as a program takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, kw_only=True)
class FactSource:
    """Where facts come from: one of them in words ("each bin of age is off by at most 731 rows"), and its criterion."""

    each: str
    criterion: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """Facts about the counts R (n_cells,) of the rows that a release worked with, and those of the released one.

    A cell is a combination of bins of some columns, or several such combinations that the query does not tell apart.

    Attributes
    ----------
    columns : names, in the order of the release.
    synthetic : (n_cells,) counts of the released table; R has as many rows.
    representative : (n_cells,) for each cell, one of its combinations of bins (the last column varying fastest).
    kept : (n_cells,) False where the plausibility rules keep no row of the file.
    low, high : (n_cells,) low <= R <= high; low_source, high_source are indices into `sources`.
    rows : (n_rows, n_cells) sparse, with rows . R <= row_limits; row_sources are indices into `sources`.
    """

    columns: tuple[str, ...]
    synthetic: np.ndarray
    representative: np.ndarray
    kept: np.ndarray
    low: np.ndarray
    high: np.ndarray
    low_source: np.ndarray
    high_source: np.ndarray
    rows: csr_array
    row_limits: np.ndarray
    row_sources: np.ndarray
    sources: tuple[FactSource, ...]
