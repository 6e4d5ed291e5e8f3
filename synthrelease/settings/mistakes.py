"""Tables of TOML against their models: the model, or every mistake as a problem with file, path, expected and found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from synthrelease.errors import MAX_PROBLEMS, Problem, SpecError, Unexpected, closest, listing
from synthrelease.settings.base import Mistake, unknown
from synthrelease.settings.reading import ConfigurationFile, dotted, shown

# Methods that are compared with on public data, and that a release refuses: why, and what to do instead.


METHODS: Mapping[tuple[str, ...], str] = {
    ("da mi", "dami", "data augmented", "partially synthetic"): (
        "data-augmented imputation is for public data alone, because the columns that it does not draw anew are published "
        "as they are; take a generator, whose noise covers every column, and compare with DA-MI on public data by "
        "`compare --method dami`"
    ),
    ("sequential", "cart", "synthpop", "norm and logit", "saturated"): (
        "classical sequential synthesis is for public data alone, because tables and regressions that are fitted without "
        "noise show the records they were fitted to; take a generator such as 'privbayes', which draws columns in turn "
        "from tables with noise, and compare by `compare --method sequential`"
    ),
    ("independent",): (
        "independent columns with exact shares are for public data alone, because exact counts have no guarantee; take the "
        "generator 'marginals' with all columns by themselves, and compare by `compare --method independent`"
    ),
    ("swap",): (
        "permutation swapping is for public data alone, because its guarantee holds subject to its invariants and does not "
        "compose with that of a release; take a generator, and where totals must be right, [calibration] weights the "
        "accepted table to published ones"
    ),
    ("imput", "nearest neigh", "knn", "hot deck"): (
        "filling gaps from other records is for public data alone, because one person's values would then stand in many "
        "rows; take missing = 'bin' for the column, and [imputation] fills the gaps of the accepted table at no cost"
    ),
    ("post strat", "poststrat", "raking", "iterative proportional", "ipf", "weighted count"): (
        "weighting before the noise is for public data alone, because weights that depend on who else answered multiply "
        "what one record can do; take [calibration], which weights the accepted table to published totals at no cost, and "
        "role = 'weight' for a design weight"
    ),
}
"""Why a release cannot use a method, and the alternative, by words of which one stands in the name of the method."""

INVARIANTS = (
    "invariant",
    "keep exact",
    "exact total",
    "exact margin",
    "exact count",
    "true total",
    "true margin",
    "keep total",
)
_NO_INVARIANTS = (
    "no exact counts of the private file: nothing protects a table that is published exactly, and the "
    "guarantee would hold only among files with the same table; totals that were published "
    "elsewhere can be met by [calibration], after the noise"
)
"""Words of which one stands in the name of a setting for counts that stay exact, and why there is none."""


def refused_method(name: str) -> str | None:
    """Return why a release cannot use a method of this name, and the alternative; None for other names."""
    spoken = _spoken(name)
    return next((why for words, why in METHODS.items() if any(word in spoken for word in words)), None)


def refused_setting(name: str) -> str | None:
    """Return why there is no setting of this name, and the alternative; None for other names."""
    spoken = _spoken(name)
    return _NO_INVARIANTS if any(word in spoken for word in INVARIANTS) else None


def _spoken(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.strip().lower())


# Mistakes in the two files, collected so that a steward sees them all at once.

Model = TypeVar("Model", bound=BaseModel)


class Problems:
    """What was found so far; `file` is the configuration's own name."""

    def __init__(self, configuration: ConfigurationFile):
        self._configuration = configuration
        self.file = str(configuration.path)
        self.found: list[Problem] = []

    def add(self, path: str, expected: str, found: str, suggestion: str | None = None, file: str | None = None) -> None:
        self.found.append(Problem(file=file or self.file, path=path, expected=expected, found=found, suggestion=suggestion))

    def add_unknown(self, path: str, what: str, names: Iterable[str], known: Collection[str], file: str | None = None) -> None:
        """Add each name that is none of those that are known, with the one that may be meant."""
        for mistake in unknown(path, what, names, known):
            self.add(path, mistake.expected, mistake.found, mistake.suggestion, file)

    def add_error(self, path: str, error: Unexpected, file: str | None = None) -> None:
        """Add a mistake that was raised, at a place that the caller knows."""
        self.add(path, error.expected, error.found or "something else", error.suggestion, file)

    def add_mistakes(self, where: str, mistakes: Iterable[Mistake], file: str | None = None) -> bool:
        """Add the mistakes in the table at `where`, and return whether there were any."""
        earlier = len(self.found)
        for mistake in mistakes:
            self.add(f"{where}.{mistake.field}", mistake.expected, mistake.found, mistake.suggestion, file)
        return len(self.found) > earlier

    def stop(self) -> None:
        """Raise SpecError when anything was found."""
        if self.found:
            raise SpecError(located(self.found, self._configuration))

    def class_for(
        self, where: str, key: str, table: Mapping[str, Any], known: Mapping[str, type[Model]], file: str
    ) -> type[Model] | None:
        """Return the class that a table names; None, and a problem, when it names none."""
        chosen = table.get(key)
        name = "" if chosen is None else str(chosen)
        if name in known:
            return known[name]
        why = refused_method(name)
        if why is not None:
            self.add(f"{where}.{key}", f"a method for private data: {why}", repr(chosen), file=file)
            return None
        self.add(f"{where}.{key}", f"one of {listing(known)}", repr(chosen) if name else "nothing", closest(name, known), file)
        return None


def located(problems: list[Problem], file: ConfigurationFile) -> list[Problem]:
    """Return the problems of a configuration, those in inherited tables under the name of the file that holds them."""
    path = str(file.path)
    return [replace(problem, file=str(file.file_of(problem.path))) if problem.file == path else problem for problem in problems]


ValidatedModel = TypeVar("ValidatedModel", bound=BaseModel)


def validated(
    model: type[ValidatedModel], table: Mapping[str, Any], file: str, path: str = ""
) -> ValidatedModel | list[Problem]:
    """Return the model for a table, or every mistake in it."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        shown_first = error.errors(include_url=False)[: 2 * MAX_PROBLEMS]  # of very many, the rest waits
        problems = [_problem(model, item, file, path) for item in shown_first]
    misspelt = {_beside(problem.path, problem.suggestion) for problem in problems if problem.suggestion}
    return [
        problem
        for problem in problems
        if problem.path not in misspelt
        and not any(inner.path.startswith((f"{problem.path}[", f"{problem.path}.")) for inner in problems)
    ]


def _beside(path: str, name: str) -> str:
    """Return the path of another key of the same table."""
    return f"{path.rpartition('.')[0]}.{name}".lstrip(".")


def _problem(model: type[BaseModel], item: Mapping[str, Any], file: str, prefix: str) -> Problem:
    steps = item["loc"]
    path = dotted([prefix, *steps]) if prefix else dotted(steps)
    if item["type"] == "extra_forbidden":
        fields, name = _fields_at(model, steps[:-1]), str(steps[-1])
        why = refused_setting(name)
        if why is not None:
            return Problem(file=file, path=path, expected=why, found=repr(name))
        expected = f"one of {listing(fields, 30)}"
        return Problem(file=file, path=path, expected=expected, found=repr(name), suggestion=closest(name, fields))
    if item["type"] == "missing":
        return Problem(file=file, path=path, expected="a value: it is required", found="nothing")
    if item["type"] == "value_error":
        error = item["ctx"]["error"]
        if isinstance(error, Unexpected):
            actual = shown(item["input"]) if error.found is None else error.found
            return Problem(file=file, path=path, expected=error.expected, found=actual, suggestion=error.suggestion)
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
    """Return the field names of the model that a path inside `model` leads to."""
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
