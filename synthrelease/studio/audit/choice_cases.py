"""Cases of the private choices: exponential mechanism and permute-and-flip, alone and as PrivBayes chooses its structure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.generators.privbayes_mechanism import dependence_score, score_sensitivity
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.noise import choose
from synthrelease.studio.audit.cases import Case
from synthrelease.studio.audit.noise_cases import even_draws

MECHANISMS = ("permute_and_flip", "exponential")
EPSILONS = (Fraction(1, 2), Fraction(7, 10), Fraction(1), Fraction(2), Fraction(4))
SENSITIVITY = 10

DRAWS = 10_000
_SCORES = {
    "two candidates, far apart": ((0, -20), (-10, -10)),
    "two candidates that change places": ((5, 0), (0, 5)),
    "one rises, three fall": ((0, 0, 0, 0), (10, -10, -10, -10)),
    "one of five rises from behind": ((-25, 0, 0, -5, -3), (-15, -10, -10, -15, -13)),
    "twelve candidates, half rise": ((0,) * 12, (10, -10) * 6),
    "scores far from zero": ((10**12, 10**12 - 20), (10**12 - 10, 10**12 - 10)),
}
"""Names -> integer scores of two neighbours; each score moves by at most 10."""

_UNIT = "permute_and_flip", "two candidates, far apart"
"""It realises its claim here: the case by which its power is measured."""


def choice_cases() -> Iterator[Case]:
    """Private choices by score, and the structure scores of neighbouring tables."""
    for mechanism in MECHANISMS:
        for epsilon in EPSILONS:
            for name, (left, right) in _SCORES.items():
                draws = even_draws(epsilon) if (mechanism, name) == _UNIT else DRAWS
                yield choice_case(mechanism, name, left, right, SENSITIVITY, epsilon, draws=draws)
        for epsilon in EPSILONS[2:]:
            for name, (left, right) in _structure_scores().items():
                n = 12
                yield choice_case(mechanism, name, left, right, score_sensitivity(n), epsilon)


def choice_case(
    mechanism: str,
    name: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    sensitivity: int,
    epsilon: Fraction,
    *,
    draws: int = DRAWS,
    spent: Fraction | None = None,
) -> Case:
    """A choice among candidates with these scores; `spent` is the epsilon of the mechanism, right unless given."""
    draw = partial(_choices, mechanism=mechanism, sensitivity=sensitivity, epsilon=spent or epsilon)
    return Case(
        family=mechanism.replace("_", " ") if mechanism == "permute_and_flip" else "exponential mechanism",
        name=f"{mechanism.replace('_', ' ')}: {name}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, left),
        right=partial(draw, right),
        features=("chosen",),
        draws=draws,
        faulty=spent is not None,
    )


def _choices(scores: tuple[int, ...], draws: int, *, mechanism: str, sensitivity: int, epsilon: Fraction) -> np.ndarray:
    return np.array([choose(scores, sensitivity=sensitivity, epsilon=epsilon, mechanism=mechanism) for _ in range(draws)])


def _structure_scores() -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """PrivBayes's scores of the three column pairs of neighbouring tables: 12 records of three columns with two bins each."""
    found = {}
    for name, rows, replacement in (
        ("structure: a tie is broken", [0] * 6 + [7] * 6, 3),
        ("structure: a lone record leaves", [7] + [0] * 8 + [3] * 3, 0),
    ):
        sides = [_pair_scores(np.array(rows)), _pair_scores(np.array([replacement, *rows[1:]]))]
        found[name] = (sides[0], sides[1])
    return found


def _pair_scores(codes: np.ndarray) -> tuple[int, ...]:
    table = np.bincount(codes, minlength=8).reshape(2, 2, 2)
    return tuple(dependence_score(table.sum(axis=other), len(codes)) for other in range(3))
