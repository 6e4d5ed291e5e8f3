"""Write docs/settings.md: every setting of both files with its type, default, meaning and example.

`python -m tests.settings_page` writes it, when the program is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from synthrelease.criteria.base import Criterion
from synthrelease.settings.card import CardTexts
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.spec.reference import FAMILIES, TaggedTables, default, inner_models, summary, table_schema, words

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
COMMAND = "python -m tests.settings_page"
_INTRODUCTION = f"""\
# Settings

A release is two TOML files. This page has every setting of both. It is written by

```
{COMMAND}
```

from the models that read the files, and a test keeps the two the same. `synthrelease schema` prints the same as a JSON Schema,
with which an editor completes, explains and checks the files: `synthrelease init` puts it beside its drafts and names it in
their first line (`#:schema`, as Taplo and the extension Even Better TOML read it), without a network.

How to read the tables:

- *required* stands where a setting has no default; "-" where leaving it out means that there is none.
- An *exact number* is used as it is written, without rounding. It may be a text, for a fraction: `"1/20"`.
- A *list of bins* is written as people write them: `"<18"`, `"18-19"`, `"20..24"` (each number a bin), `"1500-4499 by 100"`,
  and `"2.5 to 3"` for real numbers.
- Where an example has several lines, the others are what the first needs beside it.
"""
_MANY = 1000
"""Characters: a limit from here on is no news to anybody who writes a text."""
_LISTS = """\
Every setting may be a list of values: each value is tried, and all combinations of lists are in the space.
"""


def settings_page() -> str:
    """The page as Markdown."""
    parts = [
        _INTRODUCTION,
        "## The configuration: configs/NAME.toml\n",
        *_file(ReleaseFile),
        "## The acceptance criteria: acceptance/NAME.toml\n",
        *_file(AcceptanceFile),
    ]
    return "\n".join(parts)


def _file(model: type[BaseModel]) -> Iterator[str]:
    """A file's own settings, then those of each of its tables, in the order of the model."""
    yield f"{_sentence(summary(model).partition(': ')[2])}\n"
    yield _table(model)
    for name, field in model.model_fields.items():
        if name in FAMILIES:
            yield from _family(name)
        for inner in inner_models(field.annotation):
            yield from _section("###", inner)


def _section(level: str, model: type[BaseModel], heading: str = "") -> Iterator[str]:
    """A table of the file: its heading is the first word of its summary, such as [input]."""
    path, _, text = summary(model).partition(": ")
    yield f"{level} {heading or path}\n"
    yield f"{_sentence(summary(model) if heading else text)}\n"
    if model is CardTexts:
        yield f"{', '.join(f'`{name}`' for name in CardTexts.model_fields)}: each as under [card].\n"
        return
    yield _table(model)
    inner = [each for field in model.model_fields.values() for each in inner_models(field.annotation)]
    for each in dict.fromkeys(inner):
        yield from _section(level, each, "" if summary(each).startswith("[") else f"{path}.{each.__name__}")


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
        yield _table(model, own) if own else "It has no further settings.\n"
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
    return f"text of at most {most} characters" if most < _MANY else "text"


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = {"exclusiveMinimum": "above", "minimum": "of at least", "exclusiveMaximum": "below", "maximum": "of at most"}
    if low is not None and high is not None:
        return f" {_number(low)}" if low == high else f" from {_number(low)} to {_number(high)}"
    texts = [f"{text} {_number(schema[key])}" for key, text in limits.items() if key in schema]
    return f" {' and '.join(texts)}".replace("and of", "and") if texts else ""


def _either(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _plural(text: str) -> str:
    for noun in ("text", "number", "exact number", "table"):
        if text == noun or text.startswith(f"{noun} "):
            return f"{noun}s{text[len(noun) :]}"
    return f"{text}s" if text.isalpha() else text.replace("list of", "lists of", 1)


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8", newline="\n")
