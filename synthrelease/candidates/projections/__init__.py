"""Projections by the name used in the configuration file. To add one: one file, one line here."""

from synthrelease.candidates.projections.base import Projection
from synthrelease.candidates.projections.minimum_count import MinimumCount

PROJECTIONS: dict[str, type[Projection]] = {
    "minimum_count": MinimumCount,
}

__all__ = ["PROJECTIONS", "Projection"]
