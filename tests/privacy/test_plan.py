"""Accounting against trees computed by hand, and against diffprivlib's accountant."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import decimal_text, exact, in_sequence, mechanism
from synthrelease.privacy.plan import Plan
from synthrelease.privacy.selection import private_selection
from synthrelease.spec.load import load_spec

# Table 2 of the paper: marginals .01 + .30, means .01 + .17 + .02, regression .43 + .04, faithfulness .01
TABLE_2 = {"absolute": ".01", "ratio": ".30", "parity": ".01", "weight": ".17", "week": ".02", "fit": ".43",
           "prediction": ".04", "faithfulness": ".01"}  # fmt: skip


def charges(skip: str = "") -> tuple:
    return tuple(mechanism(name, exact(value), "Laplace") for name, value in TABLE_2.items() if name != skip)


def test_paper_with_the_regression_in_every_round_costs_9_98() -> None:
    plan = Plan.of(once=(), per_round=(mechanism("generation", exact(4), "PrivBayes"), *charges()))
    assert sum(part.epsilon for part in charges()) == Fraction("0.99")
    assert plan.total.epsilon == Fraction("9.98")  # 2 (4 + 0.99)


def test_regression_once_costs_9_55() -> None:
    plan = Plan.of(
        once=(mechanism("fit", exact(".43"), "functional"),),
        per_round=(mechanism("generation", exact(4), "PrivBayes"), *charges(skip="fit")),
    )
    assert plan.total.epsilon == Fraction("9.55")  # 0.43 + 2 (4 + 0.56)


def test_shipped_configurations_have_their_budgets(root: Path) -> None:
    """The loop of the paper, without a stop coin, costs 9.98; births.toml 0.05 + 0.43 + the price of a law."""
    assert load_spec(root / "configs/births-paper.toml").plan.total.epsilon == Fraction("9.98")
    births = load_spec(root / "configs/births.toml")
    assert [charge.epsilon for charge in births.plan.once] == [Fraction("0.05"), Fraction("0.43")]
    assert births.plan.total.epsilon == Fraction("6.6978102") < Fraction("6.7")


def test_leaves_of_the_tree_are_the_planned_charges() -> None:
    plan = Plan.of(once=(mechanism("a", exact(1), ""),), per_round=(mechanism("b", exact(2), ""),))
    assert [leaf.name for leaf in plan.total.leaves()] == ["a", "b"]
    assert plan.total.epsilon == 1 + 2 * 2


def test_charges_after_acceptance_are_added_once() -> None:
    """Theory 4.3, figures afterwards: adaptive composition outside the selection, so without the factor 2."""
    test, figures = mechanism("test", exact(".15"), ""), (mechanism("a", exact(".3"), ""), mechanism("b", exact(".01"), ""))
    fit = mechanism("fit", exact(".2"), "")
    plan = Plan.of(once=(fit,), per_round=(test,), after=figures)
    assert plan.total.epsilon == Fraction("0.2") + 2 * Fraction("0.15") + Fraction("0.31") == Fraction("0.81")
    assert [leaf.name for leaf in plan.total.leaves()] == ["fit", "test", "a", "b"]
    assert [part.name for part in plan.total.parts] == ["fit", "selection", "figures of the accepted dataset"]
    inside = Plan.of(once=(fit,), per_round=(test, *figures))
    assert inside.total.epsilon - plan.total.epsilon == Fraction("0.31")


def test_a_charge_after_acceptance_may_have_no_name_of_another() -> None:
    one = mechanism("a", exact(1), "")
    for parts in ({"once": (one,), "per_round": ()}, {"once": (), "per_round": (one,)}):
        with pytest.raises(BudgetError, match="same name"):
            Plan.of(**parts, after=(one,))


def test_deltas_after_acceptance_are_added_and_the_limit_counts_all_parts() -> None:
    after = (mechanism("a", exact(1), "", delta=Fraction(1, 10**9)),)
    plan = Plan.of(once=(), per_round=(mechanism("b", exact(1), ""),), after=after, delta=Fraction(1, 10**9))
    assert plan.total.delta == Fraction(1, 10**9)
    plan.check_limit(Fraction(3))
    with pytest.raises(BudgetError, match="costs epsilon = 3"):
        plan.check_limit(Fraction("2.999"))


def test_sequential_composition_agrees_with_diffprivlib() -> None:
    """An independent check: diffprivlib's accountant adds the same charges (its slack 0 is pure composition)."""
    theirs = pytest.importorskip("diffprivlib", reason="needs the extra audit")

    accountant = theirs.BudgetAccountant()
    for charge in charges():
        accountant.spend(float(charge.epsilon), 0)
    total, delta = accountant.total()
    assert total == pytest.approx(float(in_sequence("all", *charges()).epsilon), abs=1e-12)
    assert delta == 0


def test_selection_refuses_approximate_rounds() -> None:
    """The pure theorem gives nothing for delta > 0."""
    with pytest.raises(BudgetError, match="pure"):
        private_selection("selection", mechanism("g", exact(1), "", delta=Fraction(1, 10**6)))


def test_limit_is_compared_exactly() -> None:
    plan = Plan.of(once=(), per_round=(mechanism("g", exact("4.99"), ""),))
    plan.check_limit(Fraction("9.98"))
    with pytest.raises(BudgetError, match="9.98"):
        plan.check_limit(Fraction("9.98") - Fraction(1, 10**15))


def test_equal_names_are_refused() -> None:
    with pytest.raises(BudgetError, match="same name"):
        Plan.of(once=(mechanism("a", exact(1), ""),), per_round=(mechanism("a", exact(1), ""),))


@pytest.mark.parametrize("bad", ["-1", float("nan"), float("inf"), True, "one"])
def test_epsilons_must_be_finite_and_not_negative(bad: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        exact(bad)  # type: ignore[arg-type]


def test_floats_are_read_as_they_are_printed() -> None:
    assert exact(0.1) == Fraction(1, 10)


def test_epsilon_is_never_printed_too_small() -> None:
    assert decimal_text(Fraction("9.55")) == "9.55"
    assert decimal_text(Fraction(4)) == "4"
    assert Fraction(decimal_text(Fraction(1, 3))) > Fraction(1, 3)


@pytest.mark.parametrize(
    "number", ["1e999999999", "1e-999999999", "1e331", "9" * 1000, 10**400, "1e99999999999999999999", Decimal("1e400000")]
)
def test_numbers_whose_exact_value_would_fill_the_memory_are_refused(number: object) -> None:
    with pytest.raises(ValueError, match="The number has more than 330 digits"):
        exact(number)  # type: ignore[arg-type]


def test_every_float_is_an_exact_number() -> None:
    assert exact(5e-324) == Fraction(5, 10**324)
    assert exact(1.7976931348623157e308) == Fraction("1.7976931348623157e308")
