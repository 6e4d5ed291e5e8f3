"""Build and check the space of configurations: all combinations of alternatives of columns and listed hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.errors import listing
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Generator, MeasuringGenerator
from synthrelease.generators.projections import PROJECTIONS, Projection
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.resources import file_digest
from synthrelease.settings.base import RELEASED, Mistake
from synthrelease.settings.mistakes import Problems, validated
from synthrelease.settings.tables import ReleaseFile, SelectionTable
from synthrelease.sources.source import Source
from synthrelease.spec.canonical import BY_DIGEST
from synthrelease.spec.release_spec import ReleaseSpec

if TYPE_CHECKING:
    from synthrelease.generators.marginals import MarginalsGenerator
    from synthrelease.generators.measurements import RareBin

# Checks, before anything is read or spent, that the shared measurements can answer the criteria that use them.

MOST_LOOKED_AT = 20
"""The maximum number of transformations for which the program checks the noise before a release. It checks the first ones in
the order of the configuration."""


def check_answered(
    selection: SelectionTable,
    space: ConfigurationSpace,
    criteria: Sequence[Criterion],
    setting: Setting,
    problems: Problems,
    acceptance: str,
) -> None:
    """Add a problem for each criterion whose value cannot be computed from the noisy tables of the generator as it should.

    All rounds must share these tables, and they must be published.
    """
    answered = {index: criterion_at for index, criterion_at in enumerate(criteria) if criterion_at.answered_by is not None}
    fields = dict.fromkeys(answered, "answered_by")
    fields |= {index: "line" for index, criterion_at in enumerate(criteria) if criterion_at.measured_line}
    if not fields:
        return
    first, generator = min(fields), space.generators[0]
    path = f"criteria[{first}].{fields[first]}"
    if selection.measurements != "shared" or not isinstance(generator, MeasuringGenerator):
        fault = "Noisy tables can give the value of a criterion only if all rounds share them"
        advice = 'Set [selection] measurements = "shared"'
        if not isinstance(generator, MeasuringGenerator):
            fault = f"The generator {generator.family!r} measures no tables that could give the value of a criterion"
            advice = "Choose another generator, such as 'marginals'"
        problems.add(path, f"{fault}. {advice}, or set an epsilon", file=acceptance)
        return
    if answered and not selection.publish_measurements:
        why = "because the noisy tables give values of criteria, and readers must be able to check these values"
        problems.add("selection.publish_measurements", f"This must be true, {why}")
    from synthrelease.criteria.measured import covered

    layout = space.common.layout
    measured = [tuple(layout.columns[column] for column in columns) for columns in generator.fixed_tables(layout)]
    facts = setting.facts(space.transformations[0])
    for index, criterion in answered.items():
        for sums in criterion.measured_sums(facts):
            if not covered(sums.columns, measured):
                fault = f"No measured table has all columns of this criterion: {listing(sums.columns)}"
                advice = "Measure such a table, or set an epsilon"
                problems.add(f"criteria[{index}].answered_by", f"{fault}. {advice}", file=acceptance)
                break


def least_bounds(spec: ReleaseSpec, n: int) -> dict[str, float]:
    """Return the smallest bound on the value of each criterion from shared noisy tables that a table of n rows can reach.

    Because of the noise, even a perfect table has no smaller bound. The bound is public: it depends only on the risk, the
    measured tables and the noise of the release, and not on any counts.
    """
    generator = spec.space.generators[0]
    if not spec.setting.answered or not isinstance(generator, MeasuringGenerator):
        return {}
    from synthrelease.criteria.base import possible_cells
    from synthrelease.criteria.measured import half_widths
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals

    common, bounds = spec.space.common, dict[str, float]()
    part = generator.part(spec.generation_charge)
    costs = generator.measured_tables(common.layout, part)
    tables = tuple(
        NoisyMarginal(columns=columns, values=zeros, cost=cost, cells=np.ones_like(zeros), kind=generator.noise)
        for columns, cost in costs.items()
        for zeros in [np.zeros(common.layout.subset(columns).sizes, dtype=np.int64)]
    )
    sums = generator.measured_sums(common.layout, part)
    bare = NoisyMarginals(layout=common.layout, n=n, tables=tables, sums=sums)
    for transformation in spec.space.transformations[:MOST_LOOKED_AT]:
        pairs = zip(common.binnings, transformation.binnings, strict=True)
        measured = bare.merge(transformation.layout, [finer.map_to(coarser) for finer, coarser in pairs])
        sums_of_criteria = spec.setting.sums(transformation)
        sizes = dict(zip(transformation.layout.columns, transformation.layout.sizes, strict=True))
        number = sum(one_sum.number(sizes) for sums_of in sums_of_criteria.values() for one_sum in sums_of)
        risk = float(spec.bound_risk) / len(spec.space.transformations) / number
        possible = possible_cells(spec.raw.merge(transformation))
        for criterion in spec.setting.answered:
            widths = [half_widths(one_sum, measured, possible, risk) for one_sum in sums_of_criteria[criterion.name]]
            bound = criterion.least_measured_bound(widths, n)
            bounds[criterion.name] = min(bound, bounds.get(criterion.name, bound))
    return bounds


# The public tables that generators start from: whether they exist, and their digests.

DOCUMENT = "release.json"
"""The name of the file in a released folder that describes the release."""


def prior_files(space: ConfigurationSpace, folder: Path, problems: Problems) -> dict[str, Path]:
    """Return the paths of the public tables from which generators start, unread, and add a problem if one does not exist."""
    files: dict[str, Path] = {}
    for name in dict.fromkeys(generator.prior_file for generator in space.generators):
        if name is None or name.removeprefix(RELEASED).startswith(BY_DIGEST):
            continue
        if name.startswith(RELEASED):
            files[name] = folder / name.removeprefix(RELEASED)
            if not (files[name] / DOCUMENT).is_file():
                fault = f"There is no file {files[name] / DOCUMENT}"
                problems.add("generators", f"{fault}. The prior must be the folder of a release")
            continue
        path = folder / name
        if path.is_file() or path.is_dir():
            files[name] = path
        else:
            problems.add("generators", f"The prior must be a public file. There is no file {path}")
    return files


def prior_digest(name: str, path: Path) -> str:
    if name.startswith(RELEASED):
        return file_digest(path / DOCUMENT)
    from synthrelease.enclave.ingest import digest_of

    return digest_of(Source.of(path))


# Checks of rare bins and scores of bins: they must have one meaning in every round, and there must be rows that can have them.

_TIED = (
    "The rules connect the rare bins {} with other columns. It must be possible to move a row of another bin into each rare "
    "bin, without a change in the other columns"
)


def rare_bin_mistakes(
    generator: Generator, space: ConfigurationSpace, schema: Schema, synthetic: Plausibility, *, shared: bool
) -> Iterator[Mistake]:
    """Yield the mistakes in the bins that a generator names, such as rare bins that contradict alternatives or rules.

    Mistakes that can be found from the columns alone are not repeated.

    Parameters
    ----------
    synthetic : the rules for released rows, over atomic bins.
    shared : whether the tables are measured once, with the common bins of all alternatives.
    """
    if not _names_bins(generator):
        return
    if not shared:
        yield from _of_other_bins(generator, space)
    if not (bins := generator.counted_apart(space.common.layout)):
        return
    if schema.linked is not None:
        yield Mistake("rare_bins", "Delete `rare_bins`: they are not possible if records are roots with their members")
    elif shared and (name := _put_together(bins, space)):
        yield Mistake("rare_bins", f"An alternative of {name!r} merges a rare bin with other bins: {_shown(generator)}")
    elif not can_be_moved_into(bins, synthetic.merge(space.common)):
        yield Mistake("rare_bins", _TIED.format(_shown(generator)))


def check_lines(criteria: Sequence[Criterion], space: ConfigurationSpace, problems: Problems) -> None:
    """Add a problem if a regression line comes from noisy tables that leave out rare bins of its target."""
    for generator in space.generators:
        layout = space.common.layout
        apart = [layout.columns[column] for column in generator.bins_apart(layout)]
        for criterion in criteria:
            if criterion.measured_line and (target := getattr(criterion, "target", None)) in apart:
                why = f"because the regression line of {criterion.name!r} would leave out their rows"
                problems.add("generators[0].rare_bins", f"{target!r} cannot have rare bins, {why}")
                return


def can_be_moved_into(bins: Sequence[RareBin], rules: Plausibility) -> bool:
    """Return whether a row can be moved into every rare bin by changing one value, by each rule separately."""
    rare = {one.column: [other.bin for other in bins if other.column == one.column] for one in bins}
    if any(not rare.keys().isdisjoint(rule.places.values()) for rule in rules.records):
        return False
    for mask in rules.masks:
        apart = [rare.get(column, []) for column in mask.columns]
        for axis in (axis for axis, bins_ in enumerate(apart) if bins_):
            allowed = ~mask.forbidden
            for other in {*range(len(apart))} - {axis}:
                allowed = np.delete(allowed, apart[other], axis=other)
            allowed = np.moveaxis(allowed, axis, 0).reshape(allowed.shape[axis], -1)
            reachable = np.delete(allowed, apart[axis], axis=0).any(axis=0)
            if not (allowed[apart[axis]] & reachable).any(axis=1).all():
                return False
    return True


def _names_bins(generator: Generator) -> TypeGuard[MarginalsGenerator]:
    return "rare_bins" in type(generator).model_fields


def _of_other_bins(generator: MarginalsGenerator, space: ConfigurationSpace) -> Iterator[Mistake]:
    """Yield a mistake if a generator names bins of a column with several alternatives, so that its bins are not fixed.

    Also yield one if a scored sum (a weighted sum that the generator measures) is not valid for an alternative.
    """
    from synthrelease.generators.scored_sums import ScoreFactor

    layout = space.common.layout
    scored = {
        layout.index(factor.column): "sums"
        for scored_sum in generator.scored_sums
        for factor in scored_sum.factors
        if isinstance(factor, ScoreFactor) and not factor.spread
    }
    scored |= {rare.column: "rare_bins" for rare in generator.counted_apart(layout)}
    for column, field in scored.items():
        if len({transformation.binnings[column].of_atom for transformation in space.transformations}) > 1:
            name = layout.columns[column]
            fault = f"The bins are not fixed, because each round draws one of several alternatives of {name!r}"
            yield Mistake(field, f'{fault}. Keep one alternative, or set [selection] measurements = "shared"')
            return
    for scored_sum in (each for each in generator.scored_sums if not each.own_values_of):
        places = [layout.index(factor.column) for factor in scored_sum.factors]
        by_sizes = {tuple(len(each.binnings[place]) for place in places): each for each in space.transformations}
        if mistakes := [mistake for each in by_sizes.values() for mistake in scored_sum.mistakes(each.layout)]:
            yield mistakes[0]
            return


def _put_together(bins: Sequence[RareBin], space: ConfigurationSpace) -> str:
    for column in dict.fromkeys(rare_bin.column for rare_bin in bins):
        rare = np.array([rare_bin.bin for rare_bin in bins if rare_bin.column == column])
        common = space.common.binnings[column]
        for binning in {transformation.binnings[column] for transformation in space.transformations}:
            into = common.map_to(binning)
            if set(np.flatnonzero(np.isin(into, into[rare])).tolist()) != set(rare.tolist()):
                return space.common.layout.columns[column]
    return ""


def _shown(generator: Generator) -> str:
    return repr(getattr(generator, "rare_bins", None))


MAX_CONFIGURATIONS = 100_000


def build_space(release: ReleaseFile, schema: Schema, synthetic: Plausibility, problems: Problems) -> ConfigurationSpace:
    """Return the space of configurations (bins, a generator and a projection) from which rounds draw.

    Adds a problem for each mistake; the space is then incomplete.

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
        fault = f"There are {size:,} configurations. At most {MAX_CONFIGURATIONS:,} are possible"
        problems.add("", f"{fault}. Shorten lists of values or of alternatives")
        problems.stop()
    if size:
        _check_generators(release, space, list(generators.values()), synthetic, problems)
    return space


def _check_generators(
    release: ReleaseFile, space: ConfigurationSpace, named: list[tuple[str, Generator]], rules: Plausibility, problems: Problems
) -> None:
    selection = release.selection
    shared = selection.measurements == "shared"
    first = named[0][1]
    if (release.budget.generation_delta > 0) != (first.guarantee == "approximate"):
        needed = "above 0" if first.guarantee == "approximate" else "0"
        needed = f"This must be {needed}, because the guarantee of {first.family!r} is {first.guarantee}"
        problems.add("budget.generation_delta", f"{needed}. It is {float(release.budget.generation_delta):g}")
    concentrated = next((generator.family for _, generator in named if generator.guarantee == "zCDP"), None)
    if concentrated is not None:
        why = f"because the guarantee of {concentrated!r} is zero-concentrated"
        if selection.mode == "known_threshold" and not selection.stop_probability and not shared:
            advice = "Only pure generators allow an unlimited number of rounds (docs/accounting.md)"
            problems.add("selection.stop_probability", f"This must be above 0, {why}. {advice}")
        if not release.budget.delta:
            advice = "Choose a number far below 1 / (number of rows), for example 1e-9"
            problems.add("budget.delta", f"This must be above 0, {why}. {advice}")
    faulty: set[str] = set()  # one table may describe many generators: the mistakes of the first are enough
    for path, generator in named:
        if path not in faulty and problems.add_mistakes(
            path, _generator_mistakes(generator, named[0], space, rules, selection)
        ):
            faulty.add(path)


def _generator_mistakes(
    generator: Generator,
    first: tuple[str, Generator],
    space: ConfigurationSpace,
    synthetic: Plausibility,
    selection: SelectionTable,
) -> Iterator[Mistake]:
    """Yield the mistakes of a generator: in its settings, with [selection], or in its differences from the first generator.

    Only mistakes of the first failed check are reported, because they may cause the later ones.
    """
    where_first, other = first
    shared, published = selection.measurements == "shared", selection.publish_measurements
    tied = [mask.columns for mask in synthetic.masks]
    if mistakes := [*generator.mistakes(space.common.layout, tied)]:
        yield from mistakes
    elif (shared or published) and not isinstance(generator, MeasuringGenerator):
        apart = listing(name for name, family in GENERATORS.items() if issubclass(family, MeasuringGenerator))
        fault = f"[selection] shares or publishes noisy tables, and {generator.family!r} does not measure them separately"
        yield Mistake("family", f"{fault}. Use one of {apart}")
    elif mistakes := [*rare_bin_mistakes(generator, space, space.schema, synthetic, shared=shared)]:
        yield from mistakes
    elif published and isinstance(generator, MeasuringGenerator) and generator.leaves_out:
        yield Mistake(generator.leaves_out, "Delete this setting: published noisy tables must contain all rows")
    elif (generator.guarantee == "approximate") != (other.guarantee == "approximate"):
        fault = f"All generators have the same budget, so they need the same privacy definition. {generator.family!r} is"
        yield Mistake("family", f"{fault} {generator.guarantee}, and {where_first} is {other.guarantee}")
    elif shared and isinstance(other, MeasuringGenerator) and not other.same_measurements(generator):
        yield Mistake("tables", f"The noisy tables are shared, so this generator needs the same tables as {where_first}")


def _binnings(release: ReleaseFile, schema: Schema, problems: Problems) -> dict[str, tuple[str, ...]]:
    binnings: dict[str, tuple[str, ...]] = {}
    for column in schema.columns:
        path = f"transformations.{column.name}"
        names = release.transformations.get(column.name, list(column.alternatives))
        problems.add_unknown(path, "an alternative of the column", names, column.alternatives)
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            problems.add(path, f"The alternative {twice[0]!r} is listed twice")
        binnings[column.name] = tuple(name for name in names if name in column.alternatives)
        if not names:
            problems.add(path, "The list is empty. Name at least one alternative")
    return binnings


def _expand(
    path: str,
    key: str,
    table: Mapping[str, Any],
    models: Mapping[str, type[Any]],
    combinations: dict[str, tuple[str, Any]],
    problems: Problems,
) -> None:
    model = problems.class_for(path, key, table, models, problems.file)
    if model is None:
        return
    listed = {name: value if isinstance(value, list) else [value] for name, value in table.items()}
    empty = [name for name, values in listed.items() if not values]
    if empty:
        problems.add(f"{path}.{empty[0]}", "The list is empty. Write at least one value")
        return
    if len(combinations) + math.prod(len(values) for values in listed.values()) > MAX_CONFIGURATIONS:
        problems.add(path, f"There are more than {MAX_CONFIGURATIONS:,} combinations of values. Shorten the lists")
        return
    seen: set[tuple[str, str]] = set()
    repeated = False
    for values in product(*listed.values()):
        item = validated(model, dict(zip(listed, values, strict=True)), problems.file, path)
        if isinstance(item, list):
            fresh = [problem for problem in item if (problem.path, problem.message) not in seen]
            seen |= {(problem.path, problem.message) for problem in fresh}
            problems.found += fresh
        else:
            identity = f"{type(item).__name__} {item.model_dump_json()}"
            repeated |= identity in combinations
            combinations[identity] = (path, item)
    if repeated:
        problems.add(path, "A combination of values occurs twice. Delete the repeated values or the repeated table")
