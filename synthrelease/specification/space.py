"""The configuration space from its tables: alternatives of the columns, and every combination of listed hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.errors import closest, listing
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Generator, MeasuringGenerator
from synthrelease.generators.projections import PROJECTIONS, Projection
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.settings.mistakes import Problems, validated
from synthrelease.settings.tables import ReleaseFile
from synthrelease.specification.rare_bins import rare_bin_mistakes

MAX_CONFIGURATIONS = 100_000


def build_space(release: ReleaseFile, schema: Schema, synthetic: Plausibility, problems: Problems) -> ConfigurationSpace:
    """The space, or an incomplete one with problems.

    Parameters
    ----------
    synthetic : rules for released rows, over the atomic bins.
    """
    binnings = _binnings(release, schema, problems)
    generators: dict[str, tuple[str, Generator]] = {}
    for index, table in enumerate(release.generators):
        _expand(f"generators[{index}]", "family", table, GENERATORS, generators, problems)
    projections: dict[str, tuple[str, Projection]] = {}
    for index, table in enumerate(release.projections):
        _expand(f"projections[{index}]", "kind", table, PROJECTIONS, projections, problems)
    space = ConfigurationSpace(
        schema=schema,
        binnings=binnings,
        generators=tuple(generator for _, generator in generators.values()),
        projections=tuple(projection for _, projection in projections.values()),
    )
    size = math.prod(len(names) for names in binnings.values()) * len(generators) * len(projections)
    if size > MAX_CONFIGURATIONS:
        problems.add("", f"at most {MAX_CONFIGURATIONS} configurations", str(size))
        problems.stop()
    if size:
        _check_generators(release, space, list(generators.values()), synthetic, problems)
    return space


def _check_generators(
    release: ReleaseFile,
    space: ConfigurationSpace,
    generators: list[tuple[str, Generator]],
    synthetic: Plausibility,
    problems: Problems,
) -> None:
    """Mistakes that only show against the columns, and whether measurements can be shared or published where they are to be."""
    selection = release.selection
    shared = selection.measurements == "shared"
    first_where, first = generators[0]
    if (release.budget.generation_delta > 0) != (first.guarantee == "approximate"):
        expected = "above 0" if first.guarantee == "approximate" else "0"
        expected = f"{expected}, because the guarantee of {first.family!r} is {first.guarantee}"
        problems.add("budget.generation_delta", expected, f"{float(release.budget.generation_delta):g}")
    concentrated = next((generator.family for _, generator in generators if generator.guarantee == "zCDP"), None)
    if concentrated is not None:
        why = f"because the guarantee of {concentrated!r} is zero-concentrated"
        if selection.mode == "known_threshold" and not selection.stop_probability and not shared:
            expected = f"a number above 0, {why}: rounds without end are for pure ones (docs/accounting.md)"
            problems.add("selection.stop_probability", expected, "0")
        if not release.budget.delta:
            expected = f"a number above 0, far below one over the number of rows, for example 1e-9, {why}"
            problems.add("budget.delta", expected, "0")
    tied = [mask.columns for mask in synthetic.masks]
    faulty: set[str] = set()  # one table may stand for many generators: its first mistake is enough
    for where, generator in generators:
        if where in faulty:
            continue
        if problems.add_mistakes(where, generator.mistakes(space.common.layout, tied)):
            faulty.add(where)
        elif (shared or selection.publish_measurements) and not isinstance(generator, MeasuringGenerator):
            apart = listing(name for name, family in GENERATORS.items() if issubclass(family, MeasuringGenerator))
            expected = f"a family that measures apart from modelling ({apart}), as [selection] wants its measurements"
            problems.add(f"{where}.family", expected, repr(generator.family))
            faulty.add(where)
        elif problems.add_mistakes(where, rare_bin_mistakes(generator, space, space.schema, synthetic, shared=shared)):
            faulty.add(where)
        elif selection.publish_measurements and isinstance(generator, MeasuringGenerator) and generator.leaves_out:
            expected = "no rare bins, as [selection] publishes the measurements and readers take these to be of all rows"
            problems.add(f"{where}.{generator.leaves_out}", expected, repr(getattr(generator, generator.leaves_out)))
            faulty.add(where)
        elif (generator.guarantee == "approximate") != (first.guarantee == "approximate"):
            expected = (
                f"families whose guarantee goes with that of {first_where} ({first.guarantee}), because all get the same budget"
            )
            problems.add(f"{where}.family", expected, f"{generator.family!r} ({generator.guarantee})")
            faulty.add(where)
        elif shared and isinstance(first, MeasuringGenerator) and not first.same_measurements(generator):
            problems.add(f"{where}.tables", f"the tables of {first_where}, because measurements are shared", "others")
            faulty.add(where)


def _binnings(release: ReleaseFile, schema: Schema, problems: Problems) -> dict[str, tuple[str, ...]]:
    binnings: dict[str, tuple[str, ...]] = {}
    for column in schema.columns:
        where = f"transformations.{column.name}"
        names = release.transformations.get(column.name, list(column.alternatives))
        for name in names:
            if name not in column.alternatives:
                expected = f"alternatives of the column ({listing(column.alternatives)})"
                problems.add(where, expected, repr(name), closest(name, column.alternatives))
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            problems.add(where, "different alternatives", f"{twice[0]!r} twice")
        binnings[column.name] = tuple(name for name in names if name in column.alternatives)
        if not names:
            problems.add(where, "at least one alternative", "an empty list")
    return binnings


def _expand(
    where: str,
    key: str,
    table: Mapping[str, Any],
    known: Mapping[str, type[Any]],
    found: dict[str, tuple[str, Any]],
    problems: Problems,
) -> None:
    """Add every combination of the listed hyperparameters, each validated by its class, with the place it comes from."""
    model = problems.class_for(where, key, table, known, problems.file)
    if model is None:
        return
    listed = {name: value if isinstance(value, list) else [value] for name, value in table.items()}
    empty = [name for name, values in listed.items() if not values]
    if empty:
        problems.add(f"{where}.{empty[0]}", "at least one value", "an empty list")
        return
    if len(found) + math.prod(len(values) for values in listed.values()) > MAX_CONFIGURATIONS:
        problems.add(where, f"at most {MAX_CONFIGURATIONS} combinations", "more")
        return
    seen: set[tuple[str, str]] = set()
    repeated = False
    for values in product(*listed.values()):
        item = validated(model, dict(zip(listed, values, strict=True)), problems.file, where)
        if isinstance(item, list):
            fresh = [problem for problem in item if (problem.path, problem.found) not in seen]
            seen |= {(problem.path, problem.found) for problem in fresh}
            problems.found += fresh
        else:
            identity = f"{type(item).__name__} {item.model_dump_json()}"
            repeated |= identity in found
            found[identity] = (where, item)
    if repeated:
        problems.add(where, "different combinations", "the same one twice")
