"""Columns, bins and rules in release.json: made of the schema's, and as anybody uses them who has the released table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AliasChoices, Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.domain.schema import Binning, Column
from synthrelease.published.parts import Number, Part, number

Kind = Literal["integer", "real", "category"]
DatePart = Literal["year", "month", "day"] | None
MissingPolicy = Literal["drop", "error"]
OutsidePolicy = Literal["drop", "clip", "error"]


@dataclass(frozen=True, kw_only=True)
class PublishedColumn:
    """A column of the released table.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    ordered : whether neighbouring bins are one step apart.
    labels : the values that stand in the table, one per bin, in order.
    numbers : the number that stands for each bin in means and regressions, or None.
    lower, upper : each bin is [lower, upper), infinite where it is open; empty for categories.
    categories : for a category column, the categories that each bin holds.
    """

    name: str
    kind: str
    description: str
    unit: str
    ordered: bool
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ()


class BinPart(Part):
    """A bin: [from, below) for numbers, null where it is open; the categories that it holds otherwise."""

    label: str
    lower: Number | None = Field(default=None, validation_alias=AliasChoices("from", "lower"), serialization_alias="from")
    below: Number | None = None
    categories: list[str] | None = None
    number: Number | None = None

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        absent = {"categories"} if self.categories is None else {"from", "below"}
        absent |= {"number"} if self.number is None else set()
        return {name: value for name, value in dump(self).items() if name not in absent}

    @classmethod
    def all_of(cls, column: Column, binning: Binning) -> Iterator[BinPart]:
        """The bins of a binning; null edges are open."""
        for index, label in enumerate(binning.labels):
            value = binning.numbers[index]
            shown = None if value is None else number(value)
            if binning.lower:
                edges = [number(edge) if math.isfinite(edge) else None for edge in (binning.lower[index], binning.upper[index])]
                yield cls(label=label, lower=edges[0], below=edges[1], number=shown)
            else:
                inside = [atom for atom, into in zip(column.atoms.labels, binning.of_atom, strict=True) if into == index]
                yield cls(label=label, categories=inside, number=shown)

    @property
    def edges(self) -> tuple[float, float]:
        """[low, high), infinite where the bin is open."""
        return -math.inf if self.lower is None else float(self.lower), math.inf if self.below is None else float(self.below)

    def holds(self, other: BinPart) -> bool:
        """Whether all of another bin of the column lies in this one."""
        if self.categories is not None or other.categories is not None:
            return set(other.categories or ()) <= set(self.categories or ())
        return self.edges[0] <= other.edges[0] and other.edges[1] <= self.edges[1]


class ColumnPart(Part):
    """A column of data.csv.

    Attributes
    ----------
    source, part : the column of the private file, and the part of a date that was read.
    bounds : public bounds of the values behind the bins.
    missing, outside : what was done with a row whose value was missing or outside: "drop", "clip", or "error" (the file was
        refused).
    texts : for categories, the texts in the file that each stands for.
    """

    name: str
    kind: Kind
    description: str
    unit: str
    binning: str
    alternatives: list[str]
    ordered: bool
    source: str
    part: DatePart
    missing: MissingPolicy
    outside: OutsidePolicy
    texts: dict[str, list[str]] | None
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] | None
    bins: Annotated[list[BinPart], Field(min_length=1)]

    @classmethod
    def of(cls, column: Column, binning: Binning) -> ColumnPart:
        """A column of the released table with its bins."""
        return cls(
            name=column.name,
            kind=cast(Kind, column.kind),
            description=column.description,
            unit=column.unit,
            binning=binning.name,
            alternatives=list(column.alternatives),
            ordered=column.ordered,
            source=column.source,
            part=cast(DatePart, column.part),
            missing=cast(MissingPolicy, column.missing),
            outside=cast(OutsidePolicy, column.outside),
            texts=_texts(column) if column.kind == "category" else None,
            bounds=None if column.bounds is None else [number(bound) for bound in column.bounds],
            bins=list(BinPart.all_of(column, binning)),
        )

    def published(self) -> PublishedColumn:
        """The column as it stands in a loaded release."""
        has_edges = self.kind != "category"
        return PublishedColumn(
            name=self.name,
            kind=self.kind,
            description=self.description,
            unit=self.unit,
            ordered=self.ordered,
            labels=self.labels,
            numbers=tuple(None if one.number is None else float(one.number) for one in self.bins),
            lower=tuple(one.edges[0] for one in self.bins) if has_edges else (),
            upper=tuple(one.edges[1] for one in self.bins) if has_edges else (),
            categories=() if has_edges else tuple(tuple(one.categories or ()) for one in self.bins),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.bins)


def _texts(column: Column) -> dict[str, list[str]]:
    """Per category, the texts of the file that it stands for."""
    found: dict[str, list[str]] = {label: [] for label in column.atoms.labels}
    for text, index in column.values.items():
        found[column.atoms.labels[index]].append(text)
    return found


class RulePart(Part):
    """What must never occur, in private rows ("raw") or in released ones ("synthetic"), and why."""

    never: str
    applies_to: tuple[Literal["raw", "synthetic"], ...]
    why: str
