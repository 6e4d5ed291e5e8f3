"""Guard private counts, so that a mechanism can access them only through `spend`. Also draw random subsets and pieces of the
rows.

A function that has no PrivateCounts in its signature cannot see private data. `spend` checks the charge against the plan before
it passes the counts to a mechanism. The selection theorem does not cover failures of a mechanism (theory 2.7, failures), so a
failure ends the run, with the same message for all causes.
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

    Raises
    ------
    ValueError : if the table has fewer rows.

    Notes
    -----
    The smaller of the subset and its complement is drawn; the complement of a uniform subset is also uniform. Row numbers are
    drawn independently and uniformly, and the first `size` different numbers are kept. Given the earlier numbers, the next
    different number is uniform over the remaining numbers, so every set of this size is equally likely.
    """
    rows = table.total
    if not 0 <= size <= rows:
        raise ValueError("a subset has at least 0 rows and at most the rows of the table")
    return table.with_counts(_drawn(table, size, entropy))


def random_pieces(table: Counts, sizes: Sequence[int], entropy: SystemEntropy = SYSTEM) -> tuple[Counts, ...]:
    """Split the rows of a table at random into parts of the given sizes, as if a uniformly random order were cut into parts.

    Parameters
    ----------
    sizes : the number of rows of each part, checked by `PrivateCounts.split`.

    Notes
    -----
    The first part of a random order is a uniform subset. Given the first part, the second part is a uniform subset of the
    remaining rows, and so on (theory 11.11, counts of random pieces).
    """
    pieces, left = [], table
    for size in sizes[:-1]:
        piece = _drawn(left, size, entropy)
        pieces.append(left.with_counts(piece))
        left = left.with_counts(left.counts - piece)
    return (*pieces, left)


def _drawn(table: Counts, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return the (n_cells,) number of rows in each cell of a uniformly random subset."""
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
    """Draw `size` different numbers below `bound`, in ascending order, with all sets equally likely. `size` is at most `bound`
    / 2.

    The function never draws more numbers at a time than are still missing, so it can keep all different numbers.
    """
    taken = np.empty(0, dtype=np.int64)
    while missing := size - len(taken):
        taken = np.union1d(taken, entropy.picks(np.full(min(missing, _AT_ONCE), bound)))
    return taken


def _marked(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """Draw a (bound,) mask that is True at `size` uniformly random positions."""
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
    layout : the public columns and their numbers of bins.
    n_file : the public number of all rows of the file, the same for neighbouring files.
    entropy : the source of randomness for mechanisms; in every release, the operating system.
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
        """Return whether this table equals one of the public tables with these digests (see `Counts.digest`).

        `enclave.ingest.check_not_public` explains why this may be revealed.
        """
        return bool(digests) and opaque(lambda: self.__counts.digest()) in digests

    def spend(self, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Result]) -> Result:
        """Spend a planned charge: run a mechanism that satisfies its guarantee on the private counts, and return its output.

        Parameters
        ----------
        charge : the planned charge of the mechanism, or several charges whose sum is its guarantee.
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
        """Return the table with a new privacy budget: these planned charges."""
        self._check_whole()
        same = copy(self)
        same._meter = Meter(planned)
        return same

    def rehearsed(self, entropy: SystemEntropy) -> Self:
        """Return the table with another source of noise, for public data only: seeded noise protects nobody."""
        same = copy(self)
        same.entropy = entropy
        return same

    def _on(self, transformation: Transformation) -> PrivateCounts:
        """Recode the rows to the bins of a transformation. Results are cached up to 2^22 cells."""
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
        """Return a private table with the counts that `change` returns, and the same privacy budget. This reveals only the
        number of rows."""
        self._check_whole()
        return PrivateCounts(opaque(lambda: change(self.__counts)), self._meter, self.entropy, self.n_file)


class PrivateRows(Door):
    """The rows of a private file that the public rules keep, as counts. Their number is private.

    No charge can be spent on these rows until `with_plan` has added the planned charges.
    """

    def __init__(self, kept: Counts, n_file: int, entropy: SystemEntropy = SYSTEM):
        super().__init__(kept, Meter(()), entropy, n_file)

    def all_of_them(self) -> PrivateCounts:
        """Return all kept rows. This makes their number public; `resizing.resize` explains when the guarantee allows this."""
        return self._changed(lambda kept: kept)

    def some_of_them(self, size: int, filler: FillerRows) -> PrivateCounts:
        """Return a uniformly random subset of `size` kept rows. If there are fewer, return all of them and the first rows of
        `filler`."""

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
        """Return the table to which the generator is fitted: here this table. `releasing.attempt` has a class with two
        parts."""
        return self

    @property
    def score(self) -> PrivateCounts:
        """Return the table on which the criteria are evaluated: here this table."""
        return self

    def __repr__(self) -> str:
        return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"

    def on(self, transformation: Transformation) -> PrivateCounts:
        """Recode the table to the bins of a transformation, with the same privacy budget. The rows keep their exact values (see
        `data.member_counts`).

        Recoding reveals nothing and costs nothing.
        """
        return self._on(transformation)

    def split(self, sizes: Sequence[int]) -> tuple[PrivateCounts, ...]:
        """Split the rows at random into private tables of public sizes. Each can be read only after its charges are planned
        (`with_plan`).

        Parameters
        ----------
        sizes : the number of rows of each part, at least 1, in total n. They must depend only on public facts.

        Raises
        ------
        ValueError : if a size is below 1, or their sum is not n.

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
    """Run code that reads private counts. Any failure becomes a PrivateFailure without message, cause or stack frames of the
    original."""
    try:
        return code()
    except Exception:
        pass  # the failure is raised below, outside this block, so that the cause is not attached to it
    raise PrivateFailure()
