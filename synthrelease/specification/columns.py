"""From a column's table in the configuration to a `Column` with atomic bins and alternative binnings."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from synthrelease.domain.bins import MAX_BINS, Interval, parse_bins
from synthrelease.domain.rules import Rule, edges
from synthrelease.domain.schema import Binning, Column
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.spreadsheets import is_executable
from synthrelease.toml.tables import ColumnTable, InputTable

Bins = Sequence[str] | Mapping[str, list[str]]


class ColumnError(Unexpected):
    """A mistake in a column's table; its place is the field (relative to the table), or "groups"."""

    def __init__(self, place: str, expected: str, found: str | None, suggestion: str | None = None):
        super().__init__(expected, found, suggestion, place=place)


def build_column(name: str, table: ColumnTable, policy: InputTable, rules: Sequence[Rule], groups: Bins | None) -> Column:
    """A validated column.

    Raises
    ------
    ColumnError : for the first mistake.
    """
    if table.kind == "category":
        return _category(name, table, policy, groups)
    whole = table.kind == "integer"
    if table.bounds is None:
        raise ColumnError("bounds", "[lowest, highest] for a numeric column", "nothing")
    bounds = table.bounds
    for field in ("categories", "numbers"):
        if getattr(table, field):
            raise ColumnError(field, f"no {field} in a numeric column", "some")
    if not table.alternatives:
        raise ColumnError("alternatives", "at least one list of bins", "none")
    parsed: dict[str, tuple[Interval, ...]] = {}
    n_bins = 0
    for key, bins in table.alternatives.items():
        parsed[key] = _numeric(f"alternatives.{key}", bins, whole, bounds)
        n_bins += len(parsed[key])
        if n_bins > MAX_BINS:
            raise ColumnError(f"alternatives.{key}", f"at most {MAX_BINS} bins in all alternatives of a column", "more")
    inner = {interval.lower for intervals in parsed.values() for interval in intervals[1:]}
    if groups is not None:
        inner |= {interval.lower for interval in _numeric("groups", groups, whole, bounds)[1:]}
    inner = inner.union(*(edges(rule, name, bounds, whole_numbers=whole) for rule in rules))
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
        missing=table.missing or policy.missing,
        outside=table.outside or policy.outside,
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


def _numeric(field: str, bins: Bins, whole: bool, bounds: tuple[float, float]) -> tuple[Interval, ...]:
    if isinstance(bins, Mapping):
        raise ColumnError(field, "a list of bins for a numeric column", "a table")
    try:
        intervals = parse_bins([str(text) for text in bins], whole_numbers=whole)
    except Unexpected as error:
        raise ColumnError(field, error.expected, error.found) from None
    low, high = bounds
    shown = f"[{low:.15g}, {high:.15g}]"
    if intervals[0].lower > low or intervals[-1].upper < high + (1 if whole else 0):
        reach = f"{intervals[0].label!r} to {intervals[-1].label!r}"
        raise ColumnError(field, f"bins that cover the bounds {shown}", reach)
    for interval in intervals[1:]:
        if not low < interval.lower <= high:
            raise ColumnError(field, f"bins inside the bounds {shown}", repr(interval.label))
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
        of_atom=tuple(bisect_right(starts, atom.lower) for atom in atoms),
        lower=tuple(interval.lower for interval in intervals),
        upper=tuple(interval.upper for interval in intervals),
    )


def _category(name: str, table: ColumnTable, policy: InputTable, groups: Bins | None) -> Column:
    for field in ("bounds", "part"):
        if getattr(table, field) is not None:
            raise ColumnError(field, f"no {field} in a column of categories", "some")
    if table.outside == "clip":
        raise ColumnError("outside", "'drop' or 'error' (there is no nearest category)", "'clip'")
    if not table.categories:
        raise ColumnError("categories", "at least one category", "none")
    texts = table.categories if isinstance(table.categories, dict) else {label: [label] for label in table.categories}
    labels, values = tuple(texts), {}
    if len(labels) > MAX_BINS:
        raise ColumnError("categories", f"at most {MAX_BINS} categories", f"{len(labels)}")
    if not isinstance(table.categories, dict) and len(labels) != len(table.categories):
        twice = Counter(table.categories).most_common(1)[0][0]
        raise ColumnError("categories", "different categories", f"{twice!r} twice")
    _readable("categories", labels)
    for index, (label, spellings) in enumerate(texts.items()):
        if not spellings:
            raise ColumnError("categories", f"at least one text of the file for {label!r}", "an empty list")
        for text in spellings:
            if text in values:
                raise ColumnError("categories", "each text of the file under one category", f"{text!r} under two")
            values[text] = index
    _known("numbers", table.numbers, labels)
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
        missing=table.missing or policy.missing,
        outside="error" if policy.outside == "clip" and not table.outside else table.outside or policy.outside,
        ordered=bool(table.ordered),
        atoms=atoms,
        alternatives=alternatives,
    )


def _grouping(field: str, name: str, bins: Bins, labels: tuple[str, ...]) -> Binning:
    """{"low": ["none", "primary"], ...}: every category in exactly one group."""
    if not isinstance(bins, Mapping):
        raise ColumnError(field, "a table of groups with their categories", "a list")
    _readable(field, bins)
    members = [(label, index) for index, group in enumerate(bins.values()) for label in group]
    named = Counter(label for label, _ in members)
    _known(field, named, labels)
    wrong = [label for label in labels if named[label] != 1]
    if wrong:
        found = f"{wrong[0]!r} in {'two' if named[wrong[0]] else 'none'}"
        raise ColumnError(field, f"every category ({listing(labels)}) in exactly one group", found)
    into = dict(members)
    return Binning(
        name=name,
        labels=tuple(bins),
        numbers=tuple(None for _ in bins),
        of_atom=tuple(into[label] for label in labels),
    )


def _known(field: str, names: Collection[str], labels: Collection[str]) -> None:
    known = frozenset(labels)
    for name in names:
        if name not in known:
            raise ColumnError(field, f"categories of the column ({listing(labels)})", repr(name), closest(name, labels))


def _readable(field: str, labels: Collection[str]) -> None:
    for label in labels:
        if is_executable(label) or not label.strip() or len(label) > 200 or len((label + " ").splitlines()) > 1:
            expected = (
                "labels of one line and 1 to 200 characters that no spreadsheet executes (= + - @ start a formula, also after "
                ", ; | and quotes)"
            )
            raise ColumnError(field, expected, repr(label))
