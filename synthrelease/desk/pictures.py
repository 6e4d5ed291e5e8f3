"""The pictures of the desk. Colours are those of the page, so that they suit a light and a dark one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from markupsafe import Markup

from synthrelease.domain.schema import Column

WIDTH, HEIGHT = 240.0, 34.0
MARKS, ROW = 560.0, 26.0
MAP = 300.0
MOST_NUMBERED = 20
FAINT = 0.02
"""Cramer's V below which a pair is left white."""


def shares(column: Column, texts: Mapping[str | None, int]) -> list[float] | None:
    """The share of the public values in each atomic bin; None where they cannot be told from the texts alone."""
    counts = bin_counts(column, texts)
    return None if counts is None else list(counts / counts.sum())


def bin_counts(column: Column, texts: Mapping[str | None, int]) -> np.ndarray | None:
    """(n_atoms,) how many public values are in each atomic bin; None where that cannot be told, or none is."""
    if column.part is not None or column.minus is not None or column.characters is not None:
        return None
    counts = np.zeros(len(column.atoms.labels))
    for text, times in texts.items():
        place = _bin(column, text)
        if place is not None:
            counts[place] += times
    return counts if counts.sum() > 0 else None


def _bin(column: Column, text: str | None) -> int | None:
    if text is None:
        return None
    if column.bounds is None:
        return column.values.get(text)
    try:
        value = float(text)
    except ValueError:
        return None
    if not column.bounds[0] <= value <= column.bounds[1]:
        return None
    return int(np.searchsorted(column.edges, value, side="right"))


def strip(column: Column, texts: Mapping[str | None, int]) -> Markup:
    """The public values on the released bins; empty where they cannot be told."""
    counts = bin_counts(column, texts)
    if counts is None:
        return Markup()
    binning = next(iter(column.alternatives.values()))
    found = np.bincount(binning.of_atom, weights=counts, minlength=len(binning.labels)) / counts.sum()
    top, width = int(np.argmax(found)), WIDTH / len(found)
    label = (
        f"Public values of {column.name}: {len(found)} bins; the most frequent is {binning.labels[top]} "
        f"with {found[top]:.0%} of the public rows"
    )
    bars = [
        f'<rect x="{index * width:.1f}" y="{HEIGHT - (HEIGHT - 4) * share / found[top]:.1f}" '
        f'width="{max(width - 1, 0.5):.1f}" height="{(HEIGHT - 4) * share / found[top]:.1f}"/>'
        for index, share in enumerate(found)
        if share > 0
    ]
    return _svg("bars", WIDTH, HEIGHT + 1, label, [*bars, f'<path d="M0 {HEIGHT + 0.5}H{WIDTH}"/>'])


def marks(threshold: float, halves: float | None, fit: float | None, independent: float | None, *, bad: bool) -> Markup:
    """One line with the threshold and up to three marks on it; empty where there is none.

    Parameters
    ----------
    bad : whether that independent columns meet the threshold is a mistake.
    """
    known = [value for value in (halves, fit, independent) if value is not None]
    if not known:
        return Markup()
    most = 1.08 * max([threshold, *known]) or 1.0

    def at(value: float) -> float:
        return 8 + (MARKS - 16) * max(0.0, value) / most

    middle = ROW / 2
    parts = [f'<path d="M8 {middle}H{MARKS - 8}"/>', f'<path class="limit" d="M{at(threshold):.1f} 1V{ROW - 1}"/>']
    if halves is not None:
        parts.append(f'<rect class="halves" x="{at(halves) - 5:.1f}" y="{middle - 5}" width="10" height="10"/>')
    if fit is not None:
        parts.append(f'<circle class="fit" cx="{at(fit):.1f}" cy="{middle}" r="6"/>')
    if independent is not None:
        x = at(independent)
        kind = "alone wrong" if bad else "alone"
        parts.append(f'<polygon class="{kind}" points="{x - 7:.1f},{ROW - 6} {x + 7:.1f},{ROW - 6} {x:.1f},5"/>')
    return _svg("marks", MARKS, ROW, "The three marks and the threshold, as they are told beneath", parts)


def heat_map(names: Sequence[str], values: Sequence[float], unseen: Sequence[Sequence[int]], title: str) -> Markup:
    """A triangle with a square for every pair, the darker the stronger; pairs that nothing looks at have a frame.

    Columns have their numbers on both sides, where there is room.
    """
    last = max(1, len(names) - 1)
    room = 22 if len(names) <= MOST_NUMBERED else 0
    size, marked = (MAP - room) / last, {tuple(pair) for pair in unseen}
    stairs = "".join(f"H{room + (place + 1) * size:.1f}V{(place + 1) * size:.1f}" for place in range(last))
    parts = [f'<path class="all" d="M{room} 0{stairs}H{room}Z"/>']
    for (first, second), value in zip(combinations(range(len(names)), 2), values, strict=True):
        framed = (first, second) in marked
        if value < FAINT and not framed:
            continue
        frame = ' class="unseen"' if framed else ""
        told = f"<title>{_text(names[first])} and {_text(names[second])}: {value:.2f}</title>" if value >= 0.1 else ""
        x, y = room + first * size, (second - 1) * size
        place = f'x="{x:.1f}" y="{y:.1f}" width="{size - 0.5:.1f}" height="{size - 0.5:.1f}"'
        parts.append(f'<rect{frame} {place} fill-opacity="{min(1.0, 0.1 + value):.2f}">{told}</rect>')
    for number in range(last if room else 0):
        parts.append(f'<text x="{room - 5}" y="{(number + 0.5) * size + 4:.1f}" text-anchor="end">{number + 2}</text>')
        parts.append(f'<text x="{room + (number + 0.5) * size:.1f}" y="{MAP - 6:g}" text-anchor="middle">{number + 1}</text>')
    return _svg("heat", MAP, MAP, title, parts)


def _svg(kind: str, width: float, height: float, label: str, parts: Sequence[str]) -> Markup:
    head = f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
    return Markup(f'{head}aria-label="{_text(label)}">' + "".join(parts) + "</svg>")


def _text(text: str) -> str:
    return str(Markup.escape(text))
