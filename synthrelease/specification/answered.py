"""Whether the shared measurements can answer the criteria that name them: known before anything is read or spent."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.candidates.configuration import ConfigurationSpace
from synthrelease.candidates.generators import MeasuringGenerator
from synthrelease.criteria import Criterion, Setting
from synthrelease.criteria.measured_sums import covered
from synthrelease.errors import listing
from synthrelease.toml.problems import Problems
from synthrelease.toml.tables import SelectionTable


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
    layout = space.common.layout
    measured = [tuple(layout.columns[column] for column in columns) for columns in generator.fixed_tables(layout)]
    facts = setting.facts(space.transformations[0])
    for index, criterion in answered.items():
        for sums in criterion.measured_sums(facts):
            if not covered(sums.columns, measured):
                expected = f"a measured table with {listing(sums.columns)}, which the figure is a function of; or an epsilon"
                problems.add(f"criteria[{index}].answered_by", expected, "none", file=acceptance)
                break
