"""The charts of a rehearsal's report, as SVG to be put into the page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from synthrelease.bundle.pictures import BLUE, LINE, MUTED, RED, Picture, shortened
from synthrelease.studio.rehearsal.attempts import ShareEstimate

WIDTH, ROW, TOP, BOTTOM, PICTURE_MARGIN = 720, 26, 24, 46, 20
LABEL = 7
"""Width of a letter beside the axis, about."""

LONGEST_LABEL = 44


class _Plot:
    """A frame with two axes; numbers are given in units of the data.

    Parameters
    ----------
    description : what screen readers say; the ids of the picture are made of it.
    height : of the whole picture. x, y : ranges of the axes. left : room for labels of the y axis.
    """

    def __init__(
        self, description: str, height: float, x: tuple[float, float], y: tuple[float, float], left: float = 60
    ) -> None:
        key = re.sub(r"[^a-z]+", "-", description.lower())
        self.picture = Picture(key, WIDTH, height, description, description)
        self.x_range, self.y_range = x, y
        self.left, self.right, self.bottom = left, WIDTH - PICTURE_MARGIN, height - BOTTOM

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (value - low) / ((high - low) or 1) * (self.bottom - TOP)

    def x_axis(self, name: str, ticks: Sequence[tuple[float, str]]) -> None:
        for value, text in ticks:
            self.picture.line(self.x(value), TOP, self.x(value), self.bottom, LINE)
            self.picture.text(self.x(value), self.bottom + 16, text, anchor="middle", fill=MUTED)
        self.picture.line(self.left, self.bottom, self.right, self.bottom, MUTED)
        self.picture.text((self.left + self.right) / 2, self.bottom + 36, name, anchor="middle")

    def y_axis(self, ticks: Sequence[tuple[float, str]]) -> None:
        for value, text in ticks:
            self.picture.text(self.left - 8, self.y(value) + 4, text, anchor="end", fill=MUTED)
        self.picture.line(self.left, TOP, self.left, self.bottom, MUTED)

    def across(self, y: float, low: float, high: float) -> None:
        self.picture.line(self.x(low), self.y(y), self.x(high), self.y(y), BLUE, width=2)

    def dots(self, points: Sequence[tuple[float, float]], colour: str = BLUE, radius: float = 4) -> None:
        for x, y in points:
            self.picture.dot(self.x(x), self.y(y), radius, colour)

    def limit_up(self, x: float, text: str) -> None:
        self.picture.line(self.x(x), TOP, self.x(x), self.bottom, RED, dashed=True)
        self.picture.text(min(self.x(x) + 4, self.right - LABEL * len(text)), TOP - 6, text, fill=RED)


def acceptance(labels: Sequence[str], estimates: Sequence[ShareEstimate], target: float) -> Markup:
    """Shares with their intervals, one line per configuration."""
    plot = _rows("Acceptance probability of each configuration on the shortlist", labels, 1.0)
    plot.x_axis("probability that an attempt is accepted", _ticks(0, 1))
    for line, estimate in enumerate(reversed(estimates)):
        plot.across(line, estimate.low, estimate.high)
        plot.dots([(estimate.share, line)])
    plot.limit_up(target, "target")
    return Markup(plot.picture.render())


def relative_figures(names: Sequence[str], ratios: Sequence[Sequence[float]]) -> Markup:
    """Figures over thresholds: median and middle 90% per criterion."""
    bands = [np.quantile(values, [0.05, 0.5, 0.95]) for values in ratios]
    right_end = max(1.25, 1.05 * max(float(band[2]) for band in bands))
    plot = _rows("Figures of the candidates relative to the thresholds", names, right_end)
    plot.x_axis("figure / threshold", _ticks(0, right_end))
    for line, (low, middle, high) in enumerate(reversed(bands)):
        plot.across(line, max(0.0, float(low)), max(0.0, float(high)))
        plot.dots([(max(0.0, float(middle)), line)])
    plot.limit_up(1, "threshold")
    return Markup(plot.picture.render())


def _rows(description: str, labels: Sequence[str], right_end: float) -> _Plot:
    """A plot with a line for each label, the first above."""
    labels_shown = [shortened(label, LONGEST_LABEL) for label in labels]
    margin = 24 + LABEL * max(len(label) for label in labels_shown)
    plot = _Plot(description, TOP + BOTTOM + ROW * len(labels_shown), (0, right_end), (-0.6, len(labels_shown) - 0.4), margin)
    plot.y_axis([(line, label) for line, label in enumerate(reversed(labels_shown))])
    return plot


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five round numbers in a range, with their texts."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, f"{n * step:.10g}") for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
