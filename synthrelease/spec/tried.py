"""Record the files that were tried on public rows: a digest of the two files, beside the configuration.

`NAME.tried.json` stands beside `NAME.toml`. It has one digest for each column, criterion and other table, so that a refusal
names what was changed. Comments, texts for the card, who said or agreed to what, the limit of the budget, and how the private
file writes its values are in none: an attempt is the same whatever they say. Nothing here protects anybody: it keeps a steward
from spending a budget on files that nobody has tried.

A copy under another name, or a configuration that extends a tried one, is compared with the digest that stands nearest. Files
that come with synthrelease are known by their digest, wherever they lie: an edited copy of them is not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from synthrelease.errors import SpecError
from synthrelease.generators.associations import Strengths
from synthrelease.resources import is_shipped, resource
from synthrelease.settings.reading import beside as named_beside
from synthrelease.settings.reading import read_configuration
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import judged_tables, known_chances

FORMAT = 1
By = Literal["draft", "rehearsal", "dry run", "answer"]
"""What tried the files; "answer": nothing did, and the steward said that they are released all the same."""
NEVER = (
    "These two files were never tried on public data, as far as this program knows. A release spends its whole budget once, "
    "even if no table is accepted. `synthrelease rehearse` estimates how often that happens."
)
INSTEAD = "Rehearse them (`synthrelease rehearse`), or say --unrehearsed (unrehearsed=True in Python). Nothing was spent"
CRITERION = "criterion "
SHIPPED = "configs/shipped.json"
"""The configurations that come with synthrelease, by their digest; `python -m tests.helpers.shipped` makes them."""
_OF_THE_FILE = {
    "input": ("delimiter", "encoding", "decimal", "table", "missing_values"),
    "columns": ("description", "unit", "source", "format"),
    "budget": ("limit",),
}
"""Settings that say how the private file is written, or are words: an attempt is the same whatever they are."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The result of comparing a stored digest with the files.

    Attributes
    ----------
    path : the file of the digest.
    by : what tried the two files.
    digests : of their parts, by name.
    rows : rows of the public table, where that is known.
    acceptance : the acceptance file, relative to the folder of the digest; empty where that is not known.
    strengths : how strongly columns are associated in the public table, as far as that is known.
    trial : a digest of what the trial of a draft rests on, which said what its rows keep; empty without a draft.
    """

    path: Path
    by: str
    digests: dict[str, str]
    rows: Annotated[int, Field(gt=0)] | None = None
    acceptance: str = ""
    strengths: Strengths = Strengths()
    trial: str = ""

    def changes(self, now: Mapping[str, str]) -> list[str]:
        """Return the names of the parts that differ. A criterion under another name is the same criterion."""
        then = self.digests
        changed = [name for name in dict.fromkeys([*then, *now]) if then.get(name) != now.get(name)]
        gone, new = ({parts[name] for name in parts if name.startswith(CRITERION)} for parts in (then, now))
        renamed = {name for name in changed if name.startswith(CRITERION) and (name in then) != (name in now)}
        return [name for name in changed if name not in renamed or (then | dict(now))[name] not in gone & new]


@dataclass(frozen=True, kw_only=True)
class Changed:
    """Two files that differ from the tried ones: the command that tried them, and the parts that changed, in words."""

    by: str
    parts: str


def beside(config: str | Path) -> Path:
    return Path(config).with_suffix(".tried.json")


def leave(spec: ReleaseSpec, by: By, rows: int | None = None, strengths: Strengths | None = None) -> None:
    """Write the digest beside the configuration, in place of an earlier one. Not beside files that come with synthrelease, nor
    where nobody may write: a shortlist has what was rehearsed, too.

    Parameters
    ----------
    rows : of the public table that the files were tried on.
    strengths : of the associations in it; None for those of an earlier digest.
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
    with suppress(SpecError, ValueError):  # a file that is gone meanwhile, or is on another drive
        digest["acceptance"] = Path(os.path.relpath(_other_files(spec)[1], path.parent)).as_posix()
    text = json.dumps(digest | {"digests": parts}, indent=1, ensure_ascii=False)
    with suppress(OSError):
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        os.replace(temporary, path)


def tried(spec: ReleaseSpec, shortlist: Path | None = None) -> bool:
    """Return whether these two files were tried as they are; False where no trial is known.

    Raises
    ------
    SpecError : when they were changed since they were tried, or a digest cannot be read.
    """
    state = standing(spec, shortlist)
    if isinstance(state, Changed):
        expected = f"the two files as {state.by} on public data"
        raise SpecError.at(spec.path, "", expected, f"changes in {state.parts}. {INSTEAD}")
    return state


def standing(spec: ReleaseSpec, shortlist: Path | None = None) -> bool | Changed:
    """Return what `tried` returns, with the changes as a value.

    Raises
    ------
    SpecError : when a digest cannot be read.
    """
    current = digests(spec)
    if _digest(current) in shipped() or (shortlist is not None and known_chances(spec, shortlist) is not None):
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
    """Return the number of rows of the public table on which these files, or an earlier version of them, were tried; None where
    it is unknown.
    """
    return next((attempt.rows for attempt in _readable(spec) if attempt.rows is not None), None)


def strengths_tried(spec: ReleaseSpec) -> Strengths:
    """Return the association of the columns in the public table on which these files were tried, where it is known."""
    return next((attempt.strengths for attempt in _readable(spec) if attempt.strengths.pairs), Strengths())


def trial_tried(spec: ReleaseSpec) -> str:
    """Return the digest of what the trial of a draft depends on; empty where it is unknown."""
    return next((attempt.trial for attempt in _readable(spec) if attempt.trial), "")


def _readable(spec: ReleaseSpec) -> list[Tried]:
    """Return the stored results; nothing where a digest is damaged. A caller that must know about damage calls `tried`."""
    with suppress(SpecError):
        return list(_known(spec))
    return []


WITHHELD = "What a trial on the public file kept is not said: the files were changed since. Draft again, or rehearse them."


def kept_in_trial(spec: ReleaseSpec) -> str:
    """Return the trial's results on the associations that the rows preserve, as long as its settings are unchanged; otherwise
    the reason why there are none. Words that no draft wrote are the publisher's.
    """
    return spec.not_promised.kept and (
        spec.not_promised.kept if trial_tried(spec) in ("", _trial_of(digests(spec))) else WITHHELD
    )


def _trial_of(parts: Mapping[str, str]) -> str:
    """Return one digest of everything that decides which associations the rows preserve: neither thresholds nor texts do."""
    return _digest({name: part for name, part in parts.items() if not name.startswith(CRITERION) and name != "acceptance"})


def shipped() -> Mapping[str, str]:
    """Return the names of the configurations that come with synthrelease, by the digest of all their parts."""
    names: dict[str, str] = json.loads(resource(SHIPPED).read_bytes())
    return names


def whole_digest(spec: ReleaseSpec) -> str:
    """Return one digest of all parts that an attempt depends on."""
    return _digest(digests(spec))


def digests(spec: ReleaseSpec) -> dict[str, str]:
    """Return a digest of each part of the two files that an attempt depends on, by its name."""
    parts: dict[str, Any] = {}
    for name, value in judged_tables(spec.tables, whatever_it_costs=False).items():
        if name == "columns":
            parts |= {f"column {column!r}": _without(table, _OF_THE_FILE[name]) for column, table in value.items()}
        elif name == "acceptance":
            parts |= {f"{CRITERION}{table['name']!r}": _without(table, ("name",)) for table in value["criteria"]}
            parts[name] = {key: inner for key, inner in value.items() if key != "criteria"}
        elif name == "unit":  # that each row is another person changes nothing; a key decides which rows are counted
            parts[name] = value if value.get("key") else {}
        else:
            parts[name] = _without(value, _OF_THE_FILE[name]) if name in _OF_THE_FILE else value
    return {name: _digest(value) for name, value in parts.items() if value not in ({}, [])}


def _named(changed: list[str]) -> str:
    return ", ".join(changed[:8]) + (f" and {len(changed) - 8} more" if len(changed) > 8 else "")


def _without(table: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, default=str).encode()).hexdigest()


def _other_files(spec: ReleaseSpec) -> tuple[Path | None, Path]:
    """Return the configuration that this one extends, and the acceptance file."""
    file = read_configuration(Path(spec.path))
    return file.base, named_beside(file.file_of("acceptance"), str(file.tables["acceptance"]))


def _known(spec: ReleaseSpec) -> Iterator[Tried]:
    """Yield the stored results for the configuration, for the one it extends, and for others in the folder with the same
    acceptance file.

    Raises
    ------
    SpecError : for a digest of one of the first two that cannot be read.
    """
    own_path = Path(spec.path)
    base, acceptance = _other_files(spec)
    configurations = [own_path] if base is None else [own_path, base]
    for config in configurations:
        if os.path.lexists(beside(config)):
            yield _read(beside(config))
    for folder in dict.fromkeys(config.parent.resolve() for config in configurations):
        for path in sorted(folder.glob("*.tried.json")):
            with suppress(SpecError):  # of another configuration
                digest = _read(path)
                if digest.acceptance and (folder / digest.acceptance).resolve() == acceptance.resolve():
                    yield digest


def _read(path: Path) -> Tried:
    """Read a stored digest. Raises SpecError where it cannot be read: then it is unknown what was tried."""
    expected = "what a draft or a rehearsal wrote there about the two files that it tried"
    try:
        content = json.loads(path.read_bytes())
        if content["format"] == FORMAT:
            attempt: Tried = TypeAdapter(Tried).validate_python(content | {"path": path})
            return attempt
        problem = f"format {content['format']!r}, which this version does not read"
    except OSError as error:
        problem = f"a file that cannot be read ({error.strerror})"
    except (ValueError, LookupError, TypeError, AttributeError):
        problem = "a file that is damaged"
    raise SpecError.at(path, "", expected, f"{problem}. {INSTEAD}")
