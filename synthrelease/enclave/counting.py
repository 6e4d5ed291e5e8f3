"""Count the rows in each cell, over all batches of one or several files, in any order.

All rows that have a bin in every column are counted. The plausibility rules are applied to the cells at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synthrelease.data.counts import Counts, Tally, in_a_row, number_of_indicators, packed_from
from synthrelease.data.layout import Layout
from synthrelease.data.misfits import WRONG, forbidden_kinds
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.texts import Batch, Texts
from synthrelease.enclave.values import Digits, Known, absent, atomic_bins
from synthrelease.errors import InputError
from synthrelease.privacy.grids import MOST_ROWS
from synthrelease.settings.columns import InputTable

READ, KEYS = 0, -1
"""Special entries in the keys of `CountedRows.misfits`. (column, READ) counts all rows that were read. (KEYS, READ) counts the
keys of linked tables that have members, and (KEYS, MISSING) those of them that have no root.
"""

DENSE = 2**24
"""Largest number of cells that are counted in one array (128 MiB; only the used part takes memory)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CountedRows:
    """The private counts of the rows of a file by cell, and of values without a bin. The repr shows no count.

    Attributes
    ----------
    cells : the counts of the rows that have a bin in every column.
    n_rows : the public number of all rows; with a key, of persons times their largest number of records; for linked tables, of
        keys.
    problems : the forbidden values that occurred, as pairs of a column's position and a kind: MISSING, OUTSIDE or WRONG (see
        `data.misfits`). If there are any, `cells` is incomplete and must not be used.
    misfits : for each such pair, the number of rows whose value has no bin; also the entries of READ and KEYS.
    """

    cells: Counts
    n_rows: int
    problems: frozenset[tuple[int, int]]
    misfits: Mapping[tuple[int, int], int] = field(default_factory=Counter)


def count_batches(batches: Iterable[Batch], schema: Schema, policy: InputTable) -> CountedRows:
    """Assign a bin to every text of every batch, and count the rows in each cell. Raises InputError for too many rows."""
    cells, rule = CellCount(schema.layout), BinRule(schema, policy)
    for _, columns in batches:
        digits = rule.bins(columns)
        if not rule.problems:
            cells.add(digits)
    return rule.counted(cells.total(), rule.n_rows)


class BinRule:
    """Assigns bins to texts batch by batch, and records values without a bin (`n_rows`, `problems`, `misfits`, as in
    `CountedRows`)."""

    def __init__(self, schema: Schema, policy: InputTable):
        self._schema, self._policy, self.layout = schema, policy, schema.layout
        self._known: list[dict[str, Known]] = [{} for _ in schema.columns]
        self._read = [index for index, column in enumerate(schema.columns) if column.counts is None]
        self.n_rows, self.problems, self.misfits = 0, set[tuple[int, int]](), Counter[tuple[int, int]]()

    def bins(self, columns: Mapping[str, Texts]) -> list[Digits]:
        """Return the bins of a batch for each column, and record the values that have none. Raises InputError for too many
        rows."""
        schema = self._schema
        of_file = {index: atomic_bins(columns, schema.columns[index], self._policy, self._known[index]) for index in self._read}
        for counter in schema.counted:  # rows without a bin in a counted column are left out anyway
            rows = number_of_indicators(counter, {index: np.maximum(of_file[index].rows(), 0) for index in counter.marks})
            of_file[counter.column] = Digits(of_text=np.arange(len(schema.columns[counter.column].atoms)), codes=rows)
        digits = [of_file[index] for index in range(len(schema.columns))]
        self.n_rows += len(digits[0].codes)
        check_number_of_rows(self.n_rows)
        for index, (column, bins) in enumerate(zip(schema.columns, digits, strict=True)):
            kinds = bins.kinds()
            self.problems |= {(index, kind) for kind in kinds.keys() & set(forbidden_kinds(column))}
            self.misfits.update({(index, kind): rows for kind, rows in {READ: len(bins.codes), **kinds}.items()})
            if WRONG in kinds:
                digits[index] = _as_missing(bins, column)
        return digits

    def held(self, bins: list[np.ndarray]) -> list[np.ndarray]:
        """Return the bins of the rows that are still in memory. A subclass may renumber them and forget the texts of all other
        rows."""
        return bins

    def counted(self, cells: Counts, n_rows: int) -> CountedRows:
        return CountedRows(cells=cells, n_rows=n_rows, problems=frozenset(self.problems), misfits=self.misfits)


def _as_missing(digits: Digits, column: Column) -> Digits:
    """Give texts that are not a number or date the bin for missing values, or MISSING."""
    return Digits(of_text=np.where(digits.of_text == WRONG, absent(column), digits.of_text), codes=digits.codes)


def check_number_of_rows(n_rows: int) -> None:
    if n_rows > MOST_ROWS:
        raise InputError(f"The file has more than {MOST_ROWS:,} rows. This version cannot read more.")


class CellCount:
    """Counts the rows in each cell, for rows that are added in batches."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._dense = np.zeros(layout.n_cells, dtype=np.int64) if layout.n_cells <= DENSE else None
        self._others = Tally(layout)

    def add(self, digits: Sequence[Digits]) -> None:
        """Add the rows of a batch that have a bin in every column."""
        complete = rows_with_bins(digits)
        parts = packed_from(self._layout, [np.maximum(digit.of_text, 0) for digit in digits], [digit.codes for digit in digits])
        parts = parts if complete is None else [in_a_row([part[complete]]) for part in parts]
        if self._dense is not None:
            np.add.at(self._dense, parts[0], 1)
        else:
            self._others.add(parts)

    def total(self) -> Counts:
        if self._dense is None:
            return self._others.total()
        codes = np.flatnonzero(self._dense)
        return Counts(self._layout, codes, self._dense[codes])


def rows_with_bins(digits: Sequence[Digits]) -> np.ndarray | None:
    """Return an (n_rows,) mask of the rows that have a bin in every column, or None if all do."""
    without = [column for column in digits if column.of_text.min(initial=0) < 0]
    return np.all([(column.of_text >= 0)[column.codes] for column in without], axis=0) if without else None
