"""How many rows a release works with, so that whether a record is kept at all is protected like everything else in it.

A file has N rows. Public rules leave some of them out (missing values, values outside, implausible rows); K are kept. N is
public; K is not. A release works with a public number m of rows: a uniformly random subset of m kept rows, or, where fewer
are kept, all of them and rows of a fixed public sequence.

The resizing theorem (theory 1.7, resizing): whatever is differentially private for replacing one of m rows is so, at the same
price, for replacing one row of the file, kept or not. In short: let two files differ in one row. Where both keep K rows, one
kept row is replaced, or none. Where one keeps K and the other K - 1, take a uniform m-subset of the K - 1 and put the extra
row in the place of a random one with probability m / K: that is a uniform m-subset of the K, and it differs in one row. Where
K <= m the extra row stands in the place of one row of the public sequence. So the two tables can be drawn together such that
they always differ in at most one replaced row, and a mixture of pairs that are close is close (joint convexity).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from synthrelease.constraints import Plausibility
from synthrelease.errors import InputError
from synthrelease.privacy import Charge, mechanism
from synthrelease.private import PrivateCounts, PrivateRows
from synthrelease.randomness import discrete_laplace
from synthrelease.schema import Layout
from synthrelease.table import Counts

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


def resize(rows: PrivateRows, rule: RowsRule, raw: Plausibility, planned: Sequence[Charge]) -> PrivateCounts:
    """The table that a release works with, from the kept rows of a file. Once, before everything else.

    Parameters
    ----------
    raw : the plausibility rules for rows of the file, which the public sequence follows.
    planned : the charges before the loop, that of the rule among them.

    Raises
    ------
    InputError : when a stated number is above the rows of the file, which are public, or a number that is published is 0.

    Privacy
    -------
    "counted": epsilon-DP for the number, neighbours replace one row of the file, which changes the number of kept rows by at
    most 1: sensitivity 1. What is clamped to [1, N] and the margin are post-processing. The subset is drawn with the secret
    entropy of the operating system and never shown; the resizing theorem carries every later guarantee over. "stated" and
    "whole" cost nothing: the number is public. "exact" publishes the number of kept rows: every later guarantee then holds for
    files in which the same number of rows is kept, and replacing a kept row by another kept row.
    """
    rows = rows.with_plan(planned)
    if rule.way in ("exact", "whole"):
        every = rows.all_of_them()
        if not every.n:  # public, in this way
            raise InputError("expected at least one row that the rules keep, found none.")
        return every
    if rule.stated is not None:
        check_stated(rule, rows.n_file)
        return rows.some_of_them(rule.stated, FillerRows(raw))
    charge, epsilon = rule.charge, rule.epsilon
    if charge is None or epsilon is None:
        raise ValueError("a counted number of rows needs an epsilon")

    def counted(kept: Counts) -> int:
        return int(discrete_laplace(np.array([kept.total]), sensitivity=1, epsilon=epsilon, entropy=rows.entropy)[0])

    size = rows.spend(charge, counted) - rule.margin
    return rows.some_of_them(min(max(size, 1), rows.n_file), FillerRows(raw))


def check_stated(rule: RowsRule, n_file: int) -> None:
    """Raises InputError when a stated number of rows is above that of the file, which is public."""
    if rule.stated is not None and rule.stated > n_file:
        raise InputError(f"expected a file of at least {rule.stated} rows, as [input] rows states, found {n_file}.")


NOT_COVERED = "whether a record is complete, in range and plausible is not protected"
"""What `rows = "exact"` gives up, in plain words."""


def invariants(way: str, n_file: int, n: int) -> tuple[str, ...]:
    """The facts that are published exactly and are the same for all neighbours (docs/theory.md 10).

    Parameters
    ----------
    n_file, n : rows of the file, and rows that the release works with.
    """
    schema = "the schema: columns, bounds, bins and categories"
    if way == "exact":
        return (f"the number of kept rows, n = {n}", schema, f"which rows are kept: {NOT_COVERED}")
    return (f"the number of rows of the file, N = {n_file}", schema)


class FillerRows:
    """A fixed, public sequence of plausible rows, which fills up a table that has too few.

    Row i takes, in every group of columns that rules tie together and in every other column, the allowed bin combination at
    the place i, i + 1, ... (one further for each group), over and over: all of them occur, nearly equally often.
    """

    def __init__(self, raw: Plausibility):
        self.layout: Layout = raw.layout
        self._groups = [(mask.columns, np.argwhere(~mask.forbidden)) for mask in raw.masks]
        tied = {column for columns, _ in self._groups for column in columns}
        for column, size in enumerate(self.layout.sizes):
            if column not in tied:
                self._groups.append(((column,), np.arange(size)[:, None]))

    def first(self, size: int) -> Counts:
        """The first rows of the sequence, as counts."""
        places = np.arange(size)
        codes = np.zeros(size, dtype=np.int64)
        for shift, (columns, allowed) in enumerate(self._groups):
            chosen = allowed[(places + shift) % len(allowed)]
            for axis, column in enumerate(columns):
                codes += chosen[:, axis] * self.layout.strides[column]
        return Counts(self.layout, codes)
