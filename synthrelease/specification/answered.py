"""Whether the shared measurements can answer the criteria that name them: known before anything is read or spent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.errors import listing
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import SelectionTable
from synthrelease.specification.release_spec import ReleaseSpec

MOST_LOOKED_AT = 20
"""Transformations whose noise is looked at before a release; of more, the first."""


def check_answered(
    selection: SelectionTable,
    space: ConfigurationSpace,
    criteria: Sequence[Criterion],
    setting: Setting,
    problems: Problems,
    acceptance: str,
) -> None:
    """Add a problem for every criterion that the measurements do not answer, and where they are not shared or published."""
    answered = {index: each for index, each in enumerate(criteria) if each.answered_by is not None}
    named = dict.fromkeys(answered, "answered_by")
    named |= {index: "line" for index, each in enumerate(criteria) if each.measured_line}
    if not named:
        return
    first, generator = min(named), space.generators[0]
    where = f"criteria[{first}].{named[first]}"
    if selection.measurements != "shared" or not isinstance(generator, MeasuringGenerator):
        expected = 'an epsilon, or [selection] measurements = "shared": measurements that are made in a round answer nothing'
        problems.add(where, expected, "measurements of every round", file=acceptance)
        return
    if answered and not selection.publish_measurements:
        expected = "true, because criteria are answered by the measurements, and readers must be able to check that"
        problems.add("selection.publish_measurements", expected, "false")
    from synthrelease.criteria.measured import covered

    layout = space.common.layout
    measured = [tuple(layout.columns[column] for column in columns) for columns in generator.fixed_tables(layout)]
    facts = setting.facts(space.transformations[0])
    for index, criterion in answered.items():
        for sums in criterion.measured_sums(facts):
            if not covered(sums.columns, measured):
                expected = f"a measured table with {listing(sums.columns)}, which the figure is a function of; or an epsilon"
                problems.add(f"criteria[{index}].answered_by", expected, "none", file=acceptance)
                break


def least_bounds(spec: ReleaseSpec, n: int) -> dict[str, float]:
    """What the bound of every answered criterion is at least for tables of n rows, because of the noise: public beforehand.

    The risk, the tables and their noise are those of the release; the counts are not looked at, there are none.
    """
    generator = spec.space.generators[0]
    if not spec.setting.answered or not isinstance(generator, MeasuringGenerator):
        return {}
    from synthrelease.criteria.base import possible_cells
    from synthrelease.criteria.measured import half_widths
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals

    common, found = spec.space.common, dict[str, float]()
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
        asked = spec.setting.sums(transformation)
        sizes = dict(zip(transformation.layout.columns, transformation.layout.sizes, strict=True))
        number = sum(one.number(sizes) for each in asked.values() for one in each)
        risk = float(spec.bound_risk) / len(spec.space.transformations) / number
        possible = possible_cells(spec.raw.merge(transformation))
        for criterion in spec.setting.answered:
            widths = [half_widths(one, measured, possible, risk) for one in asked[criterion.name]]
            least = criterion.least_measured_bound(widths, n)
            found[criterion.name] = min(least, found.get(criterion.name, least))
    return found
