"""The columns with numbers of marks in release.json."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from synthrelease.privacy.charges import Way
from synthrelease.published.base import Fact, Part


class NumberPart(Part):
    """One group.

    Attributes
    ----------
    column : of the table, with the number of marks in each row.
    marks : of each column that it counts, the released categories that are a mark.
    """

    column: str
    marks: Annotated[dict[str, list[str]], Field(min_length=2)]


class MarksPart(Part):
    """Columns of the table that no private file has, as each follows from others in the same row.

    Attributes
    ----------
    groups : one for each such column.
    """

    follows: ClassVar[str] = "rules"

    groups: Annotated[list[NumberPart], Field(min_length=1)]

    @model_validator(mode="after")
    def _different(self) -> MarksPart:
        if len({group.column for group in self.groups}) < len(self.groups):
            raise ValueError("expected a column of its own for each group")
        return self

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """A number of marks follows from the columns that it counts."""
        return tuple((group.column, tuple(group.marks)) for group in self.groups)

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Which categories are a mark stands in the specification."""
        return (("specification", "marks"),)


PUBLISHED = MarksPart
