"""A criterion that a steward asks for in words, as a table of the acceptance file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthrelease.criteria import CRITERIA
from synthrelease.data.schema import Column
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.toml_text import toml
from synthrelease.spec.release_spec import ReleaseSpec

MARGIN = 0.02
"""By how much of all rows a group may be smaller than in the candidate, where the criteria say nothing else."""


def kinds_asked_for() -> dict[str, str]:
    """By their kind, what each criterion that can be asked for is about."""
    return {kind: each.asked_for for kind, each in CRITERIA.items() if each.asked_for}


def criterion_edits(
    spec: ReleaseSpec,
    acceptance: Mapping[str, Any],
    kind: str,
    columns: Sequence[str],
    *,
    threshold: str,
    epsilon: str,
    value: str = "",
    reason: str = "",
) -> list[Edit]:
    """The changes of the acceptance file.

    Parameters
    ----------
    acceptance : its tables.
    kind : of `kinds_asked_for`.
    columns : the column that it is about, and those of the table, or to group by.
    threshold, epsilon : numbers as they are written.
    value : a label of the column, for a kind that asks how often it occurs.

    Raises
    ------
    ValueError : for columns that there are not, and another kind.
    """
    named = list(dict.fromkeys(name for name in columns if name))
    unknown = [name for name in named if name not in spec.schema.by_name]
    if kind not in kinds_asked_for() or unknown or not named:
        raise ValueError(f"Expected a kind of criterion and columns of the release, found {', '.join(unknown) or 'none'}.")
    settings = _settings(spec, kind, [spec.schema[name] for name in named], value)
    lines = {key: toml(each) for key, each in {"name": _name(spec, kind, named), "kind": kind, **settings}.items()}
    lines |= {"threshold": threshold, "epsilon": epsilon} | ({"reason": toml(reason)} if reason else {})
    table = "{ " + ", ".join(f"{key} = {each}" for key, each in lines.items()) + " }"
    found = [
        Edit(path=("groups", column.name), toml=toml(next(iter(column.alternatives))))
        for column in (spec.schema[name] for name in named[1:] if "by" in settings)
        if column.name not in acceptance.get("groups", {}) and len(column.alternatives) > 1
    ]
    return [*found, Edit(path=("criteria", len(acceptance["criteria"])), toml=table)]


def _name(spec: ReleaseSpec, kind: str, columns: Sequence[str]) -> str:
    """A name that no other criterion has."""
    by = f" by {' and '.join(columns[1:])}" if columns[1:] else ""
    known, words = {each.name for each in spec.criteria}, f"{kind.replace('_', ' ')} of {columns[0]}{by}"[:74]
    return next(name for name in (words, *(f"{words} {number}" for number in range(2, 400))) if name not in known)


def _settings(spec: ReleaseSpec, kind: str, columns: Sequence[Column], value: str) -> dict[str, object]:
    """What the criterion's own settings are to be, by their names."""
    fields, first, names = CRITERIA[kind].model_fields, columns[0], [column.name for column in columns]
    if "tables" in fields:
        return {"tables": [":".join(names)]}
    if "range" in fields and first.bounds is None:
        raise ValueError(f"Expected a column of numbers, found {first.name}, which is none.")
    margins = [float(getattr(each, "size_margin", 0)) for each in spec.criteria]
    known = {"range": list(first.bounds or ()), "size_margin": max(margins) or MARGIN, "bins": [value], "within": 1}
    found: dict[str, object] = {"column": first.name} | ({"by": names[1:]} if names[1:] else {})
    return found | {key: each for key, each in known.items() if key in fields}
