"""From the two TOML files to one frozen, validated specification. Nothing here reads data."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from synthrelease.columns import ColumnError, build_column, group_binning
from synthrelease.configuration import ConfigurationSpace
from synthrelease.constraints import Plausibility
from synthrelease.criteria import CRITERIA, Criterion, Setting
from synthrelease.errors import Problem, SpecError, closest, listing
from synthrelease.generators import GENERATORS, Generator
from synthrelease.privacy import Charge, Plan, mechanism
from synthrelease.projections import PROJECTIONS
from synthrelease.rules import Domain, Rule, RuleError, parse_rule
from synthrelease.schema import MAX_ATOMIC_CELLS, Binning, Column, Schema
from synthrelease.spec_files import AcceptanceFile, InputTable, ReleaseFile, validated
from synthrelease.toml_files import ConfigurationFile, read_configuration, read_toml

MAX_CONFIGURATIONS = 100_000
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """Everything that is fixed, and public, before private data are read.

    Attributes
    ----------
    raw, synthetic : plausibility rules over atomic cells, for rows of the private file and for released rows.
    setting : the public facts that criteria use.
    generation_epsilon : budget of one generator fit; `limit` : the most the whole release may cost.
    digest : sha256 of the content of both files, comments apart.
    """

    title: str
    description: str
    path: str
    digest: str
    input: InputTable
    schema: Schema
    rules: tuple[str, ...]
    raw: Plausibility
    synthetic: Plausibility
    space: ConfigurationSpace
    criteria: tuple[Criterion, ...]
    setting: Setting
    generation_epsilon: Fraction
    limit: Fraction | None
    stop_probability: Fraction

    @cached_property
    def plan(self) -> Plan:
        """The charge tree of a release."""
        families = ", ".join(sorted({generator.family for generator in self.space.generators}))
        generation = mechanism("generation", self.generation_epsilon, f"one fit of the drawn generator ({families})")
        once: list[Charge] = []
        per_round: list[Charge] = [generation]
        for criterion in self.criteria:
            once += criterion.once()
            per_round += criterion.per_round()
        return Plan.of(once=tuple(once), per_round=tuple(per_round))


def load_spec(path: str | Path) -> ReleaseSpec:
    """Read a configuration and the acceptance file it names.

    Raises
    ------
    SpecError : with all problems that can be found at once.
    """
    file = read_configuration(Path(path))
    release = validated(ReleaseFile, file.tables, str(file.path))
    problems = release if isinstance(release, list) else []
    named = file.tables.get("acceptance")
    if not isinstance(named, str):
        raise SpecError(_located(problems, file))
    acceptance_path = file.file_of("acceptance").parent / named
    acceptance = validated(AcceptanceFile, read_toml(acceptance_path), str(acceptance_path))
    if isinstance(release, list) or isinstance(acceptance, list):
        raise SpecError(_located(problems, file) + (acceptance if isinstance(acceptance, list) else []))
    content = json.dumps([release.model_dump(mode="json"), acceptance.model_dump(mode="json")], sort_keys=True, default=str)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return _Builder(file, release, acceptance_path, acceptance, digest).build()


def _located(problems: list[Problem], file: ConfigurationFile) -> list[Problem]:
    """Problems of a configuration, those in inherited tables under the name of the file that holds them."""
    own = str(file.path)
    return [replace(problem, file=str(file.file_of(problem.path))) if problem.file == own else problem for problem in problems]


class _Builder:
    """Turns validated files into a spec, collecting mistakes; later steps run only when earlier ones found none."""

    def __init__(
        self,
        configuration: ConfigurationFile,
        release: ReleaseFile,
        acceptance_path: Path,
        acceptance: AcceptanceFile,
        digest: str,
    ):
        self.digest = digest
        self.configuration, self.file, self.release = configuration, str(configuration.path), release
        self.acceptance_file, self.acceptance = str(acceptance_path), acceptance
        self.problems: list[Problem] = []

    def build(self) -> ReleaseSpec:
        rules = self._rules()
        self._known_columns("transformations", self.release.transformations, self.file)
        self._known_columns("groups", self.acceptance.groups, self.acceptance_file)
        schema, groups = self._schema(rules)
        self._stop_on_problems()
        raw, synthetic = (self._plausibility(schema, rules, kind) for kind in ("raw", "synthetic"))
        space = self._space(schema)
        parsed = [self._criterion(index, table) for index, table in enumerate(self.acceptance.criteria)]
        self._stop_on_problems()
        criteria = [criterion for criterion in parsed if criterion is not None]
        setting = Setting(
            schema=schema,
            groups=groups,
            raw=raw,
            transformations=space.transformations,
            criteria={criterion.name: criterion for criterion in criteria},
        )
        self._check_criteria(criteria, setting)
        self._stop_on_problems()
        return ReleaseSpec(
            title=self.release.title,
            description=self.release.description,
            path=self.file,
            digest=self.digest,
            input=self.release.input,
            schema=schema,
            rules=tuple(f"{rule.never} ({', '.join(rule.applies_to)})" for rule in self.release.rules),
            raw=raw,
            synthetic=synthetic,
            space=space,
            criteria=tuple(criteria),
            setting=setting,
            generation_epsilon=self.release.budget.generation,
            limit=self.release.budget.limit,
            stop_probability=self.release.selection.stop_probability,
        )

    def _add(self, path: str, expected: str, found: str, suggestion: str | None = None, file: str | None = None) -> None:
        self.problems.append(Problem(file=file or self.file, path=path, expected=expected, found=found, suggestion=suggestion))

    def _stop_on_problems(self) -> None:
        if self.problems:
            raise SpecError(_located(self.problems, self.configuration))

    def _known_columns(self, where: str, table: Mapping[str, object], file: str) -> None:
        known = self.release.columns
        for name in table:
            if name not in known:
                self._add(f"{where}.{name}", f"a column ({listing(known)})", repr(name), closest(name, known), file)

    def _rules(self) -> list[tuple[Rule, tuple[str, ...]]]:
        domains = {
            name: Domain(kind=table.kind, bounds=table.bounds, categories=tuple(table.categories or ()))
            for name, table in self.release.columns.items()
        }
        parsed: list[tuple[Rule, tuple[str, ...]]] = []
        for index, table in enumerate(self.release.rules):
            try:
                parsed.append((parse_rule(table.never, domains), table.applies_to))
            except RuleError as error:
                expected, _, found = str(error).removeprefix("expected ").partition(", found ")
                self._add(f"rules[{index}].never", expected, found or repr(table.never), error.suggestion)
        return parsed

    def _schema(self, rules: list[tuple[Rule, tuple[str, ...]]]) -> tuple[Schema, dict[str, Binning]]:
        columns: list[Column] = []
        for name, table in self.release.columns.items():
            try:
                columns.append(
                    build_column(name, table, self.release.input, [rule for rule, _ in rules], self.acceptance.groups.get(name))
                )
            except ColumnError as error:
                in_groups = error.field == "groups"
                self._add(
                    f"groups.{name}" if in_groups else f"columns.{name}.{error.field}",
                    error.expected,
                    error.found,
                    error.suggestion,
                    self.acceptance_file if in_groups else None,
                )
        if self.problems:
            return Schema(columns=()), {}
        schema = Schema(columns=tuple(columns))
        if schema.layout.n_cells > MAX_ATOMIC_CELLS:
            self._add("columns", f"at most {MAX_ATOMIC_CELLS} atomic cells", f"{schema.layout.n_cells}")
        groups = {name: group_binning(schema[name], bins) for name, bins in self.acceptance.groups.items()}
        return schema, groups

    def _plausibility(self, schema: Schema, rules: list[tuple[Rule, tuple[str, ...]]], kind: str) -> Plausibility:
        chosen = [rule for rule, applies_to in rules if kind in applies_to]
        try:
            return Plausibility.from_rules(chosen, schema.columns, schema.layout)
        except RuleError as error:
            expected, _, found = str(error).removeprefix("expected ").partition(", found ")
            self._add("rules", expected, found or "something else", error.suggestion)
            return Plausibility(layout=schema.layout, masks=())

    def _space(self, schema: Schema) -> ConfigurationSpace:
        binnings: dict[str, tuple[str, ...]] = {}
        for column in schema.columns:
            names = self.release.transformations.get(column.name, list(column.alternatives))
            for name in names:
                if name not in column.alternatives:
                    self._add(
                        f"transformations.{column.name}",
                        f"alternatives of the column ({listing(column.alternatives)})",
                        repr(name),
                        closest(name, column.alternatives),
                    )
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            if twice:
                self._add(f"transformations.{column.name}", "different alternatives", f"{twice[0]!r} twice")
            binnings[column.name] = tuple(name for name in names if name in column.alternatives)
            if not names:
                self._add(f"transformations.{column.name}", "at least one alternative", "an empty list")
        generators = self._expanded("generators", "family", self.release.generators, GENERATORS)
        projections = self._expanded("projections", "kind", self.release.projections, PROJECTIONS)
        space = ConfigurationSpace(
            schema=schema,
            binnings=binnings,
            generators=tuple(item for item in generators if isinstance(item, Generator)),
            projections=tuple(projections),
        )
        size = math.prod(len(names) for names in binnings.values()) * len(generators) * len(projections)
        if size > MAX_CONFIGURATIONS:
            self._add("", f"at most {MAX_CONFIGURATIONS} configurations", str(size))
            self._stop_on_problems()
        return space

    def _expanded(self, where: str, key: str, tables: list[dict[str, Any]], known: Mapping[str, type[Any]]) -> list[Any]:
        """Every combination of the listed hyperparameters, each validated by its class."""
        found: dict[str, Any] = {}
        combinations = 0
        for index, table in enumerate(tables):
            model = self._class_for(f"{where}[{index}]", key, table, known, self.file)
            if model is None:
                continue
            listed = {name: value if isinstance(value, list) else [value] for name, value in table.items()}
            empty = [name for name, values in listed.items() if not values]
            if empty:
                self._add(f"{where}[{index}].{empty[0]}", "at least one value", "an empty list")
                continue
            combinations += math.prod(len(values) for values in listed.values())
            if combinations > MAX_CONFIGURATIONS:
                self._add(f"{where}[{index}]", f"at most {MAX_CONFIGURATIONS} combinations", "more")
                break
            seen: set[tuple[str, str]] = set()
            repeated = False
            for values in product(*listed.values()):
                item = validated(model, dict(zip(listed, values, strict=True)), self.file, f"{where}[{index}]")
                if isinstance(item, list):
                    fresh = [problem for problem in item if (problem.path, problem.found) not in seen]
                    seen |= {(problem.path, problem.found) for problem in fresh}
                    self.problems += fresh
                else:
                    identity = f"{type(item).__name__} {item.model_dump_json()}"
                    repeated |= identity in found
                    found[identity] = item
            if repeated:
                self._add(f"{where}[{index}]", "different combinations", "the same one twice")
        return list(found.values())

    def _criterion(self, index: int, table: Mapping[str, Any]) -> Criterion | None:
        model = self._class_for(f"criteria[{index}]", "kind", table, CRITERIA, self.acceptance_file)
        if model is None:
            return None
        item = validated(model, table, self.acceptance_file, f"criteria[{index}]")
        if isinstance(item, Criterion):
            return item
        self.problems += item
        return None

    def _class_for(
        self, where: str, key: str, table: Mapping[str, Any], known: Mapping[str, type[Model]], file: str
    ) -> type[Model] | None:
        chosen = table.get(key)
        name = "" if chosen is None else str(chosen)
        if name in known:
            return known[name]
        self._add(
            f"{where}.{key}",
            f"one of {listing(known)}",
            repr(chosen) if name else "nothing",
            closest(name, known),
            file,
        )
        return None

    def _check_criteria(self, criteria: list[Criterion], setting: Setting) -> None:
        before: dict[str, Criterion] = {}
        faulty: set[str] = set()
        for index, criterion in enumerate(criteria):
            if criterion.name in before:
                self._add(f"criteria[{index}].name", "names that differ", repr(criterion.name), file=self.acceptance_file)
            if any(value in faulty for value in criterion.model_dump().values() if isinstance(value, str)):
                continue  # it builds on a criterion with a mistake: it is checked once that one is right
            for mistake in criterion.mistakes(setting, before):
                self._add(
                    f"criteria[{index}].{mistake.field}",
                    mistake.expected,
                    mistake.found,
                    mistake.suggestion,
                    self.acceptance_file,
                )
                faulty.add(criterion.name)
            before[criterion.name] = criterion
