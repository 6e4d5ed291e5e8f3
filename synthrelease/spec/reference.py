"""Describe every setting of both files: its words, read from the docstrings of the models, and JSON Schemas for editors."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.data.texts import entries
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.settings.base import FRACTION_PATTERN
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile

# A model describes its fields in the section "Attributes" of its docstring, one entry a field: the name, a colon, the
# meaning in words, then "Example:" with lines of TOML in backticks. The editor's schema and docs/settings.md are both made
# from these entries.

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
    return entries(vars(owner).get("__doc__") or "", "Attributes")


def summary(model: type[BaseModel]) -> str:
    """The first paragraph of a model's docstring, as one line."""
    return " ".join(inspect.cleandoc(vars(model).get("__doc__") or "").partition("\n\n")[0].split())


def inner_models(annotation: object) -> list[type[BaseModel]]:
    """The models that a field's type mentions: those of the tables inside its table."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in inner_models(part)]


# The two files as JSON Schemas (draft 2020-12), for editors that complete and check TOML.
#
# The schemas are made from the models that a release itself validates with. A schema knows the shape of a file: its names,
# types and ranges. What only shows against the columns (a name that does not exist, bins with a gap) is found by
# `synthrelease plan`.

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
CONFIGURATION_NAME = "configuration.schema.json"
ACCEPTANCE_NAME = "acceptance.schema.json"
"""What `synthrelease init` calls the schemas that it writes beside its drafts."""


def configuration_schema() -> Schema:
    """The schema of configs/NAME.toml. A configuration that extends another needs none of the top-level tables itself."""
    schema = _file_schema(ReleaseFile, "A release's configuration")
    required = schema.pop("required")
    return {**schema, "if": {"not": {"required": ["extends"]}}, "then": {"required": required}}


def acceptance_schema() -> Schema:
    """The schema of acceptance/NAME.toml."""
    return _file_schema(AcceptanceFile, "A release's acceptance criteria")


def schema_text(schema: Schema) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def table_schema(model: type[BaseModel], definitions: Schema) -> Schema:
    """The schema of one table. The tables inside it are added to the definitions."""
    generated = _generated(model)
    properties: Schema = {}
    for name, field in model.model_fields.items():
        for inner in inner_models(field.annotation):
            if inner.__name__ not in definitions:
                definitions[inner.__name__] = {}  # its place, should it mention itself
                definitions[inner.__name__] = table_schema(inner, definitions)
        found = _union(FAMILIES[name], name, definitions) if name in FAMILIES else _plain(generated[name])
        properties[name] = {**found, **_explained(model, name, field)}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if issubclass(model, Criterion) and model.compares:  # paid for, or answered by measurements where its kind can be
        if model.no_measured_bound:
            required.append("epsilon")
        else:
            schema["anyOf"] = [{"required": ["epsilon"]}, {"required": ["answered_by"]}]
    return {**_described(summary(model)), **schema, **({"required": required} if required else {})}


@cache
def _generated(model: type[BaseModel]) -> Schema:
    """Its properties as pydantic writes them."""
    properties: Schema = model.model_json_schema(mode="validation")["properties"]
    return properties


def default(field: FieldInfo) -> Any:
    """A field's default as TOML and JSON can write it; None where there is none, or where it is a table or a computed value."""
    value = None if field.is_required() else field.default
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | float) else None


def _file_schema(model: type[BaseModel], title: str) -> Schema:
    definitions: Schema = {}
    schema = table_schema(model, definitions)
    return {"$schema": DIALECT, "title": title, **schema, "$defs": definitions}


def _union(family: TaggedTables, name: str, definitions: Schema) -> Schema:
    """A list of tables, each of the one shape that the value of its key stands for."""
    references = []
    for value, model in family.models.items():
        table = table_schema(model, definitions)
        if name in EXPANDED:
            table["properties"] = {
                setting: found if setting == family.key else _or_list(found) for setting, found in table["properties"].items()
            }
        key = {"const": value, **_described(words(model, family.key).meaning)}
        table["properties"] = {family.key: key, **{k: v for k, v in table["properties"].items() if k != family.key}}
        table["required"] = [family.key, *(one for one in table.get("required", []) if one != family.key)]
        place = f"{name}.{value}"
        definitions[place] = {"title": value, **table}
        references.append({"$ref": f"#/$defs/{place}"})
    return {"type": "array", "minItems": 1, "maxItems": 200, "items": {"oneOf": references}}


def _or_list(one: Schema) -> Schema:
    """One value, or a list of values of which each is tried."""
    kept = ("description", "default", "examples")
    value = {key: inner for key, inner in one.items() if key not in kept}
    listed = {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}
    return {**listed, **{key: one[key] for key in kept if key in one}}


def _plain(schema: Any) -> Any:
    """What pydantic generates, without what TOML has not (null), and with fractions as the reader takes them."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("format") == "fraction":
        return {"type": "string", "pattern": f"^{FRACTION_PATTERN}$"}
    kept = {key: _plain(value) for key, value in schema.items() if key not in ("title", "default", "description")}
    if "anyOf" in kept:
        choices = [choice for choice in kept.pop("anyOf") if choice != {"type": "null"}]
        return {**kept, **(choices[0] if len(choices) == 1 else {"anyOf": choices})}
    return kept


def _explained(model: type[BaseModel], name: str, field: FieldInfo) -> Schema:
    value = default(field)
    return {**_described(words(model, name).meaning), **({} if value is None else {"default": value})}


def _described(text: str) -> Schema:
    return {"description": text} if text else {}
