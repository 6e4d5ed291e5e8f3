"""The weights of a released table in plain words: where their totals come from, what came of them, and what they are not."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import figure, rounded_up, words
from synthrelease.published.calibration import CalibrationPart, JoinedPart, WeightsPart


def sentences(part: CalibrationPart) -> list[str]:
    """What readers of a table must know about its weights, or about there being none."""
    margins = "; ".join(_margin(part, place) for place in range(len(part.margins)))
    source = f"Source: {part.source.rstrip('.')}."
    if part.weights is None:
        return [
            f"The publisher wanted to weight the rows to these published totals: {margins}. {source} The table has no weights: "
            f"{part.failed}. It met all criteria, which are about the rows as they are, and was released without."
        ]
    return [
        f"The column weight says for how many a row stands. With it the rows have these published totals: {margins}. {source}",
        _what_came(part, part.weights),
        "The weights were computed from the released rows and the published totals alone, after the table was accepted: they "
        "tell nothing more about the original records and cost no privacy. Equal rows have equal weights. Criteria and error "
        "bands are about the rows without these weights: what they promise is not promised of weighted figures.",
    ]


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
