"""The editor's schemas: what is shipped validates, and mistakes of shape do not."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import ROOT
from tests.reference import FAMILIES, acceptance_schema, configuration_schema, schema_text, schemas

pytestmark = pytest.mark.slow

SPECS = ROOT / "tests" / "helpers" / "specs"
BAD = Path(__file__).parent / "bad_specs"
CONFIGURATIONS = [*(ROOT / "configs").rglob("*.toml"), SPECS / "labour_force.toml", BAD / "base" / "release.toml"]
ACCEPTANCES = [*(ROOT / "acceptance").glob("*.toml"), SPECS / "labour_force_acceptance.toml", BAD / "base" / "acceptance.toml"]
OF_SHAPE = [
    "bins_empty",
    "column_kind_unknown",
    "criterion_unknown",
    "delimiter_too_long",
    "epsilon_exponent_in_quotes",
    "epsilon_missing",
    "epsilon_negative",
    "epsilon_split_one",
    "epsilon_text",
    "epsilon_true",
    "epsilon_zero",
    "false_acceptance_half",
    "formula_missing",
    "generator_unknown",
    "generator_without_family",
    "hyperparameter_list_empty",
    "keep_unknown",
    "key_misspelt_at_top",
    "key_misspelt_in_column",
    "key_misspelt_in_criterion",
    "key_misspelt_in_generator",
    "key_misspelt_in_input",
    "key_misspelt_in_prior",
    "key_misspelt_in_projection",
    "key_misspelt_in_rule",
    "list_for_table",
    "list_inside_bins",
    "many_at_once",
    "measurements_unknown",
    "minimum_count_fraction",
    "number_for_groups",
    "number_for_text",
    "number_in_categories",
    "one_step_without_range",
    "outside_unknown",
    "prediction_bound_unknown",
    "prior_weight_zero",
    "projection_unknown",
    "projections_empty",
    "rule_applies_to_unknown",
    "stop_probability_above_one",
    "table_for_list",
    "test_unknown",
    "text_for_bins",
    "text_for_categories",
    "text_for_list",
    "text_for_number",
    "three_bounds",
    "threshold_zero",
    "title_missing",
]
"""Cases of bad_specs whose mistake is one of shape: a name, a type, a range, a setting that is missing."""


def as_json(value: Any) -> Any:
    """TOML's values as JSON has them: a date is a text."""
    if isinstance(value, dict):
        return {key: as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


configuration_schema, acceptance_schema = cache(configuration_schema), cache(acceptance_schema)


def mistakes(schema: dict[str, Any], text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(as_json(tomllib.loads(text)))]


@cache
def mistakes_of(schema_of: Callable[[], dict[str, Any]], text: str) -> list[str]:
    """Once for each text: a case changes one of the two files of the base, and most of the time is that of the other."""
    return mistakes(schema_of(), text)


@pytest.mark.parametrize("schema_of", [configuration_schema, acceptance_schema], ids=["configuration", "acceptance"])
def test_it_is_a_schema_of_the_draft_that_it_names_and_survives_its_file(schema_of: Callable[[], dict[str, Any]]) -> None:
    schema = schema_of()
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    assert json.loads(schema_text(schema)) == schema


def test_the_shipped_schemas_are_those_of_the_models() -> None:
    shipped = {name: (ROOT / "configs" / name).read_text(encoding="utf-8") for name in schemas()}
    assert shipped == schemas(), "run `make settings`"


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name)
def test_every_configuration_that_is_shipped_validates(path: Path) -> None:
    assert mistakes(configuration_schema(), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", ACCEPTANCES, ids=lambda path: path.name)
def test_every_acceptance_file_that_is_shipped_validates(path: Path) -> None:
    assert mistakes(acceptance_schema(), path.read_text(encoding="utf-8")) == []


def changed(case: str) -> list[str]:
    """Mistakes that the two schemas find in the small specification with the changes of a case."""
    texts = {name: (BAD / "base" / name).read_text(encoding="utf-8") for name in ("release.toml", "acceptance.toml")}
    for edit in tomllib.loads((BAD / "cases" / f"{case}.toml").read_text(encoding="utf-8"))["change"]:
        texts[edit["file"]] = texts[edit["file"]].replace(edit["from"], edit["to"])
    both = configuration_schema, acceptance_schema
    return [mistake for one, text in zip(both, texts.values(), strict=True) for mistake in mistakes_of(one, text)]


@pytest.mark.parametrize("case", OF_SHAPE)
def test_a_mistake_of_shape_does_not_validate(case: str) -> None:
    assert changed(case) != []


@pytest.mark.parametrize(
    "case", ["bins_leave_a_gap", "column_misspelt_in_rule", "bin_straddles_a_group", "formula_column_misspelt"]
)
def test_what_only_shows_against_the_columns_is_left_to_the_program(case: str) -> None:
    assert changed(case) == []


@pytest.mark.parametrize(
    ("list_of", "key"), [("generators", "family"), ("projections", "kind"), ("criteria", "kind")], ids=lambda name: name
)
def test_a_table_of_a_family_has_the_settings_of_its_own_class_and_no_other(list_of: str, key: str) -> None:
    schema = acceptance_schema() if list_of == "criteria" else configuration_schema()
    references = {one["$ref"].rpartition("/")[2] for one in schema["properties"][list_of]["items"]["oneOf"]}
    assert references == {f"{list_of}.{value}" for value in FAMILIES[list_of].models}
    for value, model in FAMILIES[list_of].models.items():
        table = schema["$defs"][f"{list_of}.{value}"]
        assert table["properties"][key]["const"] == value
        assert key in table["required"]
        assert set(table["properties"]) == set(model.model_fields)
        assert table["additionalProperties"] is False


def test_hyperparameters_may_be_lists_and_settings_of_criteria_may_not() -> None:
    base = (BAD / "base" / "release.toml").read_text(encoding="utf-8")
    assert mistakes(configuration_schema(), base.replace("epsilon_split = 0.1", "epsilon_split = [0.1, '1/3']")) == []
    assert mistakes(configuration_schema(), base.replace("epsilon_split = 0.1", "epsilon_split = [0.1, 1]")) != []
    acceptance = (BAD / "base" / "acceptance.toml").read_text(encoding="utf-8")
    assert mistakes(acceptance_schema(), acceptance.replace("size_margin = 0.01", "size_margin = [0.01]")) != []


def test_a_fraction_may_be_a_number_or_a_text_that_the_reader_takes() -> None:
    acceptance = (BAD / "base" / "acceptance.toml").read_text(encoding="utf-8")
    for text, good in (('"1/20"', True), ('"0.05"', True), ("0.05", True), ('"1/0"', False), ('"a"', False), ("true", False)):
        table = f'name = "x"\nkind = "relative_marginal_error"\nclip = 2\nthreshold = 1.5\nepsilon = {text}'
        assert (mistakes(acceptance_schema(), f"{acceptance}\n[[criteria]]\n{table}") == []) == good, text


def test_a_configuration_needs_its_tables_unless_it_extends_another() -> None:
    assert len(mistakes(configuration_schema(), 'title = "x"')) > 0
    assert mistakes(configuration_schema(), 'extends = "births.toml"') == []
    assert mistakes(configuration_schema(), 'extends = "births.toml"\n[budget]\nlimit = 3') != []  # a table is taken whole
