"""The charts of a rehearsal's report, as SVG to be put into the page."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from synthrelease.bundle.pictures import BLUE, LINE, MUTED, RED, Picture, shortened
from synthrelease.studio.rehearsal.advice import BudgetPoint, Offer, Proposal
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

    def y_axis(self, ticks: Sequence[tuple[float, str]], name: str = "") -> None:
        for value, text in ticks:
            self.picture.text(self.left - 8, self.y(value) + 4, text, anchor="end", fill=MUTED)
        self.picture.line(self.left, TOP, self.left, self.bottom, MUTED)
        if name:
            self.picture.text(4, TOP - 10, name)

    def across(self, y: float, low: float, high: float) -> None:
        self.picture.line(self.x(low), self.y(y), self.x(high), self.y(y), BLUE, width=2)

    def up(self, x: float, low: float, high: float) -> None:
        self.picture.line(self.x(x), self.y(low), self.x(x), self.y(high), BLUE, width=2)

    def dots(self, points: Sequence[tuple[float, float]], colour: str = BLUE, radius: float = 4) -> None:
        for x, y in points:
            self.picture.dot(self.x(x), self.y(y), radius, colour)

    def path(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            self.picture.line(self.x(x1), self.y(y1), self.x(x2), self.y(y2), colour, width=1.5)

    def limit_across(self, y: float, text: str) -> None:
        self.picture.line(self.left, self.y(y), self.right, self.y(y), RED, dashed=True)
        self.picture.text(self.right, self.y(y) - 4, text, anchor="end", fill=RED)

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


def budget_frontier(points: Sequence[BudgetPoint], target: float) -> Markup:
    """Total epsilon against acceptance probability."""
    totals = [float(point.total) for point in points]
    plot = _Plot("Total epsilon against acceptance probability", 300, _around(totals), (0, 1))
    plot.x_axis("total epsilon of the release", _ticks(*plot.x_range))
    plot.y_axis(_ticks(0, 1), "probability of acceptance")
    for total, point in zip(totals, points, strict=True):
        plot.up(total, point.acceptance.low, point.acceptance.high)
    points_of_curve = [(total, point.acceptance.share) for total, point in zip(totals, points, strict=True)]
    plot.path(points_of_curve, BLUE)
    plot.dots(points_of_curve)
    plot.limit_across(target, "target")
    return Markup(plot.picture.render())


def nothing_frontier(proposal: Proposal) -> Markup:
    """Total epsilon against the probability that no table is found: hidden numbers of rounds, and other generation budgets."""
    chosen = proposal.chosen
    laws = _points(proposal.frontier)
    budgets = _points([offer for offer in proposal.offers if offer is not chosen])
    endless = [] if proposal.without_limit is None else [(float(proposal.without_limit), 0.0)]
    proposed = [] if chosen is None else _points([chosen])
    top = 1.05 * max(proposal.wanted, *(nothing for _, nothing in laws))
    everywhere = [total for total, _ in (*laws, *budgets, *endless, *proposed)]
    plot = _Plot("Total epsilon against the probability of no table", 380, _around(everywhere), (0, top))
    plot.x_axis("total epsilon of the release", _ticks(*plot.x_range))
    plot.y_axis([(value, f"{value:.0%}") for value, _ in _ticks(0, top)], "probability of no table")
    plot.path(laws, BLUE)
    plot.dots(laws, radius=2.5)
    inside = [point for point in budgets if point[1] <= top]
    plot.dots(inside, radius=4)
    plot.dots(inside, "#ffffff", radius=2.5)
    plot.dots(endless, RED, radius=5)
    plot.dots(proposed, radius=6)
    plot.limit_across(proposal.wanted, "--nothing")
    legend = [
        *([("large: proposed", BLUE)] if proposed else []),
        ("line: other numbers of rounds", BLUE),
        ("hollow: other generation budgets", BLUE),
        *([("search without a limit on rounds", RED)] if endless else []),
    ]
    for line, (text, colour) in enumerate(legend):
        plot.picture.dot(plot.right - 316, TOP + 14 + 16 * line, 4, colour)
        plot.picture.text(plot.right - 306, TOP + 18 + 16 * line, text, fill=MUTED)
    return Markup(plot.picture.render())


def _points(offers: Sequence[Offer]) -> list[tuple[float, float]]:
    """Total epsilon and probability of no table, of offers that have a law."""
    return [(float(offer.total), offer.nothing or 0.0) for offer in offers if offer.total is not None]


def _rows(description: str, labels: Sequence[str], right_end: float) -> _Plot:
    """A plot with a line for each label, the first above."""
    labels_shown = [shortened(label, LONGEST_LABEL) for label in labels]
    margin = 24 + LABEL * max(len(label) for label in labels_shown)
    plot = _Plot(description, TOP + BOTTOM + ROW * len(labels_shown), (0, right_end), (-0.6, len(labels_shown) - 0.4), margin)
    plot.y_axis([(line, label) for line, label in enumerate(reversed(labels_shown))])
    return plot


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range with some room on both sides."""
    room = 0.05 * (max(values) - min(values)) or 0.05 * abs(max(values)) or 1.0
    return min(values) - room, max(values) + room


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five round numbers in a range, with their texts."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, f"{n * step:.10g}") for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
