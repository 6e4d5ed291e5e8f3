"""What swapping makes of the printed dwellings of Massachusetts, 1940 (Bailie, Gong & Meng 2023), by its law."""

from __future__ import annotations

import numpy as np

from tests.reproduction.experiments import counties
from tests.reproduction.tables import printed

NAMES = [row[0] for row in printed()["swapping"]["counties"]]
OWNED_AFTER = np.array([row[3] for row in printed()["swapping"]["counties"]])
OWNED, RENTED = counties().marginal([0, 1]).T.astype(float)
SHARE = OWNED.sum() / (OWNED + RENTED).sum()


def expected_owned(rate: float) -> np.ndarray:
    """(14,) owned dwellings after swapping with the whole state as one stratum: (1 - p) owned + p total of the county x share.

    A selected dwelling's county comes from a uniformly drawn other one, up to the one that it may not keep, which is less than
    one in a million here.
    """
    return (1 - rate) * OWNED + rate * (OWNED + RENTED) * SHARE


def standard_errors(rate: float) -> np.ndarray:
    """(14,) of the owned dwellings of a county after one run.

    The county loses some of its owned dwellings and gets some of the owned ones that were selected. Given that s dwellings of
    the county are selected, a of them owned, and S of the state, A of them owned, s of the S places are in the county again:
    it gets a hypergeometric number of owned ones, with mean s A/S and variance about s (A/S)(1 - A/S)(1 - s/S). Around that, s
    A/S - a moves with the selections: variance p (1 - p) (owned (1 - q)^2 + rented q^2) with the state's share q = A/S.
    """
    totals = OWNED + RENTED
    drawn = rate * totals * SHARE * (1 - SHARE) * (1 - totals / totals.sum())
    selected = rate * (1 - rate) * (OWNED * (1 - SHARE) ** 2 + RENTED * SHARE**2)
    return np.sqrt(drawn + selected)
