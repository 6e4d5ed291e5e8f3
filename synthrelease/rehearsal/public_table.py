"""PublicTable: the only table that non-private figures are computed on, and the statement that it is public.

Utility and risk figures compare synthetic rows with the exact original. On private data that would be a release without
noise, so the functions of this folder take a `PublicTable`, which nobody can build without saying why the data are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Transformation
from synthrelease.errors import closest, listing


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicTable:
    """A table that anybody may see, over the bins of one transformation.

    Attributes
    ----------
    counts : the rows. `PrivateCounts` are refused: there is no way from them to here.
    transformation : the binning of every column, which has the numbers of the bins.
    public_because : who says that the data are public, or why they are ("simulated, see public_data/README.md"). Whoever
        builds the table answers for it; the text stands in every report.

    Raises
    ------
    TypeError : when `counts` are not public counts.
    ValueError : without a reason, without rows, or when the bins are not those of the transformation.
    """

    counts: Counts
    transformation: Transformation
    public_because: str

    def __post_init__(self) -> None:
        _check_counts(self.counts, "the public table")
        if not isinstance(self.public_because, str) or not self.public_because.strip():
            raise ValueError("public_because: expected why these data are public, found nothing.")
        if self.counts.layout != self.transformation.layout:
            raise ValueError(_wrong_bins("the public table", self.transformation, self.counts))
        if not self.counts.total:
            raise ValueError("the public table: expected at least one row, found none.")

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.counts.total

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def indices(self, role: str, names: Iterable[str]) -> tuple[int, ...]:
        """Positions of columns. Raises ValueError when one is unknown or named twice; `role` is for the message."""
        names = tuple(names)
        for name in names:
            if name not in self.columns:
                meant = closest(name, self.columns)
                hint = f" Did you mean {meant!r}?" if meant else ""
                raise ValueError(f"{role}: expected columns of the table ({listing(self.columns)}), found {name!r}.{hint}")
        if len(set(names)) != len(names):
            raise ValueError(f"{role}: expected every column once, found {listing(names)}.")
        return tuple(self.columns.index(name) for name in names)

    def has_numbers(self, column: str) -> bool:
        """Whether a number stands for every bin of the column, that of missing values apart."""
        present = self.transformation.binning(column).present
        return bool(np.isfinite(self.transformation.numbers(column)[:present]).all())

    def numbers(self, role: str, column: str) -> np.ndarray:
        """(n_bins,) finite numbers of the bins of a column, NaN for missing values.

        Raises
        ------
        ValueError : when a bin of values has none.
        """
        if not self.has_numbers(column):
            raise ValueError(f"{role}: expected a column with a number for every bin, found {column!r}, which has none.")
        return self.transformation.numbers(column)

    def check_copies(self, copies: Sequence[Counts]) -> None:
        """Raise unless `copies` are one or more synthetic tables with rows over the same bins."""
        if not copies:
            raise ValueError("copies: expected at least one synthetic table, found none.")
        for position, copy in enumerate(copies, start=1):
            where = f"synthetic copy {position}"
            _check_counts(copy, where)
            if copy.layout != self.counts.layout:
                raise ValueError(_wrong_bins(where, self.transformation, copy))
            if not copy.total:
                raise ValueError(f"{where}: expected at least one row, found none.")


def _check_counts(counts: object, where: str) -> None:
    if not isinstance(counts, Counts):
        raise TypeError(
            f"{where}: expected the counts of a public table, found {type(counts).__name__}. These figures have no noise and "
            "are computed on public data only."
        )


def _wrong_bins(where: str, transformation: Transformation, found: Counts) -> str:
    return f"{where}: expected the bins of the public table ({_bins(transformation.layout)}), found {_bins(found.layout)}."


def _bins(layout: Layout) -> str:
    return ", ".join(f"{name}: {size} bins" for name, size in zip(layout.columns, layout.sizes, strict=True))
