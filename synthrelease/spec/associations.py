"""Determine which associations a planned release will preserve, from the configuration and the acceptance file alone."""

from __future__ import annotations

from synthrelease.data.schema import PublishedColumn
from synthrelease.generators.associations import Associations, all_functions
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.tried import strengths_tried


def planned_associations(spec: ReleaseSpec, rows: int | None = None) -> tuple[Associations, ...]:
    """Return the associations that the release is planned to preserve, for each generator that a round may use.

    Their strengths are known only if the configuration was drafted from a public file or rehearsed on one.

    Parameters
    ----------
    rows : the number of rows of the file; by default `rows` of [input]. Without a number, the result does not say which
        tables are mostly noise.
    """
    layout, rules = spec.space.common.layout, spec.synthetic.merge(spec.space.common)
    ruled = [mask.columns for mask in rules.masks] + [tuple(sorted(rule.places.values())) for rule in rules.records]
    columns = [
        [PublishedColumn.of(column, column.alternatives[name]) for name in spec.space.binnings[column.name]]
        for column in spec.schema.columns
    ]
    rows = rows or spec.rows.stated
    if rows is not None and spec.options.partition is not None:
        rows = spec.options.partition.sizes(rows)[0]
    strengths = strengths_tried(spec)
    functions = all_functions(spec.options.functions, spec.rules, columns)
    return tuple(
        Associations(
            layout=layout,
            ties=generator.ties(layout),
            ruled=tuple(dict.fromkeys(ruled)),
            functions=functions,
            linked=spec.schema.linked,
            noise=generator.count_noise(layout, spec.generation_charge),
            rows=rows,
            apart=generator.bins_apart(layout),
            strengths=strengths,
        )
        for generator in spec.space.generators
    )
