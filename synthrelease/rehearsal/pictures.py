"""The pictures of the rehearsal's report, as SVG to be put into the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from synthrelease.rehearsal.advice import BudgetPoint
from synthrelease.rehearsal.intervals import ShareEstimate
from synthrelease.rehearsal.proposal import Proposal

_BLUE, _RED, _GREY = "#2f5f9a", "#9a3b2f", "#8b95a3"


def acceptance(labels: Sequence[str], estimates: Sequence[ShareEstimate], target: float) -> str:
    """Shares with their intervals, one line per configuration."""
    figure, axes = _canvas(0.32 * len(labels) + 1.1)
    places = np.arange(len(labels))[::-1]
    axes.hlines(places, [e.low for e in estimates], [e.high for e in estimates], color=_BLUE, linewidth=2)
    axes.plot([e.share for e in estimates], places, "o", color=_BLUE)
    axes.axvline(target, color=_RED, linestyle="--", linewidth=1)
    axes.text(target, len(labels) - 0.4, " target", color=_RED, fontsize=9)
    axes.set_yticks(places, labels)
    axes.set_ylim(-0.6, len(labels))
    axes.set_xlim(0, 1)
    axes.set_xlabel("probability that an attempt is accepted")
    return _svg(figure, "Acceptance probability of each configuration on the shortlist")


def relative_figures(names: Sequence[str], ratios: Sequence[Sequence[float]]) -> str:
    """Figures over thresholds: median and middle 90% per criterion."""
    figure, axes = _canvas(0.36 * len(names) + 1.1)
    places = np.arange(len(names))[::-1]
    low, middle, high = np.array([np.quantile(values, [0.05, 0.5, 0.95]) for values in ratios]).T
    axes.hlines(places, low, high, color=_BLUE, linewidth=2)
    axes.plot(middle, places, "o", color=_BLUE)
    axes.axvline(1, color=_RED, linestyle="--", linewidth=1)
    axes.text(1, len(names) - 0.4, " threshold", color=_RED, fontsize=9)
    axes.set_yticks(places, names, parse_math=False)
    axes.set_ylim(-0.6, len(names))
    axes.set_xlim(0, max(1.25, float(high.max()) * 1.05))
    axes.set_xlabel("figure / threshold")
    return _svg(figure, "Figures of the candidates relative to the thresholds")


def budget_frontier(points: Sequence[BudgetPoint], target: float) -> str:
    """Total epsilon against acceptance probability."""
    figure, axes = _canvas(3.2)
    totals = [float(point.total) for point in points]
    shares = [point.acceptance.share for point in points]
    axes.vlines(totals, [p.acceptance.low for p in points], [p.acceptance.high for p in points], color=_BLUE, linewidth=2)
    axes.plot(totals, shares, "o-", color=_BLUE)
    axes.axhline(target, color=_RED, linestyle="--", linewidth=1)
    axes.text(min(totals), target, "target ", color=_RED, fontsize=9, va="bottom")
    axes.set_ylim(0, 1)
    axes.set_xlabel("total epsilon of the release")
    axes.set_ylabel("probability of acceptance")
    return _svg(figure, "Total epsilon against acceptance probability")


def nothing_frontier(proposal: Proposal) -> str:
    """Total epsilon against the probability that nothing is released: best laws, stop coins, and other generation budgets."""
    figure, axes = _canvas(3.6)
    for points, style, colour, label in (
        (proposal.coins, "--", _GREY, "stop coin"),
        (proposal.frontier, "o-", _BLUE, "best law of a hidden number of rounds"),
    ):
        axes.plot([float(p.total) for p in points], [p.nothing for p in points], style, color=colour, label=label, markersize=3)
    others = [each for each in proposal.offers if each.total is not None and each is not proposal.chosen]
    totals, ends = [float(each.total or 0) for each in others], [each.nothing or 0.0 for each in others]
    axes.plot(totals, ends, "o", color=_BLUE, markerfacecolor="white", label="other generation budgets, best law for each")
    if proposal.doubled is not None:
        axes.plot([float(proposal.doubled)], [0], "X", color=_RED, markersize=8, label="never giving up", clip_on=False)
    if proposal.chosen is not None and proposal.chosen.total is not None:
        there = ([float(proposal.chosen.total)], [proposal.chosen.nothing or 0.0])
        axes.plot(*there, "o", color=_BLUE, markersize=9, label="proposed")
    axes.axhline(proposal.wanted, color=_RED, linestyle="--", linewidth=1)
    axes.text(
        1, proposal.wanted, "wanted", color=_RED, fontsize=9, va="bottom", ha="right", transform=axes.get_yaxis_transform()
    )
    axes.set_ylim(0, 1.05 * max(proposal.wanted, *(point.nothing for point in (*proposal.frontier, *proposal.coins))))
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("total epsilon of the release")
    axes.set_ylabel("probability of nothing")
    axes.legend(frameon=False, fontsize=9)
    return _svg(figure, "Total epsilon against the probability that nothing is released")


def seconds(times: Sequence[float]) -> str:
    """Histogram of seconds per attempt, on a logarithmic scale."""
    figure, axes = _canvas(2.4)
    values = np.maximum(np.asarray(times, dtype=float), 1e-4)
    edges = np.geomspace(values.min() * 0.95, values.max() * 1.05, 40)
    axes.hist(values, bins=edges.tolist(), color=_GREY)
    axes.set_xscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("attempts")
    return _svg(figure, "Seconds per attempt")


def _canvas(height: float):
    figure = Figure(figsize=(8, max(height, 2.0)), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e3e7ec")
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Figure, description: str) -> str:
    """The figure as an svg element with a text for screen readers; text stays text.

    matplotlib gives every figure the same ids, which must be unique on a page: they get the description in front.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": description, "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": description})
    key = re.sub(r"[^a-z]+", "-", description.lower())
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{key}-", buffer.getvalue())
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{description}"', 1)
