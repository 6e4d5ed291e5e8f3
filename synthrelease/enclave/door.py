"""Guard private counts, so that a mechanism can access them only through `spend`. Also draw random subsets of the rows, and
split the rows at random.

A function that has no PrivateCounts in its signature cannot see private data. `spend` checks the charge against the plan before
it passes the counts to a mechanism. The selection theorem does not cover failures of a mechanism (theory 2.7, failures). So a
failure ends the run, and the error message is the same for all causes.
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
    """Draw a uniformly random subset of `size` rows of a table, without replacement.

    Parameters
    ----------
    size : the number of rows to draw, from 0 to the number of rows of the table.

    Raises
    ------
    ValueError : if `size` is outside this range.

    Notes
    -----
    The function draws the subset or its complement, whichever is smaller. The complement of a uniform subset is also a uniform
    subset. Row numbers are drawn independently and uniformly, and the first `size` different numbers are kept. Given the
    earlier numbers, the next different number is uniform over the remaining numbers. So every set of this size is equally
    likely. The function needs at most one byte of memory for each row.
    """
    rows = table.total
    if not 0 <= size <= rows:
        raise ValueError("a subset has at least 0 rows and at most the rows of the table")
    return table.with_counts(_drawn(table, size, entropy))


def random_pieces(table: Counts, sizes: Sequence[int], entropy: SystemEntropy = SYSTEM) -> tuple[Counts, ...]:
    """Split the rows of a table at random into parts of the given sizes, exactly as if the rows were put into a uniformly
    random order, which is then cut into consecutive parts.

    Parameters
    ----------
    sizes : the number of rows of each part. `PrivateCounts.split` checks these numbers.

    Notes
    -----
    The first part of a random order is a uniform subset. Given the first part, the second part is a uniform subset of the
    remaining rows, and so on (theory 11.11, counts of random pieces). The last part consists of the rows that are left.
    """
    pieces, left = [], table
    for size in sizes[:-1]:
        piece = _drawn(left, size, entropy)
        pieces.append(left.with_counts(piece))
        left = left.with_counts(left.counts - piece)
    return (*pieces, left)


def _drawn(table: Counts, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Draw a uniformly random subset of the rows. Return the (n_cells,) number of its rows in each cell."""
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
    """Draw `few` of the rows, with all subsets equally likely. Yield their numbers in ascending order, in batches."""
    if _FEW * few <= rows:
        yield _distinct(rows, few, entropy)
        return
    marked = _marked(rows, few, entropy)
    for start in range(0, rows, _AT_ONCE):
        yield start + np.flatnonzero(marked[start : start + _AT_ONCE])


def _distinct(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Draw a set of `size` different numbers below `bound`, and return them in ascending order. All such sets are equally
    likely. `size` must be at most `bound` / 2.

    The function never draws more numbers at a time than are still missing, so it can keep all different numbers.
    """
    taken = np.empty(0, dtype=np.int64)
    while missing := size - len(taken):
        taken = np.union1d(taken, entropy.picks(np.full(min(missing, _AT_ONCE), bound)))
    return taken


def _marked(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Draw a (bound,) mask that is True at `size` uniformly random positions, in one byte of memory per position."""
    taken, missing = np.zeros(bound, dtype=bool), size
    while missing:
        taken[entropy.picks(np.full(min(missing, _AT_ONCE), bound))] = True
        missing = size - int(np.count_nonzero(taken))
    return taken


Result = TypeVar("Result")
_MOST_BINNED_CELLS = 2**22  # Largest total number of cells of binned tables that are cached for further rounds


class Door:
    """Private counts that only a mechanism can read, at a charge to the privacy budget (`spend`). The repr shows no counts.

    Attributes
    ----------
    layout : the public columns and the number of bins of each column.
    n_file : the number of all rows of the file, including excluded rows. It is public, and neighbouring files have the same
        number.
    entropy : the source of randomness for mechanisms. In every release, it is the operating system.
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
        """Return whether this table equals one of some public tables, given their digests (see `Counts.digest`).

        `enclave.ingest.check_not_public` explains why this may be revealed.
        """
        return bool(digests) and opaque(lambda: self.__counts.digest()) in digests

    def spend(self, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Result]) -> Result:
        """Spend a planned charge: run a mechanism that satisfies its guarantee on the private counts, and return its output.

        Parameters
        ----------
        charge : the planned charge of the mechanism. If there are several charges, the guarantee of the mechanism is their sum.
        mechanism : a function that takes the counts. It must return only values that its guarantee covers, or a guarded object
            whose answers share the charge (`PrivateTables`). It should not fail on any table.

        Raises
        ------
        BudgetError : if the charge is not planned. The counts are not read then.
        PrivateFailure : if the mechanism fails. The message, the cause and the stack frames of the failure are not passed on.
        """
        self._check_whole()
        self._meter.take_all(charge)
        return opaque(lambda: mechanism(self.__counts))

    def with_plan(self, planned: Sequence[Charge]) -> Self:
        """Return the table with a new privacy budget, from which these planned charges can be spent. A release calls this
        method before its first attempt, again for each attempt (round), and after it accepts one.
        """
        self._check_whole()
        same = copy(self)
        same._meter = Meter(planned)
        return same

    def rehearsed(self, entropy: SystemEntropy) -> Self:
        """Return the table with another source of noise. Seeded noise protects nobody, so use it only for public data."""
        same = copy(self)
        same.entropy = entropy
        return same

    def _on(self, transformation: Transformation) -> PrivateCounts:
        """Recode the rows to the bins of a transformation (a binning of each column). Results are cached. If the cached tables
        would have more than 2^22 cells together, the earlier results are dropped.
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
        """Split the rows at random into parts, and empty this table. Until `with_plan` plans charges, no part can be read."""
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
        """Return a private table with changed counts and the same privacy budget. This reveals nothing except the number of
        rows. `change` is a function that takes the counts and returns the new counts.
        """
        self._check_whole()
        return PrivateCounts(opaque(lambda: change(self.__counts)), self._meter, self.entropy, self.n_file)


class PrivateRows(Door):
    """The rows of a private file that the public rules do not exclude (the kept rows), as counts. Their number is private.

    No charge can be spent on these rows until `with_plan` has added the planned charges.
    """

    def __init__(self, kept: Counts, n_file: int, entropy: SystemEntropy = SYSTEM):
        super().__init__(kept, Meter(()), entropy, n_file)

    def all_of_them(self) -> PrivateCounts:
        """Return all kept rows (rows that the public rules do not exclude). This call makes their number public;
        `resizing.resize` explains when the guarantee allows this.
        """
        return self._changed(lambda kept: kept)

    def some_of_them(self, size: int, filler: FillerRows) -> PrivateCounts:
        """Return a uniformly random subset of `size` kept rows (rows that the rules keep). If there are fewer kept rows,
        return all of them, and add the first of the public rows in `filler` until there are `size` rows.
        """

        def chosen(kept: Counts) -> Counts:
            missing = size - kept.total
            return uniform_subset(kept, size, self.entropy) if missing <= 0 else kept + filler.first(missing)

        return self._changed(chosen)


class PrivateCounts(Door):
    """A private table, as counts. The counts can be read only by spending a planned charge.

    Attributes
    ----------
    n : the public number of rows.
    """

    def __init__(self, counts: Counts, meter: Meter, entropy: SystemEntropy = SYSTEM, n_file: int | None = None):
        self.n = counts.total
        super().__init__(counts, meter, entropy, self.n if n_file is None else n_file)

    @property
    def fit(self) -> PrivateCounts:
        """Return the table to which the generator is fitted. Here, it is this table. A release that splits its rows uses
        another class (`releasing.attempt`), which has one part for the generator and another part for the criteria.
        """
        return self

    @property
    def score(self) -> PrivateCounts:
        """Return the table on which the criteria are evaluated. Here it is this table."""
        return self

    def __repr__(self) -> str:
        return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"

    def on(self, transformation: Transformation) -> PrivateCounts:
        """Recode the table to the bins of a transformation (a binning of each column). The result has the same privacy budget,
        and its rows keep their exact values (see `data.member_counts`).

        Recoding reveals nothing and costs nothing.
        """
        return self._on(transformation)

    def split(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Split the rows at random into private tables of public sizes. Each part can be read only after its charges are
        planned (see `with_plan`).

        Parameters
        ----------
        sizes : the number of rows of each part, at least 1. Their sum must be n. The sizes must depend only on public facts.

        Raises
        ------
        ValueError : if a size is below 1, or if the sum of the sizes is not n.

        Privacy
        -------
        Nothing is released. The split is drawn with the secret entropy of the operating system, independently of the values,
        and is never shown. All parts together cost as much as the most expensive part (theory 11.1, random partition): this
        table can no longer be read afterwards, and each row can be read only in its part.
        """
        if min(sizes, default=0) < 1 or sum(sizes) != self.n:
            raise ValueError("pieces have at least one row each, and all rows together")
        return self._pieces(sizes)


def opaque(code: Callable[[], Result]) -> Result:
    """Run code that reads private counts, and hide the details of any failure.

    Raises
    ------
    PrivateFailure : if the code fails. The message, the cause and the stack frames of the failure are not passed on.
    """
    try:
        return code()
    except Exception:
        pass  # the failure is raised below, outside this block, so that the cause is not attached to it
    raise PrivateFailure()
