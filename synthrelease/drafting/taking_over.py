"""Tables of a configuration that another one hands down, written out where they are to be changed.

A table is handed down whole, and a line can override one setting of it. What no line can say, as that a column is not released,
needs a table of one's own: the lines of the other file, with their comments, and what was overridden put in its place. The
other file is never written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from synthrelease.drafting.edited import Edit, changed, headed_tables, text_of, written_as
from synthrelease.drafting.toml_text import toml
from synthrelease.errors import OutputError
from synthrelease.settings.reading import ConfigurationFile, toml_tables


def taken_over(file: ConfigurationFile, content: bytes, names: Collection[str]) -> bytes:
    """The content of a configuration that has these tables itself.

    Parameters
    ----------
    content : of the file, which extends another one.
    names : of tables that are handed down, such as "columns".

    Raises
    ------
    OutputError : where the other file has one of them in another layout than under headers.
    """
    if file.base is None:
        return content
    theirs = text_of(file.base.read_bytes())
    lines, blocks = theirs.split("\n"), headed_tables(theirs)
    copied = ["\n".join(lines[block.first : block.last + 1]) for name in names for block in blocks if block.path[0] == name]
    lacking = [name for name in names if not any(block.path[0] == name for block in blocks)]
    if lacking:
        raise OutputError(
            f"{file.base}: expected [{lacking[0]}] under a header, so that its lines can be copied to {file.path.name}; found "
            "another layout. Nothing was written: copy it by hand."
        )
    own = toml_tables(content, file.path).get("override", {})
    overridden = {name: own[name] for name in names if name in own}
    gone = [Edit(path=("override",))] if overridden.keys() == own.keys() and own else []
    gone = gone or [Edit(path=("override", name)) for name in overridden]
    text = text_of(changed(file.path, content, gone))
    told = f"# As in {file.base.name}, which this file extends; changes of that file do not reach these tables any more."
    whole = "\n".join([text.rstrip("\n"), "", told, "\n\n".join(copied), ""])
    settings = [Edit(path=steps, toml=toml(value)) for steps, value in _settings(overridden, ())]
    return changed(file.path, written_as(content, whole), settings)


def _settings(tables: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is no table, by its place."""
    for name, value in tables.items():
        if isinstance(value, Mapping) and value:
            yield from _settings(value, (*above, name))
        else:
            yield (*above, name), value


def own_acceptance(file: ConfigurationFile, acceptance: Path) -> tuple[Path, Edit]:
    """Where a copy of the acceptance file for this configuration alone goes, and the line that names it.

    Raises
    ------
    OutputError : where there are files of both names that it could have.
    """
    names = (file.path.name, f"{file.path.stem}-acceptance.toml")
    path = next((path for path in map(acceptance.with_name, names) if not path.exists()), None)
    if path is None:
        raise OutputError(f"{acceptance.parent}: expected room for a copy of {acceptance.name}, found {' and '.join(names)}.")
    named = Path(os.path.relpath(path, file.path.parent)).as_posix()
    return path, Edit(path=("acceptance",), toml=toml(named))
