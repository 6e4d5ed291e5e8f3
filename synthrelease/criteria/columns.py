"""What can be wrong with the columns that a criterion names."""

from __future__ import annotations

from collections.abc import Iterable

from synthrelease.criteria.base import Setting
from synthrelease.domain.schema import Binning, Schema
from synthrelease.errors import closest, listing
from synthrelease.toml.tables import Mistake


def unknown_columns(schema: Schema, field: str, names: Iterable[str]) -> Iterable[Mistake]:
    """A mistake for every name that is not a column."""
    for name in names:
        if name not in schema.by_name:
            yield Mistake(
                field=field,
                expected=f"a column ({listing(schema.names)})",
                found=repr(name),
                suggestion=closest(name, schema.names),
            )


def unnumbered(setting: Setting, field: str, column: str) -> Iterable[Mistake]:
    """A mistake when some binning of a column has bins without a number."""
    for transformation in setting.transformations:
        binning = transformation.binning(column)
        if any(number is None for number in binning.numbers):
            yield Mistake(
                field=field,
                expected=f"a number for every bin of {column!r} (give the column's categories `numbers`)",
                found=f"bins without a number in {binning.name!r}",
            )
            return


def not_inside(setting: Setting, field: str, column: str, coarser: Binning) -> Iterable[Mistake]:
    """A mistake for every binning that a configuration may use with a bin that straddles two coarser bins."""
    seen: set[str] = set()
    for transformation in setting.transformations:
        binning = transformation.binning(column)
        if binning.name not in seen and not binning.refines(coarser):
            yield Mistake(
                field=field,
                expected=f"bins of {column!r} into which every bin of every alternative fits",
                found=f"alternative {binning.name!r} with a bin that straddles two of {listing(coarser.labels)}",
            )
        seen.add(binning.name)
