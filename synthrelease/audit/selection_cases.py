"""Cases of the selection loop: `select_by` itself, with finite rounds. What is claimed is what a release is charged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.releasing.selection import select_by

DRAWS = 20_000
_BIRTHS = FiniteLaw.of({1: Fraction("0.182"), 6: Fraction("0.47"), 7: Fraction("0.348")})
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


_ROUNDS: dict[str, tuple[Fraction | int, tuple[int, ...], tuple[int, ...], int]] = {
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
                claim=claimed(ratio, SelectionRule(stop_probability=stop)),
                left=partial(_outputs, FiniteRound(weights=left, total=total), SelectionRule(stop_probability=stop)),
                right=partial(_outputs, FiniteRound(weights=right, total=total), SelectionRule(stop_probability=stop)),
                features=("output",),
                draws=DRAWS,
            )
    for name in ("acceptance doubles", "a rare output, large epsilon"):
        yield hidden_case(name, _BIRTHS, _BIRTHS)


def hidden_case(name: str, law: FiniteLaw, other: FiniteLaw, *, faulty: bool = False) -> Case:
    """A hidden number of rounds with one law on the first table, and with one on its neighbour; they ought to be the same."""
    ratio, left, right, total = _ROUNDS[name]
    return Case(
        family="selection",
        name=f"{name}, {law.words}" + (f", or {other.words}" if faulty else ""),
        claim=claimed(ratio, SelectionRule(rounds=law)),
        left=partial(_outputs, FiniteRound(weights=left, total=total), SelectionRule(rounds=law)),
        right=partial(_outputs, FiniteRound(weights=right, total=total), SelectionRule(rounds=other)),
        features=("output",),
        draws=DRAWS,
        faulty=faulty,
    )


def chosen_law_case() -> Case:
    """A known fault: how often is tried depends on the table."""
    return hidden_case("acceptance doubles", FiniteLaw.of({1: Fraction(1)}), FiniteLaw.of({7: Fraction(1)}), faulty=True)


def claimed(ratio: Fraction | int, rule: SelectionRule) -> float:
    """What a selection of rounds of ln(ratio) is charged: the price of its law, or twice a round without one."""
    epsilon = Fraction(math.log(ratio)).limit_denominator(10**12) + Fraction(1, 10**11)
    return float(2 * epsilon if rule.law is None else rule.law.price(epsilon))


def _outputs(run: FiniteRound, rule: SelectionRule, draws: int) -> np.ndarray:
    """Outputs of the loop; -1 for "nothing"."""
    return np.array([_number(select_by(rule, run)) for _ in range(draws)])


def _number(output: int | None) -> int:
    return -1 if output is None else output
