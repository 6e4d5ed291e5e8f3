"""The number of rows of a release: what is public about it, its source and its cost. `enclave.resizing` draws the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synthrelease.accounting.charges import Charge, mechanism
from synthrelease.errors import InputError

NUMBER_OF_ROWS = "number of rows"
"""The name of the charge for counting the kept rows."""


SHORTFALL = Fraction(1, 1000)
"""How likely a counted number may lie above the number of kept rows; public rows then fill up."""


Way = Literal["whole", "counted", "stated", "exact"]


@dataclass(frozen=True, kw_only=True)
class RowsRule:
    """Where the number m of rows comes from that a release works with.

    Attributes
    ----------
    way : "whole": no row can be left out, m = N. "counted": a noisy count of the kept rows minus `margin`. "stated": a number
        in the specification. "exact": m = K, published as it is; then which rows are kept is not protected.
    epsilon : of the count, > 0; None where nothing is counted.
    stated : the number in the specification; None where there is none.
    """

    way: Way = "whole"
    epsilon: Fraction | None = None
    stated: int | None = None

    @property
    def charge(self) -> Charge | None:
        """What the number of rows costs."""
        if self.epsilon is None:
            return None
        return mechanism(NUMBER_OF_ROWS, self.epsilon, "discrete Laplace noise on the number of kept rows")

    @property
    def margin(self) -> int:
        """What is taken off the noisy count: the least k >= 0 with Pr[noise > k] <= SHORTFALL.

        Pr[noise > k] = a^(k+1) / (1 + a) for discrete Laplace noise, a = e^-epsilon.
        """
        if self.epsilon is None:
            return 0
        epsilon = float(self.epsilon)
        tail = -math.log(float(SHORTFALL)) - math.log1p(math.exp(-epsilon))
        return max(0, math.ceil(tail / epsilon) - 1)


def check_stated(rule: RowsRule, n_file: int) -> None:
    """Raises InputError when a stated number of rows is above that of the file, which is public."""
    if rule.stated is not None and rule.stated > n_file:
        raise InputError(f"expected a file of at least {rule.stated} rows, as [input] rows states, found {n_file}.")


NOT_COVERED = "whether a record is complete, in range and plausible is not protected"
"""What `rows = "exact"` gives up, in plain words."""


def invariants(way: str, n_file: int, n: int, persons: int | None = None) -> tuple[str, ...]:
    """The facts that are published exactly and are the same for all neighbours (theory 10, statement of the guarantee).

    Parameters
    ----------
    n_file, n : rows of the file, and rows that the release works with.
    persons : of the file, where a key tells their rows; how many rows it has is then no public fact.
    """
    schema = "the schema: columns, bounds, bins and categories"
    if way == "exact":
        return (f"the number of kept rows, n = {n}", schema, f"which rows are kept: {NOT_COVERED}")
    if persons is not None:
        return (f"the number of persons of the file (different values of the key), N = {persons}", schema)
    return (f"the number of rows of the file, N = {n_file}", schema)
