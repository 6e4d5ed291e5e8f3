"""Draw the charts of the report of a rehearsal, as SVG for its page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from synthrelease.bundle.pictures import drawn, shortened
from synthrelease.studio.rehearsal.attempts import ShareEstimate

WIDTH, ROW, TOP, RIGHT_MARGIN = 720, 26, 24, 20
LABEL = 7
"""Approximate width of a letter beside the axis, in units of the picture."""

LONGEST_LABEL = 44


def acceptance(labels: Sequence[str], estimates: Sequence[ShareEstimate], target: float) -> Markup:
    """Return a chart of acceptance probabilities with their intervals, one line per configuration."""
    bands = [(estimate.low, estimate.share, estimate.high) for estimate in estimates]
    description = "Acceptance probability of each configuration on the shortlist"
    return _intervals(description, labels, bands, 1.0, "probability that an attempt is accepted", target, "target")


def relative_figures(names: Sequence[str], ratios: Sequence[Sequence[float]]) -> Markup:
    """Return a chart of criterion values divided by thresholds: median and middle 90% for each criterion."""
    bands = [np.quantile(values, [0.05, 0.5, 0.95]).tolist() for values in ratios]
    right_end = max(1.25, 1.05 * max(high for _, _, high in bands))
    bands = [[max(0.0, value) for value in band] for band in bands]
    description = "Criterion values of the candidates, divided by the thresholds"
    return _intervals(description, names, bands, right_end, "criterion value / threshold", 1, "threshold")


def _intervals(
    title: str, labels: Sequence[str], bands: Sequence[Sequence[float]], end: float, axis: str, limit: float, limit_name: str
) -> Markup:
    """Return a chart with one interval and dot for each label, the first on top, and a vertical line at the limit.

    Parameters
    ----------
    title : the text for screen readers, from which the ids of the elements are made.
    bands : for each label the lower end, the dot and the upper end, from 0 to `end`.
    axis, limit_name : the texts at the axis and at the limit.
    """
    labels = [shortened(label, LONGEST_LABEL) for label in labels]
    left, right, bottom = 24 + LABEL * max(map(len, labels)), WIDTH - RIGHT_MARGIN, TOP + ROW * len(labels)

    def across(value: float) -> float:
        return left + value / end * (right - left)

    heights = [bottom - (line + 0.6) / (len(labels) + 0.2) * (bottom - TOP) for line in range(len(labels))]  # from below
    lines = zip(reversed(labels), heights, reversed(bands), strict=True)
    return drawn(
        "intervals.html",
        key=re.sub(r"[^a-z]+", "-", title.lower()),
        description=title,
        bands=[(label, y, *map(across, band)) for label, y, band in lines],
        ticks=[(across(value), text) for value, text in _ticks(end)],
        left=left,
        bottom=bottom,
        axis=axis,
        limit=across(limit),
        limit_name=limit_name,
    )


def _ticks(right_end: float) -> list[tuple[float, str]]:
    """Return about five round numbers from 0 upwards, each with its text."""
    rough = right_end / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, f"{n * step:.10g}") for n in range(math.floor(right_end / step + 1e-9) + 1)]
