"""Build a `Column`, with its atomic bins and alternative binnings, from its table in the configuration, and read codelists.

Atomic bins are the widest bins from which the bins of all alternatives, groups and rules can be put together. Functions
that check settings raise ColumnError for the first mistake, and SpecError for a mistake in a codelist file.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthrelease.data.dates import ISO, DateFormat
from synthrelease.data.rules import Rule, edges
from synthrelease.data.schema import MAX_BINS, Binning, Column, IntervalBin, ValueGrid, parse_bins, value_grid, value_limits
from synthrelease.errors import SpecError, Unexpected, closest, cut, listing, so_many
from synthrelease.settings.base import LABEL, is_label
from synthrelease.settings.columns import ColumnTable, InputTable, outside_of, unlisted_label, unlisted_member, with_unlisted
from synthrelease.settings.reading import ConfigurationFile, beside, csv_lines

Bins = Sequence[str] | Mapping[str, list[str]]


class ColumnError(Unexpected):
    """A mistake in the table of a column. `place` is the name of the setting, or "groups" for the groups of criteria."""

    def __init__(self, place: str, text: str, found: str | None = None, suggestion: str | None = None):
        super().__init__(text, found, suggestion, place=place)


def _require(holds: object, field: str, text: str, found: str | None = None) -> None:
    if not holds:
        raise ColumnError(field, text, found)


# Columns of categories and of codes. In the schema, a column of codes is a column of categories: the labels of its codelist.


@dataclass(frozen=True, kw_only=True)
class _AtomicBins:
    """The atomic bins of a column of categories or codes, its finest bins, from which all released bins are merged.

    Attributes
    ----------
    values : a mapping from each text in the file to the index of its atomic bin.
    members : the category or code of each atomic bin, as written in the configuration.
    labels : the label of each atomic bin in the release.
    numbers : the representative value of each atomic bin, or None if the bin has no representative value.
    """

    values: Mapping[str, int]
    members: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]


_OF_NUMBERS = ("bounds", "bounds_by", "step", "part", "minus", "minus_format", "format")


def _categories(table: ColumnTable) -> _AtomicBins:
    _absent(table, "a column of categories", *_OF_NUMBERS, "codes", "characters")
    listed = table.categories or []
    texts = listed if isinstance(listed, dict) else {label: [label] for label in listed}
    labels, values = tuple(texts), dict[str, int]()
    _require(texts, "categories", "The column has no categories. List at least one")
    _require(len(labels) <= MAX_BINS, "categories", f"at most {MAX_BINS:,} categories", f"{len(labels):,}")
    _require(len(labels) == len(listed), "categories", f"The category {_commonest(listed)!r} is listed twice")
    readable("categories", labels)
    for index, (label, spellings) in enumerate(texts.items()):
        _require(spellings, "categories", f"The list of texts for {label!r} is empty. Name at least one text in the file")
        for text in spellings:
            _require(text not in values, "categories", f"The text {text!r} is listed for two categories")
            values[text] = index
    _known("numbers", table.numbers, labels)
    return _AtomicBins(values=values, members=labels, labels=labels, numbers=tuple(map(table.numbers.get, labels)))


def _codes(table: ColumnTable) -> _AtomicBins:
    _absent(table, "a column of codes", *_OF_NUMBERS, "categories")
    why = "Delete `numbers`: codes are names, so they have no numbers (columns of kind = 'category' may have them)"
    _require(not table.numbers, "numbers", why)
    _require(not table.ordered, "ordered", "Delete `ordered`: codes have no order")
    if isinstance(table.codes, str):
        fault = f"There is no file {table.codes!r}"
        raise ColumnError("codes", f"{fault}. Name an existing file, or write a table of codes with their labels")
    codes, labels = tuple(table.codes or ()), tuple((table.codes or {}).values())
    _require(codes, "codes", "The column has no codelist. Write a table of codes with their labels, or name a CSV file")
    _require(len(codes) <= MAX_BINS, "codes", f"at most {MAX_BINS:,} codes", f"{len(codes):,}")
    readable("codes", labels)
    _require(len(set(labels)) == len(labels), "codes", f"Two codes have the same label, {_commonest(labels)!r}")
    blank = next((code for code in codes if not code.strip()), None)
    _require(blank is None, "codes", f"The code {blank!r} is blank. A blank text may be one of missing_values")
    long = next((code for code in codes if table.characters and len(code) > table.characters), None)
    _require(long is None, "codes", f"The code {long!r} has more characters than `characters` states ({table.characters})")
    values = {code: index for index, code in enumerate(codes)}
    return _AtomicBins(values=values, members=codes, labels=labels, numbers=(None,) * len(codes))


def _commonest(labels: Iterable[str]) -> str:
    return Counter(list(labels)).most_common(1)[0][0]


def _absent(table: ColumnTable, kind: str, *fields: str) -> None:
    for field in fields:
        _require(getattr(table, field) is None, field, f"Delete `{field}`: {kind} cannot have it")
    _require(table.outside != "clip", "outside", "'bin', 'drop' or 'error' (there is no nearest category)", "'clip'")


def _listed_column(name: str, table: ColumnTable, policy: InputTable, groups: Bins | None) -> Column:
    every = "categories" if table.kind == "category" else EACH_CODE
    listed, dealt = _categories(table) if table.kind == "category" else _codes(table), table.role == "cluster_group"
    members, labels, numbers = listed.members, listed.labels, listed.numbers
    unlisted, member = _unlisted(table, labels, members), unlisted_member(table)
    if unlisted is not None and unlisted not in labels:
        members, labels, numbers = (*members, unlisted), (*labels, unlisted), (*numbers, None)
    atoms = Binning(name="atoms", labels=labels, numbers=numbers, of_atom=tuple(range(len(labels))))
    alternatives = {
        key: grouping(f"alternatives.{key}", key, bins, members, every, unlisted=member)
        for key, bins in table.alternatives.items()
    }
    if groups is not None:
        grouping("groups", "groups", groups, labels, unlisted=unlisted)
    return Column(
        name=name,
        kind="category",
        description=table.description,
        unit=table.unit,
        source="" if table.counts is not None else table.source or name,
        values={} if dealt else listed.values,
        missing=table.missing or policy.missing,
        characters=table.characters,
        by_digest=dealt,
        outside_label=unlisted or "",
        outside=outside_of(table, policy),
        ordered=bool(table.ordered),
        atoms=atoms,
        alternatives=alternatives or {every: replace(atoms, name=every)},
        missing_values=table.missing_values,
    )


def _unlisted(table: ColumnTable, labels: Sequence[str], members: Sequence[str]) -> str | None:
    label = unlisted_label(table)
    if label is None or label in labels:
        return label
    readable("outside_label", [label])
    _require(not table.ordered, "outside_label", "one of the ordered categories", repr(label))
    _require(label not in members, "outside_label", f"The label {label!r} is already the code of another label")
    return label


def grouping(
    field: str, name: str, bins: Bins, labels: tuple[str, ...], what: str = "categories", *, unlisted: str | None = None
) -> Binning:
    """Build a binning from groups such as {"low": ["none", "primary"], ...}, with every category or code in exactly one
    group.

    Parameters
    ----------
    unlisted : the label for unlisted texts, or None if the column has no such label. The groups need not list this label.
    """
    if not isinstance(bins, Mapping):
        raise ColumnError(field, f"Write a table of groups with their {what}, not a list")
    bins = with_unlisted(bins, unlisted)
    readable(field, bins)
    members = [(label, index) for index, group in enumerate(bins.values()) for label in group]
    times = Counter(label for label, _ in members)
    _known(field, times, labels, what)
    wrong = [label for label in labels if times[label] != 1]
    if wrong:
        fault = f"{wrong[0]!r} is in {'more than one group' if times[wrong[0]] else 'no group'}"
        raise ColumnError(field, f"{fault}. Each of the {what} must be in exactly one group: {listing(labels)}")
    into = dict(members)
    return Binning(name=name, labels=tuple(bins), numbers=(None,) * len(bins), of_atom=tuple(into[label] for label in labels))


def _known(field: str, names: Collection[str], labels: Collection[str], what: str = "categories") -> None:
    allowed = frozenset(labels)
    for name in names:
        if name not in allowed:
            raise ColumnError(field, f"{name!r} is not one of the {what}: {listing(labels)}", suggestion=closest(name, labels))


def readable(field: str, labels: Collection[str]) -> None:
    for label in labels:
        _require(is_label(label), field, f"The text {label!r} cannot be a label. {LABEL}")


# Codelists: public CSV files with the label of each code of a column, and the groups that each code belongs to.
# The first line of a codelist is `code,label`; each further line has one code. Further columns are levels, such as the state of
# a municipality, or the block and the chapter of a diagnosis. Levels nest: codes that are together in a finer level are
# together in every coarser level. The file is UTF-8, with commas; a byte-order mark, blank lines and spaces around a cell do
# not matter.
# The content of the file becomes part of the configuration when this is read. So the digest of the specification covers the
# content, and moving or changing the file later has no effect.

MAX_BYTES = 20_000_000
EACH_CODE = "codes"
"""The name of the alternative in which each code is a separate bin."""
_HEADER = ["code", "label"]


@dataclass(frozen=True, kw_only=True)
class Codelist:
    """The content of a codelist file.

    Attributes
    ----------
    labels : the label of each code, in the order of the file.
    levels : for each level, in the order of the file, its groups with their codes, in the order of their first code.
    """

    labels: Mapping[str, str]
    levels: Mapping[str, Mapping[str, list[str]]]


def with_codelists(file: ConfigurationFile) -> ConfigurationFile:
    """Replace the names of codelist files in a configuration by their content; levels become further alternatives.

    If the configuration lists no alternatives for the column, each code is also a separate bin in one alternative.

    Raises
    ------
    SpecError : if a codelist cannot be read or contains a mistake. For a mistake, the message states the number of the line.
    """
    columns = file.tables.get("columns")
    if not isinstance(columns, dict):
        return file
    folder = file.file_of("columns")
    read = {name: _resolved(name, table, folder) if _names_a_codelist(table) else table for name, table in columns.items()}
    return replace(file, tables={**file.tables, "columns": read})


def _names_a_codelist(table: Any) -> bool:
    return isinstance(table, dict) and table.get("kind") == "code" and isinstance(table.get("codes"), str)


def _resolved(name: str, table: dict[str, Any], configuration: Path) -> dict[str, Any]:
    def problem(field: str, text: str, found: str | None = None) -> SpecError:
        return SpecError.at(configuration, f"columns.{name}.{field}", text, found)

    path = beside(configuration, table["codes"])
    try:
        codelist = read_codelist(path)
    except Unexpected as error:
        if error.place:
            raise SpecError.at(path, error.place, error.message) from None
        raise problem("codes", f"{table['codes']!r}: {error.message}") from None
    listed = table.get("alternatives") or {EACH_CODE: {label: [code] for code, label in codelist.labels.items()}}
    if not isinstance(listed, dict):
        return {**table, "codes": dict(codelist.labels)}  # this mistake is reported later, when tables are checked
    for level in codelist.levels:
        if level in listed:
            raise problem(f"alternatives.{level}", f"The codelist already has a level {level!r}. Use another name")
    return {**table, "codes": dict(codelist.labels), "alternatives": {**listed, **codelist.levels}}


def read_codelist(path: Path) -> Codelist:
    """Read a codelist from a file.

    Raises
    ------
    SpecError : for the first mistake in the content. The message states the number of the line.
    Unexpected : if `csv_lines` cannot read the file.
    """
    lines = csv_lines(path, MAX_BYTES)
    number, header = next(lines, (1, []))
    if header[:2] != _HEADER:  # the header is not shown, because the path may name a private file
        raise _problem(path, number, "The first line must be `code,label`, followed by the names of levels, if there are any")
    levels = header[2:]
    for level in levels:
        if not _usable(level) or level in (*_HEADER, EACH_CODE) or levels.count(level) > 1:
            why = "The names must differ, and must not be code, label or codes" if _usable(level) else _unusable(level)
            raise _problem(path, number, f"{_shown(level)} cannot be the name of a level. {why}")
    labels: dict[str, str] = {}
    groups: dict[str, dict[str, str]] = {level: {} for level in levels}
    line_of: dict[str, int] = {}
    code_with: dict[str, str] = {}
    for number, cells in lines:
        if len(cells) != len(header):
            raise _problem(path, number, f"The line has {so_many(len(cells), 'cell')}, but the header has {len(header)}")
        code, label, *inside = cells
        _check_cells(path, number, code, label, dict(zip(levels, inside, strict=True)))
        if code in labels:
            raise _problem(path, number, f"The code {code!r} occurs again. It is also in line {line_of[code]}")
        if label in code_with:
            fault = f"The label {label!r} is also the label of {code_with[label]!r} in line {line_of[code_with[label]]}"
            raise _problem(path, number, f"{fault}. Make the labels different, for example by adding the code")
        labels[code], line_of[code], code_with[label] = label, number, code
        for level, group in zip(levels, inside, strict=True):
            groups[level][code] = group
        if len(labels) > MAX_BINS:
            raise _problem(path, number, f"A codelist may have at most {MAX_BINS:,} codes")
    if not labels:
        raise _problem(path, number, "The codelist has no code after the header")
    _check_nesting(path, groups, line_of)
    return Codelist(labels=labels, levels={level: _members(of_code) for level, of_code in groups.items()})


def _check_cells(path: Path, number: int, code: str, label: str, groups: Mapping[str, str]) -> None:
    if not code or len(code) > 200 or not code.isprintable():
        raise _problem(path, number, f"{_shown(code)} cannot be a code. A code has 1 to 200 printable characters")
    if not _usable(label):
        raise _problem(path, number, f"{_shown(label)} cannot be the label of the code {code!r}. {_unusable(label)}")
    for level, group in groups.items():
        if not _usable(group):
            fault = f"{_shown(group)} cannot be the group of the code {code!r} in {level!r}"
            raise _problem(path, number, f"{fault}. {_unusable(group)}")


def _check_nesting(path: Path, levels: Mapping[str, Mapping[str, str]], line_of: Mapping[str, int]) -> None:
    by_size: Sequence[str] = sorted(levels, key=lambda level: -len(set(levels[level].values())))
    for finer, coarser in itertools.pairwise(by_size):
        first: dict[str, str] = {}
        for code, group in levels[finer].items():
            pair = (first.setdefault(group, code), code)
            if len({levels[coarser][member] for member in pair}) > 1:
                places = (f"{member!r} (line {line_of[member]}) in {levels[coarser][member]!r}" for member in pair)
                fault = f"The {finer} {group!r} is in two groups of {coarser}: {' and '.join(places)}"
                advice = f"Every {finer} must be in one {coarser}. Write groups that do not nest as alternatives"
                raise _problem(path, line_of[code], f"{fault}. {advice}")


def _members(of_code: Mapping[str, str]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for code, group in of_code.items():
        members.setdefault(group, []).append(code)
    return members


def _usable(label: str) -> bool:
    return is_label(label) and label.isprintable()


def _unusable(label: str) -> str:
    return "It contains a character that is not printable" if is_label(label) else LABEL


def _shown(cell: str) -> str:
    return repr(cut(cell, 60)) if cell else "An empty cell"


def _problem(path: Path, line: int, text: str) -> SpecError:
    return SpecError.at(path, f"line {line}", text)


def build_column(
    name: str,
    table: ColumnTable,
    policy: InputTable,
    rules: Sequence[Rule],
    groups: Bins | None,
    own_values: bool = False,
    edges_of: Sequence[str] = (),
) -> Column:
    """Build a column from its table in the configuration, and check the settings.

    Parameters
    ----------
    groups : the groups into which criteria divide the rows by this column, or None. Their limits become limits of atomic
        bins.
    own_values : whether a computation uses the exact values of the rows. Atomic bins are then no wider than one step of the
        grid to which these values are rounded.
    edges_of : the columns for which numbers in rules become limits of atomic bins of this column; by default, the column
        itself.

    Raises
    ------
    ColumnError : for the first mistake in the settings of the column.
    """
    if table.kind in ("category", "code"):
        column = _listed_column(name, table, policy, groups)
    else:
        column = _numeric_column(name, table, policy, rules, groups, own_values, edges_of or (name,))
    _check_missing_values(column)
    if table.outside_label is not None and column.outside != "bin":
        raise ColumnError("outside_label", f"`outside_label` needs outside = 'bin'. Here, outside = {column.outside!r}")
    if column.missing == "bin":
        return _with_missing(column, "missing" if table.missing_label is None else table.missing_label, groups)
    if table.missing_label is not None:
        raise ColumnError("missing_label", f"`missing_label` needs missing = 'bin'. Here, missing = {column.missing!r}")
    return column


def with_counted(columns: Sequence[Column], tables: Mapping[str, ColumnTable]) -> tuple[Column, ...]:
    """Add to each column that summarises indicators the atomic bins in which each indicator applies (`counts`)."""
    atoms = {column.name: column.atoms.places for column in columns}
    counted = {
        name: {
            counted_column: frozenset(atoms[counted_column][label] for label in labels)
            for counted_column, labels in table.counts.items()
        }
        for name, table in tables.items()
        if table.counts is not None
    }
    return tuple(replace(column, counts=counted[column.name]) if column.name in counted else column for column in columns)


def _check_missing_values(column: Column) -> None:
    texts = {text.strip() for text in column.values}
    for text in column.missing_values:
        _require(text.strip() not in texts, "missing_values", f"The text {text!r} is also a text of a category of the column")


def _with_missing(column: Column, label: str, groups: Bins | None) -> Column:
    readable("missing_label", [label])
    taken = {text for binning in (column.atoms, *column.alternatives.values()) for text in binning.labels}
    if label in taken or label in (groups or ()):
        raise ColumnError("missing_label", f"The label {label!r} is already the label of a bin or group of the column")
    if column.kind != "category" and _is_bin(label, column.kind == "integer"):
        raise ColumnError("missing_label", f"The label {label!r} can be read as a number. Use another label")
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
    if (bounds := table.bounds) is None:
        raise ColumnError("bounds", "A numeric column needs bounds = [lowest, highest]")
    _require(table.outside != "bin", "outside", "'clip', 'drop' or 'error' in a column of numbers", "'bin'")
    for field in ("categories", "codes", "characters"):
        _require(not getattr(table, field), field, f"Delete `{field}`: a numeric column cannot have it")
    _require(table.alternatives, "alternatives", "A numeric column needs at least one list of bins")
    dates, minus_dates = _dates(table)
    parsed: dict[str, tuple[IntervalBin, ...]] = {}
    n_bins = 0
    for key, bins in table.alternatives.items():
        parsed[key] = _numeric(f"alternatives.{key}", bins, whole, bounds)
        n_bins += len(parsed[key])
        _require(n_bins <= MAX_BINS, f"alternatives.{key}", f"All alternatives together may have at most {MAX_BINS:,} bins")
    inner = {interval.lower for intervals in parsed.values() for interval in intervals[1:]}
    if groups is not None:
        inner |= {interval.lower for interval in _numeric("groups", groups, whole, bounds)[1:]}
    inner = inner.union(*(edges(rule, source, bounds, whole_numbers=whole) for rule in rules for source in edges_of))
    _check_step(table.step, bounds, whole)
    grid = value_grid(bounds, whole=whole, step=table.step)
    if own_values:
        inner |= set(grid.edges)
    atoms = _atoms(sorted(inner), whole, bounds, grid if own_values else None)
    lowest = [atom.lower for atom in atoms]
    every_interval = [interval for intervals in parsed.values() for interval in intervals]
    numbers = _stated_numbers(table.numbers, every_interval, bounds, whole)
    return Column(
        name=name,
        kind=table.kind,
        description=table.description,
        unit=table.unit,
        source="" if table.counts is not None else table.source or name,
        part=table.part,
        minus=table.minus,
        dates=dates,
        minus_dates=minus_dates,
        bounds=bounds,
        bounds_by=table.bounds_by or "",
        edges=tuple(sorted(inner)),
        step=grid.step if own_values else None,
        missing=table.missing or policy.missing,
        outside=table.outside or policy.outside,
        ordered=table.ordered is not False,
        atoms=_binning("atoms", atoms, lowest),
        alternatives={
            key: _binning(
                key, [replace(source, number=numbers.get(source.label, source.number)) for source in intervals], lowest
            )
            for key, intervals in parsed.items()
        },
        missing_values=table.missing_values,
    )


def _dates(table: ColumnTable) -> tuple[DateFormat | None, DateFormat | None]:
    of_dates = [field for field in ("part", "minus") if getattr(table, field) is not None]
    if table.minus_format is not None and table.minus is None:
        raise ColumnError("minus_format", "`minus_format` needs `minus`, which is not set")
    if not of_dates:
        if table.format is not None:
            raise ColumnError("format", "`format` needs `part` or `minus`, and neither is set")
        return None, None
    if table.kind != "integer":
        raise ColumnError(of_dates[0], f"`{of_dates[0]}` needs kind = 'integer'. Here, kind = {table.kind!r}")
    if table.minus is None:
        return _date_format("format", table.format, table.part), None
    if table.part not in (None, "year"):
        raise ColumnError("minus", f"With `minus`, set part = 'year' (completed years) or no part (days), not {table.part!r}")
    return _date_format("format", table.format, None), _date_format("minus_format", table.minus_format or table.format, None)


def _date_format(field: str, pattern: str | None, part: str | None) -> DateFormat:
    try:
        dates = DateFormat(ISO if pattern is None else pattern)
    except Unexpected as error:
        raise ColumnError(field, error.message) from None
    if dates.lacks(part):
        raise ColumnError(field, f"The date format {pattern or ISO!r} has no {part or 'day'}")
    return dates


def group_binning(column: Column, bins: Bins) -> Binning:
    """Return a binning of the atomic bins into the groups that criteria use. Missing values are a separate group."""
    if column.kind == "category":
        present = column.atoms.labels[: column.atoms.present]
        binning = grouping("groups", "groups", bins, present, unlisted=column.outside_label or None)
    else:
        intervals = parse_bins([str(text) for text in bins], whole_numbers=column.kind == "integer")
        binning = _binning("groups", intervals, column.atoms.lower)
    return binning if column.atoms.missing is None else binning.with_missing(column.missing_label)


def _numeric(field: str, bins: Bins, whole: bool, bounds: tuple[float, float]) -> tuple[IntervalBin, ...]:
    if isinstance(bins, Mapping):
        raise ColumnError(field, "A numeric column needs a list of bins, not a table")
    try:
        intervals = parse_bins([str(text) for text in bins], whole_numbers=whole)
    except Unexpected as error:
        raise ColumnError(field, error.message) from None
    low, high = bounds
    range_text = f"[{low:.15g}, {high:.15g}]"
    if intervals[0].lower > low or intervals[-1].upper < high + (1 if whole else 0):
        reach = f"{intervals[0].label!r} to {intervals[-1].label!r}"
        raise ColumnError(field, f"The bins from {reach} do not cover the bounds {range_text}")
    for interval in intervals[1:]:
        if not low < interval.lower <= high:
            raise ColumnError(field, f"The bin {interval.label!r} is outside the bounds {range_text}")
    return intervals


def _check_step(step: float | None, bounds: tuple[float, float], whole: bool) -> None:
    if step is not None:
        text = f"{step:.15g}"
        _require(not whole or step == int(step), "step", f"In a column of whole numbers, the step must be whole. It is {text}")
        few = (bounds[1] - bounds[0]) / step <= MAX_BINS
        _require(few, "step", f"The step {text} is too small. There may be at most {MAX_BINS:,} steps between the bounds")


def _stated_numbers(
    numbers: Mapping[str, float], intervals: Sequence[IntervalBin], bounds: tuple[float, float], whole: bool
) -> dict[str, float]:
    interval_of = {interval.label: interval for interval in intervals}
    for label, number in numbers.items():
        if label not in interval_of:
            fault = f"{label!r} is not a bin of the column: {listing(interval_of)}"
            advice = "If the bins are new, run `synthrelease numbers`"
            raise ColumnError("numbers", f"{fault}. {advice}", suggestion=closest(label, interval_of))
        kind, bin_ = "integer" if whole else "real", interval_of[label]
        (low,), (high,) = value_limits(kind, [number], [bin_.lower], [bin_.upper], bounds)
        if not low <= number <= high:
            expected = f"a number from {low:.15g} to {high:.15g} for the bin {label!r}"
            raise ColumnError("numbers", expected, f"{number:.15g}")
    return dict(numbers)


def _atoms(inner: list[float], whole: bool, bounds: tuple[float, float], grid: ValueGrid | None) -> tuple[IntervalBin, ...]:
    """Return the atomic (finest) bins of a numeric column, from bound to bound, separated by the edges `inner`.

    The representative value of a bin is its middle, or the grid value in the bin that is nearest to the middle.
    """
    ends = [bounds[0], *inner, bounds[1] + (1 if whole else 0)]
    atoms = []
    for lower, upper in itertools.pairwise(ends):
        last = upper - 1 if whole else upper
        label = f"{lower:g}" if lower == last else f"{lower:g}-{last:g}"
        middle = (lower + last) / 2
        number = middle if grid is None else min(max(grid.nearest(middle), lower), last)
        atoms.append(IntervalBin(label=label, lower=lower, upper=upper, number=number))
    return tuple(atoms)


def _binning(name: str, intervals: Sequence[IntervalBin], atoms: Sequence[float]) -> Binning:
    """Convert intervals to a binning of the atomic (finest) bins, given by their lower edges `atoms`."""
    starts = [interval.lower for interval in intervals[1:]]
    return Binning(
        name=name,
        labels=tuple(interval.label for interval in intervals),
        numbers=tuple(interval.number for interval in intervals),
        of_atom=tuple(bisect_right(starts, lower) for lower in atoms),
        lower=tuple(interval.lower for interval in intervals),
        upper=tuple(interval.upper for interval in intervals),
    )
