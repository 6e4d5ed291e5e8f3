"""Compute everything that was fixed before the run again from the published specification."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from synthrelease.bundle.document import parameters, planned_parts
from synthrelease.bundle.options import stated
from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import MECHANISM, OneNoise
from synthrelease.errors import SpecError, so_many
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.privacy.charges import decimal_text
from synthrelease.published.base import number, upwards
from synthrelease.published.charges import CriterionPart, OneNoisePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check
from synthrelease.settings.mistakes import validated
from synthrelease.settings.reading import dotted, value_text
from synthrelease.spec.canonical import NAME, WORDS
from synthrelease.spec.load import read_specification
from synthrelease.spec.release_spec import ReleaseSpec, stated_guarantee
from synthrelease.spec.shortlist import configuration_of

# Check that the program knows the configuration and the criteria, and accepts their parameters.


def configuration(document: ReleaseDocument) -> Check:
    """Check that generator, projection and criteria accept their settings, and that the released bins belong to the drawn
    configuration.
    """
    problems = [*_parts(document)]
    for criterion in document.criteria:
        problems += [f"criterion {criterion.name!r}: {problem}" for problem in _criterion(criterion)]
    parts = len(document.criteria) + 2
    return Check(name="configuration", found=f"{parts} parts, all with valid parameters", problems=tuple(problems))


def _parts(document: ReleaseDocument) -> Iterator[str]:
    parts = document.configuration
    if set(parts) != {"transformation", "generator", "projection"}:
        yield f"configuration: its parts must be transformation, generator and projection, not {', '.join(parts) or 'none'}"
        return
    if parts["transformation"] != {column.name: column.binning for column in document.columns}:
        yield "configuration: the transformation does not name the bins of the schema"
    for column in document.columns:
        if column.binning not in column.alternatives:
            yield f"schema: column {column.name!r}: its bins {column.binning!r} are not among its alternatives"
    yield from _validated("generator", "family", GENERATORS, parts["generator"])
    yield from _validated("projection", "kind", PROJECTIONS, parts["projection"])


def _validated(name: str, key: str, kinds: Mapping[str, type[BaseModel]], table: Mapping[str, Any]) -> Iterator[str]:
    model = kinds.get(str(table.get(key)))
    if model is None:
        yield f"configuration: {name}: the {key} {table.get(key)!r} is unknown"
        return
    read = validated(model, table, "release.json", f"configuration.{name}")
    if isinstance(read, list):
        yield str(read[0])


def _criterion(part: CriterionPart) -> Iterator[str]:
    model = CRITERIA.get(part.kind)
    if model is None:
        yield f"the kind {part.kind!r} is unknown"
        return
    table = {"name": part.name, "kind": part.kind, "threshold": part.threshold, "epsilon": part.epsilon_exact}
    read = validated(model, table | part.parameters, "release.json", "criteria")
    if not isinstance(read, Criterion):
        yield str(read[0])
        return
    best, worst = read.figure_range
    if (float(part.best), math.inf if part.worst is None else float(part.worst)) != (best, worst):
        stated = f"{part.best} and {'null' if part.worst is None else part.worst}"
        yield f"best and worst are {stated}, but the settings give {best:g} and {'null' if math.isinf(worst) else f'{worst:g}'}"


# Largest number of differences that are reported. Without this limit, every value of release.json could be reported.
_SHOWN = 5


def plan(document: ReleaseDocument, table: ReleasedTable, files: Mapping[str, bytes]) -> Check:
    """Check that release.json agrees with the specification, which must pass the same checks as before a release."""
    try:
        spec = read_specification(files.get(NAME, b""))
        if document.provisional and all(part.one_noise is None for part in document.criteria):  # figures shared no noise
            spec = replace(spec, shares_noise=False)
    except SpecError as error:
        return Check(name="plan", problems=tuple(str(problem) for problem in error.problems[:_SHOWN]))
    problems = list(_problems(document, table, spec))
    left = len(problems) - _SHOWN
    listed = problems[:_SHOWN] + ([f"and {so_many(left, 'more problem')}"] if left > 0 else [])
    summary = f"epsilon {decimal_text(spec.plan.total.epsilon)}, rules, criteria and schema follow from {NAME}"
    return Check(name="plan", found=summary, problems=tuple(listed))


def _problems(document: ReleaseDocument, table: ReleasedTable, spec: ReleaseSpec) -> Iterator[str]:
    configuration = configuration_of(spec, document.configuration)
    if configuration is None:
        yield f"configuration: {NAME} does not have this configuration"
        return
    n_file, n = document.domain.file_rows, document.rows_worked_with
    guarantee = stated_guarantee(spec, n if n_file is None else n_file, n)
    for name, expected in planned_parts(spec, configuration, guarantee, n_file, n).items():
        if name == "not_promised" and not document.not_promised.kept:
            # words of a draft that was edited since are withheld, which the specification alone does not tell (`spec.tried`)
            expected = expected.model_copy(update={"kept": ""})
        yield from differences(name, expected, getattr(document, name))
    if [part.name for part in document.criteria] != [criterion.name for criterion in spec.criteria]:
        yield f"criteria: the specification has other criteria: {', '.join(criterion_.name for criterion_ in spec.criteria)}"
        return
    for part, criterion in zip(document.criteria, spec.criteria, strict=True):
        yield from _criterion_problems(part, criterion, spec.noises.get(part.name), joint=spec.joint_test is not None)
    if (MEASUREMENTS in document.files) != spec.publish_measurements:
        yield f"{MEASUREMENTS}: this file must exist if, and only if, [selection] publishes measurements"
    yield from option_problems(document, spec)


def option_problems(document: ReleaseDocument, spec: ReleaseSpec) -> Iterator[str]:
    """Yield a sentence for each option that release.json and the specification describe differently.

    An option that contains only texts for readers may be absent from the specification.
    """
    options, parts = spec.parts, document.parts
    for name in dict.fromkeys([*parts, *options]):
        if name not in parts or (name not in options and name not in WORDS):
            yield f"{name}: only one of the specification and release.json has this part"
    for name, expected in stated(document, spec).items():
        if name in parts:
            yield from differences(name, expected, parts[name])
    imputation, copies = spec.options.imputation, document.imputation
    if imputation and copies:
        match = [column.name for column in document.columns] if imputation.match is None else list(imputation.match)
        settings = {"copies": imputation.copies, "donors": imputation.donors, "match": match}
        yield from differences("imputation", settings, {name: getattr(copies, name) for name in settings})


def _criterion_problems(part: CriterionPart, criterion: Criterion, noise: OneNoise | None, *, joint: bool) -> Iterator[str]:
    mechanism = criterion.mechanism_words if noise is None else MECHANISM
    former = criterion.former_mechanism
    # a release of an earlier version keeps the wording of that version
    if noise is None and former and part.mechanism == former:
        mechanism = part.mechanism
    expected = {
        "kind": criterion.kind,
        "threshold": number(criterion.threshold),
        "epsilon_exact": str(criterion.epsilon),
        "epsilon": upwards(criterion.epsilon),
        "parameters": parameters(criterion),
        "mechanism": mechanism,
        "one_noise": None if noise is None else OneNoisePart.of(noise),
        "decides": not joint or part.noise_sd is None,
    }
    for name, value in expected.items():
        yield from differences(f"criterion {part.name!r}: {name}", value, getattr(part, name))


def differences(path: str, expected: Any, value: Any, source: str = "the specification gives") -> Iterator[str]:
    """Yield a sentence, with its path, for each difference of a value in release.json from the expected one."""
    for steps, right, wrong in _leaves(_plain(expected), _plain(value), ()):
        expected_text, text = (_shown(value) if type(right) is type(wrong) else value_text(value) for value in (right, wrong))
        yield f"{dotted([path, *steps])}: release.json has {text}, {source} {expected_text}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return so_many(len(value), "entry", "entries")
    return f"the names {', '.join(map(repr, value))}" if isinstance(value, dict) else value_text(value)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _leaves(expected: Any, value: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    if isinstance(expected, dict) and isinstance(value, dict) and list(expected) == list(value):
        for name in expected:
            yield from _leaves(expected[name], value[name], (*steps, name))
    elif isinstance(expected, list) and isinstance(value, list) and len(expected) == len(value):
        for index, pair in enumerate(zip(expected, value, strict=True)):
            yield from _leaves(*pair, (*steps, index))
    elif expected != value or type(expected) is not type(value):
        yield steps, expected, value
