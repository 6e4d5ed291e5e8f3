"""How many rows a group must have in the released table for its numbers to tell something: what is hatched, and the rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from synthrelease.bundle.card.numbers import figure
from synthrelease.published.document import ReleaseDocument

POINTS = 0.05
"""A share within a group tells something where its interval reaches at most so far, to both sides."""
PART = 0.5
"""The share of a bin tells something where it is off by less than this part of itself."""


@dataclass(frozen=True, kw_only=True)
class Useful:
    """What counts may be off by, in rows.

    Attributes
    ----------
    errors : by column, and by pair of columns ("a:b"), as release.json has it: half of the widest interval, which one in twenty
        goes beyond. No limit.
    together : the columns of each noisy table.
    of_any_pair : what a criterion says of every cell of every pair of columns; infinite where none does.
    """

    errors: Mapping[str, int]
    together: Sequence[Sequence[str]] = ()
    of_any_pair: float = math.inf

    @classmethod
    def of(cls, document: ReleaseDocument, of_any_pair: float | None = None) -> Useful | None:
        """None where no noisy tables tell it."""
        part = document.estimates
        if part is None or not part.errors:
            return None
        return cls(errors=part.errors, together=part.together, of_any_pair=math.inf if of_any_pair is None else of_any_pair)

    def least_of_a_bin(self, column: str) -> float | None:
        """The rows of a bin whose share is told; None where it is not known."""
        error = self.errors.get(column)
        return None if error is None else error / PART

    def least_group(self, first: str, second: str) -> float | None:
        """The rows of a group within which shares are told: infinite for a pair of which nothing is known; None for one that
        was measured, is not in estimates.csv, and of which no criterion speaks."""
        error = self.errors.get(f"{first}:{second}", self.errors.get(f"{second}:{first}"))
        least = min(math.inf if error is None else error, self.of_any_pair) / POINTS
        measured = any({first, second} <= set(columns) for columns in self.together)
        return None if measured and least == math.inf else least

    @property
    def rule(self) -> str:
        """When to use estimates, in a sentence."""
        pairs = [error for name, error in self.errors.items() if ":" in name]
        if not pairs:
            return ""
        usual, worst = (_rounded_up(error / POINTS) for error in (median(pairs), max(pairs)))
        every = "" if worst <= usual else f"; for the pair of columns with the most noise, below {figure(worst)}"
        return (
            f"In groups of fewer than {figure(usual)} rows use estimates, not the rows{every}. There a share that is computed "
            f"from the rows may be off by more than {100 * POINTS:.0f} percentage points because of the noise alone. In larger "
            "groups one in twenty may be, too: the rule follows from 95% intervals and is no limit. It is about columns that "
            "were measured together: how others go together, no size of a group tells."
        )


def _rounded_up(number: float) -> int:
    """To two digits."""
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / step) * step
