"""Public facts about a candidate, were it released: as `bundle.public` makes them from release.json."""

from __future__ import annotations

from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria import Group, PublicColumn, PublicFacts, Setting
from synthrelease.domain.schema import Binning


def facts_of(candidate: Candidate, setting: Setting) -> PublicFacts:
    """The facts about a candidate, on its bins."""
    transformation = candidate.transformation
    columns = tuple(
        PublicColumn(
            name=column.name,
            kind=column.kind,
            unit=column.unit,
            binning=binning.name,
            labels=binning.labels,
            numbers=binning.numbers,
            lower=binning.lower,
            upper=binning.upper,
            missing=binning.missing,
            bounds=column.bounds,
            step=column.step,
            groups=_groups(binning, setting.groups.get(column.name)),
        )
        for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
    )
    raw = setting.raw.merge(transformation)
    return PublicFacts(n=candidate.n, columns=columns, criteria=setting.criteria, counts=candidate.counts, raw=raw)


def _groups(binning: Binning, coarser: Binning | None) -> tuple[Group, ...] | None:
    if coarser is None:
        return None
    into = binning.map_to(coarser)
    return tuple(Group(label=label, inside=tuple((into == i).tolist())) for i, label in enumerate(coarser.labels))
