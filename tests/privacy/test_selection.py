"""What a selection costs, against the worst case over finite rounds in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import gaussian, in_sequence, mechanism, together, zero_concentrated
from synthrelease.privacy.curves import RenyiCurve, curve_of_pure, epsilon_of, exp_up, selected, zcdp
from synthrelease.privacy.curves import rho_of_pure as of_pure_gaussian
from synthrelease.privacy.plan import Plan, stated_at
from synthrelease.privacy.selection import FiniteLaw, SelectionRule, StopCoin, private_selection, tidy_up

Law = tuple[Fraction, ...]


def hockey_stick(first: Law, second: Law, ratio: Fraction) -> Fraction:
    """The least delta with Pr[S] <= ratio Pr'[S] + delta for all S."""
    return sum((max(p - ratio * q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0))


def known_threshold(round_law: Law, gamma: Fraction) -> Law:
    """Law of the loop: accepted outputs, then "nothing". The last entry of a round's law is rejection."""
    *accepted, rejected = round_law
    ends = sum(accepted) + gamma * rejected
    return (*(p / ends for p in accepted), gamma * rejected / ends)


def neighbours(ratio: Fraction, delta: Fraction) -> list[tuple[Law, Law]]:
    """Pairs of round laws over two outputs and rejection that are (ln ratio, delta)-indistinguishable, on a grid of 1/400."""
    grid = [Fraction(k, 400) for k in (0, 1, 2, 4, 8, 16, 20, 40, 80)]
    laws = [(a, b, 1 - a - b) for a, b in product(grid, grid)]
    return [
        (p, q)
        for p, q in product(laws, laws)
        if hockey_stick(p, q, ratio) <= delta and hockey_stick(q, p, ratio) <= delta and p[0] + p[1] and q[0] + q[1]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [Fraction(1, 50), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("delta", [Fraction(1, 400), Fraction(1, 40)])
def test_the_approximate_bound_holds_for_every_pair_and_not_by_far(gamma: Fraction, delta: Fraction) -> None:
    """exp(eps1) = 2. Theory 2b.9, approximate rounds: exactly, R = (2 + gamma) / (1 + 2 gamma) and delta / gamma."""
    ratio, bound = (2 + gamma) / (1 + 2 * gamma), delta / gamma
    worst = max(
        hockey_stick(known_threshold(p, gamma), known_threshold(q, gamma), 2 * ratio) for p, q in neighbours(Fraction(2), delta)
    )
    assert worst <= bound
    assert worst > bound * (Fraction(1, 3) if bound > 1 else Fraction(4, 5))
    epsilon = Fraction(math.log(2)) + Fraction(1, 10**15)
    if bound < 1:
        charge = private_selection("s", mechanism("g", epsilon, "", delta), SelectionRule(stop_probability=gamma))
        assert 2 * ratio <= exp_up(charge.epsilon) < 2 * ratio * (1 + Fraction(1, 10**6))
        assert bound <= charge.delta <= bound * (1 + Fraction(1, 10**4))


def of_at_most(round_law: Law, law: FiniteLaw) -> Law:
    """Law of the first accepted one of K rounds, or nothing: for every K, one round after the other."""
    *accepted, rejected = round_law
    before = sum((share * sum((rejected**j for j in range(k)), Fraction(0)) for k, share in law.atoms), Fraction(0))
    return (*(p * before for p in accepted), sum((share * rejected**k for k, share in law.atoms), Fraction(0)))


@pytest.mark.slow
@pytest.mark.parametrize("atoms", [((1, 1),), ((1, "1/2"), (3, "1/2")), ((2, "1/5"), (5, "4/5"))])
def test_the_approximate_bound_holds_for_laws_with_finitely_many_values(atoms: tuple[tuple[int, str], ...]) -> None:
    delta, law = Fraction(1, 400), FiniteLaw(atoms=tuple((k, Fraction(share)) for k, share in atoms))
    epsilon = Fraction(math.log(2)) + Fraction(1, 10**15)
    charge = private_selection("s", mechanism("g", epsilon, "", delta), SelectionRule(rounds=law))
    ratio = exp_up(charge.epsilon)
    worst = max(hockey_stick(of_at_most(p, law), of_at_most(q, law), ratio) for p, q in neighbours(Fraction(2), delta))
    assert worst <= charge.delta < Fraction(1001, 1000) * law.exact_mean * delta
    assert worst > charge.delta / 2
    assert charge.epsilon >= law.price(epsilon)
    assert (charge.epsilon > law.price(epsilon)) == (law.atoms[-1][0] > 1)  # rounds that are bad make short searches likelier


@pytest.mark.parametrize(
    "rule", [SelectionRule(stop_probability=Fraction(1, 5)), SelectionRule(rounds=FiniteLaw.of({5: Fraction(1)}))]
)
def test_rounds_of_curves_are_taken_at_their_share_of_delta(rule: SelectionRule) -> None:
    """Both laws have five rounds on average."""
    delta, rho = Fraction(1, 10**9), Fraction(1, 10)
    fit, test = gaussian("generation", rho, ""), mechanism("test", Fraction(1, 2), "")
    assert isinstance(rule.law, StopCoin | FiniteLaw)
    for one, epsilon in ((fit, epsilon_of(rho, delta / 5)), (zero_concentrated("g", rho, ""), zcdp(rho).epsilon(delta / 5))):
        for parts, each in (((one,), epsilon), ((one, test), epsilon + Fraction(1, 2))):
            charge = private_selection("s", in_sequence("one round", *parts), rule, delta)
            assert charge.delta == delta
            assert rule.law.price(each) <= charge.epsilon <= rule.law.price(each) + Fraction(1, 10**6)
    rounds = private_selection("s", in_sequence("one round", fit, test), rule, delta)
    plan = Plan.of(once=(mechanism("rows", Fraction(1, 20), ""),), per_round=(fit, test), rule=rule, delta=delta)
    assert (plan.total.epsilon, plan.total.delta) == (Fraction(1, 20) + rounds.epsilon, delta)


def test_one_delta_of_a_round_would_not_be_enough() -> None:
    """The factor 1 / gamma is real: a loop that goes on long multiplies the delta of a round."""
    gamma, delta = Fraction(1, 50), Fraction(1, 400)
    worst = max(
        hockey_stick(known_threshold(p, gamma), known_threshold(q, gamma), Fraction(4))
        for p, q in neighbours(Fraction(2), delta)
    )
    assert worst > 10 * delta


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(6)])
@pytest.mark.parametrize("gamma", [Fraction(1, 1000), Fraction(1, 2), Fraction(1)])
def test_the_approximate_bound_is_never_above_the_one_of_liu_and_talwar(epsilon: Fraction, gamma: Fraction) -> None:
    delta = Fraction(1, 10**9)
    charge = private_selection("s", mechanism("g", epsilon, "", delta), SelectionRule(stop_probability=gamma))
    theirs = 3 * exp_up(2 * epsilon) * delta / gamma
    assert charge.delta < theirs
    assert epsilon <= charge.epsilon <= 2 * epsilon  # theirs has + eps0 for a cap on the rounds, which the loop does not have


def test_rounds_without_a_guarantee_are_refused() -> None:
    forever, best = SelectionRule(), SelectionRule(stop_probability=Fraction(1, 10), shape=Fraction(1))
    approximate = mechanism("g", Fraction(1), "", Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="only if the rounds satisfy pure"):
        private_selection("s", approximate, forever)
    for curve in (zero_concentrated("g", Fraction(1), ""), gaussian("g", Fraction(1), "")):
        with pytest.raises(BudgetError, match="Set delta in"):
            private_selection("s", curve, SelectionRule(stop_probability=Fraction(1, 10)))
        with pytest.raises(BudgetError, match="only if the rounds satisfy pure"):
            private_selection("s", curve, forever, Fraction(1, 10**9))
    with pytest.raises(BudgetError, match="has delta = "):
        private_selection("s", approximate, best)
    with pytest.raises(BudgetError, match="no guarantee"):
        private_selection(
            "s", mechanism("g", Fraction(9), "", Fraction(1, 10)), SelectionRule(stop_probability=Fraction(1, 10))
        )
    for rule in (SelectionRule(shape=Fraction(1)), SelectionRule(stop_probability=Fraction(1, 2), shape=Fraction(-1))):
        with pytest.raises(BudgetError, match="stop probability must"):
            private_selection("s", mechanism("g", Fraction(1), ""), rule)


def pure_best_of_k(round_law: Law, gamma: Fraction) -> Law:
    """Geometric K (shape 1): sum of gamma (1 - gamma)^(k - 1) over k."""
    *accepted, rejected = round_law
    nothing = gamma * rejected / (1 - (1 - gamma) * rejected)
    return (*(p / sum(accepted) * (1 - nothing) for p in accepted), nothing)


def test_pure_rounds_cost_less_than_two_plus_the_shape() -> None:
    """Which is what theory 2.6, hidden number of rounds, pure, gives."""
    one = mechanism("g", Fraction(3), "")
    for shape, cost in ((Fraction(1), 9), (Fraction(0), 6), (Fraction(-1, 2), Fraction(9, 2))):
        rule = SelectionRule(stop_probability=Fraction(1, 10), shape=shape)
        assert 3 < private_selection("s", one, rule).epsilon < cost


def test_a_geometric_number_of_rounds_is_the_loop_with_a_coin() -> None:
    """With shape 1 both loops have the same law, and the same price."""
    for law in ((Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)), (Fraction(1, 100), Fraction(0), Fraction(99, 100))):
        for gamma in (Fraction(1, 2), Fraction(1, 1000)):
            assert pure_best_of_k(law, gamma) == known_threshold(law, gamma)
            coin, binomial = (SelectionRule(stop_probability=gamma, shape=shape) for shape in (None, Fraction(1)))
            prices = [private_selection("s", mechanism("g", Fraction(3), ""), rule).epsilon for rule in (coin, binomial)]
            assert prices[0] == prices[1]


def test_plans_add_curves_and_state_them_at_their_delta() -> None:
    rho, delta, gamma = Fraction(1, 10), Fraction(1, 10**9), Fraction(1, 100)
    rule = SelectionRule(stop_probability=gamma, shape=Fraction(0))
    plan = Plan.of(
        once=(mechanism("fit", Fraction(1, 5), ""),),
        per_round=(zero_concentrated("generation", rho, ""), mechanism("test", Fraction(1, 10), "")),
        after=(mechanism("figure", Fraction(1, 50), ""),),
        rule=rule,
        delta=delta,
    )
    one_round = selected(zcdp(rho + Fraction(1, 200)), Fraction(0), gamma)
    assert (plan.total.epsilon, plan.total.delta) == (least(one_round, [Fraction(1, 5), Fraction(1, 50)], delta), delta)
    assert plan.total.renyi is None
    assert [leaf.name for leaf in plan.total.leaves()] == ["fit", "generation", "test", "figure"]


def test_measurements_before_the_loop_are_not_selected() -> None:
    """Zero-concentrated measurements once, pure tests in rounds: the selection multiplies the tests alone."""
    rule = SelectionRule(stop_probability=Fraction(1, 100))
    delta = Fraction(1, 10**9)
    plan = Plan.of(
        once=(zero_concentrated("generation", Fraction(1, 10), ""),),
        per_round=(mechanism("test", Fraction(1, 10), ""),),
        rule=rule,
        delta=delta,
    )
    selected_test = private_selection("s", mechanism("test", Fraction(1, 10), ""), rule)
    assert Fraction(1, 10) < selected_test.epsilon < Fraction(1, 5)
    assert plan.total.epsilon == least(zcdp(Fraction(1, 10)), [selected_test.epsilon], delta)


def least(curve: RenyiCurve, pure: list[Fraction], delta: Fraction) -> Fraction:
    """The least epsilon over all divisions of pure parts into those that are added and those that count as curves."""
    found = []
    for added in product([False, True], repeat=len(pure)):
        within = sum((curve_of_pure(each) for each, apart in zip(pure, added, strict=True) if not apart), curve)
        beside = sum((each for each, apart in zip(pure, added, strict=True) if apart), Fraction(0))
        found.append(beside + within.epsilon(delta))
    return min(found)


def test_sums_of_sums_are_taken_apart_and_a_gaussian_part_is_converted_exactly() -> None:
    """A large figure is added, small ones count as curves: wherever in the tree they stand."""
    delta, parts = Fraction(1, 10**9), [Fraction(1, 2), Fraction(1, 100), Fraction(1, 200)]
    large, *small = (mechanism(str(place), each, "") for place, each in enumerate(parts))
    whole = in_sequence("release", gaussian("fit", Fraction(1, 50), ""), in_sequence("after", large, in_sequence("s", *small)))
    assert stated_at(whole, delta).epsilon < whole.curve().epsilon(delta)
    rho = Fraction(1, 50) + of_pure_gaussian(parts[1]) + of_pure_gaussian(parts[2])
    assert stated_at(whole, delta).epsilon == parts[0] + epsilon_of(rho, delta)


def test_one_mechanism_for_several_parts_counts_with_the_square_of_their_sum() -> None:
    """Half the sum of the squares would understate one noise that all of them share."""
    delta, parts = Fraction(1, 10**9), [mechanism(str(place), Fraction(1, 100), "") for place in range(8)]
    fit, one = zero_concentrated("fit", Fraction(1, 50), ""), together("one", *parts)
    assert one.curve() == curve_of_pure(Fraction(8, 100))
    found = stated_at(in_sequence("release", fit, one), delta).epsilon
    assert found == least(fit.curve(), [Fraction(8, 100)], delta)
    assert found > stated_at(in_sequence("release", fit, *parts), delta).epsilon
    with pytest.raises(BudgetError, match="not all of them are pure"):
        together("one", fit)


def test_a_plan_that_needs_a_delta_is_refused_without_one() -> None:
    with pytest.raises(BudgetError, match="Set delta in"):
        stated_at(zero_concentrated("g", Fraction(1), ""), Fraction(0))
    with pytest.raises(BudgetError, match=r"delta = 1e-06, but .* delta is only 1e-07"):
        stated_at(mechanism("g", Fraction(1), "", Fraction(1, 10**6)), Fraction(1, 10**7))
    pure = mechanism("g", Fraction(1), "")
    assert stated_at(pure, Fraction(1, 10**6)) == pure  # a pure plan stays pure, whatever delta it might have had


def test_zero_concentrated_and_approximate_charges_do_not_mix() -> None:
    with pytest.raises(BudgetError, match="no guarantee"):
        in_sequence("both", zero_concentrated("g", Fraction(1), ""), mechanism("h", Fraction(1), "", Fraction(1, 10**6)))


@pytest.mark.parametrize("delta", ["0.123456789", "3", "0.00000012345678", "1e-30", "0.999999999", "12345678.9"])
def test_deltas_are_rounded_up_to_six_digits(delta: str) -> None:
    exact, tidy = Fraction(delta), tidy_up(Fraction(delta))
    assert exact <= tidy <= exact * (1 + Fraction(1, 10**5))
    assert len(str(tidy.denominator)) < 45


def test_one_round_is_explained_without_a_hidden_number() -> None:
    """Of a search with one round plan and desk say this and no more; release.json keeps the words that `verify` computes."""
    one, several = (
        private_selection("s", mechanism("m", Fraction(1), ""), SelectionRule(rounds=FiniteLaw.of(law)))
        for law in ({1: Fraction(1)}, {1: Fraction(1, 2), 3: Fraction(1, 2)})
    )
    assert (one.epsilon, one.explained) == (1, "the search has one round")
    assert several.explained.startswith("the first accepted round of a hidden number of rounds (1 with probability 0.5, 3 with")
    assert several.explained != several.because
