"""Mutations of what measurements answer: limits of noise, sums, and the bounds of criteria."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

NOISE = "tests/measurements/test_limits.py::test_a_limit_holds_at_its_risk_and_no_smaller_one_would"
BOUNDS = "tests/criteria/test_measured_bounds.py"
COVER = f"{BOUNDS}::test_limits_cover_with_at_least_their_confidence_every_noise_enumerated"
WITHIN = f"{BOUNDS}::test_no_original_table_within_the_limits_has_a_larger_figure"
ANSWERED = "tests/verification/test_answered.py"

OF_ANSWERS = (
    Mutation(
        name="limits of noise: half of the tail",
        breaks="bounds that are wrong twice as often as they say",
        place="measurements.limits:_on_grid",
        old="2 * np.cumsum(law[::-1])[::-1]",
        new="np.cumsum(law[::-1])[::-1]",
        tests=(NOISE,),
    ),
    Mutation(
        name="limits of noise: one too small",
        breaks="bounds that are wrong more often than they say",
        place="measurements.limits:_on_grid",
        old="int(enough[0])",
        new="max(0, int(enough[0]) - 1)",
        tests=(NOISE,),
    ),
    Mutation(
        name="limits of a single noise: one side alone",
        breaks="bounds that are wrong twice as often as they say",
        place="measurements.limits:_single",
        old="risk * (1 + math.exp(-1 / scale)) / 2",
        new="risk * (1 + math.exp(-1 / scale))",
        tests=(NOISE,),
    ),
    Mutation(
        name="limits of noise: Markov's inequality without the risk",
        breaks="the same limit whatever the risk",
        place="measurements.limits:_markov",
        old="math.log(2 / risk)",
        new="math.log(2)",
        tests=(NOISE, "tests/measurements/test_limits.py::test_sums_that_fit_on_no_grid_have_a_limit_all_the_same"),
    ),
    Mutation(
        name="limits of sums: noise of half the scale",
        breaks="limits of half the width",
        place="criteria.measured_sums:_Table.__init__",
        old="float(2 / table.epsilon)",
        new="float(1 / table.epsilon)",
        tests=(COVER,),
        core=True,
    ),
    Mutation(
        name="limits of sums: the width of one table for the mean of several",
        breaks="a sum from two tables with the noise of one",
        place="criteria.measured_sums:_narrowest",
        old="noise_limit(_joined(combined), risk)",
        new="noise_limit(_joined(combined[:1]), risk)",
        tests=(f"{BOUNDS}::test_the_width_of_a_sum_from_two_tables_is_that_of_the_sum_of_their_noise",),
    ),
    Mutation(
        name="limits of sums: noise beyond its limits is believed",
        breaks="an interval that holds nothing, and a bound from it",
        place="criteria.measured_sums:_limits",
        old="lowest, highest = least, most",
        new="pass",
        tests=(f"{BOUNDS}::test_noise_beyond_its_limits_leaves_everything_open",),
    ),
    Mutation(
        name="transformations share the risk: each takes all of it",
        breaks="bounds of many transformations, each wrong as often as all together may be",
        place="criteria.fitted:MeasuredAnswers.limits",
        old="float(self.risk) / self.transformations",
        new="float(self.risk)",
        tests=(
            f"{ANSWERED}::test_the_release_verifies_and_says_what_its_bounds_are",
            f"{ANSWERED}::test_each_transformation_has_its_part_of_the_risk",
        ),
    ),
    Mutation(
        name="answered means: the upper end alone",
        breaks="a mean that is too low is not seen",
        place="criteria.measured_groups:furthest_mean",
        old="(limits.low[1], limits.high[1])",
        new="(limits.high[1],)",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered means: fewest rows alone",
        breaks="a bound at one corner where another is the largest",
        place="criteria.measured_groups:furthest_mean",
        old="(limits.low[0], limits.high[0])",
        new="(limits.high[0],)",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered shares: the upper end alone",
        breaks="a share that is too low is not seen",
        place="criteria.measured_groups:furthest_share",
        old="max(highest, -lowest) / rows",
        new="highest / rows",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered medians: a window one bin wider",
        breaks="a median that is one bin off is not seen",
        place="criteria.measured_groups:most_beyond",
        old="max(middle - within + 1, 0)",
        new="max(middle - within, 0)",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered ratios: the lower end alone",
        breaks="a bin that is too rare is not seen",
        place="criteria.marginals:RelativeMarginalError.measured_bound",
        old="max(largest_ratio(original, synthetic, self.clip) for original in ends)",
        new="largest_ratio(ends[0], synthetic, self.clip)",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered tables: too many rows alone",
        breaks="a cell with too few rows is not seen",
        place="criteria.marginal_tables:furthest",
        old="np.maximum(limits.high - released, released - limits.low)",
        new="limits.high - released",
        tests=(WITHIN,),
    ),
    Mutation(
        name="answered slopes: the limits of the products left out",
        breaks="slopes bounded as if the spread of the features were known exactly",
        place="criteria.measured_moments:furthest_slopes",
        old="widths[:-1, -1] + widths[:-1, :-1] @ np.abs(line)",
        new="widths[:-1, -1] * 0",
        tests=(f"{BOUNDS}::test_limits_of_slopes_hold_for_lines_by_least_squares",),
    ),
    Mutation(
        name="verify: bounds are believed",
        breaks="whoever writes release.json states any bound",
        place="verification.bounds:bound_problems",
        old="not math.isclose(found[part.name], float(part.value), rel_tol=_RELATIVE)",
        new="False",
        tests=(f"{ANSWERED}::test_an_edit_is_found",),
        core=True,
    ),
    Mutation(
        name="an answer beside an epsilon",
        breaks="a budget that is charged for nothing, or nothing for a figure",
        place="criteria.base:Criterion._paid_or_answered",
        old="answered_by is not None and epsilon",
        new="False",
        tests=(f"{ANSWERED}::test_what_cannot_be_answered_is_refused_before_anything_is_read",),
    ),
)
