"""Mutations of estimates from published noisy tables."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

FILE = "tests/estimates/test_file.py"
HELD = f"{FILE}::test_intervals_hold_the_file_s_share_and_count_in_the_stated_part_of_all_outcomes"
OF_BOUNDS = "tests/bounds/test_file.py"
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
        place="estimates.averages:_groups",
        old="weights=found.weights[[1 + 2 * index, 0]]",
        new="weights=found.weights[[1 + 2 * index, 0]] * np.array([[1.0], [0.0]])",
        tests=(f"{FILE}::test_what_is_counted_in_both_sums_of_a_share_has_the_same_noise",),
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
    Mutation(
        name="estimates: the rows that were drawn are taken for those of the file",
        breaks="intervals of the file without the error of drawing",
        place="estimates.averages:_groups",
        old="sampling=tables.kept.left_out * sampling",
        new="sampling=0 * sampling",
        tests=(f"{FILE}::test_drawing_makes_the_interval_of_the_file_wider_and_never_wider_than_that_of_a_population", HELD),
    ),
    Mutation(
        name="estimates: a count without the noise of the number of rows",
        breaks="intervals of counts that forget that the number of kept rows is noisy",
        place="estimates.averages:_rows",
        old="weights[-1] = part",
        new="weights[-1] = 0.0",
        tests=(f"{FILE}::test_the_count_of_all_rows_has_the_noise_of_their_number_alone",),
    ),
    Mutation(
        name="estimates: a count without the error of drawing",
        breaks="intervals of counts that are too narrow",
        place="estimates.averages:_rows",
        old="half_width(tables.noises, weights, times**2 * drawing, level, times)",
        new="half_width(tables.noises, weights, 0.0, level, times)",
        tests=(HELD,),
    ),
    Mutation(
        name="estimates: counts are those of the drawn rows",
        breaks="counts of a part of the file that are said of all of it",
        place="bounds.kept:KeptRows.of",
        old="min(worked + domain.margin, domain.file_rows)",
        new="worked",
        tests=(f"{OF_BOUNDS}::test_the_number_of_kept_rows_follows_from_what_is_published",),
    ),
    Mutation(
        name="estimates: what fillers may spoil is not taken from the risk",
        breaks="a confidence that is not kept where fewer rows are kept than were drawn",
        place="bounds.kept:KeptRows.spare",
        old="spare = 1 - confidence - self.shortfall",
        new="spare = 1 - confidence",
        tests=(f"{FILE}::test_what_the_fillers_may_spoil_is_taken_from_the_risk",),
    ),
    Mutation(
        name="estimates: a mean of bin numbers is said of the file's own values",
        breaks="narrow intervals of means that the file's are not in",
        place="estimates.averages:_means",
        old="values = (lowest[0], highest[1], lowest[2], highest[3])",
        new="values = ends",
        tests=(f"{FILE}::test_a_mean_of_the_file_s_own_values_is_in_its_interval",),
    ),
    Mutation(
        name="estimates: a bin of whole numbers ends at its upper edge, an open one at its last",
        breaks="limits of bins that are not those of their values",
        place="bounds.values:limits_of",
        old='last = np.array(column.upper) - (column.kind == "integer")',
        new="last = np.array(column.upper)",
        tests=(f"{OF_BOUNDS}::test_open_bins_end_at_the_public_bounds",),
    ),
    Mutation(
        name="estimates: a median is where the estimate has it",
        breaks="a bin of the median without the noise that may have moved it",
        place="estimates.averages:_ends",
        old="_FAR * found.standard_error",
        new="-1.0",
        tests=(f"{FILE}::test_a_median_is_between_its_bins_as_often_as_stated",),
    ),
    Mutation(
        name="bounds: the rows that were not drawn have no part in a count",
        breaks="bounds of the drawn rows that are said of the file",
        place="bounds.ranges:count_range",
        old="round(more * most)",
        new="0",
        tests=(f"{OF_BOUNDS}::test_no_file_that_the_figures_and_the_number_of_rows_allow_is_outside_the_bound",),
    ),
    Mutation(
        name="bounds: the rows that were not drawn have no part in a share",
        breaks="bounds of the drawn rows that are said of the file",
        place="bounds.ranges:with_other_rows",
        old="largest * more",
        new="ratio * more",
        tests=(f"{OF_BOUNDS}::test_no_file_that_the_figures_and_the_number_of_rows_allow_is_outside_the_bound",),
    ),
    Mutation(
        name="bounds: the noise of the number of rows is forgotten",
        breaks="fewer rows that were not drawn than there can be",
        place="bounds.kept:KeptRows.more",
        old="self.drawn + self.margin + reach",
        new="self.drawn + self.margin",
        tests=(f"{OF_BOUNDS}::test_the_number_of_kept_rows_is_within_its_limits_as_often_as_stated",),
    ),
    Mutation(
        name="bounds: outward of a negative bound goes inward",
        breaks="a bound that rounding can cross",
        place="criteria.scores:outward",
        old="bound + abs(bound) * 2.0**-40",
        new="bound * (1 + 2.0**-40)",
        tests=(f"{OF_BOUNDS}::test_outward_of_a_bound_is_never_below_it",),
    ),
)
