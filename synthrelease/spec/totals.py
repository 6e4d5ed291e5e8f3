"""Read the published totals of [calibration] from the configuration or from CSV files, and build a `Calibration`.

All mistakes that can be found without private data are reported before any budget is spent. The functions for a single
margin raise Unexpected for its first mistake.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path

import numpy as np

from synthrelease.criteria.base import Setting
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, Column, Schema, Transformation, parse_bins
from synthrelease.data.weights import WEIGHT, Calibration, Margin, disagreements
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import CalibrationTable, MarginTable, is_total
from synthrelease.settings.reading import beside, csv_lines
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.columns import group_binning

MOST_BYTES = 10_000_000
"""The maximum size of a CSV file with totals, in bytes."""
Totals = Mapping[tuple[str, ...], float]


def stated_totals(margin: MarginTable, file: Path) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(margin.totals, str):
        path = beside(file, margin.totals)
        try:
            totals = _read(path, margin.columns)
        except Unexpected as error:
            raise Unexpected(f"{path}: {error}") from None
        yield from totals.items()
        return
    for label, inner in margin.totals.items():
        if isinstance(inner, dict) != (len(margin.columns) == 2) or len(margin.columns) > 2:
            one, two = "With one column, each group needs a number", "With two columns, each group of the first needs a table"
            fault = {1: one, 2: two}.get(len(margin.columns), "With three columns or more, `totals` must name a CSV file")
            raise Unexpected(f"{fault}. The entry {label!r} has another form")
        if isinstance(inner, dict):
            yield from (((label, second), float(total)) for second, total in inner.items())
        else:
            yield (label,), float(inner)


def _read(path: Path, columns: Sequence[str]) -> Totals:
    lines, expected = csv_lines(path, MOST_BYTES), [*columns, "total"]
    _, header = next(lines, (1, list[str]()))
    if sorted(header) != sorted(expected):
        raise Unexpected(f"The columns must be {listing(expected)}. They are {listing(header) or 'not named'}")
    totals: dict[tuple[str, ...], float] = {}
    for number, cells in lines:
        values = dict(zip(header, cells, strict=False))
        total = _number(values.get("total", ""))
        if len(cells) != len(header) or total is None:
            raise Unexpected(f"A line must have {len(header)} values, and a total of at least 0", place=f"line {number}")
        cell = tuple(values[name] for name in columns)
        if cell in totals:
            raise Unexpected(f"The group {' and '.join(cell)} occurs again", place=f"line {number}")
        totals[cell] = total
    if not totals:
        raise Unexpected("The file contains no totals")
    return totals


def _number(text: str) -> float | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return float(value) if value.is_finite() and is_total(value) else None


MOST_CELLS = 100_000
"""The maximum number of cells of a margin."""


def build_calibration(
    table: CalibrationTable, file: Path, release: ReleaseFile, setting: Setting, released: Plausibility, problems: Problems
) -> Calibration | None:
    """Return the weighting of released rows to published totals, over atomic bins, or add problems and return None.

    Parameters
    ----------
    file : the configuration file that contains [calibration]. The paths of CSV files are relative to its folder.
    released : the plausibility rules for released rows, over atomic bins.
    """
    earlier = len(problems.found)
    _check_names(table, release, setting.schema, problems)
    margins = list(_margins(table, file, setting, released, problems))
    if len(problems.found) > earlier:
        return None
    for pair in disagreements(margins, table.tolerance):
        cell = f" of {pair.cell}" if pair.cell else ""
        problems.add(
            "calibration.margins",
            f"The totals{cell} disagree: {pair.left_total:.9g} in the margin {pair.left.name}, and {pair.right_total:.9g} in "
            f"the margin {pair.right.name}. They may differ by at most {100 * table.tolerance:g}% (`tolerance`)",
        )
    return Calibration(**dict(table) | {"margins": tuple(margins)})


def _check_names(table: CalibrationTable, release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    if WEIGHT in schema.by_name:
        problems.add(f"columns.{WEIGHT}", f"Use another name for the column, because [calibration] adds a column {WEIGHT!r}")
    columns = release.columns
    if table.start is not None and (table.start not in columns or columns[table.start].role != WEIGHT):
        problems.add("calibration.start", f"{table.start!r} is not a column with role = 'weight'")
    used = {column for margin in table.margins for column in margin.columns}
    problems.add_unknown("calibration.collapse", "a column of the margins", table.collapse, sorted(used))


def _margins(
    table: CalibrationTable, file: Path, setting: Setting, released: Plausibility, problems: Problems
) -> Iterator[Margin]:
    for index, margin_table in enumerate(table.margins):
        path, field, error = f"calibration.margins[{index}]", "", None
        try:
            field = "columns"
            _check_columns(margin_table, setting.schema, table.margins[:index])
            field = "totals"
            margin = _margin(margin_table, setting.schema, setting.groups, file)
            _check_margin(margin, setting.transformations, released)
            yield margin
        except Unexpected as found:
            error = found
        if error is not None:
            problems.add_error(f"{path}.{field}", error)


def _check_columns(table: MarginTable, schema: Schema, earlier: Sequence[MarginTable]) -> None:
    for name in table.columns:
        if name not in schema.by_name:
            raise Unexpected(f"{name!r} is not a column ({listing(schema.names)})", suggestion=closest(name, schema.names))
    if len(set(table.columns)) != len(table.columns):
        raise Unexpected(f"A column is named twice: {listing(table.columns)}")
    if any(set(margin.columns) == set(table.columns) for margin in earlier):
        raise Unexpected(f"An earlier margin has the same columns: {listing(table.columns)}")


def _margin(table: MarginTable, schema: Schema, groups: Mapping[str, Binning], file: Path) -> Margin:
    """Build a margin, a table of published totals, over atomic bins."""
    totals = dict(stated_totals(table, file))
    labels = [list(dict.fromkeys(cell[axis] for cell in totals)) for axis in range(len(table.columns))]
    binnings = [_binning(schema[name], label, groups.get(name)) for name, label in zip(table.columns, labels, strict=True)]
    shape = tuple(len(names) for names in labels)
    if math.prod(shape) > MOST_CELLS:
        raise Unexpected(f"The margin has {math.prod(shape):,} combinations of groups. At most {MOST_CELLS:,} are possible")
    cells = list(product(*labels))
    missing = [cell for cell in cells if cell not in totals]
    if missing:
        raise Unexpected(f"There is no total for {' and '.join(missing[0])}. Write 0 if no one is in this group")
    if not sum(totals.values()) > 0:
        raise Unexpected("All totals are 0. At least one total must be above 0")
    return Margin(
        columns=table.columns,
        labels=tuple(tuple(names) for names in labels),
        into=tuple(binnings),
        totals=tuple(totals[cell] for cell in cells),
    )


def _binning(column: Column, labels: list[str], groups: Binning | None) -> tuple[int, ...]:
    """Return, for each atomic (finest) bin of a column, the index in `labels` of the group that has the total."""
    binnings = [column.atoms, *column.alternatives.values(), *([groups] if groups is not None else [])]
    for binning in binnings:
        if set(binning.labels) == set(labels):
            return tuple(labels.index(binning.labels[group]) for group in binning.of_atom)
    nearest = max(binnings, key=lambda binning: len(set(binning.labels) & set(labels)))
    unknown = [label for label in labels if label not in nearest.labels]
    if column.kind not in ("integer", "real"):
        _not_known(column, labels, nearest, unknown)
    whole, missing = column.kind == "integer", [] if column.atoms.missing is None else [column.missing_label]
    bins = [label for label in labels if label not in missing]
    intervals = parse_bins(bins, whole_numbers=whole)
    low, high = column.bounds or (-math.inf, math.inf)
    if len(intervals) != len(bins) or intervals[0].lower > low or intervals[-1].upper < high + (1 if whole else 0):
        needed = f"Each total must be for one bin, and the bins must cover {column.name!r} from {low:g} to {high:g}"
        raise Unexpected(f"{needed}: {listing(labels)}")
    for interval in intervals[1:]:
        if interval.lower not in column.edges:
            raise Unexpected(f"{interval.label!r} does not consist of whole bins of {column.name!r}: {listing(nearest.labels)}")
    if missing and len(bins) == len(labels):
        fault = f"There is no total for the missing values of {column.name!r} ({missing[0]!r})"
        raise Unexpected(f"{fault}. Write 0 if there are no missing values")
    group_of = [labels.index(label) for label in (*bins, *missing)]
    return tuple(group_of[group] for group in group_binning(column, bins).of_atom)


def _not_known(column: Column, labels: Sequence[str], nearest: Binning, unknown: Sequence[str]) -> None:
    absent = [label for label in nearest.labels if label not in labels]
    fault = f"{unknown[0]!r} is not a group" if unknown else f"There is no total for the group {absent[0]!r}"
    suggestion = closest(unknown[0], nearest.labels) if unknown else None
    raise Unexpected(f"{fault} of {column.name!r}. The groups are {listing(nearest.labels)}", suggestion=suggestion)


def _check_margin(margin: Margin, transformations: Sequence[Transformation], synthetic: Plausibility) -> None:
    for column, labels, into in zip(margin.columns, margin.labels, margin.into, strict=True):
        coarser = Binning(name="totals", labels=labels, numbers=(None,) * len(labels), of_atom=into)
        for binning in _binnings(column, transformations):
            if not binning.refines(coarser):
                fault = f"In the alternative {binning.name!r} of {column!r}, a bin overlaps two of the groups {listing(labels)}"
                raise Unexpected(f"{fault}. Every bin of every alternative must lie in one group")
    zeros = _never(margin, synthetic, transformations[0].schema) & (margin.table > 0)
    if zeros.any():
        cell = int(np.flatnonzero(zeros)[0])
        fault = f"The total for {margin.cell_name(cell)} is {margin.totals[cell]:.9g}"
        raise Unexpected(f"{fault}. It must be 0, because [[rules]] allow no such released row")


def _never(margin: Margin, synthetic: Plausibility, schema: Schema) -> np.ndarray:
    groups = dict(zip(margin.columns, zip(margin.labels, margin.into, strict=True), strict=True))
    binnings = []
    for column in schema.columns:
        labels, into = groups.get(column.name, (column.atoms.labels, column.atoms.of_atom))
        binnings.append(Binning(name="totals", labels=labels, numbers=(None,) * len(labels), of_atom=into))
    merged = synthetic.merge(Transformation(schema=schema, binnings=tuple(binnings)))
    zeros = np.zeros(margin.shape, dtype=bool)
    for mask in merged.masks:  # cells that only several rules together exclude are found when a table is weighted
        names = [schema.names[column] for column in mask.columns]
        shared = [name for name in margin.columns if name in names]
        excluded = np.asarray(mask.forbidden.all(axis=tuple(axis for axis, name in enumerate(names) if name not in shared)))
        order = [name for name in names if name in shared]
        excluded = excluded.transpose([order.index(name) for name in shared])
        zeros |= excluded.reshape(
            [len(labels) if name in shared else 1 for name, labels in zip(margin.columns, margin.labels, strict=True)]
        )
    return zeros


def _binnings(column: str, transformations: Sequence[Transformation]) -> Iterator[Binning]:
    binnings = {binning.name: binning for binning in (transformation.binning(column) for transformation in transformations)}
    yield from binnings.values()
