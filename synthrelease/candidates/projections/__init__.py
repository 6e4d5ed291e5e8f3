"""Projections by the name used in the configuration file. To add one: one file, one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synthrelease.loading import Kinds, at_first_use

if TYPE_CHECKING:
    from synthrelease.candidates.projections.base import Projection
else:
    __getattr__ = at_first_use(__name__, {"base": ("Projection",)})

PROJECTIONS: Mapping[str, type[Projection]] = Kinds(
    __name__,
    {
        "minimum_count": "minimum_count:MinimumCount",
        "frequent_combinations": "frequent_combinations:FrequentCombinations",
    },
)


def published_projection(settings: Mapping[str, Any]) -> Projection | None:
    """The projection of a published configuration; None for a kind that is not known here.

    Raises
    ------
    ValidationError (a ValueError) : when the settings are not those of this kind.
    """
    model = PROJECTIONS.get(str(settings.get("kind", "")))
    return None if model is None else model.model_validate(settings)


__all__ = ["PROJECTIONS", "Projection", "published_projection"]
