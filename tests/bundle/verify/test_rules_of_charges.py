"""The charge of the selection is recomputed by the one rule of the loop that the document describes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from synthrelease.privacy.charges import HIDDEN_ROUNDS, PRICED, SELECTION, Charge, mechanism
from synthrelease.privacy.selection import FiniteLaw, SelectionRule, private_selection
from synthrelease.published.charges import ChargePart
from synthrelease.published.verify.charges import _node_problems

ROUND = mechanism("round", Fraction(3), "")
COIN = SelectionRule(stop_probability=Fraction(1, 10))
BINOMIAL = SelectionRule(stop_probability=Fraction(1, 10), shape=Fraction(1, 2))
FINITE = SelectionRule(rounds=FiniteLaw.of({1: Fraction(1, 2), 3: Fraction(1, 2)}))
FOR_EVER = SelectionRule()


def problems(rule: str, epsilon: Fraction, selection: SelectionRule) -> list[str]:
    charge = Charge(name="selection", epsilon=epsilon, because="", rule=rule, parts=(ROUND,))
    return list(_node_problems(ChargePart.of(charge), selection))


@pytest.mark.parametrize("selection", [FOR_EVER, COIN, BINOMIAL, FINITE])
def test_a_charge_that_costs_what_its_rule_gives_is_the_only_one(selection: SelectionRule) -> None:
    right = private_selection("selection", ROUND, selection)
    assert right.rule == (SELECTION if selection is FOR_EVER else PRICED)
    assert problems(right.rule, right.epsilon, selection) == []
    assert "its parts give" in problems(right.rule, right.epsilon - Fraction(1, 10**7), selection)[0]
    for rule in {SELECTION, HIDDEN_ROUNDS, PRICED} - {right.rule}:
        assert "does not fit its parts or the stated selection" in problems(rule, right.epsilon, selection)[0]


def test_twice_a_round_is_no_charge_of_a_loop_that_ends() -> None:
    for selection in (COIN, BINOMIAL, FINITE):
        assert problems(SELECTION, Fraction(6), selection)


def test_two_plus_the_shape_is_no_charge() -> None:
    assert problems(HIDDEN_ROUNDS, Fraction("7.5"), BINOMIAL)
