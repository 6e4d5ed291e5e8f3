"""How names and figures are written in the sentences about a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthrelease.criteria.facts import PublicFacts


def words(name: str) -> str:
    """A name from a file as words."""
    return name.replace("_", " ")


def figure(value: float | None, digits: int = 4) -> str:
    """A figure to so many significant digits, whole numbers in full; with thousands set apart."""
    if value is None:
        return "not bounded"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    if "e+" in text:  # 130 to two digits is no 1.3e+02
        return f"{float(text):,.0f}"
    if abs(value) < 1000:
        return text
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"


def shown(value: Any) -> str:
    """A setting in words: numbers, names, and lists or tables of them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))}: {shown(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(shown(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value, 10) if isinstance(value, int | float) else words(str(value))


def grouped(by: Sequence[str], overall: bool, facts: PublicFacts) -> str:
    """What a figure is taken over: groups of columns, with the labels of [groups] where they have some, and all rows."""

    def column(name: str) -> str:
        groups = facts.groups.get(name)
        return words(name) if groups is None else f"{words(name)} ({', '.join(group.label for group in groups)})"

    parts = [f"over groups by {'; by '.join(map(column, by))}"] if by else []
    return " and ".join([*parts, *(["over all rows"] if overall else [])])


def what_counts(values: str, ranges: Mapping[str, tuple[float, float]], columns: Sequence[str], facts: PublicFacts) -> str:
    """What original rows count as in a regression, in words, where that is not just their own values."""
    which = {
        "bins": "original rows count by the numbers of their bins",
        "own target": "features count by the numbers of their bins",
    }
    limits = ", ".join(f"{words(name)} as {shown(low)} to {shown(high)} at most" for name, (low, high) in ranges.items())
    grids = facts.grid_of(columns if values == "own" else columns[-1:] if values == "own target" else ()).removeprefix(", ")
    return "".join(f"; {text}" for text in (which.get(values, ""), limits, grids) if text)
