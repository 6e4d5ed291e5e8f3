"""Draw a public number of rows for a release (resizing), so that the guarantee also protects whether the rules keep a record.

The rules keep K of the N rows of a file. N is public, but K is private. A release uses a public number m of rows: a uniformly
random subset of m kept rows or, if fewer are kept, all of them and rows from a fixed public sequence. An output that is
differentially private for replacing one of the m rows is then so, at the same cost, for replacing one row of the file, kept or
not (theory 1.7, resizing): the tables drawn from two neighbouring files can be coupled so that they differ in at most one row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import FillerRows, Plausibility
from synthrelease.enclave.door import PrivateCounts, PrivateRows
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Charge, RowsRule, check_stated
from synthrelease.privacy.noise import discrete_laplace


def resize(rows: PrivateRows, rule: RowsRule, raw: Plausibility, planned: Sequence[Charge]) -> PrivateCounts:
    """Build the table for a release, with a public number of rows, from the kept rows. Call this function once, before any
    other use of the rows.

    Parameters
    ----------
    rule : how the public number of rows is determined (see "Privacy").
    raw : the plausibility rules, which the rows of the public sequence satisfy.
    planned : the charges that are planned before the selection starts, including the charge of `rule`.

    Raises
    ------
    InputError : if a stated number exceeds the public number of rows in the file, or if a published number is 0.

    Privacy
    -------
    "counted" is epsilon-DP for the number. Neighbours replace one row of the file, which changes the number of kept rows by at
    most 1, so the sensitivity is 1. Clamping to [1, N] and the margin are post-processing. The subset is drawn with the secret
    entropy of the operating system and never shown; by the resizing theorem, every later guarantee also holds for the file.
    "stated" and "whole" cost nothing, because the number is public. "exact" publishes the number of kept rows. Every later
    guarantee then compares only files with the same number of kept rows, in which one kept row is replaced by another row.
    """
    rows = rows.with_plan(planned)
    if rule.way in ("exact", "whole"):
        every = rows.all_of_them()
        if not every.n:  # public, in this way
            raise InputError(
                "Every row of the file is excluded, by a rule or because a value is missing or outside the bounds or "
                "categories."
            )
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
