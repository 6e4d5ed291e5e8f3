"""A generator of another package: it has noisy tables and sums alone, each with the noise of its share of the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.generators import Background
from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace
from synthrelease.generators.outside import NoisyTables, OutsideGenerator
from synthrelease.studio.audit.contracts import check_kind
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.tiny import World


class Greedy(OutsideGenerator):
    """Asks for its whole budget twice."""

    words = "Greedy."

    def build(self, ask: NoisyTables, background: Background):
        ask.table([0], Fraction(1))
        ask.table([0], Fraction(1))
        raise AssertionError("never reached")


def test_no_more_than_the_budget_is_answered() -> None:
    problems = check_kind(Greedy)
    assert problems
    assert all("The whole budget is already used. The requested share is 1" in problem for problem in problems)


@pytest.mark.parametrize(("guarantee", "scale"), [("pure", 2 * 4.0), ("zCDP", None)])
def test_a_share_of_the_budget_has_the_noise_of_that_share(guarantee: str, scale: float | None) -> None:
    """A quarter of the budget: tables get the noise of sensitivity 2 (l1, and squared l2) at that quarter, sums that of their
    range."""

    class Asks(OutsideGenerator):
        words = "Asks."

        def build(self, ask: NoisyTables, background: Background):
            ask.table([0, 1], Fraction(1, 4))
            ask.total([0], np.array([-3, 4]), Fraction(1, 4))
            raise LookupError

    Asks.guarantee = guarantee  # type: ignore[assignment]
    world, recording = World({"a": 1, "b": 2}), Recording()
    generator = Asks(family="x:y")
    charge = generator.charge(Fraction(1))
    private = world.private([0, 1, 4, 5], [charge], recording)
    with pytest.raises(LookupError):
        generator.fit(private, charge, Background(plausibility=world.setting().raw))
    assert [values.tolist() for values in recording.values] == [[1, 1, 0, 0, 1, 1], [2 * -3 + 2 * 4]]
    of_table, of_sum = recording.scales
    if guarantee == "pure":
        assert (of_table, of_sum) == (2 * 4, 7 * 4)
    else:  # sigma^2 = squared sensitivity / (2 rho)
        assert (of_table, of_sum) == pytest.approx(((2 / (2 / 4)) ** 0.5, (49 / (2 / 4)) ** 0.5), rel=1e-9)


def asked(kind: type[Laplace] | type[Gaussian] = Laplace) -> NoisyTables:
    world = World({"a": 2})
    table: Counts = world.counts([0, 1, 1, 2])
    return NoisyTables(kind(table, Fraction(3), Recording()), world.layout, table.total)


@pytest.mark.parametrize(
    "scores",
    [
        [-(2**63), 10**6, 0],  # whose absolute value wraps to a negative number, and whose distance to 1
        [2**63, 0, 0],
        [10**6 + 1, 0, 0],
        [0.5, 0.0, 0.0],
        [1, 2],
    ],
)
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_scores_that_no_noise_is_made_for_are_refused_and_cost_nothing(kind: type[Laplace] | type[Gaussian], scores) -> None:
    ask = asked(kind)
    with pytest.raises(ValueError, match="scores must"):
        ask.total([0], np.array(scores), Fraction(1, 2))
    assert ask.left == 1


def test_a_share_that_is_a_float_is_refused() -> None:
    """So many small ones would add up to less than they are."""
    with pytest.raises(ValueError, match="must be a Fraction"):
        asked().table([0], 2e-17)  # type: ignore[arg-type]


def test_what_is_left_is_the_share_that_no_answer_took() -> None:
    ask = asked()
    ask.table([0], Fraction(1, 4))
    assert ask.left == Fraction(3, 4)
    ask.total([0], np.array([0, 1, 2]), Fraction(1, 4))
    assert ask.left == Fraction(1, 2)
