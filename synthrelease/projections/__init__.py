"""Projections by the name used in the configuration file. To add one: one file, one line here."""

from synthrelease.projections.minimum_count import MinimumCount

PROJECTIONS: dict[str, type[MinimumCount]] = {
    "minimum_count": MinimumCount,
}
