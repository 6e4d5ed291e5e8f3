"""Impute the missing values of a released table by hot-deck imputation from the rows of the same table.

A gap is a missing value that the rules do not require (see `gaps_of_cells`). A row with gaps (the recipient) receives the
values of one row (the donor) that has values in all columns with gaps and equals the recipient in the columns of `match`, where
the recipient has a value. Donors are drawn with probabilities proportional to the frequencies of their rows. If fewer than
`donors` rows match, the last column of `match` is ignored, then the last but one, and so on. Imputation uses only the released
table and public randomness, so it has no privacy cost.

Equal rows with gaps are divided into blocks of at least `smallest` rows, each with one donor. So if every row of the table
occurs at least `smallest` times, so does every row of a completed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts, EqualRows, words_of
from synthrelease.data.plausibility import Mask, Plausibility

# This section separates gaps from missing values that the rules demand. A survey does not ask everybody everything. A person
# without work has no occupation, and a rule says so ("no work and occupation is not missing" never occurs). Such a value is not
# unknown, so no value may be imputed.
#
# The rules demand a missing value if every value of the column would break a rule, for all values of the columns with gaps. A
# demanded missing value is as certain as an observed value and may imply further missing values: without work there is no
# contract, and without a contract there are no hours.


def gaps_of_cells(table: Counts, missing: Sequence[int | None], plausibility: Plausibility) -> np.ndarray:
    """Return an (n_cells, n_columns) mask of the gaps: values that are missing although the rules do not require it.

    Parameters
    ----------
    missing : for each column, the index of its bin for missing values, or None.
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
            possible = np.ones((len(cells), gap), dtype=bool)  # the bin of missing values is the last bin
            for mask in plausibility.masks:
                if column in mask.columns:
                    possible &= _possible(mask, column, table, cells, open_[cells])[:, :gap]
            demanded = cells[~possible.any(axis=1)]
            open_[demanded, column] = False
            settled |= bool(len(demanded))
    return open_


def _possible(mask: Mask, column: int, table: Counts, cells: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """Return an (n_cells, n_bins) mask of the bins of a column that the rules allow in each cell, whatever its columns with
    gaps contain."""
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
"""If none of this number of drawn donors has values that the rules allow, a column of `match` is ignored."""


class NotImputed(Exception):
    """No released row was found from which a missing value can be imputed. The message names the columns, and depends only on
    the released table and public randomness."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The settings of the imputation.

    Attributes
    ----------
    missing : for each column, the index of its bin for missing values, or None.
    match : columns in which donor and recipient must have the same values, the most important first.
    donors : the smallest number of rows from which a donor is drawn. Otherwise a column of `match` is ignored.
    copies : number of completed copies of the table.
    smallest : the smallest number of equal rows with the same donor.
    """

    missing: tuple[int | None, ...]
    match: tuple[int, ...]
    donors: int
    copies: int
    smallest: int = 1


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A copy of the table without gaps: the (n_rows,) bins of each column, in the order of the table's cells."""

    bins: tuple[np.ndarray, ...]


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Cells with gaps in exactly these columns (recipients), and cells with values in all of them (donors)."""

    columns: tuple[int, ...]
    recipients: np.ndarray
    donors: np.ndarray


def patterns(table: Counts, missing: Sequence[int | None], open_: np.ndarray) -> Iterator[Pattern]:
    """Yield a `Pattern` for each set of columns in which a row has gaps (`open_`, as in `gaps_of_cells`), always in the same
    order.

    Raises
    ------
    NotImputed : if no row has values in all columns of such a set.
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
            raise NotImputed(f"some rows lack {names}, and no released row has values in all these columns")
        yield Pattern(columns=columns, recipients=np.flatnonzero(kind.ravel() == number), donors=donors)


def completed(table: Counts, gaps: Gaps, plausibility: Plausibility, generator: np.random.Generator) -> tuple[Completed, ...]:
    """Return completed copies of the table. Observed values do not change, and no completed row violates a rule.

    Raises
    ------
    NotImputed : if a row with gaps has no donor whose values the rules allow.
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
    """Blocks of equal rows with gaps and one donor: (n_blocks,) index of the cell, first row within the cell, and number of
    rows."""

    cell: np.ndarray
    first: np.ndarray
    size: np.ndarray


def _blocks(counts: np.ndarray, smallest: int) -> _Blocks:
    """Divide the rows of each cell into blocks of nearly equal size: as many as possible with at least `smallest` rows, but at
    least one."""
    pieces = np.maximum(1, counts // smallest)
    cell = np.repeat(np.arange(len(counts)), pieces)
    position = np.arange(len(cell)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    smaller, extra = (counts // pieces)[cell], (counts % pieces)[cell]
    return _Blocks(cell=cell, first=position * smaller + np.minimum(position, extra), size=smaller + (position < extra))


def _drawn(
    table: Counts, pattern: Pattern, recipient: np.ndarray, gaps: Gaps, rules: Plausibility, generator: np.random.Generator
) -> np.ndarray:
    """Return the (n_copies, n_blocks) cells of the donors, drawn for each block and separately for each copy.

    Parameters
    ----------
    recipient : (n_blocks,) index of the block's cell in `pattern.recipients`.
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
            allowed = ~_forbidden(table, pattern.columns, pattern.recipients[recipient[block]], donors, rules)
            donor_cells[copy[allowed], block[allowed]] = donors[allowed]
            copy, block = copy[~allowed], block[~allowed]
    if (donor_cells < 0).any():
        names = ", ".join(table.layout.columns[column] for column in pattern.columns)
        raise NotImputed(
            f"some rows lack {names}, and {MOST_TRIES} tries found no released row with values that the rules allow"
        )
    return donor_cells


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Donors in groups whose cells have the same bins in some columns.

    Attributes
    ----------
    group : (n_recipients,) the group of donors that match each recipient.
    rows : (n_recipients,) number of donor rows in that group.
    donors : donor cells, sorted by group.
    ends : (n_donors,) cumulative number of rows in `donors`.
    below, size : (n_groups,) number of donor rows before and in each group.
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
        """Draw the (n,) cell of a donor for each recipient, with probabilities proportional to the cells' numbers of rows."""
        groups = self.group[recipients]
        rows = self.below[groups] + generator.integers(0, self.size[groups])
        return self.donors[np.searchsorted(self.ends, rows, side="right")]


def _forbidden(
    table: Counts, columns: Sequence[int], recipients: np.ndarray, donors: np.ndarray, plausibility: Plausibility
) -> np.ndarray:
    bins = [(table.bins[column][donors if column in columns else recipients]) for column in range(len(table.bins))]
    return plausibility.forbidden([column_bins.astype(np.int64) for column_bins in bins])
