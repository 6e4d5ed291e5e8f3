"""One step of proportional fitting towards a measured sum: the table is tilted by exp(parameter * score). Post-processing.

A step solves for the parameter l of a sum with scores f (from 0 to 1) and noisy value y,

    n E_p[f exp((l' - l) f)] / E_p[exp((l' - l) f)] + k l' = y,    k = weight * variance / n,

whose left side rises with l': one root, found by Brent's method between limits that hold it.
"""

from __future__ import annotations

import numpy as np

from synthrelease.candidates.generators.consistent_tables import SumTarget
from synthrelease.measurements.noisy_tables import NoisySum

_FARTHEST = 60.0
"""Of a parameter, either way: the rarest score counts exp(60) times as much as before, or as little."""

_TOLERANCE = 0.2
"""A step is small when it moves the sum by this share of its noise deviation."""


class Tilt:
    """A sum in a fit, with its parameter so far."""

    def __init__(self, measured: NoisySum, n: int, weight: float):
        self.columns = measured.columns
        self.scores = measured.scores / measured.sensitivity
        self.aim = self.given = measured.value / measured.sensitivity
        self.variance = measured.variance / measured.sensitivity**2
        self.ridge, self.n, self.parameter = weight * self.variance / n, n, 0.0

    @property
    def target(self) -> SumTarget:
        return SumTarget(columns=self.columns, scores=self.scores, value=self.given, variance=self.variance)

    def aim_at(self, value: float) -> None:
        """Take this value, which agrees with other targets, in place of the measured one."""
        self.aim = value

    @property
    def original_parameter(self) -> float:
        """The parameter of the same table for the measured value."""
        return self.parameter + (self.given - self.aim) / self.ridge

    def step(self, margin: np.ndarray) -> tuple[np.ndarray, float]:
        """What every cell's share is multiplied by, up to a factor, and how far the sum was moved, in its tolerance.

        Parameters
        ----------
        margin : the shares of the cells of its columns.
        """
        from scipy.optimize import brentq

        def tilted(parameter: float) -> float:
            powers = (parameter - self.parameter) * self.scores
            shares = margin * np.exp(powers - powers.max())
            return self.n * float((shares * self.scores).sum() / shares.sum())

        def short(parameter: float) -> float:
            return tilted(parameter) + self.ridge * parameter - self.aim

        before, old = tilted(self.parameter), self.parameter
        if short(-_FARTHEST) >= 0:
            new = -_FARTHEST
        elif short(_FARTHEST) <= 0:
            new = _FARTHEST
        else:
            new = float(brentq(short, -_FARTHEST, _FARTHEST, xtol=1e-12, rtol=1e-12))
        moved = (tilted(new) - before) / (_TOLERANCE * max(np.sqrt(self.variance), 0.25))
        self.parameter = new
        powers = (new - old) * self.scores
        return np.exp(powers - powers.max()), float(moved)
