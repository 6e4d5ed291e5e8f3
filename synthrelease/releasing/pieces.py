"""The table of a release in two random pieces: one that the generator is fitted to, and one that the criteria ask.

`PrivateCounts.fit` and `.score` are the table itself, so that code that asks for a piece serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.subsets import PartitionRule, of_piece


@dataclass(frozen=True)
class PrivatePieces:
    """Two doors, each with a meter of its own."""

    fit: PrivateCounts
    score: PrivateCounts

    def with_plan(self, planned: Sequence[Charge]) -> PrivatePieces:
        """The same pieces with fresh meters: each gets those of the charges that read it."""
        return PrivatePieces(self.fit.with_plan(of_piece(planned, "fit")), self.score.with_plan(of_piece(planned, "score")))

    def on(self, transformation: Transformation) -> PrivatePieces:
        """Both on the bins of a transformation, behind the same meters."""
        return PrivatePieces(self.fit.on(transformation), self.score.on(transformation))

    def rehearsed(self, entropy: SystemEntropy) -> PrivatePieces:
        """The same pieces with another source of noise. For public data only: such noise protects nobody."""
        return PrivatePieces(self.fit.rehearsed(entropy), self.score.rehearsed(entropy))


PrivateTable = PrivateCounts | PrivatePieces
"""What a release works with."""


def divided(private: PrivateCounts, rule: PartitionRule | None, planned: Sequence[Charge]) -> PrivateTable:
    """The table with a plan, in two random pieces where there is a rule. Once in a release, before all that reads rows.

    Raises
    ------
    InputError : for a table of fewer than two rows, whose number is public.

    Privacy
    -------
    As `PrivateCounts.split`: the rest then costs the most of either piece (theory 11.10, release from two pieces).
    """
    if rule is None:
        return private
    return PrivatePieces(*private.split(rule.sizes(private.n))).with_plan(planned)
