"""Guard private counts, so that only `spend` gives a mechanism access to them. Also draw random subsets and pieces of the
counts.

A function without a PrivateCounts in its signature cannot see private data. `spend` checks the charge against the plan before
it passes the counts to a mechanism. The selection theorem does not cover a failure of the mechanism (theory 2.7, failures). So
a failure ends the run, and the error message is the same for all causes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from typing import Self, TypeVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.data.plausibility import FillerRows
from synthrelease.data.schema import Transformation
from synthrelease.errors import BudgetError, PrivateFailure
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.noise import SYSTEM, SystemEntropy

# Uniformly random subsets of the rows behind counts, drawn exactly.
#
# Number the rows 0 to K - 1, cell by cell, draw distinct numbers, and count the cells that they fall into. No probability is
# computed, so nothing is rounded.

_AT_ONCE = 2**20  # Largest number of random numbers that are drawn at once, to limit memory

# If fewer than one row in _FEW is drawn, the drawn numbers are stored (8 bytes each). Otherwise there is one byte for each
# row, which marks the drawn rows.
_FEW = 64


def uniform_subset(table: Counts, size: int, entropy: SystemEntropy = SYSTEM) -> Counts:
    """Return a uniformly random set of `size` rows of a table, without replacement.

    Parameters
    ----------
    size : from 0 to the number of rows.

    Raises
    ------
    ValueError : when the size is outside this range.

    Notes
    -----
    The function draws the subset or its complement, whichever is smaller. The complement of a uniform subset is also a uniform
    subset. Numbers are drawn independently and uniformly, and the first `size` different numbers are kept. Given the earlier
    numbers, the next different number is uniform over the remaining numbers. So every set of this size is equally likely.
    Memory is at most a byte for each row.
    """
    rows = table.total
    if not 0 <= size <= rows:
        raise ValueError("a subset has at least 0 rows and at most the rows of the table")
    return table.with_counts(_drawn(table, size, entropy))


def random_pieces(table: Counts, sizes: Sequence[int], entropy: SystemEntropy = SYSTEM) -> tuple[Counts, ...]:
    """Return the rows of a table in uniformly random order, cut into pieces of these sizes. The distribution is exact.

    Parameters
    ----------
    sizes : the number of rows of each piece. `PrivateCounts.split` checks these numbers.

    Notes
    -----
    The first piece of a random order is a uniform subset. Given the first piece, the second piece is a uniform subset of the
    remaining rows, and so on (theory 11.11, counts of random pieces). The last piece has the remaining rows.
    """
    pieces, left = [], table
    for size in sizes[:-1]:
        piece = _drawn(left, size, entropy)
        pieces.append(left.with_counts(piece))
        left = left.with_counts(left.counts - piece)
    return (*pieces, left)


def _drawn(table: Counts, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return the (n_cells,) number of rows of each cell in a uniformly random subset."""
    rows = table.total
    smaller = min(size, rows - size)
    ends, counts = np.cumsum(table.counts), np.zeros(len(table), dtype=np.int64)
    for numbers in _numbers(rows, smaller, entropy):
        if len(numbers):
            first = np.searchsorted(ends, numbers[0], side="right")
            in_cells = np.bincount(np.searchsorted(ends, numbers, side="right") - first)
            counts[first : first + len(in_cells)] += in_cells
    return counts if 2 * size <= rows else np.subtract(table.counts, counts, out=counts)


def _numbers(rows: int, few: int, entropy: SystemEntropy) -> Iterator[np.ndarray]:
    """Yield the row numbers of a uniformly random subset in ascending order, in batches."""
    if _FEW * few <= rows:
        yield _distinct(rows, few, entropy)
        return
    marked = _marked(rows, few, entropy)
    for start in range(0, rows, _AT_ONCE):
        yield start + np.flatnonzero(marked[start : start + _AT_ONCE])


def _distinct(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return (size,) different numbers below `bound` in ascending order, for size <= bound / 2. Every such set is equally
    likely.

    Each time, the function draws no more numbers than are still missing, so it can keep all different numbers.
    """
    taken = np.empty(0, dtype=np.int64)
    while missing := size - len(taken):
        taken = np.union1d(taken, entropy.picks(np.full(min(missing, _AT_ONCE), bound)))
    return taken


def _marked(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return a (bound,) mask that is True at `size` random positions. The function needs one byte of memory per position."""
    taken, missing = np.zeros(bound, dtype=bool), size
    while missing:
        taken[entropy.picks(np.full(min(missing, _AT_ONCE), bound))] = True
        missing = size - int(np.count_nonzero(taken))
    return taken


Result = TypeVar("Result")
_MOST_BINNED_CELLS = 2**22  # Largest total number of cells of binned tables that are cached for further rounds


class Door:
    """Private counts that only `spend` can access. The repr never shows counts.

    Attributes
    ----------
    layout : the public columns and the number of bins of each column.
    n_file : number of all rows of the file, kept or not. This number is public and equal for neighbouring files.
    entropy : source of randomness for mechanisms; in every release, the operating system.
    """

    def __init__(self, counts: Counts, meter: Meter, entropy: SystemEntropy, n_file: int):
        self.__counts = counts
        self._meter = meter
        self.entropy = entropy
        self.n_file = n_file
        self.layout = counts.layout
        self._divided = False
        self._binned: dict[tuple[tuple[int, ...], ...], BinnedCounts] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(columns={self.layout.columns})"

    def is_public(self, digests: Collection[str]) -> bool:
        """Return whether the table equals a public table. The comparison uses `Counts.digest`.

        `enclave.ingest.check_not_public` explains why this question is allowed.
        """
        return bool(digests) and opaque(lambda: self.__counts.digest()) in digests

    def spend(self, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Result]) -> Result:
        """Run a mechanism that satisfies the guarantee of `charge` on the private counts and return its output.

        Parameters
        ----------
        charge : the planned charge of the mechanism. If there are several charges, the mechanism guarantees their sum.
        mechanism : function that gets the counts. It returns only values that its guarantee covers, or a guarded object whose
            answers share the charge (`PrivateTables`). A mechanism should not fail on any table.

        Raises
        ------
        BudgetError : when the charge is not planned; nothing is read then.
        PrivateFailure : when the mechanism fails. The message, the cause and the frames of a failure are not passed on.
        """
        self._check_whole()
        self._meter.take_all(charge)
        return opaque(lambda: mechanism(self.__counts))

    def with_plan(self, planned: Sequence[Charge]) -> Self:
        """Return the table with a new meter for these charges. A release calls this method before the rounds, for each round,
        and after acceptance.
        """
        self._check_whole()
        same = copy(self)
        same._meter = Meter(planned)
        return same

    def rehearsed(self, entropy: SystemEntropy) -> Self:
        """Return the table with another source of noise. Use seeded noise for public data only, because such noise protects
        nobody.
        """
        same = copy(self)
        same.entropy = entropy
        return same

    def _on(self, transformation: Transformation) -> PrivateCounts:
        """Return the rows, recoded to the bins of a transformation. The results are cached, for as many transformations as the
        memory allows.
        """
        self._check_whole()
        tables, key = self._binned, tuple(binning.of_atom for binning in transformation.binnings)
        if key not in tables:
            table = opaque(lambda: BinnedCounts.of_atoms(self.__counts, transformation))
            if sum(map(len, tables.values())) + len(table) > _MOST_BINNED_CELLS:
                tables.clear()
            tables[key] = table
        return PrivateCounts(tables[key], self._meter, self.entropy, self.n_file)

    def _pieces(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Return the rows in random pieces without plans. Afterwards this table can no longer be read."""
        self._check_whole()
        pieces = opaque(lambda: random_pieces(self.__counts, sizes, self.entropy))
        self._divided = True
        self.__counts = Counts.empty(self.layout)
        self._binned.clear()
        return tuple(PrivateCounts(piece, Meter(()), self.entropy, self.n_file) for piece in pieces)

    def _check_whole(self) -> None:
        if self._divided:
            raise BudgetError("Refused: the table was divided, so only its pieces can be read. No private count was read.")

    def _changed(self, change: Callable[[Counts], Counts]) -> PrivateCounts:
        """Return an object with these changed counts and the same meter. This reveals nothing except the number of rows."""
        self._check_whole()
        return PrivateCounts(opaque(lambda: change(self.__counts)), self._meter, self.entropy, self.n_file)


class PrivateRows(Door):
    """The rows of a private file that its public rules keep, as counts. The number of kept rows is private.

    The rows have no plan yet. `with_plan` adds the charges that may be spent.
    """

    def __init__(self, kept: Counts, n_file: int, entropy: SystemEntropy = SYSTEM):
        super().__init__(kept, Meter(()), entropy, n_file)

    def all_of_them(self) -> PrivateCounts:
        """Return every kept row. This call makes the number of kept rows public (`resizing.resize` says when the guarantee
        allows this).
        """
        return self._changed(lambda kept: kept)

    def some_of_them(self, size: int, filler: FillerRows) -> PrivateCounts:
        """Return a uniformly random subset of `size` kept rows. If there are fewer kept rows, return all of them and the
        first rows of the filler.
        """

        def chosen(kept: Counts) -> Counts:
            missing = size - kept.total
            return uniform_subset(kept, size, self.entropy) if missing <= 0 else kept + filler.first(missing)

        return self._changed(chosen)


class PrivateCounts(Door):
    """A private table as counts. The rows can be read only by spending a planned charge.

    Attributes
    ----------
    n : the public number of rows.
    """

    def __init__(self, counts: Counts, meter: Meter, entropy: SystemEntropy = SYSTEM, n_file: int | None = None):
        self.n = counts.total
        super().__init__(counts, meter, entropy, self.n if n_file is None else n_file)

    @property
    def fit(self) -> PrivateCounts:
        """Return the table to which the generator is fitted, which is this table. A table with two pieces
        (`releasing.attempt`) uses one piece for fitting and the other for criteria.
        """
        return self

    @property
    def score(self) -> PrivateCounts:
        """Return the table that the criteria use, which is this table."""
        return self

    def __repr__(self) -> str:
        return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"

    def on(self, transformation: Transformation) -> PrivateCounts:
        """Return the same table on the bins of a transformation, with the same meter. Its rows keep their exact values
        (`data.member_counts`).

        This reveals nothing and costs nothing.
        """
        return self._on(transformation)

    def split(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Return the rows in random pieces of public sizes. Each piece is a protected table without a plan (`with_plan` adds
        one).

        Parameters
        ----------
        sizes : number of rows of each piece, at least 1, with the sum n. The sizes must depend on public facts alone.

        Raises
        ------
        ValueError : when the sizes do not meet these conditions.

        Privacy
        -------
        Nothing is released. The division is drawn with the secret entropy of the operating system, independently of the values,
        and never shown. Together the pieces cost as much as the most expensive piece (theory 11.1, random partition), because
        this table is then closed, and each row can be read only in its piece.
        """
        if min(sizes, default=0) < 1 or sum(sizes) != self.n:
            raise ValueError("pieces have at least one row each, and all rows together")
        return self._pieces(sizes)


def opaque(code: Callable[[], Result]) -> Result:
    """Run code that reads private counts.

    Raises
    ------
    PrivateFailure : when the code fails. The message, cause and frames of the failure are not passed on.
    """
    try:
        return code()
    except Exception:
        pass  # the failure is raised below, outside this block, so that the cause is not attached to it
    raise PrivateFailure()
