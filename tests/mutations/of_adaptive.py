"""Mutations of the adaptive generator: its budget, its sensitivities, its rules and limits, and the fit."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ASKED = "tests/generators/test_private_tables.py"
FOUND = "tests/generators/test_adaptive.py"
MOVED = f"{ASKED}::test_no_neighbour_moves_a_table_by_more_than_two_counts"
SCORES = f"{ASKED}::test_no_neighbour_moves_a_score_by_more_than_two_weights"
BUDGET = f"{ASKED}::test_parts_add_up_to_the_budget_exactly_and_not_further"
LAW = f"{ASKED}::test_a_choice_has_the_law_of_its_mechanism"
RULES = f"{FOUND}::test_rules_are_exact_zeros_before_any_filter"

OF_ADAPTIVE = (
    Mutation(
        name="adaptive: the sensitivity of a choice ignores weights",
        breaks="a choice costs its part times the largest weight",
        place="generators.adaptive_mechanism:PrivateTables.choice",
        old="TABLE_CHANGE * int(competing.weights.max())",
        new="TABLE_CHANGE",
        tests=(SCORES,),
    ),
    Mutation(
        name="adaptive: a choice uses twice the epsilon",
        breaks="the choices cost four times their rho",
        place="generators.adaptive_mechanism:Gaussian.epsilon_of_choice",
        old="root_down(8 * part)",
        new="2 * root_down(8 * part)",
        tests=(LAW,),
    ),
    Mutation(
        name="adaptive: the budget may be exceeded",
        breaks="more is spent than is charged",
        place="generators.adaptive_mechanism:Budgeted._take",
        old="not 0 < part <= self.left",
        new="part <= 0",
        tests=(BUDGET,),
    ),
    Mutation(
        name="shared measurements: the key of a stored model ignores hyperparameters",
        breaks="the model of another configuration is released",
        place="generators.space:Configuration.model_key",
        old='[described["transformation"], described["generator"]]',
        new='[described["transformation"]]',
        tests=("tests/releasing/test_low_epsilon.py::test_with_shared_measurements_a_model_is_fitted_once",),
    ),
    Mutation(
        name="adaptive: groups of bins ignore rules",
        breaks="rows break the rules, or allowed rows are missing",
        place="generators.adaptive:learn",
        old="rule_classes(column, len(counts), masks)",
        new="[0] * len(counts)",
        tests=(RULES,),
    ),
    Mutation(
        name="adaptive: joined rules lose a pair",
        breaks="rows break the rules",
        place="generators.bin_groups:_pairs_of",
        old="if np.array_equal(_all_of(others, allowed.shape), allowed):\n    shadows = others",
        new="shadows = others or shadows",
        tests=(f"{FOUND}::test_joined_rules_come_apart_into_as_few_pairs_as_needed",),
    ),
    Mutation(
        name="adaptive: cliques have no limit",
        breaks="memory runs out in the enclave, after the charge",
        place="generators.adaptive:_GrowingModel._tables",
        old="joined[pair] <= self._plan.cells",
        new="True",
        tests=(f"{FOUND}::test_no_clique_grows_above_the_limit",),
    ),
    Mutation(
        name="adaptive: all tables get equal parts",
        breaks="large tables are mostly noise",
        place="generators.adaptive:_GrowingModel.competing",
        old="self._times(possible)",
        new="self._times(1)",
        tests=(f"{FOUND}::test_larger_tables_get_larger_parts_where_more_rounds_are_to_come",),
    ),
    Mutation(
        name="adaptive: the part of a round follows the remaining budget",
        breaks="there are endless answers, or noise too large to draw, after the charge",
        place="generators.adaptive:learn",
        old="max(part, min(2 * part, private.left - last))",
        new="min(2 * part, private.left - last)",
        tests=(f"{FOUND}::test_whatever_is_answered_every_part_is_a_fixed_share_of_the_budget",),
    ),
    Mutation(
        name="adaptive: the remainder is divided again",
        breaks="there are endless answers, or noise too large to draw, after the charge",
        place="generators.adaptive:learn",
        old="is_rest or 2 * left < 3 * parts[chosen]",
        new="False",
        tests=(f"{FOUND}::test_whatever_is_answered_every_part_is_a_fixed_share_of_the_budget",),
    ),
    Mutation(
        name="adaptive: impossible cells count as a handicap",
        breaks="tables with rules are measured too late",
        place="generators.adaptive:_GrowingModel._tables",
        old="yield pair, pairs[pair]",
        new="yield pair, pairs[pair] + 1e-12",
        tests=(f"{FOUND}::test_cells_that_the_rules_exclude_are_no_handicap",),
    ),
    Mutation(
        name="adaptive: a frequent value absorbs the bins before it",
        breaks="the rows of a frequent value are spread over its neighbours",
        place="generators.bin_groups:_put_neighbours_together",
        old="(positive[b] >= least and held >= _REST * least)",
        new="False",
        tests=(f"{FOUND}::test_a_large_bin_stays_alone_beside_neighbours_that_are_not_few",),
    ),
    Mutation(
        name="consistent tables: the start is not subtracted",
        breaks="the steps of the fit work against each other",
        place="generators.maximum_entropy:_LeastSquares.solved",
        old="aims - self._tables()",
        new="aims",
        tests=(f"{FOUND}::test_consistent_tables_are_those_of_least_squares_over_all_tables",),
    ),
    Mutation(
        name="proportional fitting: the penalty is missing",
        breaks="noise is fitted although the starting table is better",
        place="generators.maximum_entropy:ProportionalFit._step",
        old="self._ridges[number]",
        new="self._ridges[number] * 1e-6",
        tests=(f"{FOUND}::test_proportional_fitting_meets_the_conditions_of_the_minimum",),
    ),
)
