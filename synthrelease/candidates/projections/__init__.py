"""Projections by the name used in the configuration file. To add one: one file, one line here."""

from collections.abc import Mapping
from typing import Any

from synthrelease.candidates.projections.base import Projection
from synthrelease.candidates.projections.frequent_combinations import FrequentCombinations
from synthrelease.candidates.projections.minimum_count import MinimumCount

PROJECTIONS: dict[str, type[Projection]] = {
    "minimum_count": MinimumCount,
    "frequent_combinations": FrequentCombinations,
}


def published_projection(settings: Mapping[str, Any]) -> Projection | None:
    """The projection of a published configuration; None for a kind that is not known here.

    Raises
    ------
    ValidationError (a ValueError) : when the settings are not those of this kind.
    """
    model = PROJECTIONS.get(str(settings.get("kind", "")))
    return None if model is None else model.model_validate(settings)


__all__ = ["PROJECTIONS", "Projection", "published_projection"]
