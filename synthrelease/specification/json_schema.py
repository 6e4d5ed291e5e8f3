"""The two files as JSON Schemas (draft 2020-12), for editors that complete and check TOML.

The schemas are made from the models that a release itself validates with. A schema knows the shape of a file: its names, types
and ranges. What only shows against the columns (a name that does not exist, bins with a gap) is found by `synthrelease plan`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from synthrelease.criteria.base import Criterion
from synthrelease.settings.base import FRACTION_PATTERN
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.specification.settings import EXPANDED, FAMILIES, TaggedTables, inner_models, summary, words

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
