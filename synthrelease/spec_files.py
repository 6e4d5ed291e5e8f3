"""The two TOML files as pydantic models, and mistakes in them as problems with file, path, expected and found."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from synthrelease.errors import Problem, SpecError, closest, listing

MAX_SPEC_BYTES = 1_000_000
Model = TypeVar("Model", bound=BaseModel)
_Bins = list[str | int | float] | dict[str, list[str]]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InputTable(_Table):
    """[input]: public rules for reading the private file."""

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "null", "NULL", "None", ".")
    missing: Literal["drop", "error"] = "error"
    outside: Literal["drop", "clip", "error"] = "error"


class ColumnTable(_Table):
    """[columns.NAME]: a column of the released table."""

    kind: Literal["integer", "real", "category"]
    description: str = ""
    unit: str = ""
    source: str | None = None
    part: Literal["year", "month", "day"] | None = None
    bounds: tuple[float, float] | None = None
    categories: list[str] | dict[str, list[str]] | None = None
    numbers: dict[str, float] = Field(default_factory=dict)
    ordered: bool | None = None
    missing: Literal["drop", "error"] | None = None
    outside: Literal["drop", "clip", "error"] | None = None
    alternatives: dict[str, _Bins] = Field(default_factory=dict)


class RuleTable(_Table):
    """[[rules]]: what must never occur."""

    never: str = Field(min_length=1, max_length=1000)
    applies_to: tuple[Literal["raw", "synthetic"], ...] = Field(default=("raw", "synthetic"), min_length=1)
    why: str = ""


class BudgetTable(_Table):
    """[budget]: epsilon of one fit, and the most that the whole release may cost."""

    generation: Fraction = Field(gt=0)
    limit: Fraction | None = Field(default=None, gt=0)


class SelectionTable(_Table):
    """[selection]: how rounds are repeated."""

    mode: Literal["known_threshold"] = "known_threshold"
    stop_probability: Fraction = Field(default=Fraction(1, 1000), ge=0, le=1)


class ReleaseFile(_Table):
    """configs/<release>.toml"""

    title: str = Field(min_length=1, max_length=300)
    description: str = ""
    acceptance: str
    input: InputTable = InputTable()
    columns: dict[str, ColumnTable] = Field(min_length=1)
    rules: list[RuleTable] = Field(default_factory=list)
    transformations: dict[str, list[str]] = Field(default_factory=dict)
    generators: list[dict[str, Any]] = Field(min_length=1)
    projections: list[dict[str, Any]] = Field(min_length=1)
    budget: BudgetTable
    selection: SelectionTable = SelectionTable()

    @field_validator("columns")
    @classmethod
    def _plain_names(cls, columns: dict[str, ColumnTable]) -> dict[str, ColumnTable]:
        for name in columns:
            if not name.isidentifier() or name in {"and", "or", "not", "in"}:
                raise ValueError(f"column names made of letters, digits and underscores, found {name!r}")
        return columns


class AcceptanceFile(_Table):
    """acceptance/<release>.toml"""

    description: str = ""
    groups: dict[str, _Bins] = Field(default_factory=dict)
    criteria: list[dict[str, Any]] = Field(min_length=1)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, numbers with a point as exact decimals.

    Raises
    ------
    SpecError : when the file is missing, too large, not UTF-8 or not TOML.
    """
    try:
        if path.stat().st_size > MAX_SPEC_BYTES:
            raise SpecError([Problem(file=str(path), path="", expected="a file of at most 1 MB", found="a larger one")])
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
        raise SpecError([Problem(file=str(path), path="", expected="a readable TOML file", found=found)]) from None
    except UnicodeDecodeError:
        raise SpecError([Problem(file=str(path), path="", expected="UTF-8 text", found="other bytes")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError([Problem(file=str(path), path="", expected="valid TOML", found=str(error)[:200])]) from None


def validated(model: type[Model], table: Mapping[str, Any], file: str, path: str = "") -> Model | list[Problem]:
    """The model for a table, or every mistake in it."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        return [_problem(model, item, file, path) for item in error.errors(include_url=False)]


def _problem(model: type[BaseModel], item: Mapping[str, Any], file: str, prefix: str) -> Problem:
    steps = [step for step in item["loc"] if not (isinstance(step, str) and ("[" in step or step in _TYPE_NAMES))]
    path = dotted([prefix, *steps]) if prefix else dotted(steps)
    if item["type"] == "extra_forbidden":
        known = _fields_at(model, steps[:-1])
        name = str(steps[-1])
        return Problem(
            file=file,
            path=path,
            expected=f"one of {listing(known, 30)}",
            found=repr(name),
            suggestion=closest(name, known),
        )
    if item["type"] == "missing":
        return Problem(file=file, path=path, expected="a value: it is required", found="nothing")
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ").removeprefix("expected ")
    suggestion = None
    if item["type"] == "literal_error" and isinstance(item["input"], str):
        suggestion = closest(item["input"], [part.strip(" '") for part in message.replace(" or ", ",").split(",")])
    return Problem(file=file, path=path, expected=message, found=_shown(item["input"]), suggestion=suggestion)


_TYPE_NAMES = {"str", "int", "float", "is-instance", "function-after", "function-before"}


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    text = str(value) if isinstance(value, Decimal | Fraction) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


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


def dotted(steps: Iterable[str | int]) -> str:
    """A TOML path: ["criteria", 2, "by"] is criteria[2].by, counting from 0."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
