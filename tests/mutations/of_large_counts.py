"""Mutations of what holds for tables of up to 2^40 rows."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

LARGE = "tests/criteria/test_a_trillion_rows.py"
MATCHED = "tests/criteria/test_faithfulness.py"

OF_LARGE_COUNTS = (
    Mutation(
        name="a trillion rows: the first scaled network is used",
        breaks="the matching is smaller than the largest, and the difference depends on the counts",
        place="criteria.faithfulness_mechanism:residual_flow",
        old="if unit == 1:",
        new="if True:",
        tests=(f"{MATCHED}::test_capacities_in_units_have_the_flow_of_whole_numbers",),
    ),
    Mutation(
        name="a trillion rows: the remaining flow is bounded too low",
        breaks="capacities are cut although more flow could pass",
        place="criteria.faithfulness_mechanism:residual_flow",
        old="unit * int(np.count_nonzero(capacities[finite]))",
        new="1",
        tests=(f"{MATCHED}::test_capacities_in_units_have_the_flow_of_whole_numbers",),
    ),
    Mutation(
        name="a trillion rows: capacities exceed 32 bits",
        breaks="capacities overflow",
        place="criteria.faithfulness_mechanism:residual_flow",
        old="unit = 1 << max(0, bound.bit_length() - _CAPACITY_BITS)",
        new="unit = 1",
        tests=(f"{MATCHED}::test_a_trillion_rows_are_matched_exactly",),
    ),
    Mutation(
        name="a trillion rows: the grid is the same for any number of rows",
        breaks="the rounding of a value exceeds a quarter of a step",
        place="privacy.grids:grid_bits",
        old="12 - max(0, (rows - 1).bit_length() - 35)",
        new="12",
        tests=(f"{LARGE}::test_eight_roundings_of_every_row_stay_within_a_quarter_of_a_step",),
    ),
    Mutation(
        name="a trillion rows: a value does not depend on its number of rows",
        breaks="the rounding of a value exceeds a quarter of a step",
        place="criteria.base:Criterion.answer",
        old="rows=private.n",
        new="rows=1",
        tests=(f"{LARGE}::test_a_record_among_a_trillion_moves_a_figure_by_no_more_than_its_noise_covers",),
    ),
    Mutation(
        name="a trillion rows: products of counts are computed in 64 bits",
        breaks="the error of a share overflows",
        place="criteria.groupings_mechanism:excess_of_shares",
        old="max(int(rows.max(initial=0)), int(ours.max(initial=0))) > _PRODUCTS",
        new="False",
        tests=(f"{LARGE}::test_a_million_rows_each_a_million_times_have_their_figure",),
    ),
    Mutation(
        name="a trillion rows: scores of PrivBayes are computed in 64 bits",
        breaks="the scores of neighbours differ by more than the sensitivity",
        place="generators.privbayes_mechanism:dependence_score",
        old="n > _PRODUCTS",
        new="n < 0",
        tests=(f"{LARGE}::test_the_dependence_score_of_large_tables_is_that_of_whole_numbers",),
    ),
)
