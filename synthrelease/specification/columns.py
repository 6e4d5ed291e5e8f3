"""From a column's table in the configuration to a `Column` with atomic bins and alternative binnings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from synthrelease.data.dates import ISO, DateFormat
from synthrelease.data.rules import Rule, edges
from synthrelease.data.schema import MAX_BINS, Binning, Column, IntervalBin, ValueGrid, parse_bins, value_grid, value_limits
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.specification.categories import Bins, ColumnError, category, code, grouping, readable


def build_column(
    name: str,
    table: ColumnTable,
    policy: InputTable,
    rules: Sequence[Rule],
    groups: Bins | None,
    own_values: bool = False,
    edges_of: Sequence[str] = (),
) -> Column:
    """A validated column.

    Parameters
    ----------
    edges_of : the columns at whose limits in rules its atomic bins are cut, if not at its own alone.
    own_values : whether something computes with the rows' own values of the column, so that atomic bins must know them.

    Raises
    ------
    ColumnError : for the first mistake.
    """
    if table.kind in ("category", "code"):
        column = (category if table.kind == "category" else code)(name, table, policy, groups)
    else:
        column = _numeric_column(name, table, policy, rules, groups, own_values, edges_of or (name,))
    _check_missing_values(column)
    if table.outside_label is not None and column.outside != "bin":
        raise ColumnError("outside_label", "it beside outside = 'bin' alone", f"outside = {column.outside!r}")
    if column.missing == "bin":
        return _with_missing(column, "missing" if table.missing_label is None else table.missing_label, groups)
    if table.missing_label is not None:
        raise ColumnError("missing_label", "it beside missing = 'bin' alone", f"missing = {column.missing!r}")
    return column


def with_counted(columns: Sequence[Column], tables: Mapping[str, ColumnTable]) -> tuple[Column, ...]:
    """The columns, where those that count marks of others know which atomic bins of these are one."""
    atoms = {column.name: column.atoms.places for column in columns}
    counted = {
        name: {one: frozenset(atoms[one][label] for label in labels) for one, labels in table.counts.items()}
        for name, table in tables.items()
        if table.counts is not None
    }
    return tuple(replace(column, counts=counted[column.name]) if column.name in counted else column for column in columns)


def _check_missing_values(column: Column) -> None:
    """A text that is both a category and, by the column's own word, a missing value."""
    texts = {text.strip() for text in column.values}
    for text in column.missing_values:
        if text.strip() in texts:
            raise ColumnError("missing_values", "texts that stand for no category of the column", repr(text))


def _with_missing(column: Column, label: str, groups: Bins | None) -> Column:
    """The column with one more atom, of missing values, which is a bin by itself in every alternative."""
    readable("missing_label", [label])
    taken = {text for binning in (column.atoms, *column.alternatives.values()) for text in binning.labels}
    if label in taken or label in (groups or ()):
        raise ColumnError("missing_label", "a label that no bin and no group of the column has", repr(label))
    if column.kind != "category" and _is_bin(label, column.kind == "integer"):
        raise ColumnError("missing_label", "a label that cannot be taken for a number", repr(label))
    return replace(
        column,
        atoms=column.atoms.with_missing(label),
        alternatives={name: binning.with_missing(label) for name, binning in column.alternatives.items()},
        missing_label=label,
    )


def _is_bin(text: str, whole: bool) -> bool:
    try:
        return bool(parse_bins([text], whole_numbers=whole))
    except Unexpected:
        return False


def _numeric_column(
    name: str,
    table: ColumnTable,
    policy: InputTable,
    rules: Sequence[Rule],
    groups: Bins | None,
    own_values: bool,
    edges_of: Sequence[str],
) -> Column:
    whole = table.kind == "integer"
    if table.bounds is None:
        raise ColumnError("bounds", "[lowest, highest] for a numeric column", "nothing")
    bounds = table.bounds
    if table.outside == "bin":
        raise ColumnError("outside", "'clip', 'drop' or 'error' in a numeric column, which has no list", "'bin'")
    for field in ("categories", "codes", "characters"):
        if getattr(table, field):
            raise ColumnError(field, f"no {field} in a numeric column", "some")
    if not table.alternatives:
        raise ColumnError("alternatives", "at least one list of bins", "none")
    dates = _dates(table)
    parsed: dict[str, tuple[IntervalBin, ...]] = {}
    n_bins = 0
    for key, bins in table.alternatives.items():
        parsed[key] = _numeric(f"alternatives.{key}", bins, whole, bounds)
        n_bins += len(parsed[key])
        if n_bins > MAX_BINS:
            raise ColumnError(f"alternatives.{key}", f"at most {MAX_BINS} bins in all alternatives of a column", "more")
    inner = {interval.lower for intervals in parsed.values() for interval in intervals[1:]}
    if groups is not None:
        inner |= {interval.lower for interval in _numeric("groups", groups, whole, bounds)[1:]}
    inner = inner.union(*(edges(rule, one, bounds, whole_numbers=whole) for rule in rules for one in edges_of))
    _check_step(table.step, bounds, whole)
    grid = value_grid(bounds, whole=whole, step=table.step)
    if own_values:
        inner |= set(grid.edges)
    atoms = _atoms(sorted(inner), whole, bounds, grid if own_values else None)
    lowest = [atom.lower for atom in atoms]
    stated = _stated_numbers(table.numbers, [each for intervals in parsed.values() for each in intervals], bounds, whole)
    return Column(
        name=name,
        kind=table.kind,
        description=table.description,
        unit=table.unit,
        source="" if table.counts is not None else table.source or name,
        part=table.part,
        minus=table.minus,
        dates=dates,
        bounds=bounds,
        bounds_by=table.bounds_by or "",
        edges=tuple(sorted(inner)),
        step=grid.step if own_values else None,
        values={},
        missing=table.missing or policy.missing,
        outside=table.outside or policy.outside,
        ordered=table.ordered is not False,
        atoms=_binning("atoms", atoms, lowest),
        alternatives={
            key: _binning(key, [replace(one, number=stated.get(one.label, one.number)) for one in intervals], lowest)
            for key, intervals in parsed.items()
        },
        missing_values=table.missing_values,
    )


def _dates(table: ColumnTable) -> DateFormat | None:
    """How the dates of a column are written; None where it reads none."""
    of_dates = [field for field in ("part", "minus") if getattr(table, field) is not None]
    if not of_dates:
        if table.format is not None:
            raise ColumnError("format", "it beside part or minus alone (it says how dates are written)", repr(table.format))
        return None
    if table.kind != "integer":
        raise ColumnError(of_dates[0], "it in a column of whole numbers (kind = 'integer') alone", f"kind = {table.kind!r}")
    if len(of_dates) > 1:
        raise ColumnError("minus", "either part, of one date, or minus, between two", "both")
    try:
        found = DateFormat(ISO if table.format is None else table.format)
    except Unexpected as error:
        raise ColumnError("format", error.expected, error.found) from None
    if found.lacks(table.part):
        raise ColumnError("format", f"a date format that tells the {table.part or 'day'}", repr(table.format))
    return found


def group_binning(column: Column, bins: Bins) -> Binning:
    """Group-by bins as a binning of the column's atoms, which were refined by them; missing values are a group of their own."""
    if column.kind == "category":
        present = column.atoms.labels[: column.atoms.present]
        found = grouping("groups", "groups", bins, present, unlisted=column.outside_label or None)
    else:
        intervals = parse_bins([str(text) for text in bins], whole_numbers=column.kind == "integer")
        found = _binning("groups", intervals, column.atoms.lower)
    return found if column.atoms.missing is None else found.with_missing(column.missing_label)


def _numeric(field: str, bins: Bins, whole: bool, bounds: tuple[float, float]) -> tuple[IntervalBin, ...]:
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


def _check_step(step: float | None, bounds: tuple[float, float], whole: bool) -> None:
    """Raises ColumnError for a grid that is too fine to be held, or that whole numbers do not have."""
    if step is not None and whole and step != int(step):
        raise ColumnError("step", "a whole number, in a column of whole numbers", f"{step:.15g}")
    if step is not None and (bounds[1] - bounds[0]) / step > MAX_BINS:
        raise ColumnError("step", f"at most {MAX_BINS} steps between the bounds", f"{step:.15g}")


def _stated_numbers(
    numbers: Mapping[str, float], intervals: Sequence[IntervalBin], bounds: tuple[float, float], whole: bool
) -> dict[str, float]:
    """The numbers that stand for bins by their labels, each that of a value which the bin can hold."""
    known = {one.label: one for one in intervals}
    for label, number in numbers.items():
        if label not in known:
            raise ColumnError("numbers", f"bins of the column ({listing(known)})", repr(label), closest(label, known))
        kind, one = "integer" if whole else "real", known[label]
        (low,), (high,) = value_limits(kind, [number], [one.lower], [one.upper], bounds)
        if not low <= number <= high:
            raise ColumnError(
                "numbers", f"a number that bin {label!r} can hold, from {low:.15g} to {high:.15g}", f"{number:.15g}"
            )
    return dict(numbers)


def _atoms(
    inner: list[float], whole: bool, bounds: tuple[float, float], grid: ValueGrid | None = None
) -> tuple[IntervalBin, ...]:
    """The atomic bins between the inner edges; the first and the last reach to the bounds. Each has the number in its middle,
    or with a grid the value of it that lies nearest.
    """
    ends = [bounds[0], *inner, bounds[1] + (1 if whole else 0)]
    atoms = []
    for lower, upper in zip(ends, ends[1:], strict=False):
        last = upper - 1 if whole else upper
        label = f"{lower:g}" if lower == last else f"{lower:g}-{last:g}"
        middle = (lower + last) / 2
        number = middle if grid is None else min(max(grid.nearest(middle), lower), last)
        atoms.append(IntervalBin(label=label, lower=lower, upper=upper, number=number))
    return tuple(atoms)


def _binning(name: str, intervals: Sequence[IntervalBin], atoms: Sequence[float]) -> Binning:
    """`atoms` are the lower edges of the atomic bins."""
    starts = [interval.lower for interval in intervals[1:]]
    return Binning(
        name=name,
        labels=tuple(interval.label for interval in intervals),
        numbers=tuple(interval.number for interval in intervals),
        of_atom=tuple(bisect_right(starts, lower) for lower in atoms),
        lower=tuple(interval.lower for interval in intervals),
        upper=tuple(interval.upper for interval in intervals),
    )
