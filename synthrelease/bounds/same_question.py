"""Whether the same words ask two releases for the same number."""

from __future__ import annotations

from synthrelease.bounds.questions import AskedOf, Question


def other_meaning(asked: Question, one: AskedOf, other: AskedOf) -> str | None:
    """What makes another question of it in the other release, as what was expected; None where nothing does.

    A mean of numbers that stand for bins, a median that lies in one, and groups by bins are those of the same bins alone. In a
    condition a number is compared with the limits of bins; a category has to hold what it held.

    Parameters
    ----------
    asked : as it was read over the one release; the other one has its columns.
    """
    first = asked.parts[0]
    for name in sorted(set().union(*(part.columns for part in asked.parts))):
        before, after = one.by_name[name], other.by_name[name]
        if before.unit != after.unit:
            return f"{name} in the unit {before.unit!r}, found {after.unit!r}"
        held = [dict(zip(column.labels, column.categories, strict=False)) for column in (before, after)]
        bins = [(each.labels, each.numbers, each.lower, each.upper, each.categories) for each in (before, after)]
        by_bins = name in (first.column, first.by)
        if (by_bins and bins[0] != bins[1]) or any(held[0][label] != held[1][label] for label in held[0].keys() & held[1]):
            return f"the same bins of {name}, found others"
    return None
