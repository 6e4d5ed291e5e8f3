"""Write docs/settings.md, and the JSON Schemas of both files for editors, when the program is built.

`python -m tests.reference` makes them from the models that a release itself validates with.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.data.texts import entries
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.settings.base import FRACTION_PATTERN
from synthrelease.settings.card import CardTexts
from synthrelease.settings.mistakes import with_separators
from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA, AcceptanceFile, ReleaseFile

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "settings.md"

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
            lines = re.findall(r"`([^`]+)`", examples)
            inner = inner_models(model.model_fields[field].annotation) if field in model.model_fields else []
            if inner and not lines:  # a table of its own has the example of its first setting
                lines = [f"{field}.{words(inner[0], next(iter(inner[0].model_fields))).example}"]
            return Words(meaning=meaning, example="\n".join(lines), of=owner)
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


COMMAND = "python -m tests.reference"
_INTRODUCTION = f"""\
# Settings

Two TOML files specify a release. This page lists every setting of both files.
This command writes the page from the code that reads the files:

```
{COMMAND}
```

A test compares the page with the code.
`synthrelease schema` prints the settings as a JSON Schema, with which an editor completes, explains and checks the files.
`synthrelease init` writes this schema beside its drafts and names it in their first line (`#:schema`).
Editors with Taplo or Even Better TOML find the schema there, without a network.

How to read the tables:

- *required* means that the setting has no default. "-" means that the setting is optional and has no default.
- An *exact number* is used without rounding. You can write a fraction as a text: `"1/20"`.
- A *list of bins* contains texts such as `"<18"`, `"18-19"`, `"20..24"` (each number a bin) and `"1500-4499 by 100"`.
  Bins of real numbers have the form `"2.5 to 3"`.
- If an example has several lines, its first line works only together with the other lines.
- A setting that is a table has a section of its own below.
"""
_MANY = 1000
"""Characters: a limit from here on is no news to anybody who writes a text."""
_LISTS = """\
Every setting may be a list of values. Each combination of values is a configuration that a round may use.
"""


def settings_page() -> str:
    """The page as Markdown."""
    configuration, acceptance = list(_file(ReleaseFile)), list(_file(AcceptanceFile))
    parts = [
        _INTRODUCTION,
        _overview("configuration", configuration),
        _overview("acceptance file", acceptance),
        "## The configuration: configs/NAME.toml\n",
        *configuration,
        "## The acceptance criteria: acceptance/NAME.toml\n",
        *acceptance,
    ]
    return "\n".join(parts)


def _overview(file: str, parts: list[str]) -> str:
    """The tables of a file, one a line with what it is for: a link to each section that names a table."""
    lines = [f"| table of the {file} | content |", "|---|---|"]
    for heading, text in pairwise(parts):
        level, _, table = heading.strip().partition(" ")
        if level == "###" and table.startswith("["):
            first = _FAMILY_HOLDS.get(table) or text.strip().partition(". ")[0].partition(": ")[0].rstrip(".:")
            lines.append(f"| [`{table}`](#{re.sub(r'[^a-z_-]', '', table.lower())}) | {first} |")
    return "\n".join(lines) + "\n"


_FAMILY_HOLDS = {
    "[[generators]]": "The models from which synthetic rows are drawn, by `family`",
    "[[projections]]": "Changes to the table after the rows are drawn, by `kind`",
    "[[criteria]]": "The acceptance criteria with their thresholds, by `kind`",
}


def _file(model: type[BaseModel]) -> Iterator[str]:
    """A file's own settings, then those of each of its tables, in the order of the model."""
    yield f"{_sentence(summary(model).partition(': ')[2])}\n"
    yield _table(model)
    shown: set[type[BaseModel]] = set()
    for name, field in model.model_fields.items():
        if name in FAMILIES:
            yield from _family(name)
        for inner in inner_models(field.annotation):
            yield from _section("###", inner, shown=shown)


def _section(level: str, model: type[BaseModel], heading: str = "", shown: set[type[BaseModel]] | None = None) -> Iterator[str]:
    """A table of the file, once: its heading is the first word of its summary, such as [input]."""
    if shown is not None:
        if model in shown:  # the columns and rules of members are as those of roots
            return
        shown.add(model)
    path, _, text = summary(model).partition(": ")
    yield f"{level} {heading or path}\n"
    yield f"{_sentence(summary(model) if heading else text)}\n"
    if model is CardTexts:
        yield f"{', '.join(f'`{name}`' for name in CardTexts.model_fields)}: each as under [card].\n"
        return
    yield _table(model)
    inner = [each for field in model.model_fields.values() for each in inner_models(field.annotation)]
    for each in dict.fromkeys(inner):
        yield from _section(level, each, "" if summary(each).startswith("[") else f"{path}.{each.__name__}", shown)


def _family(name: str) -> Iterator[str]:
    """A list whose tables name their own class: what all have in common, then one section for each class."""
    family = FAMILIES[name]
    yield f"### [[{name}]]\n"
    if name == "criteria":
        yield "Settings of every criterion:\n"
        yield _table(Criterion, family=family)
    else:
        yield _LISTS
    inner: dict[type[BaseModel], None] = {}
    for value, model in family.models.items():
        yield f'#### {family.key} = "{value}"\n'
        yield f"{_sentence(summary(model))}\n"
        own = [each for each in model.model_fields if each != family.key and words(model, each).of is not Criterion]
        yield _table(model, own) if own else "This generator has no further settings.\n"
        for field in model.model_fields.values():
            inner |= dict.fromkeys(inner_models(field.annotation))
    for each in inner:
        yield from _section("####", each, f"[{name}.{_field_of(name, each)}]")


def _field_of(name: str, inner: type[BaseModel]) -> str:
    """Under which name the tables of a family hold an inner table."""
    fields = (item for model in FAMILIES[name].models.values() for item in model.model_fields.items())
    return next(field for field, info in fields if inner in inner_models(info.annotation))


def _table(model: type[BaseModel], names: list[str] | None = None, family: TaggedTables | None = None) -> str:
    """The settings of a model, or some of them. Of a family's common settings, its key has the first value as its example."""
    schema = table_schema(model, {})
    lines = ["| setting | type | default | meaning | example |", "|---|---|---|---|---|"]
    for name in names if names is not None else model.model_fields:
        found = words(model, name)
        field = model.model_fields[name]
        value = default(field)
        shown = "*required*" if field.is_required() else f"`{_toml(value)}`" if value is not None else "-"
        example = f'{name} = "{next(iter(family.models))}"' if family and name == family.key else found.example
        cells = [
            f"`{name}`",
            type_words(schema["properties"][name]),
            shown,
            _sentence(found.meaning),
            "<br>".join(f"`{line}`" for line in example.splitlines()),
        ]
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    """A text that begins with a capital, unless it begins with a name or a formula, and ends with a full stop."""
    start = text[:1].upper() if re.match(r"[a-z]+[ ,:;]", text) else text[:1]
    return start + text[1:] + ("" if text.endswith(".") else ".")


def _toml(value: Any) -> str:
    return _number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e10 else f"{value:g}"


def type_words(schema: Mapping[str, Any]) -> str:
    """What a value may be, in words, from its JSON Schema."""
    if "const" in schema:
        return _toml(schema["const"])
    if "enum" in schema:
        return _either([_toml(value) for value in schema["enum"]])
    if "anyOf" in schema:
        return _choices(schema["anyOf"])
    if "$ref" in schema:
        return "table"
    kind = schema.get("type")
    if kind == "array" and "prefixItems" in schema:
        return f"[{', '.join(type_words(one) for one in schema['prefixItems'])}]"
    if kind == "array":
        inner = schema["items"]
        return "list of tables" if "oneOf" in inner or "$ref" in inner else f"list of {_plural(type_words(inner))}"
    if kind == "object" and schema.get("additionalProperties") is True:
        return "table of settings"
    if kind == "object":
        values = schema.get("additionalProperties") or next(iter(schema["patternProperties"].values()))
        inner = _plural(type_words(values))
        return f"table of {inner.replace(', or table', ', or of tables')}"
    if kind == "string":
        return _text(schema)
    plain = {"boolean": "true or false", "integer": "whole number", "number": "number"}
    return f"{plain[str(kind)]}{_range(schema)}"


def _choices(choices: list[dict[str, Any]]) -> str:
    if [choice.get("type") for choice in choices] == ["number", "string"] and "pattern" in choices[1]:
        return f"exact number{_range(choices[0])}"
    if [choice.get("type") for choice in choices] == ["array", "object"] and choices[0]["items"].get("type") != "string":
        return "list of bins, or table of groups"
    return _either([type_words(choice) for choice in choices])


def _text(schema: Mapping[str, Any]) -> str:
    if schema.get("format") == "date":
        return "date"
    if schema.get("maxLength") == schema.get("minLength") == 1:
        return "one character"
    most = schema.get("maxLength", _MANY)
    return f"text of at most {most:,} characters" if most < _MANY else "text"


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = {"exclusiveMinimum": "above", "minimum": "of at least", "exclusiveMaximum": "below", "maximum": "of at most"}
    if low is not None and high is not None:
        return f" {with_separators(low)}" if low == high else f" from {with_separators(low)} to {with_separators(high)}"
    texts = [f"{text} {with_separators(schema[key])}" for key, text in limits.items() if key in schema]
    return f" {' and '.join(texts)}".replace("and of", "and") if texts else ""


def _either(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _plural(text: str) -> str:
    for noun in ("text", "number", "exact number", "table"):
        if text == noun or text.startswith(f"{noun} "):
            return f"{noun}s{text[len(noun) :]}"
    return f"{text}s" if text.isalpha() else text.replace("list of", "lists of", 1)


def schemas() -> dict[str, str]:
    """The text of each schema, by the name of its file in configs/."""
    return {CONFIGURATION_SCHEMA: schema_text(configuration_schema()), ACCEPTANCE_SCHEMA: schema_text(acceptance_schema())}


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8", newline="\n")
    for file, text in schemas().items():
        (ROOT / "configs" / file).write_text(text, encoding="utf-8", newline="\n")
