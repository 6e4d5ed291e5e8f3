"""What the desk has done by other rooms, where a line is not enough: columns of another kind, left out, back, or the key."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from synthrelease.desk.edits import NoSuchControl, Shown, table_of
from synthrelease.desk.files import BothTexts, Changes, DeskFiles
from synthrelease.drafting.bringing_back import bring_back
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.leaving_out import LeftOutOf, leave_out
from synthrelease.drafting.other_kind import Kind, column_as
from synthrelease.drafting.taking_over import own_acceptance
from synthrelease.drafting.toml_text import toml
from synthrelease.errors import InputError, SynthreleaseError

KEPT = ("description", "unit")
"""The steward's words on a column stay, whatever it is taken for."""
NO_PUBLIC = "What a column can be is read from the public file. Start the desk with --data PUBLIC."


def left_out(path: Path, texts: BothTexts, name: str, *, dry_run: bool) -> LeftOutOf:
    """What goes with a column, which has a table of its own; with it, unless this is a `dry_run`."""
    if name not in texts.file.tables["columns"]:
        raise NoSuchControl
    return leave_out(path, [name], dry_run=dry_run, take_over=True)


def other_kind(shown: Shown, name: str, kind: str) -> Changes:
    """The lines of a column that is taken for another kind."""
    column, public = shown.spec.schema.by_name.get(name), shown.public
    if column is None or table_of(shown.spec, name)[0] != "columns":
        raise NoSuchControl
    chosen = _kind(kind)
    if public is None or column.source not in public.columns:
        raise InputError(NO_PUBLIC)
    old = shown.texts.file.tables["columns"][name]
    new = column_as(public, column.source, chosen)
    new |= {key: old[key] for key in KEPT if old.get(key)}
    if name == column.source:
        del new["source"]
    gone = [Edit(path=("columns", name, key)) for key in old if key not in new]
    edits = gone + [Edit(path=("columns", name, key), toml=toml(value)) for key, value in new.items() if old.get(key) != value]
    return {"configuration": edits}


def bring_column_back(shown: Shown, source: str, kind: str) -> Changes:
    """The lines of a column of the public file that is released again, or for the first time."""
    chosen, file = _kind(kind), shown.texts.file
    if shown.public is None:
        raise InputError(NO_PUBLIC)
    own, ignoring = bring_back(shown.spec, file.tables, shown.texts.acceptance_tables, shown.public, source, chosen)
    return {"configuration": own, "acceptance": ignoring}


def _kind(kind: str) -> Kind:
    chosen = next((each for each in get_args(Kind) if each == kind), None)
    if chosen is None:
        raise NoSuchControl
    return chosen  # type: ignore[no-any-return]


def take_as_key(files: DeskFiles, shown: Shown, source: str) -> None:
    """Let a column of the file say whose row it is; where it is released, it is left out."""
    if shown.public is None or source not in shown.public.columns:
        raise NoSuchControl
    released = [column.name for column in shown.spec.schema.columns if source in column.sources]
    if released:
        leave_out(files.path, released, take_over=True)
    edits = [Edit(path=("unit", "key"), toml=toml(source))]
    if not shown.spec.unit.answered:
        edits.append(Edit(path=("unit", "records_per_person"), toml="1"))
    files.write(files.texts(), {"configuration": edits})


def copy_acceptance(files: DeskFiles, texts: BothTexts) -> None:
    """Give the configuration an acceptance file of its own, which says the same as the one that another one hands down."""
    if "acceptance" not in texts.file.inherited:
        raise NoSuchControl
    path, edit = own_acceptance(texts.file, texts.acceptance_path)
    with path.open("xb") as file:
        file.write(texts.acceptance)
    try:
        files.write(texts, {"configuration": [edit]})
    except SynthreleaseError:
        path.unlink()
        raise
