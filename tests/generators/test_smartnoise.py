"""What a library chooses is drawn by the law that is paid for; no library is needed to see it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from synthrelease.generators import smartnoise_mechanism as mechanism
from synthrelease.generators.smartnoise_mechanism import Randomness
from synthrelease.privacy.noise import SYSTEM


@pytest.mark.parametrize("sensitivity", [1.0, 2.5])
def test_scores_of_neighbours_differ_by_no_more_than_a_choice_pays_for(
    sensitivity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded scores whose exact ones differ by the library's sensitivity at most, and some by as much."""
    handed: list[tuple[list[int], dict]] = []
    monkeypatch.setattr(mechanism, "choose", lambda steps, **more: handed.append((steps, more)) or 0)
    draw, epsilon, randomness = np.random.default_rng(4), 0.75, Randomness(Fraction(1), SYSTEM)
    scores = draw.uniform(-50, 50, 2000)
    moved = scores + sensitivity * np.append(draw.uniform(-1, 1, 1998), [1, -1])
    for each in (scores, moved):
        randomness.choose(each.tolist(), epsilon=epsilon, sensitivity=sensitivity)
    (one, paid), (other, _) = handed
    furthest = max(abs(first - second) for first, second in zip(one, other, strict=True))
    assert furthest <= paid["sensitivity"] <= furthest + 1
    assert (paid["epsilon"], paid["mechanism"]) == (Fraction(epsilon), "exponential")
    assert randomness.left == 1 - 2 * Fraction(epsilon) ** 2 / 8
