"""What the desk has done by other rooms, where a line is not enough: a column of another kind, left out, or as the key."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from synthrelease.desk.edits import NoSuchControl
from synthrelease.desk.files import BothTexts
from synthrelease.drafting.edited import Edit, changed, loaded_changed, replace_files
from synthrelease.drafting.leaving_out import LeftOutOf, leave_out
from synthrelease.drafting.other_kind import Kind, column_as
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.text import toml
from synthrelease.errors import InputError, OutputError
from synthrelease.specification.release_spec import ReleaseSpec

KEPT = ("description", "unit")
"""The steward's words on a column stay, whatever it is taken for."""


def would_leave_out(path: Path, spec: ReleaseSpec, name: str) -> LeftOutOf:
    """What goes with a column."""
    if name not in spec.schema.by_name:
        raise NoSuchControl
    return leave_out(path, [name], dry_run=True)


def other_kind(texts: BothTexts, spec: ReleaseSpec, public: PublicFile | None, name: str, kind: str) -> list[Edit]:
    """The lines of a column that is taken for another kind."""
    column = spec.schema.by_name.get(name)
    chosen = next((each for each in get_args(Kind) if each == kind), None)
    if column is None or chosen is None:
        raise NoSuchControl
    if public is None or column.source not in public.columns:
        raise InputError("What a column can be is read from the public file. Start the desk with --data PUBLIC.")
    if "columns" in texts.file.inherited:
        raise OutputError(
            f"The column stands in {texts.file.base}, which this file extends. Nothing was written: open that file."
        )
    old = texts.file.tables["columns"][name]
    new = column_as(public, column.source, chosen)
    new |= {key: old[key] for key in KEPT if old.get(key)}
    if name == column.source:
        del new["source"]
    gone = [Edit(path=("columns", name, key)) for key in old if key not in new]
    return gone + [Edit(path=("columns", name, key), toml=toml(value)) for key, value in new.items() if old.get(key) != value]


def take_as_key(path: Path, texts: BothTexts, spec: ReleaseSpec, source: str) -> None:
    """Let a column of the file say whose row it is; where it is released, it is left out."""
    released = [column.name for column in spec.schema.columns if source in column.sources]
    if released:
        leave_out(path, released)
    if "unit" in texts.file.inherited:
        raise OutputError(f"[unit] stands in {texts.file.base}, which this file extends. Nothing was written: open that file.")
    before = path.read_bytes()
    edits = [Edit(path=("unit", "key"), toml=toml(source))]
    if not spec.unit.answered:
        edits.append(Edit(path=("unit", "records_per_person"), toml="1"))
    after = changed(path, before, edits)
    loaded_changed(path, after)
    replace_files({path: (before, after)})
