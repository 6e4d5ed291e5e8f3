"""From a column's table in the configuration to a `Column` with atomic bins and alternative binnings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from synthrelease.bins import Interval, parse_bins
from synthrelease.errors import listing
from synthrelease.rules import Rule, edges
from synthrelease.schema import Binning, Column
from synthrelease.spec_files import ColumnTable, InputTable

Bins = Sequence[str | int | float] | dict[str, list[str]]
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def build_column(
    name: str, table: ColumnTable, rules_of_input: InputTable, rules: Sequence[Rule], groups: Bins | None
) -> Column:
    """A validated column.

    Raises
    ------
    ValueError : "field: expected ..., found ..."; the field is relative to the column's table, or "groups".
    """
    outside = table.outside or rules_of_input.outside
    if table.kind == "category":
        return _category(name, table, rules_of_input, "error" if outside == "clip" else outside, groups)
    whole = table.kind == "integer"
    bounds = _bounds(table, whole)
    for field in ("categories", "numbers"):
        if getattr(table, field):
            raise ValueError(f"{field}: expected no {field} in a numeric column, found some")
    if not table.alternatives:
        raise ValueError("alternatives: expected at least one list of bins, found none")
    parsed = {key: _numeric(f"alternatives.{key}", bins, whole, bounds) for key, bins in table.alternatives.items()}
    inner = {interval.lower for intervals in parsed.values() for interval in intervals[1:]}
    if groups is not None:
        inner |= {interval.lower for interval in _numeric("groups", groups, whole, bounds)[1:]}
    for rule in rules:
        limits = edges(rule, name, whole_numbers=whole)
        outliers = sorted(limit for limit in limits if not bounds[0] < limit <= bounds[1] + 1)
        if outliers:
            raise ValueError(
                f"bounds: expected bounds that hold every limit of the rules, found a rule that divides {name} at "
                f"{outliers[0]:g} and bounds {list(bounds)}"
            )
        inner |= limits
    atoms = _atoms(sorted(inner), whole, bounds)
    return Column(
        name=name,
        kind=table.kind,
        description=table.description,
        unit=table.unit,
        source=table.source or name,
        part=table.part,
        bounds=bounds,
        edges=tuple(sorted(inner)),
        values={},
        missing=table.missing or rules_of_input.missing,
        outside=outside,
        ordered=table.ordered is not False,
        atoms=_binning("atoms", atoms, atoms),
        alternatives={key: _binning(key, intervals, atoms) for key, intervals in parsed.items()},
    )


def group_binning(column: Column, bins: Bins) -> Binning:
    """Group-by bins as a binning of the column's atoms, which were refined by them."""
    if column.kind == "category":
        return _grouping("groups", "groups", bins, column.atoms.labels)
    intervals = parse_bins([str(text) for text in bins], whole_numbers=column.kind == "integer")
    atoms = _atoms(list(column.edges), column.kind == "integer", column.bounds or (-math.inf, math.inf))
    return _binning("groups", intervals, atoms)


def _bounds(table: ColumnTable, whole: bool) -> tuple[float, float]:
    if table.bounds is None:
        raise ValueError("bounds: expected [lowest, highest] for a numeric column, found nothing")
    low, high = table.bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high and max(abs(low), abs(high)) <= 1e15):
        raise ValueError(f"bounds: expected [lowest, highest] with lowest < highest, found {[low, high]}")
    if whole and (low != int(low) or high != int(high)):
        raise ValueError(f"bounds: expected whole numbers, found {[low, high]}")
    return low, high


def _numeric(field: str, bins: Bins, whole: bool, bounds: tuple[float, float]) -> tuple[Interval, ...]:
    if isinstance(bins, dict):
        raise ValueError(f"{field}: expected a list of bins for a numeric column, found a table")
    try:
        intervals = parse_bins([str(text) for text in bins], whole_numbers=whole)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None
    low, high = bounds
    if intervals[0].lower > low or intervals[-1].upper < high + (1 if whole else 0):
        raise ValueError(
            f"{field}: expected bins that cover the bounds {list(bounds)}, found {intervals[0].label!r} to "
            f"{intervals[-1].label!r}"
        )
    for interval in intervals[1:]:
        if not low < interval.lower <= high:
            raise ValueError(f"{field}: expected bins inside the bounds {list(bounds)}, found {interval.label!r}")
    return intervals


def _atoms(inner: list[float], whole: bool, bounds: tuple[float, float]) -> tuple[Interval, ...]:
    """The atomic bins between the inner edges; the first and the last reach to the bounds."""
    ends = [bounds[0], *inner, bounds[1] + (1 if whole else 0)]
    atoms = []
    for lower, upper in zip(ends, ends[1:], strict=False):
        last = upper - 1 if whole else upper
        label = f"{lower:g}" if lower == last else f"{lower:g}-{last:g}"
        atoms.append(Interval(label=label, lower=lower, upper=upper, number=(lower + last) / 2))
    return tuple(atoms)


def _binning(name: str, intervals: Sequence[Interval], atoms: Sequence[Interval]) -> Binning:
    starts = [interval.lower for interval in intervals[1:]]
    return Binning(
        name=name,
        labels=tuple(interval.label for interval in intervals),
        numbers=tuple(interval.number for interval in intervals),
        of_atom=tuple(sum(start <= atom.lower for start in starts) for atom in atoms),
        lower=tuple(interval.lower for interval in intervals),
        upper=tuple(interval.upper for interval in intervals),
    )


def _category(name: str, table: ColumnTable, rules_of_input: InputTable, outside: str, groups: Bins | None) -> Column:
    if table.bounds is not None:
        raise ValueError("bounds: expected no bounds in a column of categories, found some")
    if not table.categories:
        raise ValueError("categories: expected at least one category, found none")
    texts = table.categories if isinstance(table.categories, dict) else {label: [label] for label in table.categories}
    labels, values = tuple(texts), {}
    if not isinstance(table.categories, dict) and len(labels) != len(table.categories):
        raise ValueError("categories: expected different categories, found one twice")
    for index, (label, spellings) in enumerate(texts.items()):
        if label.startswith(_FORMULA_STARTS) or not label.strip() or len(label) > 200:
            raise ValueError(
                f"categories: expected labels that a spreadsheet shows as text (not starting with = + - @), found {label!r}"
            )
        for text in spellings:
            if text in values:
                raise ValueError(f"categories: expected each text under one category, found {text!r} under two")
            values[text] = index
    unknown = [label for label in table.numbers if label not in labels]
    if unknown:
        raise ValueError(f"numbers: expected categories ({listing(labels)}), found {unknown[0]!r}")
    numbers = tuple(table.numbers.get(label) for label in labels)
    atoms = Binning(name="atoms", labels=labels, numbers=numbers, of_atom=tuple(range(len(labels))))
    alternatives = {key: _grouping(f"alternatives.{key}", key, bins, labels) for key, bins in table.alternatives.items()}
    if not alternatives:
        alternatives = {"categories": Binning(name="categories", labels=labels, numbers=numbers, of_atom=atoms.of_atom)}
    if groups is not None:
        _grouping("groups", "groups", groups, labels)
    return Column(
        name=name,
        kind="category",
        description=table.description,
        unit=table.unit,
        source=table.source or name,
        part=table.part,
        bounds=None,
        edges=(),
        values=values,
        missing=table.missing or rules_of_input.missing,
        outside=outside,
        ordered=bool(table.ordered),
        atoms=atoms,
        alternatives=alternatives,
    )


def _grouping(field: str, name: str, bins: Bins, labels: tuple[str, ...]) -> Binning:
    """{"low": ["none", "primary"], ...}: every category in exactly one group."""
    if not isinstance(bins, dict):
        raise ValueError(f"{field}: expected a table of groups with their categories, found a list")
    if any(group.startswith(_FORMULA_STARTS) for group in bins):
        raise ValueError(f"{field}: expected labels that do not start with = + - @, found {listing(bins)}")
    members = [(label, index) for index, group in enumerate(bins.values()) for label in group]
    if sorted(label for label, _ in members) != sorted(labels):
        found = listing(label for label, _ in members)
        raise ValueError(f"{field}: expected every category ({listing(labels)}) in exactly one group, found {found}")
    into = dict(members)
    return Binning(
        name=name,
        labels=tuple(bins),
        numbers=tuple(None for _ in bins),
        of_atom=tuple(into[label] for label in labels),
    )
