"""What was tried on public rows: a digest of the two files, beside the configuration, that tells of changes since.

`NAME.tried.json` stands beside `NAME.toml`. It has one digest for each column, criterion and other table, so that a refusal
names what was changed. Comments, texts for the card, who said or agreed to what, the limit of the budget, and how the private
file writes its values are in none: an attempt is the same whatever they say. Nothing here protects anybody: it keeps a steward
from spending a budget on files that nobody has tried.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from synthrelease.errors import Problem, SpecError
from synthrelease.resources import is_shipped
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.shortlist import judged_tables, known_chances

FORMAT = 1
By = Literal["draft", "rehearsal", "dry run", "answer"]
"""What tried the files; "answer": nothing did, and the steward said that they are released all the same."""
NEVER = (
    "These two files were never tried on public data, as far as this program knows. A release spends its whole budget once, "
    "even if no table is accepted. `synthrelease rehearse` estimates how often that happens."
)
_OF_THE_FILE = {
    "input": ("delimiter", "encoding", "decimal", "table"),
    "columns": ("description", "unit", "source", "format"),
    "budget": ("limit",),
}
"""Settings that say how the private file is written, or are words: an attempt is the same whatever they are."""


def beside(config: str | Path) -> Path:
    return Path(config).with_suffix(".tried.json")


def leave(spec: ReleaseSpec, by: By) -> None:
    """Write the digest beside the configuration, in place of an earlier one. Not beside files that come with synthrelease, nor
    where nobody may write: a shortlist has what was rehearsed, too."""
    path = beside(spec.path)
    if is_shipped(path):
        return
    text = json.dumps({"format": FORMAT, "by": by, "digests": digests(spec)}, indent=1, ensure_ascii=False)
    with suppress(OSError):
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        os.replace(temporary, path)


def tried(spec: ReleaseSpec, shortlist: Path | None = None) -> bool:
    """Whether these two files were tried as they are; False where nothing is known of them.

    Raises
    ------
    SpecError : when they were changed since they were tried.
    """
    if shortlist is not None and known_chances(spec, shortlist) is not None:
        return True
    known = _read(beside(spec.path))
    if known is None:
        return False
    by, then, now = *known, digests(spec)
    changed = [name for name in dict.fromkeys([*then, *now]) if then.get(name) != now.get(name)]
    if changed and by != "answer":
        raise SpecError(
            [
                Problem(
                    file=spec.path,
                    path="",
                    expected=f"the two files as a {by} tried them on public data",
                    found=f"changes in {_named(changed)}. Rehearse them (`synthrelease rehearse`), or say --unrehearsed "
                    "(unrehearsed=True in Python). Nothing was spent",
                )
            ]
        )
    return not changed


def digests(spec: ReleaseSpec) -> dict[str, str]:
    """A digest of each part of the two files that an attempt depends on, by its name."""
    found: dict[str, Any] = {}
    for name, value in judged_tables(spec.tables, whatever_it_costs=False).items():
        if name == "columns":
            found |= {f"column {column!r}": _without(table, _OF_THE_FILE[name]) for column, table in value.items()}
        elif name == "acceptance":
            found |= {f"criterion {table['name']!r}": table for table in value["criteria"]}
            found[name] = {key: inner for key, inner in value.items() if key != "criteria"}
        elif name == "unit":  # that each row is another person changes nothing; a key decides which rows are counted
            found[name] = value if value.get("key") else {}
        else:
            found[name] = _without(value, _OF_THE_FILE[name]) if name in _OF_THE_FILE else value
    return {name: _digest(value) for name, value in found.items() if value not in ({}, [])}


def _named(changed: list[str]) -> str:
    return ", ".join(changed[:8]) + (f" and {len(changed) - 8} more" if len(changed) > 8 else "")


def _without(table: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, default=str).encode()).hexdigest()


def _read(path: Path) -> tuple[str, Mapping[str, str]] | None:
    """Who tried the files, and their digests; None where there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
        return (str(found["by"]), dict(found["digests"])) if found["format"] == FORMAT else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
