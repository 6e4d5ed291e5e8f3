"""Charges of older releases: rules that are still recomputed, each for the loop that it is a theorem about."""

from __future__ import annotations

from fractions import Fraction

import pytest

from synthrelease.accounting.charges import HIDDEN_ROUNDS, PRICED, SELECTION, Charge, mechanism
from synthrelease.accounting.selection import SelectionRule, private_selection
from synthrelease.accounting.stopping_laws import FiniteLaw
from synthrelease.published.costs import ChargePart
from synthrelease.verification.charges import _node_problems

ROUND = mechanism("round", Fraction(3), "")
COIN = SelectionRule(stop_probability=Fraction(1, 10))
BINOMIAL = SelectionRule(stop_probability=Fraction(1, 10), shape=Fraction(1, 2))
FINITE = SelectionRule(rounds=FiniteLaw.of({1: Fraction(1, 2), 3: Fraction(1, 2)}))
FOR_EVER = SelectionRule()


def problems(rule: str, epsilon: Fraction, selection: SelectionRule) -> list[str]:
    charge = Charge(name="selection", epsilon=epsilon, because="", rule=rule, parts=(ROUND,))
    return list(_node_problems(ChargePart.of(charge), selection))


@pytest.mark.parametrize("selection", [FOR_EVER, COIN])
def test_twice_a_round_holds_for_any_stop_coin(selection: SelectionRule) -> None:
    assert problems(SELECTION, Fraction(6), selection) == []
    assert "its parts give 6 (delta 0); it states 5 (delta 0)" in problems(SELECTION, Fraction(5), selection)[0]


@pytest.mark.parametrize("selection", [BINOMIAL, FINITE])
def test_twice_a_round_is_no_rule_for_other_laws(selection: SelectionRule) -> None:
    assert "expected one round below the selection" in problems(SELECTION, Fraction(6), selection)[0]


def test_two_plus_the_shape_is_for_the_truncated_negative_binomial_alone() -> None:
    assert problems(HIDDEN_ROUNDS, Fraction("7.5"), BINOMIAL) == []
    for selection in (FOR_EVER, COIN, FINITE):
        assert problems(HIDDEN_ROUNDS, Fraction("7.5"), selection)


@pytest.mark.parametrize("selection", [COIN, BINOMIAL, FINITE])
def test_the_price_of_the_law_is_recomputed(selection: SelectionRule) -> None:
    price = private_selection("selection", ROUND, selection).epsilon
    assert problems(PRICED, price, selection) == []
    assert "its parts give" in problems(PRICED, price - Fraction(1, 10**7), selection)[0]
    assert problems(PRICED, price, FOR_EVER)
