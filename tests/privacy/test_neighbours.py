"""Two steps of adding or removing a record: enumerated on small mechanisms, whose worst cases reach the bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import mechanism, zero_concentrated
from synthrelease.privacy.curves import selected, zcdp
from synthrelease.privacy.plan import library_charge, replacing_one

Z = np.arange(-300, 301)
TABLES = [table for size in (1, 2, 3) for table in product((-1, 1), repeat=size)]
"""Tables of records that are -1 or 1; the mechanism is their noisy sum."""


def neighbours(replace: bool) -> list[tuple[int, int]]:
    """Sums of all neighbouring pairs of tables."""
    return [
        (sum(first), sum(second))
        for first, second in product(TABLES, TABLES)
        if (
            len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) == 1
            if replace
            else second[:-1] == first
        )
    ]


def laplace(centre: int, scale: float) -> np.ndarray:
    logs = -np.abs(Z - centre) / scale
    return logs - logsumexp(logs)


def gaussian(centre: int, scale: float) -> np.ndarray:
    logs = -((Z - centre) ** 2) / (2 * scale**2)
    return logs - logsumexp(logs)


def test_twice_the_epsilon_is_reached_by_a_noisy_sum() -> None:
    stated = mechanism("sum", Fraction(1, 4), "")
    found = [
        max(float(np.max(np.abs(laplace(a, 4.0) - laplace(b, 4.0)))) for a, b in neighbours(replace))
        for replace in (False, True)
    ]
    assert found[0] == pytest.approx(float(stated.epsilon))
    assert found[1] == pytest.approx(float(replacing_one(stated).epsilon))


def test_four_times_the_rho_is_reached_by_a_noisy_sum() -> None:
    stated = zero_concentrated("sum", Fraction(1, 50), "")  # scale 5, one step of 1: rho = 1 / (2 * 25)

    def rho(replace: bool) -> float:
        return max(
            float(logsumexp(order * gaussian(a, 5.0) + (1 - order) * gaussian(b, 5.0))) / (order - 1) / order
            for a, b in neighbours(replace)
            for order in (1.5, 2.0, 6.0)
        )

    whole = replacing_one(stated)
    assert rho(False) == pytest.approx(0.02, rel=1e-6)
    assert whole.renyi == zcdp(Fraction(4, 50))
    assert rho(True) == pytest.approx(0.08, rel=1e-6)


def excess(first: tuple[int, ...], second: tuple[int, ...], ratio: int) -> int:
    """Eight times the least delta of two laws in eighths."""
    return sum(max(p - ratio * q, 0) for p, q in zip(first, second, strict=True))


def test_the_delta_of_two_steps_is_reached() -> None:
    """All chains of three laws in eighths: each step (ln 2, 1/8); the worst of two steps is (1 + 2) / 8."""
    laws = [(a, b, 8 - a - b) for a in range(9) for b in range(9 - a)]
    close = {p: [q for q in laws if max(excess(p, q, 2), excess(q, p, 2)) <= 1] for p in laws}
    worst = max(excess(p, q, 4) for p in laws for middle in close[p] for q in close[middle])
    stated = mechanism("g", Fraction(math.log(2)), "", Fraction(1, 8))
    assert float(replacing_one(stated).delta) == pytest.approx(worst / 8, rel=1e-4)


@pytest.mark.parametrize("guarantee", ["pure", "zCDP", "approximate"])
@pytest.mark.parametrize("budget", [Fraction(1, 3), Fraction(4)])
def test_a_library_is_asked_for_what_gives_the_stated_budget(guarantee: str, budget: Fraction) -> None:
    delta = Fraction(1, 10**9) if guarantee == "approximate" else Fraction(0)
    by_library = library_charge("g", guarantee, budget, "", delta)
    whole = replacing_one(by_library)
    if guarantee == "zCDP":
        assert by_library.renyi == zcdp(budget / 4)
        assert whole.renyi == zcdp(budget)
    else:
        assert (by_library.epsilon, whole.epsilon) == (budget / 2, budget)
        assert delta * Fraction(999, 1000) <= whole.delta <= delta
    (part,) = whole.parts  # both are in the charge tree
    assert part == replace(by_library, name="g, for adding or removing a record")
    assert whole.name == "g"


def test_the_curve_of_a_selection_has_no_second_step() -> None:
    curve = selected(zcdp(Fraction(1)), Fraction(1), Fraction(1, 2))
    with pytest.raises(BudgetError, match="No guarantee is known"):
        replacing_one(type(zero_concentrated("g", Fraction(1), ""))(name="g", epsilon=Fraction(0), renyi=curve, because=""))
