"""Validate TOML tables with pydantic models. Every mistake becomes a `Problem`, with the file, the TOML path and a message."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from synthrelease.errors import MAX_PROBLEMS, Problem, SpecError, Unexpected, closest, listing, mistake
from synthrelease.settings.base import Mistake, unknown
from synthrelease.settings.reading import ConfigurationFile, dotted, value_text

# Methods that `compare` uses on public data and that a release refuses: the reason, and an alternative.

_SAID = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))


def _refusal(reasons: Sequence[Mapping[str, Any]], name: str) -> str | None:
    """Explain why the program refuses a method or setting of this name, and what to use instead. Return None for other
    names."""
    spoken = re.sub(r"[\s_-]+", " ", name.strip().lower())
    return next((" ".join(entry["why"].split()) for entry in reasons if any(word in spoken for word in entry["words"])), None)


# Mistakes in the two files. Mistakes are collected so that a steward sees all mistakes at once.

Model = TypeVar("Model", bound=BaseModel)


class Problems:
    """Collects the problems, in `found`, of a configuration `file` and its acceptance file."""

    def __init__(self, configuration: ConfigurationFile):
        self._configuration = configuration
        self.file = str(configuration.path)
        self.found: list[Problem] = []

    def add(
        self, path: str, text: str, found: str | None = None, suggestion: str | None = None, file: str | None = None
    ) -> None:
        """Add a problem. `errors.mistake` formats its message from `text` and `found`."""
        self.found.append(Problem(file or self.file, path, mistake(text, found), suggestion))

    def add_unknown(self, path: str, what: str, names: Iterable[str], known: Collection[str], file: str | None = None) -> None:
        """Add a problem for each unknown name (see `base.unknown`)."""
        for wrong in unknown(path, what, names, known):
            self.add(path, wrong.text, wrong.found, wrong.suggestion, file)

    def add_error(self, path: str, error: Unexpected, file: str | None = None) -> None:
        self.add(path, error.message, None, error.suggestion, file)

    def add_mistakes(self, where: str, mistakes: Iterable[Mistake], file: str | None = None) -> bool:
        """Add mistakes in the table at the TOML path `where`, such as "criteria[2]". Return whether there are any."""
        earlier = len(self.found)
        for wrong in mistakes:
            self.add(f"{where}.{wrong.field}", wrong.text, wrong.found, wrong.suggestion, file)
        return len(self.found) > earlier

    def stop(self) -> None:
        if self.found:
            raise SpecError(located(self.found, self._configuration))

    def class_for(
        self, where: str, key: str, table: Mapping[str, Any], known: Mapping[str, type[Model]], file: str
    ) -> type[Model] | None:
        """Return the class that the setting `key` names. If there is none, add a problem and return None."""
        chosen = table.get(key)
        name = "" if chosen is None else str(chosen)
        if name in known:
            return known[name]
        why = _refusal(_SAID["methods"], name)
        if why is not None:
            self.add(f"{where}.{key}", f"A release cannot use {chosen!r}. {why}", file=file)
        else:
            shown = repr(chosen) if name else "nothing"
            self.add(f"{where}.{key}", f"one of {listing(known, 30)}", shown, closest(name, known), file)
        return None


def located(problems: list[Problem], file: ConfigurationFile) -> list[Problem]:
    """Return the problems, each with the file that contains the table, which may be inherited."""
    path = str(file.path)
    return [replace(problem, file=str(file.file_of(problem.path))) if problem.file == path else problem for problem in problems]


ValidatedModel = TypeVar("ValidatedModel", bound=BaseModel)


def validated(
    model: type[ValidatedModel], table: Mapping[str, Any], file: str, path: str = ""
) -> ValidatedModel | list[Problem]:
    """Validate a table. Return an instance of the model, or the list of problems."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        # if there are very many mistakes, only the first ones are listed
        shown_first = error.errors(include_url=False)[: 2 * MAX_PROBLEMS]
        problems = [_problem(model, item, file, path) for item in shown_first]
    # leave out a missing key whose misspelling is reported, and a table inside of which a mistake is reported
    suggestions = ((problem.path.rpartition(".")[0], problem.suggestion) for problem in problems if problem.suggestion)
    misspelt = {f"{table}.{key}".lstrip(".") for table, key in suggestions}
    inner = [problem.path for problem in problems]
    outer = [path for path in inner if any(other.startswith((f"{path}[", f"{path}.")) for other in inner)]
    return [problem for problem in problems if problem.path not in {*misspelt, *outer}]


def valid(model: type[ValidatedModel], table: Mapping[str, Any], file: str) -> ValidatedModel:
    """Return an instance of the model. Raise SpecError with all mistakes of the table."""
    result = validated(model, table, file)
    if isinstance(result, list):
        raise SpecError(result)
    return result


def _problem(model: type[BaseModel], item: Mapping[str, Any], file: str, prefix: str) -> Problem:
    steps = item["loc"]
    path = dotted([prefix, *steps]) if prefix else dotted(steps)
    if item["type"] == "extra_forbidden":
        fields, name = _fields_at(model, steps[:-1]), str(steps[-1])
        if (why := _refusal([_SAID["invariants"]], name)) is not None:
            return Problem(file, path, mistake(why))
        fault = f"There is no setting {name!r} here. The settings are {listing(fields, 30)}"
        return Problem(file, path, mistake(fault), closest(name, fields))
    if item["type"] == "missing":
        return Problem(file, path, "This setting is required")
    if item["type"] == "value_error":
        error = item["ctx"]["error"]
        if isinstance(error, Unexpected):
            return Problem(file, path, error.about(value_text(item["input"])), error.suggestion)
        return Problem(file, path, mistake(str(error)))  # a contradiction between several values of one table
    kind, context = item["type"], item.get("ctx", {})
    if kind == "list_type" and isinstance(item["input"], Mapping):
        kind = "table_for_list"
    elif kind in ("too_short", "too_long") and isinstance(item["input"], str):
        kind = f"string_{kind}"
    limits = {name: with_separators(value) for name, value in context.items()}
    expected = _SAID["expected"].get(kind, "{message}").format(message=item["msg"], **limits)
    expected = expected.replace("(s)", "" if 1 in (context.get("min_length"), context.get("max_length")) else "s")
    suggestion = None
    if item["type"] == "literal_error" and isinstance(item["input"], str):
        suggestion = closest(item["input"], [part.strip(" '") for part in expected.replace(" or ", ",").split(",")])
    return Problem(file, path, mistake(expected, value_text(item["input"])), suggestion)


def with_separators(value: Any) -> Any:
    """Return a limit of a number as text, such as "1,000,000" or "0.05", and any other value unchanged."""
    if not isinstance(value, int | float):
        return value
    return f"{int(value):,}" if abs(value) < 1e15 and value == int(value) else f"{value:g}"


def _fields_at(model: type[BaseModel], steps: Sequence[str | int]) -> list[str]:
    """Return the settings that are allowed in the nested table at a path inside the table of `model`."""
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
