"""A case of the audit: one mechanism, two neighbouring tables, and the epsilon that is claimed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthrelease.audit.events import Event

Draw = Callable[[int], np.ndarray]
"""(draws) -> (draws, n_features) outputs of independent runs of a mechanism on one table."""

NOT_A_NUMBER = 1e300
"""Stands for NaN among the features, so that outputs can be compared."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two neighbours and what is claimed of them.

    Attributes
    ----------
    family : the mechanism, for the table of results.
    name : unique among all cases.
    claim : the epsilon that the program states for this mechanism. Natural logarithms, as everywhere. Or its mu.
    left, right : draw the mechanism's outputs on the two tables; each output is a row of numbers.
    features : a name for each number of an output.
    draws : draws on each side when nothing else is asked for, besides those that choose the events.
    event : fixed beforehand; None has the events chosen on held-out draws.
    faulty : the claim is known to be wrong, and the audit must find it.
    gaussian : the claim is a mu: telling the tables apart is as hard as telling N(mu, 1) from N(0, 1), or harder.
    alone : the mechanism runs worker processes of its own, so the case runs in the main process.
    """

    family: str
    name: str
    claim: float
    left: Draw
    right: Draw
    features: tuple[str, ...]
    draws: int
    event: Event | None = None
    faulty: bool = False
    gaussian: bool = False
    alone: bool = False

    def sample(self, side: str, draws: int) -> np.ndarray:
        """(draws, n_features) outputs on the table of one side, without NaN."""
        outputs = np.asarray((self.left if side == "left" else self.right)(draws), dtype=float).reshape(draws, -1)
        if outputs.shape[1] != len(self.features):
            raise ValueError(f"{self.name}: expected {len(self.features)} numbers for each output, found {outputs.shape[1]}")
        return np.nan_to_num(outputs, nan=NOT_A_NUMBER, posinf=NOT_A_NUMBER, neginf=-NOT_A_NUMBER)
