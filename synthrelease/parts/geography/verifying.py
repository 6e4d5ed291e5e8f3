"""Rows of every area are those of the areas in it, level by level, as the rules say which lies in which."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import GeographyPart
from synthrelease.published.verify.part import KnownFiles, Verifying

if TYPE_CHECKING:
    from synthrelease.spec.geography import Geography


class GeographyVerifying(Verifying[Any, GeographyPart]):
    def asked(self, value: Geography, part: GeographyPart, document: ReleaseDocument) -> Iterator[str]:
        """The same levels, of as many areas."""
        if [(level.column, level.areas) for level in part.levels] != list(zip(value.chain, value.areas, strict=True)):
            yield "geography: expected the levels of the specification, found others"

    def found(self, part: GeographyPart, known: KnownFiles) -> str:
        """How many areas have rows."""
        counts = known.table.counts
        told = []
        for level in part.levels:
            rows = counts.marginal([counts.layout.columns.index(level.column)])
            told.append(f"{np.count_nonzero(rows):,} of {level.areas:,} {level.column}")
        return f"areas with rows: {', '.join(told)}; the rows of each are those of the areas in it"

    def problems(self, document: ReleaseDocument, part: GeographyPart, known: KnownFiles) -> Iterator[str]:
        """Add up the areas of each level, and compare with the level above."""
        counts, places = known.table.counts, []
        for level in part.levels:
            if level.column not in counts.layout.columns:
                yield f"geography: expected a column {level.column!r} in the table, found none"
                return
            places.append(counts.layout.columns.index(level.column))
            if counts.layout.sizes[places[-1]] != level.areas:
                yield f"geography: expected {counts.layout.sizes[places[-1]]} areas of {level.column!r}, found {level.areas}"
        lowest = counts.marginal([places[-1]])
        homes = []
        for place in places[:-1]:
            home = known.rules.home_of(place, places[-1])
            if home is None:
                name = counts.layout.columns[place]
                yield f"geography: expected a rule that puts each area into one of {name!r}, found none"
                return
            homes.append(home)
            summed = np.bincount(home, weights=lowest, minlength=counts.layout.sizes[place]).astype(np.int64)
            if wrong := int((summed != counts.marginal([place])).sum()):
                name = counts.layout.columns[place]
                yield f"geography: expected rows of {name!r} that are those of the areas in it, found others in {wrong}"
        for upper, lower in pairwise(homes):
            if len(np.unique(np.stack([upper, lower]), axis=1).T) != len(np.unique(lower)):
                yield "geography: expected levels that lie within one another, found an area in two of the level above"


VERIFYING = GeographyVerifying()
