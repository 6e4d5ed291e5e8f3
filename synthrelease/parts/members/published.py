"""The members of a release in release.json: how they stand in the record of their root, and in which file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from synthrelease.data.linked import Linked, slot_name
from synthrelease.privacy.charges import Way
from synthrelease.published.base import Fact, Part

Natural = Annotated[int, Field(ge=0)]


class MembersPart(Part):
    """Members, in a file of their own with the key of their root.

    Attributes
    ----------
    key : the first column of both files: the number of a root, from 1, which is in no other file.
    size : the column of the table with the number of members of a root.
    most, least : members of a root. Where `more` is "first", `most` stands for `most` or more.
    more : what happened to members above so many: "first" kept the first ones, "drop" left out their root.
    order, reference : by which columns of the file the first members were told.
    columns : of a member. In `schema` the column of the first member is NAME_1, that of the second NAME_2, and so on.
    whole : those in which every member has a value.
    """

    follows: ClassVar[str] = "rules"

    key: str
    size: str
    most: Annotated[int, Field(ge=1, le=50)]
    least: Natural
    more: Literal["first", "drop"]
    order: list[str]
    reference: dict[str, str]
    columns: Annotated[list[str], Field(min_length=1)]
    whole: list[str]

    @model_validator(mode="after")
    def _of_its_columns(self) -> MembersPart:
        if not set(self.whole) <= set(self.columns) or self.least > self.most:
            raise ValueError("expected columns of members, and at least as many members at most as at least")
        return self

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """How members belong to roots stands in the specification."""
        return (("specification", "members"),)

    @classmethod
    def of(cls, linked: Linked) -> MembersPart:
        """What is said of it."""
        return cls(
            key=linked.key,
            size=linked.size,
            most=linked.most,
            least=linked.least,
            more=linked.more,
            order=list(linked.order),
            reference=dict([linked.reference]) if linked.reference else {},
            columns=list(linked.names),
            whole=[name for name in linked.names if name in linked.whole],
        )

    @property
    def linked(self) -> Linked:
        """How they stand in the record of their root."""
        return Linked(
            key=self.key,
            size=self.size,
            names=tuple(self.columns),
            slots=tuple(tuple(slot_name(name, place) for name in self.columns) for place in range(1, self.most + 1)),
            whole=frozenset(self.whole),
            least=self.least,
            more=self.more,
            order=tuple(self.order),
            reference=next(iter(self.reference.items()), None),
        )


PUBLISHED = MembersPart
