"""The files of a released table: one; or that of roots and that of their members, with their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.data.linked import Linked, of_member
from synthrelease.published.columns import ColumnPart
from synthrelease.settings.tables import BundleTable


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """One of the tables of a release, in every format under one name.

    Attributes
    ----------
    stem : the name before its ending.
    key : the name of a column of whole numbers before all others; empty where there is none.
    columns : of the schema, under the names that they have in this table; of members those of the first one.
    of_members : whether its rows are members.
    """

    stem: str
    key: str
    columns: tuple[ColumnPart, ...]
    of_members: bool = False

    def named(self, ending: str) -> str:
        """The file in one format."""
        return f"{self.stem}.{ending}"


def files_of(columns: Sequence[ColumnPart], linked: Linked | None, bundle: BundleTable) -> tuple[TableFile, ...]:
    """The files of a table with these columns."""
    if linked is None:
        return (TableFile(stem=bundle.stem, key="", columns=tuple(columns)),)
    own = {column.name: column for column in columns}
    roots = tuple(own[name] for name in linked.of_roots(own))
    members = []
    for plain, name in zip(linked.names, linked.slots[0], strict=True):
        column = own[name]
        bins = [one for one in column.bins if not (one.missing and plain in linked.whole)]
        described = column.description.removesuffix(of_member(1))
        members.append(column.model_copy(update={"name": plain, "bins": bins, "description": described}))
    return (
        TableFile(stem=bundle.stem, key=linked.key, columns=roots),
        TableFile(stem=bundle.named("members"), key=linked.key, columns=tuple(members), of_members=True),
    )
