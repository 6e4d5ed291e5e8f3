"""Which associations the rows of a planned release will carry, from its two files alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from synthrelease.candidates.associations import Associations, Function
from synthrelease.domain.plausibility import Plausibility
from synthrelease.specification.release_spec import ReleaseSpec


def planned_associations(spec: ReleaseSpec) -> tuple[Associations, ...]:
    """One for each generator that may be drawn."""
    layout, rules = spec.space.common.layout, spec.synthetic.merge(spec.space.common)
    ruled = [mask.columns for mask in rules.masks] + [tuple(sorted(rule.places.values())) for rule in rules.records]
    return tuple(
        Associations(
            layout=layout,
            ties=generator.ties(layout),
            ruled=tuple(dict.fromkeys(ruled)),
            functions=tuple(_functions(rules)),
            linked=spec.schema.linked,
        )
        for generator in spec.space.generators
    )


def _functions(rules: Plausibility) -> Iterator[Function]:
    """Columns of which the rules leave one bin to each bin of another column, as the region of a municipality."""
    pairs = [pair for mask in rules.masks if len(mask.columns) == 2 for pair in permutations(mask.columns)]
    yield from ((upper, (lower,)) for upper, lower in pairs if rules.home_of(upper, lower) is not None)
