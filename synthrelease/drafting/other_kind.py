"""What the columns of a public file were taken for and why, and a column drafted as another kind."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from synthrelease.drafting.codebook import CodebookEntry
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.column_text import codelist_name, column_lines
from synthrelease.drafting.file_columns import drafted_columns
from synthrelease.drafting.public_file import PublicFile
from synthrelease.errors import InputError

Kind = Literal["number", "name", "date"]


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """What a draft makes of a public file.

    Attributes
    ----------
    because : by the name of the column in the file, why it is what it was taken for.
    doubtful : of some of them what speaks against it.
    left_out : columns of the file that a draft leaves out, with the reason.
    dates : columns of the file that hold dates.
    """

    because: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    dates: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *files: PublicFile) -> Guesses:
        """Reads each file once more: the public one, and that of members where there is one."""
        because, doubtful, left_out, dates = dict[str, str](), dict[str, str](), list[LeftOut](), set[str]()
        for file in files:
            columns, others, dated = drafted_columns(file, {})
            because |= {each.source: each.remark for each in columns}
            doubtful |= {each.source: each.doubt.partition(". If not")[0] for each in columns if each.doubt}
            left_out += [each for each in others if each.source]
            dates |= set(dated)
        return cls(because=because, doubtful=doubtful, left_out=tuple(left_out), dates=frozenset(dates))


def column_as(file: PublicFile, source: str, kind: Kind) -> dict[str, Any]:
    """The settings of a column of the configuration that holds this column of the file as another kind.

    Raises
    ------
    InputError : where the file's values are of no such kind.
    """
    entry = CodebookEntry(number=kind == "number", code=kind == "name")
    columns, left_out, _ = drafted_columns(file, {source: entry})
    column = next((each for each in columns if each.source == source and _is(each, kind)), None)
    if column is None:
        reason = next((each.because for each in left_out if each.source == source), "its values are of another kind")
        raise InputError(f"{source!r} cannot be read as a {kind}: {reason}.")
    if codelist_name("", column):
        raise InputError(f"{source!r} has {len(column.codes)} codes, which need a file of their own: draft anew with `init`.")
    tables = tomllib.loads("\n".join(column_lines("", column)), parse_float=Decimal)
    settings: dict[str, Any] = tables["columns"][column.name]
    return settings | {"source": source}


def _is(column: ColumnDraft, kind: Kind) -> bool:
    if kind == "date":
        return column.of_date
    return not column.of_date and (column.kind in ("integer", "real")) == (kind == "number")
