"""A column of a released table, on the released bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.domain.schema import Binning, Column
from synthrelease.domain.value_grid import value_limits


@dataclass(frozen=True, kw_only=True)
class PublishedColumn:
    """A column of a released table: what a reader has of it, and all that a criterion's words, sensitivity and bounds rest on.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    ordered : whether neighbouring bins are one step apart.
    binning : the name of the alternative that was released.
    labels : the values that stand in the table, one per bin, in order.
    numbers : the number that stands for each bin in means and regressions, or None.
    lower, upper : each bin is [lower, upper), infinite where it is open; without the missing bin; empty for categories.
    categories : for a category column, the categories that each bin holds: none in the missing bin.
    missing : the index of the bin of missing values, the last one; None where the column has none.
    bounds : public bounds of the values behind the bins of a numeric column.
    step : of the grid on which own values of rows were counted; None where no criterion computed with them.
    clipped : whether values beyond the bounds were counted as the nearest bound.
    """

    name: str
    kind: str
    description: str
    unit: str
    ordered: bool
    binning: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ()
    missing: int | None = None
    bounds: tuple[float, float] | None = None
    step: float | None = None
    clipped: bool = False

    @classmethod
    def of(cls, column: Column, binning: Binning) -> PublishedColumn:
        """A column of the schema, were it released on these bins."""
        held: list[list[str]] = [[] for _ in binning.labels]
        for atom, into in zip(column.atoms.labels, binning.of_atom, strict=True):
            held[into] += [] if into == binning.missing else [atom]
        return cls(
            name=column.name,
            kind=column.kind,
            description=column.description,
            unit=column.unit,
            ordered=column.ordered,
            binning=binning.name,
            labels=binning.labels,
            numbers=binning.numbers,
            lower=binning.lower,
            upper=binning.upper,
            categories=tuple(map(tuple, held)) if column.kind == "category" else (),
            missing=binning.missing,
            bounds=column.bounds,
            step=column.step,
            clipped=column.outside == "clip",
        )

    @property
    def present(self) -> int:
        """Number of bins that hold values: all but the missing bin."""
        return len(self.labels) - (self.missing is not None)

    @property
    def value_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """(n_present,) the lowest and the highest value that a row of each bin can have; of categories their numbers."""
        return value_limits(self.kind, self.numbers[: self.present], self.lower, self.upper, self.bounds)
