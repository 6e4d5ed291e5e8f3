"""Draw the pictures of the card from release.json and the released table alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.bundle.card.numbers import cost, environment, rounded_up, share
from synthrelease.bundle.card.sections import Useful
from synthrelease.bundle.limits import band_columns, error_band
from synthrelease.criteria.facts import figure, words
from synthrelease.privacy.charges import ADDED, IN_PARALLEL, PRICED, REPLACING, SELECTION, STATED, SUM, TOGETHER, WITHIN_CAP
from synthrelease.published.charges import ChargePart, CriterionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable

# SVG pictures with a title and a description, whose ids are unique on their page. The bytes depend on the arguments alone, not
# on fonts or versions of a plotting library: `verify` draws the pictures again and compares.

INK, MUTED, PAPER, SOFT = "#1c2430", "#46505e", "#ffffff", "#f3f5f8"
LINE, BLUE, BAND, RED, GREEN = "#d5dae1", "#2f5f9a", "#b9cde6", "#9a3b2f", "#256b3c"
DARKEST = "#12365f"
_SHADES = [(int(SOFT[i : i + 2], 16), int(DARKEST[i : i + 2], 16)) for i in (1, 3, 5)]


def shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"


def shade(share: float) -> str:
    """Return a colour between SOFT (share 0) and DARKEST (share 1)."""
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join([f"{round(low + (high - low) * share):02x}" for low, high in _SHADES])


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


MAX_PAIRS, MAX_BINS = 36, 64
"""At most MAX_PAIRS pairs of columns with at most MAX_BINS bins get a heat map. The card says how many pairs are left out."""
MOST_BARS, FEW_BARS = 400, 40
"""If a column has more than MOST_BARS bins, only the FEW_BARS bins with the most rows are drawn."""
SPARSE = 0.01
"""The colour scale of a heat map covers only bins that have at least this share of the rows. Otherwise a bin with few rows
could make all other bins pale.
"""
_WIDTH = 340.0


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The pictures (SVG) of single columns, pairs of columns, criteria and charges. `pairs_left_out` counts pairs without a
    picture.
    """

    one_way: Mapping[str, Markup]
    two_way: Mapping[str, Markup]
    pairs_left_out: int
    sparse: float
    criteria: Markup
    charges: Markup


def figures(document: ReleaseDocument, table: ReleasedTable) -> Figures:
    band, of_pairs = error_band(document, 1), None
    if band is not None and band_columns(document) != 1:
        of_pairs = (error_band(document, 2) or 0.0) * table.counts.total
    useful = Useful.of(document, of_pairs)
    tables: list[tuple[ReleasedTable, float | None, Useful | None, str]] = [(table.of_roots(), band, useful, "")]
    if (members := table.of_members()) is not None:  # no criterion and no noisy table is about members in separate rows
        tables.append((members, None, None, "member-"))
    one_way, two_way, left_out = dict[str, Markup](), dict[str, Markup](), 0
    for part, of_part, useful_of_part, prefix in tables:
        names, small = part.names, [column for column, labels in enumerate(part.labels) if len(labels) <= MAX_BINS]
        pairs = list(islice(combinations(small, 2), MAX_PAIRS // len(tables)))
        one_way |= {name: distribution(part, index, of_part, useful_of_part, prefix) for index, name in enumerate(names)}
        two_way |= {f"{names[a]} and {names[b]}": heat_map(part, a, b, useful_of_part, prefix) for a, b in pairs}
        left_out += math.comb(len(names), 2) - len(pairs)
    return Figures(
        one_way=one_way,
        two_way=two_way,
        pairs_left_out=left_out,
        sparse=SPARSE,
        criteria=thresholds(document.criteria),
        charges=charge_picture(document.charges),
    )


def distribution(
    table: ReleasedTable, column: int, band: float | None, useful: Useful | None = None, prefix: str = ""
) -> Markup:
    """Draw a bar chart of the shares of a column's bins. `band` adds the range in which the same share in the file lies.

    A bar is hollow if the error of its share may be at least half of the share. Of very many bins, only those with the most
    rows are drawn.
    """
    least = None if useful is None else useful.least_of_a_bin(table.names[column])
    name, labels = table.names[column], table.labels[column]
    total = table.counts.total
    shares, cut = table.margins[column] / max(total, 1), ""  # there may be no members
    if len(labels) > MOST_BARS:
        largest = np.argsort(-shares, kind="stable")[:FEW_BARS]
        cut = f" (only the {FEW_BARS} of {len(labels):,} bins with the most rows)"
        labels, shares = tuple(labels[bin_] for bin_ in largest), shares[largest]
    row = 17.0 if len(labels) <= 40 else max(3.0, 680.0 / len(labels))
    every = int(np.ceil(12 / row))
    left = 12.0 + 6.6 * min(18, max(len(label) for label in labels[::every]))
    reach = float(shares.max()) + (band or 0.0)
    within = "" if band is None else f" Each original share differs by at most {rounded_up(100 * band, 3)} percentage points."
    listed = "; ".join(f"{label}: {share(value)}" for label, value in zip(labels, shares, strict=True))
    return drawn(
        "distribution.html",
        key=f"{prefix}distribution-{column + 1}",
        title=f"Distribution of {words(name)}{cut}",
        description=f"Share of the released rows in each bin of {words(name)}{cut}: {listed}.{within}",
        bars=[
            (label, value, max(value - (band or 0.0), 0.0), value + (band or 0.0), least is not None and value * total < least)
            for label, value in zip(labels, shares.tolist(), strict=True)
        ],
        band=band,
        cut=cut,
        row=row,
        every=every,
        left=left,
        scale=(_WIDTH - left - 62) / max(reach, 1e-9),
        share=share,
    )


def heat_map(table: ReleasedTable, across: int, down: int, useful: Useful | None = None, prefix: str = "") -> Markup:
    """Draw a heat map: for each bin of one column, the distribution of its rows over the bins of another.

    A bin of the first column is hatched if it has too few rows for reliable shares.
    """
    least = None if useful is None else useful.least_group(table.names[across], table.names[down])
    counts = table.two_way(across, down).astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    reliable = totals[:, 0] >= (least or 0)
    dense = (totals[:, 0] >= SPARSE * totals.sum()) & (reliable | ~reliable.any())
    highest = float(shares[dense].max()) if dense.any() else float(shares.max())
    beyond = bool(shares.max() > highest)
    left, top, size = 66.0, 8.0, 250.0
    wide, high = size / counts.shape[0], min(size, 40.0 * counts.shape[1]) / counts.shape[1]
    bottom = top + high * counts.shape[1]
    names = words(table.names[across]), words(table.names[down])
    xs = [Markup(_n(left + a * wide)) for a in range(counts.shape[0])]
    ys = [Markup(_n(top + b * high)) for b in range(counts.shape[1])]
    return drawn(
        "heat_map.html",
        key=f"{prefix}pair-{across + 1}-{down + 1}",
        title=f"{names[1]} by {names[0]}",
        description=f"For each bin of {names[0]} (left to right), the shares of the bins of {names[1]} (top to bottom). A "
        f"darker colour is a larger share; the darkest is {share(highest, 0)}{' or more' if beyond else ''}.",
        bottom=bottom,
        cells=[
            (xs[a], ys[b], Markup(shade(value / highest)))  # a page has thousands
            for a, row in enumerate(shares.tolist())
            if reliable[a]
            for b, value in enumerate(row)
            if value > 0
        ],
        wide=Markup(_n(wide + 0.1)),
        high=Markup(_n(high + 0.1)),
        hatching=[
            hatch
            for index in np.flatnonzero(~reliable & (totals[:, 0] > 0))
            for hatch in _hatching(left + index * wide, top, wide, bottom - top)
        ],
        names=names,
        along=table.labels[across],
        downwards=table.labels[down],
        highest=("≥" if beyond else "") + share(highest, 0),
        shade=shade,
    )


def _hatching(x: float, y: float, width: float, height: float) -> Iterator[tuple[float, float, float, float]]:
    """Yield the ends (x1, y1, x2, y2) of slanted lines over a rectangle whose value is meaningless because of noise."""
    step = 8.0
    rise = min(width, height, step)
    for start in np.arange(y + rise, y + height + 0.1, step).tolist():
        yield x, start, x + width, start - rise


def thresholds(criteria: list[CriterionPart]) -> Markup:
    """Draw each criterion's released value and interval, on a scale from the best possible value to the threshold."""

    def used(part: CriterionPart, value: float | None) -> float:
        """Return the share of the allowed error that a value uses: 0 for the best possible value, 1 at the threshold."""
        allowed = float(part.threshold) - float(part.best)
        return math.inf if value is None else 0.0 if allowed <= 0 else (float(value) - float(part.best)) / allowed

    def place(share: float) -> float:
        return 10 + min(max(share, 0.0), 1.32) * 240

    says = "; ".join(f"{part.name}: {figure(part.value)} of {figure(part.threshold)}" for part in criteria)
    description = f"Released value and threshold of each criterion. {says}."
    bars = []
    for part in criteria:
        shown = part.interval if part.interval is not None and part.interval.how != "exact" else None
        bars.append(
            {
                "name": shortened(part.name, 46),
                "start": None if shown is None else place(used(part, shown.low)),
                "end": None if shown is None else place(used(part, shown.high)),
                "beyond": shown is not None and used(part, shown.high) > 1.32,
                "figure": place(used(part, part.value)),
                "met": part.passed and part.value <= part.threshold,
            }
        )
    return drawn("thresholds.html", bars=bars, description=description)


def charge_picture(root: ChargePart) -> Markup:
    """Draw the charge tree, with the epsilon and the composition rule of every node."""
    rows = list(_rows(root, 0))
    tree = "; ".join(f"level {depth + 1}, {node.name}: {cost(node)}" for node, depth, _ in rows)
    description = f"Privacy charges, each node followed by its parts. {tree}."
    return drawn("charges.html", rows=rows, description=description, signs=_SIGNS, cost=cost)


def drawn(template: str, **values: Any) -> Markup:
    """Fill in the SVG template of a picture, without empty lines and indentation."""
    colours = {"INK": INK, "MUTED": MUTED, "PAPER": PAPER, "SOFT": SOFT, "LINE": LINE, "BLUE": BLUE, "RED": RED, "BAND": BAND}
    text = environment().get_template(template).render(colours, c=_n, shortened=shortened, **values)
    return Markup("\n".join(line.strip() for line in text.splitlines() if line.strip()))


# Signs for the rules by which the charge of a node follows from the charges of its parts.
_SIGNS = {
    **dict.fromkeys((SUM, STATED, ADDED, TOGETHER), "Σ "),
    **{SELECTION: "2 × ", PRICED: "rounds: ", REPLACING: "2 steps: ", IN_PARALLEL: "largest: ", WITHIN_CAP: "cap: "},
}


def _rows(
    node: ChargePart, depth: int, parent: int | None = None, counter: list[int] | None = None
) -> Iterator[tuple[ChargePart, int, int | None]]:
    """Yield each charge in a tree, with its depth and the row number of its parent."""
    counter = [0] if counter is None else counter
    index = counter[0]
    counter[0] += 1
    yield node, depth, parent
    for part in node.parts:
        yield from _rows(part, depth + 1, index, counter)


def protection(texts: Mapping[str, str], direction: str) -> Markup:
    """Draw two registers that differ in one record, and the same release made from each."""
    return drawn("protection.html", texts=texts, left_to_right=direction == "ltr", wrapped=textwrap.wrap)
