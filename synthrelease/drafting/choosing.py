"""Which columns of a public file are drafted: those that were asked for, and of very many those that hang together most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError, closest, listing
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import MAX_TABLES

MOST_COLUMNS = MAX_TABLES
"""Columns of a draft: as many as a release can have."""
LOOKED_AT = 4_000
"""Rows by which columns are compared: Cramer's V of two columns is then known to about 0.02."""
PARTNERS = 10
_GROUPS = 8
"""Of the values of a column, for comparing: the most frequent ones, and the rest."""
_TOGETHER = 50

ORDER = (
    f"first those that hang together most with others: the mean Cramer's V with the {PARTNERS} columns that a column is tied "
    "to most, times its share of rows with a value; a design weight before all"
)


@dataclass(frozen=True, kw_only=True)
class AskedFor:
    """Which columns of the file a user asks for, by their names in it.

    Attributes
    ----------
    only : these and no others; None for all.
    leave_out : all but these.
    """

    only: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()

    def of(self, names: Sequence[str]) -> tuple[list[str], list[LeftOut]]:
        """The columns to read, in the order of the file, and the others.

        Raises
        ------
        InputError : when both lists are given, the file has no column of such a name, or none is left.
        """
        if self.only is not None and self.leave_out:
            raise InputError("expected --only or --leave-out, found both. Name the columns to keep, or those to leave out.")
        asked = self.leave_out if self.only is None else self.only
        option = "--leave-out" if self.only is None else "--only"
        if unknown := [name for name in dict.fromkeys(asked) if name not in names]:
            meant = [(name, closest(name, names)) for name in unknown]
            guesses = "; ".join(f"{name!r}: did you mean {near!r}?" for name, near in meant if near is not None)
            raise InputError(
                f"{option}: expected columns of the file ({listing(names)}), found {listing(unknown)}."
                + (f" {guesses}" if guesses else "")
                + " A name that has a comma stands in double quotes."
            )
        kept = [name for name in names if (name in asked) == (self.only is not None)]
        if not kept:
            raise InputError(f"{option}: expected that some column is left to draft, found none.")
        because = "it was not asked for (--only)" if self.only is not None else "it was asked to leave it out (--leave-out)"
        return kept, [LeftOut(source=name, because=because) for name in names if name not in kept]


ALL = AskedFor()


def chosen_columns(
    columns: Sequence[ColumnDraft], batches: Iterable[Mapping[str, Texts]], n_rows: int, most: int = MOST_COLUMNS
) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """At most so many drafted columns, in the order of the file, and the others with the reason.

    Whoever releases a table wants to keep how its columns hang together: a column that is tied to no other one loses nothing
    by being released on its own, and one that is nearly always empty ties nothing. So the columns of the file come in this
    `ORDER`; one that became several (a date: its year and its month) takes as many places.
    """
    sources = list(dict.fromkeys(column.source for column in columns))
    ties = dict(zip(sources, _ties(sources, columns, batches, n_rows), strict=True))
    weights = {column.source for column in columns if column.weight}
    order = sorted(sources, key=lambda source: (source not in weights, -ties[source]))
    kept, places = set[str](), 0
    for source in order:
        wide = sum(column.source == source for column in columns)
        if places + wide <= most:
            kept, places = kept | {source}, places + wide
    because = (
        f"a release has at most {most} columns, and it was not among those that were chosen ({ORDER}; --only and --leave-out "
        "choose others)"
    )
    left_out = [LeftOut(source=source, because=because) for source in order if source not in kept]
    return [column for column in columns if column.source in kept], left_out


def _ties(
    sources: Sequence[str], columns: Sequence[ColumnDraft], batches: Iterable[Mapping[str, Texts]], n_rows: int
) -> list[float]:
    """For each column of the file how much it hangs together with others, times its share of rows with a value."""
    standard = InputTable().missing_values
    missing = {column.source: {*standard, *column.missing_values} for column in columns}
    numbers = {column.source for column in columns if column.bins and not column.of_date}
    rows = _spread_rows(batches, sources, -(-n_rows // LOOKED_AT))
    groups = np.stack([_grouped(rows[source], missing[source], source in numbers) for source in sources])
    filled = (groups >= 0).mean(axis=1)
    strengths = _strengths(groups)
    np.fill_diagonal(strengths, 0.0)
    strongest = np.sort(strengths, axis=1)[:, -PARTNERS:]
    return [float(mean * share) for mean, share in zip(strongest.mean(axis=1), filled, strict=True)]


def _spread_rows(batches: Iterable[Mapping[str, Texts]], sources: Sequence[str], step: int) -> dict[str, list[str | None]]:
    """The texts of every so many rows, from all of the file: neighbours in a file are often alike."""
    found: dict[str, list[str | None]] = {source: [] for source in sources}
    for batch in batches:
        for source in sources:
            texts = batch[source]
            found[source] += [texts.texts[code] for code in texts.codes[::step].tolist()]
    return found


def _grouped(texts: Sequence[str | None], missing: Collection[str], number: bool) -> np.ndarray:
    """(n_rows,) the group of each row: eighths of numbers, the most frequent texts and the rest; -1 without a value."""
    plain = [None if text is None or text.strip() in missing else text.strip() for text in texts]
    if number:
        values = np.array([_number(text) for text in plain])
        known = ~np.isnan(values)
        limits = np.unique(np.quantile(values[known], np.arange(1, _GROUPS) / _GROUPS)) if known.any() else np.empty(0)
        return np.where(known, np.searchsorted(limits, values, side="right"), -1)
    different, place, times = np.unique([text or "" for text in plain], return_inverse=True, return_counts=True)
    rank = np.minimum(np.argsort(np.argsort(-times, kind="stable"), kind="stable"), _GROUPS)
    return np.where([text is None for text in plain], -1, rank[place])


def _number(text: str | None) -> float:
    try:
        return float("nan") if text is None else float(text.replace(",", "."))
    except ValueError:
        return float("nan")


def _strengths(groups: np.ndarray) -> np.ndarray:
    """(n_columns, n_columns) Cramer's V of each two columns over the rows with a value of both, less what chance makes of it.

    As `rehearsal.dependence.cramers_v` (Bergsma 2013), for all pairs at once: tables of two columns are products of indicators.
    """
    n_columns, width = len(groups), _GROUPS + 1
    indicators = (groups[:, None, :] == np.arange(width)[None, :, None]).astype(np.float32)
    flat = indicators.reshape(n_columns * width, -1)
    found = np.zeros((n_columns, n_columns))
    for start in range(0, n_columns, _TOGETHER):
        some = indicators[start : start + _TOGETHER]
        tables = (some.reshape(len(some) * width, -1) @ flat.T).reshape(len(some), width, n_columns, width).astype(float)
        found[start : start + _TOGETHER] = _cramers_v(tables.transpose(0, 2, 1, 3))
    return found


def _cramers_v(tables: np.ndarray) -> np.ndarray:
    """Of many (..., n_first, n_second) tables; 0 where a column has one value."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    n = rows.sum(axis=-1)
    expected = rows[..., :, None] * columns[..., None, :] / np.maximum(n, 1)[..., None, None]
    apart = np.divide((tables - expected) ** 2, expected, out=np.zeros_like(tables), where=expected > 0)
    many, most = (rows > 0).sum(axis=-1), (columns > 0).sum(axis=-1)
    usable, others = n > 1, np.maximum(n - 1, 1)
    squared = np.maximum(0.0, apart.sum(axis=(-2, -1)) / np.maximum(n, 1) - (many - 1) * (most - 1) / others)
    fewest = np.minimum(many - (many - 1) ** 2 / others, most - (most - 1) ** 2 / others)
    usable &= (np.minimum(many, most) > 1) & (fewest > 1)
    return np.sqrt(np.minimum(1.0, np.divide(squared, fewest - 1, out=np.zeros_like(squared), where=usable)))
