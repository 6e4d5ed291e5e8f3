"""Define how release.json describes columns, bins and plausibility rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.data.dates import ISO
from synthrelease.data.schema import Binning, Column, PublishedColumn
from synthrelease.published.base import Number, Part, number

Kind = Literal["integer", "real", "category"]
DatePart = Literal["year", "quarter", "month", "week", "day", "weekday"] | None
MissingPolicy = Literal["drop", "bin", "error"]
OutsidePolicy = Literal["drop", "clip", "bin", "error"]


class BinPart(Part):
    """A bin of a column: an interval [from, below) of numbers, a list of categories, or the bin of missing values. An open
    end is null.

    Attributes
    ----------
    missing : true for the bin of missing values, which has no edges, no categories and no number.
    """

    label: str
    lower: Number | None = Field(default=None, validation_alias=AliasChoices("from", "lower"), serialization_alias="from")
    below: Number | None = None
    categories: list[str] | None = None
    number: Number | None = None
    missing: Literal[True] | None = None

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        absent = {"categories"} if self.categories is None else {"from", "below"}
        absent |= {"missing"} if self.missing is None else {"categories", "from", "below"}
        absent |= {"number"} if self.number is None else set()
        return {name: value for name, value in dump(self).items() if name not in absent}

    @classmethod
    def all_of(cls, column: Column, binning: Binning) -> Iterator[BinPart]:
        inside: list[list[str]] = [[] for _ in binning.labels]
        for atom, into in zip(column.atoms.labels, binning.of_atom, strict=True):
            inside[into].append(atom)
        for index, label in enumerate(binning.labels):
            value = binning.numbers[index]
            rounded = None if value is None else number(value)
            if index == binning.missing:
                yield cls(label=label, missing=True)
            elif binning.lower:
                edges = [number(edge) if math.isfinite(edge) else None for edge in (binning.lower[index], binning.upper[index])]
                yield cls(label=label, lower=edges[0], below=edges[1], number=rounded)
            else:
                yield cls(label=label, categories=inside[index], number=rounded)

    @property
    def edges(self) -> tuple[float, float]:
        return -math.inf if self.lower is None else float(self.lower), math.inf if self.below is None else float(self.below)

    def holds(self, inner: BinPart) -> bool:
        """Return whether all values of another bin of the same column belong to this bin."""
        if self.missing or inner.missing:
            return self.missing == inner.missing
        if self.categories is not None or inner.categories is not None:
            return set(inner.categories or ()) <= set(self.categories or ())
        return self.edges[0] <= inner.edges[0] and inner.edges[1] <= self.edges[1]


class ColumnPart(Part):
    """The description of a column of data.csv: how it is read from the private file, and its released bins.

    Attributes
    ----------
    source, part : the name of the column in the private file and, for a date, the component that was read, such as "year".
    bounds, bounds_by : the public bounds of the column's values, and the stated source of these bounds.
    missing, outside : how a row is treated if its value is missing or outside the bounds. "drop" excludes the row, "clip"
        moves the value to the nearest bound, "error" refuses the file, and "bin" gives missing values or unlisted strings
        their own bin.
    outside_label : the label of the category for unlisted strings, or empty if the column has no such category.
    characters : the number of first characters of a string that are looked up in `texts`, or null for the whole string.
    minus : for a number of days between two dates, the column with the date that is subtracted. If `part` is "year", the
        value is the number of completed years instead.
    date_format, minus_format : the format of the dates, if not yyyy-mm-dd, and of the dates in `minus`, if different.
    missing_values : strings that mean a missing value in this column, in addition to the strings for the whole file.
    texts : for each category, the strings in the file that mean this category.
    step : step of the grid to which the exact values of rows were rounded, or absent if no criterion uses exact values.
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
    missing_values: list[str] = []
    minus: str | None = None
    date_format: str = ISO
    minus_format: str = ""
    outside_label: str = ""
    characters: Annotated[int, Field(ge=1)] | None = None
    step: Annotated[Number, Field(gt=0)] | None = None
    bounds_by: str = ""

    @classmethod
    def of(cls, column: Column, binning: Binning) -> ColumnPart:
        return cls.like(
            column,
            binning=binning.name,
            alternatives=list(column.alternatives),
            texts=_texts(column) if column.kind == "category" else None,
            bounds=None if column.bounds is None else [number(bound) for bound in column.bounds],
            bins=list(BinPart.all_of(column, binning)),
            date_format=ISO if column.dates is None else column.dates.text,
            minus_format="" if column.minus_dates in (None, column.dates) else column.minus_dates.text,
            step=None if column.step is None else number(column.step),
        )

    @property
    def limits(self) -> tuple[float, float] | None:
        return None if self.bounds is None else (float(self.bounds[0]), float(self.bounds[1]))

    def published(self) -> PublishedColumn:
        has_edges = self.kind != "category"
        edges = [bin_.edges for bin_ in self.bins if not bin_.missing] if has_edges else []
        return self.value_of(
            PublishedColumn,
            labels=self.labels,
            numbers=tuple(None if bin_.number is None else float(bin_.number) for bin_ in self.bins),
            lower=tuple(low for low, _ in edges),
            upper=tuple(high for _, high in edges),
            categories=() if has_edges else tuple(tuple(bin_.categories or ()) for bin_ in self.bins),
            missing=next((index for index, bin_ in enumerate(self.bins) if bin_.missing), None),
            bounds=self.limits,
            clipped=self.outside == "clip",
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(bin_.label for bin_ in self.bins)


def _texts(column: Column) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {label: [] for label in column.atoms.labels[: column.atoms.present]}
    for text, index in column.values.items():
        texts[column.atoms.labels[index]].append(text)
    return texts


class RulePart(Part):
    """A plausibility rule: a combination that must never occur (`never`) in private rows ("raw"), released rows
    ("synthetic") or both, and the reason.
    """

    never: str
    applies_to: tuple[Literal["raw", "synthetic"], ...]
    why: str
