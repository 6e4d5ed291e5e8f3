"""A criterion that a steward asks for in words, as a table of the acceptance file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from synthrelease.domain.schema import Column
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.text import toml
from synthrelease.specification.release_spec import ReleaseSpec

Asked = Literal["shares", "moved", "mean", "median", "distribution", "value"]
WORDS: Mapping[Asked, str] = {
    "shares": "Every cell of a table of columns: the largest error of a share of the rows",
    "moved": "A table of columns as a whole: the share of the rows in a wrong cell",
    "mean": "The mean of a column of numbers, also in groups: its largest error",
    "median": "The median of a column of numbers, also in groups: whether it lies in the bin of the released one or next to it",
    "distribution": "How a column is distributed, also in groups: the largest error of a cumulated share",
    "value": "How often a value occurs, also in groups: the largest error of a share of a group",
}
"""What can be asked for, in words."""
MARGIN = 0.02
"""By how much of all rows a group may be smaller than in the candidate, where the criteria say nothing else."""


def criterion_edits(
    spec: ReleaseSpec,
    acceptance: Mapping[str, Any],
    asked: str,
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
    columns : the column that it is about, and those of the table, or to group by.
    threshold, epsilon : numbers as they are written.
    value : of "value", a label.

    Raises
    ------
    ValueError : for columns that there are not, and another question.
    """
    what = next((each for each in get_args(Asked) if each == asked), None)
    named = list(dict.fromkeys(name for name in columns if name))
    unknown = [name for name in named if name not in spec.schema.by_name]
    if what is None or unknown or not named:
        raise ValueError(f"Expected a kind of criterion and columns of the release, found {', '.join(unknown) or 'none'}.")
    first, by = spec.schema[named[0]], named[1:]
    settings = {"name": _name(spec, what, named, value), **_settings(spec, what, first, named, value)}
    lines = {key: toml(each) for key, each in settings.items()} | {"threshold": threshold, "epsilon": epsilon}
    if reason:
        lines["reason"] = toml(reason)
    table = "{ " + ", ".join(f"{key} = {each}" for key, each in lines.items()) + " }"
    groups = [] if what in ("shares", "moved") else [spec.schema[name] for name in by]
    found = [
        Edit(path=("groups", column.name), toml=toml(next(iter(column.alternatives))))
        for column in groups
        if column.name not in acceptance.get("groups", {}) and len(column.alternatives) > 1
    ]
    return [*found, Edit(path=("criteria", len(acceptance["criteria"])), toml=table)]


def _name(spec: ReleaseSpec, what: Asked, columns: Sequence[str], value: str) -> str:
    """A name that no other criterion has."""
    first, by = columns[0], columns[1:]
    begins = {"shares": "shares of", "moved": "table of", "distribution": "distribution of", "value": f"share of {value} in"}
    joint = " by " if what in ("shares", "moved") else " and "
    words = f"{begins.get(what, what)} {first}" + (f" by {joint.join(by)}" if by else "")
    known, words = {each.name for each in spec.criteria}, " ".join(words.split())[:74]
    return next(name for name in (words, *(f"{words} {number}" for number in range(2, 400))) if name not in known)


def _settings(spec: ReleaseSpec, what: Asked, first: Column, columns: Sequence[str], value: str) -> dict[str, object]:
    by: dict[str, object] = {"column": first.name, **({"by": list(columns[1:])} if columns[1:] else {})}
    if what == "shares":
        return {"kind": "absolute_marginal_error", "tables": [":".join(columns)]}
    if what == "moved":
        return {"kind": "mean_marginal_error", "tables": [":".join(columns)]}
    if what == "mean":
        if first.bounds is None:
            raise ValueError(f"Expected a column of numbers, found {first.name}, which is none.")
        margins = [float(getattr(each, "size_margin", 0)) for each in spec.criteria]
        return {"kind": "conditional_mean", **by, "range": list(first.bounds), "size_margin": max(margins) or MARGIN}
    if what == "median":
        return {"kind": "conditional_median", **by, "within": 1}
    if what == "value":
        return {"kind": "difference_in_proportions", **by, "bins": [value]}
    return {"kind": "kolmogorov_distance", **by}
