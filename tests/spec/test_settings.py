"""docs/settings.md: written by the command, complete, and every example in it is one that a release could have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from pydantic import BaseModel

from synthrelease.criteria.base import Criterion
from synthrelease.settings.base import SpecTable
from synthrelease.settings.card import CardTexts
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from tests.conftest import ROOT
from tests.reference import COMMAND, EXPANDED, FAMILIES, attributes, inner_models, settings_page, table_schema, words
from tests.spec.test_json_schema import as_json

PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \| (.*) \|$", re.MULTILINE)


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model, and all that stand in its tables."""
    yield model
    for name, field in model.model_fields.items():
        inner = [*FAMILIES[name].models.values()] if name in FAMILIES else inner_models(field.annotation)
        for each in inner:
            yield from models(each)


MODELS = list(dict.fromkeys([*models(ReleaseFile), *models(AcceptanceFile)]))
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
KEYS = {family.key for family in FAMILIES.values()}


def family_of(model: type[BaseModel]) -> tuple[str, str, str] | None:
    """The list, the key and its value of a model that is one of a family."""
    for name, family in FAMILIES.items():
        for value, one in family.models.items():
            if one is model:
                return name, family.key, value
    return None


def test_the_page_is_what_the_command_writes() -> None:
    assert settings_page() == PAGE, f"run `{COMMAND}`"
    assert COMMAND in PAGE


def section(model: type[BaseModel]) -> str:
    """The part of the page with the table of a model: from its heading to the next."""
    family = family_of(model)
    heading = {
        ReleaseFile: "## The configuration: configs/NAME.toml",
        AcceptanceFile: "## The acceptance criteria: acceptance/NAME.toml",
    }.get(model)
    if family:
        start = PAGE.index(f"### [[{family[0]}]]")
        heading = f'#### {family[1]} = "{family[2]}"'
    else:
        start = 0
        inner = {"PriorGuess": "criteria.prior", "AgreedTable": "criteria.agreed", "ReleasedPrior": "generators.prior"}
        heading = heading or (f"#### [{inner[model.__name__]}]" if model.__name__ in inner else "")
        heading = heading or f"### {(model.__doc__ or '').partition(':')[0]}"
    start = PAGE.index(f"{heading}\n", start)
    return PAGE[start : PAGE.find("\n#", start + 1)]


@each_model
def test_every_field_of_every_model_stands_on_the_page_with_all_its_words(model: type[BaseModel]) -> None:
    for name in model.model_fields:
        assert stands_on_the_page(model, name), name


def stands_on_the_page(model: type[BaseModel], name: str) -> bool:
    if model is CardTexts:
        return f"`{name}`" in section(model)
    family = family_of(model)
    if family and name == family[1]:
        return f'#### {name} = "{family[2]}"' in PAGE
    rows = {row[0]: row[1:] for row in ROW.findall(section(model))}
    if family and name not in rows:  # what all criteria have in common
        start = PAGE.index(f"### [[{family[0]}]]")
        rows = {row[0]: row[1:] for row in ROW.findall(PAGE[start : PAGE.index("\n#### ", start)])}
    kind, default, meaning, example = rows[name]
    return bool(kind and default and len(meaning.split()) > 1 and f"`{name}" in example)


@each_model
def test_a_docstring_describes_nothing_that_is_no_field(model: type[BaseModel]) -> None:
    assert set(attributes(model)) <= set(model.model_fields)


def parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def plain(value: Any) -> Any:
    """Numbers as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return float(value) if isinstance(value, Decimal) else value


def refused(model: type[BaseModel], name: str) -> bool:
    """Whether this kind of criterion refuses the setting whatever it is."""
    return name == "answered_by" and issubclass(model, Criterion) and bool(model.no_measured_bound)


def completed(model: type[BaseModel], table: dict[str, Any]) -> dict[str, Any]:
    """The table with the examples of all settings that are required and that it has not."""
    for name, field in model.model_fields.items():
        family = family_of(model)
        if family and name == family[1]:
            table = {name: family[2], **table}
        elif field.is_required() and name not in table:
            table = {**parsed(words(model, name).example), **table}
    if issubclass(model, Criterion) and model.compares and not {"epsilon", "answered_by"} & set(table):
        table = {**parsed(words(model, "epsilon").example), **table}
    return table


def completed_inside(model: type[BaseModel], table: dict[str, Any]) -> dict[str, Any]:
    """Tables inside the example completed in the same way."""
    for name, value in table.items():
        inner = inner_models(model.model_fields[name].annotation)
        if isinstance(value, dict) and inner and set(value) & set(inner[0].model_fields):
            table = {**table, name: completed(inner[0], value)}
    return table


@pytest.mark.slow
@each_model
def test_every_example_validates_by_the_schema_and_by_the_model(model: type[BaseModel]) -> None:
    definitions: dict[str, Any] = {}
    schema = table_schema(model, definitions)
    validator = Draft202012Validator({**schema, "$defs": definitions})
    family = family_of(model)
    expanded = family is not None and family[0] in EXPANDED
    for name in model.model_fields:
        if name in KEYS or refused(model, name):
            continue
        example = parsed(words(model, name).example)
        assert name in example
        table = completed_inside(model, completed(model, example))
        first = {key: value[0] if expanded and isinstance(value, list) else value for key, value in table.items()}
        try:
            validator.validate(as_json(plain(first)))
            model.model_validate(first)
        except (ValueError, ValidationError) as error:
            raise AssertionError(f"{model.__name__}, the example of {name}: {error}") from error


def test_words_of_a_setting_are_those_of_the_nearest_docstring() -> None:
    class Base(SpecTable):
        """A table.

        Attributes
        ----------
        one, two : of both,
            in two lines. Example: `one = 1`, `two = 2`.
        three : alone. Example: `three = 3`.

        Privacy
        -------
        four : no setting.
        """

        one: int

    class Derived(Base):
        """Another.

        Attributes
        ----------
        three : its own.
        """

    assert words(Derived, "two").meaning == "of both, in two lines."
    assert words(Derived, "two").example == "one = 1\ntwo = 2"
    assert (words(Derived, "three").meaning, words(Derived, "three").of) == ("its own.", Derived)
    assert words(Derived, "four").meaning == ""
