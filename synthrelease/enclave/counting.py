"""Count the rows of each cell: a sum over the batches of a file, or over files, in any order.

Rows that have a bin in every column are counted, also those that a rule forbids: a rule is a mask over cells, so it is asked
once for each cell that occurs, at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synthrelease.data.counts import Counts, Tally, number_of_indicators, words_of_mapped
from synthrelease.data.layout import Layout
from synthrelease.data.misfits import WRONG, forbidden_kinds
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.texts import Batch, Texts
from synthrelease.enclave.values import Digits, Known, absent, atomic_bins
from synthrelease.errors import InputError
from synthrelease.privacy.grids import MOST_ROWS
from synthrelease.settings.columns import InputTable

READ, KEYS = 0, -1
"""In the place of a kind of misfit rows, whatever they hold; in that of a column keys with members, which miss a root."""

DENSE = 2**24
"""Layouts of at most so many cells are counted in one array (128 MiB, of which only what is used takes memory)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CountedRows:
    """The counts of some rows. Private; the repr shows nothing.

    Attributes
    ----------
    cells : the rows with a bin in every column.
    n_rows : the number of all rows; where a key tells persons, the most records that so many persons can have.
    problems : (column, kind) of values that must not occur; the cells are then of no use.
    misfits : (column, kind) of values without a bin, with how many rows have one; (column, READ) with how many were read.
    divided : whether rows of one key lie in several files of which each is read by itself.
    """

    cells: Counts
    n_rows: int
    problems: frozenset[tuple[int, int]]
    misfits: Mapping[tuple[int, int], int] = field(default_factory=Counter)


def count_batches(batches: Iterable[Batch], schema: Schema, policy: InputTable) -> CountedRows:
    """Give every text of every batch its bin, and count. Raises InputError for too many rows."""
    cells, rule = CellCount(schema.layout), BinRule(schema, policy)
    for _, columns in batches:
        digits = rule.bins(columns)
        if not rule.problems:
            cells.add(digits)
    return rule.counted(cells.total(), rule.n_rows)


class BinRule:
    """Assigns every text its bin, a batch at a time, and records forbidden texts.

    Attributes
    ----------
    n_rows, problems, misfits : of all batches so far, as in `CountedRows`.
    """

    def __init__(self, schema: Schema, policy: InputTable):
        self._schema, self._policy = schema, policy
        self._known: list[dict[str, Known]] = [{} for _ in schema.columns]
        self._read = [index for index, column in enumerate(schema.columns) if column.counts is None]
        self.n_rows, self.problems, self.misfits = 0, set[tuple[int, int]](), Counter[tuple[int, int]]()

    def bins(self, columns: Mapping[str, Texts]) -> list[Digits]:
        """Return the bins of each column of the schema. Raises InputError for too many rows."""
        schema = self._schema
        of_file = {index: atomic_bins(columns, schema.columns[index], self._policy, self._known[index]) for index in self._read}
        for counter in schema.counted:  # a row without a bin in one of these columns is left out, whatever is counted
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

    def counted(self, cells: Counts, n_rows: int) -> CountedRows:
        """Return these counts with the recorded facts."""
        return CountedRows(cells=cells, n_rows=n_rows, problems=frozenset(self.problems), misfits=self.misfits)


def _as_missing(digits: Digits, column: Column) -> Digits:
    """Return the bins, with texts that are no number or date as missing values: in the bin of missing values, or as MISSING
    where the column has none.
    """
    return Digits(of_text=np.where(digits.of_text == WRONG, absent(column), digits.of_text), codes=digits.codes)


def check_number_of_rows(n_rows: int) -> None:
    if n_rows > MOST_ROWS:
        raise InputError(f"expected at most {MOST_ROWS} rows, found more.")


class CellCount:
    """The cells of the rows that were added, and how often each occurs."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._dense = np.zeros(layout.n_cells, dtype=np.int64) if layout.n_cells <= DENSE else None
        self._others = Tally(layout)

    def add(self, digits: Sequence[Digits]) -> None:
        """Count the rows of a batch that have a bin in every column. The bins of one column each."""
        complete = rows_with_bins(digits)
        words = words_of_mapped(
            self._layout, [np.maximum(column.of_text, 0) for column in digits], [column.codes for column in digits]
        )
        words = words if complete is None else [word[complete] for word in words]
        if self._dense is not None:
            np.add.at(self._dense, words[0], 1)
        elif self._layout.has_codes:
            words[0].sort()
            self._others.add(Counts.of_sorted(self._layout, words[0]))
        else:
            self._others.add(Counts.of_words(self._layout, words))

    def total(self) -> Counts:
        """Return all that was added."""
        if self._dense is None:
            return self._others.total()
        codes = np.flatnonzero(self._dense)
        return Counts(self._layout, codes, self._dense[codes])


def rows_with_bins(digits: Sequence[Digits]) -> np.ndarray | None:
    """Return (n_rows,) whether a row has a bin in every column; None where all have."""
    without = [column for column in digits if column.of_text.min(initial=0) < 0]
    return np.all([(column.of_text >= 0)[column.codes] for column in without], axis=0) if without else None
