"""What rare bins and scores of bins ask of a specification: that they stand for one thing in every round, and that rows can be
made for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.generators.base import Generator
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.settings.base import Mistake
from synthrelease.settings.mistakes import Problems

if TYPE_CHECKING:  # a specification of other generators does not load these
    from synthrelease.generators.marginals import MarginalsGenerator
    from synthrelease.generators.measurements import RareBin

_TIED = "bins into which a row of another bin can be moved (no rule decides this column from others)"


def rare_bin_mistakes(
    generator: Generator, space: ConfigurationSpace, schema: Schema, synthetic: Plausibility, *, shared: bool
) -> Iterator[Mistake]:
    """What is wrong with bins that a generator names, beside what its columns alone show.

    Parameters
    ----------
    synthetic : rules for released rows, over the atomic bins.
    shared : whether measurements are made once, on the common bins.
    """
    if not _names_bins(generator):
        return
    if not shared:
        yield from _of_other_bins(generator, space)
    bins = generator.counted_apart(space.common.layout)
    if not bins:
        return
    if schema.linked is not None:
        yield Mistake(field="rare_bins", expected="none, as the records are roots with their members", found=_shown(generator))
    elif shared and not _apart_in_all(bins, space):
        expected = f"bins that no alternative of {_column(bins, space)!r} puts together with others"
        yield Mistake(field="rare_bins", expected=expected, found=_shown(generator))
    elif not can_be_moved_into(bins, synthetic.merge(space.common)):
        yield Mistake(field="rare_bins", expected=_TIED, found=_shown(generator))


def check_lines(criteria: Sequence[Criterion], space: ConfigurationSpace, problems: Problems) -> None:
    """A line that measurements give is that of the rows that the tables have: none may be missing for its own target."""
    for generator in space.generators:
        bins = generator.counted_apart(space.common.layout) if _names_bins(generator) else ()
        for criterion in criteria:
            target = getattr(criterion, "target", None)
            if bins and criterion.measured_line and target == _column(bins, space):
                expected = f"no bins of {target!r}, as the line of {criterion.name!r} is that of the other rows"
                problems.add("generators[0].rare_bins", expected, _shown(generator))
                return


def can_be_moved_into(bins: Sequence[RareBin], rules: Plausibility) -> bool:
    """Whether a row of another bin can be in each of these, with everything else as it is, as far as each rule by itself says.

    Parameters
    ----------
    rules : over the bins on which the column is measured.
    """
    column, rare = bins[0].column, [each.bin for each in bins]
    if any(column in rule.places.values() for rule in rules.records):
        return False
    for mask in rules.masks:
        if column not in mask.columns:
            continue
        allowed = np.moveaxis(~mask.forbidden, mask.columns.index(column), 0).reshape(rules.layout.sizes[column], -1)
        others = np.delete(allowed, rare, axis=0).any(axis=0)
        if not (allowed[rare] & others).any(axis=1).all():
            return False
    return True


def _names_bins(generator: Generator) -> TypeGuard[MarginalsGenerator]:
    return "rare_bins" in type(generator).model_fields


def _of_other_bins(generator: MarginalsGenerator, space: ConfigurationSpace) -> Iterator[Mistake]:
    """Bins that are named of a column of which rounds draw several alternatives."""
    from synthrelease.generators.scored_sums import ScoreFactor

    layout = space.common.layout
    scored = {
        layout.index(factor.column): "sums"
        for one in generator.scored_sums
        for factor in one.factors
        if isinstance(factor, ScoreFactor) and not factor.spread
    }
    scored |= {each.column: "rare_bins" for each in generator.counted_apart(layout)}
    for column, field in scored.items():
        if len({transformation.binnings[column].of_atom for transformation in space.transformations}) > 1:
            name = layout.columns[column]
            expected = f'[selection] measurements = "shared", or one alternative of {name!r}, whose bins are named'
            yield Mistake(field=field, expected=expected, found="several alternatives, each measured in its own rounds")
            return


def _apart_in_all(bins: Sequence[RareBin], space: ConfigurationSpace) -> bool:
    """Whether every bin of every alternative holds rare ones alone, or none."""
    column, rare = bins[0].column, np.array([each.bin for each in bins])
    common = space.common.binnings[column]
    for binning in {transformation.binnings[column] for transformation in space.transformations}:
        into = common.map_to(binning)
        if set(np.flatnonzero(np.isin(into, into[rare])).tolist()) != set(rare.tolist()):
            return False
    return True


def _column(bins: Sequence[RareBin], space: ConfigurationSpace) -> str:
    return space.common.layout.columns[bins[0].column]


def _shown(generator: Generator) -> str:
    return repr(getattr(generator, "rare_bins", None))
