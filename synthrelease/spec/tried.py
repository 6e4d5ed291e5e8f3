"""Record which configuration and acceptance file were tried on public data, so that `release` can refuse later changes.

The record of `NAME.toml` is `NAME.tried.json` in the same folder. It contains a digest for each column, each criterion and
each other table, so that an error message can name the changed ones. The digests do not cover settings that do not affect a
trial: comments, texts for the card, the settings that say who stated bounds or agreed to thresholds, the limit of the
budget, and the format of the private file. The record does not protect privacy. It only prevents a steward from spending a
budget on files that nobody has tried.

A configuration that is a renamed copy, or extends one that was tried, is compared with the most similar record. Unedited
files that are shipped with synthrelease are recognised by their digests in any folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from synthrelease.errors import SpecError
from synthrelease.generators.associations import Strengths
from synthrelease.resources import is_shipped, resource
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import judged_tables, known_chances

FORMAT = 1
By = Literal["draft", "rehearsal", "dry run", "answer"]
"""The command that tried the files. The value "answer" means that no command tried them, but the steward agreed to use them."""
NEVER = (
    "According to the records beside the files, the configuration and its acceptance file were never tried on public data. A "
    "release with them spends its whole budget, even if no table is accepted. `synthrelease rehearse` estimates how often no "
    "table is accepted."
)
INSTEAD = "Rehearse both files (`synthrelease rehearse`), or use --unrehearsed (in Python, unrehearsed=True). Nothing was spent"
CRITERION = "criterion "
SHIPPED = "configs/shipped.json"
"""The file with the digests of the configurations that are shipped with synthrelease. `python -m tests.helpers.shipped` writes
it."""
# Settings that do not change an attempt: texts, and the way in which the private file writes its values.
_OF_THE_FILE = {
    "input": ("delimiter", "encoding", "decimal", "table", "missing_values"),
    "columns": ("description", "unit", "source", "format"),
    "budget": ("limit",),
}


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """The stored record of a configuration and an acceptance file that were tried.

    Attributes
    ----------
    digests : the digests of the columns, criteria and other tables, by their names.
    rows : the number of rows of the public table, or None if it is unknown.
    acceptance : the path of the acceptance file, relative to the folder of the record; empty if unknown.
    strengths : the known strengths of the associations between columns of the public table.
    trial : a digest of the settings that affect which associations a draft preserved in its trial; empty without a draft.
    """

    path: Path
    by: str
    digests: dict[str, str]
    rows: Annotated[int, Field(gt=0)] | None = None
    acceptance: str = ""
    strengths: Strengths = Strengths()
    trial: str = ""

    def changes(self, now: Mapping[str, str]) -> list[str]:
        """Return the names of the columns, criteria and tables that have changed; a criterion with only a new name has not."""
        then = self.digests
        changed = [name for name in dict.fromkeys([*then, *now]) if then.get(name) != now.get(name)]
        gone, new = ({parts[name] for name in parts if name.startswith(CRITERION)} for parts in (then, now))
        renamed = {name for name in changed if name.startswith(CRITERION) and (name in then) != (name in now)}
        return [name for name in changed if name not in renamed or (then | dict(now))[name] not in gone & new]


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A change of the configuration or the acceptance file after a trial: the command of the trial, and the changed parts."""

    by: str
    parts: str


def beside(config: str | Path) -> Path:
    return Path(config).with_suffix(".tried.json")


def leave(spec: ReleaseSpec, by: By, rows: int | None = None, strengths: Strengths | None = None) -> None:
    """Record in the folder of the configuration that it and its acceptance file were tried on public data.

    The record replaces an earlier one. None is written for files that are shipped with synthrelease, or if the folder is
    not writable; then only the shortlist shows what was rehearsed.

    Parameters
    ----------
    rows : the number of rows of the public table on which the files were tried.
    strengths : the strengths of the associations in this table, or None to keep the strengths of an earlier record.
    """
    path = beside(spec.path)
    if is_shipped(path):
        return
    parts, strengths = digests(spec), strengths or strengths_tried(spec)
    digest: dict[str, Any] = {"format": FORMAT, "by": by} | ({} if rows is None else {"rows": rows})
    if trial := _trial_of(parts) if by == "draft" else trial_tried(spec):
        digest["trial"] = trial
    if strengths.pairs:
        digest["strengths"] = {"shares": dict(strengths.shares), "pairs": dict(strengths.pairs)}
    with suppress(ValueError):  # the file is on another drive
        digest["acceptance"] = Path(os.path.relpath(spec.acceptance, path.parent)).as_posix()
    text = json.dumps(digest | {"digests": parts}, indent=1, ensure_ascii=False)
    with suppress(OSError):
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        os.replace(temporary, path)


def tried(spec: ReleaseSpec, shortlist: Path | None = None) -> bool:
    """Return whether the configuration and the acceptance file were tried on public data in their present form.

    The result is False if no trial is known.

    Raises
    ------
    SpecError : if the files were changed after they were tried, or if a record cannot be read.
    """
    state = standing(spec, shortlist)
    if isinstance(state, Changed):
        fault = f"The configuration or the acceptance file has changed since {state.by} on public data: {state.parts}"
        raise SpecError.at(spec.path, "", f"{fault}. {INSTEAD}")
    return state


def standing(spec: ReleaseSpec, shortlist: Path | None = None) -> bool | Changed:
    """Return whether the files were tried on public data in their present form, or what has changed since a trial.

    The result is False if no trial is known.

    Raises
    ------
    SpecError : if a record cannot be read.
    """
    current = digests(spec)
    if digest_of(current) in shipped() or (shortlist is not None and known_chances(spec, shortlist) is not None):
        return True
    attempts = list(_known(spec))
    if any(not attempt.changes(current) for attempt in attempts):
        return True
    own_path = beside(spec.path)
    refusing = [attempt for attempt in attempts if attempt.by != "answer"]
    if not refusing:
        return False
    nearest = min(refusing, key=lambda attempt: (attempt.path != own_path, len(attempt.changes(current))))
    name = "them" if nearest.path == own_path else nearest.path.name.removesuffix(".tried.json")
    return Changed(by=f"a {nearest.by} tried {name}", parts=_named(nearest.changes(current)))


def rows_tried(spec: ReleaseSpec) -> int | None:
    """Return the number of rows of the public table of a trial of the files or an earlier version, or None if unknown."""
    return next((attempt.rows for attempt in _readable(spec) if attempt.rows is not None), None)


def strengths_tried(spec: ReleaseSpec) -> Strengths:
    return next((attempt.strengths for attempt in _readable(spec) if attempt.strengths.pairs), Strengths())


def trial_tried(spec: ReleaseSpec) -> str:
    return next((attempt.trial for attempt in _readable(spec) if attempt.trial), "")


def _readable(spec: ReleaseSpec) -> list[TrialRecord]:
    with suppress(SpecError):
        return list(_known(spec))
    return []


WITHHELD = "The result of the trial for associations is not shown, because the files changed later. Draft or rehearse again."


def kept_in_trial(spec: ReleaseSpec) -> str:
    """Return the sentence `kept` of [not_promised] on the associations that a trial preserved.

    It is `WITHHELD` if the files were changed after this trial, and unchanged if no draft wrote it.
    """
    kept = spec.not_promised.kept
    return kept if not kept or trial_tried(spec) in ("", _trial_of(digests(spec))) else WITHHELD


def _trial_of(parts: Mapping[str, str]) -> str:
    """Return a digest of all settings that affect which associations are preserved, without the acceptance file and texts."""
    return digest_of({name: part for name, part in parts.items() if not name.startswith(CRITERION) and name != "acceptance"})


def shipped() -> Mapping[str, str]:
    names: dict[str, str] = json.loads(resource(SHIPPED).read_bytes())
    return names


def digests(spec: ReleaseSpec) -> dict[str, str]:
    parts: dict[str, Any] = {}
    for name, value in judged_tables(spec.tables, whatever_it_costs=False).items():
        if name == "columns":
            parts |= {f"column {column!r}": _without(table, _OF_THE_FILE[name]) for column, table in value.items()}
        elif name == "acceptance":
            parts |= {f"{CRITERION}{table['name']!r}": _without(table, ("name",)) for table in value["criteria"]}
            parts[name] = {key: inner for key, inner in value.items() if key != "criteria"}
        elif name == "unit":  # only a key decides which rows are counted
            parts[name] = value if value.get("key") else {}
        else:
            parts[name] = _without(value, _OF_THE_FILE[name]) if name in _OF_THE_FILE else value
    return {name: digest_of(value) for name, value in parts.items() if value not in ({}, [])}


def _named(changed: list[str]) -> str:
    return ", ".join(changed[:8]) + (f" and {len(changed) - 8} more" if len(changed) > 8 else "")


def _without(table: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def digest_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, default=str).encode()).hexdigest()


def _known(spec: ReleaseSpec) -> Iterator[TrialRecord]:
    """Yield the records of the configuration, of the one it extends, and of others with the same acceptance file.

    Raises
    ------
    SpecError : if the record of the configuration, or of the configuration that it extends, cannot be read.
    """
    own_path = Path(spec.path)
    configurations = [own_path] if spec.base is None else [own_path, spec.base]
    for config in configurations:
        if os.path.lexists(beside(config)):
            yield _read(beside(config))
    for folder in dict.fromkeys(config.parent.resolve() for config in configurations):
        for path in sorted(folder.glob("*.tried.json")):
            with suppress(SpecError):  # a damaged record of another configuration
                digest = _read(path)
                if digest.acceptance and (folder / digest.acceptance).resolve() == spec.acceptance.resolve():
                    yield digest


@cache
def _records() -> TypeAdapter[TrialRecord]:
    return TypeAdapter(TrialRecord)


def _read(path: Path) -> TrialRecord:
    try:
        content = json.loads(path.read_bytes())
        if content["format"] == FORMAT:
            return _records().validate_python(content | {"path": path})
        problem = f"This version cannot read a record of a trial in format {content['format']!r}"
    except OSError as error:
        problem = f"Cannot read the record of the trial: {str(error.strerror).lower()}"
    except (ValueError, LookupError, TypeError, AttributeError):
        problem = "The record of the trial is damaged"
    raise SpecError.at(path, "", f"{problem}. {INSTEAD}")
