"""The weights of a released table: rows are raked to published totals, and the card says what the weights are and are not."""

from __future__ import annotations

import numpy as np

from synthrelease.bundle.card.numbers import rounded_up
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.criteria.facts import figure, words
from synthrelease.data.weights import Calibration, Weights
from synthrelease.published.options import CalibrationPart, JoinedPart, WeightsPart, weights_or_reason


def weighted(value: Calibration, rows: AcceptedRows) -> tuple[CalibrationPart, np.ndarray | None]:
    """Return what release.json says of the weights, and the weight of a row of each cell.

    A table that cannot have the totals stays without weights: it has met all criteria and is paid for.
    """
    calibration = value.on(rows.transformation)
    outcome = weights_or_reason(rows.table.counts, calibration, rows.columns)
    part = CalibrationPart.of(calibration, rows.columns, outcome)
    return part, None if isinstance(outcome, str) else outcome.of_cells


def placeholder(value: Calibration, rows: AcceptedRows) -> CalibrationPart:
    """Return the part for a preview, with equal weights."""
    equal = Weights(
        of_cells=np.ones(1),
        smallest=1.0,
        largest=1.0,
        design_effect=1.0,
        cycles=1,
        deviation=value.tolerance,
        joined=(),
    )
    return CalibrationPart.of(value.on(rows.transformation), rows.columns, equal)


def sentences(part: CalibrationPart) -> tuple[str, ...]:
    """Return what readers of a table must know about its weights, or about there being none."""
    margins = "; ".join(_margin(part, place) for place in range(len(part.margins)))
    source = f"Source: {part.source.rstrip('.')}."
    if part.weights is None:
        return (
            f"The publisher wanted to weight the rows to these published totals: {margins}. {source} The table has no weights: "
            f"{part.failed}. It met all criteria, which are about the rows as they are, and was released without.",
        )
    return (
        f"The column weight says for how many a row stands. With it the rows have these published totals: {margins}. {source}",
        _what_came(part, part.weights),
        "The weights were computed from the released rows and the published totals alone, after the table was accepted: they "
        "tell nothing more about the original records and cost no privacy. Equal rows have equal weights. Criteria and error "
        "bands are about the rows without these weights: what they promise is not promised of weighted figures.",
    )


def _margin(part: CalibrationPart, place: int) -> str:
    margin = part.margins[place]
    number = len(margin.totals)
    return f"{' by '.join(words(name) for name in margin.columns)} ({number} totals, together {figure(sum(margin.totals), 12)})"


def _what_came(part: CalibrationPart, weights: WeightsPart) -> str:
    start = f"started from {words(part.start)}" if part.start else "all started equal"
    limits = f"at least {figure(part.floor)} and at most {figure(part.cap)} mean weights each"
    joined = "".join(f" {_joined(part, one)}" for one in weights.joined)
    return (
        f"They {start} and were raked (iterative proportional fitting) in {weights.cycles} cycles, {limits}: from "
        f"{figure(weights.smallest, 6)} to {figure(weights.largest, 6)}. Weighted counts differ from their totals by at most "
        f"{rounded_up(100 * weights.deviation)}%. Design effect of the weights (1 + cv²): {figure(weights.design_effect)}."
        f"{joined}"
    )


def _joined(part: CalibrationPart, one: JoinedPart) -> str:
    margin = part.margins[one.margin] if one.margin < len(part.margins) else None
    of = "" if margin is None else f" of the margin {' by '.join(words(name) for name in margin.columns)}"
    return f"Too few rows stood in some groups{of}: {words(one.column)} {', '.join(one.groups)} were taken together."
