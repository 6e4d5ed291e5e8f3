"""The facts file as validated models: columns, published tables and means, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from synthrelease.data.texts import is_executable
from synthrelease.errors import Unexpected
from synthrelease.settings.base import SpecTable
from synthrelease.settings.reading import shown
from synthrelease.simulation.bands import MAX_BANDS, Units

MAX_COLUMNS = 40


def _rows(value: Any) -> Any:
    """One message instead of one for each value and each type that it could have had."""
    if isinstance(value, list) and all(isinstance(row, list) and all(_is_entry(entry) for entry in row) for row in value):
        return value
    raise Unexpected("a list of rows such as [['18-19', 12.5], ['20-24', 40.1]]")


def _labels(value: Any) -> Any:
    if isinstance(value, list) and all(_is_entry(label) for label in value):
        return [str(label) for label in value]
    raise Unexpected("a list of bands such as ['<18', '18-19']")


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_harmless(text: str) -> None:
    """Categories and names stand in a CSV file that somebody opens."""
    if is_executable(text):
        raise Unexpected("texts that no spreadsheet takes for a formula (= + - @ start one)", repr(text))


def _is_entry(value: Any) -> bool:
    return isinstance(value, str | int | float | Decimal) and not isinstance(value, bool)


class FactColumn(SpecTable):
    """[columns.NAME]: a column of the surrogate, and the values it can have."""

    kind: Literal["integer", "real", "category", "date"]
    description: str = ""
    unit: str = ""
    bounds: tuple[float, float] | None = None
    decimals: int = Field(default=1, ge=0, le=6)
    categories: tuple[str, ...] | None = Field(default=None, min_length=1, max_length=MAX_BANDS)
    year: int | None = Field(default=None, ge=1, le=9999)
    day: int = Field(default=15, ge=1, le=28)
    within: Literal["uniform", "interpolated"] = "uniform"

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> FactColumn:
        needed, *others = _KEYS[self.kind]
        if getattr(self, needed) is None:
            raise Unexpected(f"{needed!r} for a column of kind {self.kind!r}", "none")
        for key in sorted({key for keys in _KEYS.values() for key in keys} - {needed, *others}):
            if key in self.model_fields_set:
                raise Unexpected(f"no {key!r} for a column of kind {self.kind!r}", shown(getattr(self, key)))
        return self

    @field_validator("categories")
    @classmethod
    def _different(cls, categories: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if categories and (len(set(categories)) < len(categories) or not all(map(str.strip, categories))):
            raise Unexpected("different texts, none of them empty")
        for category in categories or ():
            _check_harmless(category)
        return categories

    def units(self) -> Units:
        """The values as whole numbers. Raises Unexpected when the bounds cannot be used."""
        if self.categories:
            return Units(kind=self.kind, first=0, stop=len(self.categories), categories=self.categories)
        if self.bounds is None:
            return Units(kind=self.kind, first=1, stop=13)
        return Units.between(self.kind, self.bounds, self.decimals if self.kind == "real" else 0)


_KEYS = {
    "integer": ("bounds", "within"),
    "real": ("bounds", "within", "decimals"),
    "category": ("categories",),
    "date": ("year", "day", "within"),
}
"""What a column of each kind needs, and then what it may also say."""


class FactTable(SpecTable):
    """What [tables.NAME] and [means.NAME] have in common."""

    of: str
    given: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    rows: Annotated[tuple[tuple[Any, ...], ...], BeforeValidator(_rows)] = Field(min_length=1)
    missing: Literal["error", "nearest", "average"] = "error"
    source: str | None = None
    note: str = ""


class ShareTable(FactTable):
    """[tables.NAME]: shares or counts of the bands of a column, for all rows or given other columns."""

    across: Annotated[tuple[str, ...] | None, BeforeValidator(_labels)] = Field(default=None, min_length=1)
    per: float | None = Field(default=None, gt=0)


class MeanTable(FactTable):
    """[means.NAME]: mean and standard deviation of a column of numbers, for all rows or given other columns."""


class FactsFile(SpecTable):
    """The whole file."""

    title: str = Field(min_length=1, max_length=300)
    description: str = ""
    tolerance: float = Field(default=0.01, gt=0, lt=1)
    sources: dict[str, str] = Field(min_length=1)
    columns: dict[str, FactColumn] = Field(min_length=1, max_length=MAX_COLUMNS)
    tables: dict[str, ShareTable] = Field(default_factory=dict)
    means: dict[str, MeanTable] = Field(default_factory=dict)

    @field_validator("columns")
    @classmethod
    def _harmless_names(cls, columns: dict[str, FactColumn]) -> dict[str, FactColumn]:
        for name in columns:
            _check_harmless(name)
        return columns

    def facts(self) -> Iterator[tuple[str, ShareTable | MeanTable]]:
        """All tables and means with their TOML paths."""
        yield from ((f"tables.{name}", table) for name, table in self.tables.items())
        yield from ((f"means.{name}", table) for name, table in self.means.items())
