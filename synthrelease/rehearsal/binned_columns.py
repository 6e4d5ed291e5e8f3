"""The columns that a release would have, as questions are read over those of a release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from synthrelease.data.linked import Linked
from synthrelease.data.schema import PublishedColumn
from synthrelease.generators.space import Configuration


@dataclass(frozen=True, kw_only=True)
class BinnedColumns:
    """The columns that a release from a configuration would have.

    Attributes
    ----------
    schema : in the order of the table.
    linked : how they are those of roots and members; None where they are not.
    """

    schema: tuple[PublishedColumn, ...]
    linked: Linked | None = None

    @classmethod
    def of(cls, configuration: Configuration) -> BinnedColumns:
        """On the bins of a configuration."""
        transformation = configuration.transformation
        found = tuple(map(PublishedColumn.of, transformation.schema.columns, transformation.binnings))
        return cls(schema=found, linked=transformation.schema.linked)

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}
