"""Mistakes in the two files, collected so that a steward sees them all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from synthrelease.errors import Problem, SpecError, Unexpected, closest, listing
from synthrelease.toml.baselines import refused_method
from synthrelease.toml.fields import Mistake
from synthrelease.toml.reading import ConfigurationFile

Model = TypeVar("Model", bound=BaseModel)


class Problems:
    """What was found so far; `file` is the configuration's own name."""

    def __init__(self, configuration: ConfigurationFile):
        self._configuration = configuration
        self.file = str(configuration.path)
        self.found: list[Problem] = []

    def add(self, path: str, expected: str, found: str, suggestion: str | None = None, file: str | None = None) -> None:
        self.found.append(Problem(file=file or self.file, path=path, expected=expected, found=found, suggestion=suggestion))

    def add_error(self, path: str, error: Unexpected, file: str | None = None) -> None:
        """A mistake that was raised, at a place that the caller knows."""
        self.add(path, error.expected, error.found or "something else", error.suggestion, file)

    def add_mistakes(self, where: str, mistakes: Iterable[Mistake], file: str | None = None) -> bool:
        """Mistakes in the table at `where`; whether there were any."""
        before = len(self.found)
        for mistake in mistakes:
            self.add(f"{where}.{mistake.field}", mistake.expected, mistake.found, mistake.suggestion, file)
        return len(self.found) > before

    def stop(self) -> None:
        """Raises SpecError when anything was found."""
        if self.found:
            raise SpecError(located(self.found, self._configuration))

    def class_for(
        self, where: str, key: str, table: Mapping[str, Any], known: Mapping[str, type[Model]], file: str
    ) -> type[Model] | None:
        """The class that a table names; None, and a problem, when it names none."""
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
    """Problems of a configuration, those in inherited tables under the name of the file that holds them."""
    own = str(file.path)
    return [replace(problem, file=str(file.file_of(problem.path))) if problem.file == own else problem for problem in problems]
