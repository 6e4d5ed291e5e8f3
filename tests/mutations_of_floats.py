"""Mutations of private choices, and of what is done with floats before a rounding."""

from __future__ import annotations

from tests.mutation import Mutation

CHOICES, RANDOMNESS = "synthrelease/exact_choices.py", "synthrelease/randomness.py"
MECHANISM = "synthrelease/criteria/functional_mechanism.py"
MEANS = "synthrelease/criteria/conditional_means.py"
EXACT = "tests/test_exact_choices.py"
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
        file=RANDOMNESS,
        old="epsilon / (2 * sensitivity))",
        new="epsilon / sensitivity)",
        tests=(LAW,),
        core=True,
    ),
    Mutation(
        name="choose: epsilon rounded to a double",
        breaks="a choice costs more than the claim by a rounding error",
        file=RANDOMNESS,
        old="epsilon / (2 * sensitivity))",
        new="Fraction(float(epsilon / (2 * sensitivity))))",
        tests=(f"{EXACT}::test_the_rate_of_a_choice_is_the_exact_fraction",),
    ),
    Mutation(
        name="choose: scores are shifted by the first, not by the best",
        breaks="every candidate above the first is as likely as it",
        file=RANDOMNESS,
        old="best = max(scores)",
        new="best = scores[0]",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: the fraction of the exponent is dropped",
        breaks="the law of another epsilon",
        file=CHOICES,
        old="if heads(rest, self._rate.denominator, entropy):",
        new="if heads(0 * rest, self._rate.denominator, entropy):",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: the whole part of the exponent is dropped",
        breaks="candidates far behind are as likely as near ones",
        file=CHOICES,
        old="for candidate in proposed[all_heads(self.whole[proposed], entropy)].tolist():",
        new="for candidate in proposed.tolist():",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: one coin of exp(-1) too few",
        breaks="candidates far behind are too likely",
        file=CHOICES,
        old="left = left[shown & (times[left] > tossed)]",
        new="left = left[shown & (times[left] > tossed + 1)]",
        tests=(LAW,),
    ),
    Mutation(
        name="exact choices: coins of x instead of x, x/2, x/3",
        breaks="another law than exp(-x)",
        file=CHOICES,
        old="while entropy.pick(below * tossed) < above:",
        new="while entropy.pick(below) < above:",
        tests=(COIN,),
    ),
    Mutation(
        name="exact choices: heads where tails are",
        breaks="the worst candidates are the likeliest",
        file=CHOICES,
        old="        tossed += 1\n    return tossed % 2 == 1\n\n\ndef all_heads",
        new="        tossed += 1\n    return tossed % 2 == 0\n\n\ndef all_heads",
        tests=(COIN,),
    ),
    Mutation(
        name="exact choices: the edge of a coin of exp(-1) on the wrong side",
        breaks="a probability off by 2^-61",
        file=CHOICES,
        old='np.searchsorted(_THRESHOLDS, drawn, side="right")',
        new='np.searchsorted(_THRESHOLDS, drawn, side="left")',
        tests=(COINS,),
    ),
    Mutation(
        name="exact choices: no further coins after twenty",
        breaks="a probability off by 2^-61",
        file=CHOICES,
        old="    for place in np.flatnonzero(drawn == 0):\n",
        new="    for place in np.flatnonzero(drawn < 0):\n",
        tests=(COINS,),
    ),
    Mutation(
        name="exponential: permute-and-flip in its place",
        breaks="a mechanism without bounded range, which zero-concentrated accounting counts on",
        file=RANDOMNESS,
        old='"exponential": exponential}',
        new='"exponential": permute_and_flip}',
        tests=(f"{SAMPLES}[exponential-five-system]",),
    ),
    Mutation(
        name="permute-and-flip: the order is that of the candidates",
        breaks="the first candidates are too likely",
        file=CHOICES,
        old="order[place], order[place + jump] = order[place + jump], order[place]",
        new="pass",
        tests=(LAW,),
    ),
    Mutation(
        name="permute-and-flip: an order that is not uniform",
        breaks="some candidates are too likely",
        file=CHOICES,
        old="np.arange(len(order) - start, len(order) - stop, -1)",
        new="np.maximum(np.arange(len(order) - start, len(order) - stop, -1) - 1, 1)",
        tests=(LAW,),
    ),
    Mutation(
        name="uniform integers: words beyond the largest multiple are kept",
        breaks="small integers are too likely",
        file=RANDOMNESS,
        old="kept = words <= ~beyond",
        new="kept = words <= ~np.uint64(0)",
        tests=(INTEGERS,),
    ),
    Mutation(
        name="uniform integers: private choices have a seed",
        breaks="who knows the seed knows the choice without noise",
        file=RANDOMNESS,
        old="words, limit = np.frombuffer(secrets.token_bytes(8 * len(left)), dtype=np.uint64), limits[left]",
        new="words, limit = np.random.PCG64DXSM(7).random_raw(len(left)), limits[left]",
        tests=(f"{EXACT}::test_draws_do_not_repeat_and_seeded_ones_do",),
    ),
    # --- Floats before a rounding
    Mutation(
        name="functional mechanism: moments by a matrix product",
        breaks="the last bit of a record's moments depends on the other records",
        file=MECHANISM,
        old="        residual = target - self.prior.intercept\n"
        "        for feature, coefficient in zip(features.T, self.prior.coefficients, strict=True):\n"
        "            residual = residual - feature * coefficient\n",
        new="        residual = target - self.prior.intercept - features @ self.prior.coefficients\n",
        tests=(f"{FLOATS}::test_a_cell_has_the_same_moments_whatever_is_looked_at_with_it",),
        core=True,
    ),
    Mutation(
        name="functional mechanism: moments that are no numbers become integers",
        breaks="a sensitivity of 2 for the lowest integers",
        file=MECHANISM,
        old="if not (np.abs(rounded) <= _RESOLUTION).all():",
        new="if False:",
        also=(("if not (np.isfinite(scales).all() and (scales > 0).all()):", "if False:"),),
        tests=(MOMENTS,),
    ),
    Mutation(
        name="prior: a spread of 0 is accepted",
        breaks="the budget is lost to a fit of the lowest integers",
        file="synthrelease/criteria/linear_regression.py",
        old="spreads: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]",
        new="spreads: Mapping[str, Finite]",
        tests=(PRIOR,),
    ),
    Mutation(
        name="prior: numbers that overflow are accepted",
        breaks="the run fails after the charge",
        file=MECHANISM,
        old="return not all(bound <= _LARGEST for",
        new="return not all(bound <= _LARGEST or True for",
        tests=(f"{FLOATS}::test_a_prior_that_leads_beyond_what_floats_hold_is_a_mistake_in_the_specification",),
    ),
    Mutation(
        name="noise: the lowest integer passes the guard",
        breaks="noise is added to what is no number",
        file=RANDOMNESS,
        old="int(np.max(values, initial=0)), int(np.min(values, initial=0))",
        new="int(np.abs(values).max()), 0",
        tests=(GUARD,),
    ),
    Mutation(
        name="laplace_figure: figures whose last bit is a grid step",
        breaks="their rounding moves an integer by more than is paid for",
        file=RANDOMNESS,
        old="if abs(value / step) > 2.0**48:",
        new="if abs(value / step) > 2.0**52:",
        tests=(f"{FLOATS}::test_a_figure_whose_last_bit_is_near_a_grid_step_is_refused",),
    ),
    Mutation(
        name="conditional mean: sums far from 0",
        breaks="rounding moves a mean by more than its sensitivity",
        file=MEANS,
        old="    return lowest + (highest - lowest) / 2\n",
        new="    return 0.0\n",
        tests=(FAR,),
    ),
    Mutation(
        name="conditional mean: ranges that floats cannot tell apart",
        breaks="means without a grid",
        file=MEANS,
        old="if not mean_error(lowest, highest) <= step / 4:",
        new="if mean_error(lowest, highest) > step / 4:",
        tests=(f"{FLOATS}::test_a_range_in_which_floats_cannot_tell_means_apart_is_refused",),
    ),
    Mutation(
        name="regression prediction: no room for the rounding of large gaps",
        breaks="a sum of large gaps is refused behind the door, or off by more than is paid for",
        file="synthrelease/criteria/regression_prediction.py",
        old=", n * float(np.abs(possible).max()) * 2.0**-33)",
        new=")",
        tests=(f"{FLOATS}::test_large_gaps_that_hardly_differ_leave_room_for_the_rounding_of_their_sum",),
    ),
    Mutation(
        name="one step: shares in single precision",
        breaks="rounding moves the figure by more than is paid for",
        file="synthrelease/criteria/regression_one_step.py",
        old="shares = table[rows, places] * residuals[rows, places]",
        new="shares = (table[rows, places] * residuals[rows, places]).astype(np.float32)",
        tests=(f"{FLOATS}::test_the_sums_of_one_step_are_correctly_rounded",),
    ),
    Mutation(
        name="attempt: as many threads as there are",
        breaks="what an attempt computes depends on the other work of the machine",
        file="synthrelease/threads.py",
        old="threadpool_limits(limits=1, ",
        new="threadpool_limits(limits=None, ",
        tests=("tests/test_threads.py",),
    ),
)
