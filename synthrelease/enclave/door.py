"""Hold private counts behind the one door, and draw random subsets and pieces of them.

The only door to the original: a function whose signature has no PrivateCounts cannot see private data.

`spend` checks the charge against the plan before it hands the counts to a mechanism. A failure inside is not covered by the
selection theorem (theory 2.7, failures): it ends the run, by one opaque error.
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
# Number the rows 0 to K - 1, cell by cell, draw distinct numbers, count the cells they fall into: no probability is computed,
# so nothing is rounded.

_AT_ONCE = 2**20
"""Numbers that are drawn at once, for the memory."""

_FEW = 64
"""Below one number in so many rows the numbers are kept themselves, 8 bytes each; from there on a byte marks every row."""


def uniform_subset(table: Counts, size: int, entropy: SystemEntropy = SYSTEM) -> Counts:
    """Return a uniformly random set of `size` rows of a table, without replacement.

    Parameters
    ----------
    size : from 0 to the number of rows.

    Raises
    ------
    ValueError : for another size.

    Notes
    -----
    The smaller of the subset and its complement is drawn: the complement of a uniform subset is one. Numbers are drawn
    independently and uniformly, and the first `size` different ones are kept: given those before, the next different one is
    uniform over the rest, so every set of that size is equally likely. Memory is at most a byte for each row.
    """
    rows = table.total
    if not 0 <= size <= rows:
        raise ValueError("a subset has at least 0 rows and at most those of the table")
    return table.with_counts(_drawn(table, size, entropy))


def random_pieces(table: Counts, sizes: Sequence[int], entropy: SystemEntropy = SYSTEM) -> tuple[Counts, ...]:
    """Return the rows of a table, put into a uniformly random order and cut into pieces of these sizes, in exact law.

    Parameters
    ----------
    sizes : as of `PrivateCounts.split`, which checks them.

    Notes
    -----
    The first piece of a random order is a uniform subset, and given it the second is one of the rest, and so on (theory 11.11,
    counts of random pieces). The last piece is what is left.
    """
    pieces, left = [], table
    for size in sizes[:-1]:
        piece = _drawn(left, size, entropy)
        pieces.append(left.with_counts(piece))
        left = left.with_counts(left.counts - piece)
    return (*pieces, left)


def _drawn(table: Counts, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return (n_cells,) how many rows of each cell are in a uniform subset."""
    rows = table.total
    smaller = min(size, rows - size)
    ends, counts = np.cumsum(table.counts), np.zeros(len(table), dtype=np.int64)
    for numbers in _numbers(rows, smaller, entropy):
        if len(numbers):
            first = np.searchsorted(ends, numbers[0], side="right")
            in_cells = np.bincount(np.searchsorted(ends, numbers, side="right") - first)
            counts[first : first + len(in_cells)] += in_cells
    return counts if 2 * size <= rows else table.counts - counts


def _numbers(rows: int, few: int, entropy: SystemEntropy) -> Iterator[np.ndarray]:
    """Yield the numbers of the rows of a uniform subset, rising, in batches."""
    if _FEW * few <= rows:
        yield _distinct(rows, few, entropy)
        return
    marked = _marked(rows, few, entropy)
    for start in range(0, rows, _AT_ONCE):
        yield start + np.flatnonzero(marked[start : start + _AT_ONCE])


def _distinct(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return (size,) different numbers below `bound` in rising order, size <= bound / 2; every such set is equally likely.

    At most as many numbers are drawn at once as are still missing, so all different ones are kept.
    """
    taken = np.empty(0, dtype=np.int64)
    while missing := size - len(taken):
        taken = np.union1d(taken, entropy.picks(np.full(min(missing, _AT_ONCE), bound)))
    return taken


def _marked(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return (bound,) True at `size` random places, in the memory that this many places need."""
    taken, missing = np.zeros(bound, dtype=bool), size
    while missing:
        taken[entropy.picks(np.full(min(missing, _AT_ONCE), bound))] = True
        missing = size - int(np.count_nonzero(taken))
    return taken


Result = TypeVar("Result")
_MOST_BINNED_CELLS = 2**22
"""Cells of tables on bins that are kept for further rounds, all together."""


class Door:
    """Private counts that only `spend` opens. The representation never shows counts.

    Attributes
    ----------
    layout : the public shape.
    n_file : the number of rows of the file behind them, kept or not: public, and the same for all neighbours.
    entropy : where mechanisms draw from; the operating system in every release.
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
        """Return whether the table equals one of these public ones, by their `Counts.digest`.
        `enclave.ingest.check_not_public` says why this question is allowed.
        """
        return bool(digests) and opaque(lambda: self.__counts.digest()) in digests

    def spend(self, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Result]) -> Result:
        """Run a mechanism that satisfies the guarantee of `charge` on the private counts and return its output.

        Parameters
        ----------
        charge : the planned charge that pays for it, or several that pay for it together: their sum is what it guarantees.
        mechanism : gets the counts, returns only what its guarantee covers: a value, or a closed door of its own, whose answers
            share out the charge (`PrivateTables`). It should be total: not fail on any table.

        Raises
        ------
        BudgetError : before anything is read, when the charge is not planned.
        PrivateFailure : when the mechanism fails; with no message, cause or frame of it attached.
        """
        self._check_whole()
        self._meter.take_all(charge)
        return opaque(lambda: mechanism(self.__counts))

    def with_plan(self, planned: Sequence[Charge]) -> Self:
        """Return the table with a new meter, for the charges before the loop, of one more round, or after acceptance."""
        self._check_whole()
        same = copy(self)
        same._meter = Meter(planned)
        return same

    def rehearsed(self, entropy: SystemEntropy) -> Self:
        """Return the table with another source of noise. For public data only: such noise protects nobody."""
        same = copy(self)
        same.entropy = entropy
        return same

    def _on(self, transformation: Transformation) -> PrivateCounts:
        """Return the rows on the bins of a transformation, made once for as many transformations as fit."""
        self._check_whole()
        tables, key = self._binned, tuple(binning.of_atom for binning in transformation.binnings)
        if key not in tables:
            table = opaque(lambda: BinnedCounts.of_atoms(self.__counts, transformation))
            if sum(map(len, tables.values())) + len(table) > _MOST_BINNED_CELLS:
                tables.clear()
            tables[key] = table
        return PrivateCounts(tables[key], self._meter, self.entropy, self.n_file)

    def _pieces(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Return the rows in random pieces, none with a plan; this door is closed from here on."""
        self._check_whole()
        pieces = opaque(lambda: random_pieces(self.__counts, sizes, self.entropy))
        self._divided = True
        self.__counts = Counts.empty(self.layout)
        self._binned.clear()
        return tuple(PrivateCounts(piece, Meter(()), self.entropy, self.n_file) for piece in pieces)

    def _check_whole(self) -> None:
        if self._divided:
            raise BudgetError("Refused: the table was divided, and only its pieces may be asked. No private count was read.")

    def _changed(self, change: Callable[[Counts], Counts]) -> PrivateCounts:
        """Return the changed counts, behind the same meter. Reveals nothing but the number of rows."""
        self._check_whole()
        return PrivateCounts(opaque(lambda: change(self.__counts)), self._meter, self.entropy, self.n_file)


class PrivateRows(Door):
    """The rows of a private file that its public rules keep, as counts. Their number is private.

    They come without a plan: `with_plan` gives them the charges that may be spent.
    """

    def __init__(self, kept: Counts, n_file: int, entropy: SystemEntropy = SYSTEM):
        super().__init__(kept, Meter(()), entropy, n_file)

    def all_of_them(self) -> PrivateCounts:
        """Return every kept row. Publishes their number (`resizing.resize` says when that is within the guarantee)."""
        return self._changed(lambda kept: kept)

    def some_of_them(self, size: int, filler: FillerRows) -> PrivateCounts:
        """Return a uniformly random subset of `size` kept rows; where there are fewer, all, and the first rows of the
        filler.
        """

        def chosen(kept: Counts) -> Counts:
            missing = size - kept.total
            return uniform_subset(kept, size, self.entropy) if missing <= 0 else kept + filler.first(missing)

        return self._changed(chosen)


class PrivateCounts(Door):
    """A private table as counts, readable only by spending a planned charge.

    Attributes
    ----------
    n : the number of rows, public.
    """

    def __init__(self, counts: Counts, meter: Meter, entropy: SystemEntropy = SYSTEM, n_file: int | None = None):
        self.n = counts.total
        super().__init__(counts, meter, entropy, self.n if n_file is None else n_file)

    @property
    def fit(self) -> PrivateCounts:
        """Return the table the generator is fitted to: this table itself (`releasing.attempt` has tables in two pieces)."""
        return self

    @property
    def score(self) -> PrivateCounts:
        """Return the table the criteria are computed on: this table itself."""
        return self

    def __repr__(self) -> str:
        return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"

    def on(self, transformation: Transformation) -> PrivateCounts:
        """Return the same table on the bins of a transformation, with the own values of its rows (`data.member_counts`), behind
        the same meter. Reveals nothing, costs nothing.
        """
        return self._on(transformation)

    def split(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Return the rows in random pieces of public sizes, each a protected table of its own without a plan (`with_plan` adds
        one).

        Parameters
        ----------
        sizes : rows of each piece, at least 1, with the sum n; from public facts alone.

        Raises
        ------
        ValueError : for other sizes.

        Privacy
        -------
        Nothing is released: which rows are in which piece is drawn with the secret entropy of the operating system, without a
        look at their values, and never shown. What the pieces then spend costs the most of any piece (theory 11.1, random
        partition), because this door is closed: a row can be asked in its piece alone.
        """
        if min(sizes, default=0) < 1 or sum(sizes) != self.n:
            raise ValueError("pieces have at least one row each, and all rows together")
        return self._pieces(sizes)


def opaque(code: Callable[[], Result]) -> Result:
    """Run code that reads private counts. Raises PrivateFailure without the message, cause or frames of the failure."""
    try:
        return code()
    except Exception:
        pass  # the failure is raised below, outside this block, so that the cause is not attached to it
    raise PrivateFailure()
