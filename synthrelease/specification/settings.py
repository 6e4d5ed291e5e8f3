"""The words of every setting, read from the docstrings of the models that validate it.

A model describes its fields in the section "Attributes" of its docstring, one entry a field: the name, a colon, the meaning in
words, then "Example:" with lines of TOML in backticks. The editor's schema and docs/settings.md are both made from these
entries.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import get_args

from pydantic import BaseModel

from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS

_ENTRY = re.compile(r"(\w+(?:, \w+)*) : (.+)")
_EXAMPLE = " Example: "


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a docstring says about one setting.

    Attributes
    ----------
    meaning : what the setting does.
    example : one or more lines of TOML; the first names the setting, or all of them are needed to use it.
    of : the class whose docstring has the entry.
    """

    meaning: str
    example: str
    of: type[BaseModel]


@dataclass(frozen=True, kw_only=True)
class TaggedTables:
    """Tables of one list that differ by the value of a key: the generators by `family`, the criteria by `kind`."""

    key: str
    models: Mapping[str, type[BaseModel]]


FAMILIES: dict[str, TaggedTables] = {
    "generators": TaggedTables(key="family", models=GENERATORS),
    "projections": TaggedTables(key="kind", models=PROJECTIONS),
    "criteria": TaggedTables(key="kind", models=CRITERIA),
}
"""The lists of both files whose tables name their own class, by the name of the list."""
EXPANDED = ("generators", "projections")
"""Lists whose settings may themselves be lists of values: every combination is a configuration."""


def words(model: type[BaseModel], field: str) -> Words:
    """The words of a field: those of the model's own docstring, or of the nearest class that it inherits from.

    Both texts are empty where no docstring has an entry (a test demands one), or where Python was told to drop docstrings.
    """
    for owner in model.__mro__:
        text = attributes(owner).get(field, "")
        if text:
            meaning, _, examples = text.partition(_EXAMPLE)
            return Words(meaning=meaning, example="\n".join(re.findall(r"`([^`]+)`", examples)), of=owner)
    return Words(meaning="", example="", of=model)


@cache
def attributes(owner: type) -> dict[str, str]:
    """The entries of the section "Attributes" of a class's own docstring, each as one line."""
    found: dict[str, str] = {}
    names: list[str] = []
    lines = inspect.cleandoc(vars(owner).get("__doc__") or "").splitlines()
    start = next((at for at in range(len(lines) - 1) if lines[at] == "Attributes" and _underlined(lines, at)), len(lines))
    for at in range(start + 2, len(lines)):
        if _underlined(lines, at):
            break
        entry = _ENTRY.fullmatch(lines[at])
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        elif lines[at].startswith(" "):
            found |= {name: f"{found[name]} {lines[at].strip()}" for name in names}
    return found


def _underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and re.fullmatch("-{3,}", lines[at + 1]) is not None


def summary(model: type[BaseModel]) -> str:
    """The first paragraph of a model's docstring, as one line."""
    return " ".join(inspect.cleandoc(vars(model).get("__doc__") or "").partition("\n\n")[0].split())


def inner_models(annotation: object) -> list[type[BaseModel]]:
    """The models that a field's type mentions: those of the tables inside its table."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in inner_models(part)]
