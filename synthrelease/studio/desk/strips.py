"""What the public file has in each column, and its pictures, made once for each column as it stands."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from synthrelease.data.linked import Linked
from synthrelease.data.schema import Column
from synthrelease.enclave.texts import key_text
from synthrelease.settings.columns import InputTable
from synthrelease.studio.drafting.public_file import PublicBins, PublicFile, public_bins

# The pictures of the desk. Colours are those of the page, so that they suit a light and a dark one.

WIDTH, HEIGHT = 420.0, 56.0
ROOM = 34.0
"""Between two numbers beneath a strip."""
MARKS, ROW = 560.0, 26.0


def strip(name: str, labels: Sequence[str], rows: Sequence[int]) -> Markup:
    """Return the public rows in bins that have no order on a line."""
    width, largest, top = WIDTH / len(rows), max(rows), rows.index(max(rows))
    label = f"Public values of {name}: {len(rows)} bins; {_most(labels[top], largest, rows)}"
    bars = [
        f'<rect x="{index * width:.1f}" y="{HEIGHT - (HEIGHT - 4) * count / largest:.1f}" '
        f'width="{max(width - 1, 0.5):.1f}" height="{(HEIGHT - 4) * count / largest:.1f}"/>'
        for index, count in enumerate(rows)
        if count
    ]
    return _svg("bars", WIDTH, HEIGHT + 1, label, [*bars, f'<path d="M0 {HEIGHT + 0.5}H{WIDTH}"/>'])


def histogram(name: str, limits: Sequence[float], public: PublicBins) -> Markup:
    """Return the public rows of a column of numbers with the limits of its bins, which a script lets one drag.

    Each place between which limits can be moved has the same width.
    """
    positions, width, largest = public.places, WIDTH / len(public.places), max(public.between)
    label = f"Public values of {name} with {len(limits)} limits between bins: {', '.join(f'{limit:.6g}' for limit in limits)}"
    at = {position: index * width for index, position in enumerate(positions)}
    edges = [0.0, *(at[limit] for limit in limits), WIDTH]
    bands = [
        f'<rect class="band" x="{low:.1f}" width="{high - low:.1f}" height="{HEIGHT}"/>'
        for low, high in zip(edges[1::2], edges[2::2], strict=False)
    ]
    tops = "".join(f"V{HEIGHT - (HEIGHT - 4) * rows_between / largest:.1f}h{width:.2f}" for rows_between in public.between)
    marked = [f'<path class="limit" d="M{at[limit]:.1f} 0V{HEIGHT}"/>' for limit in limits]
    last, texts = -ROOM, []
    for limit in limits:
        if at[limit] - last >= ROOM:
            last = at[limit]
            texts.append(f'<text x="{min(max(last, 10), WIDTH - 12):.1f}" y="{HEIGHT + 12:g}">{limit:.6g}</text>')
    data = f' data-places="{" ".join(f"{rows_between:.12g}" for rows_between in positions)}"'
    parts = [*bands, f'<path class="rows" d="M0 {HEIGHT}{tops}V{HEIGHT}Z"/>', *marked, *texts]
    return _svg("limits", WIDTH, HEIGHT + 16, label, parts, data)


def _most(label: str, rows_of_bin: int, rows: Sequence[int]) -> str:
    return f"the most frequent is {label} with {rows_of_bin / sum(rows):.0%} of the public rows"


def marks(threshold: float, halves: float | None, fit: float | None, independent: float | None, *, bad: bool) -> Markup:
    """Return one line with the threshold and up to three marks on it; empty where there is none.

    Parameters
    ----------
    bad : whether that independent columns meet the threshold is a mistake.
    """
    values = [value for value in (halves, fit, independent) if value is not None]
    if not values:
        return Markup()
    right_end = 1.08 * max([threshold, *values]) or 1.0

    def at(value: float) -> float:
        return 8 + (MARKS - 16) * max(0.0, value) / right_end

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


def _svg(kind: str, width: float, height: float, label: str, parts: Sequence[str], attributes: str = "") -> Markup:
    head = f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
    return Markup(f'{head}aria-label="{_text(label)}"{attributes}>' + "".join(parts) + "</svg>")


def _text(text: str) -> str:
    return str(Markup.escape(text))


MOST_KEPT = 1_000


class Strips:
    """Of one public file, or of one with a second one of members.

    Parameters
    ----------
    public, members : None where there is none.
    """

    def __init__(self, public: PublicFile | None, members: PublicFile | None = None):
        self.public, self.members = public, members
        self._kept: OrderedDict[tuple[object, ...], tuple[PublicBins | None, dict[str, Markup]]] = OrderedDict()

    def of(self, column: Column, policy: InputTable, linked: Linked | None) -> tuple[PublicBins | None, Mapping[str, Markup]]:
        """Return the rows in the bins, None where unknown; and a picture for each alternative, empty where there is none.

        Parameters
        ----------
        policy : [input] of the configuration.
        linked : its members, of whom a column may be, or count them.
        """
        bins = tuple((name, binning.labels, binning.numbers) for name, binning in column.alternatives.items())
        values = (column.sources, column.bounds, column.edges, bins, tuple(column.values.items()), column.missing_values)
        key = (column.name, values, column.missing, column.characters, policy.missing_values)
        if key not in self._kept:
            file = self._file(column, linked)
            public = None if file is None else public_bins(file, column, policy)
            self._kept[key] = public, {name: _picture(column, name, public) for name in column.alternatives}
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def texts(self, column: Column, linked: Linked | None) -> Mapping[str | None, int]:
        """Return how often each text of the column occurs."""
        file = self._file(column, linked)
        return {} if file is None else file.columns[column.source]

    def _file(self, column: Column, linked: Linked | None) -> PublicFile | None:
        """Return the file that has the column: the public one first, but the members' file for a column of members."""
        of_members = linked is not None and linked.place_of(column.name) is not None
        if linked is not None and column.name == linked.size:
            return self._numbers_of_members(linked)
        files = (self.members, self.public) if of_members else (self.public, self.members)
        return next((file for file in files if file is not None and column.source in file.columns), None)

    def _numbers_of_members(self, linked: Linked) -> PublicFile | None:
        """Return how many members roots have, in the place of their key."""
        file = self.members or self.public
        if self.public is None or file is None or not all(linked.key in table.columns for table in (self.public, file)):
            return None
        roots, times = (_by_key(table, linked.key) for table in (self.public, file))
        counts = Counter[str | None]()
        for key in {*roots, *times} - {""}:
            counts[str(min(times[key], linked.most) if linked.more == "first" else times[key])] += 1
        return replace(file, columns={linked.key: counts})


def _by_key(file: PublicFile, name: str) -> Counter[str]:
    """Return how many rows each key has, in its normal form."""
    times = Counter[str]()
    for text, rows in file.columns[name].items():
        times[key_text(text or "", file.input.decimal)] += rows
    return times


def _picture(column: Column, alternative: str, public: PublicBins | None) -> Markup:
    if public is None or not public.total:
        return Markup()
    if public.places:
        return histogram(column.name, column.alternatives[alternative].lower[1:], public)
    first = next(iter(column.alternatives))
    return strip(column.name, column.alternatives[first].labels, public.rows) if alternative == first else Markup()
