"""Complete the gaps of a released table from its own rows.

Filling the gaps of a released table from its own rows: donors that agree on the observed columns (hot-deck imputation).

What the rules demand to be missing is no gap and stays (`gaps`). A row that lacks values gets those of a donor: a row that has
all of them, drawn in proportion to how often it occurs among the rows that agree with it on the columns of `match` that it has;
on fewer of these, from the last one back, while there are fewer than `donors` rows. The values that one row lacks come from one
donor, so that they go together. All of it is a function of a released table and of public randomness: it costs no privacy.

Rows that are equal and incomplete are filled in blocks of at least `smallest` rows, all rows of a block from the same donor. So
where every row of the table occurs at least `smallest` times, every row of a completed copy does, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts, EqualRows, words_of
from synthrelease.data.plausibility import Mask, Plausibility

# Which missing values of a table are gaps, and which the rules demand.
#
# A survey does not ask everybody everything: who does not work has no occupation, and the rules say so ("no work and occupation
# is not missing" never occurs). Such a value is not unknown, and nothing must be filled in there.
#
# The rules demand that a value is missing where every value of its column would break one, whatever stands in the columns that
# are still open. What is demanded is then as settled as what was observed, and may settle others: without work there is no
# contract, and without a contract no hours.


def gaps_of_cells(table: Counts, missing: Sequence[int | None], plausibility: Plausibility) -> np.ndarray:
    """Return (n_cells, n_columns) True where a value is missing that the rules do not demand to be missing.

    Parameters
    ----------
    missing : per column, the index of its bin of missing values; None where it has none.
    plausibility : the rules for released rows, on the bins of the table.
    """
    open_ = np.zeros((len(table), len(missing)), dtype=bool)
    for column, gap in enumerate(missing):
        if gap is not None:
            open_[:, column] = table.bins[column] == gap
    settled = True
    while settled:
        settled = False
        for column, gap in enumerate(missing):
            cells = np.flatnonzero(open_[:, column])
            if gap is None or not len(cells):
                continue
            possible = np.ones((len(cells), gap), dtype=bool)  # the missing bin is the last one
            for mask in plausibility.masks:
                if column in mask.columns:
                    possible &= _possible(mask, column, table, cells, open_[cells])[:, :gap]
            demanded = cells[~possible.any(axis=1)]
            open_[demanded, column] = False
            settled |= bool(len(demanded))
    return open_


def _possible(mask: Mask, column: int, table: Counts, cells: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """Return (n_cells, n_bins) whether a bin of the column is allowed with the settled columns, and some bins of the
    open ones."""
    axis = mask.columns.index(column)
    others = [column_ for column_ in mask.columns if column_ != column]
    possible = np.ones((len(cells), mask.forbidden.shape[axis]), dtype=bool)
    patterns, of_cell = np.unique(open_[:, others], axis=0, return_inverse=True)
    for number, is_open in enumerate(patterns):
        of_pattern = np.flatnonzero(of_cell.ravel() == number)
        open_axes = [mask.columns.index(column_) for column_, free in zip(others, is_open, strict=True) if free]
        allowed = np.asarray((~mask.forbidden).any(axis=tuple(open_axes), keepdims=True))
        index = tuple(
            slice(None) if part == axis else np.zeros(len(of_pattern), dtype=np.int64) if part in open_axes
            else table.bins[column_][cells[of_pattern]].astype(np.int64)
            for part, column_ in enumerate(mask.columns)
        )  # fmt: skip
        chosen = np.moveaxis(allowed, axis, -1)[tuple(part for part in index if not isinstance(part, slice))]
        possible[of_pattern] = chosen
    return possible


MOST_TRIES = 100
"""Draws of a donor whose values the rules allow, before fewer columns have to agree."""


class NotImputed(Exception):
    """A gap that no released row can fill; the message says which, from the released table alone."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """How the gaps of a table are filled.

    Attributes
    ----------
    missing : per column, the index of its bin of missing values; None where it has none.
    match : columns that a donor must agree in, the most important first.
    donors : rows that must agree, before fewer columns have to.
    copies : completed copies of the table.
    smallest : rows that get the values of one donor, at least.
    """

    missing: tuple[int | None, ...]
    match: tuple[int, ...]
    donors: int
    copies: int
    smallest: int = 1


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A completed copy: per column (n_rows,) bins, rows in the order of the table's cells."""

    bins: tuple[np.ndarray, ...]


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Cells of a table that lack the same columns, and the cells that have all of these.

    Attributes
    ----------
    columns : those that are missing.
    recipients, donors : indices of cells.
    """

    columns: tuple[int, ...]
    recipients: np.ndarray
    donors: np.ndarray


def patterns(table: Counts, missing: Sequence[int | None], open_: np.ndarray) -> Iterator[Pattern]:
    """Yield every combination of columns that some row lacks, in order. Raises NotImputed where no row has all of them.

    Parameters
    ----------
    open_ : (n_cells, n_columns) the gaps (`gaps.gaps_of_cells`). Donors have a value wherever a recipient has one of these.
    """
    empty = np.zeros(open_.shape, dtype=bool)
    for column, bin_of_missing in enumerate(missing):
        if bin_of_missing is not None:
            empty[:, column] = table.bins[column] == bin_of_missing
    kinds, kind = np.unique(open_, axis=0, return_inverse=True)
    for number, lacking in enumerate(kinds):
        if not lacking.any():
            continue
        columns = tuple(np.flatnonzero(lacking).tolist())
        donors = np.flatnonzero(~empty[:, lacking].any(axis=1))
        if not len(donors):
            names = ", ".join(table.layout.columns[column] for column in columns)
            raise NotImputed(f"some rows lack {names}, and no released row has all of these")
        yield Pattern(columns=columns, recipients=np.flatnonzero(kind.ravel() == number), donors=donors)


def completed(table: Counts, gaps: Gaps, plausibility: Plausibility, generator: np.random.Generator) -> tuple[Completed, ...]:
    """Return the copies. Observed values stay, and no completed row breaks a rule.

    Raises
    ------
    NotImputed : when some gap has no donor whose values the rules allow.
    """
    copies = [[table.rows(column) for column in range(len(gaps.missing))] for _ in range(gaps.copies)]
    starts = np.concatenate([[0], np.cumsum(table.counts)])
    open_ = gaps_of_cells(table, gaps.missing, plausibility)
    for pattern in patterns(table, gaps.missing, open_):
        blocks = _blocks(table.counts[pattern.recipients], gaps.smallest)
        rows = np.repeat(starts[pattern.recipients[blocks.cell]] + blocks.first, blocks.size)
        rows += np.arange(len(rows)) - np.repeat(np.cumsum(blocks.size) - blocks.size, blocks.size)
        donors_of_copies = _drawn(table, pattern, blocks.cell, gaps, plausibility, generator)
        for copy, donors in zip(copies, donors_of_copies, strict=True):
            for column in pattern.columns:
                copy[column][rows] = np.repeat(table.bins[column][donors], blocks.size)
    return tuple(Completed(bins=tuple(copy)) for copy in copies)


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Rows of equal cells cut into blocks: (n_blocks,) the place of the cell, its first row in the cell, and how many rows."""

    cell: np.ndarray
    first: np.ndarray
    size: np.ndarray


def _blocks(counts: np.ndarray, smallest: int) -> _Blocks:
    """Make floor(count / smallest) blocks for each cell, at least one, as even as can be."""
    pieces = np.maximum(1, counts // smallest)
    cell = np.repeat(np.arange(len(counts)), pieces)
    position = np.arange(len(cell)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    smaller, extra = (counts // pieces)[cell], (counts % pieces)[cell]
    return _Blocks(cell=cell, first=position * smaller + np.minimum(position, extra), size=smaller + (position < extra))


def _drawn(
    table: Counts,
    pattern: Pattern,
    recipient: np.ndarray,
    gaps: Gaps,
    plausibility: Plausibility,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return the (n_copies, n_blocks) cells of donors.

    Parameters
    ----------
    recipient : (n_blocks,) the place of each block's cell among the recipients of the pattern.
    """
    match = [column for column in gaps.match if column not in pattern.columns]
    donor_cells = np.full((gaps.copies, len(recipient)), -1)
    for width in range(len(match), -1, -1):
        copy, block = np.nonzero(donor_cells < 0)
        if not len(block):
            break
        groups = _Groups.of(table, pattern, match[:width])
        fit = groups.rows[recipient[block]] >= (gaps.donors if width else 1)
        copy, block = copy[fit], block[fit]
        for _ in range(MOST_TRIES):
            if not len(block):
                break
            donors = groups.draw(recipient[block], generator)
            allowed = ~_forbidden(table, pattern.columns, pattern.recipients[recipient[block]], donors, plausibility)
            donor_cells[copy[allowed], block[allowed]] = donors[allowed]
            copy, block = copy[~allowed], block[~allowed]
    if (donor_cells < 0).any():
        names = ", ".join(table.layout.columns[column] for column in pattern.columns)
        raise NotImputed(f"some rows lack {names}, and the rules allow them the values of no released row that has these")
    return donor_cells


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Donors in groups that agree on some columns.

    Attributes
    ----------
    group : (n_recipients,) the group that agrees with each recipient.
    rows : (n_recipients,) rows of the table in that group.
    donors : donor cells, groups side by side.
    ends : (n_donors,) running numbers of rows of the table in these.
    below : (n_groups,) rows before each group.
    size : (n_groups,) rows in each group.
    """

    group: np.ndarray
    rows: np.ndarray
    donors: np.ndarray
    ends: np.ndarray
    below: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, table: Counts, pattern: Pattern, columns: Sequence[int]) -> _Groups:
        cells = np.concatenate([pattern.donors, pattern.recipients])
        if columns:
            sub = table.layout.subset(tuple(columns))
            ranks = EqualRows.of(words_of(sub, [table.bins[column][cells] for column in columns])).ranks
        else:
            ranks = np.zeros(len(cells), dtype=np.int64)
        of_donors, group = ranks[: len(pattern.donors)], ranks[len(pattern.donors) :]
        order = np.argsort(of_donors, kind="stable")
        counts = table.counts[pattern.donors[order]]
        size = np.bincount(of_donors[order], weights=counts, minlength=int(ranks.max()) + 1).astype(np.int64)
        below = np.cumsum(size) - size
        return cls(group=group, rows=size[group], donors=pattern.donors[order], ends=np.cumsum(counts), below=below, size=size)

    def draw(self, recipients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return (n,) a donor cell for each of these places among the recipients, in proportion to its rows."""
        groups = self.group[recipients]
        rows = self.below[groups] + generator.integers(0, self.size[groups])
        return self.donors[np.searchsorted(self.ends, rows, side="right")]


def _forbidden(
    table: Counts, columns: Sequence[int], recipients: np.ndarray, donors: np.ndarray, plausibility: Plausibility
) -> np.ndarray:
    """Return (n,) whether a recipient with a donor's values is a row that the rules exclude."""
    bins = [(table.bins[column][donors if column in columns else recipients]) for column in range(len(table.bins))]
    return plausibility.forbidden([column_bins.astype(np.int64) for column_bins in bins])


def combined(estimates: Sequence[float], variances: Sequence[float]) -> tuple[float, float]:
    """Combine the estimates of M copies: their mean, and the variance v + (1 + 1/M) b (Rubin 1987).

    v is the mean of the variances within the copies, b the variance of the estimates between them. Of released copies this
    variance is too small: v leaves out the error of the synthesis, and the donors are taken as if they were all there are.
    """
    copies = len(estimates)
    within, between = float(np.mean(variances)), float(np.var(estimates, ddof=1))
    return float(np.mean(estimates)), within + (1 + 1 / copies) * between
