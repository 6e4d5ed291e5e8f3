"""What can be wrong with the columns that a criterion names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from synthrelease.criteria.base import Setting
from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.schema import Binning, Schema
from synthrelease.errors import closest, listing
from synthrelease.settings.base import Mistake


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
        if any(number is None for number in binning.numbers[: binning.present]):
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


def grouping_mistakes(setting: Setting, field: str, names: Iterable[str]) -> Iterable[Mistake]:
    """What is wrong with columns to group by: unknown names, or [groups] whose bins an alternative straddles."""
    unknown = [*unknown_columns(setting.schema, field, names)]
    yield from unknown
    for name in () if unknown else names:
        if name in setting.groups:
            yield from not_inside(setting, field, name, setting.groups[name])


def condition(binning: Binning, coarser: Binning | None, labels: Collection[str]) -> np.ndarray:
    """(n_bins,) whether a bin meets a condition that names bins: those of `coarser` where it is given."""
    if coarser is None:
        return np.isin(binning.labels, list(labels))
    return np.isin(coarser.labels, list(labels))[binning.map_to(coarser)]


def condition_mistakes(setting: Setting, field: str, column: str, labels: Collection[str]) -> Iterable[Mistake]:
    """What is wrong with a condition on a column that names its bins: unknown ones, all or the missing one among them."""
    coarser, seen = setting.groups.get(column), set[str]()
    if coarser is not None:
        yield from not_inside(setting, field, column, coarser)
    for transformation in setting.transformations:
        binning = coarser or transformation.binning(column)
        if binning.name in seen:
            continue
        seen.add(binning.name)
        known = binning.labels[: binning.present]
        for label in labels:
            if label not in known:
                yield Mistake(
                    field=field,
                    expected=f"bins of values of {column!r} that every alternative has ({listing(known)} in {binning.name!r})",
                    found=repr(label),
                    suggestion=closest(label, known),
                )
                return
        if set(known) <= set(labels):
            yield Mistake(field=field, expected=f"some bins of {column!r}, not all", found=f"all of {binning.name!r}")
            return


def representation_mistakes(
    setting: Setting, columns: Iterable[str], representation: Mapping[str, str], numbered: Collection[str]
) -> Iterable[Mistake]:
    """What is wrong with the alternatives in which a regression takes its columns; those of `numbered` need numbers."""
    schema, columns = setting.schema, tuple(columns)
    for name in columns:
        known = schema[name].alternatives
        chosen = representation.get(name, "")
        if chosen not in known:
            yield Mistake(
                field=f"representation.{name}",
                expected=f"an alternative of {name!r} ({listing(known)})",
                found=repr(chosen) if chosen else "nothing",
                suggestion=closest(chosen, known),
            )
            continue
        if name in numbered and any(number is None for number in known[chosen].numbers[: known[chosen].present]):
            yield Mistake(field="features", expected=f"a number for every bin of {name!r}", found=f"none in {chosen!r}")
        yield from not_inside(setting, f"representation.{name}", name, known[chosen])
    cells = math.prod(len(schema[name].alternatives.get(representation.get(name, ""), ())) for name in columns)
    if cells > DENSE_LIMIT:
        yield Mistake(field="representation", expected=f"bins with at most {DENSE_LIMIT} combinations", found=f"{cells}")
    yield from unknown_columns(schema, "representation", representation)
