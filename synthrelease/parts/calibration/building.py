"""From [calibration] to a `Calibration` over atomic bins.

Whatever can be known to fail is found here, before a budget is spent, and from public figures alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, Column, Schema, Transformation, parse_bins
from synthrelease.data.weights import WEIGHT, Calibration, Margin, disagreements
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.parts.calibration.totals import stated_totals
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import CalibrationTable, MarginTable
from synthrelease.spec.columns import group_binning
from synthrelease.spec.part import Building, Surroundings

MOST_CELLS = 100_000
"""Of a margin."""
DIGITS = 24
"""Bytes of a weight, at most."""


class CalibrationBuilding(Building[CalibrationTable, Calibration | None]):
    def build(self, table: CalibrationTable, around: Surroundings, problems: Problems) -> Calibration | None:
        """The calibration over atomic bins; None, and problems, where it cannot be."""
        before = len(problems.found)
        _check_names(table, around, problems)
        margins = list(_margins(table, around, problems))
        if len(problems.found) > before:
            return None
        for one in disagreements(margins, table.tolerance):
            of = f" of {one.cell}" if one.cell else ""
            problems.add(
                "calibration.margins",
                f"totals that agree to {100 * table.tolerance:g}% (`tolerance`) in what margins share",
                f"{one.left_total:.9g}{of} in the margin {one.left.name}, {one.right_total:.9g} in the margin {one.right.name}",
            )
        return Calibration(
            source=table.source,
            margins=tuple(margins),
            start=table.start,
            floor=table.floor,
            cap=table.cap,
            tolerance=table.tolerance,
            collapse=table.collapse,
            fewest_rows=table.fewest_rows,
        )

    def bytes_of_a_row(self, value: Calibration | None, longest: int, files: int) -> int:
        """A weight in each of them."""
        return files * DIGITS


def _check_names(table: CalibrationTable, around: Surroundings, problems: Problems) -> None:
    """The column to start from, those to collapse, and that none has the name of the weights."""
    if WEIGHT in around.schema.by_name:
        problems.add(f"columns.{WEIGHT}", f"another name: [calibration] adds a column {WEIGHT!r} to the table", repr(WEIGHT))
    columns = around.release.columns
    if table.start is not None and (table.start not in columns or columns[table.start].role != WEIGHT):
        problems.add("calibration.start", 'a column with role = "weight"', repr(table.start))
    used = {column for margin in table.margins for column in margin.columns}
    for name in table.collapse:
        if name not in used:
            problems.add(
                "calibration.collapse", f"columns of the margins ({listing(sorted(used))})", repr(name), closest(name, used)
            )


def _margins(table: CalibrationTable, around: Surroundings, problems: Problems) -> Iterator[Margin]:
    """Those over atomic bins in which there is no mistake."""
    for index, stated in enumerate(table.margins):
        where, place, error = f"calibration.margins[{index}]", "", None
        try:
            place = "columns"
            _check_columns(stated, around.schema, table.margins[:index])
            place = "totals"
            margin = _margin(stated, around.schema, around.groups, around.file)
            _check_margin(margin, around.transformations, around.released)
            yield margin
        except Unexpected as found:
            error = found
        if error is not None:
            problems.add_error(f"{where}.{place}", error)


def _check_columns(stated: MarginTable, schema: Schema, earlier: Sequence[MarginTable]) -> None:
    for name in stated.columns:
        if name not in schema.by_name:
            raise Unexpected(f"columns ({listing(schema.names)})", repr(name), closest(name, schema.names))
    if len(set(stated.columns)) != len(stated.columns):
        raise Unexpected("each column once", listing(stated.columns))
    if any(set(other.columns) == set(stated.columns) for other in earlier):
        raise Unexpected("other columns than those of the margins before", listing(stated.columns))


def _margin(stated: MarginTable, schema: Schema, groups: Mapping[str, Binning], file: Path) -> Margin:
    """A margin over atomic bins. Raises Unexpected for the first mistake."""
    totals = dict(stated_totals(stated, file))
    labels = [list(dict.fromkeys(cell[axis] for cell in totals)) for axis in range(len(stated.columns))]
    binnings = [_binning(schema[name], found, groups.get(name)) for name, found in zip(stated.columns, labels, strict=True)]
    shape = tuple(len(found) for found in labels)
    if math.prod(shape) > MOST_CELLS:
        raise Unexpected(f"at most {MOST_CELLS} combinations of groups", f"{math.prod(shape)}")
    cells = [tuple(found[place] for found, place in zip(labels, places, strict=True)) for places in np.ndindex(shape)]
    missing = [cell for cell in cells if cell not in totals]
    if missing:
        raise Unexpected(
            "a total for every combination of groups, 0 where there is nobody", f"none for {' and '.join(missing[0])}"
        )
    if not sum(totals.values()) > 0:
        raise Unexpected("totals of which at least one is above 0", "none")
    return Margin(
        columns=stated.columns,
        labels=tuple(tuple(found) for found in labels),
        into=tuple(binnings),
        totals=tuple(totals[cell] for cell in cells),
    )


def _binning(column: Column, labels: list[str], groups: Binning | None) -> tuple[int, ...]:
    """(n_atoms,) the group of every atomic bin, groups in the order of the labels."""
    known = [column.atoms, *column.alternatives.values(), *([groups] if groups is not None else [])]
    for binning in known:
        if set(binning.labels) == set(labels):
            return tuple(labels.index(binning.labels[group]) for group in binning.of_atom)
    nearest = max(known, key=lambda binning: len(set(binning.labels) & set(labels)))
    unknown = [label for label in labels if label not in nearest.labels]
    if column.kind not in ("integer", "real"):
        _not_known(column, labels, nearest, unknown)
    intervals = parse_bins(labels, whole_numbers=column.kind == "integer")
    low, high = column.bounds or (-math.inf, math.inf)
    whole = column.kind == "integer"
    if len(intervals) != len(labels) or intervals[0].lower > low or intervals[-1].upper < high + (1 if whole else 0):
        raise Unexpected(f"a total for each bin from {low:g} to {high:g} of {column.name!r}", f"totals of {listing(labels)}")
    for interval in intervals[1:]:
        if interval.lower not in column.edges:
            raise Unexpected(
                f"bins of {column.name!r} that are made up of its bins ({listing(nearest.labels)})", repr(interval.label)
            )
    return group_binning(column, labels).of_atom


def _not_known(column: Column, labels: Sequence[str], nearest: Binning, unknown: Sequence[str]) -> None:
    """The groups of a column without an order, that are none of its alternatives."""
    absent = [label for label in nearest.labels if label not in labels]
    found = f"{unknown[0]!r}" if unknown else f"none for {absent[0]!r}"
    suggestion = closest(unknown[0], nearest.labels) if unknown else None
    raise Unexpected(f"a total for each of {listing(nearest.labels)}, groups of {column.name!r}", found, suggestion)


def _check_margin(margin: Margin, transformations: Sequence[Transformation], synthetic: Plausibility) -> None:
    """Whether a table of every configuration has these groups, and the rules leave rows in those with a total."""
    for column, labels, into in zip(margin.columns, margin.labels, margin.into, strict=True):
        coarser = Binning(name="totals", labels=labels, numbers=(None,) * len(labels), of_atom=into)
        for binning in _binnings(column, transformations):
            if not binning.refines(coarser):
                raise Unexpected(
                    f"groups of {column!r} into which every bin of every alternative fits",
                    f"the alternative {binning.name!r} with a bin that straddles two of {listing(labels)}",
                )
    zeros = _never(margin, synthetic, transformations[0].schema) & (margin.table > 0)
    if zeros.any():
        cell = int(np.flatnonzero(zeros)[0])
        expected = "a total of 0 where [[rules]] allow no released row"
        raise Unexpected(expected, f"{margin.totals[cell]:.9g} for {margin.cell_name(cell)}")


def _never(margin: Margin, synthetic: Plausibility, schema: Schema) -> np.ndarray:
    """The cells of a margin that the rules for released rows exclude, whatever the other columns are; of its shape."""
    groups = dict(zip(margin.columns, zip(margin.labels, margin.into, strict=True), strict=True))
    binnings = []
    for column in schema.columns:
        labels, into = groups.get(column.name, (column.atoms.labels, column.atoms.of_atom))
        binnings.append(Binning(name="totals", labels=labels, numbers=(None,) * len(labels), of_atom=into))
    merged = synthetic.merge(Transformation(schema=schema, binnings=tuple(binnings)))
    zeros = np.zeros(margin.shape, dtype=bool)
    for mask in merged.masks:  # what only several of them together exclude is found when a table is weighted
        names = [schema.names[column] for column in mask.columns]
        kept = [name for name in margin.columns if name in names]
        excluded = np.asarray(mask.forbidden.all(axis=tuple(axis for axis, name in enumerate(names) if name not in kept)))
        order = [name for name in names if name in kept]
        excluded = excluded.transpose([order.index(name) for name in kept])
        zeros |= excluded.reshape(
            [len(labels) if name in kept else 1 for name, labels in zip(margin.columns, margin.labels, strict=True)]
        )
    return zeros


def _binnings(column: str, transformations: Sequence[Transformation]) -> Iterator[Binning]:
    """The bins that a released table may have in a column, each once."""
    found = {binning.name: binning for binning in (one.binning(column) for one in transformations)}
    yield from found.values()


BUILDING = CalibrationBuilding()
