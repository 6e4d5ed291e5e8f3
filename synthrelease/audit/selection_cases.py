"""Cases of the selection loop: `select` itself, with finite rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.randomness import SYSTEM
from synthrelease.releasing.selection import select

DRAWS = 20_000
STOPS = (Fraction(0), Fraction(1, 50), Fraction(1, 2), Fraction(1))


@dataclass(frozen=True, kw_only=True)
class FiniteRound:
    """A round with output i with probability weights[i] / total, and rejected otherwise."""

    weights: tuple[int, ...]
    total: int

    def __call__(self) -> int | None:
        left = SYSTEM.pick(self.total)
        for output, weight in enumerate(self.weights):
            if left < weight:
                return output
            left -= weight
        return None


_ROUNDS = {
    "a rare output beside one that changes the other way": (2, (4, 100), (2, 200), 1000),
    "acceptance doubles": (2, (20,), (40,), 100),
    "two outputs change places": (4, (5, 20), (20, 5), 100),
    "rejection halves": (2, (10, 30), (20, 50), 100),
    "a rare output, small epsilon": (Fraction(5, 4), (5, 200), (4, 250), 1000),
    "a rare output, large epsilon": (8, (8, 50), (1, 400), 1000),
    "every output twice as likely": (2, (10, 20, 15), (20, 40, 30), 150),
}
"""Names -> e^eps1, weights of the outputs for two neighbours, and the total."""


def selection_cases() -> Iterator[Case]:
    """The loop at several stop probabilities."""
    for name, (ratio, left, right, total) in _ROUNDS.items():
        for stop in STOPS:
            yield Case(
                family="selection",
                name=f"{name}, stop probability {stop}",
                claim=2 * math.log(ratio),
                left=partial(_outputs, FiniteRound(weights=left, total=total), stop),
                right=partial(_outputs, FiniteRound(weights=right, total=total), stop),
                features=("output",),
                draws=DRAWS,
            )


def _outputs(run: FiniteRound, stop: Fraction, draws: int) -> np.ndarray:
    """Outputs of the loop; -1 for "nothing"."""
    return np.array([_number(select(run, stop)) for _ in range(draws)])


def _number(output: int | None) -> int:
    return -1 if output is None else output
