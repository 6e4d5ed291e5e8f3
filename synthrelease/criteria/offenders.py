"""Where a figure comes from: the table, cell, group or coefficient with the largest error, named on public data.

An offender is exact: it holds counts without noise. So it is asked of a `PublicCounts`, which only a rehearsal makes, of a file
that is public. A release holds its counts behind `enclave.door.PrivateCounts`, which hands them to a mechanism inside `spend`
alone and yields noisy figures; a criterion's `query`, all that a release asks, neither makes nor takes a `PublicCounts`.
tests/test_architecture.py keeps `PublicCounts(` and `.offender(` out of the rooms that a release runs through.
"""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.criteria.wording import figure
from synthrelease.data.counts import Counts


@dataclass(frozen=True, kw_only=True)
class PublicCounts:
    """A table of public rows, on a candidate's bins: whoever makes one says that its rows are public."""

    counts: Counts


@dataclass(frozen=True, kw_only=True)
class Offender:
    """The part of a figure with the largest error.

    Attributes
    ----------
    where : the table, cell, group or coefficient in words: "age=18-24, sex=F".
    released, original : what stands there in the candidate and in the public table, in words: "3.1%".
    """

    where: str
    released: str
    original: str

    def __str__(self) -> str:
        return f"{self.where}: {self.released} against {self.original}"


def share(rows: float, of: float) -> str:
    """A share in per cent to three digits."""
    return f"{figure(100 * rows / of, 3)}%" if of else "no rows"
