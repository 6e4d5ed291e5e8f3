"""Tables of TOML against their models: the model, or every mistake as a problem with file, path, expected and found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import (
    BaseModel,
    ValidationError,
)

from synthrelease.errors import MAX_PROBLEMS, Problem, Unexpected, closest, listing
from synthrelease.toml.baselines import refused_setting
from synthrelease.toml.reading import dotted, shown

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], table: Mapping[str, Any], file: str, path: str = "") -> Model | list[Problem]:
    """The model for a table, or every mistake in it."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        shown_first = error.errors(include_url=False)[: 2 * MAX_PROBLEMS]  # of very many, the rest waits
        found = [_problem(model, item, file, path) for item in shown_first]
    misspelt = {_beside(problem.path, problem.suggestion) for problem in found if problem.suggestion}
    return [
        problem
        for problem in found
        if problem.path not in misspelt
        and not any(other.path.startswith((f"{problem.path}[", f"{problem.path}.")) for other in found)
    ]


def _beside(path: str, name: str) -> str:
    """The path of another key of the same table."""
    return f"{path.rpartition('.')[0]}.{name}".lstrip(".")


def _problem(model: type[BaseModel], item: Mapping[str, Any], file: str, prefix: str) -> Problem:
    steps = item["loc"]
    path = dotted([prefix, *steps]) if prefix else dotted(steps)
    if item["type"] == "extra_forbidden":
        known, name = _fields_at(model, steps[:-1]), str(steps[-1])
        why = refused_setting(name)
        if why is not None:
            return Problem(file=file, path=path, expected=why, found=repr(name))
        expected = f"one of {listing(known, 30)}"
        return Problem(file=file, path=path, expected=expected, found=repr(name), suggestion=closest(name, known))
    if item["type"] == "missing":
        return Problem(file=file, path=path, expected="a value: it is required", found="nothing")
    if item["type"] == "value_error":
        error = item["ctx"]["error"]
        if isinstance(error, Unexpected):
            found = shown(item["input"]) if error.found is None else error.found
            return Problem(file=file, path=path, expected=error.expected, found=found, suggestion=error.suggestion)
        # a rule about several values of one table, in a sentence
        return Problem(file=file, path=path, expected="values that fit together", found=f"a mistake: {error}")
    limits = {name: f"{value:g}" if isinstance(value, float) else value for name, value in item.get("ctx", {}).items()}
    expected = _EXPECTED.get(item["type"], "{message}").format(message=item["msg"], **limits)
    suggestion = None
    if item["type"] == "literal_error" and isinstance(item["input"], str):
        suggestion = closest(item["input"], [part.strip(" '") for part in expected.replace(" or ", ",").split(",")])
    return Problem(file=file, path=path, expected=expected, found=shown(item["input"]), suggestion=suggestion)


_EXPECTED = {
    "literal_error": "{expected}",
    "string_type": "a text in quotes",
    "string_too_short": "a text of at least {min_length} character(s)",
    "string_too_long": "a text of at most {max_length} character(s)",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "fraction_parsing": "a number",
    "finite_number": "a finite number",
    "greater_than": "a number greater than {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number less than {lt}",
    "less_than_equal": "a number of at most {le}",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "at least {min_length} value(s)",
    "too_long": "at most {max_length} value(s)",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
}
"""What to write instead of pydantic's messages, by its type of error."""


def _fields_at(model: type[BaseModel], steps: Sequence[str | int]) -> list[str]:
    """Field names of the model that a path inside `model` leads to."""
    for step in steps:
        field = model.model_fields.get(str(step)) if isinstance(step, str) else None
        inner = _models_in(field.annotation) if field else [model]
        if inner:
            model = inner[0]
    return list(model.model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
