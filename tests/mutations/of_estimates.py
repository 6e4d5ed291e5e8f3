"""Mutations of estimates from published noisy tables."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ESTIMATE = "tests/estimates/test_estimate.py"
COVER = f"{ESTIMATE}::test_intervals_hold_the_number_of_the_table"
LAWS = "tests/estimates/test_laws.py::test_it_holds_the_stated_share_of_all_outcomes_and_not_much_more"

OF_ESTIMATES = (
    Mutation(
        name="estimates: the variance of a noise is half of what it is",
        breaks="intervals that are too narrow",
        place="estimates.laws:variance",
        old="2 * np.exp(-1 / scale)",
        new="np.exp(-1 / scale)",
        tests=(LAWS, COVER),
    ),
    Mutation(
        name="estimates: one side of the law alone",
        breaks="intervals that miss twice as often as they say",
        place="estimates.laws:half_width",
        old="(4 / _PERIOD)",
        new="(8 / _PERIOD)",
        tests=(LAWS, COVER),
    ),
    Mutation(
        name="estimates: tables count alike whatever their noise",
        breaks="the published weights of noises are not those of the estimate's error",
        place="estimates.tables:NoisyTables.sums",
        old="shares = precisions * variances",
        new="shares = np.where(known, 0.0, 1 / len(tables)) * np.ones_like(precisions)",
        tests=(f"{ESTIMATE}::test_tables_are_combined_by_their_precisions_and_n",),
    ),
    Mutation(
        name="estimates: n is not used",
        breaks="wider intervals than the published tables allow",
        place="estimates.tables:NoisyTables.sums",
        old="moved = (figures @ variances) / variances.sum() if variances.any() else np.zeros(len(figures))",
        new="moved = np.zeros(len(figures))",
        tests=(f"{ESTIMATE}::test_tables_are_combined_by_their_precisions_and_n",),
    ),
    Mutation(
        name="estimates: cells that the rules empty keep their noise",
        breaks="estimates with noise where nothing can be",
        place="estimates.tables:_without_impossible",
        old="np.where(empty, 0, table.cells)",
        new="table.cells",
        tests=(f"{ESTIMATE}::test_cells_that_a_rule_empties_have_no_noise",),
    ),
    Mutation(
        name="estimates: the denominator is taken as exact",
        breaks="intervals of shares within groups that are too narrow",
        place="estimates.answer:_averages",
        old="weights = found.weights[3 * place : 3 * place + 2]",
        new="weights = found.weights[3 * place : 3 * place + 2] * np.array([[1.0], [0.0]])",
        tests=(COVER, f"{ESTIMATE}::test_cells_that_a_rule_empties_have_no_noise"),
    ),
    Mutation(
        name="estimates: as if the tables had been measured once, on one set of bins",
        breaks="intervals that forget what the selection made of the noise",
        place="bounds.measured:measured_times",
        old="times * found.bins",
        new="times",
        tests=(f"{ESTIMATE}::test_shared_measurements_that_could_be_released_on_several_bins_make_wider_intervals",),
    ),
    Mutation(
        name="estimates: a slope without the noise of X'X",
        breaks="intervals of slopes that are too narrow",
        place="estimates.slopes:slopes",
        old="np.stack([(noise_b - fixed @ noise_a[others]) * unit, h @ noise_a])",
        new="np.stack([noise_b * unit, 0 * (h @ noise_a)])",
        tests=(f"{ESTIMATE}::test_the_standard_error_of_a_slope_is_the_spread_of_its_estimates",),
    ),
    Mutation(
        name="estimates: verify looks at no end of an interval",
        breaks="an interval that does not follow from the noisy tables passes",
        place="verification.estimates:_same",
        old="(right.estimate, found.estimate), (right.low, found.low), (right.high, found.high)",
        new="(right.estimate, found.estimate),",
        tests=("tests/bounds/test_intended.py::test_verify_finds_an_estimate_that_does_not_follow_from_the_noisy_tables",),
    ),
)
