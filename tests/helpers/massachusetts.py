"""Owned and rented dwellings in the counties of Massachusetts, 1940, before and after one run of swapping at 50%.

Bailie, Gong & Meng 2023, the table "Two-way tabulations of dwelling ownership by county": public, printed figures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from synthrelease.data.counts import Counts
from tests.helpers.small import layout_of


class County(NamedTuple):
    name: str
    owned: int
    rented: int
    owned_after: int


COUNTIES = (
    County("Barnstable", 7461, 3825, 5907),
    County("Berkshire", 14736, 18417, 13770),
    County("Bristol", 33747, 63931, 35537),
    County("Dukes", 1207, 534, 946),
    County("Essex", 53936, 81300, 52631),
    County("Franklin", 7433, 6442, 6337),
    County("Hampden", 30597, 58166, 32267),
    County("Hampshire", 9427, 8630, 8145),
    County("Middlesex", 104144, 147687, 100372),
    County("Nantucket", 593, 432, 471),
    County("Norfolk", 44885, 40285, 38566),
    County("Plymouth", 24857, 23882, 21549),
    County("Suffolk", 49656, 176553, 67357),
    County("Worcester", 53126, 78535, 51950),
)
TOTALS = (sum(county.owned for county in COUNTIES), sum(county.rented for county in COUNTIES))


def counties_table() -> Counts:
    """Columns: county, and owned (0) or rented (1)."""
    counts = np.array([(county.owned, county.rented) for county in COUNTIES]).ravel()
    return Counts(layout_of(len(COUNTIES), 2), np.arange(len(counts)), counts)


def expected_owned(rate: float) -> np.ndarray:
    """(14,) owned dwellings after swapping with the whole state as one stratum: (1 - p) owned + p total of the county x share.

    A selected dwelling's county comes from a uniformly drawn other one, up to the one that it may not keep, which is less than
    one in a million here.
    """
    owned = np.array([county.owned for county in COUNTIES])
    totals = owned + np.array([county.rented for county in COUNTIES])
    return (1 - rate) * owned + rate * totals * TOTALS[0] / sum(TOTALS)


def standard_errors(rate: float) -> np.ndarray:
    """(14,) of the owned dwellings of a county after one run.

    The county loses some of its owned dwellings and gets some of the owned ones that were selected. Given that s dwellings of
    the county are selected, a of them owned, and S of the state, A of them owned, s of the S places are in the county again:
    it gets a hypergeometric number of owned ones, with mean s A/S and variance about s (A/S)(1 - A/S)(1 - s/S). Around that, s
    A/S - a moves with the selections: variance p (1 - p) (owned (1 - q)^2 + rented q^2) with the state's share q = A/S.
    """
    owned = np.array([county.owned for county in COUNTIES], dtype=float)
    rented = np.array([county.rented for county in COUNTIES], dtype=float)
    share, totals = TOTALS[0] / sum(TOTALS), owned + rented
    drawn = rate * totals * share * (1 - share) * (1 - totals / sum(TOTALS))
    selected = rate * (1 - rate) * (owned * (1 - share) ** 2 + rented * share**2)
    return np.sqrt(drawn + selected)
