"""Mutations of private choices, and of what is done with floats before a rounding."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

EXACT = "tests/privacy/test_exact_choices.py"
LAW = f"{EXACT}::test_a_choice_has_exactly_its_law"
SAMPLES = f"{EXACT}::test_choices_follow_their_law"
COIN = f"{EXACT}::test_a_coin_of_a_fraction_is_exact"
COINS = f"{EXACT}::test_many_coins_of_one_are_decided_at_exactly_the_right_integers"
INTEGERS = f"{EXACT}::test_uniform_integers_are_exact"
FLOATS = "tests/test_floats.py"
FAR = f"{FLOATS}::test_means_far_from_zero_move_by_no_more_than_their_sensitivity"
GUARD = f"{FLOATS}::test_noise_is_not_added_to_integers_that_it_could_move_beyond_64_bits"
PRIOR = f"{FLOATS}::test_a_prior_needs_finite_numbers_and_spreads_above_zero"
MOMENTS = f"{FLOATS}::test_moments_that_are_no_numbers_are_refused_instead_of_becoming_the_lowest_integer"

OF_FLOATS = (
    # --- Private choices
    Mutation(
        name="choose: the factor 2 of the sensitivity forgotten",
        breaks="a choice costs twice the claim",
        place="privacy.noise:choose",
        old="2 * sensitivity",
        new="sensitivity",
        tests=(LAW,),
        core=True,
    ),
    Mutation(
        name="choose: epsilon rounded to a double",
        breaks="a choice costs more than the claim by a rounding error",
        place="privacy.noise:choose",
        old="epsilon / (2 * sensitivity)",
        new="Fraction(float(epsilon / (2 * sensitivity)))",
        tests=(f"{EXACT}::test_the_rate_of_a_choice_is_the_exact_fraction",),
    ),
    Mutation(
        name="choose: scores are shifted by the first, not by the best",
        breaks="every candidate above the first is as likely as it",
        place="privacy.noise:choose",
        old="max(scores)",
        new="scores[0]",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: the fraction of the exponent is dropped",
        breaks="the distribution belongs to another epsilon",
        place="privacy.noise:Losses.first_taken",
        old="heads(rest, self.rate.denominator, entropy)",
        new="heads(0 * rest, self.rate.denominator, entropy)",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: the whole part of the exponent is dropped",
        breaks="poor candidates are as likely as good ones",
        place="privacy.noise:Losses.first_taken",
        old="proposed[all_heads(self.whole[proposed], entropy)]",
        new="proposed",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: one coin of exp(-1) too few",
        breaks="poor candidates are too likely",
        place="privacy.noise:all_heads",
        old="times[left] > tossed",
        new="times[left] > tossed + 1",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: coins of x instead of x, x/2, x/3",
        breaks="the probability differs from exp(-x)",
        place="privacy.noise:heads",
        old="below * tossed",
        new="below",
        tests=(COIN,),
    ),
    Mutation(
        name="exact choices: heads where tails are",
        breaks="the worst candidates are the most likely",
        place="privacy.noise:heads",
        old="tossed % 2 == 1",
        new="tossed % 2 == 0",
        tests=(COIN,),
    ),
    Mutation(
        name="exact choices: the limit of a coin of exp(-1) is on the wrong side",
        breaks="a probability is wrong by 2^-61",
        place="privacy.noise:heads_of_one",
        old='side="right"',
        new='side="left"',
        tests=(COINS,),
    ),
    Mutation(
        name="exact choices: no further coins after twenty",
        breaks="a probability is wrong by 2^-61",
        place="privacy.noise:heads_of_one",
        old="uniform == 0",
        new="uniform < 0",
        tests=(COINS,),
    ),
    Mutation(
        name="exponential: permute-and-flip replaces it",
        breaks="zero-concentrated accounting needs a bounded range, which this mechanism lacks",
        place="privacy.noise:SystemEntropy.chosen",
        old='{"permute_and_flip": permute_and_flip, "exponential": exponential}',
        new='{"permute_and_flip": permute_and_flip, "exponential": permute_and_flip}',
        tests=(f"{SAMPLES}[exponential-five-system]",),
    ),
    Mutation(
        name="permute-and-flip: candidates keep their order",
        breaks="the first candidates are too likely",
        place="privacy.noise:permute_and_flip",
        old="order[position], order[position + jump] = order[position + jump], order[position]",
        new="pass",
        tests=(LAW,),
    ),
    Mutation(
        name="permute-and-flip: the order is not uniform",
        breaks="some candidates are too likely",
        place="privacy.noise:permute_and_flip",
        old="np.arange(len(order) - start, len(order) - stop, -1)",
        new="np.maximum(np.arange(len(order) - start, len(order) - stop, -1) - 1, 1)",
        tests=(LAW,),
    ),
    Mutation(
        name="uniform integers: words beyond the largest multiple are kept",
        breaks="small integers are too likely",
        place="privacy.noise:SystemEntropy.picks",
        old="words <= ~beyond",
        new="words <= ~np.uint64(0)",
        tests=(INTEGERS,),
    ),
    Mutation(
        name="uniform integers: private choices have a seed",
        breaks="whoever knows the seed knows the choice without noise",
        place="privacy.noise:SystemEntropy.picks",
        old="np.frombuffer(secrets.token_bytes(8 * len(left)), dtype=np.uint64)",
        new="np.random.PCG64DXSM(7).random_raw(len(left))",
        tests=(f"{EXACT}::test_draws_do_not_repeat_and_seeded_ones_do",),
    ),
    # --- Floats before a rounding
    Mutation(
        name="functional mechanism: moments use a matrix product",
        breaks="the last bit of a record's moments depends on other records",
        place="criteria.records_mechanism:real_moments",
        old="added(target - design.prior.intercept, features.T, -design.prior.coefficients)",
        new="target - design.prior.intercept - features @ design.prior.coefficients",
        tests=(f"{FLOATS}::test_a_cell_has_the_same_moments_whatever_is_looked_at_with_it",),
        core=True,
    ),
    Mutation(
        name="functional mechanism: moments that are no numbers become integers",
        breaks="the lowest integers need a sensitivity of 2",
        place="criteria.records_mechanism:rounded",
        old="not (np.abs(rounded) <= MOST).all()",
        new="False",
        tests=(MOMENTS,),
    ),
    Mutation(
        name="prior: a spread of 0 is accepted",
        breaks="the budget is lost to a fit of the lowest integers",
        place="criteria.functional:PriorGuess",
        old="Annotated[float, Field(gt=0, allow_inf_nan=False)]",
        new="Finite",
        tests=(PRIOR,),
    ),
    Mutation(
        name="prior: numbers that overflow are accepted",
        breaks="the run fails after the charge",
        place="criteria.functional:too_large",
        old="bound <= _LARGEST",
        new="bound <= _LARGEST or True",
        tests=(f"{FLOATS}::test_a_prior_that_leads_beyond_what_floats_hold_is_a_mistake_in_the_specification",),
    ),
    Mutation(
        name="noise: the lowest integer passes the guard",
        breaks="noise is added to a value that is not a number",
        place="privacy.noise:_check_room",
        old="int(values.max(initial=0)), int(values.min(initial=0))",
        new="int(np.abs(values).max()), 0",
        tests=(GUARD,),
    ),
    Mutation(
        name="laplace_figure: the grid step is the last bit of the values",
        breaks="rounding changes an integer by more than the sensitivity",
        place="privacy.noise:laplace_figure",
        old="abs(value / step) > 2.0**48",
        new="abs(value / step) > 2.0**52",
        tests=(f"{FLOATS}::test_a_figure_whose_last_bit_is_near_a_grid_step_is_refused",),
    ),
    Mutation(
        name="conditional mean: sums are far from 0",
        breaks="rounding changes a mean by more than its sensitivity",
        place="criteria.groups:middle",
        old="lowest + (highest - lowest) / 2",
        new="0.0",
        tests=(FAR,),
    ),
    Mutation(
        name="conditional mean: ranges that floating point cannot distinguish pass",
        breaks="means have no grid",
        place="criteria.groups:check_range",
        old="not mean_error(lowest, highest) <= step / 4",
        new="mean_error(lowest, highest) > step / 4",
        tests=(f"{FLOATS}::test_a_range_in_which_floats_cannot_tell_means_apart_is_refused",),
    ),
    Mutation(
        name="regression prediction: large differences have no room for rounding",
        breaks="a large sum is refused in private code, or its error exceeds the noise",
        place="criteria.regressions:RegressionPrediction.query",
        old="max(float(most.max() - least.min()), widest * 2.0**-20, n * furthest * room)",
        new="max(float(most.max() - least.min()), widest * 2.0**-20)",
        tests=(f"{FLOATS}::test_large_gaps_that_hardly_differ_leave_room_for_the_rounding_of_their_sum",),
    ),
    Mutation(
        name="one step: shares are in single precision",
        breaks="rounding changes the value by more than is paid for",
        place="criteria.records_mechanism:distance_of_steps",
        old="steps_of_records(records.values, step) * records.counts[:, None]",
        new="(steps_of_records(records.values, step) * records.counts[:, None]).astype(np.float32)",
        tests=(f"{FLOATS}::test_the_sums_of_one_step_are_correctly_rounded",),
    ),
    Mutation(
        name="attempt: the number of threads is not limited",
        breaks="the result of an attempt depends on other work of the machine",
        place="releasing.selection:one_thread.limited",
        old="limits=1",
        new="limits=None",
        tests=("tests/releasing/test_threads.py",),
    ),
)
