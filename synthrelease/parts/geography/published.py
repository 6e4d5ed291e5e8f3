"""The levels of areas of a release in release.json."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from synthrelease.privacy.charges import Way
from synthrelease.published.base import Fact, Part


class LevelPart(Part):
    """One level.

    Attributes
    ----------
    column : of the table, with the area of each row.
    areas : how many the column can have.
    """

    column: str
    areas: Annotated[int, Field(ge=1)]


class GeographyPart(Part):
    """Areas that lie within one another: each smallest area in one area of every level above.

    Attributes
    ----------
    levels : from the largest areas to the smallest.
    """

    follows: ClassVar[str] = "rules"

    levels: Annotated[list[LevelPart], Field(min_length=2)]

    @model_validator(mode="after")
    def _different(self) -> GeographyPart:
        if len({level.column for level in self.levels}) < len(self.levels):
            raise ValueError("expected a column of its own for each level")
        return self

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """An area lies in one area of the level above."""
        return tuple((above.column, (level.column,)) for above, level in pairwise(self.levels))

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Which area lies in which stands in the specification."""
        return (("specification", "geography"),)


PUBLISHED = GeographyPart
