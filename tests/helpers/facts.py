"""Public facts about a candidate, were it released: as `bundle.public` makes them from release.json."""

from __future__ import annotations

from dataclasses import replace

from synthrelease.criteria.base import Setting
from synthrelease.criteria.facts import PublicFacts
from synthrelease.generators.candidate import Candidate


def facts_of(candidate: Candidate, setting: Setting) -> PublicFacts:
    """The facts about a candidate, on its bins, with the rules for private rows."""
    transformation = candidate.transformation
    return replace(setting.facts(transformation, candidate.counts), raw=setting.raw.merge(transformation))
