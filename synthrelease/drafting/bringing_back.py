"""A column of the public file that a configuration does not release, added with what has to name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthrelease.drafting.column_draft import plain_name
from synthrelease.drafting.edited import Edit
from synthrelease.drafting.other_kind import Kind, column_as
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.toml_text import toml
from synthrelease.errors import InputError
from synthrelease.generators.measurements import read_terms
from synthrelease.spec.release_spec import ReleaseSpec


def bring_back(
    spec: ReleaseSpec,
    configuration: Mapping[str, Any],
    acceptance: Mapping[str, Any],
    file: PublicFile,
    source: str,
    kind: Kind,
) -> tuple[list[Edit], list[Edit]]:
    """The changes of the configuration and of the acceptance file.

    It is released in its coarse bins, and a generator that measures tables by name measures its single table with the weight
    of the like. Criteria that ask about every column leave it out of account.

    Parameters
    ----------
    configuration, acceptance : the tables of the two files.
    source : the column of the file.

    Raises
    ------
    InputError : where its values are of no such kind, or it is released.
    """
    if source not in file.columns or any(source in column.sources for column in spec.schema.columns):
        raise InputError(f"{source!r} is no column of the public file that is left out.")
    if source == spec.unit.key:
        raise InputError(f"{source!r} says whose row a row is, so it is never released.")
    settings = column_as(file, source, kind)
    name = plain_name(source, spec.schema.names)
    if name == source:
        del settings["source"]
    edits = [Edit(path=("columns", name, key), toml=toml(value)) for key, value in settings.items()]
    alternatives = list(settings.get("alternatives", {}))
    if alternatives and configuration.get("transformations"):
        edits.append(Edit(path=("transformations", name), toml=toml(alternatives[:1])))
    for place, generator in enumerate(configuration["generators"]):
        given = generator.get("tables")
        if isinstance(given, str) and not _covers_all(given):
            edits.append(Edit(path=("generators", place, "tables"), toml=_written(given, name)))
        elif isinstance(given, list):
            terms = [text if _covers_all(text) else f"{text} + {_term(text, name)}" for text in given]
            edits.append(Edit(path=("generators", place, "tables"), toml=toml(terms)))
    ignoring = [
        Edit(path=("criteria", place, "ignored"), toml=toml([*table.get("ignored", ()), name]))
        for place, (table, criterion) in enumerate(zip(acceptance["criteria"], spec.criteria, strict=True))
        if "ignored" in type(criterion).model_fields
    ]
    return edits, ignoring


def _covers_all(tables: str) -> bool:
    return any(term.ways and term.weight for term in read_terms(tables))


def _term(tables: str, name: str) -> str:
    """The table of the column alone, with the middle weight of the others of one column."""
    weights = sorted(float(term.weight) for term in read_terms(tables) if len(term.columns) == 1)
    weight = weights[len(weights) // 2] if weights else 1.0
    return name if weight == 1 else f"{weight:g} {name}"


def _written(tables: str, name: str) -> str:
    """The formula with one more term, in the lines that it has."""
    if "\n" not in tables.strip():
        return toml(f"{tables} + {_term(tables, name)}")
    return f'"""\n{tables.strip()} +\n{_term(tables, name)}\n"""'
