"""The weights of a released table: rows are raked to published totals, and the card says what the weights are and are not."""

from __future__ import annotations

import numpy as np

from synthrelease.bundle.card.numbers import paragraphs_of
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.criteria.facts import figure, words
from synthrelease.data.weights import Calibration, Weights
from synthrelease.published.options import CalibrationPart, MarginPart, weights_or_reason


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
    return paragraphs_of("weights", part, [_margin(margin) for margin in part.margins])


def _margin(margin: MarginPart) -> str:
    names, total = " by ".join(map(words, margin.columns)), figure(sum(margin.totals), 12)
    return f"{names} ({len(margin.totals)} totals, together {total})"
