"""Mutations of what a law of the number of rounds costs, and of the loop that draws one."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PRICES, LAWS = "tests/accounting/test_stopping_laws.py", "tests/audit/test_selection_law.py"
NOT_BELOW = f"{PRICES}::test_the_price_is_the_largest_ratio_and_less_than_a_millionth_above_it"
CELLS = f"{PRICES}::test_no_cell_is_bounded_below_a_value_inside_it"
REFUSED = f"{PRICES}::test_what_is_no_law_is_refused"
TABLE, LOOP = "tests/specification/test_selection_table.py", "tests/releasing/test_selection.py"

OF_PRICES = (
    Mutation(
        name="price of a law: accepted outputs left out",
        breaks="the cost of an accepted output is not counted",
        place="accounting.law_prices:_log_ratio",
        old="np.maximum(nothing, float(epsilon) + accepted)",
        new="nothing",
        tests=(NOT_BELOW,),
        core=True,
    ),
    Mutation(
        name='price of a law: "nothing" left out',
        breaks='"nothing" tells more than is paid for',
        place="accounting.law_prices:_log_ratio",
        old="np.maximum(nothing, float(epsilon) + accepted)",
        new="float(epsilon) + accepted",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a law: the epsilon of the output itself left out",
        breaks="the loop is cheaper than a round",
        place="accounting.law_prices:_log_ratio",
        old="float(epsilon) + accepted",
        new="accepted",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a law: cells bounded by their lower end",
        breaks="a supremum inside a cell is not seen",
        place="accounting.law_prices:_log_ratio",
        old="here / (1 + high * ((ratio - 1) / ratio))",
        new="here / (1 + low * ((ratio - 1) / ratio))",
        tests=(CELLS, NOT_BELOW),
    ),
    Mutation(
        name="price of a law: no cell is halved",
        breaks="the largest of a few values passes for the supremum",
        place="accounting.law_prices:largest_log_ratio",
        old="best + float(_TOLERANCE)",
        new="best + 1",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a law: tolerance not added",
        breaks="a price below the supremum",
        place="accounting.law_prices:largest_log_ratio",
        old="Fraction(best) + _TOLERANCE + _ROUNDING",
        new="Fraction(best) - 1000 * _TOLERANCE",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a law: the worst neighbour accepts as often as E allows, not less",
        breaks="rejections are not e^epsilon apart at most: a price of pairs that there are not",
        place="accounting.law_prices:largest_log_ratio",
        old="np.array([ratio])",
        new="np.array([ratio * ratio])",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a law: rounded down",
        breaks="an understated epsilon",
        place="accounting.stopping_laws:_up",
        old="-(-value * _STEPS // 1)",
        new="value * _STEPS // 1 - 10",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of the stop coin: that of a round",
        breaks='"nothing" and the search are not paid for',
        place="accounting.stopping_laws:StopCoin.price",
        old="_ln_up((ratio + gamma) / (1 + gamma * ratio))",
        new="0",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="price of a negative binomial: accepted outputs left out",
        breaks="the cost of an accepted output is not counted",
        place="accounting.stopping_laws:NegativeBinomial.price",
        old="max(accepted, here / there)",
        new="here / there",
        tests=(NOT_BELOW,),
    ),
    Mutation(
        name="law: probabilities need not add up",
        breaks="a price of no law",
        place="accounting.stopping_laws:FiniteLaw.__post_init__",
        old="total != 1",
        new="abs(total - 1) > Fraction(1, 10**9)",
        tests=(REFUSED,),
    ),
    Mutation(
        name="selection: the price of another law",
        breaks="charged for a shorter search than is run",
        place="accounting.selection:SelectionRule.law",
        old="return self.rounds",
        new="return FiniteLaw.of({1: Fraction(1)})",
        tests=(TABLE,),
    ),
    Mutation(
        name="selection: approximate rounds with any law",
        breaks="a delta that no theorem gives",
        place="accounting.selection:private_selection",
        old="isinstance(law, StopCoin)",
        new="law is not None",
        tests=(TABLE,),
    ),
    Mutation(
        name="verify: a rule of another law",
        breaks="a charge names a rule by which it was not computed",
        place="verification.charges:_composed",
        old="selected.rule == node.rule",
        new="True",
        tests=("tests/verification/test_rules_of_charges.py",),
    ),
    Mutation(
        name="hidden number: the longer of two draws",
        breaks="another law than is paid for",
        place="releasing.selection:select_hidden",
        old="from_finite_law(law.atoms)",
        new="max(from_finite_law(law.atoms), from_finite_law(law.atoms))",
        tests=(f"{LAWS}::test_a_hidden_number_of_rounds_has_its_law_on_every_path",),
        core=True,
    ),
    Mutation(
        name="hidden number: one round fewer where there is more than one",
        breaks="another law than is paid for",
        place="releasing.selection:_up_to",
        old="next(rejected) == hidden",
        new="next(rejected) + 1 >= hidden",
        tests=(LAWS,),
    ),
    Mutation(
        name="hidden number: the last value gets what rounding leaves",
        breaks="another law than is paid for",
        place="randomness:from_finite_law",
        old="secrets.randbelow(parts)",
        new="secrets.randbelow(max(parts - 1, 1))",
        tests=(LAWS,),
    ),
    Mutation(
        name="hidden number: a stop coin is tossed instead",
        breaks="a search that the charge does not cover",
        place="releasing.selection:select_by",
        old="select_hidden(run_round, rule.rounds, jobs)",
        new="select(run_round, Fraction(1, 2), jobs)",
        tests=(LAWS, LOOP),
    ),
)
