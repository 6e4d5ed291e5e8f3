"""The only door to the original: a function whose signature has no PrivateCounts cannot see private data.

`spend` checks the charge against the plan before it hands the counts to a mechanism, and turns every failure inside into
one opaque error (theory 2: a failure inside private code is not covered by the selection theorem, so it ends the run).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import numpy as np

from synthrelease.errors import BudgetError, PrivateFailure
from synthrelease.privacy import Charge
from synthrelease.randomness import SYSTEM, SystemEntropy
from synthrelease.schema import Layout
from synthrelease.table import Counts

Result = TypeVar("Result")


class Meter:
    """Which planned charges may still be spent, each once."""

    def __init__(self, planned: Sequence[Charge]):
        self._left = {charge.name: charge for charge in planned}

    def take(self, charge: Charge) -> None:
        """Strike a charge off the plan. Raises BudgetError when it was not planned, or was spent already."""
        planned = self._left.get(charge.name)
        if planned is None or (planned.epsilon, planned.delta, planned.renyi) != (
            charge.epsilon,
            charge.delta,
            charge.renyi,
        ):
            raise BudgetError(
                f"Refused: the charge {charge.name!r} was not planned, or was spent already. No private count was read."
            )
        del self._left[charge.name]


class PrivateCounts:
    """The private table as counts, readable only by spending a planned charge.

    Public facts: `n` (the number of rows, an invariant) and `layout`. The representation never shows counts. Mechanisms draw
    from `entropy`, which is the operating system's in every release.
    """

    def __init__(self, counts: Counts, meter: Meter, entropy: SystemEntropy = SYSTEM):
        self.__counts = counts
        self._meter = meter
        self.entropy = entropy
        self.n = counts.total
        self.layout = counts.layout

    def __repr__(self) -> str:
        return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> PrivateCounts:
        """The same table on coarser public bins, behind the same meter. Reveals nothing, costs nothing."""
        return PrivateCounts(_opaque(lambda: self.__counts.merge(layout, maps)), self._meter, self.entropy)

    def with_plan(self, planned: Sequence[Charge]) -> PrivateCounts:
        """The same table with a fresh meter: the charges of one more round, which the selection theorem covers."""
        return PrivateCounts(self.__counts, Meter(planned), self.entropy)

    def rehearsed(self, entropy: SystemEntropy) -> PrivateCounts:
        """The same table with another source of noise. For public data only: such noise protects nobody."""
        return PrivateCounts(self.__counts, self._meter, entropy)

    def is_public(self, digests: Collection[str]) -> bool:
        """Whether the table is one of these public ones, by their `Counts.digest`. `same_file` says why this may be asked."""
        return bool(digests) and _opaque(lambda: self.__counts.digest()) in digests

    def spend(self, charge: Charge, mechanism: Callable[[Counts], Result]) -> Result:
        """Run a mechanism that satisfies the guarantee of `charge` on the private counts and return its output.

        Parameters
        ----------
        charge : the planned charge that pays for it.
        mechanism : gets the counts, returns only what its guarantee covers. It should be total: not fail on any table.

        Raises
        ------
        BudgetError : before anything is read, when the charge is not planned.
        PrivateFailure : when the mechanism fails; with no message, cause or frame of it attached.
        """
        self._meter.take(charge)
        return _opaque(lambda: mechanism(self.__counts))


def _opaque(code: Callable[[], Result]) -> Result:
    try:
        return code()
    except Exception:
        pass  # the failure is raised below, outside this block, so that the cause is not attached to it
    raise PrivateFailure()
