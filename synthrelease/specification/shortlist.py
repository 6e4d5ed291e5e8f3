"""shortlist.toml: the configurations that a release draws from, found in a rehearsal on public data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from synthrelease.candidates.configuration import Configuration, ConfigurationSpace
from synthrelease.candidates.generators import GENERATORS
from synthrelease.candidates.projections import PROJECTIONS
from synthrelease.errors import Problem, SpecError
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.toml.fields import SpecTable
from synthrelease.toml.reading import read_toml
from synthrelease.toml.validation import validated


class ShortlistTable(SpecTable):
    """[[configurations]]: one configuration, as `Configuration.describe` writes it, and what was found out about it."""

    transformation: dict[str, str]
    generator: dict[str, Any]
    projection: dict[str, Any]
    acceptance: float | None = None
    interval: list[float] = Field(default_factory=list)
    attempts: int | None = None


class RehearsedTable(SpecTable):
    """[data]: what it was rehearsed on, so that a release of that very table is refused (`same_file`).

    Behind the URI of a database there are 0 bytes.
    """

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    table: str = Field(pattern="^[0-9a-f]{64}$")


class ShortlistFile(SpecTable):
    """shortlist.toml"""

    title: str = ""
    data: RehearsedTable | None = None
    configurations: list[ShortlistTable] = Field(min_length=1)


def narrowed(spec: ReleaseSpec, path: str | Path) -> ReleaseSpec:
    """The specification with its space narrowed to a shortlist.

    Drawing stays uniform, from a set that was fixed beforehand on public data (theory 2.3, what rounds may use). The charges
    stay the same.

    Raises
    ------
    SpecError : when the file cannot be read, or names a configuration that the space does not have.
    """
    return _drawn_from(spec, _read(path).configurations, str(path))


def narrowed_to(spec: ReleaseSpec, tables: Any, file: str) -> ReleaseSpec:
    """The same for the configurations that a published specification lists. Raises SpecError as `narrowed`."""
    read = validated(ShortlistFile, {"configurations": tables}, file)
    if isinstance(read, list):
        raise SpecError(read)
    return _drawn_from(spec, read.configurations, file)


def _drawn_from(spec: ReleaseSpec, tables: Sequence[ShortlistTable], path: str) -> ReleaseSpec:
    places = _places(spec.space)
    indices: list[int] = []
    problems = []
    for number, table in enumerate(tables):
        described = {
            "transformation": table.transformation,
            "generator": _with_defaults(table.generator, GENERATORS, "family"),
            "projection": _with_defaults(table.projection, PROJECTIONS, "kind"),
        }
        index = _index(spec.space, places, described)
        if index is None:
            expected = f"a configuration of {spec.path}"
            found = "one that its space does not have; perhaps the space was changed since the rehearsal"
            problems.append(Problem(file=path, path=f"configurations[{number}]", expected=expected, found=found))
        elif index in indices:
            problems.append(
                Problem(file=path, path=f"configurations[{number}]", expected="each once", found="the same one twice")
            )
        else:
            indices.append(index)
    if problems:
        raise SpecError(problems)
    return replace(spec, space=replace(spec.space, shortlist=tuple(indices)))


def configuration_of(spec: ReleaseSpec, described: Mapping[str, Any]) -> Configuration | None:
    """The configuration that is published so, where the release could have drawn it; None otherwise."""
    try:
        index = _index(spec.space, _places(spec.space), described)
    except (AttributeError, LookupError, TypeError):  # not the tables of a configuration
        return None
    drawn_from = spec.space.shortlist
    if index is None or (drawn_from is not None and index not in drawn_from):
        return None
    return spec.space[index if drawn_from is None else drawn_from.index(index)]


def rehearsed_on(path: str | Path) -> RehearsedTable | None:
    """What a shortlist was rehearsed on; None where it does not say. Raises SpecError as `narrowed`."""
    return _read(path).data


def _read(path: str | Path) -> ShortlistFile:
    file = validated(ShortlistFile, read_toml(Path(path)), str(path))
    if isinstance(file, list):
        raise SpecError(file)
    return file


def _places(space: ConfigurationSpace) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Index of every transformation, generator and projection by its description."""
    generators = [item.model_dump(mode="json", exclude_none=True) for item in space.generators]
    projections = [item.model_dump(mode="json") for item in space.projections]
    choices = [transformation.choice for transformation in space.transformations]
    first, second, third = ({_key(item): i for i, item in enumerate(items)} for items in (choices, generators, projections))
    return first, second, third


def _index(
    space: ConfigurationSpace, places: tuple[dict[str, int], dict[str, int], dict[str, int]], described: Mapping[str, Any]
) -> int | None:
    parts = ("transformation", "generator", "projection")
    transformation, generator, projection = (
        place.get(_key(described[part])) for place, part in zip(places, parts, strict=True)
    )
    if transformation is None or generator is None or projection is None:
        return None
    return (transformation * len(space.generators) + generator) * len(space.projections) + projection


def _with_defaults(table: Mapping[str, Any], known: Mapping[str, type[BaseModel]], key: str) -> dict[str, Any]:
    """The settings with those that were left out: a shortlist may be older than a setting."""
    model = known.get(str(table.get(key)))
    fields = model.model_fields if model else {}
    defaults = {name: field.default for name, field in fields.items() if not field.is_required() and field.default is not None}
    return {**defaults, **table}


def _key(item: Mapping[str, Any]) -> str:
    """The same text for 20, 20.0 and the decimal 20."""
    plain = {name: float(value) if isinstance(value, int | float | Decimal) else str(value) for name, value in item.items()}
    return json.dumps(plain, sort_keys=True)


def shortlist_text(title: str, configurations: Sequence[Mapping[str, Any]], data: RehearsedTable | None = None) -> str:
    """The text of shortlist.toml; each configuration has the fields of `ShortlistTable`."""
    lines = [
        "# Drawn up by `synthrelease rehearse` on public data, for `synthrelease release --shortlist`. Configurations may be",
        "# taken out by hand, before any private data are read.",
        f"title = {_toml(title)}",
    ]
    if data is not None:
        lines.append(f"data = {_toml(data.model_dump())}  # the public file; releases of this very file are refused")
    for table in configurations:
        lines += ["", "[[configurations]]"] + [f"{key} = {_toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML knows no surrogate pairs, and no raw DEL
